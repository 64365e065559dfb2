#include "preload/runtime/options.h"

#include "preload/runtime/linker/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct gw_options gw_options;

enum type { CHOICE, FLAG, SIZE, NUMBER, TEXT };

/* The texts, one behind the other: a table of pointers to them is relocated in every process. */
static const struct {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) \
	char name##_variable[sizeof(variable)], name##_fallback[sizeof(fallback)], \
		name##_choices[sizeof(choices)];
#include "predictor/core/config.def"
#undef OPTION
} texts = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) \
	variable, fallback, choices,
#include "predictor/core/config.def"
#undef OPTION
};

struct option {
	uint16_t variable, fallback, choices; /* places in `texts` */
	uint8_t type;
	uint64_t low, high;
};

static const char *text_at(uint16_t place)
{
	return (const char *)&texts + place;
}

enum {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) OPTION_##name,
#include "predictor/core/config.def"
#undef OPTION
	OPTIONS
};

static const struct option options[] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) \
	{offsetof(__typeof__(texts), name##_variable), \
	 offsetof(__typeof__(texts), name##_fallback), \
	 offsetof(__typeof__(texts), name##_choices), \
	 type, \
	 low, \
	 high},
#include "predictor/core/config.def"
#undef OPTION
};

/* Position of @p value in a list separated by |, -1 when it isn't there. */
static int choice(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (int i = 0;; i++) {
		size_t n = strcspn(choices, "|");

		if (n == length && !memcmp(choices, value, n))
			return i;
		if (!choices[n])
			return -1;
		choices += n + 1;
	}
}

static bool number(const struct option *o, const char *value, uint64_t *out)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long n;
	const char *unit;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (end == value || errno || *value == '-')
		return false;
	if (o->type == SIZE && *end && (unit = strchr(units, *end & ~32))) {
		unsigned shift = 10 * (unsigned)(unit - units + 1);

		if (n > UINT64_MAX >> shift)
			return false;
		n <<= shift;
		end++;
	}
	*out = n;
	return !*end && n >= o->low && n <= o->high;
}

/* Parse one value; false when it is not of the option's kind. */
static bool parse(const struct option *o, const char *value, uint64_t *out)
{
	int at;

	switch (o->type) {
	case TEXT:
		return strlen(value) < sizeof(gw_options.out);
	case CHOICE:
		at = choice(text_at(o->choices), value);
		*out = at < 0 ? 0 : (uint64_t)at;
		return at >= 0;
	case FLAG:
	case SIZE:
	case NUMBER:
		return number(o, value, out);
	}
	return false;
}

/* One sentence for the first value that is not of its option's kind. */
static void reject(const struct option *o, const char *value)
{
	char kind[100];

	switch (o->type) {
	case TEXT:
		snprintf(kind, sizeof(kind), "at most %zu bytes", sizeof(gw_options.out) - 1);
		break;
	case CHOICE:
		snprintf(kind, sizeof(kind), "one of %s", text_at(o->choices));
		break;
	case FLAG:
	case SIZE:
	case NUMBER:
		snprintf(kind, sizeof(kind), "%s from %" PRIu64 " to %" PRIu64,
			 o->type == SIZE ? "bytes, with K, M, G or T," : "a whole number", o->low,
			 o->high);
		break;
	}
	snprintf(gw_options.rejected, sizeof(gw_options.rejected), "%s=%.60s: must be %s; using %s",
		 text_at(o->variable), value, kind,
		 *text_at(o->fallback) ? text_at(o->fallback) : "the default");
}

static uint32_t power_of_two(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/* Whether our own code is built for a checker. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
	__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OWN_CODE_IS_SEEN 1
#else
#define OWN_CODE_IS_SEEN 0
#endif

/*
 * A leak checker counts what we keep to the program's leaks, and the other checkers, which see
 * calls of libc but not our own code, find races and uninitialised bytes in it: all then fail the
 * program.
 */
static bool sanitized(void)
{
	static const char *const runtimes[] = {"__asan_init", "__hwasan_init",
					       "__lsan_do_leak_check", "__msan_init",
					       "__tsan_init"};

	if (OWN_CODE_IS_SEEN)
		return false;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (gw_object_defines(runtimes[i]))
			return true;
	return false;
}

void gw_options_out_is_folder(void)
{
	char *out = gw_options.out;
	size_t n = strlen(out);

	n -= out[n - 1] == '/';
	snprintf(out + n, sizeof(gw_options.out) - n, "/%s", text_at(options[OPTION_out].fallback));
}

/*
 * The log's name, from the folder that the process is in now: it may leave it before it launches.
 * Percent signs of the folder's name are no macros.
 */
static void absolute(const char *name)
{
	char *out = gw_options.out, here[sizeof(gw_options.out) / 2];
	size_t n = 0;

	if (*name && *name != '/' && getcwd(here, sizeof(here)) && *here == '/') {
		for (const char *p = here; *p; p++) {
			out[n++] = *p;
			if (*p == '%')
				out[n++] = '%';
		}
		if (n + 1 + strlen(name) >= sizeof(gw_options.out))
			n = 0; /* too long: as it is */
		else if (out[n - 1] != '/')
			out[n++] = '/';
	}
	n += (size_t)snprintf(out + n, sizeof(gw_options.out) - n, "%s", name);
	if (out[n - 1] == '/')
		gw_options_out_is_folder();
}

/* NAME=VALUE, one behind the other; NULL: it was not copied yet. */
static char *environment;

void gw_environment_copy(void)
{
	size_t size = 1, used = 0;
	char *copy;

	for (char **e = environ; e && *e; e++)
		size += strlen(*e) + 1;
	copy = calloc(1, size);
	for (char **e = environ; copy && e && *e; e++) {
		const size_t length = strlen(*e) + 1;

		if (used + length < size)
			memcpy(copy + used, *e, length);
		used += length;
	}
	free(environment);
	environment = copy;
}

char *gw_environment(const char *name)
{
	const size_t length = strlen(name);

	if (!environment)
		return getauxval(AT_SECURE) ? NULL : getenv(name);
	for (char *at = environment; *at; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

/* Of the GPU, at an error: beside libcupti the driver makes none, or hangs. */
static bool core_dumps(void)
{
	static const char names[][36] = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
					 "CUDA_ENABLE_USER_TRIGGERED_COREDUMP"};

	for (int i = 0; i < 2; i++) {
		const char *value = secure_getenv(names[i]);

		if (value && *value && strcmp(value, "0") != 0)
			return true;
	}
	return false;
}

void gw_options_read(void)
{
	uint64_t value[OPTIONS] = {0};
	const char *text[OPTIONS];
	bool given[OPTIONS] = {false}, disabled;

	gw_options.rejected[0] = 0;
	for (int i = 0; i < OPTIONS; i++) {
		const struct option *o = &options[i];

		text[i] = secure_getenv(text_at(o->variable));
		given[i] = text[i] && *text[i];
		if (!given[i]) {
			text[i] = text_at(o->fallback);
		} else if (!parse(o, text[i], &value[i])) {
			if (!gw_options.rejected[0])
				reject(o, text[i]);
			text[i] = text_at(o->fallback);
		}
		parse(o, text[i], &value[i]);
	}
	disabled = value[OPTION_disable] != 0 || sanitized();
	/* A program that runs with more rights than its caller takes nothing from the caller's
	 * environment, and neither do we: through /etc/ld.so.preload the library may be in it. */
	if (getauxval(AT_SECURE))
		disabled = true;
	gw_options.mode = disabled ? GW_MODE_OFF : (enum gw_mode)value[OPTION_mode];
	gw_options.summary = (enum gw_summary)value[OPTION_summary];
	gw_options.analyze_code = value[OPTION_static] != 0;
	gw_options.command_name = value[OPTION_command] != 0;
	gw_options.counters = (enum gw_count_by)value[OPTION_counters];
	gw_options.counters_asked = given[OPTION_counters];
	gw_options.log_launches = value[OPTION_log] != 0;
	gw_options.log_max = value[OPTION_log_max];
	gw_options.segment = value[OPTION_segment];
	gw_options.memory_max = value[OPTION_memory_max];
	gw_options.ring = power_of_two(value[OPTION_ring]);
	gw_options.event_rate = (uint32_t)value[OPTION_event_rate];
	gw_options.budget = (uint32_t)value[OPTION_budget];
	gw_options.records = value[OPTION_windows] != 0;
	gw_options.stacks = (enum gw_stacks)value[OPTION_stacks];
	gw_options.cpu_max = (uint32_t)value[OPTION_cpu_max];
	gw_options.ranges = value[OPTION_ranges] != 0;
	gw_options.nccl = value[OPTION_nccl] != 0;
	gw_options.exit_wait = (uint32_t)value[OPTION_exit_wait];
	absolute(text[OPTION_out]);
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "%s", text[OPTION_log_mode]);
	snprintf(gw_options.log_group, sizeof(gw_options.log_group), "%s", text[OPTION_log_group]);
	snprintf(gw_options.run_mode, sizeof(gw_options.run_mode), "%s", text[OPTION_run_mode]);
	snprintf(gw_options.run_group, sizeof(gw_options.run_group), "%s", text[OPTION_run_group]);
	snprintf(gw_options.run_dir, sizeof(gw_options.run_dir), "%s", text[OPTION_run_dir]);
	gw_options.core_dumps = core_dumps();
	snprintf(gw_options.cupti, sizeof(gw_options.cupti), "%s",
		 gw_options.core_dumps ? "none" : text[OPTION_cupti]);
	snprintf(gw_options.profile, sizeof(gw_options.profile), "%s", text[OPTION_profile]);
}
