/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson's archive on systems with glibc 2.38 and later calls strtoll() as __isoc23_strtoll(),
 * which older systems lack (glibc_floor.h). This definition, hidden, lets the library built there
 * run on them.
 */
#include <stdlib.h>

long long __isoc23_strtoll(const char *text, char **end, int base);

long long __isoc23_strtoll(const char *text, char **end, int base)
{
	return strtoll(text, end, base);
}
