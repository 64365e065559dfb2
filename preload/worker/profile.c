#include "preload/worker/profile.h"

#include "predictor/profile/profile.h"
#include "preload/runtime/degrade.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"
#include "preload/worker/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the profile's text in one record, its NUL not counted. */
enum { PIECE = GW_RECORD_MAX - 64 };

/*
 * What jansson takes for stdin, by the linker's --wrap: it reads files that others opened, and
 * compares them with it. Nothing of ours reads the program's.
 */
extern FILE *__wrap_stdin;
FILE *__wrap_stdin;

_Static_assert((int)GW_FLEET_MOST <= (int)GW_DEVICES_MAX, "each predictor has a profile");

static struct gw_predictor_set *predictors;
static bool looked_for[GW_FLEET_MOST + 1]; /* by id in the log */

void gw_device_profile_start(struct gw_predictor_set *of)
{
	predictors = of;
	memset(looked_for, 0, sizeof(looked_for));
}

/* The whole profile stands in the log: a replay needs no file, and sees what was used. */
static void write_pieces(uint32_t id, const char *text, size_t size)
{
	static char piece[PIECE + 1];

	for (size_t at = 0; at < size; at += PIECE) {
		size_t part = size - at < PIECE ? size - at : PIECE;
		struct gw_record_profile r = {
			.device = id, .offset = (uint32_t)at, .size = (uint32_t)size};

		memcpy(piece, text + at, part);
		piece[part] = 0;
		gw_log_write(GW_RECORD_PROFILE, &r, sizeof(r), piece, part + 1);
	}
}

static void write_profile(uint32_t id, const struct gw_profile *profile)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool written = out && !gw_profile_write(profile, out);

	if (out && !fclose(out) && written)
		write_pieces(id, text, size);
	free(text);
}

static void take(uint32_t id, const struct gw_profile *profile)
{
	struct gw_device *device = malloc(sizeof(*device));

	if (!device)
		return;
	*device = profile->device;
	gw_device_profile_set(id, device);
	write_profile(id, profile);
	gw_predictor_set_device(predictors, id, device);
}

struct search {
	const char *name;
	struct gw_profile *room;
	struct gw_profile_error error;
	bool found;
};

static void search(void *arg)
{
	struct search *s = arg;

	s->found = !gw_profile_find(s->name, gw_options.profile, s->room, &s->error);
}

static void look_for(uint32_t id, const char *name, struct gw_profile *room)
{
	struct search s = {.name = name, .room = room};

	gw_apart(search, &s);
	if (s.found)
		take(id, room);
	if (s.error.text[0])
		gw_degrade(GW_DEGRADED_PROFILE, "%s%s",
			   gw_device_profile(id) ? "" : "predictions come from times alone: ",
			   s.error.text);
}

void gw_device_profile_use(uint32_t id, const char *name)
{
	struct gw_profile *profile;

	if (!id || id > GW_FLEET_MOST || looked_for[id] || !*name)
		return;
	looked_for[id] = true;
	if (gw_device_stand_in() && !gw_options.profile[0])
		return; /* it is no GPU: nobody has a profile of it */
	profile = malloc(sizeof(*profile));
	if (!profile)
		return;
	if (gw_sandbox_enter()) {
		look_for(id, name, profile);
		gw_sandbox_leave();
	}
	free(profile);
}
