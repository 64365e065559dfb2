/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels whose global accesses are known: the four base workloads of Kim 2023, kernels with the
 * access patterns of its real workloads, and accesses of every width, mask and alignment. Written
 * for this test; what they compute matters only as far as it keeps the loads alive.
 */
#include "kernels.cuh"

#define ID (blockIdx.x * blockDim.x + threadIdx.x)

/* ---- base workloads (Kim 2023, 4.2): one word a thread, `stride` words apart ---- */
extern "C" __global__ void base_stride(const float *in, float *out, int stride)
{
	out[ID] = in[ID * stride];
}

/* ---- stencils and convolutions ---- */
extern "C" __global__ void stencil_2d(const float *in, float *out, int nx, int ny)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
		return;
	out[y * nx + x] = 0.2f * in[(y - 1) * nx + x - 1] + 0.5f * in[(y - 1) * nx + x] -
	                  0.8f * in[(y - 1) * nx + x + 1] - 0.3f * in[y * nx + x - 1] +
	                  0.6f * in[y * nx + x] - 0.9f * in[y * nx + x + 1] +
	                  0.4f * in[(y + 1) * nx + x - 1] + 0.7f * in[(y + 1) * nx + x] +
	                  0.1f * in[(y + 1) * nx + x + 1];
}

extern "C" __global__ void stencil_3d(const float *in, float *out, int nx, int ny, int plane)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	const float *at = in + (plane * ny + y) * nx + x;

	if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
		return;
	out[(plane * ny + y) * nx + x] =
	        0.2f * at[-nx * ny - nx - 1] + 0.5f * at[nx * ny - nx - 1] + 0.8f * at[-nx * ny] +
	        0.3f * at[nx * ny] + 0.6f * at[-nx] + 0.9f * at[nx] + 0.4f * at[-1] + 0.7f * at[1] +
	        0.1f * at[nx * ny + nx + 1] + at[0];
}

/* Rows by a tile in shared memory with a halo of 16 at each side, a thread for 8 columns. */
extern "C" __global__ void conv_rows(const float *in, float *out, const float *taps, int pitch)
{
	__shared__ float tile[4][(8 + 2) * 16];
	int base_x = ((int)blockIdx.x * 8 - 1) * 16 + (int)threadIdx.x;
	int y = blockIdx.y * 4 + threadIdx.y;

	in += y * pitch + base_x;
	for (int i = 0; i < 10; i++)
		tile[threadIdx.y][threadIdx.x + i * 16] =
		        base_x + i * 16 >= 0 && base_x + i * 16 < pitch ? in[i * 16] : 0;
	__syncthreads();
	for (int i = 1; i < 9; i++) {
		float sum = 0;

		for (int j = -8; j <= 8; j++)
			sum += taps[8 - j] * tile[threadIdx.y][threadIdx.x + i * 16 + j];
		out[y * pitch + base_x + i * 16] = sum;
	}
}

/* ---- graph search: two kernels a level ---- */
extern "C" __global__ void bfs_visit(const int2 *node, const int *edge, char *mask, char *updating,
                                     const char *visited, int *cost, int nodes)
{
	int id = ID;

	if (id >= nodes || !mask[id])
		return;
	mask[id] = 0;
	for (int e = node[id].x; e < node[id].x + node[id].y; e++) {
		int to = edge[e];

		if (!visited[to]) {
			cost[to] = cost[id] + 1;
			updating[to] = 1;
		}
	}
}

extern "C" __global__ void bfs_update(char *mask, char *updating, char *visited, char *over,
                                      int nodes)
{
	int id = ID;

	if (id >= nodes || !updating[id])
		return;
	mask[id] = 1;
	visited[id] = 1;
	*over = 1;
	updating[id] = 0;
}

/* ---- dense products and layers ---- */
extern "C" __global__ void gemm(const float *a, const float *b, float *c, int n, int k)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int l = 0; l < k; l++)
		sum += a[i * k + l] * b[l * n + j];
	c[i * n + j] = sum;
}

