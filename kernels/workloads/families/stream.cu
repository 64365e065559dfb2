/* Streams: every byte once, at several widths and strides. */
#include "kernels/workloads/prepare.cuh"

template <typename T> static __device__ void copy_one(const T *in, T *out, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = in[i];
}

extern "C" __global__ void copy_u8(const uint8_t *in, uint8_t *out, unsigned n)
{
	copy_one(in, out, n);
}

extern "C" __global__ void copy_f32(const float *in, float *out, unsigned n)
{
	copy_one(in, out, n);
}

extern "C" __global__ void copy_f64(const double *in, double *out, unsigned n)
{
	copy_one(in, out, n);
}

extern "C" __global__ void copy_f32x4(const float4 *in, float4 *out, unsigned n)
{
	copy_one(in, out, n);
}

/* A fixed grid that walks the array: eight blocks per SM of an H200. */
extern "C" __global__ void copy_gridstride(const float4 *in, float4 *out, unsigned n)
{
	for (unsigned i = wl_thread(); i < n; i += gridDim.x * blockDim.x)
		out[i] = in[i];
}

/* Loads start 4 bytes behind a sector: each warp touches five sectors. */
extern "C" __global__ void copy_misaligned(const float *in, float *out, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = in[i + 1];
}

extern "C" __global__ void read_strided(const float *in, float *out, unsigned n, unsigned stride)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = in[(size_t)i * stride];
}

extern "C" __global__ void write_strided(const float *in, float *out, unsigned n, unsigned stride)
{
	unsigned i = wl_thread();

	if (i < n)
		out[(size_t)i * stride] = in[i];
}

extern "C" __global__ void fill_f32x4(float4 *out, float value, unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		out[i] = make_float4(value, value, value, value);
}

extern "C" __global__ void triad_f64(const double *b, const double *c, double *a, double s,
				     unsigned n)
{
	unsigned i = wl_thread();

	if (i < n)
		a[i] = b[i] + s * c[i];
}

enum { BLOCK = 256 };

/* All copies of n values of E, done by threads that move a T each. */
template <typename E, typename T>
static double *prepare_copy(struct wl_case *c, const char *name,
			    void (*kernel)(const T *, T *, unsigned), unsigned grid)
{
	uint64_t n = c->n, threads = n * sizeof(E) / sizeof(T);
	E *in = wl_random<E>(c, n, 0, 100), *out = wl_output<E>(c, n);
	double *truth = wl_record(c, name, kernel, dim3(grid ? grid : wl_blocks(threads, BLOCK)),
				  dim3(BLOCK), 0, (const T *)in, (T *)out, (unsigned)threads);

	wl_accesses(wl_moves(truth, (double)(n * sizeof(E)), (double)(n * sizeof(E))),
		    (double)threads / 32, sizeof(T), (double)threads / 32, sizeof(T));
	return truth;
}

/* out[to(i)] must be in[from(i)] exactly. */
template <typename E, typename F, typename G>
static void check_moved(const struct wl_case *c, struct wl_check *k, uint64_t n, F from, G to)
{
	wl_in<E> in(c, 0);
	wl_out<E> out(c, 1);

	wl_each(c, n, 4,
		[&](uint64_t i) { wl_expect(k, i, (double)out[to(i)], (double)in[from(i)], 0); });
}

template <typename E> static void check_copy(const struct wl_case *c, struct wl_check *k)
{
	auto same = [](uint64_t i) { return i; };

	check_moved<E>(c, k, c->n, same, same);
}

