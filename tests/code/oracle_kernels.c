/* The kernels of evaluate.cu in plain C, and launches of them. */
#include "oracle.h"

#include <string.h>

/* Keys: the place in the source, and the iteration. */
#define AT(site, iteration) ((uint64_t)(site) << 40 | (uint64_t)(iteration))

static void load(struct oracle *o, uint64_t key, unsigned bytes, uint64_t address)
{
	oracle_touch(o, key, IR_SPACE_GLOBAL, GW_ACCESS_LOAD, bytes, address, ORACLE_NUMBER);
}

static void store(struct oracle *o, uint64_t key, unsigned bytes, uint64_t address)
{
	oracle_touch(o, key, IR_SPACE_GLOBAL, GW_ACCESS_STORE, bytes, address, ORACLE_NUMBER);
}

static void load_shared(struct oracle *o, uint64_t key, unsigned bytes, uint64_t address)
{
	oracle_touch(o, key, IR_SPACE_SHARED, GW_ACCESS_LOAD, bytes, address, ORACLE_NUMBER);
}

static void store_shared(struct oracle *o, uint64_t key, unsigned bytes, uint64_t address)
{
	oracle_touch(o, key, IR_SPACE_SHARED, GW_ACCESS_STORE, bytes, address, ORACLE_NUMBER);
}

static int32_t thread_x(const struct oracle_thread *t)
{
	return (int32_t)(t->ctaid.x * t->ntid.x + t->tid.x);
}

static int32_t thread_y(const struct oracle_thread *t)
{
	return (int32_t)(t->ctaid.y * t->ntid.y + t->tid.y);
}

/* base[index], elements of a size, index as the kernel computes it. */
static uint64_t at(uint64_t base, int64_t index, unsigned size)
{
	return base + (uint64_t)index * size;
}

struct saxpy {
	int32_t n;
	float a;
	uint64_t x, y;
};

static void saxpy(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct saxpy *a = arguments;
	int32_t i = thread_x(t);

	if (i < a->n) {
		load(o, AT(1, 0), 4, at(a->x, i, 4));
		load(o, AT(2, 0), 4, at(a->y, i, 4));
		store(o, AT(3, 0), 4, at(a->y, i, 4));
	}
}

struct grid_stride {
	int64_t n;
	uint64_t x, y;
};

static void grid_stride(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct grid_stride *a = arguments;
	int64_t step = (int64_t)t->nctaid.x * t->ntid.x, k = 0;

	for (int64_t i = thread_x(t); i < a->n; i += step, k++) {
		load(o, AT(1, k), 8, at(a->x, i, 8));
		store(o, AT(2, k), 8, at(a->y, i, 8));
	}
}

struct plane {
	int32_t width, height;
	uint64_t in, out;
};

static void transpose(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct plane *a = arguments;
	int32_t x = thread_x(t), y = thread_y(t), tx = (int32_t)t->tid.x, ty = (int32_t)t->tid.y;

	if (x < a->width && y < a->height) {
		load(o, AT(1, 0), 4, at(a->in, y * a->width + x, 4));
		store_shared(o, AT(2, 0), 4, at(0, ty * 17 + tx, 4));
	}
	x = (int32_t)t->ctaid.y * 16 + tx;
	y = (int32_t)t->ctaid.x * 16 + ty;
	if (x < a->height && y < a->width) {
		load_shared(o, AT(3, 0), 4, at(0, tx * 17 + ty, 4));
		store(o, AT(4, 0), 4, at(a->out, y * a->height + x, 4));
	}
}

static void stencil(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct plane *a = arguments;
	int32_t x = thread_x(t), y = thread_y(t), w = a->width;
	int32_t left = x > 0 ? x - 1 : 0, right = x + 1 < w ? x + 1 : w - 1;
	int32_t up = y > 0 ? y - 1 : 0, down = y + 1 < a->height ? y + 1 : a->height - 1;

	if (x >= w || y >= a->height)
		return;
	load(o, AT(1, 0), 4, at(a->in, y * w + left, 4));
	load(o, AT(2, 0), 4, at(a->in, y * w + right, 4));
	load(o, AT(3, 0), 4, at(a->in, up * w + x, 4));
	load(o, AT(4, 0), 4, at(a->in, down * w + x, 4));
	store(o, AT(5, 0), 4, at(a->out, y * w + x, 4));
}

