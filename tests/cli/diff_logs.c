/* diff_logs: two runs, base.gwl and other.gwl, that differ in known ways, for tests of gpuwatch
 * diff. */
#include "tests/cli/log_builder.h"

#include "predictor/core/hash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BASE, OTHER };

static const struct kernel {
	const char *name[2]; /* in each run; NULL: not there */
	double ns[2];        /* median time */
	unsigned launches;
	uint32_t registers, digest[2];
	uint64_t code[2]; /* 0: not known */
} kernels[] = {
	{{"steady", "steady"}, {50000, 50000}, 200, 32, {0, 0}, {0, 0}},
	{{"slower", "slower"}, {20000, 21000}, 200, 40, {0, 0}, {0, 0}},
	{{"faster", "faster"}, {30000, 28800}, 200, 48, {0, 0}, {0, 0}},
	{{"slightly_slower", "slightly_slower"}, {40000, 40800}, 200, 50, {0, 0}, {0, 0}},
	{{"tiny_share", "tiny_share"}, {500, 600}, 20, 52, {0, 0}, {0, 0}},
	{{"launched_thrice", "launched_thrice"}, {70000, 90000}, 3, 56, {0, 0}, {0, 0}},
	{{"gone", NULL}, {15000, 0}, 50, 64, {0, 0}, {0, 0}},
	{{NULL, "added"}, {0, 25000}, 50, 72, {0, 0}, {0, 0}},
	{{"old_name", "new_name"}, {33000, 33000}, 100, 80, {0, 0}, {0, 0}},
	{{"rehashed", "rehashed"}, {12000, 12000}, 100, 88, {0x11, 0x22}, {0, 0}},
	{{"hashed", "hashed"}, {10000, 10000}, 100, 96, {0x33, 0x33}, {0, 0}},
	{{"hashed", "hashed"}, {80000, 88000}, 100, 96, {0x44, 0x44}, {0, 0}},
	/* Two alike but for their code, under other names; and two that differ in nothing but code.
	 */
	{{"old_twin", "new_twin"}, {5000, 5000}, 100, 104, {0, 0}, {0x501, 0x501}},
	{{"old_pair", "new_pair"}, {6000, 6000}, 100, 104, {0, 0}, {0x502, 0x502}},
	{{"old_code", "new_code"}, {7000, 7000}, 100, 112, {0, 0}, {0x503, 0x504}},
	{{"same_name", "same_name"}, {8000, 7600}, 100, 120, {0, 0}, {0x505, 0x506}},
};

/* Around 1, of a spread of 1%: a sum of uniform numbers. */
static double noise(uint64_t n)
{
	double sum = 0;

	for (unsigned i = 0; i < 12; i++)
		sum += (double)(gw_hash_mix(n * 12 + i) >> 11) / 0x1p53;
	return 1 + 0.01 * (sum - 6);
}

static void kernel(struct lb *b, uint32_t id, const struct kernel *k, unsigned run)
{
	struct gw_record_kernel r = {
		.id = id, .registers = k->registers, .max_threads = 1024, .binary_version = 90};

	lb_record(b, GW_RECORD_KERNEL, &r, sizeof(r), k->name[run], strlen(k->name[run]) + 1);
	lb_config_with(b, id, id, 64, k->digest[run]);
	if (k->code[run]) {
		struct gw_record_code code = {.kernel = id, .bytes = 512, .digest = k->code[run]};

		lb_record(b, GW_RECORD_CODE, &code, sizeof(code), NULL, 0);
	}
}

static void clock_at(struct lb *b, uint32_t khz, uint64_t ns)
{
	struct gw_record_clock r = {.device = 1, .sm_khz = khz, .mem_khz = 2600000, .ns = ns};

	lb_record(b, GW_RECORD_CLOCK, &r, sizeof(r), NULL, 0);
}

