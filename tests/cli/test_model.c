/* What a report is made of: medians, order of predictions, rows, and the small tools. */
#include "tests/cli/samples.h"

#include "cli/common/demangle.h"
#include "cli/log/order.h"
#include "cli/log/rows.h"
#include "cli/common/number.h"
#include "cli/options.h"
#include "cli/common/quantile.h"
#include "cli/message.h"
#include "cli/table.h"
#include "tests/test.h"

#include <unistd.h>

TEST(median_is_exact_until_the_limit_and_close_beyond)
{
	struct gw_quantile q = {0};

	assert_true(isnan(gw_quantile(&q, 0.5)));
	gw_quantile_add(&q, 5);
	assert_true(gw_quantile(&q, 0.5) == 5);
	gw_quantile_add(&q, 8);
	assert_true(gw_quantile(&q, 0.5) == 6.5);
	gw_quantile_free(&q);
	for (uint64_t i = 0; i < GW_QUANTILE_EXACT; i++)
		gw_quantile_add(&q,
				(double)((i * 40503) % GW_QUANTILE_EXACT)); /* each value once */
	assert_true(gw_quantile_exact(&q));
	assert_true(gw_quantile(&q, 0.5) == (GW_QUANTILE_EXACT - 1) / 2.0);
	for (int i = 0; i < 1000; i++)
		gw_quantile_add(&q, 32768);
	assert_false(gw_quantile_exact(&q));
	assert_true(fabs(gw_quantile(&q, 0.5) - 32768) <= 0.0051 * 32768);
	assert_true(fabs(gw_quantile(&q, 0.1) - 6653) <= 0.006 * 6653);
	gw_quantile_free(&q);
}

TEST(approximate_median_stays_between_the_extremes)
{
	struct gw_quantile q = {0};

	for (int i = 0; i <= GW_QUANTILE_EXACT; i++)
		gw_quantile_add(&q, 1000);
	assert_false(gw_quantile_exact(&q));
	assert_true(gw_quantile(&q, 0.5) == 1000);
	gw_quantile_free(&q);
}

TEST(order_is_proven_only_by_number_and_time)
{
	struct gw_order o = {0};
	struct gw_record_launch a = lb_launch(1, 1000000, 5000, NAN, 0),
				b = lb_launch(1, 90000000, 5000, 5, 1);

	assert_int_equal(gw_order_check(&o, &a, 0), GW_ORDER_NONE);
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_PROVEN);
	b.known = 3; /* two stand before it */
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_SELF);
	b.known = 2; /* the second ended at 90.005 ms, this one was called at 50 ms */
	b.call_ns -= 40000000;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_LATER);
	b.known = 1;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_PROVEN);
	b.call_ns = a.start_ns + a.duration_ns - GW_ORDER_TOLERANCE_NS;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_PROVEN);
	b.call_ns--;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_LATER);
	assert_int_equal(gw_order_check(&o, &b, 1), GW_ORDER_UNPROVEN);
	b.call_ns = 0;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_UNPROVEN);
	gw_order_free(&o);
}

/* Launches that know of kernels from before it violate nothing; of those after it they may. */
TEST(a_clock_that_was_set_back_proves_nothing_and_accuses_nobody)
{
	struct gw_order o = {0};
	struct gw_record_launch a = lb_launch(1, 90000000, 5000, NAN, 0),
				b = lb_launch(1, 3000000, 5000, 5, 1);

	gw_order_check(&o, &a, 0);
	gw_order_clock_set(&o);
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_UNPROVEN);
	b.known = 2;
	b.call_ns += 1000000;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_PROVEN);
	b.call_ns -= 3000000;
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_LATER);
	gw_order_free(&o);
}

TEST(event_timed_measurements_are_left_out_of_the_time_check)
{
	struct gw_record_launch a = lb_launch(1, 1000000, 5000, NAN, 0),
				b = lb_launch(1, 2000000, 5000, 5, 1);
	struct gw_order o = {0};

	a.flags |= GW_LAUNCH_EVENTS;
	a.start_ns = 0;
	gw_order_check(&o, &a, 0);
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_PROVEN);
	assert_int_equal(o.untimed, 1);
	gw_order_free(&o);
}

