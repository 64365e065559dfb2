#include "preload/launch/stacks.h"

#include "preload/launch/utf8.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/linker/objects.h"
#include "preload/runtime/self_read.h"

#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT16_MAX,
	WALK = 4 * GW_STACK_PYTHON, /* frames looked at, with those that are no function's */
	FRAME = 112,                /* bytes read of a frame at most … */
	CODE = 256,                 /* … of a code object … */
	STATE = 128,                /* … and of a thread's state */
	OWNED_BY_C = 3,             /* 3.12 on: a frame of the interpreter's own */
	TYPE = 8,                   /* offsets that all versions share: an object's type, … */
	LENGTH = 16,                /* … the length of a bytes object and of a text, … */
	TEXT_STATE = 32,
	BYTES = 32,      /* … a text's kind, the first byte of a bytes object, … */
	TYPE_SIZE = 32,  /* … and of a type the size of its objects */
	PIECE = 1024,    /* bytes of a line table read at a time … */
	PIECES = 32,     /* … and so often at most */
	TEXT_LEAST = 40, /* bytes of the shortest header of a text */
};

/* Where things are, in bytes. */
struct layout {
	uint16_t minor;
	uint16_t state_frame;  /* thread state: its frame, or what has it … */
	uint16_t holder_frame; /* … there; NONE: it is the frame */
	uint16_t back, code, at, owner, frame_size;
	uint16_t code_size, /* without the bytecode, that follows from 3.11 on */
		file, name, first_line, lines, bytecode;
	uint16_t ascii, compact; /* headers of texts */
};

/* From the headers of 3.9.18, 3.10.13, 3.11.7 and 3.12.1. */
static const struct layout layouts[] = {
	{9, 24, NONE, 24, 32, 104, NONE, 112, 176, 104, 112, 40, 120, NONE, 48, 72},
	{10, 24, NONE, 24, 32, 96, NONE, 112, 176, 104, 112, 40, 120, NONE, 48, 72},
	{11, 56, 8, 48, 32, 56, 69, 72, 184, 112, 128, 72, 136, 184, 48, 72},
	{12, 56, 0, 8, 0, 56, 70, 72, 192, 112, 128, 68, 136, 192, 40, 56},
};

/* What 3.13 publishes at _PyRuntime, as 64-bit words: where they stand, and what they become. */
enum {
	VERSION = 1,
	FREE_THREADED = 2,
	OBJECT_TYPE = 45,
	BYTES_VALUE = 66,
	TEXT_SIZE = 67,
	TEXT_LENGTH = 69,
	WORDS = 71,
};
static const struct {
	uint8_t word, field;
} published[] = {
#define FIELD(word, name) \
	{ \
		word, offsetof(struct layout, name) / 2 \
	}
	FIELD(23, state_frame), FIELD(29, back),       FIELD(30, code),     FIELD(31, at),
	FIELD(33, owner),       FIELD(43, code_size),  FIELD(35, file),     FIELD(37, name),
	FIELD(38, lines),       FIELD(39, first_line), FIELD(43, bytecode), FIELD(70, ascii),
#undef FIELD
};

static struct layout layout; /* minor 0: no frames */
static uint64_t code_type, text_type, bytes_type;
static void *(*own_state)(void); /* PyGILState_GetThisThreadState */

/* ---- once ---- */

static bool publishes(const struct gw_object *o, struct layout *out)
{
	const void *runtime = gw_object_find(o, "_PyRuntime");
	uint16_t field[sizeof(*out) / sizeof(uint16_t)] = {0};
	uint64_t d[WORDS];

	if (!runtime || !gw_self_get(d, (uintptr_t)runtime, sizeof(d)) ||
	    memcmp(d, "xdebugpy", 8) != 0 || d[VERSION] >> 16 != 0x030d || d[FREE_THREADED] ||
	    d[OBJECT_TYPE] != TYPE || d[BYTES_VALUE] != BYTES || d[TEXT_LENGTH] != LENGTH ||
	    d[TEXT_SIZE] > 80)
		return false;
	for (unsigned i = 0; i < sizeof(published) / sizeof(*published); i++) {
		if (d[published[i].word] > CODE - 8)
			return false;
		field[published[i].field] = (uint16_t)d[published[i].word];
	}
	memcpy(out, field, sizeof(field));
	out->minor = 13;
	out->holder_frame = NONE;
	out->frame_size = (uint16_t)(out->owner + 1);
	out->compact = (uint16_t)(d[TEXT_SIZE] - 8);
	return out->state_frame <= STATE - 8 && out->frame_size <= FRAME &&
	       out->owner > out->at + 7 && out->owner > out->back + 7 && out->owner > out->code + 7;
}

/* "3.12.1 (main, …": a release, as only releases of one minor version share a layout. */
static bool released(const char *version, unsigned *minor)
{
	char *end;

	if (strncmp(version, "3.", 2) != 0)
		return false;
	*minor = (unsigned)strtoul(version + 2, &end, 10);
	if (*end != '.')
		return false;
	strtoul(end + 1, &end, 10);
	return *end == ' ' || *end == '+';
}

