#include "cli/log/reader.h"

#include "cli/log/block.h"
#include "cli/log/source.h"
#include "cli/common/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_MOST = (int)LOG_BLOCK_HEAD_MOST + GW_BLOCK_MAX,
	WINDOW = 2 * BLOCK_MOST,
	KINDS = 64,
	IDS = 1 << 22, /* of each kind, that may be defined again */
	/*
	 * Each false block header costs a checksum of up to a mebibyte. A file made of them would
	 * cost its square; past this allowance a false block is skipped whole.
	 */
	WASTE = 64 << 20,
};

struct reader {
	struct gw_log_source *source;
	struct gw_log_status *status;
	gw_log_record_fn *record;
	void *arg;
	unsigned char *window; /* bytes [start, end) are read and not yet used */
	size_t start, end, room;
	uint64_t offset; /* of window[start] in the file */
	bool eof;
	unsigned char *block;   /* the records of one block, aligned */
	uint64_t sequence;      /* of the block that should come next */
	uint64_t wasted;        /* bytes checksummed in vain */
	uint64_t damage;        /* start of the stretch being skipped */
	const char *damage_why; /* NULL outside one */
	uint32_t gaps;
	uint32_t last_id[KINDS];
	struct gw_block_model *model; /* NULL until a block is packed */
	/* The better of the copies read so far; its records come last. */
	unsigned char *copy;
	struct log_block copied; /* raw is 0 without one */
	uint64_t copy_offset;
	/* Of what is defined again, only what was lost is of use. */
	unsigned char *defined[KINDS]; /* bits, by id */
	size_t defined_room[KINDS];
	uint64_t kinds_taken, kinds_before; /* bits, by kind: now, and before the repetition */
	bool repeat;                        /* this block repeats */
};

/* What record.def says of each kind. */
static const struct kind {
	const char *name;
	uint16_t fixed;
	bool text; /* the tail is text */
} kinds[KINDS] = {
#define RECORD(kind, NAME, rname, meaning) \
	[kind] = {.name = #rname, .fixed = sizeof(struct gw_record_##rname),
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail) \
	.text = sizeof(tail) > 1 \
	} \
	,
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
};

static bool has_id(unsigned kind)
{
	return (kind >= GW_RECORD_DEVICE && kind <= GW_RECORD_NODE) || kind == GW_RECORD_OBJECT ||
	       kind == GW_RECORD_FRAME;
}

static bool is_defined(const struct reader *r, unsigned kind, uint32_t id)
{
	return id / 8 < r->defined_room[kind] && r->defined[kind][id / 8] >> id % 8 & 1;
}

/* Note that @p id is defined; false where it was before. */
static bool define(struct reader *r, unsigned kind, uint32_t id)
{
	if (id >= IDS)
		return true;
	if (is_defined(r, kind, id))
		return false;
	r->defined[kind] = gw_grow(r->defined[kind], &r->defined_room[kind], id / 8 + 1, 1);
	r->defined[kind][id / 8] |= (unsigned char)(1u << id % 8);
	return true;
}

static void note(struct reader *r, uint64_t offset, uint64_t bytes, uint64_t blocks,
		 const char *why)
{
	struct gw_log_status *s = r->status;

	if (s->notes < GW_LOG_NOTES)
		s->note[s->notes] = (struct gw_log_note){offset, bytes, blocks, why};
	s->notes++;
	r->gaps++;
}

