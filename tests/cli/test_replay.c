/* What a replay may know, and what a trace holds. */
#include "cli/common/memory.h"
#include "cli/replay/replay.h"
#include "tests/cli/samples.h"
#include "tests/test.h"

#include <unistd.h>

static struct trace read_sample(void)
{
	struct lb b = {0};
	struct trace t;

	sample_worked(&b, SAMPLE_WHOLE);
	assert_true(trace_read_memory(&t, "sample", b.data, b.length));
	lb_free(&b);
	return t;
}

static uint32_t kernel_called(const struct trace *t, const char *name)
{
	for (uint32_t i = 0; i < t->log.kernel_count; i++)
		if (!strcmp(t->log.names[i].mangled, name))
			return i;
	fail_msg("there is no kernel %s", name);
	return 0;
}

/* Predictions by launch. */
struct said {
	double *seconds;
	struct replay_result result;
};

static void take(void *arg, size_t launch, const struct gw_prediction *p)
{
	((struct said *)arg)->seconds[launch] = p->seconds;
}

static struct said say(const struct trace *t, const struct replay_options *options)
{
	struct said s = {.seconds = gw_alloc(t->launch_count * sizeof(double))};

	for (size_t i = 0; i < t->launch_count; i++)
		s.seconds[i] = NAN;
	replay(t, options, take, &s, &s.result);
	return s;
}

/* Do what was said of the launches of @p kernel before and after differ? And are there any? */
static bool differ(const struct trace *t, uint32_t kernel, const struct said *a,
		   const struct said *b)
{
	bool known = false, different = false;

	for (size_t i = 0; i < t->launch_count; i++) {
		if (t->log.configs[t->launches[i].config].kernel != kernel)
			continue;
		known |= isfinite(a->seconds[i]);
		different |= a->seconds[i] != b->seconds[i] &&
			     !(isnan(a->seconds[i]) && isnan(b->seconds[i]));
	}
	assert_true(known);
	return different;
}

static void slow_down(struct trace *t, uint32_t kernel, uint32_t ordinal, unsigned factor)
{
	for (size_t i = 0; i < t->launch_count; i++) {
		const struct log_config *c = &t->log.configs[t->launches[i].config];

		if (c->kernel == kernel && (ordinal == UINT32_MAX || c->ordinal == ordinal))
			t->launches[i].duration *= factor;
	}
}

/* Whether times of @p teacher change what is said of @p kernel. */
static bool teaches(const struct replay_options *options, const char *teacher, uint32_t ordinal,
		    const char *kernel)
{
	struct trace t = read_sample();
	uint32_t asked = kernel_called(&t, kernel);
	struct said before = say(&t, options), after;
	bool different;

	slow_down(&t, kernel_called(&t, teacher), ordinal, 7);
	after = say(&t, options);
	different = differ(&t, asked, &before, &after);
	free(before.seconds);
	free(after.seconds);
	trace_free(&t);
	return different;
}

TEST(hidden_kernel_is_predicted_without_its_times)
{
	const struct replay_options hide = {.hide = REPLAY_KERNEL}, all = {.own = true};

	assert_false(teaches(&hide, "gather_words", UINT32_MAX, "gather_words"));
	/* The same change is seen where it may be: by others, and with nothing hidden. */
	assert_true(teaches(&hide, "gather_words", UINT32_MAX, "stream_copy"));
	assert_true(teaches(&all, "gather_words", UINT32_MAX, "gather_words"));
}

/* One kernel on two GPUs: launches in turn, four times as long on the second, none predicted. */
static struct trace two_gpus(void)
{
	struct lb b = {0};
	struct trace t;
	uint64_t ns = UINT64_C(1700000000000000000);

