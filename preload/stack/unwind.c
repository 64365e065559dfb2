#include "preload/stack/unwind.h"

#include "preload/runtime/self_read.h"
#include "preload/stack/loaded.h"

#include <string.h>

enum {
	ENTRY = 4096, /* bytes of a table's entry that are read */
	STEPS = 2000, /* instructions of an entry that are followed */
	SAVED = 8,    /* rows that an entry remembers at a time */
	KEPT = 256,   /* rows kept, by address */
	TABLE_MAX = 1 << 26,
};

/* Where a register of the caller is. */
enum how { SAME, AT_OFFSET, AT_EXPRESSION, GONE };

struct rule {
	uint8_t how, length; /* AT_EXPRESSION: bytes of it */
	int32_t offset;      /* from the CFA; AT_EXPRESSION: where it is in the entry */
};

/* The row of the table for one address. */
struct row {
	struct rule rule[GW_UNWIND_REGISTERS];
	uint16_t cfa_register; /* its value, plus: */
	uint8_t cfa_length;    /* not 0: by an expression instead */
	int64_t cfa_offset;    /* of an expression: where it is in the entry */
};

/* Bytes of an entry; reading past the end sets `bad`. */
struct cursor {
	const unsigned char *at, *end;
	bool bad;
};

struct entry {
	unsigned char bytes[ENTRY];
	size_t size;
	uint64_t begin, range; /* of the code */
	struct cursor program;
};

struct common {
	unsigned char bytes[256];
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; /* of addresses */
	bool augmented, signal;
	struct cursor program;
};

/* ---- bytes ---- */

static uint64_t get(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if (c->bad || (size_t)(c->end - c->at) < size) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, size);
	c->at += size;
	return value;
}

static uint64_t get_leb(struct cursor *c, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = get(c, 1);
		if (shift < 64)
			value |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && !c->bad);
	if (is_signed && byte & 64 && shift < 64)
		value |= UINT64_MAX << shift;
	return value;
}

static uint64_t get_uleb(struct cursor *c)
{
	return get_leb(c, false);
}

static int64_t get_sleb(struct cursor *c)
{
	return (int64_t)get_leb(c, true);
}

static int64_t get_signed(struct cursor *c, size_t size)
{
	const uint64_t value = get(c, size);
	const unsigned shift = 64 - 8 * (unsigned)size;

	return (int64_t)(value << shift) >> shift;
}