TEST(unlearnt_records_do_not_count_for_known)
{
	struct gw_record_launch a = lb_launch(1, 1000000, 5000, NAN, 0),
				b = lb_launch(1, 9000000, 5000, 5, 1);
	struct gw_order o = {0};

	a.flags &= ~(uint32_t)GW_LAUNCH_LEARNT;
	gw_order_check(&o, &a, 0);
	assert_int_equal(gw_order_check(&o, &b, 0), GW_ORDER_SELF);
	gw_order_free(&o);
}

static struct gw_record_launch timed(uint64_t duration, float predicted)
{
	return lb_launch(1, 1000, duration, predicted, 0);
}

TEST(row_scores_what_was_measured_and_predicted)
{
	struct gw_record_launch l[] = {timed(100, NAN), timed(200, 190), timed(300, 200),
				       timed(0, 5)};
	struct gw_row row;

	gw_row_clear(&row);
	for (int i = 0; i < 4; i++)
		gw_row_launch(&row, &l[i], GW_TIER_STEADY);
	assert_int_equal(row.launches, 4);
	assert_int_equal(row.measured, 3);
	assert_int_equal(row.invalid, 1);
	assert_int_equal(row.scored, 2);
	assert_int_equal(row.within10, 1);
	assert_int_equal(row.within25, 1);
	assert_int_equal(row.covered, 1);
	assert_true(gw_row_mean(&row) == 200);
	assert_true(fabs(gw_row_deviation(&row) - 100) < 1e-9);
	assert_true(fabs(gw_row_mape(&row) - (0.05 + 1 / 3.0) / 2) < 1e-9);
	assert_true(fabs(gw_row_known(&row) - 2 / 3.0) < 1e-9);
	gw_row_free(&row);
}

TEST(row_without_a_measurement_knows_nothing)
{
	struct gw_record_launch l = timed(0, NAN);
	struct gw_row row;

	l.flags = 0;
	gw_row_clear(&row);
	gw_row_launch(&row, &l, GW_TIER_NONE);
	assert_true(isnan(gw_row_mean(&row)) && isnan(gw_row_mape(&row)) &&
		    isnan(gw_row_known(&row)));
	assert_true(isnan(gw_row_deviation(&row)) && isnan(gw_row_coverage(&row)) &&
		    isnan(row.min));
	gw_row_free(&row);
}

TEST(aggregate_whose_scores_contradict_themselves_is_not_scored)
{
	const struct gw_record_aggregate good = {.launches = 9,
						 .measured = 8,
						 .scored = 4,
						 .covered = 3,
						 .error_sum = 0.5f,
						 .total_ns = 800,
						 .min_ns = 100,
						 .max_ns = 100};
	struct gw_record_aggregate bad[4] = {good, good, good, good};
	struct gw_row row = {.min = NAN, .max = NAN};

	bad[0].error_sum = -0.5f;
	bad[1].error_sum = NAN;
	bad[2].scored = 9;
	bad[3].covered = 5;
	for (int i = 0; i < 4; i++)
		gw_row_aggregate(&row, &bad[i]);
	assert_int_equal(row.measured, 32);
	assert_true(gw_row_mean(&row) == 100);
	assert_true(isnan(gw_row_mape(&row)));
	gw_row_aggregate(&row, &good);
	assert_int_equal(row.scored, 4);
	assert_true(gw_row_mape(&row) == 0.125);
	assert_true(gw_row_coverage(&row) == 0.75);
}

TEST(log_with_lost_records_proves_nothing_and_accuses_nobody)
{
	uint64_t values[GW_COUNTERS] = {0};
	char path[] = "/tmp/gw-model-XXXXXX";
	static struct gw_log_model m;
	struct lb b = {0};

	close(mkstemp(path));
	lb_header(&b, 1, 0, "x");
	lb_kernel(&b, 1, "k");
	lb_config(&b, 1, 1, 1, 1);
	lb_add_launch(&b, lb_launch(1, 5000000, 5, 5, 9));
	values[GW_COUNTER_log_lost] = 20;
	lb_counters(&b, values, GW_COUNTERS);
	lb_end(&b);
	assert_true(lb_write(&b, path));
	gw_log_model_init(&m);
	assert_true(gw_log_model_read(&m, path));
	assert_int_equal(m.order[GW_ORDER_UNPROVEN], 1);
	assert_int_equal(m.order[GW_ORDER_SELF], 0);
	assert_int_equal(m.violation_count, 0);
	gw_log_model_free(&m);
	unlink(path);
	lb_free(&b);
}