	lb_header(&b, 1, 0, "two");
	lb_kernel(&b, 1, "k");
	for (uint32_t d = 1; d <= 2; d++) {
		lb_device(&b, d, d == 1 ? "One" : "Other", d == 1 ? "01" : "02");
		lb_stream(&b, d, d);
		lb_config_on(&b, d, 1, 64, d, false);
	}
	for (uint32_t i = 0; i < 40; i++) {
		struct gw_record_launch l =
			lb_launch(1 + i % 2, ns += 1000000, i % 2 ? 400000 : 100000, NAN, i);

		l.stream = 1 + i % 2;
		l.flags |= GW_LAUNCH_LEARNT;
		lb_add_launch(&b, l);
		lb_published(&b, i + 1);
	}
	lb_end(&b);
	lb_block(&b);
	assert_true(trace_read_memory(&t, "two", b.data, b.length));
	lb_free(&b);
	return t;
}

TEST(each_gpu_is_replayed_by_a_predictor_of_its_own)
{
	const struct replay_options all = {.own = true}, hide = {.hide = REPLAY_CONFIGURATION};
	struct trace t = two_gpus();
	struct said s = say(&t, &all);

	assert_int_equal(t.log.configs[1].device, 2);
	assert_int_equal(t.launches[1].gpu, 1);
	assert_true(isnan(s.seconds[0]) &&
		    isnan(s.seconds[1])); /* not reported by the other's first */
	for (size_t i = 2; i < t.launch_count; i++)
		assert_true(fabs(s.seconds[i] * 1e6 - (i % 2 ? 400 : 100)) < 1);
	free(s.seconds);
	s = say(&t, &hide); /* what is left of its kernel ran on the other GPU */
	for (size_t i = 0; i < t.launch_count; i++)
		assert_true(isnan(s.seconds[i]));
	free(s.seconds);
	trace_free(&t);
}

TEST(hidden_configuration_is_predicted_from_its_sisters)
{
	const struct replay_options hide = {.hide = REPLAY_CONFIGURATION};
	struct trace t = read_sample();
	uint32_t kernel = kernel_called(&t, "gather_words");
	struct said before = say(&t, &hide), after;
	bool own = false, sister = false;

	slow_down(&t, kernel, 0, 7);
	after = say(&t, &hide);
	for (size_t i = 0; i < t.launch_count; i++) {
		const struct log_config *c = &t.log.configs[t.launches[i].config];
		bool other = before.seconds[i] != after.seconds[i];

		if (c->kernel == kernel)
			*(c->ordinal ? &sister : &own) |= other;
	}
	assert_false(own);
	assert_true(sister);
	free(before.seconds);
	free(after.seconds);
	trace_free(&t);
}

TEST(family_does_not_teach)
{
	/* stream_copy, gather_words, few_blocks, tiny, no_work */
	static const uint32_t family[] = {0, 0, 1, 2, 3}, others[] = {0, 1, 1, 2, 3};
	const struct replay_options cold = {.hide = REPLAY_KERNEL, .family = family};
	const struct replay_options apart = {.hide = REPLAY_KERNEL, .family = others};
	const struct replay_options warm = {.hide = REPLAY_CONFIGURATION, .family = family};

	assert_false(teaches(&cold, "gather_words", UINT32_MAX, "stream_copy"));
	assert_true(teaches(&apart, "gather_words", UINT32_MAX, "stream_copy"));
	assert_false(teaches(&warm, "gather_words", UINT32_MAX, "stream_copy"));
	assert_true(teaches(&warm, "stream_copy", 1, "stream_copy"));
}

TEST(hidden_work_is_not_counted_work)
{
	struct replay_options hide = {.hide = REPLAY_KERNEL};
	struct trace t = read_sample();
	struct said known = say(&t, &hide), unknown;
	uint32_t kernel = kernel_called(&t, "stream_copy");

	hide.hide_work = true;
	unknown = say(&t, &hide);
	for (size_t i = 0; i < t.launch_count; i++)
		if (t.log.configs[t.launches[i].config].kernel == kernel) {
			assert_true(isfinite(known.seconds[i]));
			assert_true(isnan(unknown.seconds[i]));
		}
	free(known.seconds);
	free(unknown.seconds);
	trace_free(&t);
}

