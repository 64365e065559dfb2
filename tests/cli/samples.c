#include "tests/cli/samples.h"

#include "predictor/core/types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAUNCHES = 60, BLOCK_OF = 15 };

static void begin(struct lb *b, uint32_t pid, uint32_t flags, const char *command)
{
	lb_header(b, pid, flags, command);
	lb_device(b, 1, flags & GW_HEADER_STAND_IN ? "CPU stand-in" : "NVIDIA H200",
		  "aabbccdd00112233");
	lb_stream(b, 1, 1);
	lb_kernel(b, 1, "_Z10vector_addPKfS0_Pfi");
	lb_kernel(b, 2, "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi");
	lb_config(b, 1, 1, 1024, 256);
	lb_config(b, 2, 1, 64, 128);
	lb_config(b, 3, 2, 2048, 128);
}

/* Launch @p i of the plain sample: the kernels take turns, times vary by up to 8%. */
static struct gw_record_launch launch(uint32_t i)
{
	static const uint64_t base[3] = {12000, 3100, 250000};
	uint32_t config = i % 3;
	uint64_t duration = base[config] + base[config] * (i * 7 % 9) / 100;
	float predicted = i < 3 ? NAN : (float)base[config] * 1.04f;
	struct gw_record_launch l = lb_launch(config + 1, 1000000ull * i, duration, predicted, i);

	if (i == 20)
		l.flags |= GW_LAUNCH_LATE;
	if (i % 3 == 2)
		l.flags |= GW_LAUNCH_GRAPH;
	return l;
}

static void totals(struct lb *b, uint64_t launches)
{
	uint64_t values[GW_COUNTERS] = {0};

	values[GW_COUNTER_launches] = launches * 2 / 3;
	values[GW_COUNTER_graph_launches] = launches / 3;
	values[GW_COUNTER_graph_kernels] = launches / 3;
	values[GW_COUNTER_activity] = launches;
	values[GW_COUNTER_joined] = launches;
	values[GW_COUNTER_predicted] = launches - 4;
	values[GW_COUNTER_predicted_late] = 1;
	values[GW_COUNTER_observations] = launches;
	values[GW_COUNTER_log_bytes] = 4321;
	values[GW_COUNTER_worker_cpu_ns] = 1234567;
	values[GW_COUNTER_attach_ns] = 8100000;
	values[GW_COUNTER_overhead_ns] = 150000;
	lb_counters(b, values, GW_COUNTERS);
}

void sample_plain(struct lb *b, uint32_t pid, uint32_t flags)
{
	begin(b, pid, flags, "./vector_add 1000000");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		lb_add_launch(b, launch(i));
		if (i % BLOCK_OF == BLOCK_OF - 1)
			lb_block(b);
	}
	totals(b, LAUNCHES);
	lb_end(b);
}

void sample_later(struct lb *b, uint32_t pid)
{
	b->later_ns = UINT64_C(3600000000000);
	sample_plain(b, pid, 0);
}

void sample_unpredicted(struct lb *b)
{
	begin(b, 4242, 0, "./vector_add 1000000");
	for (uint32_t i = 0; i < 3; i++)
		lb_add_launch(b, launch(i));
	lb_end(b);
}

/* Of the first kernel memory contents decide how much it does; the last launch is predicted. */
void sample_at_least(struct lb *b)
{
	begin(b, 4242, 0, "./vector_add 1000000");
	for (uint32_t i = 0; i < 4; i++) {
		struct gw_record_launch l = lb_launch(1, 1000000ull * i, 36000, NAN, 0);

		l.low = 12000 + 200 * (float)i;
		lb_add_launch(b, l);
	}
	lb_add_launch(b, lb_launch(2, 9000000, 9000, 9100, 0));
	lb_end(b);
}

/* Two kernels of a library, one of another of its name, one from memory, one unseen, and the
 * program's own. */
