/* The agent's sums and formats, on made-up snapshots; agent_serves.py tests the process. */
#include "cli/agent/node.h"
#include "cli/agent/text.h"
#include "cli/top/graphs.h"
#include "predictor/log/record.h"
#include "tests/random.h"
#include "tests/test.h"

#include <sys/stat.h>
#include <unistd.h>

static struct top_model *model;
static struct agent_node *node;
static uint64_t now;
static struct gw_live_config configs[4000];
static struct gw_live_graph_time graph = {2, 0, .device = 1, .launches = 1};

static int start(void **state)
{
	model = top_model_new();
	node = agent_node_new();
	node->proc = "/nonexistent";
	now = UINT64_C(1000000000000);
	memset(configs, 0, sizeof(configs));
	return 0;
}

static int stop(void **state)
{
	agent_node_free(node);
	top_model_free(model);
	return 0;
}

/* Configuration @p at ran @p runs times more, @p timed of them in @p ns each. */
static void ran(unsigned at, unsigned runs, unsigned timed, double ns, double predicted)
{
	struct gw_live_config *c = &configs[at];

	c->id = at + 1;
	c->device = 1;
	c->kernel = at + 1;
	c->bound = GW_BOUND_MEMORY;
	c->launches += runs;
	gw_sketch_add(&c->time, ns, timed);
	gw_sketch_add(&c->ratio, ns / predicted, timed);
}

/* A snapshot in which process @p id has the configurations below @p count on GPU 0. */
static struct top_process *shows(const char *id, unsigned count, unsigned mode)
{
	struct top_process *p = top_process_of(model, id, 4711, "/usr/bin/train");
	struct gw_live_device d = {.used = 1,
				   .identity = 1,
				   .uuid = {1, 2},
				   .name = "H200",
				   .pci = {0, 0x3b, 0},
				   .busy_ns = configs[0].launches * 1000,
				   .power_mw = UINT32_MAX};
	struct gw_live_totals t = {.ns = 1, .mode = mode, .counters = GW_COUNTERS};

	t.counter[GW_COUNTER_ring_dropped] = configs[0].launches;
	d.lost_ns[GW_SLOW_CLOCK] = configs[0].launches * 10;
	for (unsigned i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "kernel%u", i);
		if (configs[i].id)
			top_config_is(model, p, i, &configs[i], name);
	}
	top_device_is(p, 0, &d);
	top_totals_are(p, &t);
	return p;
}

static void snapshot_begins(void)
{
	now += 1000000000;
	top_begin(model, now);
}

static void snapshot_ends(void)
{
	top_end(model);
	agent_node_add(node, model, now);
}

static void snapshot(const char *id, unsigned count)
{
	snapshot_begins();
	shows(id, count, 0);
	snapshot_ends();
}

static const struct agent_self self = {.version = "1", .host_label = "hostname", .host = "h"};

/* The value of a series; NaN: there is none. */
static double value_of(const char *series)
{
	size_t size;
	char *text = agent_text(node, &self, TEXT_PROMETHEUS, &size), *at = strstr(text, series);
	const double value = at ? strtod(strchr(at, '}') + 1, NULL) : NAN;

	free(text);
	return value;
}

#define GPU \
	"{UUID=\"GPU-01020000-0000-0000-0000-000000000000\",gpu=\"0\",pci_bus_id=\"00000000:3B:" \
	"00.0\",modelName=\"H200\",hostname=\"h\""

