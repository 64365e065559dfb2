/*
 * How the records of a block are packed: an adaptive model and a binary range coder, as LZMA has
 * it. Encoder and decoder are this one description, so that they cannot differ: each function takes
 * a value and gives it back when it encodes, and gives the one that was read when it decodes.
 * gpuwatch-log(5) says it in words.
 */
#ifndef GW_BLOCK_MODEL_H
#define GW_BLOCK_MODEL_H

#include "predictor/log/block.h"

#include <string.h>

enum {
	PROBABILITY_BITS = 11,
	ADAPTATION = 4,
	TOP_BITS = 3, /* bits after the leading one that are modelled; the rest are not */
	LENGTH_BITS = 7,
	HINTS = 16,
	CONTEXTS = 1 << 13, /* places for what followed three launches … */
	CONFIGS = 1 << 12,  /* … and for the last launch of a configuration */
	KINDS_KEPT = 32,
	STEP_MOST = 1 << 16,
	MATCH_BITS = 12,
};

/* What a byte is expected to be: that of the last record of the kind, … */
enum way { AS_BEFORE, AS_ROW, AS_TEXT, WAYS };

enum column {
	COLUMN_CONFIG,
	COLUMN_STREAM,
	COLUMN_THREAD,
	COLUMN_NODE,
	COLUMN_FLAGS,
	COLUMN_TIER,
	COLUMN_WORK,
	COLUMN_KNOWN,
	COLUMN_PREDICTED,
	COLUMN_LOW,
	COLUMN_HIGH,
	COLUMN_CALL,
	COLUMN_START,
	COLUMN_DURATION,
	COLUMN_REST, /* what is left of a time that is no whole number of steps */
	COLUMN_KIND,
	COLUMN_LENGTH,
	COLUMNS
};

typedef uint16_t probability;

/* Called in many places: inlined they are twice the code and no faster (tests/bench/log_pack). */
#define APART static __attribute__((noinline))

struct number_model {
	probability length[HINTS][1 << LENGTH_BITS];
	probability top[65][1 << TOP_BITS];
};

struct gw_block_model {
	/* The coder. */
	const unsigned char *in;
	unsigned char *out;
	size_t at, end;
	uint64_t low, pending;
	uint32_t range, code;
	unsigned char cache;
	bool broken; /* encoder: no room; decoder: read past the end, or nonsense */
	/* The model. */
	struct number_model number[COLUMNS];
	probability launch[4], same[8], known[2], predicted[4], call[4], whole[2];
	probability equal[WAYS][4][64], literal[256][256];
	uint32_t by_context[CONTEXTS], by_config[CONFIGS]; /* offset in the block plus one */
	uint32_t of_kind[KINDS_KEPT];
	uint32_t of_row[256], after[1 << MATCH_BITS]; /* offsets: of parts; behind three bytes */
	uint8_t next_row[256];
	uint8_t hint_start[CONFIGS], hint_duration[CONFIGS];
	unsigned launches_seen, sames_seen, calls_seen; /* the last outcomes, as bits */
	uint32_t last[3];                               /* keys of the last launches */
	struct gw_record_launch before;                 /* the last one */
	uint64_t step;
	bool older; /* before version 4: AS_BEFORE alone */
};

static inline void model_begin(struct gw_block_model *m)
{
	memset(m, 0, sizeof(*m));
	m->range = UINT32_MAX;
	m->pending = 1;
	for (size_t at = offsetof(struct gw_block_model, number);
	     at < offsetof(struct gw_block_model, by_context); at += sizeof(probability))
		*(probability *)(void *)((char *)m + at) = 1 << (PROBABILITY_BITS - 1);
}

/* ---- the range coder ---- */

static inline void put_byte(struct gw_block_model *m, unsigned byte)
{
	if (m->at < m->end)
		m->out[m->at++] = (unsigned char)byte;
	else
		m->broken = true;
}

static inline unsigned get_byte(struct gw_block_model *m)
{
	if (m->at < m->end)
		return m->in[m->at++];
	m->broken = true;
	return 0;
}

