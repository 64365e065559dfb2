/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose driver is a library that is not called libcuda. */
int cuInit(unsigned flags);

int main(void)
{
	return cuInit(0);
}
