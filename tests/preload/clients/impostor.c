/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a function named like one of the driver's. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
	return 4711 + (int)flags;
}
