/* gpuwatch top's model on made-up snapshots: differences, order, filter, processes that go. */
#include "cli/top/cells.h"
#include "cli/top/graphs.h"
#include "cli/top/histogram.h"
#include "predictor/log/record.h"
#include "tests/cli/snapshots.h"
#include "tests/random.h"

static struct gw_live_config config[4];

static int begin_test(void **state)
{
	m = top_model_new();
	now = 5 * SECOND;
	memset(config, 0, sizeof(config));
	for (uint32_t i = 0; i < 4; i++) {
		config[i].id = i + 1;
		config[i].kernel = i + 1;
		config[i].device = 1;
		config[i].predicted = 1000;
		config[i].low = 900;
		config[i].high = 1200;
		config[i].bound = GW_BOUND_MEMORY;
	}
	return 0;
}

/* So many runs, the first of them timed. */
static void ran(unsigned at, uint64_t runs, uint64_t timed, double ns)
{
	config[at].launches += runs;
	gw_sketch_add(&config[at].time, ns, timed);
	gw_sketch_add(&config[at].ratio, ns / config[at].predicted, timed);
}

static void all_configs(struct top_process *p)
{
	static const char *const names[] = {"_Z5alphai", "_Z4betai", "gamma", "delta"};

	for (unsigned i = 0; i < 4; i++)
		if (config[i].launches)
			top_config_is(m, p, i, &config[i], names[i]);
}

static void snapshot(uint64_t later)
{
	all_configs(begin(later));
	top_end(m);
}

TEST_WITH(rates_are_differences, begin_test, end_test)
{
	const struct top_row *r;

	ran(0, 100, 100, 1000);
	snapshot(0);
	r = m->process[0]->row[0];
	assert_true(isnan(r->interval.runs) && isnan(m->span_ns) && isnan(top_row_share(m, r)));
	assert_near(r->total.runs, 100);
	ran(0, 50, 50, 2000);
	ran(1, 10, 10, 10000);
	snapshot(2 * SECOND);
	assert_near(m->span_ns, 2e9);
	r = m->process[0]->row[0];
	assert_near(r->interval.runs, 50);
	assert_near(r->interval.mean_ns, 2000);
	assert_near(r->interval.ratio, 2);
	assert_near(r->interval.time_ns, 100000);
	assert_near(r->total.runs, 150);
	assert_near(top_row_share(m, r), 0.5);
	/* One that came in the interval began in it. */
	assert_near(m->process[0]->row[1]->interval.runs, 10);
	assert_near(m->process[0]->runs, 60);
	assert_near(m->bound_ns[GW_BOUND_MEMORY], 200000);
	assert_true(top_row_off(r));
	snapshot(SECOND);
	assert_near(r->interval.runs, 0);
	assert_true(isnan(r->interval.mean_ns) && !top_row_off(r));
}

TEST_WITH(graphs_timed_whole_share_the_gpu_time, begin_test, end_test)
{
	struct gw_live_graph_time g = {
		2, 1, 40, 40, .launches = 100, .timed = 10, .total_ns = 20000};

	for (unsigned i = 0; i < 2; i++) {
		struct top_process *p = begin(SECOND);

		ran(0, 10, 10, 1000);
		all_configs(p);
		top_graph_is(p, 0, &g);
		top_end(m);
		if (!i)
			assert_true(isnan(p->graph[0].share));
		/* 15 more launches, and of these 5 of 6000 ns. */
		g.launches += 15;
		g.timed += 5;
		g.total_ns += 30000;
	}
	assert_near(m->process[0]->graph[0].time_ns, 90000);
	assert_near(m->process[0]->graph[0].share, 0.9);
	assert_near(top_row_share(m, m->process[0]->row[0]), 0.1);
}

