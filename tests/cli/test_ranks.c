/* The ranks of a job, from logs whose every step is scripted. */
#include "cli/ranks/build.h"
#include "cli/common/memory.h"
#include "predictor/core/hash.h"
#include "tests/cli/log_builder.h"
#include "tests/cli/shell.h"
#include "tests/test.h"

#define GPUWATCH "$PREFIX/bin/gpuwatch "

enum { RANKS = 4, STEPS = 30, FROM = 10, CULPRIT = 2 };
enum { COMPUTE = 1, WIDE, REDUCE, GATHER }; /* configurations */
static const uint64_t T0 = 1795700000000000000, US = 1000;

/* A job; zero-initialised is one of NCCL without reports, in which nobody is late. */
struct script {
	bool numbers;   /* NCCL reports to gpuwatch */
	bool copies;    /* no NCCL: copies to the host and back */
	bool hosts;     /* each rank on a machine, whose clock is 3 ms ahead of the one before */
	bool back;      /* the clock of CULPRIT goes back by a minute at step FROM */
	bool later;     /* CULPRIT's log is of an hour later, by the same clock */
	bool lost;      /* the third collective of rank 0 is not in its log */
	uint64_t ahead; /* of `hosts`, ns in place of 3 ms */
	uint64_t input, host, slow, work; /* us more a step for CULPRIT, from FROM on */
	uint64_t network;                 /* us more a step of all collectives, from FROM on */
};

struct rank {
	struct lb b;
	uint64_t now, clock; /* true time and what is added to it in the log, ns */
	uint64_t kernels, sequence;
};

static void launch(struct rank *k, uint32_t config, uint64_t start, uint64_t end, uint64_t call)
{
	struct gw_record_launch l =
		lb_launch(config, k->clock + start, end - start, (float)(end - start), 0);

	l.start_ns = k->clock + start;
	l.call_ns = k->clock + call;
	lb_add_launch(&k->b, l);
}

static void copy(struct rank *k, uint32_t direction, uint64_t bytes, uint64_t start, uint64_t end)
{
	struct gw_record_copy c = {.device = 1,
				   .direction = direction,
				   .bytes = bytes,
				   .start_ns = k->clock + start,
				   .duration_ns = end - start};

	lb_record(&k->b, GW_RECORD_COPY, &c, sizeof(c), NULL, 0);
}

static void report(struct rank *k, uint16_t function, uint64_t sequence, uint64_t call)
{
	struct gw_record_collective c = {.communicator = 5,
					 .thread = 1,
					 .function = function,
					 .datatype = GW_DATATYPE_FLOAT32,
					 .sequence = sequence,
					 .count = 1000,
					 .call_ns = k->clock + call};

	lb_record(&k->b, GW_RECORD_COLLECTIVE, &c, sizeof(c), NULL, 0);
}

