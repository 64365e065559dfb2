#include "cli/log/profile.h"

#include "cli/common/memory.h"

#include <stdlib.h>
#include <string.h>

void log_profile_piece(struct log_profile *p, const struct gw_log_record *record)
{
	const struct gw_record_profile *piece = (const void *)record->head;
	const char *text = gw_log_text(record, 0);
	size_t length = strlen(text);

	if (piece->offset == 0) { /* a first piece begins anew */
		p->length = 0;
		p->gap = false;
	}
	p->open = true;
	p->gap |= piece->offset != p->length || length > GW_PROFILE_BYTES - p->length;
	if (p->gap)
		return;
	p->text = gw_grow(p->text, &p->room, p->length + length + 1, 1);
	memcpy(p->text + p->length, text, length + 1);
	p->length += length;
}

bool log_profile_end(struct log_profile *p)
{
	struct gw_profile_error error = {"part of it is lost"};
	struct gw_profile *profile;

	if (!p->open)
		return false;
	p->open = false;
	free(p->why);
	p->why = NULL;
	profile = gw_alloc(sizeof(*profile));
	if (!p->gap && !gw_profile_parse(p->text, p->length, "embedded profile", profile, &error)) {
		free(p->profile);
		p->profile = profile;
		return true;
	}
	/* An earlier one is kept: rows refer to it. */
	p->why = gw_copy(error.text);
	free(profile);
	return false;
}

void log_profile_free(struct log_profile *p)
{
	free(p->profile);
	free(p->why);
	free(p->text);
	*p = (struct log_profile){0};
}

void log_work_put(const struct gw_record_quantity *parts, size_t count, struct gw_work *out)
{
	for (size_t i = 0; i < count; i++)
		if (parts[i].field < GW_WORK_FIELDS && parts[i].source <= GW_SOURCE_COUNTED)
			out->q[parts[i].field] = (struct gw_quantity){
				parts[i].value, (enum gw_source)parts[i].source,
				parts[i].confidence};
}

struct log_work *log_work_pack(const struct gw_work *work)
{
	struct gw_record_quantity parts[GW_WORK_FIELDS];
	struct log_work *p;
	uint32_t count = 0;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source != GW_SOURCE_NONE)
			parts[count++] =
				(struct gw_record_quantity){.field = (uint16_t)i,
							    .source = (uint8_t)work->q[i].source,
							    .confidence = work->q[i].confidence,
							    .value = work->q[i].value};
	p = gw_alloc(sizeof(*p) + count * sizeof(*parts));
	p->holders = 1;
	p->count = count;
	memcpy(p->parts, parts, count * sizeof(*parts));
	return p;
}

struct log_work *log_work_hold(struct log_work *work)
{
	if (work)
		work->holders++;
	return work;
}

void log_work_drop(struct log_work *work)
{
	if (work && !--work->holders)
		free(work);
}

void log_work_of(const struct log_work *work, struct gw_work *out)
{
	gw_work_clear(out);
	if (work)
		log_work_put(work->parts, work->count, out);
}