TEST_WITH(launches_are_added_up_by_kernel_and_bound, start, stop)
{
	ran(0, 10, 10, 2e6, 1e6);
	snapshot("a", 1);
	ran(0, 5, 5, 2e6, 1e6);
	snapshot("a", 1);
	assert_true(value_of("gpuwatch_launches_total" GPU ",kernel=\"kernel0\"}") == 15);
	assert_float_equal(value_of("gpuwatch_gpu_seconds_total" GPU ",kernel=\"kernel0\"}"), 0.03,
			   1e-9);
	assert_float_equal(value_of("gpuwatch_measured_seconds_total" GPU ",bound=\"memory\"}"),
			   0.03, 1e-9);
	assert_float_equal(value_of("gpuwatch_expected_seconds_total" GPU ",bound=\"memory\"}"),
			   0.015, 1e-9);
	assert_float_equal(
		value_of("gpuwatch_measured_over_predicted_ratio" GPU ",bound=\"memory\"}"), 2,
		1e-9);
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"clock\"}"), 150e-9,
			   1e-15);
	assert_true(
		value_of("gpuwatch_dropped_total{hostname=\"h\",what=\"launches, ring full\"}") ==
		15);
	assert_float_equal(value_of("gpuwatch_owner_gpu_seconds_total" GPU ",program=\"train\"}"),
			   0.03, 1e-9);
}

TEST_WITH(a_lower_clock_is_put_down_to_what_throttled_it, start, stop)
{
	for (uint64_t reasons = 0x4; reasons <= 0x20; reasons *= 8) { /* power, then temperature */
		struct top_process *p;

		ran(0, 10, 10, 1e6, 1e6);
		snapshot_begins();
		p = shows("a", 1, 0);
		p->device[0].now.reasons = reasons;
		p->device[0].now.lost_ns[GW_SLOW_CACHE] = 7 * configs[0].launches;
		p->device[0].now.lost_ns[GW_SLOW_OTHER_WORK] = 3 * configs[0].launches;
		snapshot_ends();
	}
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"power_cap\"}"),
			   1e-7, 1e-15);
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"thermal\"}"), 1e-7,
			   1e-15);
	assert_true(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"clock\"}") == 0);
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"memory\"}"), 140e-9,
			   1e-15);
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"contention\"}"),
			   60e-9, 1e-15);
}

TEST_WITH(idle_time_has_a_cause_where_all_kernels_are_timed, start, stop)
{
	for (unsigned mode = 0; mode < 2; mode++) { /* audit, then watch */
		struct top_process *p;

		ran(0, 10, 10, 1e6, 1e6);
		snapshot_begins();
		p = shows(mode ? "b" : "a", 1, mode);
		p->device[0].now.idle_ns[GW_IDLE_HOST] = 4000;
		p->device[0].now.idle_ns[GW_IDLE_COPY] = 500;
		p->device[0].now.idle_ns[GW_IDLE_INPUT] = 70;
		snapshot_ends();
	}
	assert_float_equal(value_of("gpuwatch_idle_seconds_total" GPU ",cause=\"host\"}"), 4e-6,
			   1e-15);
	assert_float_equal(value_of("gpuwatch_idle_seconds_total" GPU ",cause=\"copies\"}"), 5e-7,
			   1e-15);
	assert_float_equal(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"starvation\"}"),
			   4.07e-6, 1e-15);
}

TEST_WITH(launches_that_wait_beside_another_process_lose_time_to_it, start, stop)
{
	struct top_process *p;

	snapshot_begins();
	p = shows("a", 0, 0);
	p->device[0].now.clock_ns = now;
	p->device[0].now.others = 50;
	for (int i = 0; i < GW_IDLE_CAUSES; i++)
		p->device[0].now.idle_ns[i] = i == GW_IDLE_LATENCY || i == GW_IDLE_QUEUED;
	snapshot_ends();
	assert_true(node->gpu[0]->lost_ns[AGENT_LOST_CONTENTION] == 2);
	assert_true(node->gpu[0]->lost_ns[AGENT_LOST_STARVATION] == 0);
}

TEST_WITH(what_mode_watch_cannot_know_has_no_series, start, stop)
{
	ran(0, 10, 1, 1e6, 1e6);
	snapshot_begins();
	shows("a", 1, 1);
	snapshot_ends();
	assert_true(isnan(value_of("gpuwatch_idle_seconds_total" GPU)));
	assert_true(isnan(value_of("gpuwatch_busy_seconds_total" GPU)));
	assert_true(isnan(value_of("gpuwatch_lost_seconds_total" GPU ",cause=\"starvation\"}")));
	assert_true(isnan(value_of("gpuwatch_energy_joules_total" GPU)));
	assert_true(isnan(value_of("gpuwatch_power_watts" GPU)));
}