TEST_WITH(configurations_of_a_kernel_are_one_row, begin_test, end_test)
{
	struct top_process *p;
	struct gw_sketch time, ratio;

	ran(0, 10, 10, 1000);
	ran(1, 30, 30, 3000);
	config[1].predicted = 2000;
	config[1].low = 1000;
	config[1].high = 4000;
	config[1].bound = GW_BOUND_COMPUTE;
	for (unsigned i = 0; i < 2; i++) {
		p = begin(SECOND);
		top_config_is(m, p, 0, &config[0], "_Z5alphai");
		top_config_is(m, p, 1, &config[1], "_Z5alphai");
		top_end(m);
	}
	assert_int_equal(m->process[0]->rows, 1);
	assert_int_equal(m->process[0]->row[0]->configs, 2);
	assert_string_equal(m->process[0]->row[0]->name, "alpha");
	assert_near(m->process[0]->row[0]->predicted, (10 * 1000 + 30 * 2000) / 40.0);
	assert_near(m->process[0]->row[0]->low, (10 * 900 + 30 * 1000) / 40.0);
	assert_near(m->process[0]->row[0]->high, (10 * 1200 + 30 * 4000) / 40.0);
	assert_int_equal(m->process[0]->row[0]->bound, GW_BOUND_COMPUTE);
	top_row_sketches(m->process[0]->row[0], &time, &ratio);
	assert_int_equal(time.count, 40);
	assert_int_equal(ratio.count, 40);
	/* Another GPU, another row. */
	config[2].device = 2;
	config[2].launches = 1;
	p = begin(SECOND);
	top_config_is(m, p, 2, &config[2], "_Z5alphai");
	top_end(m);
	assert_int_equal(m->process[0]->rows, 2);
}

TEST_WITH(a_brief_model_has_the_histograms_that_it_is_given, begin_test, end_test)
{
	struct gw_sketch time, ratio;
	struct top_row *r;

	m->brief = true;
	ran(0, 10, 10, 1000);
	snapshot(0);
	ran(0, 5, 5, 1000);
	snapshot(SECOND);
	r = m->process[0]->row[0];
	assert_near(r->interval.time_ns, 5000);
	top_row_finish(r);
	assert_near(r->interval.runs, 5);
	assert_null(top_row_config(r, 0));
	top_row_sketches(r, &time, &ratio);
	assert_int_equal(time.count, 0);
	top_config_whole(m->process[0], 0, &config[0]);
	top_row_sketches(r, &time, &ratio);
	assert_int_equal(time.count, 15);
	assert_int_equal(ratio.count, 15);
	/* Of another kernel, or out of date. */
	config[0].kernel = 9;
	top_config_whole(m->process[0], 0, &config[0]);
	assert_int_equal(top_row_config(r, 0)->kernel, 1);
	config[0].kernel = 1;
	ran(0, 5, 5, 1000);
	snapshot(SECOND);
	assert_null(top_row_config(r, 0));
}

TEST_WITH(rows_in_order_are_complete, begin_test, end_test)
{
	for (enum top_sort sort = 0; sort < TOP_SORTS; sort++) {
		const struct top_choice choice = {sort, false, NULL};
		struct top_row **rows;

		m->brief = true;
		for (unsigned i = 0; i < 3; i++)
			ran(i, 5 + i, 5 + i, 1000 * (1 + i));
		snapshot(SECOND);
		assert_int_equal(top_choose(m, &choice, 1, &rows), 3);
		assert_false(rows[0]->unfinished);
		if (sort)
			assert_near(rows[0]->interval.runs, sort == TOP_SORT_name ? 5 : 7);
		free(rows);
	}
}

TEST_WITH(what_is_not_timed_all_the_time_is_estimated, begin_test, end_test)
{
	struct gw_live_totals totals = {.ns = 1, .mode = 1};
	const struct top_row *r;
	struct top_process *p;

	ran(0, 100, 10, 1000);
	ran(1, 5, 0, 0);
	for (unsigned i = 0; i < 2; i++) {
		p = begin(SECOND);
		top_totals_are(p, &totals);
		all_configs(p);
		top_end(m);
		ran(0, 40, 0, 0);
		ran(1, 5, 0, 0);
	}
	snapshot(SECOND);
	r = m->process[0]->row[0];
	assert_true(r->interval.estimated);
	assert_near(r->interval.time_ns, 40 * 1000);
	assert_true(isnan(m->process[0]->row[1]->interval.time_ns));
	assert_true(isnan(top_row_share(m, m->process[0]->row[1])));
}

