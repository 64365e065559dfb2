/* The account of a log: what it lacks, in words, and what its process counted. */
#include "cli/log/model.h"
#include "cli/log/reader.h"

#include "cli/common/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool gw_log_whole(const struct gw_log_status *s)
{
	return !*s->error && s->ended && s->header && !s->notes && !s->read_error &&
	       (!s->claimed || s->claimed == s->records + s->unknown + s->invalid);
}

static void tell_note(const struct gw_log_status *s, const struct gw_log_note *n, char *out,
		      size_t size)
{
	const char *where = s->compressed ? " of the decompressed log" : "";
	struct gw_text bytes, blocks;

	if (n->blocks)
		snprintf(out, size, "%s missing before offset %" PRIu64 "%s",
			 gw_counted(&blocks, (double)n->blocks, "block", NULL), n->offset, where);
	else if (n->bytes)
		snprintf(out, size, "%s lost at offset %" PRIu64 "%s: %s",
			 gw_counted(&bytes, (double)n->bytes, "byte", NULL), n->offset, where,
			 n->why);
	else
		snprintf(out, size, "offset %" PRIu64 "%s: %s", n->offset, where, n->why);
}

/* The lines that follow the notes; false when @p line is beyond them. */
static bool rest(const struct gw_log_status *s, unsigned line, char *out, size_t size)
{
	uint64_t seen = s->records + s->unknown + s->invalid;
	struct gw_text a, b;

	if (s->notes > GW_LOG_NOTES && !line--)
		return snprintf(out, size, "%s more, %s bytes lost in all",
				gw_counted(&a, s->notes - GW_LOG_NOTES, "damage", NULL),
				gw_thousands(&b, (double)s->damaged_bytes)),
		       true;
	if (s->cut_wanted && !line--)
		return snprintf(out, size,
				"the file ends inside the block at offset %" PRIu64
				": %s of %s bytes are there",
				s->cut_offset, gw_thousands(&a, (double)s->cut_bytes),
				gw_thousands(&b, (double)s->cut_wanted)),
		       true;
	if (s->read_error && !line--)
		return snprintf(out, size, "reading stopped: %s", s->read_error), true;
	if (!s->header && !line--)
		return snprintf(out, size,
				"no HEADER record: its block is lost, the process is unknown"),
		       true;
	if (s->unknown && !line--)
		return snprintf(out, size, "%s of kinds this gpuwatch does not know, skipped",
				gw_counted(&a, (double)s->unknown, "record", NULL)),
		       true;
	if (!s->ended && !s->stopped && !line--)
		return snprintf(out, size,
				"no END record: the process was killed or is still running"),
		       true;
	if (s->ended && s->claimed > seen && !line--)
		return snprintf(out, size, "%s of %s missing",
				gw_thousands(&a, (double)(s->claimed - seen)),
				gw_counted(&b, (double)s->claimed, "record", NULL)),
		       true;
	if (s->ended && s->claimed && s->claimed < seen && !line--)
		return snprintf(out, size, "%s more than its END record states",
				gw_counted(&a, (double)(seen - s->claimed), "record", NULL)),
		       true;
	return false;
}

bool gw_log_complaint(const struct gw_log_status *s, unsigned line, char *out, size_t size)
{
	unsigned listed = s->notes < GW_LOG_NOTES ? s->notes : GW_LOG_NOTES;

	if (line < listed) {
		tell_note(s, &s->note[line], out, size);
		return true;
	}
	return rest(s, line - listed, out, size);
}

/* Files of one ring have one header. */
static bool same_process(const struct gw_file *a, const struct gw_file *b)
{
	return !a->skipped && a->header.start_ns && a->header.start_ns == b->header.start_ns &&
	       a->header.pid == b->header.pid && a->header.ticks == b->header.ticks &&
	       !strcmp(a->text[GW_TEXT_host], b->text[GW_TEXT_host]);
}

void gw_log_model_count(struct gw_log_model *m, struct gw_file *f)
{
	const uint64_t *before = NULL;

	for (const struct gw_file *g = m->files; g < f; g++)
		f->again |= same_process(g, f);
	for (const struct gw_file *g = m->files; f->again && g < f; g++)
		if (same_process(g, f) && (!before || g->counters[GW_COUNTER_log_records] >
							      before[GW_COUNTER_log_records]))
			before = g->counters;
	if (before && before[GW_COUNTER_log_records] >= f->counters[GW_COUNTER_log_records])
		return;
	for (unsigned i = 0; i < GW_COUNTERS; i++)
		m->counters[i] += f->counters[i] - (before ? before[i] : 0);
}

bool gw_gpu_matches(const struct gw_gpu *gpu, const char *text)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", gpu->record.ordinal);
	return !strcmp(number, text) ||
	       (strlen(text) >= 4 && !strncasecmp(gpu->uuid, text, strlen(text))) ||
	       (text[strspn(text, "0123456789")] && strcasestr(gpu->name, text));
}

void gw_file_launch(struct gw_file *f, const struct gw_record_launch *l)
{
	f->launches++;
	if (l->call_ns && (!f->first_ns || l->call_ns < f->first_ns))
		f->first_ns = l->call_ns;
	if (l->call_ns > f->last_ns)
		f->last_ns = l->call_ns;
}
