/* What a report takes the work of a configuration to be, and the figures of a score. */
#include "cli/log/reasons.h"
#include "cli/log/work.h"
#include "cli/score/score.h"
#include "tests/cli/samples.h"
#include "tests/test.h"

enum { SMALL, LARGE, OTHER }; /* configurations: two of one kernel, and one of another */

static struct log_works *works;
static struct log_code codes[3];
static struct log_kernel kernels[2];
static struct log_config configs[3];
static const struct gw_log all = {
	.kernels = kernels, .kernel_count = 2, .configs = configs, .config_count = 3};

static struct log_config config(uint32_t kernel, uint32_t blocks)
{
	return (struct log_config){
		.kernel = kernel,
		.config = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}}};
}

static int begin(void **state)
{
	works = log_works_new();
	memset(codes, 0, sizeof(codes));
	for (unsigned i = 0; i < 2; i++)
		kernels[i].kernel = (struct gw_kernel){.name = "k", .registers = 32};
	configs[SMALL] = config(0, 1000);
	configs[LARGE] = config(0, 4000);
	configs[OTHER] = config(1, 1000);
	return 0;
}

static int end(void **state)
{
	log_works_free(works);
	return 0;
}

static bool take(void *arg, const struct gw_log_record *record)
{
	const struct gw_record_work *w = (const void *)record->head;

	(void)arg;
	if (record->head->kind == GW_RECORD_WORK) {
		log_works_add(works, w->config - 1, record);
		log_analysis_work(&codes[w->config - 1], record);
	}
	return true;
}

/* What the code reported is an estimate here: what it settles is not put aside for scaled counts.
 */
static struct gw_record_quantity part(enum gw_work_field field, enum gw_source source, double value)
{
	return (struct gw_record_quantity){.field = (uint16_t)field,
					   .source = (uint8_t)source,
					   .confidence = source == GW_SOURCE_STATIC ? 0.4f : 0.9f,
					   .value = value};
}

/* A WORK record with one amount. */
static void tell(uint32_t config, enum gw_work_field field, enum gw_source source, double value)
{
	struct gw_record_quantity q = part(field, source, value);
	struct gw_log_status status;
	struct lb b = {0};

	lb_header(&b, 1, 0, "work");
	lb_work(&b, config + 1, 0, &q, 1);
	lb_end(&b);
	lb_block(&b);
	assert_true(gw_log_read_memory(b.data, b.length, take, NULL, &status));
	lb_free(&b);
}

static struct gw_quantity known(uint32_t config, enum gw_work_field field)
{
	struct gw_work work;

	log_work_of(log_works_of(works, config), &work);
	return work.q[field];
}

TEST_WITH(what_was_counted_there_stands, begin, end)
{
	struct gw_quantity q;

	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 1e6);
	tell(LARGE, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 1.5e6);
	log_works_end(works, &all);
	q = known(LARGE, GW_WORK_dram_read_bytes);
	assert_int_equal(q.source, GW_SOURCE_COUNTED);
	assert_true(q.value == 1.5e6);
}

TEST_WITH(what_was_not_is_scaled_from_the_kernel_s_other_configurations, begin, end)
{
	struct gw_quantity q;

	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 1e6);
	log_works_end(works, &all);
	q = known(LARGE, GW_WORK_dram_read_bytes);
	assert_int_equal(q.source, GW_SOURCE_SCALED);
	assert_true(fabs(q.value / 4e6 - 1) < 0.01);
	assert_true(q.confidence < 0.9f);
	/* Not from another kernel's. */
	assert_null(log_works_of(works, OTHER));
}

/* The code saw twice the bytes at four times the grid; the counts will differ likewise. */
TEST_WITH(what_the_code_reported_before_tells_how, begin, end)
{
	struct gw_quantity q;

	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_STATIC, 5e5);
	tell(LARGE, GW_WORK_dram_read_bytes, GW_SOURCE_STATIC, 1e6);
	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 8e5);
	log_works_end(works, &all);
	q = known(LARGE, GW_WORK_dram_read_bytes);
	assert_int_equal(q.source, GW_SOURCE_SCALED);
	assert_true(fabs(q.value / 1.6e6 - 1) < 0.01);
}

/* A record has the rows that changed: others stay. */
TEST_WITH(rows_that_a_record_does_not_name_stay, begin, end)
{
	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 1e6);
	tell(SMALL, GW_WORK_dram_write_bytes, GW_SOURCE_COUNTED, 2e6);
	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 3e6);
	log_works_end(works, &all);
	assert_true(known(SMALL, GW_WORK_dram_read_bytes).value == 3e6);
	assert_true(known(SMALL, GW_WORK_dram_write_bytes).value == 2e6);
}

/* It scales counts, whatever else was counted before it was read. */
TEST_WITH(what_the_code_reported_later_tells_how, begin, end)
{
	tell(SMALL, GW_WORK_inst_executed, GW_SOURCE_COUNTED, 1e5);
	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_STATIC, 5e5);
	tell(LARGE, GW_WORK_dram_read_bytes, GW_SOURCE_STATIC, 1e6);
	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 8e5);
	assert_true(codes[SMALL].has_work);
	log_works_end(works, &all);
	assert_true(fabs(known(LARGE, GW_WORK_dram_read_bytes).value / 1.6e6 - 1) < 0.01);
}