TEST_WITH(names_may_come_later, begin_test, end_test)
{
	struct top_process *p;
	struct top_row **rows;
	struct top_choice choice = {TOP_SORT_time, false, NULL};

	config[0].launches = 3;
	p = begin(0);
	top_config_is(m, p, 0, &config[0], NULL);
	top_end(m);
	assert_true(top_config_unnamed(p, 0));
	assert_string_equal(p->row[0]->name, "(unknown kernel 1)");
	p = begin(SECOND);
	top_config_is(m, p, 0, &config[0], "_Z5alphai");
	top_end(m);
	assert_false(top_config_unnamed(p, 0));
	assert_int_equal(top_choose(m, &choice, SIZE_MAX, &rows), 1);
	assert_string_equal(rows[0]->name, "alpha");
	free(rows);
}

TEST_WITH(order_and_filter, begin_test, end_test)
{
	static const struct {
		enum top_sort sort;
		const char *order;
	} wanted[] = {
		{TOP_SORT_time, "gabd"},  {TOP_SORT_runs, "agbd"}, {TOP_SORT_measured, "gbad"},
		{TOP_SORT_ratio, "gbad"}, {TOP_SORT_name, "abdg"},
	};
	struct top_choice choice = {0};
	struct top_row **rows;
	regex_t regex;

	snapshot(0);
	ran(0, 100, 100, 1000);
	ran(1, 10, 10, 2000);
	ran(2, 50, 50, 9000);
	ran(3, 5, 0, 0);
	snapshot(SECOND);
	for (size_t i = 0; i < COUNT(wanted); i++) {
		choice.sort = wanted[i].sort;
		assert_int_equal(top_choose(m, &choice, SIZE_MAX, &rows), 4);
		for (unsigned k = 0; k < 4; k++)
			assert_int_equal(rows[k]->name[0], wanted[i].order[k]);
		/* The first ones alone, from the wrong order. */
		choice.reverse = true;
		top_order(rows, 4, &choice, 4);
		choice.reverse = false;
		for (size_t first = 1; first < 4; first++) {
			top_order(rows, 4, &choice, first);
			for (size_t k = 0; k < first; k++)
				assert_int_equal(rows[k]->name[0], wanted[i].order[k]);
		}
		free(rows);
		assert_int_equal(top_sort_of(top_sort_name(choice.sort)), choice.sort);
	}
	choice = (struct top_choice){TOP_SORT_name, true, &regex};
	assert_int_equal(regcomp(&regex, "BETA\\(int\\)|delta", REG_EXTENDED | REG_ICASE), 0);
	assert_int_equal(top_choose(m, &choice, SIZE_MAX, &rows), 2);
	assert_string_equal(rows[0]->name, "delta");
	assert_near(top_row_share(m, m->process[0]->row[2]), 450000.0 / 570000);
	free(rows);
	regfree(&regex);
	assert_int_equal(top_sort_of("nonsense"), TOP_SORTS);
}

TEST_WITH(a_process_that_ends_stays_for_some_seconds, begin_test, end_test)
{
	ran(0, 1, 1, 1000);
	snapshot(0);
	for (unsigned i = 0; i < 5; i++) {
		top_process_ended(m, begin(SECOND));
		top_end(m);
		assert_int_equal(m->processes, 1);
		assert_int_equal(m->process[0]->state, TOP_ENDED);
	}
	top_process_ended(m, begin(SECOND));
	top_end(m);
	assert_int_equal(m->processes, 0);
	/* One that is left out is gone at once. */
	snapshot(SECOND);
	assert_int_equal(m->processes, 1);
	top_begin(m, now += SECOND);
	top_end(m);
	assert_int_equal(m->processes, 0);
}

TEST_WITH(processes_stand_by_their_numbers, begin_test, end_test)
{
	static const uint32_t pids[] = {30, 10, 20};
	char id[8];

	top_begin(m, now);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(id, sizeof(id), "s%u", i);
		top_process_of(m, id, pids[i], "/bin/x");
	}
	top_end(m);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(m->process[i]->pid, 10 * (i + 1));
}