/* Of version 1, by what stands before a launch; since then each launch says it. */
TEST(tiers_are_read_or_in_old_logs_worked_out)
{
	static const uint64_t expected[2][4] = {{1, 1, 0, 1}, {0, 1, 1, 1}};
	struct gw_record_launch l[3];

	for (uint32_t old = 0; old < 2; old++) {
		struct gw_record_header header = {.version = old ? 1 : GW_LOG_VERSION, .pid = 1};
		static struct gw_log_model m;
		struct lb b = {0};

		lb_record(&b, GW_RECORD_HEADER, &header, sizeof(header), "mode=audit", 11);
		lb_kernel(&b, 1, "k");
		lb_config(&b, 1, 1, 1, 1);
		lb_config(&b, 2, 1, 2, 1);
		for (uint32_t i = 0; i < 3; i++)
			l[i] = lb_launch(i == 1 ? 2 : 1, 1000000ull * i, 500, 500, i);
		l[0].tier = old ? 0 : GW_TIER_COLD;
		l[1].tier = old ? 0 : 200; /* a damaged file may hold anything */
		l[2].tier = old ? 0 : GW_TIER_STEADY;
		for (uint32_t i = 0; i < 3; i++)
			lb_add_launch(&b, l[i]);
		lb_end(&b);
		gw_log_model_init(&m);
		assert_true(gw_log_model_read_memory(&m, "x", b.data, b.length));
		assert_memory_equal(m.all.tiers, expected[old], sizeof(expected[old]));
		gw_log_model_free(&m);
		lb_free(&b);
	}
}

/* The same mark is the same row, of whichever process. */
TEST(arguments_tell_rows_of_a_grid_apart)
{
	static struct gw_log_model m;

	gw_log_model_init(&m);
	m.by = GW_BY_CONFIG;
	for (uint32_t file = 0; file < 2; file++) {
		struct lb b = {0};

		lb_header(&b, file + 1, 0, "x");
		lb_kernel(&b, 1, "k");
		lb_config_with(&b, 1, 1, 4, 0);
		lb_config_with(&b, 2, 1, 4, 0x51);
		lb_config_with(&b, 3, 1, 4, file ? 0x51 : 0x52);
		for (uint32_t i = 1; i <= 3; i++)
			lb_add_launch(&b, lb_launch(i, 1000000ull * i, 500, 500, 0));
		lb_end(&b);
		assert_true(gw_log_model_read_memory(&m, "x", b.data, b.length));
		lb_free(&b);
	}
	assert_int_equal(m.row_count, 3);
	assert_int_equal(m.rows[0].config.digest, 0);
	assert_int_equal(m.rows[0].launches, 2);
	assert_int_equal(m.rows[1].config.digest, 0x51);
	assert_int_equal(m.rows[1].launches, 3);
	gw_log_model_free(&m);
}

/* What is launched before the code is read has the arguments of the one that follows. */
TEST(launches_before_the_code_is_read_are_of_the_configuration_that_follows)
{
	enum { GUESS, TWICE = 2 };
	static const uint32_t digest[] = {0x80000001, 0x51, 0x80000002, 0x52, 0x53};
	static struct gw_log_model m;
	struct lb b = {0};

	gw_log_model_init(&m);
	m.by = GW_BY_CONFIG;
	lb_header(&b, 1, 0, "x");
	lb_kernel(&b, 1, "k");
	for (uint32_t i = 1; i <= COUNT(digest); i++) {
		struct gw_record_successor s = {.config = i, .of = i < 3 ? 1 : TWICE + 1};

		lb_config_with(&b, i, 1, 4, digest[i - 1]);
		if (i == 2 || i > 3)
			lb_record(&b, GW_RECORD_SUCCESSOR, &s, sizeof(s), NULL, 0);
		lb_add_launch(&b, lb_launch(i, 1000000ull * i, 500, 500, 0));
	}
	lb_end(&b);
	assert_true(gw_log_model_read_memory(&m, "x", b.data, b.length));
	lb_free(&b);
	assert_int_equal(m.row_count, 4);
	assert_int_equal(m.rows[GUESS].config.digest, 0x51);
	assert_int_equal(m.rows[GUESS].launches, 2);
	/* Two followed: which of them it was is not known. */
	assert_int_equal(m.rows[1].config.digest, digest[TWICE]);
	assert_int_equal(m.rows[1].launches, 1);
	gw_log_model_free(&m);
}