static bool known(const struct gw_object *o, unsigned minor, struct layout *out)
{
	uint64_t size = 0;

	*out = (struct layout){0};
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			*out = layouts[i];
	if (!out->minor && !publishes(o, out))
		return false;
	/* A build with other structures (for debugging, of someone's own) differs in this, too. */
	return gw_self_get(&size, code_type + TYPE_SIZE, sizeof(size)) && size == out->code_size;
}

void gw_python_look(void)
{
	struct gw_object o;
	const char *(*version)(void);
	unsigned minor = 0;

	layout.minor = 0;
	if (!gw_object_at_start("PyGILState_GetThisThreadState", &o))
		return;
	own_state = (void *(*)(void))(uintptr_t)gw_object_find(&o, "PyGILState_GetThisThreadState");
	version = (const char *(*)(void))(uintptr_t)gw_object_find(&o, "Py_GetVersion");
	code_type = (uintptr_t)gw_object_find(&o, "PyCode_Type");
	text_type = (uintptr_t)gw_object_find(&o, "PyUnicode_Type");
	bytes_type = (uintptr_t)gw_object_find(&o, "PyBytes_Type");
	if (!version || !code_type || !text_type || !bytes_type)
		return;
	if (!released(version(), &minor) || !known(&o, minor, &layout)) {
		layout.minor = 0;
		gw_degrade_asked(GW_DEGRADED_STACKS,
				 "Python %.40s: its frames are not known, so stacks have none "
				 "(known: releases 3.9 to 3.13 with the GIL)",
				 version());
	}
}

/* ---- texts ---- */

static uint64_t word(const unsigned char *at, uint16_t offset)
{
	uint64_t w;

	memcpy(&w, at + offset, sizeof(w));
	return w;
}

static uint32_t character(const unsigned char *at, uint32_t kind, uint64_t index)
{
	uint32_t c = 0;

	memcpy(&c, at + index * kind, kind);
	return c;
}

/* The end or the start of the text at @p at, as UTF-8; its length, 0: it is none. */
static size_t read_text(uint64_t at, char *out, size_t room, bool end)
{
	unsigned char head[72 + GW_STACK_FILE], data[4 * GW_STACK_FILE];
	const unsigned char *characters = head;
	const size_t had = gw_self_read(head, at, sizeof(head));
	uint32_t state, kind, before;
	uint64_t length, first = 0;
	size_t used = 0, more;

	if (had < TEXT_LEAST || word(head, TYPE) != text_type)
		return 0;
	length = word(head, LENGTH);
	memcpy(&state, head + TEXT_STATE, sizeof(state));
	kind = state >> 2 & 7;
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4) || length > UINT32_MAX)
		return 0;
	if (length > room - 1) {
		first = end ? length - (room - 1) : 0;
		length = room - 1;
	}
	/* A short text came with its header. */
	before = state >> 6 & 1 ? layout.ascii : layout.compact;
	if (before + (first + length) * kind <= had)
		characters += before + first * kind;
	else if (gw_self_get(data, at + before + first * kind, length * kind))
		characters = data;
	else
		return 0;
	for (uint64_t i = 0; i < length; i++) {
		more = gw_utf8_put(out + used, room - 1 - used, character(characters, kind, i));
		if (!more)
			break;
		used += more;
	}
	out[used] = 0;
	return used;
}

/* ---- lines ---- */

/* A table that is read in pieces. */
struct table {
	uint64_t at, left;
	unsigned char piece[PIECE];
	size_t used, filled;
	unsigned pieces;
	bool over;
};

static unsigned next_byte(struct table *t)
{
	if (t->used == t->filled) {
		size_t size = t->left < PIECE ? (size_t)t->left : PIECE;

		t->used = t->filled = 0;
		if (!size || t->pieces++ == PIECES || !gw_self_get(t->piece, t->at, size)) {
			t->over = true;
			return 0;
		}
		t->filled = size;
		t->at += size;
		t->left -= size;
	}
	return t->piece[t->used++];
}

static bool open_table(struct table *t, uint64_t at)
{
	size_t had = gw_self_read(t->piece, at, PIECE);

	if (had < BYTES || word(t->piece, TYPE) != bytes_type)
		return false;
	t->left = word(t->piece, LENGTH);
	t->used = BYTES;
	t->filled = t->left < had - BYTES ? BYTES + (size_t)t->left : had;
	t->at = at + t->filled;
	t->left -= t->filled - BYTES;
	t->pieces = 0;
	t->over = false;
	return true;
}