/* 100 ms of kernels in each second, predicted to take 80, at 350 W; then the sample is old. */
TEST_WITH(energy_counts_while_the_power_is_known, start, stop)
{
	uint64_t sampled = 0;

	for (unsigned i = 0; i < 10; i++) {
		struct top_process *p;

		ran(0, 100, 10, 1e6, 0.8e6);
		snapshot_begins();
		sampled = i < 5 ? now : sampled;
		p = shows("a", 1, 1);
		p->device[0].now.clock_ns = sampled;
		p->device[0].now.power_mw = 350000;
		snapshot_ends();
	}
	/* All but the first, and two seconds behind. */
	assert_float_equal(value_of("gpuwatch_energy_joules_total" GPU), 6 * 350, 1e-6);
	assert_float_equal(value_of("gpuwatch_energy_expected_seconds_total" GPU), 0.48f, 1e-6);
	assert_true(value_of("gpuwatch_power_watts" GPU) == 350);
}

TEST_WITH(kernels_of_communication_libraries_are_added_up, start, stop)
{
	ran(0, 10, 10, 1e6, 1e6);
	ran(1, 10, 10, 2e6, 1e6);
	snapshot_begins();
	shows("a", 1, 0);
	top_config_is(model, model->process[0], 1, &configs[1], "ncclDevKernel_AllReduce_Sum_f32");
	snapshot_ends();
	assert_float_equal(value_of("gpuwatch_communication_seconds_total" GPU), 0.02, 1e-9);
}

TEST_WITH(a_process_that_ends_leaves_what_it_did, start, stop)
{
	ran(0, 10, 10, 1e6, 1e6);
	snapshot("a", 1);
	snapshot_begins();
	top_process_ended(model, shows("a", 1, 0));
	snapshot_ends();
	snapshot_begins();
	snapshot_ends();
	assert_int_equal(node->seens, 0);
	assert_int_equal(node->processes, 0);
	assert_true(value_of("gpuwatch_launches_total" GPU ",kernel=\"kernel0\"}") == 10);
	/* Its program runs again. */
	memset(configs, 0, sizeof(configs));
	ran(0, 3, 3, 1e6, 1e6);
	snapshot("b", 1);
	assert_true(value_of("gpuwatch_launches_total" GPU ",kernel=\"kernel0\"}") == 13);
	assert_int_equal((int)node->processes_begun, 2);
}

TEST_WITH(in_mode_watch_runs_count_with_the_mean_of_those_timed, start, stop)
{
	ran(0, 1000, 10, 1e6, 1e6);
	snapshot_begins();
	shows("a", 1, 1);
	snapshot_ends();
	assert_float_equal(value_of("gpuwatch_gpu_seconds_total" GPU ",kernel=\"kernel0\"}"), 1,
			   1e-9);
	assert_float_equal(value_of("gpuwatch_measured_seconds_total" GPU ",bound=\"memory\"}"),
			   0.01, 1e-9);
}

TEST_WITH(histograms_count_up_to_each_end, start, stop)
{
	ran(0, 3, 3, 4096, 1e3);
	ran(0, 2, 2, 4097, 1e3);
	ran(0, 1, 1, 1e9, 1e3);
	snapshot("a", 1);
	assert_true(value_of("gpuwatch_kernel_seconds_bucket" GPU
			     ",kernel=\"kernel0\",le=\"4.096e-06\"}") == 3);
	assert_true(value_of("gpuwatch_kernel_seconds_bucket" GPU
			     ",kernel=\"kernel0\",le=\"1.6384e-05\"}") == 5);
	assert_true(value_of("gpuwatch_kernel_seconds_bucket" GPU
			     ",kernel=\"kernel0\",le=\"+Inf\"}") == 6);
	assert_true(value_of("gpuwatch_kernel_seconds_count" GPU ",kernel=\"kernel0\"}") == 6);
}

