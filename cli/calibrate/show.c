/* What `gpuwatch calibrate` shows: progress while it runs, then what it found. */
#include "cli/calibrate/calibrate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/message.h"

enum { BAR = 30 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void calibrate_progress_end(struct calibrate_progress *p)
{
	if (p->bar && p->drawn > 0)
		fputs("\r\033[K", stderr);
	p->drawn = 0;
}

static void progress(void *arg, const char *group, double done, double all)
{
	struct calibrate_progress *p = arg;
	char bar[BAR + 1];

	(void)done;
	if (!p->bar || (p->drawn > 0 && now() - p->drawn < 0.05))
		return;
	for (int i = 0; i < BAR; i++)
		bar[i] = i < (int)(all * BAR) ? '#' : '.';
	bar[BAR] = '\0';
	fprintf(stderr, "\r\033[K%s %3.0f%%  %s", bar, 100 * all, group);
	fflush(stderr);
	p->drawn = now();
}

static void note(void *arg, const char *group, const char *text)
{
	calibrate_progress_end(arg);
	gw_warning("%s: %s", group, text);
}

static void ended(void *arg, const struct gw_group_run *run, unsigned published, unsigned refused)
{
	struct calibrate_progress *p = arg;

	p->published += published;
	p->refused += refused;
	if (!p->bar)
		gw_note("%s: %u values, %u refused, %.1f s, SM clock %.0f MHz", run->name,
			published, refused, run->seconds, run->sm_clock / 1e6);
	if (strcmp(run->throttle, "none") == 0)
		return;
	calibrate_progress_end(p);
	gw_warning("%s: the clocks were throttled: %s", run->name, run->throttle);
}

struct gw_calibration_listener calibrate_listener(struct calibrate_progress *p)
{
	*p = (struct calibrate_progress){.bar = isatty(STDERR_FILENO)};
	return (struct gw_calibration_listener){
		.arg = p, .progress = progress, .note = note, .ended = ended};
}

int calibrate_json(const struct gw_profile *profile)
{
	return gw_profile_write(profile, stdout) ? GW_EXIT_USAGE : GW_EXIT_OK;
}