#define COPY(name, element, moved, grid) \
	WL_PREPARE(name) \
	{ \
		prepare_copy<element, moved>(c, #name, name, grid); \
	} \
	WL_CHECK(name) \
	{ \
		check_copy<element>(c, k); \
	}
COPY(copy_u8, uint8_t, uint8_t, 0)
COPY(copy_f32, float, float, 0)
COPY(copy_f64, double, double, 0)
COPY(copy_f32x4, float, float4, 0)
COPY(copy_gridstride, float, float4, 132 * 8)

WL_PREPARE(copy_misaligned)
{
	uint64_t n = c->n;
	float *in = wl_random<float>(c, n + 1, -1, 1), *out = wl_output<float>(c, n);
	double *truth = WL_LAUNCH(c, copy_misaligned, wl_blocks(n, BLOCK), BLOCK, 0, in, out, n);

	wl_accesses(wl_moves(truth, (double)n * 4, (double)n * 4), (double)n / 32, 5,
		    (double)n / 32, 4);
}

WL_CHECK(copy_misaligned)
{
	check_moved<float>(
		c, k, c->n, [](uint64_t i) { return i + 1; }, [](uint64_t i) { return i; });
}

/* Sectors that a warp touches at a stride of this many floats. */
static double sectors_at(unsigned stride)
{
	return stride < 8 ? 4.0 * stride : 32;
}

static void prepare_read(struct wl_case *c, unsigned stride)
{
	uint64_t n = c->n;
	float *in = wl_random<float>(c, n * stride, -1, 1), *out = wl_output<float>(c, n);
	double sectors = sectors_at(stride), warps = (double)n / 32;
	double *truth =
		WL_LAUNCH(c, read_strided, wl_blocks(n, BLOCK), BLOCK, 0, in, out, n, stride);

	wl_accesses(wl_moves(truth, warps * sectors * 32, (double)n * 4), warps, sectors, warps, 4);
}

static void check_read(const struct wl_case *c, struct wl_check *k, unsigned stride)
{
	check_moved<float>(
		c, k, c->n, [=](uint64_t i) { return i * stride; }, [](uint64_t i) { return i; });
}

#define READ(name, stride) \
	WL_PREPARE(name) \
	{ \
		prepare_read(c, stride); \
	} \
	WL_CHECK(name) \
	{ \
		check_read(c, k, stride); \
	}
READ(read_stride2, 2)
READ(read_stride8, 8)
READ(read_stride32, 32)

WL_PREPARE(write_stride8)
{
	uint64_t n = c->n;
	float *in = wl_random<float>(c, n, -1, 1), *out = wl_output<float>(c, n * 8);
	double *truth = WL_LAUNCH(c, write_strided, wl_blocks(n, BLOCK), BLOCK, 0, in, out, n, 8);

	wl_accesses(wl_moves(truth, (double)n * 4, (double)n * 32), (double)n / 32, 4,
		    (double)n / 32, 32);
}

WL_CHECK(write_stride8)
{
	check_moved<float>(
		c, k, c->n, [](uint64_t i) { return i; }, [](uint64_t i) { return i * 8; });
}

static const float FILL = 0.75f;

WL_PREPARE(fill_f32x4)
{
	uint64_t threads = c->n / 4;
	float *out = wl_output<float>(c, c->n);
	double *truth = WL_LAUNCH(c, fill_f32x4, wl_blocks(threads, BLOCK), BLOCK, 0, (float4 *)out,
				  FILL, threads);

	wl_accesses(wl_moves(truth, 0, (double)c->n * 4), 0, 0, (double)threads / 32, 16);
}

WL_CHECK(fill_f32x4)
{
	wl_out<float> out(c, 0);

	wl_each(c, c->n, 1, [&](uint64_t i) { wl_expect(k, i, out[i], FILL, 0); });
}

WL_PREPARE(triad_f64)
{
	uint64_t n = c->n;
	double *b = wl_random<double>(c, n, -1, 1), *in = wl_random<double>(c, n, -1, 1),
	       *a = wl_output<double>(c, n);
	double *truth = WL_LAUNCH(c, triad_f64, wl_blocks(n, BLOCK), BLOCK, 0, b, in, a, 3.0, n);

	wl_accesses(wl_moves(truth, (double)n * 16, (double)n * 8), (double)n / 16, 8,
		    (double)n / 32, 8);
	truth[WL_fp64_flop] = 2 * (double)n;
}

WL_CHECK(triad_f64)
{
	wl_in<double> b(c, 0), in(c, 1);
	wl_out<double> a(c, 2);

	wl_each(c, c->n, 4, [&](uint64_t i) { wl_expect(k, i, a[i], b[i] + 3.0 * in[i], 1e-15); });
}
