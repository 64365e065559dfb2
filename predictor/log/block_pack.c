#include "predictor/log/block.h"

#include "predictor/log/block_model.h"

size_t gw_block_model_size(void)
{
	return sizeof(struct gw_block_model);
}

uint32_t gw_block_checksum(const struct gw_packed_block *head, const void *data)
{
	const size_t covered = offsetof(struct gw_packed_block, length);

	return gw_crc32(gw_crc32(0, (const char *)head + covered, sizeof(*head) - covered), data,
			head->length);
}

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* The step of the clock that times were taken by: what all durations are multiples of. */
static uint64_t step_of(const unsigned char *raw, uint32_t length)
{
	struct gw_record_launch l;
	uint64_t step = 0;

	for (uint32_t at = 0; at < length && step != 1; at += l.head.length) {
		memcpy(&l.head, raw + at, sizeof(l.head));
		if (!is_launch(raw, at, length - at))
			continue;
		memcpy(&l, raw + at, sizeof(l));
		step = common(l.duration_ns, step);
	}
	return step && step < STEP_MOST ? step : 1;
}

size_t gw_block_pack(struct gw_block_model *m, unsigned char *raw, uint32_t length,
		     unsigned char *out, size_t room)
{
	struct gw_record head;

	model_begin(m);
	m->out = out;
	m->end = room;
	m->step = step_of(raw, length);
	/* Who reads up to version 3 can read the header, and says so. */
	memcpy(&head, raw, sizeof(head));
	m->older = head.kind == GW_RECORD_HEADER;
	if (!m->older)
		code_plain(m, false, 16, 0);
	code_plain(m, false, 16, m->step);
	for (uint32_t at = 0; at < length;)
		at = code_record(m, false, raw, at, length);
	for (int i = 0; i < 5; i++)
		shift_low(m);
	return m->broken ? 0 : m->at;
}
