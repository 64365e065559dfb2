#include "cli/common/device_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/memory.h"
#include "cli/common/nearest.h"
#include "cli/message.h"

/* The names of the profiles that can be found; a name counts once, where it is found first. */
struct known {
	char **names;
	size_t count, room;
};

static bool note(void *arg, const struct gw_profile *profile, const char *message)
{
	struct known *k = arg;

	(void)message; /* gw_profile_open has reported unreadable files already */
	if (!profile)
		return true;
	for (size_t i = 0; i < k->count; i++)
		if (strcmp(k->names[i], profile->device.name) == 0)
			return true;
	GW_GROW(k->names, &k->room, k->count + 1);
	k->names[k->count++] = gw_copy(profile->device.name);
	return true;
}

static void complain(const char *name, const char *why)
{
	struct known k = {0};
	char list[1024];

	if (strchr(name, '/') ||
	    (strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".json") == 0)) {
		gw_error("%s", why);
		return;
	}
	gw_profile_each(NULL, note, &k);
	/* A name that is near to none has all of them listed. */
	gw_words_join(list, sizeof(list), (const char *const *)k.names, k.count);
	if (access(name, F_OK))
		gw_error("%s; known devices: %s", why, k.count ? list : "none");
	else
		gw_error("unknown device '%s'; for the file of that name write ./%s", name, name);
	for (size_t i = 0; i < k.count; i++)
		free(k.names[i]);
	free(k.names);
}

/* Names go to terminals and into pictures; a file may hold anything. */
static void clean_names(struct gw_profile *p)
{
	char copy[sizeof(p->device.name)];

	memcpy(copy, p->device.name, sizeof(copy));
	gw_printable(p->device.name, sizeof(p->device.name), copy);
	for (unsigned i = 0; i < p->alias_count; i++) {
		memcpy(copy, p->aliases[i], sizeof(copy));
		gw_printable(p->aliases[i], sizeof(p->aliases[i]), copy);
	}
}

bool device_set_open(struct device_set *set, const char *const *names, size_t count)
{
	struct gw_profile_error error;

	*set = (struct device_set){.profiles = gw_alloc((count + 1) * sizeof(*set->profiles))};
	for (size_t i = 0; i < count; i++) {
		struct gw_profile *p = gw_alloc(sizeof(*p));

		set->profiles[set->count++] = p;
		if (gw_profile_open(names[i], NULL, p, &error) != 0) {
			complain(names[i], error.text);
			device_set_free(set);
			return false;
		}
		clean_names(p);
		if (*error.text)
			gw_warning("%s", error.text);
	}
	return true;
}

bool device_set_asked(struct device_set *set, const struct gw_words *words, const char *command)
{
	if (words->count)
		return device_set_open(set, words->word, words->count);
	gw_error("%s: missing --device=NAME|FILE, the GPU to predict for", command);
	return false;
}

void device_set_free(struct device_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->profiles[i]);
	free(set->profiles);
	*set = (struct device_set){0};
}

double device_measured(const struct launch_case *item, const struct gw_profile *profile)
{
	for (unsigned i = 0; i < item->measured_count; i++)
		if (gw_profile_is(profile, item->measured[i].device))
			return item->measured[i].seconds;
	return NAN;
}

const char *device_short_name(const struct gw_profile *profile)
{
	const char *best = profile->device.name;

	for (unsigned i = 0; i < profile->alias_count; i++)
		if (strlen(profile->aliases[i]) < strlen(best))
			best = profile->aliases[i];
	return best;
}