static bool write_run(unsigned run, uint32_t khz, const char *path)
{
	struct lb b = {0};
	uint64_t now = 1000000000, seed = run * UINT64_C(1000003);
	bool good;

	lb_header(&b, 4242 + run, 0, run ? "./program --new" : "./program");
	lb_device(&b, 1, "Test GPU", "00000000-0000-0000-0000-000000000001");
	lb_stream(&b, 1, 1);
	clock_at(&b, khz, now);
	for (uint32_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (kernels[i].name[run])
			kernel(&b, i + 1, &kernels[i], run);
	for (unsigned n = 0; n < 200; n++)
		for (uint32_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
			const struct kernel *k = &kernels[i];
			uint64_t took = (uint64_t)llround(k->ns[run] * noise(seed++));

			if (!k->name[run] || n >= k->launches)
				continue;
			lb_add_launch(&b, lb_launch(i + 1, now, took, NAN, 0));
			now += took + 2000;
		}
	lb_end(&b);
	good = lb_write(&b, path);
	lb_free(&b);
	return good;
}

/* As mode watch writes it: every ten seconds sums of a kernel that takes @p ns. */
static bool write_sums(double ns, const char *path)
{
	const struct kernel k = {{"summed"}, {ns}, 0, 32, {0}, {0}};
	struct lb b = {0};
	bool good;

	lb_header(&b, 4242, 0, "./program");
	lb_device(&b, 1, "Test GPU", "00000000-0000-0000-0000-000000000001");
	lb_stream(&b, 1, 1);
	kernel(&b, 1, &k, BASE);
	for (unsigned n = 0; n < 30; n++) {
		const uint64_t from = (1000 + n * 10) * UINT64_C(1000000000);
		const double mean = ns * noise((uint64_t)ns + n);
		const uint64_t start = lb_launch(1, from, 1, NAN, 0).start_ns;
		struct gw_record_aggregate a = {.config = 1,
						.launches = 50000,
						.measured = 500,
						.start_ns = start,
						.end_ns = start + UINT64_C(10000000000),
						.total_ns = (uint64_t)(500 * mean)};

		/* One launch of each has a record of its own: an outlier. */
		lb_add_launch(&b, lb_launch(1, from + 5, (uint64_t)(3 * ns), NAN, 0));
		lb_record(&b, GW_RECORD_AGGREGATE, &a, sizeof(a), NULL, 0);
	}
	lb_end(&b);
	good = lb_write(&b, path);
	lb_free(&b);
	return good;
}

/* One kernel at one shape with four argument hashes: one in both runs, one as often in its place in
 * each, and short launches of each run's own. */
static bool write_moved(unsigned run, const char *path)
{
	static const struct kernel rows[] = {
		{{"moved", "moved"}, {50000, 50000}, 100, 32, {0x11, 0x11}, {0}},
		{{"moved", "moved"}, {20000, 20000}, 100, 32, {0x22, 0x33}, {0}},
		{{"moved", "moved"}, {1000, 1000}, 1, 32, {0x44, 0x55}, {0}},
		{{"moved", NULL}, {1000, 0}, 1, 32, {0x66, 0}, {0}},
	};
	struct lb b = {0};
	uint64_t now = 1000000000;
	bool good;

	lb_header(&b, 4242 + run, 0, "./program");
	lb_device(&b, 1, "Test GPU", "00000000-0000-0000-0000-000000000001");
	lb_stream(&b, 1, 1);
	kernel(&b, 1, &rows[0], run);
	for (uint32_t i = 1; i < sizeof(rows) / sizeof(*rows); i++)
		lb_config_with(&b, i + 1, 1, 64, rows[i].digest[run]);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (unsigned n = 0; rows[i].name[run] && n < rows[i].launches; n++, now += 100000)
			lb_add_launch(&b, lb_launch(i + 1, now,
						    (uint64_t)llround(rows[i].ns[run] *
								      noise(now / 1000 + run)),
						    NAN, 0));
	lb_end(&b);
	good = lb_write(&b, path);
	lb_free(&b);
	return good;
}

int main(void)
{
	/* The same twice; changed; changed, and at a clock that is a tenth lower. */
	if (write_run(BASE, 1980000, "base.gwl") && write_run(OTHER, 1980000, "other.gwl") &&
	    write_run(OTHER, 1782000, "clocked.gwl") && write_sums(20000, "sums.gwl") &&
	    write_sums(21000, "sums_slower.gwl") && write_moved(BASE, "moved.gwl") &&
	    write_moved(OTHER, "moved_other.gwl"))
		return 0;
	perror("diff_logs");
	return 1;
}
