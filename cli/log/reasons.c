#include "cli/log/reasons.h"

#include "cli/common/demangle.h"
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *meaning;
} ends[GW_ANALYSIS_ENDS] = {
#define ANALYSIS_END(NAME, name, meaning) [GW_ANALYSIS_##NAME] = {name, meaning},
#include "predictor/log/analysis_end.def"
#undef ANALYSIS_END
};

const char *gw_analysis_end_name(uint32_t end)
{
	return end < GW_ANALYSIS_ENDS ? ends[end].name : "unknown";
}

const char *gw_analysis_end_meaning(uint32_t end)
{
	return end < GW_ANALYSIS_ENDS ? ends[end].meaning : "";
}

/* @p text with the kernel at its end, in parentheses, under its short name; free() it. */
static char *with_short_name(const char *text)
{
	const char *at = strstr(text, " (_Z");
	const size_t length = strlen(text);
	char *mangled, *plain, *name, *out;

	if (!at || text[length - 1] != ')')
		return gw_copy(text);
	mangled = gw_copy(at + 2);
	mangled[strlen(mangled) - 1] = 0;
	plain = gw_demangle(mangled);
	name = gw_kernel_name(plain);
	out = gw_alloc((size_t)(at - text) + strlen(name) + 4);
	sprintf(out, "%.*s (%s)", (int)(at - text), text, name);
	free(mangled);
	free(plain);
	free(name);
	return out;
}

void log_degraded_add(struct gw_log_model *m, const struct gw_record_degraded *d, const char *text,
		      bool *seen)
{
	size_t i;

	for (i = 0; i < m->reason_count; i++)
		if (m->reasons[i].code == d->code && !strcmp(m->reasons[i].recorded, text))
			break;
	if (i == LOG_REASONS_MAX)
		return;
	if (i == m->reason_count) {
		GW_GROW(m->reasons, &m->reason_room, ++m->reason_count);
		m->reasons[i] =
			(struct gw_log_reason){with_short_name(text), gw_copy(text), d->code, 0, 0};
	}
	m->reasons[i].seen++;
	m->reasons[i].files += !seen[i];
	seen[i] = true;
}

/* Beyond LOG_REASONS_MAX all are counted as the last one. */
static uint32_t unexplained_of(struct gw_log_model *m, uint32_t end, const char *text)
{
	size_t i;

	for (i = 0; i < m->unexplained_count; i++)
		if (m->unexplained[i].end == end && !strcmp(m->unexplained[i].text, text))
			return (uint32_t)i;
	if (i == LOG_REASONS_MAX)
		return LOG_REASONS_MAX - 1;
	GW_GROW(m->unexplained, &m->unexplained_room, ++m->unexplained_count);
	m->unexplained[i] = (struct gw_unexplained){
		.text = gw_copy(i + 1 == LOG_REASONS_MAX ? "other reasons" : text), .end = end};
	return (uint32_t)i;
}

void log_analysis_add(struct gw_log_model *m, struct log_code *code,
		      const struct gw_record_analysis *record, const char *text)
{
	uint32_t reason = unexplained_of(m, record->end, text);

	if (!code) {
		m->unexplained[reason].configs++;
		return;
	}
	code->reason = reason;
	code->said = true;
}

void log_analysis_work(struct log_code *code, const struct gw_log_record *record)
{
	const struct gw_record_work *w = (const void *)record->head;
	const struct gw_record_quantity *part = (const void *)record->tail;

	for (uint32_t i = 0; i < w->count; i++)
		code->has_work |= part[i].source == GW_SOURCE_STATIC;
}

static void count(struct gw_log_model *m, struct gw_row *row, uint32_t name, uint32_t reason,
		  uint64_t launches)
{
	struct gw_unexplained *u = &m->unexplained[reason];

	u->configs++;
	u->launches += launches;
	if (launches > u->most) {
		u->most = launches;
		u->name = name;
	}
	if (launches > row->unexplained_most) {
		row->unexplained_most = launches;
		row->unexplained = reason;
	}
}

/* A log from before there were such records says nothing of why; one that was cut off could not. */
void log_analysis_end(struct gw_log_model *m, struct gw_row *row, uint32_t name,
		      const struct log_code *code, bool ended)
{
	uint32_t reason = code->reason;

	if (!code->launches)
		return;
	if (!code->said && !code->has_work && !ended)
		reason = unexplained_of(m, GW_ANALYSIS_NOT_REACHED, "the log ends before");
	else if (!code->said)
		reason = GW_INDEX_NONE;
	if (reason == GW_INDEX_NONE || !*m->unexplained[reason].text) {
		row->code_analyzed += code->has_work ? code->launches : 0;
		return;
	}
	row->code_analyzed += m->unexplained[reason].end == GW_ANALYSIS_DONE ? code->launches : 0;
	count(m, row, name, reason, code->launches);
}

void log_reasons_free(struct gw_log_model *m)
{
	for (size_t i = 0; i < m->reason_count; i++) {
		free(m->reasons[i].text);
		free(m->reasons[i].recorded);
	}
	for (size_t i = 0; i < m->unexplained_count; i++)
		free(m->unexplained[i].text);
	free(m->reasons);
	free(m->unexplained);
}
