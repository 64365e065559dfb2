/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of newer systems, and code compiled there, call functions by versions that older systems
 * lack: jansson strtoll() as __isoc23_strtoll() (glibc 2.38, see glibc_floor.h), sqlite and the
 * command fmod() of glibc 2.38. These definitions, hidden, let what is built there run on them.
 */
#include <math.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN long long __isoc23_strtoll(const char *text, char **end, int base);

HIDDEN long long __isoc23_strtoll(const char *text, char **end, int base)
{
	return strtoll(text, end, base);
}

/* The first version that each architecture has: it differs in how errors are reported alone. */
#if defined(__x86_64__)
__asm__(".symver first_fmod, fmod@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver first_fmod, fmod@GLIBC_2.17");
#endif
#if defined(__x86_64__) || defined(__aarch64__)
double first_fmod(double x, double y);

HIDDEN double fmod(double x, double y)
{
	return first_fmod(x, y);
}
#endif
