/* gpuwatch diff, as its users see it. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define DIFF "COLUMNS=120 $PREFIX/bin/gpuwatch diff "
#define PICK "python3 " HERE "/pick.py "

static int make_runs(void **state)
{
	return shell_setup(state) || shell("$TOOLS/diff_logs");
}

TEST(what_changed_is_shown_as_reviewed)
{
	shell_ends(1, DIFF "base.gwl other.gwl");
	shell_is_golden("packed/diff.txt");
	shell_ends(1, DIFF "--all --top=3 base.gwl other.gwl");
	shell_is_golden("packed/diff_all.txt");
	shell_ends(1, DIFF "--markdown base.gwl other.gwl");
	shell_is_golden("packed/diff.md");
	shell_ends(1, DIFF "--json base.gwl other.gwl");
	shell_is_golden("packed/diff.json");
}

/* By 5 and 10%; the one of 2% is within --fail-on, that of few launches has no interval. */
TEST(regressions_decide_the_exit_status)
{
	shell_ends(1, DIFF "--fail-on=6 base.gwl other.gwl");
	shell_runs(DIFF "--fail-on=12 base.gwl other.gwl");
	shell_runs(DIFF "base.gwl base.gwl");
	shell_says("No change was found.");
	shell_gives("hashed\nslightly_slower\nslower\n",
		    DIFF "--json --fail-on=1 base.gwl other.gwl | " PICK
			 "'sorted(r[\"name\"] for r in o[\"rows\"] if r[\"regression\"])'");
}

/* A tenth less clock explains a tenth more time. */
TEST(what_a_lower_clock_explains_is_no_regression)
{
	shell_runs(DIFF "base.gwl clocked.gwl");
	shell_says("SM clock differs by -10.0%");
}

TEST(kernels_are_matched_by_name_arguments_and_resources)
{
	shell(DIFF "--json base.gwl other.gwl >diff.json");
	shell_gives("['added', 'new', None]\n"
		    "['gone', 'gone', None]\n"
		    "['launched_thrice', 'few_times', None]\n"
		    "['new_name', 'renamed', 'old_name']\n"
		    "['rehashed', 'same', None]\n",
		    PICK "'[[r[\"name\"], r[\"verdict\"], r[\"was\"]] for r in o[\"rows\"] "
			 "if r[\"name\"] in (\"new_name\", \"rehashed\", \"added\", "
			 "\"gone\", \"launched_thrice\")]' <diff.json | sort");
	/* Two rows of one kernel and shape stay two where their argument hashes are in both runs.
	 */
	shell_gives("[51, 'same']\n[68, 'slower']\n",
		    PICK "'sorted([r[\"argument_hash\"], r[\"verdict\"]] for r in "
			 "o[\"rows\"] if r[\"name\"] == \"hashed\")' <diff.json");
}

TEST(other_arguments_of_a_kernel_that_both_runs_have_are_no_change)
{
	shell(DIFF "--json moved.gwl moved_other.gwl >diff.json");
	shell_gives("[17, 'same', None]\n[51, 'same', None]\n"
		    "[68, 'gone', None]\n[85, 'new', None]\n"
		    "[102, 'gone', None]\n",
		    PICK "'sorted([r[\"argument_hash\"], r[\"verdict\"], r[\"was\"]] "
			 "for r in o[\"rows\"])' <diff.json");
	shell_runs(DIFF "moved.gwl moved_other.gwl");
	shell_says("No change was found.", "not shown: 3 rows, new or gone");
	shell_runs(DIFF "--all moved.gwl moved_other.gwl");
	shell_says("gone ");
	shell_lacks("not shown");
}

TEST(renamed_kernels_are_matched_by_their_code)
{
	shell(DIFF "--json base.gwl other.gwl >diff.json");
	shell_gives("['new_code', 'new', None, None]\n"
		    "['new_name', 'renamed', 'old_name', None]\n"
		    "['new_pair', 'renamed', 'old_pair', False]\n"
		    "['new_twin', 'renamed', 'old_twin', False]\n"
		    "['old_code', 'gone', None, None]\n"
		    "['same_name', 'faster', None, True]\n",
		    PICK "'sorted([r[\"name\"], r[\"verdict\"], r[\"was\"], "
			 "r[\"code_changed\"]] for r in o[\"rows\"] if "
			 "r[\"name\"].endswith((\"twin\", \"pair\", \"code\", "
			 "\"same_name\", \"new_name\")))' <diff.json");
}

TEST(logs_with_sums_are_compared_by_means_of_spans)
{
	shell_ends(1, DIFF "sums.gwl sums_slower.gwl");
	shell_says("means of spans of 10 s or more", "slower !", "1,500,030 launches");
	shell_runs(DIFF "--all sums.gwl sums.gwl");
	shell_says("+0.00%");
}

/* They last ten seconds here: the last one begins before, and most of it is within. */
TEST(a_sum_is_where_the_middle_of_its_span_is)
{
	shell_runs("$PREFIX/bin/gpuwatch report --last=6s sums.gwl");
	shell_says("50,000 kernel runs");
	shell_ends(1, "$PREFIX/bin/gpuwatch report --last=4s sums.gwl");
}

TEST(sums_are_not_compared_with_predictions)
{
	shell_runs(DIFF "--against-prediction sums.gwl");
	shell_says("do not say what was predicted",
		   "1 not predicted before their kernel was timed");
	shell_ends(1, DIFF "--against-prediction base.gwl | grep -c Note");
	shell_runs(DIFF "--against-prediction --json sums.gwl");
	shell_says("\"sums\": true");
}

TEST(folders_are_runs_of_several_processes)
{
	shell_runs("mkdir -p a b && cp base.gwl a/1.gwl && cp base.gwl a/2.gwl && "
		   "cp base.gwl b/1.gwl");
	shell_runs(DIFF "a b");
	shell_says("a (2 logs)");
}

TEST(predictions_need_no_base)
{
	shell_runs("$TOOLS/make_sample worked worked.gwl");
	shell_runs(DIFF "--all --against-prediction worked.gwl");
	shell_is_golden("packed/diff_against_prediction.txt");
}

TEST(limits_in_percent_may_say_so)
{
	shell_ends(1, DIFF "--fail-on=3%% --min-share=1%% base.gwl other.gwl");
	shell_says("by more than 3%");
	shell_ends(2, DIFF "--fail-on=%% base.gwl other.gwl 2>&1");
}

TEST(wrong_use_is_refused_with_the_remedy)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{"", "two logs or folders"},
		{"base.gwl", "two logs or folders"},
		{"base.gwl other.gwl base.gwl", "two logs or folders"},
		{"--against-prediction base.gwl other.gwl", "takes one log"},
		{"--json --markdown base.gwl other.gwl", "exclude each other"},
		{"base.gwl missing.gwl", "missing.gwl: No such file"},
		{"base.gwl empty", "no log in this folder"},
		{"--fail-on=x base.gwl other.gwl", "--fail-on"},
	};

	shell_runs("mkdir -p empty");
	for (size_t i = 0; i < COUNT(cases); i++) {
		shell_ends(2, DIFF "%s", cases[i].arguments);
		shell_says(cases[i].says);
	}
}

TESTS_MAIN(make_runs, shell_teardown)