void sample_modules(struct lb *b)
{
	static const uint32_t module[] = {1, 1, 2, 3, 0, 4};

	lb_header(b, 4242, 0, "./app");
	lb_device(b, 1, "NVIDIA H200", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	lb_module(b, 1, "/opt/old/lib/libblas.so.13");
	lb_module(b, 2, "/opt/lib/libblas.so.13");
	lb_module(b, 3, "");
	lb_module(b, 4, "/usr/bin/app");
	for (uint32_t i = 0; i < 6; i++) {
		char name[] = "kernel_0";

		name[7] = (char)('0' + i);
		lb_kernel_of(b, i + 1, name, module[i]);
		lb_config(b, i + 1, i + 1, 64, 128);
		lb_add_launch(b, lb_launch(i + 1, 1000000ull * i, 10000 * (6 - i), NAN, 0));
	}
	lb_end(b);
}

void sample_clocked(struct lb *b)
{
	struct gw_record_slow slow = {.config = 1,
				      .cause = GW_SLOW_CLOCK,
				      .launches = 3,
				      .slow = 2,
				      .predicted = 12000,
				      .high = 13000,
				      .ratio = 1.5f,
				      .sm_khz_before = 1980000,
				      .sm_khz_during = 1335000,
				      .reasons = 4,
				      .since_ns = 1700000000ull * 1000000000};

	begin(b, 4242, 0, "./vector_add 1000000");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		struct gw_record_clock clock = {.device = 1,
						.sm_khz = i < 30 ? 1980000 : 1335000,
						.mem_khz = 3201000,
						.temperature = 40 + i / 2,
						.power_mw = 300000 + i,
						.others = i == 7 ? 25 : 0,
						.reasons = i < 30 ? 0 : 4,
						.ns = slow.since_ns + i * 1000000ull};

		lb_add_launch(b, launch(i));
		lb_record(b, GW_RECORD_CLOCK, &clock, sizeof(clock), NULL, 0);
	}
	lb_record(b, GW_RECORD_SLOW, &slow, sizeof(slow), NULL, 0);
	slow.launches = 12, slow.slow = 10, slow.until_ns = slow.since_ns + 20000000;
	lb_record(b, GW_RECORD_SLOW, &slow, sizeof(slow), NULL, 0);
	slow.config = 3, slow.cause = 99, slow.slow = 4, slow.predicted = 250000, slow.reasons = 0;
	lb_record(b, GW_RECORD_SLOW, &slow, sizeof(slow), NULL, 0);
	lb_end(b);
}

static void analysis(struct lb *b, uint32_t config, enum gw_analysis_end end, const char *why)
{
	struct gw_record_analysis s = {.config = config, .end = end};

	lb_record(b, GW_RECORD_ANALYSIS, &s, sizeof(s), why, strlen(why) + 1);
}

void sample_analysed(struct lb *b)
{
	struct gw_record_quantity part = {GW_WORK_inst_executed, GW_SOURCE_STATIC, 0, 1, 1000};

	begin(b, 4242, 0, "./vector_add 1000000");
	/* Told at first without arguments, then all; a range; nothing. */
	analysis(b, 1, GW_ANALYSIS_UNSUPPORTED, "it is not known how large its blocks are");
	lb_work(b, 1, 0, &part, 1);
	analysis(b, 1, GW_ANALYSIS_DONE, "");
	lb_work(b, 2, 0, &part, 1);
	analysis(b, 2, GW_ANALYSIS_DONE, "a branch depends on what is not known before the launch");
	analysis(b, 3, GW_ANALYSIS_NO_CODE, "no image in it runs on this GPU");
	analysis(b, 77, GW_ANALYSIS_NO_CODE, "of a configuration that is in a lost part");
	for (uint32_t i = 0; i < LAUNCHES - 5; i++)
		lb_add_launch(b, launch(i));
	lb_end(b);
}

void sample_unanalysed(struct lb *b)
{
	begin(b, 4242, 0, "./vector_add 1000000");
	analysis(b, 0, GW_ANALYSIS_OFF, "only mode audit reads code");
	for (uint32_t i = 0; i < LAUNCHES; i++)
		lb_add_launch(b, launch(i));
	lb_end(b);
}

void sample_violations(struct lb *b)
{
	begin(b, 4242, 0, "./liar");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		struct gw_record_launch l = launch(i);

		if (i == 30)
			l.known = i + 1; /* itself */
		if (i == 40)
			l.call_ns -= 5000000; /* called before the launches it knows had ended */
		lb_add_launch(b, l);
	}
	lb_end(b);
}