APART void shift_low(struct gw_block_model *m)
{
	if (m->low < 0xff000000u || m->low > UINT32_MAX) {
		unsigned carry = (unsigned)(m->low >> 32), byte = m->cache;

		do {
			put_byte(m, (byte + carry) & 255);
			byte = 255;
		} while (--m->pending);
		m->cache = (unsigned char)(m->low >> 24);
	}
	m->pending++;
	m->low = (m->low & 0x00ffffffu) << 8;
}

static inline void normalize(struct gw_block_model *m, bool decode)
{
	if (m->range >= 1u << 24)
		return;
	m->range <<= 8;
	if (decode)
		m->code = m->code << 8 | get_byte(m);
	else
		shift_low(m);
}

static inline unsigned code_bit(struct gw_block_model *m, bool decode, probability *p, unsigned bit)
{
	uint32_t bound = (m->range >> PROBABILITY_BITS) * *p;

	if (decode)
		bit = m->code >= bound;
	if (bit) {
		if (decode)
			m->code -= bound;
		else
			m->low += bound;
		m->range -= bound;
		*p = (probability)(*p - (*p >> ADAPTATION));
	} else {
		m->range = bound;
		*p = (probability)(*p + (((1 << PROBABILITY_BITS) - *p) >> ADAPTATION));
	}
	normalize(m, decode);
	return bit;
}

APART unsigned code_flag(struct gw_block_model *m, bool decode, probability *p, unsigned bit)
{
	return code_bit(m, decode, p, bit);
}

/* The lowest @p bits bits of @p value, none more probable than the other. */
static inline uint64_t code_plain(struct gw_block_model *m, bool decode, unsigned bits,
				  uint64_t value)
{
	uint64_t result = 0;

	while (bits--) {
		unsigned bit = value >> bits & 1;

		m->range >>= 1;
		if (decode)
			bit = m->code >= m->range;
		if (bit && decode)
			m->code -= m->range;
		else if (bit)
			m->low += m->range;
		normalize(m, decode);
		result = result << 1 | bit;
	}
	return result;
}

APART unsigned code_tree(struct gw_block_model *m, bool decode, probability *tree, unsigned bits,
			 unsigned value)
{
	unsigned node = 1;

	for (unsigned i = bits; i--;)
		node = node << 1 | code_bit(m, decode, &tree[node], value >> i & 1);
	return node - (1u << bits);
}