struct triangle {
	int32_t n;
	uint64_t a, out;
};

static void triangle(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct triangle *a = arguments;
	int32_t row = thread_x(t);

	if (row >= a->n)
		return;
	for (int32_t c = 0; c <= row; c++)
		load(o, AT(1, c), 4, at(a->a, row * a->n + c, 4));
	store(o, AT(2, 0), 4, at(a->out, row, 4));
}

struct row_sum {
	uint64_t a, out;
	int32_t columns;
};

static void row_sum(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct row_sum *a = arguments;
	int32_t x = (int32_t)t->tid.x, k = 0;

	for (int32_t c = x; c < a->columns; c += (int32_t)t->ntid.x, k++)
		load(o, AT(1, k), 4, at(a->a, (int32_t)t->ctaid.x * a->columns + c, 4));
	store_shared(o, AT(2, 0), 4, at(0, x, 4));
	for (int32_t h = (int32_t)t->ntid.x / 2; h > 0; h >>= 1)
		if (x < h) {
			load_shared(o, AT(3, h), 4, at(0, x + h, 4));
			load_shared(o, AT(4, h), 4, at(0, x, 4));
			store_shared(o, AT(5, h), 4, at(0, x, 4));
		}
	if (x == 0) {
		load_shared(o, AT(6, 0), 4, 0);
		store(o, AT(7, 0), 4, at(a->out, t->ctaid.x, 4));
	}
}

struct gather {
	int32_t n;
	uint64_t index, x, y;
};

static void gather(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct gather *a = arguments;
	int32_t i = thread_x(t);

	if (i >= a->n)
		return;
	load(o, AT(1, 0), 4, at(a->index, i, 4));
	oracle_touch(o, AT(2, 0), IR_SPACE_GLOBAL, GW_ACCESS_LOAD, 4, 0, ORACLE_UNKNOWN);
	store(o, AT(3, 0), 4, at(a->y, i, 4));
}

struct numbered {
	int32_t n;
	uint64_t x;
};

static void odd_even(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;
	int32_t i = thread_x(t);

	for (int32_t k = 0; k < a->n; k++)
		if ((i + k) % 3 == 0)
			store(o, AT(1, k), 4, at(a->x, i * a->n + k, 4));
		else if (k > i)
			store(o, AT(2, k), 4, at(a->x, i, 4));
}

static void doubling(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;

	for (uint32_t s = 1; s < (uint32_t)a->n; s *= 2)
		store(o, AT(1, s), 4, at(a->x, s + t->tid.x, 4));
}

struct downwards {
	int64_t n, step;
	uint64_t x;
};

static void downwards(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct downwards *a = arguments;
	int64_t k = 0;

	for (int64_t i = a->n - 1 - t->tid.x; i >= 0; i -= a->step, k++)
		store(o, AT(1, k), 1, at(a->x, i, 1));
}

static void rows(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;

	for (int32_t r = 0; r < a->n; r++) {
		load(o, AT(1, r), 8, at(a->x, r, 8));
		oracle_touch(o, AT(2, r), IR_SPACE_GLOBAL, GW_ACCESS_STORE, 4, 4 * t->tid.x,
			     ORACLE_RELATIVE);
	}
}

struct shape {
	int32_t width, height;
	int16_t border;
	uint64_t base;
};

static void called(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct shape *s = arguments;
	int32_t x = thread_x(t), y = (int32_t)t->ctaid.y;

	if (x >= s->border && y >= s->border && x < s->width - s->border &&
	    y < s->height - s->border)
		store(o, AT(1, 0), 4, at(s->base, y * s->width + x, 4));
}

static void choice(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;
	int32_t i = thread_x(t), way = a->n + i % 8;

	if (way >= 0 && way < 6)
		store(o, AT(way, 0), 4, at(a->x, (int64_t)i * (way + 1), 4));
	else
		store(o, AT(9, 0), 4, a->x);
}

struct float_steps {
	float from, to, by;
	uint64_t x;
};

static void float_steps(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct float_steps *a = arguments;
	int32_t n = 0;

	(void)t;
	for (float f = a->from; f < a->to; f += a->by, n++)
		store(o, AT(1, n), 4, at(a->x, n, 4));
}

static void local_array(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;
	int32_t many = (int32_t)(t->tid.x & 7) * a->n;

	for (int32_t i = 0; i < many; i++)
		store(o, AT(1, i), 4, at(a->x, i, 4));
}