/* An error can't be negative; what else the record says still counts. */
TEST(an_impossible_error_of_an_aggregate_is_left_out)
{
	struct gw_record_aggregate a = {
		.launches = 5, .measured = 4, .scored = 3, .error_sum = -1, .total_ns = 100};
	struct gw_row row;

	gw_row_clear(&row);
	gw_row_aggregate(&row, &a);
	assert_int_equal(row.measured, 4);
	assert_int_equal(row.scored, 0);
	assert_true(isnan(gw_row_mape(&row)));
	gw_row_free(&row);
}

TEST(huge_ids_cost_no_memory)
{
	char path[] = "/tmp/gw-model-XXXXXX";
	static struct gw_log_model m;
	struct lb b = {0};

	close(mkstemp(path));
	lb_header(&b, 1, 0, "x");
	lb_kernel(&b, UINT32_MAX, "k");
	lb_config(&b, UINT32_MAX, UINT32_MAX, 1, 1);
	lb_add_launch(&b, lb_launch(UINT32_MAX, 5000000, 5, 5, UINT32_MAX));
	lb_add_launch(&b, lb_launch(17, 5000000, 5, NAN, 0));
	lb_end(&b);
	assert_true(lb_write(&b, path));
	gw_log_model_init(&m);
	assert_true(gw_log_model_read(&m, path));
	assert_int_equal(m.row_count, 1);
	assert_int_equal(m.rows[0].launches, 1);
	assert_int_equal(m.files[0].lost_names, 1);
	assert_int_equal(m.order[GW_ORDER_SELF], 1);
	gw_log_model_free(&m);
	unlink(path);
	lb_free(&b);
}

TEST(numbers_keep_three_digits)
{
	struct gw_text t;

	assert_string_equal(gw_duration(&t, 1), "1 ns");
	assert_string_equal(gw_duration(&t, 999), "999 ns");
	assert_string_equal(gw_duration(&t, 999.9), "1.00 µs");
	assert_string_equal(gw_duration(&t, 12345), "12.3 µs");
	assert_string_equal(gw_duration(&t, 999999), "1.00 ms");
	assert_string_equal(gw_duration(&t, 2e9), "2.00 s");
	assert_string_equal(gw_duration(&t, NAN), "-");
	assert_string_equal(gw_thousands(&t, 1234567), "1,234,567");
	assert_string_equal(gw_thousands(&t, 123), "123");
	assert_string_equal(gw_thousands(&t, -1234), "-1,234");
	assert_string_equal(gw_percent(&t, 0.99999), ">99.9%");
	assert_string_equal(gw_percent(&t, 1), "100%");
	assert_string_equal(gw_percent(&t, 0.00001), "<0.1%");
	assert_string_equal(gw_percent(&t, 0), "0%");
	assert_string_equal(gw_bytes(&t, 1536), "1.50 KiB");
}

TEST(text_from_a_log_can_not_drive_the_terminal)
{
	char out[64];

	assert_string_equal(gw_printable(out, sizeof(out), "a\033[31m\nb\x7f"), "a?[31m?b?");
	assert_string_equal(gw_printable(out, sizeof(out), "µ\xc2\x9b\xff\xe2\x82"), "µ????"
										     "?");
	assert_string_equal(gw_printable(out, 4, "abcdef"), "abc");
	assert_string_equal(gw_printable(out, 3, "aµ"), "a");
}