TEST_WITH(code_alone_is_reported_as_it_is, begin, end)
{
	struct gw_work work;

	tell(OTHER, GW_WORK_dram_read_bytes, GW_SOURCE_STATIC, 3e6);
	log_works_end(works, &all);
	log_work_of(log_works_of(works, OTHER), &work);
	assert_int_equal(work.q[GW_WORK_dram_read_bytes].source, GW_SOURCE_STATIC);
	assert_true(work.q[GW_WORK_dram_read_bytes].value == 3e6);
}

/* It stands beside what is known, says nothing of others, and is no amount to scale from. */
TEST_WITH(what_is_at_most_so_is_that_of_its_own_configuration, begin, end)
{
	struct gw_work work;

	tell(SMALL, GW_WORK_dram_read_bytes, GW_SOURCE_COUNTED, 1e6);
	tell(LARGE, GW_WORK_most_l2_total_bytes, GW_SOURCE_COUNTED, 7e6);
	tell(OTHER, GW_WORK_most_dram_read_bytes, GW_SOURCE_COUNTED, 5e6);
	log_works_end(works, &all);
	assert_true(known(LARGE, GW_WORK_most_l2_total_bytes).value == 7e6);
	assert_int_equal(known(LARGE, GW_WORK_dram_read_bytes).source, GW_SOURCE_SCALED);
	assert_true(isnan(known(SMALL, GW_WORK_most_l2_total_bytes).value));
	log_work_of(log_works_of(works, OTHER), &work);
	assert_true(work.q[GW_WORK_most_dram_read_bytes].value == 5e6);
	assert_true(isnan(work.q[GW_WORK_dram_read_bytes].value));
}

static struct trace read_sample(void)
{
	struct lb b = {0};
	struct trace t;

	sample_worked(&b, SAMPLE_WHOLE);
	assert_true(trace_read_memory(&t, "sample", b.data, b.length));
	lb_free(&b);
	return t;
}

static const struct score_cell *cell(const struct score *s, unsigned tier, unsigned length)
{
	return &s->cells[SCORE_OURS][tier][SCORE_SOURCES][length];
}

/* 10% too long with the time in its interval, half as long as it was outside of it, and none. */
TEST(figures_are_what_they_are_called)
{
	struct trace t = read_sample();
	struct score *s = score_new(&t, false);
	const double none[SCORE_MODELS_MAX] = {0};
	const struct score_cell *sum;

	score_add(s, 0, 0, GW_TIER_COLD, GW_SOURCE_COUNTED,
		  &(struct score_answer){1.1e-6, 0.9e-6, 1.3e-6, 1e-6}, none);
	score_add(s, 0, 0, GW_TIER_COLD, GW_SOURCE_COUNTED,
		  &(struct score_answer){1e-4, 0.5e-4, 1.5e-4, 2e-4}, none);
	score_add(s, 0, 1, GW_TIER_NONE, GW_SOURCE_NONE,
		  &(struct score_answer){NAN, NAN, NAN, 2e-4}, none);
	score_finish(s);
	sum = cell(s, SCORE_TIERS, SCORE_LENGTHS);
	assert_int_equal(sum->count, 3);
	assert_int_equal(sum->answered, 2);
	assert_true(fabs(score_mape(sum) - 0.3) < 1e-12);
	assert_true(fabs(score_ratio(sum) - sqrt(1.1 * 2)) < 1e-12);
	assert_true(fabs(score_bias(sum) - sqrt(1.1 / 2)) < 1e-12);
	assert_true(fabs(score_share(sum, sum->within25) - 1.0 / 3) < 1e-12);
	assert_true(fabs(score_share(sum, sum->within2x) - 2.0 / 3) < 1e-12);
	assert_true(fabs(score_coverage(sum) - 0.5) < 1e-12);
	assert_int_equal(cell(s, GW_TIER_COLD, SCORE_UNDER_5)->count, 1);
	assert_int_equal(cell(s, GW_TIER_COLD, SCORE_LONGER)->count, 1);
	assert_int_equal(cell(s, GW_TIER_COLD, SCORE_UNDER_50)->count, 0);
	score_free(s);
	trace_free(&t);
}

/* A configuration of a hundred launches that is hit, one of a single launch that is missed. */
TEST(a_configuration_counts_once)
{
	struct trace t = read_sample();
	const double none[SCORE_MODELS_MAX] = {0};

	for (int by_config = 0; by_config < 2; by_config++) {
		struct score *s = score_new(&t, by_config);
		const struct score_cell *sum = cell(s, SCORE_TIERS, SCORE_LENGTHS);

		for (int i = 0; i < 100; i++)
			score_add(s, 0, 0, GW_TIER_STEADY, GW_SOURCE_NONE,
				  &(struct score_answer){1e-5, 0.9e-5, 1.1e-5, 1e-5}, none);
		score_add(s, 0, 1, GW_TIER_STEADY, GW_SOURCE_NONE,
			  &(struct score_answer){1e-5, 0.9e-5, 1.1e-5, 4e-5}, none);
		score_finish(s);
		assert_int_equal(sum->count, by_config ? 2 : 101);
		assert_true(fabs(score_coverage(sum) - (by_config ? 0.5 : 100 / 101.0)) < 1e-12);
		score_free(s);
	}
	trace_free(&t);
}

TESTS_MAIN()
