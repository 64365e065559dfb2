/*
 * Work read off machine code beside counters of an H200: the loops of sass_fixture.h, one warp
 * each, on the arguments they were counted with.
 */
#include "predictor/code/sass/work.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

#include <inttypes.h>

enum { PIPES = 7 };

static const enum gw_work_field pipe_rows[PIPES - 1] = {
	GW_WORK_pipe_alu, GW_WORK_pipe_fma, GW_WORK_pipe_fp64,
	GW_WORK_pipe_xu,  GW_WORK_pipe_lsu, GW_WORK_pipe_uniform,
};

/* what each takes */
struct arguments {
	uint64_t pointers[6];
	int32_t zero, n;
};

/* The work of @p name's launch; NULL or why not. */
static const char *work_of(const char *name, int trips, uint32_t bytes_known, struct gw_work *work)
{
	struct arguments a = {{0x10000, 0x20000000, 0x30000, 0x40000, 0x50000, 0x60000}, 0, trips};
	struct gw_sass_kernel about = {.name = name, .param_base = 0x210, .param_bytes = sizeof(a)};
	struct gw_eval_launch launch = {.config = {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0},
					.arguments = {(const uint8_t *)&a, bytes_known}};
	struct gw_eval_limits limits = {0};
	struct gw_sass_lowered lowered;
	struct gw_eval_report report;
	struct gw_sass_launch all;
	struct gw_waits waits;
	struct built b;
	const char *why;

	gw_waits_clear(&waits);
	for (unsigned i = 0; i < GW_WAITS; i++)
		waits.cycles[i] = 20;
	gw_work_clear(work);
	built_begin(&b, built_kernel(schedule_code(), name), 90);
	built_schedule(&b, &waits);
	assert_null(gw_sass_lower(&lowered, &b.cfg, &about, &b.arena));
	assert_null(
		gw_eval_grid(&lowered.program, &launch, &limits, NULL, NULL, &b.arena, &report));
	all = (struct gw_sass_launch){&b.cfg, &b.schedule, &lowered, &report, launch.config};
	why = gw_sass_work(&all, &b.arena, work);
	built_end(&b);
	return why;
}

TEST(instructions_are_what_an_h200_counts)
{
	FILE *f = fopen(GW_SCHEDULE "/counters.txt", "r");
	char line[256];
	unsigned kernels = 0, analysed = 0, exact = 0, pipes = 0, pipes_exact = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		double executed, pipe[PIPES];
		struct gw_work work;
		char name[64];
		const char *why;
		int trips;

		if (sscanf(line, "%63s %d %lf %lf %lf %lf %lf %lf %lf %lf", name, &trips, &executed,
			   &pipe[0], &pipe[1], &pipe[2], &pipe[3], &pipe[4], &pipe[5],
			   &pipe[6]) != 10)
			continue;
		kernels++;
		why = work_of(name, trips, sizeof(struct arguments), &work);
		if (why) {
			printf("%s: not analysed: %s\n", name, why);
			continue;
		}
		analysed++;
		exact += work.q[GW_WORK_inst_executed].value == executed;
		if (work.q[GW_WORK_inst_executed].value != executed)
			printf("%s: %.0f instructions of %.0f\n", name,
			       work.q[GW_WORK_inst_executed].value, executed);
		for (unsigned p = 0; p < PIPES - 1; p++) {
			double ours = work.q[pipe_rows[p]].value;

			pipes++;
			pipes_exact += fabs(ours - pipe[p]) <= 0.01 * executed;
			if (fabs(ours - pipe[p]) > 0.01 * executed)
				printf("%s: %s %.0f of %.0f\n", name,
				       gw_work_info(pipe_rows[p]).name, ours, pipe[p]);
		}
	}
	fclose(f);
	printf("%u kernels, %u analysed, %u exact; pipes %u of %u within 1%% of the instructions\n",
	       kernels, analysed, exact, pipes_exact, pipes);
	assert_true(analysed >= 30);
	assert_int_equal(exact, analysed);
	assert_true(pipes_exact >= 0.97 * pipes);
}

TEST(rows_say_where_they_come_from_and_how_sure_they_are)
{
	struct gw_work work;

	assert_null(work_of("fma_chain", 100, sizeof(struct arguments), &work));
	assert_int_equal(work.q[GW_WORK_inst_executed].source, GW_SOURCE_STATIC);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1.0f);
	assert_true(work.q[GW_WORK_thread_inst].confidence < 1.0f);
	assert_true(work.q[GW_WORK_fp32_fma].value == 32 * 2 * 16 * 100);
	assert_true(work.q[GW_WORK_warp_cycles].value > 2 * 100 * 64);
	assert_true(work.q[GW_WORK_warp_cycles].value == work.q[GW_WORK_warp_cycles_longest].value);
	/* Cycles hold for a warp alone. */
	assert_true(work.q[GW_WORK_warp_insts].confidence == 1.0f);
	assert_true(work.q[GW_WORK_warp_fixed_chain].confidence == 1.0f);
	assert_true(work.q[GW_WORK_warp_cycles].confidence == 0.7f);
	assert_true(work.q[GW_WORK_warp_fixed_cycles].confidence == 0.7f);
	/* Memory traffic is not this part's. */
	assert_int_equal(work.q[GW_WORK_dram_read_bytes].source, GW_SOURCE_NONE);
}

TEST(tensor_operations_and_barriers_are_counted)
{
	struct gw_work work;

	assert_null(work_of("tensor_chain", 10, sizeof(struct arguments), &work));
	/* two rounds of ten trips of three m16n8k16 */
	assert_true(work.q[GW_WORK_tensor_fp16_flop].value == 2 * 10 * 3 * 2.0 * 16 * 8 * 16);
	assert_null(work_of("cal_barrier", 10, sizeof(struct arguments), &work));
	assert_true(work.q[GW_WORK_barriers].value == 2 * 10 * 4);
}

TEST(unknown_trips_leave_the_rows_unknown)
{
	struct gw_work work;
	const char *why = work_of("fma_chain", 100, 48, &work);

	assert_non_null(why);
	assert_int_equal(work.q[GW_WORK_inst_executed].source, GW_SOURCE_NONE);
}

TESTS_MAIN(schedule_begin, schedule_end)
