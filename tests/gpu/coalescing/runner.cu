/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches each case of the coalescing test once and writes, one JSON object a line, what it was
 * launched with: label, kernel, grid, block and the bytes of its arguments. Nothing else runs on
 * the GPU, so the n-th line is the n-th launch a profiler sees.
 *   runner FILE
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels.cu"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e = (call);                                                            \
		if (e != cudaSuccess) {                                                            \
			fprintf(stderr, "runner: %s: %s\n", #call, cudaGetErrorString(e));         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static FILE *record;

static unsigned random_number()
{
	static unsigned long long x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x >> 16);
}

/* Device memory of @p bytes, zeroed, or a copy of @p from. */
static void *memory(size_t bytes, const void *from = nullptr)
{
	void *p;

	CHECK(cudaMalloc(&p, bytes));
	if (from)
		CHECK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
	else
		CHECK(cudaMemset(p, 0, bytes));
	return p;
}

template <typename T> static T *words(size_t count)
{
	return static_cast<T *>(memory(count * sizeof(T)));
}

/* The parameter block as the driver lays it out: each argument at its own alignment. */
struct argument_bytes {
	unsigned char bytes[256];
	size_t size = 0;
	std::vector<void *> pointers;

	template <typename T> void add(const T &value)
	{
		size = (size + alignof(T) - 1) / alignof(T) * alignof(T);
		memcpy(bytes + size, &value, sizeof(T));
		pointers.push_back(bytes + size);
		size += sizeof(T);
	}
};

template <typename... P, typename... A>
static void launch(const char *label, const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                   A... arguments)
{
	argument_bytes a;

	(a.add<P>(static_cast<P>(arguments)), ...);
	fprintf(record,
	        "{\"label\": \"%s\", \"kernel\": \"%s\", \"grid\": [%u, %u, %u], "
	        "\"block\": [%u, %u, %u], \"args\": \"",
	        label, name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
	for (size_t i = 0; i < a.size; i++)
		fprintf(record, "%02x", a.bytes[i]);
	fprintf(record, "\"}\n");
	CHECK(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), grid, block,
	                       a.pointers.data(), 0, nullptr));
	CHECK(cudaDeviceSynchronize());
}
#define LAUNCH(label, kernel, ...) launch(label, #kernel, kernel, __VA_ARGS__)

static void base(const float *in, float *out)
{
	LAUNCH("stride-32", base_stride, 32, 64, in, out, 32);
	LAUNCH("stride-4", base_stride, 32, 64, in, out, 4);
	LAUNCH("same-location", base_stride, 32, 64, in, out, 0);
	LAUNCH("coalescing", base_stride, 32, 64, in, out, 1);
}

static void graph_search()
{
	const int nodes = 128 * 512, degree = 6;
	std::vector<int2> node(nodes);
	std::vector<int> edge(nodes * degree);
	std::vector<char> mask(nodes), updating(nodes), visited(nodes);

	for (int i = 0; i < nodes; i++) {
		node[i] = make_int2(i * degree, 1 + (int)(random_number() % degree));
		mask[i] = random_number() % 3 == 0;
		visited[i] = random_number() % 4 == 0;
		updating[i] = random_number() % 2;
		for (int d = 0; d < degree; d++)
			edge[i * degree + d] = (int)(random_number() % nodes);
	}
	int2 *dn = (int2 *)memory(node.size() * sizeof(int2), node.data());
	int *de = (int *)memory(edge.size() * sizeof(int), edge.data());
	char *dm = (char *)memory(nodes, mask.data()), *du = (char *)memory(nodes, updating.data());
	char *dv = (char *)memory(nodes, visited.data()), *over = words<char>(1);
	int *cost = words<int>(nodes);

	LAUNCH("bfs_kernel1", bfs_visit, 128, 512, dn, de, dm, du, dv, cost, nodes);
	CHECK(cudaMemcpy(du, updating.data(), nodes, cudaMemcpyHostToDevice));
	LAUNCH("bfs_kernel2", bfs_update, 128, 512, dm, du, dv, over, nodes);
}