/* An address as @p encoding (DW_EH_PE_...) says, where @p c lies at address @p here. */
static uint64_t get_encoded(struct cursor *c, uint8_t encoding, uint64_t here)
{
	uint64_t value;

	switch (encoding & 15) {
	case 0x0:
	case 0x4:
	case 0xc:
		value = get(c, 8);
		break;
	case 0x3:
		value = get(c, 4);
		break;
	case 0xb:
		value = (uint64_t)get_signed(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == 0x10)
		return value + here;
	c->bad |= (encoding & 0x70) != 0;
	return value;
}

/* ---- the tables ---- */

/* The sorted table of .eh_frame_hdr: the entry of the last function that begins at @p pc or before.
 */
static uint64_t find_entry(const struct gw_loaded *o, uint64_t pc)
{
	/* Version, and how its three parts are encoded: as all linkers do. */
	static const unsigned char usual[4] = {1, 0x1b, 0x03, 0x3b};
	struct {
		unsigned char usual[4];
		int32_t frames;
		uint32_t count;
	} head;
	struct {
		int32_t begin, entry;
	} row, found = {0};
	uint32_t low = 0, high;

	if (!o->frames || !gw_self_get(&head, o->frames, sizeof(head)) ||
	    memcmp(head.usual, usual, sizeof(usual)) != 0 || head.count > TABLE_MAX)
		return 0;
	for (high = head.count; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (!gw_self_get(&row, o->frames + sizeof(head) + middle * sizeof(row),
				 sizeof(row)))
			return 0;
		if (o->frames + (uint64_t)(int64_t)row.begin <= pc) {
			found = row;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low ? o->frames + (uint64_t)(int64_t)found.entry : 0;
}

static size_t open_bytes(struct cursor *c, unsigned char *bytes, size_t room, uint64_t at)
{
	size_t got = gw_self_read(bytes, at, room);
	uint32_t length = 0;

	*c = (struct cursor){bytes, bytes + got, false};
	length = (uint32_t)get(c, 4);
	if (c->bad || !length || length > (size_t)(c->end - c->at)) {
		c->bad = true; /* the end, 64 bits, or too long */
		return 0;
	}
	c->end = c->at + length;
	return length;
}

static bool read_common(struct common *cie, uint64_t at)
{
	struct cursor c;
	const char *augmentation;
	unsigned version;
	size_t room;

	open_bytes(&c, cie->bytes, sizeof(cie->bytes), at);
	if (get(&c, 4) != 0 || c.bad)
		return false;
	version = (unsigned)get(&c, 1);
	room = (size_t)(c.end - c.at);
	augmentation = (const char *)c.at;
	if (c.bad || (version != 1 && version != 3) || strnlen(augmentation, room) == room)
		return false;
	c.at += strlen(augmentation) + 1;
	cie->code_factor = get_uleb(&c);
	cie->data_factor = get_sleb(&c);
	if ((version == 1 ? get(&c, 1) : get_uleb(&c)) != GW_UNWIND_PC)
		return false;
	cie->encoding = 0;
	cie->signal = false;
	cie->augmented = *augmentation == 'z';
	cie->program = c;
	if (!cie->augmented)
		return !c.bad && !*augmentation;
	room = (size_t)get_uleb(&c);
	if (c.bad || room > (size_t)(c.end - c.at))
		return false;
	cie->program = (struct cursor){c.at + room, c.end, false};
	while (*++augmentation && !c.bad) {
		if (*augmentation == 'R')
			cie->encoding = (uint8_t)get(&c, 1);
		else if (*augmentation == 'L')
			get(&c, 1);
		else if (*augmentation == 'P')
			get_encoded(&c, (uint8_t)get(&c, 1) & 0x0f, 0);
		else if (*augmentation == 'S')
			cie->signal = true;
		else if (*augmentation != 'B')
			return false;
	}
	return !c.bad;
}

static bool read_entry(struct entry *fde, struct common *cie, uint64_t at)
{
	struct cursor c;
	uint64_t back;

	if (!open_bytes(&c, fde->bytes, sizeof(fde->bytes), at))
		return false;
	back = get(&c, 4);
	if (!back || !read_common(cie, at + 4 - back))
		return false;
	fde->begin = get_encoded(&c, cie->encoding, at + (uint64_t)(c.at - fde->bytes));
	fde->range = get_encoded(&c, cie->encoding & 0x0f, 0);
	if (cie->augmented) {
		uint64_t skip = get_uleb(&c);

		if (c.bad || skip > (uint64_t)(c.end - c.at))
			return false;
		c.at += skip;
	}
	fde->program = c;
	return !c.bad;
}

/* ---- the program of an entry ---- */

struct machine {
	struct row row, first, saved[SAVED];
	unsigned depth, steps;
	uint64_t location, pc;
	const struct common *cie;
	const unsigned char *base; /* what expressions' places count from */
	bool bad;
};

static struct rule *rule_of(struct machine *m, uint64_t number)
{
	static struct rule other; /* of a register that no function preserves */

	return number < GW_UNWIND_REGISTERS ? &m->row.rule[number] : &other;
}

static void set_offset(struct machine *m, uint64_t number, int64_t factored)
{
	*rule_of(m, number) = (struct rule){.how = AT_OFFSET,
					    .offset = (int32_t)(factored * m->cie->data_factor)};
}

static void set_cfa(struct machine *m, uint64_t number, int64_t offset)
{
	m->bad |= number >= GW_UNWIND_REGISTERS;
	m->row.cfa_register = (uint16_t)number;
	m->row.cfa_length = 0;
	m->row.cfa_offset = offset;
}

/* An expression is kept by its place in the entry: only those of entries, not of their common part,
 * which have none. */
static int32_t take_expression(struct machine *m, struct cursor *c, uint8_t *length)
{
	const uint64_t size = get_uleb(c);
	const unsigned char *at = c->at;

	if (c->bad || size > UINT8_MAX || size > (uint64_t)(c->end - c->at) || !m->base) {
		m->bad = true;
		return 0;
	}
	c->at += size;
	*length = (uint8_t)size;
	return (int32_t)(at - m->base);
}

static void remember(struct machine *m)
{
	m->bad |= m->depth == SAVED;
	if (!m->bad)
		m->saved[m->depth++] = m->row;
}

static void restore(struct machine *m)
{
	m->bad |= !m->depth;
	if (!m->bad)
		m->row = m->saved[--m->depth];
}

static void advance(struct machine *m, uint64_t by)
{
	m->location += by * m->cie->code_factor;
}

static void extended(struct machine *m, struct cursor *c, unsigned operation)
{
	struct rule *rule;
	uint64_t number;

	switch (operation) {
	case 0x00: /* nop */
		return;
	case 0x02: /* advance_loc1, 2, 4 */
	case 0x03:
	case 0x04:
		return advance(m, get(c, (size_t)1 << (operation - 2)));
	case 0x05: /* offset_extended */
		number = get_uleb(c);
		return set_offset(m, number, (int64_t)get_uleb(c));
	case 0x06: /* restore_extended */
		number = get_uleb(c);
		*rule_of(m, number) =
			number < GW_UNWIND_REGISTERS ? m->first.rule[number] : (struct rule){0};
		return;
	case 0x07: /* undefined */
		*rule_of(m, get_uleb(c)) = (struct rule){.how = GONE};
		return;
	case 0x08: /* same_value */
		*rule_of(m, get_uleb(c)) = (struct rule){.how = SAME};
		return;
	case 0x0a:
		return remember(m);
	case 0x0b:
		return restore(m);
	case 0x0c: /* def_cfa */
		number = get_uleb(c);
		return set_cfa(m, number, (int64_t)get_uleb(c));
	case 0x0d: /* def_cfa_register */
		return set_cfa(m, get_uleb(c), m->row.cfa_offset);
	case 0x0e: /* def_cfa_offset */
		return set_cfa(m, m->row.cfa_register, (int64_t)get_uleb(c));
	case 0x0f: /* def_cfa_expression */
		m->row.cfa_offset = take_expression(m, c, &m->row.cfa_length);
		return;
	case 0x10: /* expression */
		rule = rule_of(m, get_uleb(c));
		rule->how = AT_EXPRESSION;
		rule->offset = take_expression(m, c, &rule->length);
		return;
	case 0x11: /* offset_extended_sf */
		number = get_uleb(c);
		return set_offset(m, number, get_sleb(c));
	case 0x12: /* def_cfa_sf */
		number = get_uleb(c);
		return set_cfa(m, number, get_sleb(c) * m->cie->data_factor);
	case 0x13: /* def_cfa_offset_sf */
		return set_cfa(m, m->row.cfa_register, get_sleb(c) * m->cie->data_factor);
	case 0x2d: /* aarch64: whether the return address is signed; x86-64 has no such */
		return;
	case 0x2e: /* GNU_args_size */
		get_uleb(c);
		return;
	default:
		m->bad = true;
	}
}

static void run(struct machine *m, struct cursor c)
{
	while (c.at < c.end && !c.bad && !m->bad && m->location <= m->pc) {
		const unsigned operation = (unsigned)get(&c, 1), low = operation & 63;

		m->bad |= m->steps++ == STEPS;
		switch (operation >> 6) {
		case 1:
			advance(m, low);
			break;
		case 2:
			set_offset(m, low, (int64_t)get_uleb(&c));
			break;
		case 3:
			*rule_of(m, low) =
				low < GW_UNWIND_REGISTERS ? m->first.rule[low] : (struct rule){0};
			break;
		default:
			extended(m, &c, operation);
		}
	}
	m->bad |= c.bad;
}

/* ---- a step ---- */

/* Rows by address; `base` where they have expressions, whose bytes are kept no longer. */
static struct kept {
	uint64_t pc;
	struct row row;
} kept[KEPT];

void gw_unwind_forget(void)
{
	memset(kept, 0, sizeof(kept));
}

static bool has_expressions(const struct row *r)
{
	for (unsigned i = 0; i < GW_UNWIND_REGISTERS; i++)
		if (r->rule[i].how == AT_EXPRESSION)
			return true;
	return r->cfa_length != 0;
}

/* @p m has room for all that is read. */
static bool row_of(uint64_t pc, struct row *row, struct entry *fde)
{
	static struct machine m;
	static struct common cie;
	struct kept *k = &kept[pc * UINT64_C(0x9fb21c651e98df25) >> 56];
	const struct gw_loaded *o;
	uint64_t at;

	_Static_assert(KEPT == 1 << (64 - 56), "the hash's bits choose a row");
	if (k->pc == pc) {
		*row = k->row;
		return true;
	}
	o = gw_loaded_find(pc);
	at = o ? find_entry(o, pc) : 0;
	if (!at || !read_entry(fde, &cie, at) || pc - fde->begin >= fde->range || cie.signal)
		return false;
	memset(&m, 0, sizeof(m));
	m.cie = &cie;
	m.pc = UINT64_MAX;
	run(&m, cie.program);
	m.first = m.row;
	m.location = fde->begin;
	m.pc = pc;
	m.base = fde->bytes;
	run(&m, fde->program);
	if (m.bad)
		return false;
	*row = m.row;
	if (!has_expressions(row))
		*k = (struct kept){pc, *row};
	return true;
}

static bool stack_word(const struct gw_unwind *u, uint64_t base, uint64_t at, uint64_t *out)
{
	if (at < base || at - base > u->bytes || u->bytes - (at - base) < sizeof(*out))
		return false;
	memcpy(out, u->stack + (at - base), sizeof(*out));
	return true;
}

/* What compilers emit for a realigned stack: a register plus an offset, and what it points to. */
static enum gw_stack_end evaluate(const struct gw_unwind *u, uint64_t base, uint32_t valid,
				  const unsigned char *at, size_t length, uint64_t *out)
{
	enum { DEREF = 0x06, PLUS_CONST = 0x23, REGISTER = 0x70 };
	struct cursor c = {at, at + length, false};
	const uint64_t number = get(&c, 1) - REGISTER;

	if (number >= GW_UNWIND_REGISTERS || !(valid >> number & 1))
		return GW_STACK_END_NO_RULE;
	*out = u->registers[number] + (uint64_t)get_sleb(&c);
	while (c.at < c.end) {
		const unsigned operation = (unsigned)get(&c, 1);

		if (operation == PLUS_CONST)
			*out += get_uleb(&c);
		else if (operation != DEREF)
			return GW_STACK_END_NO_RULE;
		else if (!stack_word(u, base, *out, out))
			return GW_STACK_END_COPY;
	}
	return c.bad ? GW_STACK_END_NO_RULE : GW_STACK_END_BOTTOM;
}

/* A machine's registers are valid as a bit each says. */
struct walk {
	struct gw_unwind *u;
	uint64_t base;
	uint32_t valid;
};

static enum gw_stack_end up(struct walk *w, const struct row *row, const struct entry *fde)
{
	struct gw_unwind *u = w->u;
	uint64_t next[GW_UNWIND_REGISTERS], cfa = 0;
	uint32_t valid = w->valid;

	if (row->cfa_length) {
		enum gw_stack_end end = evaluate(u, w->base, valid, fde->bytes + row->cfa_offset,
						 row->cfa_length, &cfa);

		if (end != GW_STACK_END_BOTTOM)
			return end;
	} else if (!(valid >> row->cfa_register & 1)) {
		return GW_STACK_END_NO_RULE;
	} else {
		cfa = u->registers[row->cfa_register] + (uint64_t)row->cfa_offset;
	}
	/* A stack grows downwards: each caller's frame lies above. */
	if (cfa <= u->registers[GW_UNWIND_SP])
		return GW_STACK_END_INVALID;
	memcpy(next, u->registers, sizeof(next));
	for (unsigned i = 0; i < GW_UNWIND_REGISTERS && i < 32; i++) {
		const struct rule *r = &row->rule[i];
		uint64_t at = cfa + (uint64_t)(int64_t)r->offset;

		if (r->how == SAME)
			continue;
		valid &= ~(1u << i);
		if (r->how == GONE)
			continue;
		if (r->how == AT_EXPRESSION &&
		    evaluate(u, w->base, w->valid, fde->bytes + r->offset, r->length, &at) !=
			    GW_STACK_END_BOTTOM)
			continue;
		if (stack_word(u, w->base, at, &next[i]))
			valid |= 1u << i;
		else if (i == GW_UNWIND_PC)
			return GW_STACK_END_COPY;
	}
	memcpy(u->registers, next, sizeof(next));
	u->registers[GW_UNWIND_SP] = cfa;
	w->valid = valid | 1u << GW_UNWIND_SP;
	return GW_STACK_END_BOTTOM;
}

enum gw_stack_end gw_unwind(struct gw_unwind *u, uint64_t *out, uint32_t room, uint32_t *count)
{
	static struct entry fde;
	struct walk w = {u, u->registers[GW_UNWIND_SP], GW_UNWIND_KNOWN};
	enum gw_stack_end end;
	struct row row;

	for (*count = 0; *count < room; ++*count) {
		uint64_t pc = gw_unwind_address(u->registers[GW_UNWIND_PC]);

		if (!(w.valid >> GW_UNWIND_PC & 1) || !pc)
			return GW_STACK_END_BOTTOM;
		if (!gw_loaded_find(pc - 1))
			return GW_STACK_END_NO_OBJECT;
		out[*count] = pc;
		/* The first is the instruction itself; the others lie behind a call. */
		if (!row_of(*count ? pc - 1 : pc, &row, &fde)) {
			++*count;
			return GW_STACK_END_NO_RULE;
		}
		end = up(&w, &row, &fde);
		if (end != GW_STACK_END_BOTTOM) {
			++*count;
			return end;
		}
	}
	return GW_STACK_END_DEEP;
}