struct vectors {
	int32_t n;
	uint64_t x, y;
};

static void vectors(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct vectors *a = arguments;
	int32_t i = thread_x(t);

	if (i < a->n) {
		load(o, AT(1, 0), 16, at(a->x, i, 16));
		store(o, AT(2, 0), 16, at(a->y, i, 16));
	}
}

static void shuffles(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct vectors *a = arguments;
	int32_t i = thread_x(t), first = i - (int32_t)(t->tid.x % 32),
		warp = (int32_t)t->tid.x / 32;

	load(o, AT(1, 0), 4, at(a->x, i, 4));
	if (first + 31 < a->n && warp & 1)
		store(o, AT(2, 0), 4, at(a->y, i, 4));
	if (t->tid.x % 32 == 0)
		store(o, AT(3, 0), 4, at(a->y, a->n + warp, 4));
}

/* Since some lanes return from the loop, those that break out don't meet again before the end:
 * each writes by itself. */
static void leaving(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct numbered *a = arguments;
	int32_t i = (int32_t)t->tid.x, k;

	for (k = 0; k < a->n; k++) {
		if (k == i * 2)
			break;
		if ((k & 3) == 1)
			continue;
		store(o, AT(1, k), 4, at(a->x, k * 64 + i, 4));
		if (k == 40)
			return;
	}
	store(o, AT(2, k), 4, at(a->x, i, 4));
}

struct cube {
	int32_t nx, ny, nz;
	uint64_t x;
};

static void cube(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct cube *a = arguments;
	uint32_t i = (uint32_t)thread_x(t), j = (uint32_t)thread_y(t);
	uint32_t k = t->ctaid.z * t->ntid.z + t->tid.z;

	if (i < (uint32_t)a->nx && j < (uint32_t)a->ny && k < (uint32_t)a->nz)
		store(o, AT(1, 0), 4, at(a->x, (k * (uint32_t)a->ny + j) * (uint32_t)a->nx + i, 4));
}

struct multiply {
	int32_t m, n, depth;
	uint64_t a, b, c;
};

static void multiply(struct oracle *o, const struct oracle_thread *t, const void *arguments)
{
	const struct multiply *a = arguments;
	int32_t tx = (int32_t)t->tid.x, ty = (int32_t)t->tid.y;
	int32_t row = (int32_t)t->ctaid.y * 16 + ty, column = (int32_t)t->ctaid.x * 16 + tx;

	for (int32_t i = 0; i < a->depth / 16; i++) {
		load(o, AT(1, i), 4, at(a->a, row * a->depth + i * 16 + tx, 4));
		store_shared(o, AT(2, i), 4, at(0, ty * 16 + tx, 4));
		load(o, AT(3, i), 4, at(a->b, (i * 16 + ty) * a->n + column, 4));
		store_shared(o, AT(4, i), 4, at(1024, ty * 16 + tx, 4));
		for (int32_t k = 0; k < 16; k++) {
			load_shared(o, AT(5, i * 16 + k), 4, at(0, ty * 16 + k, 4));
			load_shared(o, AT(6, i * 16 + k), 4, at(1024, k * 16 + tx, 4));
		}
	}
	if (row < a->m)
		store(o, AT(7, 0), 4, at(a->c, row * a->n + column, 4));
}

struct launch {
	struct oracle_case c;
	const void *arguments;
};

#define LAUNCH(kernel, gx, gy, gz, bx, by, bz, type, ...) \
	{ \
		{#kernel, \
		 kernel, \
		 {{gx, gy, gz}, {bx, by, bz}, {1, 1, 1}, 0, 0}, \
		 {0}, \
		 sizeof(type)}, \
\
			&(const type) \
		{ \
			__VA_ARGS__ \
		} \
	}

#define X UINT64_C(0x7f0000001000)
#define Y UINT64_C(0x7f1000000040)
#define Z UINT64_C(0x7f2000000200)