static inline unsigned bit_length(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* How many bits it has, then those after the leading one. */
static inline uint64_t code_number(struct gw_block_model *m, bool decode, enum column column,
				   unsigned hint, uint64_t value)
{
	struct number_model *n = &m->number[column];
	unsigned length = code_tree(m, decode, n->length[hint], LENGTH_BITS, bit_length(value));
	unsigned modelled, plain;
	uint64_t top;

	if (length > 64) {
		m->broken = true;
		return 0;
	}
	if (length < 2)
		return length;
	modelled = length - 1 < TOP_BITS ? length - 1 : TOP_BITS;
	plain = length - 1 - modelled;
	top = code_tree(m, decode, n->top[length], modelled,
			(unsigned)(value >> plain) & ((1u << modelled) - 1));
	top |= UINT64_C(1) << modelled;
	return top << plain | code_plain(m, decode, plain, value);
}

/* A difference: the sign goes to the lowest bit. */
APART uint64_t code_signed(struct gw_block_model *m, bool decode, enum column column, unsigned hint,
			   uint64_t difference)
{
	uint64_t folded = difference << 1 ^ (uint64_t)((int64_t)difference >> 63);

	folded = code_number(m, decode, column, hint, folded);
	return folded >> 1 ^ -(folded & 1);
}

static inline uint8_t hint_of(uint64_t difference)
{
	unsigned length = bit_length(difference << 1 ^ (uint64_t)((int64_t)difference >> 63));

	return (uint8_t)(length < HINTS ? length : HINTS - 1);
}

/* ---- launches ---- */

/* A difference of times: whole steps of the GPU's clock, and what is left. */
static inline uint64_t code_time(struct gw_block_model *m, bool decode, enum column column,
				 uint8_t *hint, uint64_t difference)
{
	int64_t steps = (int64_t)difference / (int64_t)m->step, rest;

	rest = (int64_t)difference - steps * (int64_t)m->step;
	steps -= rest < 0;
	rest += rest < 0 ? (int64_t)m->step : 0;
	steps = (int64_t)code_signed(m, decode, column, *hint, (uint64_t)steps);
	*hint = hint_of((uint64_t)steps);
	if (m->step == 1)
		return (uint64_t)steps;
	if (code_flag(m, decode, &m->whole[column == COLUMN_START], rest != 0))
		rest = (int64_t)code_number(m, decode, COLUMN_REST, 0, (uint64_t)rest);
	else
		rest = 0;
	return (uint64_t)steps * m->step + (uint64_t)rest;
}

static inline uint32_t launch_key(const struct gw_record_launch *l)
{
	return l->config * 0x9e3779b1u ^ l->node * 0x85ebca6bu ^ l->stream * 0xc2b2ae35u;
}

static inline uint32_t context_of(const struct gw_block_model *m)
{
	uint32_t h = m->last[0] * 0x9e3779b1u + m->last[1] * 0x85ebca6bu + m->last[2];

	return (h ^ h >> 15) * 0x2c1b3c6du >> 19;
}

static inline uint32_t config_place(uint32_t config)
{
	return config * 0x9e3779b1u >> 20;
}

static inline void launch_at(const unsigned char *raw, uint32_t place, struct gw_record_launch *out)
{
	if (place)
		memcpy(out, raw + place - 1, sizeof(*out));
	else
		memset(out, 0, sizeof(*out));
}

static inline bool same_kind(const struct gw_record_launch *a, const struct gw_record_launch *b)
{
	return a->config == b->config && a->stream == b->stream && a->thread == b->thread &&
	       a->node == b->node && a->flags == b->flags && a->tier == b->tier &&
	       a->work == b->work;
}

#define CODE_FIELD(COLUMN, field, type) \
	l->field = (type)(like->field + code_signed(m, decode, COLUMN, 0, \
						    (uint64_t)l->field - (uint64_t)like->field))

static inline void code_kind(struct gw_block_model *m, bool decode,
			     const struct gw_record_launch *like, struct gw_record_launch *l)
{
	unsigned differs =
		code_flag(m, decode, &m->same[m->sames_seen & 7], !decode && !same_kind(l, like));

	m->sames_seen = m->sames_seen << 1 | differs;
	if (!differs) {
		l->config = like->config;
		l->stream = like->stream;
		l->thread = like->thread;
		l->node = like->node;
		l->flags = like->flags;
		l->tier = like->tier;
		l->work = like->work;
		return;
	}
	CODE_FIELD(COLUMN_CONFIG, config, uint32_t);
	CODE_FIELD(COLUMN_STREAM, stream, uint32_t);
	CODE_FIELD(COLUMN_THREAD, thread, uint16_t);
	CODE_FIELD(COLUMN_NODE, node, uint32_t);
	CODE_FIELD(COLUMN_FLAGS, flags, uint32_t);
	CODE_FIELD(COLUMN_TIER, tier, uint8_t);
	CODE_FIELD(COLUMN_WORK, work, uint8_t);
}

static inline uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

static inline float of_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* What is predicted changes when predictions are published, and its ends mostly with it. */
static inline void code_prediction(struct gw_block_model *m, bool decode,
				   const struct gw_record_launch *last, struct gw_record_launch *l)
{
	const uint32_t p = bits_of(last->predicted), low = bits_of(last->low),
		       high = bits_of(last->high);
	uint32_t mine = bits_of(l->predicted), mine_low = bits_of(l->low),
		 mine_high = bits_of(l->high), moved;
	unsigned news = mine != p || mine_low != low || mine_high != high;

	news = code_flag(m, decode, &m->predicted[(l->known != last->known) * 2 + (l->tier == 3)],
			 news);
	moved = news ? (uint32_t)code_signed(m, decode, COLUMN_PREDICTED, 0,
					     (uint64_t)(int64_t)(int32_t)(mine - p))
		     : 0;
	l->predicted = of_bits(p + moved);
	if (news) {
		mine_low =
			low + moved +
			(uint32_t)code_signed(m, decode, COLUMN_LOW, 0,
					      (uint64_t)(int64_t)(int32_t)(mine_low - low - moved));
		mine_high = high + moved +
			    (uint32_t)code_signed(
				    m, decode, COLUMN_HIGH, 0,
				    (uint64_t)(int64_t)(int32_t)(mine_high - high - moved));
	}
	l->low = news ? of_bits(mine_low) : last->low;
	l->high = news ? of_bits(mine_high) : last->high;
}

/* One launch; @p raw the block so far, @p at where it stands in it. */
static inline void code_launch(struct gw_block_model *m, bool decode, unsigned char *raw,
			       uint32_t at)
{
	struct gw_record_launch record, like, last, *l = &record;
	const uint32_t context = context_of(m);
	uint32_t place, seen, later;
	unsigned news;

	if (!decode)
		memcpy(l, raw + at, sizeof(*l));
	else
		memset(l, 0, sizeof(*l));
	launch_at(raw, m->by_context[context], &like);
	if (!m->by_context[context])
		like = m->before;
	code_kind(m, decode, &like, l);
	place = config_place(l->config);
	launch_at(raw, m->by_config[place], &last);
	news = code_flag(m, decode, &m->known[0], l->known != m->before.known);
	l->known = news ? (uint32_t)(m->before.known +
				     code_signed(m, decode, COLUMN_KNOWN, 0,
						 (uint64_t)(int64_t)(int32_t)(l->known -
									      m->before.known)))
			: m->before.known;
	code_prediction(m, decode, &last, l);
	later = code_flag(m, decode, &m->call[m->calls_seen & 3], l->call_ns != m->before.call_ns);
	m->calls_seen = m->calls_seen << 1 | later;
	l->call_ns = later ? m->before.call_ns + code_signed(m, decode, COLUMN_CALL, 0,
							     l->call_ns - m->before.call_ns)
			   : m->before.call_ns;
	l->start_ns = m->before.start_ns + m->before.duration_ns +
		      code_time(m, decode, COLUMN_START, &m->hint_start[place],
				l->start_ns - m->before.start_ns - m->before.duration_ns);
	l->duration_ns =
		last.duration_ns + code_time(m, decode, COLUMN_DURATION, &m->hint_duration[place],
					     l->duration_ns - last.duration_ns);
	l->head = (struct gw_record){GW_RECORD_LAUNCH, sizeof(*l)};
	if (decode)
		memcpy(raw + at, l, sizeof(*l));
	seen = at + 1;
	m->by_context[context] = seen;
	m->by_config[place] = seen;
	m->last[2] = m->last[1];
	m->last[1] = m->last[0];
	m->last[0] = launch_key(l);
	m->before = *l;
}
#undef CODE_FIELD

/* ---- other records ---- */

/* Where what goes on stands. */
struct guess {
	uint32_t at, length; /* 0: nowhere; AS_TEXT: bytes that were right */
	unsigned row;        /* AS_ROW: the low byte of the last part's row */
};

static inline enum way way_of(const struct gw_block_model *m, unsigned kind)
{
	const uint64_t texts = UINT64_C(1) << GW_RECORD_MODULE | UINT64_C(1) << GW_RECORD_KERNEL |
			       UINT64_C(1) << GW_RECORD_PROFILE |
			       UINT64_C(1) << GW_RECORD_ANALYSIS | UINT64_C(1) << GW_RECORD_OBJECT |
			       UINT64_C(1) << GW_RECORD_FRAME | UINT64_C(1) << GW_RECORD_STACK;

	if (m->older || kind > 63)
		return AS_BEFORE;
	if (kind == GW_RECORD_WORK || kind == GW_RECORD_GRAPH_WORK)
		return AS_ROW;
	return texts >> kind & 1 ? AS_TEXT : AS_BEFORE;
}

/* Byte @p place of a part is @p byte, at @p at: parts are like the last one of their row. */
static inline void on_part(struct gw_block_model *m, struct guess *g, uint32_t place, unsigned byte,
			   uint32_t at)
{
	if (place)
		return;
	m->next_row[g->row] = (uint8_t)byte;
	g->row = byte;
	g->at = m->of_row[byte];
	m->of_row[byte] = at;
}

/* Text goes on as it did behind the same three bytes. */
static inline void on_text(struct gw_block_model *m, struct guess *g, bool right,
			   const unsigned char *raw, uint32_t at)
{
	uint32_t *after =
		&m->after[((uint32_t)raw[at] << 16 | (uint32_t)raw[at - 1] << 8 | raw[at - 2]) *
				  0x9e3779b1u >>
			  (32 - MATCH_BITS)];

	g->at = g->at && right ? g->at + 1 : *after;
	g->length = g->at && right ? g->length + 1 : 0;
	*after = at + 1;
}

/* Byte by byte, each as expected, or like others after the byte before it. */
static inline void code_other(struct gw_block_model *m, bool decode, unsigned char *raw,
			      uint32_t at, uint32_t room)
{
	struct gw_record head = {0}, before = {0};
	const unsigned char *like = NULL;
	struct guess g = {0};
	unsigned hits = 0;
	enum way by;

	if (!decode)
		memcpy(&head, raw + at, sizeof(head));
	head.kind = (uint16_t)code_number(m, decode, COLUMN_KIND, 0, head.kind);
	head.length = (uint16_t)(8 * code_number(m, decode, COLUMN_LENGTH, 0, head.length / 8));
	if (head.length < 8 || head.length > room) {
		m->broken = true;
		return;
	}
	if (decode)
		memcpy(raw + at, &head, sizeof(head));
	if (m->of_kind[head.kind % KINDS_KEPT]) {
		like = raw + m->of_kind[head.kind % KINDS_KEPT] - 1;
		memcpy(&before, like, sizeof(before));
	}
	by = way_of(m, head.kind);
	for (uint32_t i = sizeof(head); i < head.length && !m->broken; i++) {
		const bool part = by == AS_ROW && i >= sizeof(struct gw_record_work);
		unsigned expected = i < before.length ? like[i] : 0, here = raw[at + i], differs;
		uint32_t place = i;
		enum way way = AS_BEFORE;

		if (part) {
			way = by;
			place = (i - sizeof(struct gw_record_work)) %
				sizeof(struct gw_record_quantity);
			expected = !place ? m->next_row[g.row] : g.at ? raw[g.at + place] : 0;
		} else if (g.at) {
			way = by;
			place = g.length;
			expected = raw[g.at];
		}
		differs = code_bit(m, decode, &m->equal[way][hits][place < 63 ? place : 63],
				   here != expected);
		hits = (hits << 1 | differs) & 3;
		if (differs)
			expected = code_tree(m, decode, m->literal[raw[at + i - 1]], 8, here);
		if (decode)
			raw[at + i] = (unsigned char)expected;
		if (part)
			on_part(m, &g, place, expected, at + i);
		else if (by == AS_TEXT)
			on_text(m, &g, !differs, raw, at + i);
	}
	m->of_kind[head.kind % KINDS_KEPT] = at + 1;
}

static inline bool is_launch(const unsigned char *raw, uint32_t at, uint32_t room)
{
	struct gw_record head;

	memcpy(&head, raw + at, sizeof(head));
	return head.kind == GW_RECORD_LAUNCH && head.length == sizeof(struct gw_record_launch) &&
	       head.length <= room;
}

/* The record at @p at of a block of @p length bytes; where the next one is. */
static inline uint32_t code_record(struct gw_block_model *m, bool decode, unsigned char *raw,
				   uint32_t at, uint32_t length)
{
	struct gw_record head;
	unsigned launch = code_flag(m, decode, &m->launch[m->launches_seen & 3],
				    !decode && is_launch(raw, at, length - at));

	m->launches_seen = m->launches_seen << 1 | launch;
	if (launch && length - at < sizeof(struct gw_record_launch))
		m->broken = true;
	else if (launch)
		code_launch(m, decode, raw, at);
	else
		code_other(m, decode, raw, at, length - at);
	if (m->broken)
		return length;
	memcpy(&head, raw + at, sizeof(head));
	return at + head.length;
}

#endif
