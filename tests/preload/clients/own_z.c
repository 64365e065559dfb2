/* SPDX-License-Identifier: Apache-2.0 */
/* A program's own libz.so.1, newer than the system's: it has a symbol version that one lacks. */
__attribute__((visibility("default"))) int own_z(void);

int own_z(void)
{
	return 17;
}