/* Idle: 1 - busy / time, up to the end of the latest kernel while more are to come. */
TEST_WITH(idle_is_known_where_all_is_timed, begin_test, end_test)
{
	struct gw_live_device d = {.used = 1, .busy_ns = 100, .last_end_ns = 1000 * SECOND};
	struct gw_live_totals totals = {.ns = 1};
	struct top_process *p;

	ran(0, 10, 10, 1000);
	for (unsigned i = 0; i < 3; i++) {
		p = begin(SECOND);
		top_totals_are(p, &totals);
		all_configs(p);
		top_device_is(p, 0, &d);
		top_end(m);
		if (!i)
			assert_true(isnan(p->device[0].idle));
		else
			assert_near(p->device[0].idle, 0.75);
		ran(0, 10, 10, 1000);
		d.busy_ns += SECOND / 8;
		d.last_end_ns += SECOND / 2;
	}
	/* Nothing is launched, and nothing is on the GPU. */
	ran(0, 10, 10, 1000);
	p = begin(SECOND);
	all_configs(p);
	top_device_is(p, 0, &d);
	top_end(m);
	snapshot(SECOND);
	assert_near(p->device[0].idle, 1);
	/* A launch waits for its record: it may run. */
	config[0].launches++;
	snapshot(SECOND);
	snapshot(SECOND);
	assert_true(isnan(p->device[0].idle));
	/* In mode watch what ran meanwhile is not all that did. */
	totals.mode = 1;
	p = begin(SECOND);
	top_totals_are(p, &totals);
	d.busy_ns += SECOND / 8;
	d.last_end_ns += SECOND / 2;
	top_device_is(p, 0, &d);
	top_end(m);
	assert_true(isnan(p->device[0].idle));
}

/* A segment that goes back in its counts, as no writer does, begins anew. */
TEST_WITH(idle_time_of_the_interval_has_its_share_of_input, begin_test, end_test)
{
	struct gw_live_device d = {.used = 1, .last_end_ns = 1000 * SECOND};
	struct top_device *device;
	char remark[300];

	for (int i = 0; i < 2; i++) {
		struct top_process *p = begin(SECOND);

		d.last_end_ns += SECOND;
		d.idle_ns[GW_IDLE_HOST] += i ? SECOND / 5 : SECOND;
		d.idle_ns[GW_IDLE_INPUT] += i ? 3 * SECOND / 5 : 0;
		top_device_is(p, 0, &d);
		top_end(m);
	}
	device = &m->process[0]->device[0];
	assert_near(device->input, 0.75);
	device->idle = 0.8;
	top_remark(m->process[0], device, remark, sizeof(remark));
	assert_string_equal(remark, "waits for input: 75% of idle time");
}

TEST_WITH(counts_that_fall_give_no_negative_rates, begin_test, end_test)
{
	ran(0, 100, 100, 1000);
	snapshot(0);
	config[0].launches = 3;
	config[0].time = config[0].ratio = (struct gw_sketch){0};
	snapshot(SECOND);
	assert_near(m->process[0]->row[0]->interval.runs, 3);
}

TEST_WITH(a_configuration_that_changes_its_kernel_takes_bounded_memory, begin_test, end_test)
{
	for (uint32_t i = 0; i < 1000; i++) {
		struct top_process *p = begin(SECOND);

		config[0].kernel = i;
		top_config_is(m, p, 0, &config[0], NULL);
		top_end(m);
	}
	assert_true(m->process[0]->rows < 10);
}

static void assert_alike(double a, double b)
{
	assert_true(isnan(a) ? isnan(b) : fabs(a - b) <= 1e-9 * fabs(b));
}

static void assert_span(const struct top_span *a, const struct top_span *b)
{
	assert_alike(a->runs, b->runs);
	assert_alike(a->measured, b->measured);
	assert_alike(a->time_ns, b->time_ns);
	assert_alike(a->mean_ns, b->mean_ns);
	assert_alike(a->ratio, b->ratio);
	assert_int_equal(a->estimated, b->estimated);
}

