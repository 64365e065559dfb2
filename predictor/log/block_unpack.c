#include "predictor/log/block.h"
#include "predictor/log/block_model.h"

bool gw_block_unpack(struct gw_block_model *m, const unsigned char *in, size_t size,
		     unsigned char *raw, uint32_t length)
{
	model_begin(m);
	m->in = in;
	m->end = size;
	get_byte(m); /* the coder's first byte says nothing */
	for (int i = 0; i < 4; i++)
		m->code = m->code << 8 | get_byte(m);
	m->step = code_plain(m, true, 16, 0);
	m->older = m->step != 0;
	if (!m->older)
		m->step = code_plain(m, true, 16, 0);
	m->step += !m->step;
	memset(raw, 0, length);
	for (uint32_t at = 0; at < length && !m->broken;)
		at = code_record(m, true, raw, at, length);
	return !m->broken && m->at == size;
}