/* 3.9 (Objects/lnotab_notes.txt) and 3.10: pairs of increments. */
static uint32_t line_of_pairs(struct table *t, uint32_t line, uint64_t at)
{
	uint64_t address = 0;

	for (;;) {
		unsigned bytes = next_byte(t);
		int lines = (int)(signed char)next_byte(t);

		if (layout.minor >= 10) {
			line += lines == -128 ? 0 : (uint32_t)lines;
			if (t->over || (address += bytes) > at)
				return t->over || lines == -128 ? 0 : line;
		} else if (t->over || (address += bytes) > at) {
			return line; /* the last line has no pair of its own */
		} else {
			line += (uint32_t)lines;
		}
	}
}

static int32_t signed_number(struct table *t)
{
	uint32_t n = 0, byte, shift = 0;

	do {
		byte = next_byte(t);
		n |= (byte & 63) << shift;
		shift += 6;
	} while (byte & 64 && shift < 30);
	return n & 1 ? -(int32_t)(n >> 1) : (int32_t)(n >> 1);
}

/* 3.11 on (PEP 657): entries, of which only the first byte has its highest bit. */
static uint32_t line_of_entries(struct table *t, uint32_t line, uint64_t at)
{
	enum { ONE_LINE = 10, PLAIN = 13, LONG = 14, NO_LINE = 15 };
	uint64_t address = 0;
	unsigned byte = next_byte(t), kind;

	while (!t->over) {
		kind = byte >> 3 & 15;
		address += 2 * ((byte & 7) + 1);
		if (kind == PLAIN || kind == LONG)
			line += (uint32_t)signed_number(t);
		else if (kind >= ONE_LINE && kind < PLAIN)
			line += kind - ONE_LINE;
		if (address > at)
			return t->over || kind == NO_LINE ? 0 : line;
		do
			byte = next_byte(t);
		while (!t->over && !(byte & 128));
	}
	return 0;
}

/* Where frame @p frame of the code object is, in bytes of its bytecode. */
static uint64_t place(const unsigned char *frame, uint64_t code)
{
	int32_t index;

	if (layout.bytecode != NONE)
		return word(frame, layout.at) - (code + layout.bytecode);
	memcpy(&index, frame + layout.at, sizeof(index));
	return (uint64_t)(index < 0 ? 0 : index) * (layout.minor == 9 ? 1 : 2);
}

static uint32_t line_of(const unsigned char *code, const unsigned char *frame, uint64_t code_at)
{
	struct table t;
	uint64_t at = place(frame, code_at);
	uint32_t first;

	memcpy(&first, code + layout.first_line, sizeof(first));
	if (at > 1u << 24 || !open_table(&t, word(code, layout.lines)))
		return 0;
	return layout.minor < 11 ? line_of_pairs(&t, first, at) : line_of_entries(&t, first, at);
}

/* ---- frames ---- */

static bool put_text(struct gw_stack *s, uint64_t text, size_t most, bool end, uint16_t *place_of)
{
	size_t left = GW_STACK_TEXT - s->text_used, length;

	if (left < most)
		return false;
	length = read_text(text, s->text + s->text_used, most, end);
	if (!length)
		return false;
	*place_of = (uint16_t)s->text_used;
	s->text_used += (uint32_t)length + 1;
	return true;
}

/* False: its code object is none, or there is no more room. */
static bool put_frame(struct gw_stack *s, const unsigned char *frame, uint64_t *file)
{
	unsigned char code[CODE];
	struct gw_python_frame *f = &s->frame[s->python];
	uint64_t at = word(frame, layout.code);

	if (!gw_self_get(code, at, layout.code_size) || word(code, TYPE) != code_type ||
	    s->python == GW_STACK_PYTHON)
		return false;
	/* Functions call others of their file. */
	if (s->python && *file == word(code, layout.file))
		f->file = f[-1].file;
	else if (!put_text(s, word(code, layout.file), GW_STACK_FILE, true, &f->file))
		return false;
	*file = word(code, layout.file);
	if (!put_text(s, word(code, layout.name), GW_STACK_FUNCTION, false, &f->function))
		return false;
	f->line = line_of(code, frame, at);
	s->python++;
	return true;
}

static uint64_t innermost(void)
{
	unsigned char state[STATE];
	uint64_t at = (uintptr_t)own_state();

	if (!at || !gw_self_get(state, at, layout.state_frame + 8u))
		return 0;
	at = word(state, layout.state_frame);
	if (!at || layout.holder_frame == NONE)
		return at;
	return gw_self_get(&at, at + layout.holder_frame, sizeof(at)) ? at : 0;
}

void gw_python_frames(struct gw_stack *s)
{
	unsigned char frame[FRAME];
	uint64_t at, file = 0;

	if (!layout.minor)
		return;
	at = innermost();
	for (unsigned i = 0; at && i < WALK; i++) {
		if (at & 7 || !gw_self_get(frame, at, layout.frame_size))
			break;
		if ((layout.owner == NONE || frame[layout.owner] < OWNED_BY_C) &&
		    !put_frame(s, frame, &file)) {
			s->python_cut = true;
			break;
		}
		at = word(frame, layout.back);
	}
}