TEST(text_that_turns_the_direction_of_writing_is_not_printed)
{
	static const struct {
		unsigned first, last;
	} turns[] = {{0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
	char out[64];

	for (size_t i = 0; i < COUNT(turns); i++) {
		/* One before and one after pass. */
		for (unsigned code = turns[i].first - 1; code <= turns[i].last + 1; code++) {
			char text[] = {(char)(0xe0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3f)),
				       (char)(0x80 | (code & 0x3f)), 0};
			bool passes = code < turns[i].first || code > turns[i].last;

			assert_string_equal(gw_printable(out, sizeof(out), text),
					    passes ? text : "???");
		}
	}
}

TEST(names_are_shortened_in_the_middle)
{
	char *s = gw_shorten("abcdefghijklmnopqrstuvwxyz", 10);

	assert_string_equal(s, "abcdef…xyz");
	free(s);
	s = gw_shorten("µµµµ", 4);
	assert_string_equal(s, "µµµµ");
	free(s);
}

TEST(names_are_demangled)
{
	char *s = gw_demangle("_Z10vector_addPKfS0_Pfi");

	if (gw_demangle_missing())
		skip();
	assert_string_equal(s, "vector_add(float const*, float const*, float*, int)");
	free(s);
	s = gw_demangle("saxpy");
	assert_string_equal(s, "saxpy");
	free(s);
	s = gw_demangle("_Znonsense");
	assert_string_equal(s, "_Znonsense");
	free(s);
}

TEST(name_that_explodes_stays_mangled_and_stops_nobody)
{
	/* S0_I S1_ S1_ E, then pairs of pairs: 2^40 copies were it taken apart */
	char bomb[1200] = "_Z1f1PI1XS0_E", piece[32];
	const char *names[] = {bomb, "_Z10vector_addPKfS0_Pfi"};
	char *plain[2];

	if (gw_demangle_missing())
		skip();
	for (unsigned k = 2; k < 30; k++) {
		const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		snprintf(piece, sizeof(piece), "S_IS%c_S%c_E", digits[k - 1], digits[k - 1]);
		strcat(bomb, piece);
	}
	gw_demangle_many(names, plain, 2);
	assert_string_equal(plain[0], bomb);
	assert_string_equal(plain[1], "vector_add(float const*, float const*, float*, int)");
	free(plain[0]);
	free(plain[1]);
}

struct values {
	const char *word, *text;
	uint64_t count, size;
	double number;
	bool flag;
};

static const struct gw_option table[] = {
	{"word", GW_OPTION_CHOICE, "W", "one|two", 0, 0, offsetof(struct values, word), false,
	 false, ""},
	{"some_text", GW_OPTION_TEXT, "T", "", 0, 0, offsetof(struct values, text), false, false,
	 ""},
	{"count", GW_OPTION_COUNT, "N", "", 1, 10, offsetof(struct values, count), false, false,
	 ""},
	{"size", GW_OPTION_SIZE, "B", "", 0, 0, offsetof(struct values, size), false, false, ""},
	{"number", GW_OPTION_NUMBER, "X", "", -1, 1, offsetof(struct values, number), false, false,
	 ""},
	{"flag", GW_OPTION_FLAG, "", "", 0, 0, offsetof(struct values, flag), false, false, ""},
	{0},
};

TEST(options_are_parsed_by_their_table)
{
	char *argv[] = {"a",          "--word=two", "--some-text",   "x y", "--flag", "b",
			"--count=10", "--size=64K", "--number=-0.5", "--",  "--flag", NULL};
	struct values v = {0};
	int argc = 11;

	assert_true(gw_options_parse(table, "t", false, &argc, argv, &v));
	assert_int_equal(argc, 3);
	assert_string_equal(argv[2], "--flag");
	assert_string_equal(v.word, "two");
	assert_string_equal(v.text, "x y");
	assert_int_equal(v.count, 10);
	assert_int_equal(v.size, 65536);
	assert_true(v.number == -0.5 && v.flag);
}

TEST(bad_options_are_refused)
{
	static const char *const bad[] = {"--word=thr",
					  "--word=on",
					  "--word=one|two",
					  "--count=0",
					  "--count=11",
					  "--count=-1",
					  "--count=",
					  "--count=2x",
					  "--size=5X",
					  "--size=1KB",
					  "--size=99999999999999999999",
					  "--size=18446744073709551615G",
					  "--number=nan",
					  "--number=1.5",
					  "--flag=1",
					  "--nope",
					  "-x",
					  "--number"};

	for (size_t i = 0; i < COUNT(bad); i++) {
		char *argv[] = {(char *)(uintptr_t)bad[i], NULL};
		struct values v = {0};
		int argc = 1;

		assert_false(gw_options_parse(table, "t", false, &argc, argv, &v));
	}
}

TEST(table_gives_up_columns_and_shortens_names_to_fit)
{
	static const struct gw_table_column columns[] = {
		{"A", true, false, 0}, {"Gone", true, false, 1}, {"Name", false, true, 0}};
	static const char *const cells[] = {
		"1", "123456", "a_name_that_is_far_too_long_for_forty_columns", "22", "5", "short"};
	struct gw_table *t = gw_table_new(columns, 3);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < 6; i++)
		gw_table_cell(t, cells[i]);
	assert_int_equal(gw_table_print(t, out, 26, 0), 1);
	fclose(out);
	assert_string_equal(text, " A  Name\n 1  a_name_that_is_far_to…\n22  short\n");
	free(text);
	gw_table_free(t);
}

int main(void)
{
	setenv("LC_ALL", "C.UTF-8", 1);
	gw_message_init();
	return tests_run(NULL, NULL);
}