void sample_aggregates(struct lb *b)
{
	struct gw_record_aggregate a = {.config = 1,
					.launches = 1000,
					.measured = 990,
					.scored = 980,
					.covered = 900,
					.error_sum = 19.6f,
					.start_ns = 1700000010ull * 1000000000,
					.total_ns = 990 * 12500ull,
					.min_ns = 11000,
					.max_ns = 15000};

	begin(b, 4242, 0, "./long_run");
	for (uint32_t i = 0; i < 6; i++)
		lb_add_launch(b, launch(i));
	lb_degraded(b, GW_DEGRADED_LOG_FULL,
		    "the log reached GPUWATCH_LOG_MAX: ten-second aggregates from here");
	lb_record(b, GW_RECORD_AGGREGATE, &a, sizeof(a), NULL, 0);
	totals(b, 1006);
	lb_end(b);
}

/* A decode loop in mode watch: two graphs, one of whose kernels are all predicted. */
void sample_whole_graphs(struct lb *b)
{
	uint64_t values[GW_COUNTERS] = {[GW_COUNTER_graph_launches] = 1100,
					[GW_COUNTER_graph_kernels] = 44000,
					[GW_COUNTER_windows] = 20,
					[GW_COUNTER_window_ns] = 100000000,
					[GW_COUNTER_windows_put_off] = 3,
					[GW_COUNTER_graphs_timed] = 104,
					[GW_COUNTER_expected_ns] = 80000000,
					[GW_COUNTER_expected_kernels] = 40000,
					[GW_COUNTER_expected_graphs_ns] = 80000000,
					[GW_COUNTER_sampled_graphs_ns] = 8000000,
					[GW_COUNTER_sampled_graphs_predicted_ns] = 8000000};
	struct gw_record_graph g = {.graph = 1,
				    .kernels = 40,
				    .known_kernels = 40,
				    .launches = 500,
				    .timed = 50,
				    .scored = 50,
				    .start_ns = 1700000010ull * 1000000000,
				    .end_ns = 1700000020ull * 1000000000,
				    .total_ns = 50 * 80000,
				    .min_ns = 79000,
				    .max_ns = 81000,
				    .scored_ns = 50 * 80000,
				    .predicted_ns = 50 * 100000,
				    .expected_ns = 500 * 100000,
				    .squares = 50.f * 80000 * 80000,
				    .memory_ns = 500.f * 98000};
	struct gw_record_slow slow = {.graph = 1,
				      .cause = GW_SLOW_OTHER_WORK,
				      .launches = 20,
				      .slow = 20,
				      .predicted = 80000,
				      .low = 79000,
				      .high = 81400,
				      .ratio = 1.04f,
				      .since_ns = 1700000012ull * 1000000000};

	begin(b, 4242, 0, "./decode");
	lb_record(b, GW_RECORD_GRAPH, &g, sizeof(g), NULL, 0);
	g.min_ns = 78000;
	lb_record(b, GW_RECORD_GRAPH, &g, sizeof(g), NULL, 0);
	g = (struct gw_record_graph){.graph = 2,
				     .kernels = 40,
				     .known_kernels = 39,
				     .launches = 100,
				     .timed = 4,
				     .total_ns = 4 * 50000,
				     .squares = 4.f * 50000 * 50000,
				     .expected_ns = 100 * 40000};
	lb_record(b, GW_RECORD_GRAPH, &g, sizeof(g), NULL, 0);
	lb_record(b, GW_RECORD_SLOW, &slow, sizeof(slow), NULL, 0);
	lb_counters(b, values, GW_COUNTERS);
	lb_end(b);
}

/* One configuration of the sample with work. */
static const struct worked {
	uint32_t kernel, blocks, threads;
	uint64_t ns;                           /* how long it takes, but for 1% */
	double dram, insts, requests, sectors; /* of a launch; NaN: nothing is known of its work */
} worked[] = {
	{1, 65536, 256, 1000000, 4.5e8, 1.6e7, 2e6, 8e6}, /* 0.9 ms of device memory */
	{1, 32768, 256, 500000, 2.25e8, 8e6, 1e6, 4e6},
	{2, 16384, 256, 1300000, 4.5e8, 8e6, 5e5, 1.6e7}, /* 0.9 ms of it, 32 sectors a request */
	{2, 8192, 256, 660000, 2.25e8, 4e6, 2.5e5, 8e6},
	{3, 8, 128, 500000, 1e5, 2e4, 1e3, 4e3},
	{4, 1, 32, 2200, 128, 20, 1, 4},
	{5, 512, 128, 40000, NAN, NAN, NAN, NAN},
};