TEST(every_measured_launch_is_predicted_once)
{
	static const enum replay_hide ways[] = {REPLAY_KERNEL, REPLAY_CONFIGURATION};
	struct trace t = read_sample();

	t.launches[5].flags = 0; /* was not measured */
	for (size_t i = 0; i < COUNT(ways); i++) {
		struct replay_options hide = {.hide = ways[i]};
		struct said s = say(&t, &hide);

		assert_int_equal(s.result.folds, ways[i] == REPLAY_KERNEL ? 5 : 2);
		for (size_t k = 0; k < t.launch_count; k++)
			if (strcmp(t.log.names[t.log.configs[t.launches[k].config].kernel].mangled,
				   "no_work") != 0)
				assert_true(isfinite(s.seconds[k]) == (k != 5));
		free(s.seconds);
	}
	trace_free(&t);
}

TEST(sums_are_replayed_like_the_launches_in_them)
{
	struct replay_options hide = {.hide = REPLAY_CONFIGURATION};
	struct trace whole = read_sample(), summed = read_sample();
	struct said a = say(&whole, &hide), b;
	size_t known = 0;

	for (size_t i = 0; i < summed.launch_count; i++) {
		struct gw_sketch **sums = &summed.configs[summed.launches[i].config].sums;

		*sums = *sums ? *sums : gw_alloc(sizeof(**sums));
		gw_sketch_add(*sums, (double)summed.launches[i].duration, 1);
	}
	assert_true(trace_spread(&summed));
	b = say(&summed, &hide);
	assert_int_equal(summed.launch_count, whole.launch_count);
	for (size_t i = 0; i < whole.launch_count * whole.launch_count; i++) {
		size_t k = i / whole.launch_count, l = i % whole.launch_count;

		if (whole.launches[k].config != summed.launches[l].config)
			continue;
		assert_int_equal(isnan(a.seconds[k]), isnan(b.seconds[l]));
		assert_false(fabs(log(b.seconds[l] / a.seconds[k])) > 0.1);
		known += a.seconds[k] > 0;
	}
	assert_true(known > 0);
	free(a.seconds);
	free(b.seconds);
	trace_free(&whole);
	trace_free(&summed);
}

