/* gpuwatch calibrate: measures a GPU and writes its profile. */
#include "cli/calibrate/calibrate.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/common/device_set.h"
#include "cli/common/memory.h"
#include "cli/common/nearest.h"
#include "cli/common/paths.h"
#include "cli/message.h"

struct options {
	const char *only, *output, *samples, *plot, *html, *from, *against;
	uint64_t device;
	bool quick, force, json;
};

static const struct gw_option options[] = {
	GW_OPT_FLAG(quick, "measure for at most 20 seconds instead of 90, with fewer points"),
	GW_OPT_TEXT(only, "GROUP",
		    "measure this group; what an existing profile says of the others stays"),
	GW_OPT_COUNT(device, "N", 0, 1023,
		     "the GPU to measure, by the driver's number; 0 when not given"),
	GW_OPT_OUT(output, "FILE",
		   "the profile to write; without it, one in the user's own profiles"),
	GW_OPT_OUT(samples, "DIR",
		   "also write the raw samples into this folder, a CSV file a series"),
	GW_OPT_OUT(plot, "DIR", "also write pictures into this folder (SVG)"),
	GW_OPT_OUT(html, "FILE",
		   "also write one page that any browser shows: the values, the functions, the "
		   "experimental roofline; - is standard output, instead of tables"),
	GW_OPT_FILE(against, "NAME|FILE", "with --html: show this profile beside it"),
	GW_OPT_FILE(from, "NAME|FILE",
		    "measure nothing: show this profile, and with --plot draw it"),
	GW_OPT_FLAG(force, "measure although another process uses the GPU"),
	GW_OPT_FLAG(json, "print the profile as JSON instead of tables"),
	{0},
};

static volatile int stop_wanted;

/* The first signal ends the run in order. So does a second one, because `timeout` sends two; who
 * sends a third does not want to wait for it. */
