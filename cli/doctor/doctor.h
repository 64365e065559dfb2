/*
 * gpuwatch doctor: a list of checks, each with what was found and the remedy.
 */
#ifndef GW_DOCTOR_H
#define GW_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum gw_health {
	GW_HEALTH_OK,
	GW_HEALTH_DEGRADED, /**< the main job works, something beside it does not */
	GW_HEALTH_MISSING,  /**< the main job does not work */
};

struct gw_doctor;

/**
 * Say what check @p name found. @p remedy, NULL when there is nothing to fix, is what the user
 * can do. Texts are copied.
 */
void gw_doctor_say(struct gw_doctor *doctor, const char *name, enum gw_health health,
		   const char *remedy, const char *found, ...)
	__attribute__((format(printf, 5, 6)));

/** What a probe found, as "key value" lines; see gw_probe. */
struct gw_probe {
	char text[16384];
};

/**
 * Run @p function in a child process, so that what it loads can crash or hang without harm; it
 * writes "key value" lines to @p fd. False with the reason in probe->text when the child crashed
 * or took longer than 20 s.
 */
bool gw_probe(struct gw_probe *probe, void (*function)(int fd, const void *arg), const void *arg);
/** Value of the @p n-th line, from 0, with @p key, into @p out; false when there is none. */
bool gw_probe_value(const struct gw_probe *probe, const char *key, unsigned n, char *out,
		    size_t size);

/** The checks of cuda.c: driver, devices and their profiles, libcupti, counters. */
void gw_doctor_cuda(struct gw_doctor *doctor);

/** Live segments that no process owns any more. */
void gw_doctor_segments(struct gw_doctor *doctor);
/** The check of profile.c: what is known of the GPU called @p device; NULL: of any. */
void gw_doctor_profile(struct gw_doctor *doctor, const char *device);
/** The checks of system.c: libc, library, output, profilers. */
void gw_doctor_system(struct gw_doctor *doctor);

#endif