static size_t series_of_gpu(void)
{
	size_t size, count = 0;
	char *text = agent_text(node, &self, TEXT_PROMETHEUS, &size);

	for (const char *s = text; (s = strstr(s, "{UUID=")); s++)
		count++;
	free(text);
	return count;
}

/*
 * @p times ten seconds of mode watch, in which some launches are timed, @p timed of each of 30
 * configurations: of memory, compute and latencies in turn, which take @p slow of their time.
 */
static void some_are_timed(unsigned times, int timed, const double slow[3], uint64_t *seed)
{
	while (times--) {
		now += health_interval_ns() - 1000000000;
		snapshot_begins();
		for (unsigned i = 0; i < 30; i++) {
			for (int k = 0; k < timed; k++)
				ran(i, 1000, 1,
				    1e3 * (i + 5) * slow[i % 3] * exp(0.08 * next_normal(seed)),
				    1e3);
			configs[i].bound = GW_BOUND_MEMORY + i % 3;
		}
		shows("a", 30, 1);
		snapshot_ends();
	}
}

static const double usual[3] = {1, 1, 1};

/* Two times vary by more than health looks for: some more are one observation of it. */
TEST_WITH(health_has_a_verdict_where_few_launches_are_timed, start, stop)
{
	const char *const ratio = "gpuwatch_slowdown_ratio" GPU ",resource=\"memory\"}";
	const char *const is_slow = "gpuwatch_health_slow" GPU ",resource=\"memory\"}";
	uint64_t seed = 5;

	some_are_timed(20, 2, usual, &seed);
	assert_true(isnan(value_of(ratio)));
	some_are_timed(120, 2, usual, &seed);
	assert_float_equal(value_of(ratio), 1, 0.02);
	assert_true(value_of(is_slow) == 0);
	some_are_timed(60, 2, (const double[3]){1.06, 1, 1}, &seed);
	assert_float_equal(value_of(ratio), 1.06, 0.02);
	assert_true(value_of(is_slow) == 1);
}

TEST_WITH(a_gpu_that_slows_in_mode_watch_is_named_by_resource_size_and_time, start, stop)
{
	for (int which = 0; which < 4; which++) {
		double slow[3] = {1, 1, 1};
		uint64_t seed = 11, before;

		stop(NULL);
		start(NULL);
		for (int r = 0; r < 3; r++)
			slow[r] = which == r || which == 3 ? 1.04 : 1;
		some_are_timed(60, 60, usual, &seed);
		before = now;
		some_are_timed(6, 60, slow, &seed);
		for (int r = 0; r < 3; r++) {
			struct health_verdict v;

			health_of(node->gpu[0]->health, (enum health_resource)r, &v);
			assert_float_equal(v.ratio, slow[r], 0.01);
			assert_int_equal(v.state, slow[r] > 1 ? HEALTH_SLOW : HEALTH_GOOD);
			assert_in_range(v.since_ns, slow[r] > 1 ? before : 0,
					slow[r] > 1 ? before + 2 * health_interval_ns() : 0);
			assert_true(slow[r] > 1 ? v.confidence > 0.99 : v.confidence == 0);
		}
	}
}

/* Two hours each, in which all is a fifth slower for 20 s now and then. */
TEST_WITH(a_gpu_that_is_as_fast_is_not_called_slow_in_mode_watch, start, stop)
{
	const double disturbed[3] = {1.2, 1.2, 1.2};
	enum health_resource worst;

	for (uint64_t turn = 1; turn <= 6; turn++) {
		uint64_t seed = turn;

		stop(NULL);
		start(NULL);
		for (int i = 0; i < 720; i++) {
			some_are_timed(1, 2 + (int)turn, i % 60 < 58 ? usual : disturbed, &seed);
			assert_int_not_equal(health_state(node->gpu[0]->health, &worst),
					     HEALTH_SLOW);
		}
		assert_true(node->gpu[0]->interval > 100);
	}
}