/* Have @p size bytes in the window if the file has them; how many there are. */
static size_t need(struct reader *r, size_t size)
{
	const char *failed = NULL;

	if (r->end - r->start >= size || r->eof)
		return r->end - r->start;
	if (r->start + size > r->room) {
		memmove(r->window, r->window + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	r->end += gw_log_source_read(r->source, r->window + r->end, r->room - r->end, &failed);
	r->eof = r->end < r->room;
	if (failed)
		r->status->read_error = failed;
	return r->end - r->start;
}

static void consume(struct reader *r, size_t bytes)
{
	r->start += bytes;
	r->offset += bytes;
}

/* The block that begins @p at bytes after the window's start; false when there is none. */
static bool header_at(struct reader *r, size_t at, struct log_block *b)
{
	size_t have = need(r, at + LOG_BLOCK_HEAD_MOST);

	return have >= at + LOG_BLOCK_HEAD_LEAST &&
	       log_block_parse(r->window + r->start + at, have - at, b);
}

static bool newer_version(struct reader *r, uint32_t version)
{
	if (version <= GW_LOG_VERSION)
		return false;
	snprintf(r->status->error, sizeof(r->status->error),
		 "its format is version %" PRIu32
		 ", this gpuwatch reads up to %d; read it with the "
		 "gpuwatch that wrote it or a newer one",
		 version, GW_LOG_VERSION);
	return true;
}

/* NULL, or what is wrong with a record of a known kind. */
static const char *check(struct reader *r, const struct gw_record *head)
{
	const struct kind *k = &kinds[head->kind];
	uint32_t id;

	if (head->length < k->fixed)
		return "a record is shorter than its kind";
	if (k->text && (head->length == k->fixed || ((const char *)head)[head->length - 1]))
		return "a record's text does not end";
	if (head->kind == GW_RECORD_COUNTERS &&
	    ((const struct gw_record_counters *)(const void *)head)->count >
		    (head->length - k->fixed) / sizeof(uint64_t))
		return "a record is shorter than its counters";
	if ((head->kind == GW_RECORD_WORK || head->kind == GW_RECORD_GRAPH_WORK) &&
	    ((const struct gw_record_work *)(const void *)head)->count >
		    (head->length - k->fixed) / sizeof(struct gw_record_quantity))
		return "a record is shorter than its parts";
	if (head->kind == GW_RECORD_STACK) {
		const struct gw_record_stack *s = (const void *)head;

		if (s->count > (head->length - k->fixed) / sizeof(uint32_t) || s->python > s->count)
			return "a record is shorter than its frames";
	}
	if (head->kind == GW_RECORD_HEADER && r->status->header)
		return "a second header";
	if (has_id(head->kind)) {
		memcpy(&id, head + 1, sizeof(id));
		if (!id || (!r->repeat && id <= r->last_id[head->kind]) ||
		    !define(r, head->kind, id))
			return "a record's id is zero or was given before";
		if (id > r->last_id[head->kind])
			r->last_id[head->kind] = id;
	}
	return NULL;
}

/*
 * Whether a record that is written again says nothing new. Texts without an id are of use where the
 * first ones may have been lost; of a profile, whose pieces belong together, where none was found.
 */
static bool known_already(const struct reader *r, const struct gw_record *head)
{
	const uint64_t bit = UINT64_C(1) << head->kind;
	uint32_t id = 0;

	if (!r->repeat)
		return false;
	if (head->kind == GW_RECORD_HEADER && r->status->header)
		return true;
	if (!has_id(head->kind))
		return (r->kinds_before & bit) && (!r->gaps || head->kind == GW_RECORD_PROFILE ||
						   head->kind == GW_RECORD_HEADER);
	if (head->length >= kinds[head->kind].fixed)
		memcpy(&id, head + 1, sizeof(id));
	return id >= IDS ? id <= r->last_id[head->kind] : is_defined(r, head->kind, id);
}

/* Room for a record that has got fields since. */
union grown {
	struct gw_record head;
	struct gw_record_config config;
	struct gw_record_aggregate aggregate;
};

/* A CONFIG from before it named its device, an AGGREGATE without histograms: what they lack is 0,
 * unknown. */
static const struct gw_record *completed(const struct gw_record *head, union grown *room)
{
	const size_t older = head->kind == GW_RECORD_CONFIG
				     ? offsetof(struct gw_record_config, device)
				     : offsetof(struct gw_record_aggregate, end_ns);

	if ((head->kind != GW_RECORD_CONFIG && head->kind != GW_RECORD_AGGREGATE) ||
	    head->length != older)
		return head;
	*room = (union grown){0};
	memcpy(room, head, older);
	room->head.length = kinds[head->kind].fixed;
	return &room->head;
}

/* Hand one record on; false ends the reading. */
static bool take(struct reader *r, const struct gw_record *head, uint64_t offset)
{
	struct gw_log_status *s = r->status;
	_Alignas(8) union grown room;
	const char *why;

	if (head->kind >= KINDS || !kinds[head->kind].name) {
		s->unknown++;
		return true;
	}
	head = completed(head, &room);
	/* An unknown version may mean anything by its fields: look before they are checked. */
	if (head->kind == GW_RECORD_HEADER && head->length >= 8 &&
	    newer_version(r, ((const struct gw_record_header *)(const void *)head)->version))
		return false;
	if (known_already(r, head))
		return true;
	why = check(r, head);
	if (why) {
		s->invalid++;
		note(r, offset, head->length, 0, why);
		return true;
	}
	s->records++;
	r->kinds_taken |= UINT64_C(1) << head->kind;
	s->header |= head->kind == GW_RECORD_HEADER;
	if (head->kind == GW_RECORD_END) {
		s->ended = true;
		s->claimed = ((const struct gw_record_end *)(const void *)head)->records;
	}
	if (r->record(r->arg,
		      &(struct gw_log_record){
			      .head = head,
			      .tail = (const char *)head + kinds[head->kind].fixed,
			      .tail_length = (size_t)(head->length - kinds[head->kind].fixed),
			      .offset = offset,
			      .gaps = r->gaps}))
		return true;
	s->stopped = true;
	return false;
}

/* Every one of the @p records of the block that begins at @p offset; false ends the reading. */
static bool take_all(struct reader *r, const unsigned char *records, const struct log_block *b,
		     uint64_t offset)
{
	const uint32_t length = b->raw;
	struct gw_record head;

	if (b->flags & GW_BLOCK_REPEAT && !r->repeat)
		r->kinds_before = r->kinds_taken;
	r->repeat = (b->flags & GW_BLOCK_REPEAT) != 0;
	/* A packed record has no place of its own in the file. */
	offset += b->flags & GW_BLOCK_PACKED ? 0 : b->head;
	for (uint32_t at = 0; at < length; at += head.length) {
		memcpy(&head, records + at, sizeof(head));
		if (head.length < 8 || head.length % 8 || head.length > GW_RECORD_MAX ||
		    head.length > length - at) {
			r->status->invalid++;
			note(r, offset + at, length - at, 0, "a record's length is impossible");
			return true;
		}
		if (!take(r, (const struct gw_record *)(const void *)(records + at), offset + at))
			return false;
	}
	return true;
}

/*
 * Compare a whole block's number with the one that should come. Before version 3 the checksum does
 * not cover the number; where the block after it goes on as if nothing were missing, it is the
 * number that is damaged.
 */
static void check_sequence(struct reader *r, const struct log_block *b)
{
	struct log_block next;

	if (b->sequence == r->sequence) {
		r->sequence++;
		return;
	}
	if (!b->packed.magic && header_at(r, b->head + b->length, &next) &&
	    next.sequence == r->sequence + 1) {
		note(r, r->offset, 0, 0,
		     "a block's sequence number is damaged; its records were used");
		r->sequence++;
	} else if (b->sequence > r->sequence) {
		r->status->missing_blocks += b->sequence - r->sequence;
		note(r, r->offset, 0, b->sequence - r->sequence,
		     "blocks are missing before this offset");
		r->sequence = (uint64_t)b->sequence + 1;
	} else {
		note(r, r->offset, 0, 0,
		     "a block's sequence number goes back; its records were used");
	}
}

static void end_damage(struct reader *r)
{
	if (!r->damage_why)
		return;
	r->status->damaged_bytes += r->offset - r->damage;
	/* The cut-off end has an account of its own. */
	if (!r->status->cut_wanted || r->damage != r->status->cut_offset)
		note(r, r->damage, r->offset - r->damage, 0, r->damage_why);
	r->damage_why = NULL;
}

/* Go on to the next place where a block may begin. */
static void skip(struct reader *r, const char *why)
{
	const unsigned char *from, *found;
	size_t left;

	if (!r->damage_why) {
		r->damage = r->offset;
		r->damage_why = why;
	}
	consume(r, 1);
	from = r->window + r->start;
	left = r->end - r->start;
	found = log_block_find(from, left);
	if (found)
		consume(r, (size_t)(found - from));
	else if (left >= sizeof(uint32_t))
		consume(r,
			left - sizeof(uint32_t) + 1); /* a magic may be cut in two by the window */
}

/* The file ends inside the block. Of a copy, what pads it need not be there. */
static void cut_off(struct reader *r, size_t whole)
{
	if (!r->status->cut_wanted) {
		r->status->cut_offset = r->offset;
		r->status->cut_bytes = r->end - r->start;
		r->status->cut_wanted = whole;
	}
	skip(r, "the file ends inside a block");
}

/* One of the copies at the file's end, whose records are in r->block: keep the newer one. */
static void keep_copy(struct reader *r, const struct log_block *b)
{
	unsigned char *other = r->copy;

	if (r->copied.raw && r->copied.sequence >= b->sequence)
		return;
	if (!other)
		other = gw_alloc(GW_BLOCK_MAX);
	r->copy = r->block;
	r->block = other;
	r->copied = *b;
	r->copy_offset = r->offset;
}

/* A block header that looks right stands at the window's start; false ends the reading. */
static bool take_block(struct reader *r, const struct log_block *b)
{
	size_t whole = b->head + b->length, space;
	const char *why;

	if (need(r, whole) < whole) {
		cut_off(r, whole);
		return true;
	}
	if (b->flags & GW_BLOCK_PACKED && !r->model)
		r->model = gw_alloc(gw_block_model_size());
	why = log_block_open(b, r->window + r->start + b->head, r->model, r->block);
	if (why) {
		r->wasted += b->length;
		skip(r, why);
		if (r->wasted > WASTE && need(r, whole) >= whole)
			consume(r, whole - 1 < r->end - r->start ? whole - 1 : r->end - r->start);
		return true;
	}
	/* What looked like the cut-off end was damage: a whole block follows. */
	r->status->cut_wanted = 0;
	end_damage(r);
	r->status->blocks++;
	r->status->bytes += whole;
	if (b->flags & GW_BLOCK_COPY) {
		keep_copy(r, b);
	} else {
		check_sequence(r, b);
		if (!take_all(r, r->block, b, r->offset))
			return false;
	}
	space = need(r, b->space);
	consume(r, space < b->space ? space : b->space);
	return true;
}

static void read_blocks(struct reader *r)
{
	struct log_block b;

	while (need(r, LOG_BLOCK_HEAD_LEAST) >= LOG_BLOCK_HEAD_LEAST) {
		if (!header_at(r, 0, &b)) {
			skip(r, "no block begins here");
			continue;
		}
		if (!take_block(r, &b))
			return;
	}
	if (r->end > r->start) {
		if (!r->damage_why) {
			r->damage = r->offset;
			r->damage_why = "the file ends inside a block header";
		}
		consume(r, r->end - r->start);
	}
	end_damage(r);
	if (r->copied.raw)
		take_all(r, r->copy, &r->copied, r->copy_offset);
}

/* Why nothing of a file could be used, and what helps. */
static void nothing_whole(const struct reader *r)
{
	struct gw_log_status *s = r->status;

	if (s->read_error)
		snprintf(s->error, sizeof(s->error), "%s%s", s->read_error,
			 r->offset ? " before the first whole block" : "");
	else if (!r->offset)
		snprintf(s->error, sizeof(s->error),
			 "it is empty: the process has not launched a kernel, or was killed before "
			 "its first write");
	else if (s->cut_wanted && !s->cut_offset)
		snprintf(s->error, sizeof(s->error),
			 "it ends after %llu of the %llu bytes of its first block: it was cut off; "
			 "copy it once more, or look whether the disk it was written to is full",
			 (unsigned long long)s->cut_bytes, (unsigned long long)s->cut_wanted);
	else
		snprintf(s->error, sizeof(s->error),
			 "it is not a gpuwatch log, or no block of it is whole; name a file that "
			 "libgpuwatch.so wrote");
}

static bool read_source(struct gw_log_source *source, gw_log_record_fn *record, void *arg,
			struct gw_log_status *status)
{
	struct reader r = {.source = source, .status = status, .record = record, .arg = arg};

	status->compressed = gw_log_source_compressed(source);
	/* One byte more than there is: a full window would mean that more is to come. */
	r.room = gw_log_source_size(source) < WINDOW ? gw_log_source_size(source) + 1 : WINDOW;
	r.window = gw_alloc(r.room);
	r.block = gw_alloc(GW_BLOCK_MAX);
	read_blocks(&r);
	if (!*status->error && !status->blocks)
		nothing_whole(&r);
	free(r.window);
	free(r.block);
	free(r.copy);
	free(r.model);
	for (unsigned i = 0; i < KINDS; i++)
		free(r.defined[i]);
	gw_log_source_close(source);
	return !*status->error;
}

bool gw_log_read(const char *path, gw_log_record_fn *record, void *arg,
		 struct gw_log_status *status)
{
	struct gw_log_source *source;

	memset(status, 0, sizeof(*status));
	source = gw_log_source_open(path, status->error, sizeof(status->error));
	return source && read_source(source, record, arg, status);
}

bool gw_log_read_memory(const void *data, size_t length, gw_log_record_fn *record, void *arg,
			struct gw_log_status *status)
{
	memset(status, 0, sizeof(*status));
	return read_source(gw_log_source_memory(data, length), record, arg, status);
}

const char *gw_log_text(const struct gw_log_record *record, unsigned n)
{
	const char *p = record->tail, *end = p + record->tail_length;

	if (record->head->kind >= KINDS || !kinds[record->head->kind].text)
		return "";
	for (; n && p < end; n--)
		p += strlen(p) + 1;
	return p < end ? p : "";
}

const char *gw_log_value(const struct gw_log_record *record, const char *key)
{
	const char *p = record->tail, *end = p + record->tail_length;
	size_t length = strlen(key);

	for (; p < end; p += strlen(p) + 1)
		if (!strncmp(p, key, length) && p[length] == '=')
			return p + length + 1;
	return "";
}