static void tree_search()
{
	const int queries = 60, children = TREE_ORDER;
	std::vector<tree_node> nodes(1 + children);
	std::vector<int> first(queries), last(queries);
	std::vector<long> at(4 * queries, 0);

	for (int c = 0; c <= children; c++)
		for (int k = 0; k <= TREE_ORDER; k++) {
			nodes[c].keys[k] = c ? (c - 1) * TREE_ORDER + k : k * TREE_ORDER;
			nodes[c].child[k] = c ? (int)random_number() : 1 + k % children;
		}
	for (int q = 0; q < queries; q++) {
		first[q] = (int)(random_number() % (children * TREE_ORDER - 1000));
		last[q] = first[q] + 700;
	}
	tree_node *dn = (tree_node *)memory(nodes.size() * sizeof(tree_node), nodes.data());
	int *df = (int *)memory(queries * 4, first.data());
	int *dl = (int *)memory(queries * 4, last.data());
	long *da = (long *)memory(at.size() * sizeof(long), at.data());
	int *from = words<int>(queries), *to = words<int>(queries);

	LAUNCH("b+tree_findK", tree_find, 60, 256, dn, 1l, df, da, from);
	CHECK(cudaMemset(da, 0, at.size() * sizeof(long)));
	LAUNCH("b+tree_findRangeK", tree_range, 60, 256, dn, 1l, df, dl, da, from, to);
}

static void real_like(const float *in, float *out)
{
	const int points = 51, rows = 656;
	std::vector<int> row0(points), col0(points);

	for (int p = 0; p < points; p++) {
		row0[p] = (int)(random_number() % (rows - 64));
		col0[p] = (int)(random_number() % (rows - 64));
	}
	tree_search();
	LAUNCH("3DConvolution", stencil_3d, dim3(4, 16), dim3(16, 4), in, out, 64, 64, 5);
	LAUNCH("convSep", conv_rows, dim3(1, 32), dim3(16, 4), in, out, in + 65536, 128);
	graph_search();
	LAUNCH("backprop_forward", layer_forward, dim3(1, 64), dim3(16, 16), in, in + 65536, out,
	       16);
	LAUNCH("heartwall", track_points, points, 64, in, rows,
	       (int *)memory(points * 4, row0.data()), (int *)memory(points * 4, col0.data()),
	       in + (1 << 20), out, 41);
	LAUNCH("2DConvolution", stencil_2d, dim3(2, 8), dim3(32, 8), in, out, 64, 64);
	LAUNCH("backprop_adjust_weights", adjust_weights, dim3(1, 64), dim3(16, 16), in, 16,
	       in + 65536, 1024, out, words<float>(1 << 20));
	LAUNCH("GEMM", gemm, dim3(2, 8), dim3(32, 8), in, in + 65536, out, 64, 64);
}

/* Real patterns beyond Kim's: what is known before the launch, in other shapes. */
static void more(const float *in, float *out)
{
	LAUNCH("heartwall_fixed", track_fixed, 51, 64, in, 656, 7, in + (1 << 20), out, 41);
	LAUNCH("2DConvolution_wide", stencil_2d, dim3(32, 32), dim3(32, 8), in, out, 1024, 256);
	LAUNCH("2DConvolution_tall", stencil_2d, dim3(64, 8), dim3(16, 32), in, out, 1024, 256);
	LAUNCH("3DConvolution_wide", stencil_3d, dim3(16, 32), dim3(32, 4), in, out, 512, 128, 2);
	LAUNCH("GEMM_128", gemm, dim3(8, 8), dim3(16, 16), in, in + 65536, out, 128, 128);
	LAUNCH("GEMM_8x32", gemm, dim3(16, 4), dim3(8, 32), in, in + 65536, out, 128, 128);
	LAUNCH("transpose", transpose_plain, dim3(16, 64), dim3(32, 8), in, out, 512);
	LAUNCH("transpose_16", transpose_plain, dim3(32, 32), dim3(16, 16), in, out, 512);
	LAUNCH("row_per_thread", row_per_thread, 16, 128, in, out, 64);
	LAUNCH("structures_3", structures, 64, 128, in, out, 3);
	LAUNCH("structures_8", structures, 64, 128, in, out, 8);
	LAUNCH("reversed", reversed, 64, 128, in, out, 8192);
	LAUNCH("scattered_10", scattered, 64, 128, in, out, 10);
	LAUNCH("scattered_20", scattered, 64, 128, in, out, 20);
	LAUNCH("table_again", table_again, 132, 256, in, out, 4096, 8);
	LAUNCH("table_again_64K", table_again, 132, 256, in, out, 16384, 8);
	LAUNCH("table_again_512K", table_again, 132, 256, in, out, 131072, 4);
}

