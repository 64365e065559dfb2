/* SPDX-License-Identifier: Apache-2.0 */
/* A library that comes with a libz.so.1 of its own, beside it. */
int own_z(void);
__attribute__((visibility("default"))) int needs_own_z(void);

int needs_own_z(void)
{
	return own_z();
}