enum { WORKED = sizeof(worked) / sizeof(*worked), WORKED_LAUNCHES = 12 };

static void worked_parts(struct lb *b, uint32_t config, const struct worked *w)
{
	const struct {
		enum gw_work_field field;
		double value;
	} counted[] = {
		{GW_WORK_dram_read_bytes, w->dram * 0.75},
		{GW_WORK_dram_write_bytes, w->dram * 0.25},
		{GW_WORK_l2_read_bytes, w->dram * 0.75},
		{GW_WORK_l2_write_bytes, w->dram * 0.25},
		{GW_WORK_inst_issued, w->insts},
		{GW_WORK_inst_executed, w->insts},
		{GW_WORK_global_load_requests, w->requests},
		{GW_WORK_global_load_sectors, w->sectors},
	};
	struct gw_record_quantity parts[sizeof(counted) / sizeof(*counted)];
	uint32_t count = sizeof(counted) / sizeof(*counted);

	for (uint32_t i = 0; i < count; i++)
		parts[i] = (struct gw_record_quantity){(uint16_t)counted[i].field,
						       GW_SOURCE_COUNTED, 0, 1, counted[i].value};
	lb_work(b, config, 0, parts, count);
}

/* Launch @p round of a configuration: cold first, then warm or steady, 20%, 10% and 2% off. */
static struct gw_record_launch worked_launch(uint32_t config, uint32_t round, uint32_t learnt)
{
	static const float off[3] = {1.2f, 0.9f, 1.02f};
	const struct worked *w = &worked[config - 1];
	bool blind = isnan(w->dram) && !round;
	unsigned at = round ? 2 : config == 2 || config == 4;
	uint64_t duration = w->ns + w->ns * (round % 3) / 100;
	struct gw_record_launch l = lb_launch(config, 4000000ull * learnt, duration,
					      blind ? NAN : (float)w->ns * off[at], learnt);

	l.tier = blind ? GW_TIER_NONE : (uint8_t)(GW_TIER_COLD + at);
	l.work = isnan(w->dram) ? GW_SOURCE_NONE : GW_SOURCE_COUNTED;
	return l;
}