/* Thousands of kernels, owners, throttling, health: all that can be there. */
TEST_WITH(a_gpu_has_at_most_200_series, start, stop)
{
	for (int turn = 0; turn < 100; turn++) {
		now += health_interval_ns(); /* so that all of it is known */
		snapshot_begins();
		for (unsigned i = 0; i < 250; configs[i].bound = i % 5, i++)
			ran(i, 1 + i % 13, 1, 1e3 * (i + 1), 1e3);
		for (int p = 0; p < 12; p++) {
			const char id[] = {'p', (char)('a' + p), 0};
			struct top_process *process =
				top_process_of(model, id, (uint32_t)p + 1, id);

			shows(id, 250, 0);
			for (graph.graph = 1; graph.graph < 7; graph.graph++)
				top_graph_is(process, graph.graph, &graph);
			process->device[0].now.clock_ns = now;
			process->device[0].now.power_mw = 350000;
			process->device[0].now.sm_khz = 1980000;
			process->device[0].now.mem_khz = process->device[0].now.full_sm_khz =
				1980000;
			process->device[0].now.reasons = UINT64_MAX;
		}
		snapshot_ends();
	}
	assert_in_range(series_of_gpu(), 171, 200);
}

static double total(const char *name)
{
	size_t size;
	char *text = agent_text(node, &self, TEXT_PROMETHEUS, &size);
	double sum = 0;

	for (const char *s = text; (s = strstr(s, name)); s++)
		sum += s == text || s[-1] == '\n'
			       ? strtod(strrchr(strndupa(s, strcspn(s, "\n")), ' '), NULL)
			       : 0;
	free(text);
	return sum;
}

TEST_WITH(other_never_goes_backwards_when_kernels_change_places, start, stop)
{
	double before = 0;

	for (unsigned turn = 0; turn < 300; turn++) {
		double other;

		snapshot_begins();
		for (unsigned i = 0; i < 30; i++)
			ran(i, 10, 10, i == turn / 10 ? 1e7 : 1e3 * (i + 1), 1e3);
		shows("a", 30, 0);
		snapshot_ends();
		other = value_of("gpuwatch_launches_total" GPU ",kernel=\"other\"}");
		assert_true(other >= before);
		before = other;
	}
	/* What a kernel did that lost its series is in no sum by kernel, and in that by bound. */
	assert_true(total("gpuwatch_launches_total") > 0);
	assert_float_equal((float)(total("gpuwatch_measured_seconds_total") /
				   (node->gpu[0]->bound[1].measured_ns / 1e9)),
			   1.0f, 1e-6);
}

TEST_WITH(what_no_process_can_have_done_is_left_out, start, stop)
{
	ran(0, 10, 10, 1e6, 1e6);
	snapshot("a", 1);
	configs[0].time.sum = INFINITY;
	configs[0].time.count = UINT64_MAX;
	configs[0].launches = UINT64_MAX;
	snapshot("a", 1);
	configs[0].time.sum = -1e300;
	configs[0].time.count = 5;
	snapshot("a", 1);
	assert_true(value_of("gpuwatch_launches_total" GPU ",kernel=\"kernel0\"}") == 10);
	assert_float_equal(value_of("gpuwatch_gpu_seconds_total" GPU ",kernel=\"kernel0\"}"), 0.01,
			   1e-9);
}

TEST_WITH(more_gpus_than_there_is_room_for_are_refused, start, stop)
{
	for (unsigned i = 0; i < 100; i++) {
		struct gw_live_device d = {.used = 1, .identity = 1};
		struct top_process *p;

		snapshot_begins();
		p = top_process_of(model, "a", 4711, "x");
		d.uuid[0] = (unsigned char)(i + 1);
		top_device_is(p, 0, &d);
		snapshot_ends();
	}
	assert_int_equal(node->gpus, AGENT_GPUS);
	assert_true(node->refused >= 36);
}