/* Any configurations change, some become others, and once none is timed all the time. */
TEST_WITH(what_has_changed_adds_up_to_what_is_all, begin_test, end_test)
{
	enum { CONFIGS = 40, KERNELS = 7 };
	static struct gw_live_config all[CONFIGS];
	struct top_model *other = top_model_new(), *both[] = {m, other};
	uint64_t random = 1;

	m->brief = true;
	memset(all, 0, sizeof(all));
	for (unsigned snapshots = 0; snapshots < 300; snapshots++) {
		bool changes[CONFIGS];

		now += snapshots % 10 != 7 ? SECOND : 0;
		for (unsigned i = 0; i < CONFIGS; i++) {
			struct gw_live_config *c = &all[i];
			const unsigned kind =
				(unsigned)(next_random(&random) % (snapshots % 3 ? 60 : 8));

			changes[i] = kind < 4;
			if (kind == 3 && !(next_random(&random) % 400))
				*c = (struct gw_live_config){0};
			if (!changes[i])
				continue;
			c->id = i + 1;
			c->kernel = 1 + i % KERNELS;
			c->device = 1;
			c->bound = (uint32_t)(next_random(&random) % 4);
			c->predicted = kind ? 1000 + (double)i : NAN;
			c->low = 900;
			c->high = 1200 + (double)kind;
			c->launches += kind ? kind : 20;
			gw_sketch_add(&c->time, 100 + (double)(next_random(&random) % 5000), kind);
			gw_sketch_add(&c->ratio, 0.5 + 0.01 * (double)i, kind);
		}
		for (unsigned k = 0; k < 2; k++) {
			struct top_process *p;

			top_begin(both[k], now);
			p = top_process_of(both[k], "a", 10, "/bin/a");
			p->totals.ns = 1;
			p->totals.mode = snapshots / 50 % 2;
			for (unsigned i = 0; i < CONFIGS; i++) {
				char name[16];

				snprintf(name, sizeof(name), "k%u", all[i].kernel);
				if (changes[i])
					top_config_is(both[k], p, i, &all[i], name);
			}
			p->again |= k;
			top_end(both[k]);
		}
		assert_alike(m->time_ns, other->time_ns);
		assert_alike(m->process[0]->runs, other->process[0]->runs);
		assert_int_equal(m->process[0]->waiting, other->process[0]->waiting);
		for (size_t i = 0; i < m->process[0]->rows; i++) {
			struct top_row *a = m->process[0]->row[i];
			const struct top_row *b = other->process[0]->row[i];

			top_row_finish(a);
			assert_span(&a->interval, &b->interval);
			assert_span(&a->total, &b->total);
			assert_alike(a->predicted, b->predicted);
			assert_alike(a->low, b->low);
			assert_alike(a->high, b->high);
			assert_alike(top_row_share(m, a), top_row_share(other, b));
			assert_int_equal(a->bound, b->bound);
			assert_int_equal(a->configs, b->configs);
		}
	}
	top_model_free(other);
}

TEST_WITH(bars_hold_every_value, begin_test, end_test)
{
	struct gw_sketch s = {0};
	struct top_bar bars[TOP_BARS_MOST];

	assert_int_equal(top_bars(&s, 10, bars), 0);
	for (int i = 1; i <= 1000; i++)
		gw_sketch_add(&s, i * 100.0, 1);
	gw_sketch_add(&s, 1e3 * 1e5, 1);
	for (size_t most = 0; most <= 70; most++) {
		const size_t count = top_bars(&s, most, bars);
		double all = 0;

		assert_true(count <= most);
		for (size_t i = 0; i < count; i++) {
			all += bars[i].share;
			assert_true(bars[i].low < bars[i].high);
			if (i)
				assert_near(bars[i].low, bars[i - 1].high);
		}
		if (most)
			assert_near(all, 1);
	}
	/* One value far away does not make the rest one bar. */
	assert_true(top_bars(&s, 10, bars) > 6);
}

TESTS_MAIN()
