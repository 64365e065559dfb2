/* The device profile, by the search that the models use. */
#include "cli/doctor/doctor.h"
#include "cli/common/memory.h"
#include "predictor/profile/profile.h"

#include <stdlib.h>

static const char REMEDY[] =
	"launches are then predicted from earlier times alone; measure the GPU with "
	"gpuwatch calibrate";

struct seen {
	unsigned good, bad;
};

static bool count(void *arg, const struct gw_profile *profile, const char *message)
{
	struct seen *seen = arg;

	(void)message;
	seen->good += profile != NULL;
	seen->bad += profile == NULL;
	return true;
}

/* Without a GPU all there is to say is what the search finds. */
static void any(struct gw_doctor *d)
{
	struct seen seen = {0};

	gw_profile_each(NULL, count, &seen);
	if (seen.good)
		gw_doctor_say(d, "profile", GW_HEALTH_OK, NULL, "%u device profiles found",
			      seen.good);
	else
		gw_doctor_say(d, "profile", GW_HEALTH_DEGRADED, REMEDY, "no device profile found");
}

void gw_doctor_profile(struct gw_doctor *doctor, const char *device)
{
	struct gw_profile_error error = {0};
	struct gw_profile *p;

	if (!device) {
		any(doctor);
		return;
	}
	p = gw_alloc(sizeof(*p));
	if (gw_profile_find(device, NULL, p, &error))
		gw_doctor_say(doctor, "profile", GW_HEALTH_DEGRADED, REMEDY, "%s", error.text);
	else if (*error.text)
		gw_doctor_say(doctor, "profile", GW_HEALTH_DEGRADED, "fix or remove that file",
			      "%s (passed over: %s)", p->path, error.text);
	else
		gw_doctor_say(doctor, "profile", GW_HEALTH_OK, NULL, "%s", p->path);
	free(p);
}
