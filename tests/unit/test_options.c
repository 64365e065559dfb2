#include "preload/runtime/options.h"
#include "tests/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every variable of the list unset. */
static int clear(void **state)
{
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) unsetenv(variable);
#include "predictor/core/config.def"
#undef OPTION
	return 0;
}

static void with(const char *variable, const char *value)
{
	setenv(variable, value, 1);
	gw_options_read();
}

static void assert_defaults(void)
{
	assert_int_equal(gw_options.mode, GW_MODE_AUDIT);
	assert_int_equal(gw_options.summary, GW_SUMMARY_AUTO);
	assert_int_equal(gw_options.log_max, 1u << 30);
	assert_int_equal(gw_options.ring, 16384);
	assert_int_equal(gw_options.event_rate, 16);
	assert_string_equal(strrchr(gw_options.out, '/'), "/gpuwatch.%h.%p.gwl");
	assert_string_equal(gw_options.cupti, "");
}

/* Rejected, reported by name and value, and the default stands. */
static void refuses(const char *variable, const char *value)
{
	clear(NULL);
	with(variable, value);
	if (!strstr(gw_options.rejected, variable))
		print_error("%s=%s was taken\n", variable, value);
	assert_non_null(strstr(gw_options.rejected, variable));
	assert_non_null(strstr(gw_options.rejected, ": must be "));
	assert_defaults();
}

TEST_WITH(defaults_hold_where_nothing_is_set, clear, NULL)
{
	gw_options_read();
	assert_string_equal(gw_options.rejected, "");
	assert_defaults();
}

/* The program may leave its folder before it launches; and a percent sign of that is no macro. */
TEST_WITH(the_name_of_the_log_is_absolute_from_the_start, clear, NULL)
{
	static const char folder[] = "/tmp/100%p";
	char before[4096];

	assert_non_null(getcwd(before, sizeof(before)));
	assert_true(mkdir(folder, 0700) == 0 || errno == EEXIST);
	assert_int_equal(chdir(folder), 0);
	with("GPUWATCH_OUT", "logs/%p.gwl");
	assert_int_equal(chdir(before), 0);
	rmdir(folder);
	assert_string_equal(gw_options.out, "/tmp/100%%p/logs/%p.gwl");
	with("GPUWATCH_OUT", "/var/log/x");
	assert_string_equal(gw_options.out, "/var/log/x");
}

/* Whether there is such a folder is looked at where the log is opened. */
TEST_WITH(a_folder_stands_for_the_default_name_in_it, clear, NULL)
{
	with("GPUWATCH_OUT", "/tmp/not there/");
	assert_string_equal(gw_options.out, "/tmp/not there/gpuwatch.%h.%p.gwl");
	with("GPUWATCH_OUT", "/tmp");
	assert_string_equal(gw_options.out, "/tmp");
}

TEST_WITH(an_empty_value_is_as_none, clear, NULL)
{
	setenv("GPUWATCH_MODE", "", 1);
	setenv("GPUWATCH_OUT", "", 1);
	setenv("GPUWATCH_LOG_MAX", "", 1);
	defaults_hold_where_nothing_is_set(state);
}

TEST_WITH(every_mode_and_summary_is_known, clear, NULL)
{
	with("GPUWATCH_MODE", "count");
	assert_int_equal(gw_options.mode, GW_MODE_COUNT);
	with("GPUWATCH_MODE", "off");
	assert_int_equal(gw_options.mode, GW_MODE_OFF);
	with("GPUWATCH_MODE", "audit");
	assert_int_equal(gw_options.mode, GW_MODE_AUDIT);
	with("GPUWATCH_SUMMARY", "0");
	assert_int_equal(gw_options.summary, GW_SUMMARY_NO);
	with("GPUWATCH_SUMMARY", "1");
	assert_int_equal(gw_options.summary, GW_SUMMARY_YES);
	with("GPUWATCH_SUMMARY", "auto");
	assert_int_equal(gw_options.summary, GW_SUMMARY_AUTO);
	assert_string_equal(gw_options.rejected, "");
}

TEST_WITH(disable_wins_over_the_mode, clear, NULL)
{
	setenv("GPUWATCH_DISABLE", "1", 1);
	with("GPUWATCH_MODE", "count");
	assert_int_equal(gw_options.mode, GW_MODE_OFF);
	with("GPUWATCH_DISABLE", "0");
	assert_int_equal(gw_options.mode, GW_MODE_COUNT);
}

TEST_WITH(sizes_have_units, clear, NULL)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {{"65536", 65536},
		     {"64K", 65536},
		     {"64k", 65536},
		     {"3M", UINT64_C(3) << 20},
		     {"2g", UINT64_C(2) << 30},
		     {"1T", UINT64_C(1) << 40},
		     {"1024G", UINT64_C(1) << 40},
		     {"1099511627776", UINT64_C(1) << 40}};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		with("GPUWATCH_LOG_MAX", sizes[i].text);
		assert_string_equal(gw_options.rejected, "");
		assert_int_equal(gw_options.log_max, sizes[i].bytes);
	}
}

