/* SPDX-License-Identifier: Apache-2.0 */
/* A driver under a name that is not libcuda's. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
	return (int)flags;
}
