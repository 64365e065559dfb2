/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/reasons.h"

#include "cli/common/memory.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *meaning;
} ends[GW_ANALYSIS_ENDS] = {
#define ANALYSIS_END(NAME, name, meaning) [GW_ANALYSIS_##NAME] = {name, meaning},
#include "predictor/log/analysis_end.def"
#undef ANALYSIS_END
};

const char *gw_analysis_end_name(enum gw_analysis_end end)
{
	return (unsigned)end < GW_ANALYSIS_ENDS ? ends[end].name : "unknown";
}

const char *gw_analysis_end_meaning(enum gw_analysis_end end)
{
	return (unsigned)end < GW_ANALYSIS_ENDS ? ends[end].meaning : "";
}

void log_degraded_add(struct gw_log_model *m, const struct gw_record_degraded *d, const char *text,
                      bool *told)
{
	size_t i;

	for (i = 0; i < m->reason_count; i++)
		if (m->reasons[i].code == d->code && !strcmp(m->reasons[i].text, text))
			break;
	if (i == LOG_REASONS_MAX)
		return;
	if (i == m->reason_count) {
		m->reasons = gw_grow(m->reasons, &m->reason_room, ++m->reason_count,
		                     sizeof(*m->reasons));
		m->reasons[i] = (struct gw_log_reason){gw_copy(text), d->code, 0, 0};
	}
	m->reasons[i].seen++;
	m->reasons[i].files += !told[i];
	told[i] = true;
}

/* Beyond as many as are told apart, all are the last one. */
static uint32_t untold_of(struct gw_log_model *m, uint32_t end, const char *text)
{
	size_t i;

	for (i = 0; i < m->untold_count; i++)
		if (m->untold[i].end == end && !strcmp(m->untold[i].text, text))
			return (uint32_t)i;
	if (i == LOG_REASONS_MAX)
		return LOG_REASONS_MAX - 1;
	m->untold = gw_grow(m->untold, &m->untold_room, ++m->untold_count, sizeof(*m->untold));
	m->untold[i] = (struct gw_unexplained){
	        .text = gw_copy(i + 1 == LOG_REASONS_MAX ? "other reasons" : text), .end = end};
	return (uint32_t)i;
}

void log_analysis_add(struct gw_log_model *m, struct log_code *code,
                   const struct gw_record_analysis *record, const char *text)
{
	uint32_t reason = untold_of(m, record->end, text);

	if (!code) {
		m->untold[reason].configs++;
		return;
	}
	code->reason = reason;
	code->said = true;
}

void log_analysis_work(struct log_code *code, const struct gw_log_record *record)
{
	const struct gw_record_work *w = (const void *)record->head;
	const struct gw_record_quantity *part = (const void *)record->tail;

	code->told = false;
	for (uint32_t i = 0; i < w->count; i++)
		code->told |= part[i].source == GW_SOURCE_STATIC;
}

static void count(struct gw_log_model *m, struct gw_row *row, uint32_t name, uint32_t reason,
                  uint64_t launches)
{
	struct gw_unexplained *u = &m->untold[reason];

	u->configs++;
	u->launches += launches;
	if (launches > u->most) {
		u->most = launches;
		u->name = name;
	}
	if (launches > row->untold_most) {
		row->untold_most = launches;
		row->untold = reason;
	}
}

/* A log from before there were such records says nothing of why; one that was cut off could not. */
void log_analysis_end(struct gw_log_model *m, struct gw_row *row, uint32_t name,
                   const struct log_code *code, bool ended)
{
	uint32_t reason = code->reason;

	if (!code->launches)
		return;
	if (!code->said && !code->told && !ended)
		reason = untold_of(m, GW_ANALYSIS_NOT_REACHED, "the log ends before");
	else if (!code->said)
		reason = GW_INDEX_NONE;
	if (reason == GW_INDEX_NONE || !*m->untold[reason].text) {
		row->code_told += code->told ? code->launches : 0;
		return;
	}
	row->code_told += m->untold[reason].end == GW_ANALYSIS_DONE ? code->launches : 0;
	count(m, row, name, reason, code->launches);
}

void log_reasons_free(struct gw_log_model *m)
{
	for (size_t i = 0; i < m->reason_count; i++)
		free(m->reasons[i].text);
	for (size_t i = 0; i < m->untold_count; i++)
		free(m->untold[i].text);
	free(m->reasons);
	free(m->untold);
}