void sample_worked(struct lb *b, enum sample_without without)
{
	static const char *const names[] = {"stream_copy", "gather_words", "few_blocks", "tiny",
					    "no_work"};
	static char profile[1 << 16];
	FILE *file = fopen(SAMPLE_PROFILE, "rb");
	uint32_t learnt = 0;
	size_t length;

	length = file ? fread(profile, 1, sizeof(profile) - 1, file) : 0;
	profile[without == SAMPLE_HALF_PROFILE ? length / 2 : length] = 0;
	if (file)
		fclose(file);
	lb_header(b, 4242, 0, "./worked");
	lb_device(b, 1, "Test GPU", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	if (without != SAMPLE_NO_PROFILE)
		lb_profile(b, 1, profile, 1000);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		lb_kernel(b, i + 1, names[i]);
	for (uint32_t i = 0; i < WORKED; i++) {
		lb_config(b, i + 1, worked[i].kernel, worked[i].blocks, worked[i].threads);
		if (without != SAMPLE_NO_WORK && !isnan(worked[i].dram))
			worked_parts(b, i + 1, &worked[i]);
	}
	for (uint32_t round = 0; round < WORKED_LAUNCHES; round++) {
		for (uint32_t i = 0; i < WORKED; i++)
			lb_add_launch(b, worked_launch(i + 1, round, learnt++));
		lb_published(b, learnt);
		lb_block(b);
	}
	lb_end(b);
}

void sample_hostile(struct lb *b)
{
	static const char *const names[] = {
		"=cmd|' /C calc'!A0",
		"+1+1",
		"-2+3",
		"@SUM(A1)",
		"\r=1",
		"\033]0;title\a",
		"\xff\xfe\x80",
		"\xe2\x80\xaeturned\xe2\x81\xa6",
		"quote\",comma\nand newline",
		("\xc2\x9b"
		 "31m"),
	};

	lb_header(b, 4242, 0, "./\033[2J\xe2\x80\xae");
	lb_device(b, 1, "=H200\033[5m", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		lb_kernel(b, i + 1, names[i]);
		lb_config(b, i + 1, i + 1, 64, 128);
		lb_add_launch(b, lb_launch(i + 1, 1000000ull * i, 5000, NAN, i));
	}
	lb_end(b);
}

void sample_markup(struct lb *b)
{
	static const char *const names[] = {
		"</script><script>window.harmed = 1</script>",
		"<!--<script>",
		"<img src=x onerror=window.harmed=1>",
		"\"); window.harmed = 1; (\"",
		"';window.harmed=1;'",
		"line\xe2\x80\xa8separator\xe2\x80\xa9s",
		"&lt;b&gt;&amp;",
		"]]></script>",
		"\xed\xa0\x80lone\xf8surrogate\xc3",
		"${window.harmed=1}`\\u003cb>",
	};

	lb_header(b, 4242, 0, "./</script><b>a</b> \"x\"");
	lb_device(b, 1, "<b>GPU</b></title></style>", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		lb_kernel(b, i + 1, names[i]);
		lb_config(b, i + 1, i + 1, 64, 128);
		lb_add_launch(b, lb_launch(i + 1, 1000000ull * i, 5000, 5000, i));
	}
	lb_degraded(b, GW_DEGRADED_LOG_FULL, "</script><b>why</b>");
	lb_end(b);
}

void sample_crowd(struct lb *b)
{
	enum { KERNELS = 3000, LONG = 1500 };
	char name[LONG + 1];

	lb_header(b, 4242, 0, "./crowd");
	lb_device(b, 1, "NVIDIA H200", "aabbccdd00112233");
	lb_stream(b, 1, 1);
	memset(name, '<', LONG);
	name[LONG] = '\0';
	for (uint32_t i = 0; i < KERNELS; i++) {
		uint64_t when = i * 1000000ull;

		name[snprintf(name, 8, "k%u", i)] = '<';
		lb_kernel(b, i + 1, name);
		lb_config(b, i + 1, i + 1, 64, 128);
		for (uint32_t k = 0; k < 3; k++)
			lb_add_launch(b, lb_launch(i + 1, when + k * 300000000000ull, 5000 + i,
						   5000, 3 * i + k));
		if (i % BLOCK_OF == 0)
			lb_block(b);
	}
	lb_end(b);
}

/* No launch is in the log; whether it was closed. */
static void sample_without_launches(struct lb *b, bool ended)
{
	begin(b, 4242, 0, "./vector_add 0");
	lb_block(b);
	if (ended)
		lb_end(b);
}

bool sample_named(struct lb *b, const char *name)
{
	if (!strcmp(name, "plain"))
		sample_plain(b, 4242, 0);
	else if (!strcmp(name, "second"))
		sample_plain(b, 4243, 0);
	else if (!strcmp(name, "killed") || !strcmp(name, "idle"))
		sample_without_launches(b, *name == 'i');
	else if (!strcmp(name, "later"))
		sample_later(b, 4242);
	else if (!strcmp(name, "later_too"))
		sample_later(b, 4243);
	else if (!strcmp(name, "stand_in"))
		sample_plain(b, 4242, GW_HEADER_STAND_IN);
	else if (!strcmp(name, "violations"))
		sample_violations(b);
	else if (!strcmp(name, "unpredicted"))
		sample_unpredicted(b);
	else if (!strcmp(name, "modules"))
		sample_modules(b);
	else if (!strcmp(name, "at_least"))
		sample_at_least(b);
	else if (!strcmp(name, "clocked"))
		sample_clocked(b);
	else if (!strcmp(name, "analysed"))
		sample_analysed(b);
	else if (!strcmp(name, "unanalysed"))
		sample_unanalysed(b);
	else if (!strcmp(name, "aggregates"))
		sample_aggregates(b);
	else if (!strcmp(name, "whole_graphs"))
		sample_whole_graphs(b);
	else if (!strcmp(name, "hostile"))
		sample_hostile(b);
	else if (!strcmp(name, "markup"))
		sample_markup(b);
	else if (!strcmp(name, "crowd"))
		sample_crowd(b);
	else if (!strcmp(name, "worked"))
		sample_worked(b, SAMPLE_WHOLE);
	else if (!strcmp(name, "no_work"))
		sample_worked(b, SAMPLE_NO_WORK);
	else if (!strcmp(name, "no_profile"))
		sample_worked(b, SAMPLE_NO_PROFILE);
	else if (!strcmp(name, "half_profile"))
		sample_worked(b, SAMPLE_HALF_PROFILE);
	else
		return false;
	return true;
}