template <typename T> static void copies(const char *label, const char *name, const float *in,
                                         float *out, void (*kernel)(const T *, T *, int, int))
{
	static const int forms[][2] = {{1, 0}, {1, 1}, {2, 0}, {3, 1}, {8, 0}, {33, 5}};
	char text[64];

	for (const auto &f : forms) {
		snprintf(text, sizeof(text), "%s_stride%d_offset%d", label, f[0], f[1]);
		launch(text, name, kernel, dim3(16), dim3(64), (const T *)in, (T *)out, f[0], f[1]);
	}
}

template <typename T> static void groups(const char *label, const char *name, const float *in,
                                         float *out, void (*kernel)(const T *, T *, int, int))
{
	static const int forms[][2] = {{2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}, {4, 9}, {8, 33}};
	char text[64];

	for (const auto &f : forms) {
		snprintf(text, sizeof(text), "%s_same%d_stride%d", label, f[0], f[1]);
		launch(text, name, kernel, dim3(16), dim3(64), (const T *)in, (T *)out, f[0], f[1]);
	}
}

template <typename T> static void banks(const char *label, const char *name, float *out,
                                        void (*kernel)(T *, int, int))
{
	static const int forms[][2] = {{1, 1}, {2, 1}, {3, 1}, {4, 1}, {8, 1},  {16, 1}, {32, 1},
	                               {33, 1}, {0, 1}, {1, 2}, {1, 4}, {16, 2}, {8, 4},  {2, 16}};
	char text[64];

	for (const auto &f : forms) {
		snprintf(text, sizeof(text), "%s_stride%d_same%d", label, f[0], f[1]);
		launch(text, name, kernel, dim3(4), dim3(32), (T *)out, f[0], f[1]);
	}
}

static void widths(const float *in, float *out)
{
	copies("copy_1", "copy_1", in, out, copy_1);
	copies("copy_2", "copy_2", in, out, copy_2);
	copies("copy_4", "copy_4", in, out, copy_4);
	copies("copy_8", "copy_8", in, out, copy_8);
	copies("copy_16", "copy_16", in, out, copy_16);
	groups("groups_4", "groups_4", in, out, groups_4);
	groups("groups_8", "groups_8", in, out, groups_8);
	groups("groups_16", "groups_16", in, out, groups_16);
	LAUNCH("masked_even", masked, 16, 64, in, out, 0x55555555u, 1);
	LAUNCH("masked_half", masked, 16, 64, in, out, 0xffff0000u, 1);
	LAUNCH("masked_one", masked, 16, 64, in, out, 0x00010000u, 9);
	LAUNCH("masked_some", masked, 16, 64, in, out, 0x83c1f00fu, 3);
	LAUNCH("partial_warp", base_stride, 32, 48, in, out, 1);
	banks("banks_1", "banks_1", out, banks_1);
	banks("banks_2", "banks_2", out, banks_2);
	banks("banks_4", "banks_4", out, banks_4);
	banks("banks_8", "banks_8", out, banks_8);
	banks("banks_16", "banks_16", out, banks_16);
}

/* Footprints beyond L2 and within it, for the traffic of device memory. */
static void large(const float *in, float *out)
{
	LAUNCH("large_copy_16", copy_16, 65536, 256, (const float4 *)in, (float4 *)out, 1, 0);
	LAUNCH("large_copy_4", copy_4, 65536, 256, in, out, 1, 0);
	LAUNCH("large_stride_8", copy_4, 16384, 256, in, out, 8, 0);
	LAUNCH("large_stencil_2d", stencil_2d, dim3(256, 1024), dim3(32, 8), in, out, 8192, 8192);
	LAUNCH("large_transpose", transpose_plain, dim3(256, 1024), dim3(32, 8), in, out, 8192);
	LAUNCH("large_gemm", gemm, dim3(32, 128), dim3(32, 8), in, in + (8 << 20), out, 1024, 1024);
	LAUNCH("large_rows", row_per_thread, 1024, 256, in, out, 256);
	LAUNCH("large_scattered", scattered, 65536, 256, in, out, 26);
}

int main(int argc, char **argv)
{
	const size_t bytes = (size_t)320 << 20;

	record = argc == 2 ? fopen(argv[1], "w") : nullptr;
	if (!record) {
		fprintf(stderr, "usage: runner FILE (to write the launches to)\n");
		return 2;
	}
	float *in = (float *)memory(bytes), *out = (float *)memory(bytes);

	base(in, out);
	real_like(in, out);
	more(in, out);
	widths(in, out);
	large(in, out);
	return fclose(record) == 0 ? 0 : 1;
}