static void begin(struct rank *k, const struct script *s, unsigned rank)
{
	struct gw_record_header h = {.version = GW_LOG_VERSION,
				     .pid = 100 + rank,
				     .flags = GW_HEADER_COPIES | GW_HEADER_WAITS,
				     .start_ns = T0};
	struct gw_record_thread thread = {.id = 1, .tid = 1};
	struct gw_record_communicator c = {.id = 5, .rank = rank, .ranks = RANKS, .hash = 99};
	char text[128];
	int n = snprintf(text, sizeof(text), "host=node%u%cboot_id=b%ccommand=train%crank=%u",
			 s->hosts ? rank : 0, 0, 0, 0, rank);

	*k = (struct rank){.now = T0,
			   .clock = s->hosts ? rank * (s->ahead ? s->ahead : 3000 * US)
				    : s->later && rank == CULPRIT ? 3600000000 * US
								  : 0};
	lb_record(&k->b, GW_RECORD_HEADER, &h, sizeof(h), text, (size_t)n + 1);
	lb_device(&k->b, 1, "GPU",
		  s->hosts ? (const char *[]){"aa", "bb", "cc", "dd"}[rank] : "aa");
	lb_stream(&k->b, 1, 1);
	lb_record(&k->b, GW_RECORD_THREAD, &thread, sizeof(thread), NULL, 0);
	lb_kernel(&k->b, 1, "gemm");
	lb_kernel(&k->b, 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	lb_kernel(&k->b, 3, "ncclDevKernel_AllGather_RING_LL");
	lb_config_on(&k->b, COMPUTE, 1, 64, 1, false);
	lb_config_on(&k->b, WIDE, 1, 128, 1, false);
	lb_config_on(&k->b, REDUCE, 2, 8, 1, false);
	lb_config_on(&k->b, GATHER, 3, 8, 1, false);
	if (s->numbers)
		lb_record(&k->b, GW_RECORD_COMMUNICATOR, &c, sizeof(c), NULL, 0);
}

/* Until the rank's first collective of the step: 0.5 ms of the host, 1 ms of input, 10 ms of
 * compute. */
static void work(struct rank *k, const struct script *s, bool faulty)
{
	uint64_t start = k->now + (1000 + (faulty ? s->input : 0)) * US, end = start + 100 * US,
		 call;

	copy(k, GW_DIRECTION_TO_DEVICE, 1 << 20, start, end);
	call = end + (500 + (faulty ? s->host : 0)) * US;
	start = call + 10 * US;
	end = start + (10000 + (faulty ? s->slow + s->work : 0)) * US;
	launch(k, faulty && s->work ? WIDE : COMPUTE, start, end, call);
	k->now = end;
}

static void meet(struct rank *ranks, const struct script *s, uint32_t config, unsigned step)
{
	uint64_t last = 0;

	for (unsigned r = 0; r < RANKS; r++)
		last = ranks[r].now > last ? ranks[r].now : last;
	for (unsigned r = 0; r < RANKS; r++) {
		struct rank *k = &ranks[r];
		uint64_t end = last + (2000 + r + (step >= FROM ? s->network / 2 : 0)) * US;

		if (s->copies) {
			copy(k, GW_DIRECTION_TO_HOST, config << 16, k->now, k->now + 10 * US);
			copy(k, GW_DIRECTION_TO_DEVICE, config << 16, end, end + 10 * US);
			k->now = end + 10 * US;
			continue;
		}
		if (!s->lost || r || step != 3) {
			launch(k, config, k->now + US, end, k->now - 100 * US);
			if (s->numbers)
				report(k,
				       config == REDUCE ? GW_COLLECTIVE_ALL_REDUCE
							: GW_COLLECTIVE_ALL_GATHER,
				       step, k->now - 99 * US);
		}
		k->now = end;
	}
}

/* The logs of a job, as files. */
static void write_job(const struct script *s)
{
	struct rank ranks[RANKS];
	char path[32];

	for (unsigned r = 0; r < RANKS; r++)
		begin(&ranks[r], s, r);
	for (unsigned i = 0; i < STEPS; i++) {
		if (s->back && i == FROM)
			ranks[CULPRIT].clock -= 60000000 * US;
		for (unsigned r = 0; r < RANKS; r++)
			work(&ranks[r], s, r == CULPRIT && i >= FROM);
		meet(ranks, s, REDUCE, i);
		meet(ranks, s, GATHER, i);
	}
	for (unsigned r = 0; r < RANKS; r++) {
		lb_end(&ranks[r].b);
		snprintf(path, sizeof(path), "r%u.gwl", r);
		assert_true(lb_write(&ranks[r].b, path));
		lb_free(&ranks[r].b);
	}
}

static struct ranks_log logs[RANKS];
static struct ranks_shapes shapes;
static struct ranks_steps steps;
static struct ranks_job job;

static void judge(const struct script *s)
{
	char path[32];

	write_job(s);
	for (unsigned r = 0; r < RANKS; r++) {
		snprintf(path, sizeof(path), "r%u.gwl", RANKS - 1 - r); /* in whatever order */
		assert_true(ranks_log_read(&logs[r], &shapes, path, NULL, 0));
	}
	assert_true(ranks_build(&job, logs, RANKS, &shapes, &steps));
	ranks_judge(&job);
	assert_int_equal(job.rank_count, RANKS);
}

static void forget(void)
{
	ranks_job_free(&job);
	ranks_unbuild(&job);
	for (unsigned r = 0; r < RANKS; r++)
		ranks_log_free(&logs[r]);
	ranks_shapes_free(&shapes);
	shapes = (struct ranks_shapes){0};
}

/* What the only episode says. */
static void names(const struct script *s, enum ranks_cause cause, double ms)
{
	const struct ranks_episode *e = job.episodes;

	judge(s);
	e = job.episodes;
	assert_int_equal(job.episode_count, 1);
	assert_string_equal(logs[e->rank].label, "2");
	assert_string_equal(ranks_cause_key(e->cause), ranks_cause_key(cause));
	assert_true(fabs(e->late / 1e6 - ms) < 0.1 * ms);
	assert_true(e->found <= FROM + 10);
	assert_true(e->last >= job.step_count - 2);
	forget();
}

TEST(late_input_is_named)
{
	names(&(struct script){.input = 3000}, RANKS_CAUSE_INPUT, 3);
	names(&(struct script){.input = 3000, .numbers = true, .hosts = true}, RANKS_CAUSE_INPUT,
	      3);
	names(&(struct script){.input = 3000, .copies = true}, RANKS_CAUSE_INPUT, 3);
}

TEST(a_slow_host_is_named)
{
	names(&(struct script){.host = 2000}, RANKS_CAUSE_HOST, 2);
}

TEST(a_slow_gpu_is_told_from_more_work)
{
	names(&(struct script){.slow = 2000}, RANKS_CAUSE_GPU, 2);
	names(&(struct script){.work = 2000}, RANKS_CAUSE_WORK, 2);
}

TEST(where_all_are_alike_nobody_is_late)
{
	judge(&(struct script){0});
	assert_int_equal(job.episode_count, 0);
	assert_int_equal(job.network_count, 0);
	assert_int_equal(steps.period, 2);
	assert_int_equal(job.step_count, STEPS - 1);
	forget();
}

TEST(a_slow_network_is_no_late_rank)
{
	const struct script slow[] = {{.network = 2000}, {.network = 2000, .hosts = true}};

	for (size_t i = 0; i < 2; i++) {
		judge(&slow[i]);
		assert_int_equal(job.episode_count, 0);
		assert_int_equal(job.network_count, 1);
		assert_int_equal(job.networks[0].ranks, RANKS);
		assert_true(fabs(job.networks[0].more / 1e6 - 2) < 0.1);
		assert_true(job.networks[0].first + 1 >= FROM && job.networks[0].first <= FROM);
		assert_true(job.networks[0].found < FROM + 10);
		assert_true(job.networks[0].last >= job.step_count - 2);
		forget();
	}
}

TEST(a_late_rank_is_no_slow_network)
{
	judge(&(struct script){.input = 3000});
	assert_int_equal(job.network_count, 0);
	forget();
}

TEST(parts_of_a_step_add_up_and_say_for_whom_a_rank_waits)
{
	const struct ranks_step *s;
	double all = 0;

	judge(&(struct script){.input = 3000});
	s = &job.ranks[0].steps[FROM + 5];
	for (unsigned p = 0; p < RANKS_PARTS; p++)
		all += (double)s->part[p] / 1e6;
	assert_true(fabs(all - (1.1 + 0.51 + 10 + 3 + 4)) < 0.1);
	assert_true(fabs((double)s->part[RANKS_COMPUTE] / 1e6 - 10) < 0.01);
	assert_true(fabs((double)s->part[RANKS_INPUT] / 1e6 - 1.1) < 0.01);
	assert_true(fabs((double)s->part[RANKS_HOST] / 1e6 - 0.5) < 0.01);
	assert_true(fabs((double)s->part[RANKS_WAITING] / 1e6 - 3) < 0.05);
	assert_true(fabs((double)s->part[RANKS_COMMUNICATION] / 1e6 - 4) < 0.1);
	assert_int_equal(s->waited_for, CULPRIT);
	assert_true(fabs((double)job.ranks[CULPRIT].steps[FROM + 5].caused / 1e6 - 3) < 0.05);
	forget();
}

TEST(clocks_are_set_by_the_ends_of_collectives)
{
	judge(&(struct script){.hosts = true, .input = 3000});
	for (unsigned r = 0; r < RANKS; r++) {
		assert_true(fabs((job.ranks[r].offset - job.ranks[0].offset) / 1e6 - 3 * r) < 0.02);
		assert_true(r == CULPRIT ||
			    fabs((double)job.ranks[r].steps[FROM + 5].part[RANKS_WAITING] / 1e6 -
				 3) < 0.1);
	}
	forget();
}

TEST(numbers_join_what_a_lost_launch_shifts)
{
	judge(&(struct script){.lost = true, .numbers = true, .input = 3000});
	assert_int_equal(job.episode_count, 1);
	assert_true((double)job.ranks[CULPRIT].steps[FROM + 5].caused / 1e6 > 2.9);
	assert_true((double)job.ranks[0].steps[FROM + 5].caused / 1e6 < 0.1);
	forget();
}

static void left_out(const struct script *s, const char *why)
{
	char expected[128];

	write_job(s);
	shell_runs(GPUWATCH "ranks --all r?.gwl");
	shell_says("Job        3 ranks");
	snprintf(expected, sizeof(expected), "r%u.gwl: it has no steps in common", CULPRIT);
	shell_says(expected, why);
}

TEST(a_log_whose_time_goes_back_is_left_out)
{
	left_out(&(struct script){.back = true, .numbers = true}, "in another order");
}

TEST(a_log_of_another_run_is_left_out)
{
	left_out(&(struct script){.later = true}, "at another time");
}

TEST(a_clock_that_is_hours_ahead_changes_nothing)
{
	const uint64_t hours = 5 * 3600 * UINT64_C(1000000000);

	judge(&(struct script){.hosts = true, .ahead = hours, .numbers = true, .input = 3000});
	assert_int_equal(job.episode_count, 1);
	assert_int_equal(job.episodes[0].rank, CULPRIT);
	assert_true(fabs(job.ranks[3].offset - job.ranks[0].offset - 3 * (double)hours) < 1e5);
	assert_true(fabs((double)job.ranks[0].steps[FROM + 5].part[RANKS_WAITING] / 1e6 - 3) < 0.1);
	forget();
}

TEST(the_period_is_the_shortest_that_repeats)
{
	uint64_t s[90];

	for (unsigned i = 0; i < 90; i++)
		s[i] = i % 3 == 2 ? 2 : 1;
	assert_int_equal(ranks_period(s, 90), 3);
	s[0] = 7; /* the first step differs */
	assert_int_equal(ranks_period(s, 90), 3);
	for (unsigned i = 0; i < 90; i++)
		s[i] = i;
	assert_int_equal(ranks_period(s, 90), 0);
	assert_int_equal(ranks_period(s, 2), 0);
}

TEST(collectives_that_overlap_repeat_in_any_order)
{
	/* Two ranks by gloo on an H200; of its symbols 92% are the same after 24. */
	static const char seen[] =
		"aabcbbcbbbcbcbbbcbcbbbcbbcbcbbcbbbcbcbbbcbcbbcbbbcbcbbcbbcbbcbbcbbcbbcbbbcb"
		"cbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcbbcb";
	uint64_t s[sizeof(seen) - 1];

	for (size_t i = 0; i < sizeof(seen) - 1; i++)
		s[i] = gw_hash_mix((uint64_t)seen[i]);
	assert_int_equal(ranks_period(s, sizeof(seen) - 1), 3);
	for (size_t i = 0; i < sizeof(seen) - 1; i++)
		s[i] = gw_hash_mix((uint64_t) "abba"[i % 4]); /* always in this order */
	assert_int_equal(ranks_period(s, sizeof(seen) - 1), 4);
}

TEST(ranks_that_share_a_gpu_are_said_to)
{
	write_job(&(struct script){0});
	shell_runs(GPUWATCH "ranks r?.gwl");
	shell_says("ranks share a GPU");
	write_job(&(struct script){.hosts = true});
	shell_ends(1, GPUWATCH "ranks r?.gwl | grep -c share");
}

TEST(the_lower_median_is_taken)
{
	double v[] = {5, 1, 4, 2}, one[] = {3};

	assert_true(ranks_median(v, 4) == 2);
	assert_true(ranks_median(v, 3) == 2 || ranks_median(v, 3) == 4);
	assert_true(ranks_median(one, 1) == 3);
}

TEST(a_collective_that_a_log_names_again_counts_once)
{
	enum { MANY = 4096 };
	struct ranks_step step[2] = {0};
	struct ranks_rank two[2] = {{0}};
	struct ranks_job both = {.ranks = two, .rank_count = 2, .step_count = 1};

	for (int r = 0; r < 2; r++) {
		two[r].steps = &step[r];
		two[r].meetings = gw_alloc(MANY * sizeof(*two[r].meetings));
		two[r].meeting_count = MANY;
		for (int m = 0; m < MANY; m++)
			two[r].meetings[m] = (struct ranks_meeting){
				.key = 1, .start = m, .end = m + 1, .together = true};
	}
	ranks_judge(&both);
	assert_int_equal(both.joined, 1);
	assert_int_equal(two[0].meetings[0].others, 1);
	assert_int_equal(two[0].meetings[1].others, 0);
	ranks_job_free(&both);
	for (int r = 0; r < 2; r++)
		free(two[r].meetings);
}

/* A job of two machines with two ranks each, the clock of the second 3 ms ahead. All collectives
 * but each third stay in a machine, where @p all is set; else the odd ranks never leave theirs. */
static void offsets_of_machines(bool all)
{
	enum { MEETINGS = 60 };
	struct ranks_step step[RANKS] = {0};
	struct ranks_rank rank[RANKS] = {{0}};
	struct ranks_meeting m[RANKS][MEETINGS];
	struct ranks_job two = {.ranks = rank, .rank_count = RANKS, .step_count = 1};

	for (unsigned r = 0; r < RANKS; r++) {
		rank[r] = (struct ranks_rank){.steps = &step[r],
					      .meetings = m[r],
					      .meeting_count = MEETINGS,
					      .clock = r / 2};
		for (unsigned i = 0; i < MEETINGS; i++) {
			const bool inside = i % 3 || (!all && r % 2);
			const double at = i * 1e6 + 3e6 * (r / 2);

			m[r][i] = (struct ranks_meeting){.key = i * 10 + 1 +
								(inside ? r / 2 : 2 + r % 2),
							 .start = at,
							 .end = at + 5e5 + r,
							 .together = true};
		}
	}
	ranks_judge(&two);
	assert_false(two.one_clock);
	assert_true(fabs(rank[2].offset - rank[0].offset - 3e6) < 1e3);
	assert_true(fabs(rank[3].offset - rank[1].offset - 3e6) < 1e3);
	ranks_job_free(&two);
}

TEST(collectives_within_a_machine_say_nothing_of_clocks)
{
	offsets_of_machines(true);
}

TEST(a_rank_that_never_leaves_its_machine_has_the_clock_of_others_there)
{
	offsets_of_machines(false);
}

TEST(one_fast_step_does_not_hide_a_late_rank)
{
	enum { LENGTH = 1000000, FAST = FROM + 4 };
	struct ranks_step step[RANKS][STEPS] = {0};
	struct ranks_rank rank[RANKS] = {{0}};
	struct ranks_job four = {.ranks = rank, .rank_count = RANKS, .step_count = STEPS};

	for (unsigned r = 0; r < RANKS; r++) {
		rank[r].steps = step[r];
		for (unsigned i = 0; i < STEPS; i++) {
			const double late = r != CULPRIT || i < FROM ? 0 : i == FAST ? -0.5 : 0.1;

			step[r][i].part[RANKS_COMPUTE] = (float)(LENGTH * (1 + late));
		}
	}
	ranks_judge(&four);
	assert_int_equal(four.episode_count, 1);
	assert_int_equal(four.episodes[0].first, FROM);
	assert_true(four.episodes[0].found < FROM + 10);
	ranks_job_free(&four);
}

TEST(the_command_names_rank_and_cause)
{
	write_job(&(struct script){.input = 3000, .numbers = true});
	shell_ends(1, GPUWATCH "ranks r?.gwl");
	shell_says("joined by NCCL's sequence numbers", "rank 2 in steps ", "input");
	shell_ends(1, GPUWATCH "ranks --rank=0 r?.gwl");
	shell_says("STEP NO");
	shell_ends(1, GPUWATCH "ranks --json r?.gwl");
	shell_says("\"cause\": \"input\"", "\"schema\": \"gpuwatch-ranks-1\"");
	write_job(&(struct script){0});
	shell_runs(GPUWATCH "ranks r?.gwl");
	shell_says("Degraded", "no rank, step after step");
}

TEST(the_command_says_that_the_network_is_slow)
{
	write_job(&(struct script){.network = 2000, .numbers = true});
	shell_ends(1, GPUWATCH "ranks r?.gwl");
	shell_says("no rank, step after step", "in 4 ranks, rank 0 the first");
	shell_runs(GPUWATCH "ranks --json r?.gwl | grep -c '\"found_step\"'");
	shell_says("1");
}

TEST(the_report_has_a_row_for_each_rank)
{
	write_job(&(struct script){0});
	shell_runs(GPUWATCH "report --by=rank r?.gwl");
	shell_says("  rank 0\n", "  rank 3\n");
	shell_runs(GPUWATCH "report --by=rank --json r?.gwl | grep -c '\"Name\"'");
	shell_says("4");
}

TEST(bad_input_gets_one_error)
{
	write_job(&(struct script){0});
	shell_ends(2, GPUWATCH "ranks");
	shell_says("missing log file");
	shell_ends(2, GPUWATCH "ranks r0.gwl");
	shell_says("two ranks or more");
	shell_ends(2, GPUWATCH "ranks --rank=9 r?.gwl");
	shell_says("no rank 9");
	shell_ends(2, "cp r0.gwl again.gwl; " GPUWATCH "ranks r?.gwl again.gwl");
	shell_says("both of rank 0");
	shell_ends(2, "echo none > none.gwl; " GPUWATCH "ranks r0.gwl none.gwl");
	shell_says("none.gwl");
}

TESTS_MAIN(shell_setup, shell_teardown)