static const struct launch launches[] = {
	LAUNCH(saxpy, 40, 1, 1, 256, 1, 1, struct saxpy, 10000, 2, X, Y),
	LAUNCH(saxpy, 40, 1, 1, 96, 1, 1, struct saxpy, 1, 2, X, Y),
	LAUNCH(saxpy, 7, 1, 1, 100, 1, 1, struct saxpy, 693, 2, X, Y),
	LAUNCH(saxpy, 3, 1, 1, 64, 1, 1, struct saxpy, 0, 2, X, Y),
	LAUNCH(saxpy, 3, 1, 1, 64, 1, 1, struct saxpy, -5, 2, X, Y),
	LAUNCH(saxpy, 4, 1, 1, 1024, 1, 1, struct saxpy, 1 << 30, 2, X, Y),
	LAUNCH(grid_stride, 5, 1, 1, 128, 1, 1, struct grid_stride, 5000, X, Y),
	LAUNCH(grid_stride, 3, 1, 1, 33, 1, 1, struct grid_stride, 99 * 40 + 17, X, Y),
	LAUNCH(grid_stride, 16, 1, 1, 64, 1, 1, struct grid_stride, 1, X, Y),
	LAUNCH(transpose, 5, 4, 1, 16, 16, 1, struct plane, 75, 50, X, Y),
	LAUNCH(transpose, 4, 4, 1, 16, 16, 1, struct plane, 64, 64, X, Y),
	LAUNCH(stencil, 4, 9, 1, 32, 8, 1, struct plane, 100, 70, X, Y),
	LAUNCH(stencil, 7, 5, 1, 8, 4, 1, struct plane, 53, 19, X, Y),
	LAUNCH(stencil, 3, 3, 1, 24, 3, 1, struct plane, 70, 8, X, Y),
	LAUNCH(triangle, 3, 1, 1, 64, 1, 1, struct triangle, 150, X, Y),
	LAUNCH(row_sum, 6, 1, 1, 128, 1, 1, struct row_sum, X, Y, 1000),
	LAUNCH(row_sum, 6, 1, 1, 96, 1, 1, struct row_sum, X, Y, 5),
	LAUNCH(gather, 9, 1, 1, 64, 1, 1, struct gather, 500, X, Y, Z),
	LAUNCH(odd_even, 3, 1, 1, 64, 1, 1, struct numbered, 50, X),
	LAUNCH(doubling, 2, 1, 1, 96, 1, 1, struct numbered, 100000, X),
	LAUNCH(downwards, 1, 1, 1, 64, 1, 1, struct downwards, 1000, 37, X),
	LAUNCH(downwards, 2, 1, 1, 64, 1, 1, struct downwards, 40, 1, X),
	LAUNCH(rows, 2, 1, 1, 64, 1, 1, struct numbered, 12, X),
	LAUNCH(called, 4, 9, 1, 64, 1, 1, struct shape, 200, 8, 3, X),
	LAUNCH(choice, 2, 1, 1, 64, 1, 1, struct numbered, 0, X),
	LAUNCH(choice, 2, 1, 1, 64, 1, 1, struct numbered, 3, X),
	LAUNCH(choice, 2, 1, 1, 64, 1, 1, struct numbered, -100, X),
	LAUNCH(float_steps, 1, 1, 1, 32, 1, 1, struct float_steps, 0.1f, 9.0f, 0.3f, X),
	LAUNCH(local_array, 2, 1, 1, 40, 1, 1, struct numbered, 5, X),
	LAUNCH(vectors, 3, 1, 1, 128, 1, 1, struct vectors, 300, X, Y),
	LAUNCH(shuffles, 3, 1, 1, 128, 1, 1, struct vectors, 300, X, Y),
	LAUNCH(leaving, 2, 1, 1, 64, 1, 1, struct numbered, 30, X),
	LAUNCH(leaving, 2, 1, 1, 64, 1, 1, struct numbered, 90, X),
	LAUNCH(cube, 3, 2, 2, 8, 4, 4, struct cube, 20, 7, 6, X),
	LAUNCH(cube, 2, 3, 4, 5, 3, 2, struct cube, 8, 8, 8, X),
	LAUNCH(multiply, 3, 4, 1, 16, 16, 1, struct multiply, 60, 48, 160, X, Y, Z),
};

const struct oracle_case *oracle_cases(size_t *count)
{
	static struct oracle_case cases[sizeof(launches) / sizeof(*launches)];

	*count = sizeof(launches) / sizeof(*launches);
	for (size_t i = 0; i < *count; i++) {
		cases[i] = launches[i].c;
		memcpy(cases[i].arguments, launches[i].arguments, cases[i].argument_bytes);
	}
	return cases;
}
