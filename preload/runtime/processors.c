#include "preload/runtime/processors.h"

#include "preload/runtime/own_files.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double gw_processors_quota_of(const char *text)
{
	char *end;
	double quota = strtod(text, &end), period = strtod(end, NULL);

	/* "max", or the "-1" of version 1 */
	return quota > 0 && isfinite(quota) && period > 0 ? quota / period : INFINITY;
}

static double quota_in(const char *path)
{
	char text[64];

	return gw_small_file(path, text, sizeof(text)) ? gw_processors_quota_of(text) : INFINITY;
}

/* Of version 2: its own group's, where the whole hierarchy is mounted. */
static double own_quota(void)
{
	char groups[2048], path[2048 + 64], *at, *end;

	gw_small_file("/proc/self/cgroup", groups, sizeof(groups));
	at = strncmp(groups, "0::", 3) ? strstr(groups, "\n0::") : groups;
	if (at)
		at = strchr(at, '/');
	if (!at)
		return INFINITY;
	end = strchr(at, '\n');
	if (end)
		*end = 0;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", at);
	return quota_in(path);
}

/* Of version 1: in two files. */
static double old_quota(void)
{
	char text[128];
	size_t n = gw_small_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", text, sizeof(text) / 2);

	if (!n)
		return INFINITY;
	gw_small_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", text + n, sizeof(text) - n);
	return gw_processors_quota_of(text);
}

unsigned gw_processors(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1; /* more processors than a set holds, or a filter that refuses */
	return (unsigned)CPU_COUNT(&cpus);
}

/* In a container its own group is the root of what it sees. */
static void find_quota(void *quota)
{
	*(double *)quota = fmin(own_quota(), fmin(quota_in("/sys/fs/cgroup/cpu.max"), old_quota()));
}

double gw_processors_quota(void)
{
	double quota = INFINITY;

	gw_apart(find_quota, &quota);
	return quota;
}