TEST_WITH(a_ring_is_rounded_up_to_a_power_of_two, clear, NULL)
{
	with("GPUWATCH_RING", "64");
	assert_int_equal(gw_options.ring, 64);
	with("GPUWATCH_RING", "65");
	assert_int_equal(gw_options.ring, 128);
	with("GPUWATCH_RING", "1048576");
	assert_int_equal(gw_options.ring, 1048576);
}

TEST_WITH(texts_are_taken_as_they_are, clear, NULL)
{
	setenv("GPUWATCH_OUT", "/tmp/with space.%p", 1);
	with("GPUWATCH_CUPTI", "none");
	assert_string_equal(gw_options.out, "/tmp/with space.%p");
	assert_string_equal(gw_options.cupti, "none");
}

TEST_WITH(what_is_not_understood_keeps_its_default, clear, NULL)
{
	static const char *const bad[][2] = {
		{"GPUWATCH_MODE", "audi"},       {"GPUWATCH_MODE", "audit|count"},
		{"GPUWATCH_MODE", "Count"},      {"GPUWATCH_DISABLE", "2"},
		{"GPUWATCH_DISABLE", "yes"},     {"GPUWATCH_SUMMARY", "2"},
		{"GPUWATCH_LOG_MAX", "65535"},   {"GPUWATCH_LOG_MAX", "2T"},
		{"GPUWATCH_LOG_MAX", "1X"},      {"GPUWATCH_LOG_MAX", "1GB"},
		{"GPUWATCH_LOG_MAX", "100000 "}, {"GPUWATCH_LOG_MAX", "K"},
		{"GPUWATCH_LOG_MAX", "1.5G"},    {"GPUWATCH_LOG_MAX", "18446744073709551615T"},
		{"GPUWATCH_RING", "63"},         {"GPUWATCH_RING", "1048577"},
		{"GPUWATCH_RING", "-64"},        {"GPUWATCH_RING", " -64"},
		{"GPUWATCH_RING", "1K"},         {"GPUWATCH_RING", "99999999999999999999999"},
		{"GPUWATCH_EVENT_RATE", "0"},    {"GPUWATCH_EVENT_RATE", "1000001"},
		{"GPUWATCH_EVENT_RATE", "many"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		refuses(bad[i][0], bad[i][1]);
}

/* The whole sentence, so that nothing of it is cut off. */
TEST_WITH(what_a_value_must_be_is_reported, clear, NULL)
{
	static const char *const reported[][3] = {
		{"GPUWATCH_MODE", "audi", "must be one of audit|watch|count|off|idle; using audit"},
		{"GPUWATCH_DISABLE", "yes", "must be a whole number from 0 to 1; using 0"},
		{"GPUWATCH_BUDGET", "0.5", "must be a whole number from 0 to 100; using 1"},
		{"GPUWATCH_LOG_MAX", "012345678901234567890123456789012345678901234567890123456789",
		 "must be bytes, with K, M, G or T, from 65536 to 1099511627776; using 1G"},
	};
	char whole[300];

	for (size_t i = 0; i < sizeof(reported) / sizeof(*reported); i++) {
		clear(NULL);
		with(reported[i][0], reported[i][1]);
		snprintf(whole, sizeof(whole), "%s=%s: %s", reported[i][0], reported[i][1],
			 reported[i][2]);
		assert_string_equal(gw_options.rejected, whole);
	}
}

/* Nobody asked for counters by a variable that is empty. */
TEST_WITH(an_empty_variable_asks_for_no_counters, clear, NULL)
{
	with("GPUWATCH_COUNTERS", "");
	assert_false(gw_options.counters_asked);
	with("GPUWATCH_COUNTERS", "pm");
	assert_true(gw_options.counters_asked);
}

TEST_WITH(a_text_too_long_is_refused, clear, NULL)
{
	static char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	refuses("GPUWATCH_OUT", text);
	refuses("GPUWATCH_CUPTI", text);
	text[4095] = 0;
	clear(NULL);
	with("GPUWATCH_OUT", text);
	assert_string_equal(gw_options.out, text);
}

TEST_WITH(only_the_first_misunderstanding_is_reported, clear, NULL)
{
	setenv("GPUWATCH_MODE", "wrong", 1);
	with("GPUWATCH_RING", "wrong");
	assert_non_null(strstr(gw_options.rejected, "GPUWATCH_MODE=wrong"));
	assert_null(strstr(gw_options.rejected, "GPUWATCH_RING"));
	clear(NULL);
	gw_options_read();
	assert_string_equal(gw_options.rejected, "");
}

int main(void)
{
	return tests_run(NULL, NULL);
}