static void on_signal(int signal)
{
	if (++stop_wanted > 2)
		_exit(128 + signal);
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static bool known_group(const char *name)
{
	const char *names[64];
	char list[512];
	size_t count = 0;

	for (unsigned i = 0; gw_calibration_group(i) && count < 64; i++) {
		names[count++] = gw_calibration_group(i);
		if (strcmp(names[i], name) == 0)
			return true;
	}
	gw_words_join(list, sizeof(list), names, count);
	gw_error("calibrate: unknown group \"%s\"; --only must be one of %s", name, list);
	return false;
}

/* Where nothing is asked for, nothing is made. */
static bool make_folder(const char *path)
{
	return !path || gw_folder_make(path);
}

/* Where the profile goes; false after a message. Nothing is measured that could not be kept. */
static bool choose_output(const struct options *v, const char *device, char path[PATH_MAX])
{
	struct gw_profile_error error;
	struct stat st;

	if (v->output ? snprintf(path, PATH_MAX, "%s", v->output) >= PATH_MAX
		      : !gw_profile_own_path(device, path, PATH_MAX)) {
		gw_error("no home folder for the profile; give -o FILE");
		return false;
	}
	/* The profile takes its name: a folder can't give it, and a device or a pipe must not. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		gw_error("%s: not a regular file; nothing was measured: give -o FILE", path);
		return false;
	}
	if (gw_profile_writable(path, !v->output, &error) == 0)
		return true;
	gw_error("%s; nothing was measured: give -o FILE in a folder that can be written",
		 error.text);
	return false;
}

/* What the file says already, when it is to be kept: --only changes one group of it. */
static bool start_from(const struct options *v, const char *path, const char *device,
		       struct gw_profile *profile)
{
	struct gw_profile_error error;

	gw_profile_clear(profile, device);
	if (!v->only || access(path, F_OK) != 0)
		return true;
	if (gw_profile_read(path, profile, &error) != 0) {
		gw_error("%s; fix it, or give another -o FILE", error.text);
		return false;
	}
	if (gw_profile_is(profile, device))
		return true;
	gw_error("%s: describes '%s', this is '%s': give another -o FILE", path,
		 profile->device.name, device);
	return false;
}

static bool show_page(const struct options *v, const struct gw_profile *profile)
{
	const struct gw_profile *both[] = {profile, NULL};
	struct device_set other = {0};
	bool good;

	if (v->against && !device_set_open(&other, &v->against, 1))
		return false;
	if (v->against)
		both[1] = other.profiles[0];
	good = calibrate_html(both, v->against ? 2 : 1, v->html);
	device_set_free(&other);
	return good;
}

static int show(const struct options *v, const struct gw_profile *profile)
{
	if (v->plot && !calibrate_plot(profile, v->plot))
		return GW_EXIT_USAGE;
	if (v->html && !show_page(v, profile))
		return GW_EXIT_USAGE;
	if (v->html && !strcmp(v->html, "-"))
		return GW_EXIT_OK;
	if (v->json)
		return calibrate_json(profile);
	calibrate_tables(profile);
	return GW_EXIT_OK;
}

static int measure(const struct options *v, struct gw_calibration *c, struct gw_profile *profile,
		   struct calibrate_progress *progress)
{
	char path[PATH_MAX], error[640];
	struct gw_profile_error unsaved;

	if (!choose_output(v, gw_calibration_device(c), path) ||
	    !start_from(v, path, gw_calibration_device(c), profile) || !make_folder(v->samples) ||
	    !make_folder(v->plot))
		return GW_EXIT_USAGE;
	catch_signals();
	if (!gw_calibration_run(c, profile, error, sizeof(error))) {
		calibrate_progress_end(progress);
		return gw_error("%s; no profile was written", error);
	}
	calibrate_progress_end(progress);
	if (gw_profile_save(profile, path, &unsaved) != 0)
		return gw_error("%s", unsaved.text);
	gw_note("%u values and %u refused, written to %s", progress->published, progress->refused,
		path);
	return show(v, profile);
}

static int calibrate(const struct options *v, struct gw_profile *profile)
{
	struct calibrate_progress progress;
	struct gw_calibration_options asked = {.device = (unsigned)v->device,
					       .quick = v->quick,
					       .busy = v->force,
					       .only = v->only,
					       .samples = v->samples,
					       .stop = &stop_wanted,
					       .listener = calibrate_listener(&progress)};
	char error[640];
	struct gw_calibration *c = gw_calibration_open(&asked, error, sizeof(error));
	int status;

	if (!c)
		return gw_error("%s", error);
	status = measure(v, c, profile, &progress);
	gw_calibration_close(c);
	return status;
}

/* Of what --from leaves no use for, the first that was given; NULL: none. */
static const char *idle_option(const struct options *v)
{
	const struct {
		const char *name;
		bool given;
	} idle[] = {
		{"--quick", v->quick},   {"--only", v->only != NULL},
		{"--device", v->device}, {"--output", v->output != NULL},
		{"--force", v->force},   {"--samples", v->samples != NULL},
	};

	for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++)
		if (idle[i].given)
			return idle[i].name;
	return NULL;
}

static int show_existing(const struct options *v)
{
	struct device_set set = {0};
	int status = GW_EXIT_USAGE;

	if (idle_option(v))
		return gw_error("calibrate: --from measures nothing; leave out %s", idle_option(v));
	if (device_set_open(&set, &v->from, 1) && make_folder(v->plot))
		status = show(v, set.profiles[0]);
	device_set_free(&set);
	return status;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options v = {0};
	struct gw_profile *profile;
	int status = gw_command_parse(command, &argc, argv, &v);

	if (status >= 0)
		return status;
	if (argc > 0)
		return gw_error("calibrate: unexpected argument; did you mean -o %s?", argv[0]);
	if (v.only && !known_group(v.only))
		return GW_EXIT_USAGE;
	if (v.against && !v.html)
		return gw_error("calibrate: --against is of --html; give --html=FILE");
	if (v.from)
		return show_existing(&v);
	profile = gw_alloc(sizeof(*profile));
	status = calibrate(&v, profile);
	free(profile);
	return status;
}

const struct gw_command_body gw_calibrate_command = {
	.run = run,
	.options = options,
	.description =
		"Measures a GPU with small kernels that are part of gpuwatch, and writes a "
		"device profile\n"
		"(docs/internals/profile.md) for the models; it is found later by the GPU's name. "
		"Takes at most 90\n"
		"seconds. Clocks and power limits are recorded, never changed. A value "
		"whose samples spread\n"
		"too widely is not written; the reason is reported.\n"
		"\n"
		"The GPU must be idle: while another process uses it, calibrate stops "
		"before measuring.",
	.examples = "gpuwatch calibrate\n"
		    "Measures GPU 0 and writes its profile into ~/.config/gpuwatch/profiles.\n"
		    "gpuwatch calibrate --quick -o gpu.json --plot=pictures\n"
		    "The short run, with pictures.\n"
		    "gpuwatch calibrate --from=\"NVIDIA H200\" --plot=pictures\n"
		    "The pictures of a profile that is there already.\n"
		    "gpuwatch calibrate --from=H200 --against=H100 --html=both.html\n"
		    "Two profiles beside each other, as a page.\n",
};