extern "C" __global__ void layer_forward(const float *input, const float *weight, float *partial,
                                         int hidden)
{
	__shared__ float node[16], tile[16][16];
	int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int at = (hidden + 1) * 16 * by + (hidden + 1) * ty + tx + 1 + hidden + 1;

	if (tx == 0)
		node[ty] = input[16 * by + ty + 1];
	__syncthreads();
	tile[ty][tx] = weight[at] * node[ty];
	__syncthreads();
	for (int i = 1; i < 16; i *= 2) {
		if (ty % (2 * i) == 0)
			tile[ty][tx] += tile[ty + i][tx];
		__syncthreads();
	}
	if (tx == 0)
		partial[by * hidden + ty] = tile[tx][ty];
}

extern "C" __global__ void adjust_weights(const float *delta, int hidden, const float *ly, int in,
                                          float *w, float *old_w)
{
	int tx = threadIdx.x, ty = threadIdx.y;
	int y = 16 * blockIdx.y + ty + 1, x = tx + 1;
	int at = (hidden + 1) * 16 * blockIdx.y + (hidden + 1) * ty + tx + 1 + hidden + 1;

	if (y > in)
		return;
	w[at] += 0.3f * delta[x] * ly[y] + 0.3f * old_w[at];
	old_w[at] = 0.3f * delta[x] * ly[y] + 0.3f * old_w[at];
}

/* ---- B+ tree: a block for each query, a thread for each key of a node ---- */
extern "C" __global__ void tree_find(const struct tree_node *nodes, long height, const int *keys,
                                     long *at, int *answer)
{
	int thread = threadIdx.x, query = blockIdx.x;

	for (long level = 0; level < height; level++) {
		if (nodes[at[query]].keys[thread] <= keys[query] &&
		    nodes[at[query]].keys[thread + 1] > keys[query])
			at[gridDim.x + query] = nodes[at[query]].child[thread];
		__syncthreads();
		if (thread == 0)
			at[query] = at[gridDim.x + query];
		__syncthreads();
	}
	if (nodes[at[query]].keys[thread] == keys[query])
		answer[query] = nodes[at[query]].child[thread];
}

extern "C" __global__ void tree_range(const struct tree_node *nodes, long height, const int *first,
                                      const int *last, long *at, int *from, int *to)
{
	int thread = threadIdx.x, query = blockIdx.x, queries = gridDim.x;

	for (long level = 0; level < height; level++) {
		long lo = at[query], hi = at[queries + query];

		if (nodes[lo].keys[thread] <= first[query] && nodes[lo].keys[thread + 1] > first[query])
			at[2 * queries + query] = nodes[lo].child[thread];
		if (nodes[hi].keys[thread] <= last[query] && nodes[hi].keys[thread + 1] > last[query])
			at[3 * queries + query] = nodes[hi].child[thread];
		__syncthreads();
		if (thread == 0) {
			at[query] = at[2 * queries + query];
			at[queries + query] = at[3 * queries + query];
		}
		__syncthreads();
	}
	if (nodes[at[query]].keys[thread] == first[query])
		from[query] = nodes[at[query]].child[thread];
	if (nodes[at[queries + query]].keys[thread] == last[query])
		to[query] = nodes[at[queries + query]].child[thread];
}

/* ---- template matching: a block for each point, its threads over a window of the frame ---- */
extern "C" __global__ void track_points(const float *frame, int rows, const int *row0,
                                        const int *col0, const float *mask, float *out, int window)
{
	int point = blockIdx.x;
	float sum = 0;

	for (int i = threadIdx.x; i < window * window; i += blockDim.x) {
		int r = i % window, c = i / window;
		float v = frame[(col0[point] + c) * rows + row0[point] + r];

		/* The mask is walked from its other end, as in a correlation. */
		sum += v * mask[(window - 1 - c) * window + window - 1 - r];
	}
	out[point * blockDim.x + threadIdx.x] = sum;
}