TEST(families_follow_a_pattern_or_a_file)
{
	struct trace t = read_sample();
	char file[] = "/tmp/gw-families-XXXXXX";
	FILE *out = fdopen(mkstemp(file), "w");
	uint32_t *f;

	f = replay_families(&t, "^([a-z]+)_", NULL);
	assert_non_null(f);
	for (uint32_t i = 0; i < t.log.kernel_count; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_true(f[i] != f[k]); /* stream, gather, few, tiny itself, no */
	free(f);
	f = replay_families(&t, "s", NULL); /* stream_copy, gather_words, few_blocks: the match */
	assert_true(f[0] == f[1] && f[1] == f[2] && f[3] != f[0] && f[4] != f[3]);
	free(f);
	fprintf(out, "# of a test\nmemory stream_copy\n\nmemory gather_words\nrest tiny\n");
	fclose(out);
	f = replay_families(&t, NULL, file);
	assert_true(f[0] == f[1] && f[2] != f[0] && f[3] != f[0] && f[2] != f[4]);
	free(f);
	unlink(file);
	trace_free(&t);
}

TEST(trace_finds_the_work_that_was_known)
{
	struct trace t = read_sample();
	struct gw_work work;

	assert_int_equal(t.log.config_count, 7);
	assert_int_equal(t.launch_count, 84);
	assert_int_equal(t.work_count, 6);
	assert_int_equal(t.published_count, 12);
	assert_non_null(gw_log_device(&t.log, 0));
	assert_non_null(gw_log_device(&t.log, GW_INDEX_NONE));
	assert_int_equal(trace_work_known(&t, 6, 100), 0);
	assert_int_equal(trace_work_known(&t, 1, 0), 2);
	t.works[1].known = 10; /* as if it had been counted later */
	assert_int_equal(trace_work_known(&t, 1, 9), 0);
	trace_work_of(&t, 1, &work);
	assert_true(work.q[GW_WORK_inst_issued].value == 8e6);
	assert_int_equal(work.q[GW_WORK_inst_issued].source, GW_SOURCE_COUNTED);
	assert_true(isnan(work.q[GW_WORK_pipe_fma].value));
	trace_free(&t);
}

/*
 * The sample, but that of configuration ALONE only the last launch is left, called after
 * publication CALLED; and what its code shows is known after the next.
 */
enum { CALLED = 8, ALONE = 4 /* a kernel of its own */ };

static struct trace read_late(void)
{
	struct trace t = read_sample();
	struct trace_launch *last = NULL;
	struct trace_event work = {TRACE_KINDS, 0};
	size_t to = 0;
	unsigned published = 0;

	for (size_t i = 0; i < t.launch_count; i++) {
		if (last && t.launches[i].config == ALONE)
			last->flags = 0; /* not learnt from */
		last = t.launches[i].config == ALONE ? &t.launches[i] : last;
	}
	for (size_t i = 0; i < t.part_count; i++)
		t.parts[i].source = GW_SOURCE_STATIC;
	last->known = (uint32_t)(t.log.config_count - 1) * CALLED;
	for (size_t i = 0; i < t.event_count; i++) {
		const struct trace_event e = t.events[i];

		if (e.kind == TRACE_WORK && t.works[e.index].config == ALONE) {
			work = e;
			continue;
		}
		t.events[to++] = e;
		if (e.kind == TRACE_PUBLISHED && ++published == CALLED + 1)
			t.events[to++] = work;
	}
	assert_int_equal(to, t.event_count);
	return t;
}

/* What the library could say of that launch, as it reports its predictor of the rest: as soon as
 * anything is known of its work, and in the end. */
static void predict_late(const struct trace *t, struct gw_prediction *soon,
			 struct gw_prediction *late)
{
	struct gw_predictor_set *p = replay_predictors(t, NULL);
	struct gw_clocks *clocks = gw_alloc(t->log.gpu_count * sizeof(*clocks));

	for (size_t i = 0; i < t->event_count; i++) {
		const uint32_t index = t->events[i].index;
		const struct trace_launch *l = &t->launches[index];
		struct gw_observation o;
		struct gw_work work;

		switch (t->events[i].kind) {
		case TRACE_PROFILE:
			gw_predictor_set_device(p, t->log.gpus[index].record.id,
						&t->log.gpus[index].known.profile->device);
			break;
		case TRACE_CONFIG:
			replay_configure(p, t, index);
			break;
		case TRACE_WORK:
			trace_work_of(t, index, &work);
			gw_predictor_set_work(p, t->works[index].config + 1, &work);
			if (t->works[index].config == ALONE)
				gw_predictor_set_predict(p, ALONE + 1,
							 (t->log.config_count - 1) * CALLED, soon);
			break;
		case TRACE_LAUNCH:
			o = replay_observation(l, l, clocks);
			if (l->config != ALONE && l->flags & GW_LAUNCH_LEARNT)
				gw_predictor_set_observe(p, l->config + 1, &o);
			break;
		case TRACE_PUBLISHED:
			gw_predictor_set_advance(p, NULL, NULL);
			break;
		default:
			break;
		}
	}
	gw_predictor_set_predict(p, ALONE + 1, (t->log.config_count - 1) * CALLED, late);
	gw_predictor_set_free(p);
	free(clocks);
}

/* Its state was no longer kept when it was predicted; the log says no more. */
TEST(a_launch_that_waited_long_is_replayed_with_its_bits)
{
	struct gw_prediction soon, in_the_end;
	struct trace t = read_late();
	struct trace_launch *late = NULL;
	const struct replay_options options = {0};
	uint64_t equal;
	struct said s;

	for (size_t i = 0; i < t.launch_count; i++)
		if (t.launches[i].config == ALONE)
			late = &t.launches[i];
	predict_late(&t, &soon, &in_the_end);
	assert_true(isfinite(in_the_end.seconds) && in_the_end.low != soon.low);
	replay_put(late, &in_the_end);
	s = say(&t, &options);
	equal = s.result.equal; /* the others were made up */
	free(s.seconds);
	late->predicted *= 1.5f; /* what could never have been said is not taken for granted */
	s = say(&t, &options);
	assert_int_equal(s.result.equal, equal - 1);
	free(s.seconds);
	trace_free(&t);
}

enum { PLAIN = 1, TOLD_APART, TIMES_OF_PLAIN = 20 };

/* Launches of one length, then one that is distinguished by its arguments and goes on from them. */
static struct trace read_successor(void)
{
	struct gw_record_successor follows = {.config = TOLD_APART, .of = PLAIN};
	uint64_t ns = UINT64_C(1700000000000000000);
	struct gw_record_launch l;
	struct lb b = {0};
	struct trace t;

	lb_header(&b, 1, 0, "successor");
	lb_kernel(&b, 1, "k");
	lb_config(&b, PLAIN, 1, 64, 128);
	for (uint32_t i = 0; i < TIMES_OF_PLAIN; i++) {
		l = lb_launch(PLAIN, ns += 1000000, 100000 + i, NAN, i);
		l.flags |= GW_LAUNCH_LEARNT;
		lb_add_launch(&b, l);
		lb_published(&b, i + 1);
	}
	lb_config_with(&b, TOLD_APART, 1, 64, 7);
	lb_record(&b, GW_RECORD_SUCCESSOR, &follows, sizeof(follows), NULL, 0);
	l = lb_launch(TOLD_APART, ns + 1000000, 100000, 100000, TIMES_OF_PLAIN);
	l.flags |= GW_LAUNCH_LEARNT | GW_LAUNCH_LATE;
	lb_add_launch(&b, l);
	lb_end(&b);
	lb_block(&b);
	assert_true(trace_read_memory(&t, "successor", b.data, b.length));
	lb_free(&b);
	return t;
}

/* As the library says it: when the launch comes, it knows already of whom it is the successor. */
static struct gw_prediction predict_successor(const struct trace *t)
{
	struct gw_predictor_set *p = replay_predictors(t, NULL);
	struct gw_clocks *clocks = gw_alloc(sizeof(*clocks));
	struct gw_prediction made;

	replay_configure(p, t, PLAIN - 1);
	for (uint32_t i = 0; i < TIMES_OF_PLAIN; i++) {
		struct gw_observation o =
			replay_observation(&t->launches[i], &t->launches[i], clocks);

		gw_predictor_set_observe(p, PLAIN, &o);
		gw_predictor_set_advance(p, NULL, NULL);
	}
	replay_configure(p, t, TOLD_APART - 1);
	gw_predictor_set_successor(p, TOLD_APART, PLAIN);
	gw_predictor_set_predict(p, TOLD_APART, TIMES_OF_PLAIN, &made);
	gw_predictor_set_free(p);
	free(clocks);
	return made;
}

TEST(a_successor_is_replayed_with_its_bits)
{
	const struct replay_options options = {0};
	struct trace t = read_successor();
	struct gw_prediction made = predict_successor(&t);
	struct said s;

	assert_int_equal(made.tier, GW_TIER_STEADY);
	replay_put(&t.launches[TIMES_OF_PLAIN], &made);
	s = say(&t, &options);
	assert_int_equal(s.result.logged, 1);
	assert_int_equal(s.result.equal, 1);
	assert_int_equal(s.result.first, 0);
	free(s.seconds);
	trace_free(&t);
}

TEST(the_first_difference_is_kept)
{
	const struct replay_options options = {0};
	struct trace t = read_successor();
	struct trace_launch *l = &t.launches[TIMES_OF_PLAIN];
	struct gw_prediction made = predict_successor(&t);
	struct said s;

	replay_put(l, &made);
	l->low *= 0.5f;
	s = say(&t, &options);
	assert_int_equal(s.result.equal, 0);
	assert_int_equal(s.result.first, TIMES_OF_PLAIN + 1);
	assert_true(s.result.now.predicted == l->predicted);
	assert_true(s.result.now.low == (float)(made.low * 1e9));
	free(s.seconds);
	trace_free(&t);
}

/* Launches by configuration, and publications, 0. WAITS is called after the first of these and
 * predicted in the end: by then what was published of NEAR has been replaced twice. */
enum { NEAR = 1, FAR, OTHER, WAITS, KNOWN = 3 };
static const uint8_t order[] = {NEAR, FAR, OTHER, 0, OTHER, 0, NEAR, 0, NEAR, 0};

static struct trace read_overtaken(void)
{
	uint64_t ns = UINT64_C(1700000000000000000), learnt = 0;
	struct gw_record_launch l;
	struct lb b = {0};
	struct trace t;

	lb_header(&b, 1, 0, "overtaken");
	lb_kernel(&b, 1, "k");
	lb_kernel(&b, 2, "other");
	for (uint32_t i = NEAR; i < WAITS; i++)
		lb_config(&b, i, i == OTHER ? 2 : 1, i == FAR ? 9000 : 64, 128);
	for (size_t i = 0; i < sizeof(order); i++) {
		if (!order[i]) {
			lb_published(&b, learnt);
			if (learnt == KNOWN)
				lb_config(&b, WAITS, 1, 65, 128);
			continue;
		}
		l = lb_launch(order[i], ns += 1000000, 100000 * order[i], NAN, 0);
		l.flags |= GW_LAUNCH_LEARNT;
		lb_add_launch(&b, l);
		learnt++;
	}
	l = lb_launch(WAITS, ns + 1000000, 100000, 100000, KNOWN);
	l.flags |= GW_LAUNCH_LEARNT | GW_LAUNCH_LATE;
	lb_add_launch(&b, l);
	lb_end(&b);
	lb_block(&b);
	assert_true(trace_read_memory(&t, "overtaken", b.data, b.length));
	lb_free(&b);
	return t;
}

static struct gw_prediction predict_overtaken(const struct trace *t, bool late)
{
	struct gw_predictor_set *p = replay_predictors(t, NULL);
	struct gw_clocks *clocks = gw_alloc(sizeof(*clocks));
	struct gw_prediction made = {0};
	struct gw_observation o;
	uint32_t launch = 0;

	for (uint32_t i = 0; i + 1 < WAITS; i++)
		replay_configure(p, t, i);
	for (size_t i = 0; i < sizeof(order); i++) {
		if (order[i]) {
			o = replay_observation(&t->launches[launch], &t->launches[launch], clocks);
			gw_predictor_set_observe(p, order[i], &o);
			launch++;
			continue;
		}
		gw_predictor_set_advance(p, NULL, NULL);
		if (launch == KNOWN)
			replay_configure(p, t, WAITS - 1);
		if (late || launch == KNOWN)
			gw_predictor_set_predict(p, WAITS, KNOWN, &made);
	}
	gw_predictor_set_free(p);
	free(clocks);
	return made;
}

TEST(an_overtaken_launch_is_replayed_with_its_bits)
{
	const struct replay_options options = {0};
	struct trace t = read_overtaken();
	const struct gw_prediction late = predict_overtaken(&t, true);
	struct said s;

	assert_true(isfinite(late.seconds));
	assert_true(late.seconds != predict_overtaken(&t, false).seconds);
	replay_put(&t.launches[t.launch_count - 1], &late);
	s = say(&t, &options);
	assert_int_equal(s.result.equal, 1);
	free(s.seconds);
	trace_free(&t);
}

TESTS_MAIN()