TEST_WITH(names_are_cut_and_escaped, start, stop)
{
	char name[1000];
	size_t size;
	char *text;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	ran(0, 1, 1, 1e3, 1e3);
	ran(1, 1, 1, 1e3, 1e3);
	snapshot_begins();
	shows("a", 0, 0);
	top_config_is(model, model->process[0], 0, &configs[0], name);
	top_config_is(model, model->process[0], 1, &configs[1], "a\"b\\c\033[2J\nd\xff");
	snapshot_ends();
	text = agent_text(node, &self, TEXT_PROMETHEUS, &size);
	assert_non_null(strstr(text, "kernel=\"a\\\"b\\\\c?[2J?d?~"));
	assert_non_null(strstr(text, "xxx~"));
	assert_null(strchr(text, '\033'));
	for (const char *s = text; *s; s = strchr(s, '\n') + 1)
		assert_true(strcspn(s, "\n") < 700);
	free(text);
}

TEST_WITH(a_process_in_a_pod_has_the_pod_of_its_gpu, start, stop)
{
	struct agent_pod pod = {.gpu = "01020000-0000-0000-0000-000000000000",
				.namespace = "n",
				.pod = "p",
				.container = "c"};

	node->pods.row = malloc(sizeof(pod));
	assert_non_null(node->pods.row);
	node->pods.row[0] = pod;
	node->pods.rows = 1;
	ran(0, 10, 10, 1e6, 1e6);
	snapshot("a", 1); /* of the node itself */
	assert_float_equal(value_of("gpuwatch_owner_gpu_seconds_total" GPU ",program=\"train\"}"),
			   0.01, 1e-9);
	snapshot_begins();
	shows("b", 1, 0)->state = TOP_ELSEWHERE;
	snapshot_ends();
	assert_float_equal(value_of("gpuwatch_owner_gpu_seconds_total" GPU
				    ",program=\"train\",namespace=\"n\",pod=\"p\",container="
				    "\"c\"}"),
			   0.01, 1e-9);
}

/* A /proc of one process, 4711. */
static char proc[] = "/tmp/gw-proc-XXXXXX";

static void proc_has(const char *name, const char *text)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "%s/4711/%s", proc, name);
	assert_non_null(out = fopen(path, "w"));
	assert_true(fputs(text, out) >= 0 && !fclose(out));
}

static int start_with_proc(void **state)
{
	char path[64];

	strcpy(strrchr(proc, '-'), "-XXXXXX");
	if (start(state) || !(node->proc = mkdtemp(proc)))
		return -1;
	snprintf(path, sizeof(path), "%s/4711", proc);
	return mkdir(path, 0700);
}

static int stop_with_proc(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", proc);
	return system(command) || stop(state);
}

/* A process that began at 42 ran for 10 ms; its number is that of one that began at @p began. */
static void runs_in(unsigned began, char pod)
{
	char text[128];

	snprintf(text, 128, "1 (a) b) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 %u 1\n", began);
	proc_has("stat", text);
	snprintf(text, sizeof(text), "0::/pods/pod01234567-89ab-cdef-0123-456789abcde%c/x\n", pod);
	proc_has("cgroup", text);
	now += UINT64_C(10000000000);
	ran(0, 10, 10, 1e6, 1e6);
	snapshot("/run/x/4711-42-7.gwlive", 1);
}

TEST_WITH(the_pod_of_a_process_follows_its_control_group, start_with_proc, stop_with_proc)
{
	runs_in(42, '0');
	runs_in(42, 'f');
	assert_float_equal(value_of("gpuwatch_owner_gpu_seconds_total" GPU
				    ",program=\"train\",pod_uid=\"01234567-89ab-cdef-0123-"
				    "456789abcdef\"}"),
			   0.01, 1e-9);
}

TEST_WITH(a_process_with_a_used_number_has_not_the_pod_of_the_next, start_with_proc, stop_with_proc)
{
	runs_in(43, '0');
	runs_in(43, '0');
	assert_float_equal(value_of("gpuwatch_owner_gpu_seconds_total" GPU ",program=\"train\"}"),
			   0.02, 1e-9);
}

TESTS_MAIN()