/* The same window without positions in memory: all that is known before the launch. */
extern "C" __global__ void track_fixed(const float *frame, int rows, int step, const float *mask,
                                       float *out, int window)
{
	float sum = 0;

	for (int i = threadIdx.x; i < window * window; i += blockDim.x) {
		int r = i % window, c = i / window;

		sum += frame[((int)blockIdx.x * step + c) * rows + (int)blockIdx.x * step + r] *
		       mask[(window - 1 - c) * window + window - 1 - r];
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* ---- widths, alignments, masks ---- */
#define COPY(name, type)                                                                           \
	extern "C" __global__ void name(const type *in, type *out, int stride, int offset)         \
	{                                                                                          \
		out[ID] = in[ID * stride + offset];                                                \
	}
COPY(copy_1, unsigned char)
COPY(copy_2, unsigned short)
COPY(copy_4, float)
COPY(copy_8, float2)
COPY(copy_16, float4)

/* Lanes whose bit is set in `lanes` read; the others don't. */
extern "C" __global__ void masked(const float *in, float *out, unsigned lanes, int stride)
{
	float v = 0;

	if (lanes >> (threadIdx.x % 32) & 1)
		v = in[ID * stride];
	out[ID] = v;
}

/* groups of `same` lanes read one element, the elements `stride` apart: 4, 8 and 16 bytes */
#define GROUPS(name, type)                                                                         \
	extern "C" __global__ void name(const type *in, type *out, int same, int stride)           \
	{                                                                                          \
		out[ID] = in[ID / same * stride];                                                  \
	}
GROUPS(groups_4, float)
GROUPS(groups_8, float2)
GROUPS(groups_16, float4)

extern "C" __global__ void reversed(const float *in, float *out, int n)
{
	out[ID] = in[n - 1 - ID];
}

/* a structure of `fields` words, all of which are read one after the other */
extern "C" __global__ void structures(const float *in, float *out, int fields)
{
	float sum = 0;

	for (int f = 0; f < fields; f++)
		sum += in[ID * fields + f];
	out[ID] = sum;
}

/* a place that only arithmetic knows, in a table of 2^bits words */
extern "C" __global__ void scattered(const float *in, float *out, int bits)
{
	unsigned at = ID * 2654435761u;

	out[ID] = in[(at ^ at >> 15) * 2246822519u >> (32 - bits)];
}

extern "C" __global__ void row_per_thread(const float *in, float *out, int columns)
{
	float sum = 0;

	for (int c = 0; c < columns; c++)
		sum += in[ID * columns + c];
	out[ID] = sum;
}

extern "C" __global__ void transpose_plain(const float *in, float *out, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	out[x * n + y] = in[y * n + x];
}

/* every block reads the same table again and again */
extern "C" __global__ void table_again(const float *in, float *out, int words, int times)
{
	float sum = 0;

	for (int t = 0; t < times; t++)
		for (int i = threadIdx.x; i < words; i += blockDim.x)
			sum += in[i] * (float)t;
	out[ID] = sum;
}

/* ---- shared memory: every bank pattern, by width ---- */
#define BANKS(name, type, fill)                                                                    \
	extern "C" __global__ void name(type *out, int stride, int same)                           \
	{                                                                                          \
		__shared__ type tile[32 * 33];                                                     \
                                                                                                   \
		for (int i = threadIdx.x; i < 32 * 33; i += blockDim.x)                            \
			tile[i] = fill;                                                            \
		__syncthreads();                                                                   \
		out[ID] = tile[threadIdx.x % 32 / same * stride % (32 * 33)];                      \
	}
BANKS(banks_1, unsigned char, (unsigned char)i)
BANKS(banks_2, unsigned short, (unsigned short)i)
BANKS(banks_4, float, (float)i)
BANKS(banks_8, float2, make_float2((float)i, 0))
BANKS(banks_16, float4, make_float4((float)i, 0, 0, 0))
