/* Logs recorded on a GPU (tests/logs): what is read, predicted and scored from them stays. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define GPUWATCH "COLUMNS=100 $PREFIX/bin/gpuwatch "
#define PICK     "python3 " HERE "/pick.py "

/* Names without ending: those unpacked when the build was configured. */
static const char *const logs[] = {RECORDED_LOGS};

#define LOGS COUNT(logs)

TEST(each_is_whole_and_proven)
{
	for (size_t i = 0; i < LOGS; i++) {
		shell_gives("True\nFalse\n0\n",
			    GPUWATCH "report --verify --json " RECORDED "/%s.gwl | " PICK
				     "'[p[\"whole\"] for p in o[\"processes\"]] + "
				     "[o[\"stand_in\"], o[\"causality\"][\"violations\"]]'",
			    logs[i]);
	}
}

/* A later predictor says other things; what this one says it says again, to the bit. */
TEST(each_replays_to_the_bit)
{
	for (size_t i = 0; i < LOGS; i++) {
		shell_runs(GPUWATCH "replay -o %s.gwl " RECORDED "/%s.gwl >/dev/null && " GPUWATCH
				    "replay --check %s.gwl",
			   logs[i], logs[i], logs[i]);
		shell_says(": all of ");
	}
}

static bool recorded(const char *name)
{
	size_t i = 0;

	while (i < LOGS && strcmp(logs[i], name))
		i++;
	return i < LOGS;
}

/* Lines that the first page leaves out stand for themselves as an ellipsis. */
TEST(the_readme_shows_what_an_example_printed)
{
	shell_runs("cd " SOURCE " && for f in README.md "
		   "examples/04_python_torch/README.md; do sed -n "
		   "'/^\\$ build.*train.gwl -- /,/^```/p' $f > $OLDPWD/${f%%%%/*}.txt; done; "
		   "cd $OLDPWD && test $(wc -l < README.md.txt) -gt 20 && "
		   "test \"$(diff examples.txt README.md.txt | grep '^>')\" = '>   …'");
}

/* Reports do, and diff and whatif, which name kernels as the report does, score and replay. */
TEST(runs_of_long_names_fit_the_terminal)
{
	static const char *const commands[] = {"report",
					       "diff graphs.gwl",
					       "whatif --device=" SOURCE
					       "/calib/profiles/h100-sxm.json",
					       "report --by=config workloads.gwl",
					       "score --models --by=configuration",
					       "replay --hide-times=kernel",
					       "replay"};

	if (!recorded("train") || !recorded("graphs") || !recorded("workloads"))
		skip();
	for (unsigned width = 60; width <= 80; width += 4)
		for (size_t i = 0; i < COUNT(commands); i++) {
			shell("cd " RECORDED " && COLUMNS=%u $PREFIX/bin/gpuwatch %s train.gwl "
			      "> $OLDPWD/%zu.txt; LC_ALL=C.UTF-8 wc -L < $OLDPWD/%zu.txt",
			      width, commands[i], i, i);
			assert_in_range(atoi(shell_output), 40, width);
		}
	shell_ends(1, "grep -l '^void\\|at::native' 2.txt");
}

/* Calibration's multiply-adds did not reach what this kernel's did. */
TEST(a_rate_above_its_peak_is_no_share_of_it)
{
	if (!recorded("development"))
		skip();
	shell_runs("COLUMNS=160 $PREFIX/bin/gpuwatch report --filter='histogram_global|"
		   "fma_f64' " RECORDED "/development.gwl");
	shell_says(" >100% ",
		   " 98.8% "); /* of the most that the fp64 pipe reached in calibration */
}

/* They were made when the library got to the launches. */
TEST(rows_of_a_training_run_are_compared_with_what_was_predicted)
{
	if (!recorded("train"))
		skip();
	shell_ends(1, GPUWATCH "diff --against-prediction " RECORDED "/train.gwl");
	shell_says("56 rows: 2 slower, 0 faster, 26 same, 28 not predicted");
}

/* The golden files are what predictions are worth now: a change of the predictor shows here. */
TEST(each_scores_as_reviewed)
{
	char golden[64];

	for (size_t i = 0; i < LOGS; i++) {
		shell_runs("for how in '' '--hide-times=configuration' '--hide-times=kernel'; "
			   "do "
			   "COLUMNS=110 $PREFIX/bin/gpuwatch replay $how " RECORDED
			   "/%s.gwl | sed -n '/^gpuwatch replay/p;/^Predictions of/,/^The "
			   "same/"
			   "{/^The same/d;p}'; done",
			   logs[i]);
		snprintf(golden, sizeof(golden), "recorded_%s.txt", logs[i]);
		shell_is_golden(golden);
	}
}

/*
 * The goals: what is predicted of kernels, and of configurations, whose times are withheld,
 * families apart. Ends of ranges are rounded away from what is reached, so that they can be missed.
 */
TEST(the_development_set_reaches_its_goals)
{
	static const char *const goals[][2] = {
		{"kernel", "g[\"within_25\"] >= 0.75 and 0.86 <= g[\"coverage\"] <= 0.94"},
		{"configuration", "g[\"mape\"] <= 0.082 and 0.86 <= g[\"coverage\"] <= 0.94"},
	};

	if (!recorded("development")) /* a build that is too slow for it */
		skip();
	for (size_t i = 0; i < COUNT(goals); i++) {
		shell_gives("(666, True)\n",
			    GPUWATCH "replay --json --hide-times=%s --families=" FAMILIES
				     " " RECORDED "/development.gwl | " PICK
				     "'[(g[\"count\"], %s) for g in o[\"groups\"] "
				     "if g[\"model\"] == \"gpuwatch\" and g[\"basis\"] == \"all\" "
				     "and g[\"work\"] == \"all\" and g[\"length\"] == \"all\"]'",
			    goals[i][0], goals[i][1]);
	}
}

TESTS_MAIN(shell_setup, shell_teardown)
