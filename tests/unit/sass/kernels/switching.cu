/* SPDX-License-Identifier: Apache-2.0 */
/* A switch that compilers make a jump through tables of: case k of a turn stores k + 1 words, the
 * others one. */
extern "C" __global__ void switching(int *y, const int *, int first, int turns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
	for (int turn = 0; turn < turns; turn++) {
		int *to = y + 4096 * turn + i;

		switch (first + turn) {
		case 0:
			to[0] = 1;
			break;
		case 1:
			to[0] = 5;
			to[1024] = 3;
			break;
		case 2:
			to[0] = turn;
			to[1024] = i;
			to[2048] = 9;
			break;
		case 3:
			to[512] = 7;
			to[1024] = 2;
			to[2048] = i;
			to[3072] = 4;
			break;
		default:
			to[128] = 6;
		}
	}
}
