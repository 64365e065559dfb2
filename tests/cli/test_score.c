/* gpuwatch score and gpuwatch replay, as their users see them. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define SCORE  "COLUMNS=100 $PREFIX/bin/gpuwatch score "
#define REPLAY "COLUMNS=100 $PREFIX/bin/gpuwatch replay "

#define PICK "python3 " HERE "/pick.py "

static int make_samples(void **state)
{
	return shell_setup(state) ||
	       shell("for s in plain stand_in aggregates unpredicted at_least worked no_work "
		     "no_profile half_profile; do "
		     "$TOOLS/make_sample $s $s.gwl || exit 1; done");
}

TEST(text_is_as_reviewed)
{
	shell_prints("packed/score.txt", SCORE "worked.gwl");
	shell_prints("packed/score_models.txt", SCORE "--models worked.gwl");
	shell_prints("packed/score_configuration.txt", SCORE
		     "--by=configuration worked.gwl | sed -n '/^Predictions of/,/^The same/p'");
}

TEST(json_is_as_reviewed)
{
	shell_prints("packed/score.json", SCORE "--json worked.gwl");
}

/* 72 launches with counted work and a device: bounds answers them all; 12 without: none. */
TEST(models_answer_where_work_and_gpu_are_known)
{
	shell_gives("['none', 12, 0]\n['measured counters', 72, 72]\n['all', 84, 72]\n", SCORE
		    "--json worked.gwl | " PICK "'[[g[\"work\"], g[\"count\"], g[\"answered\"]] "
		    "for g in o[\"groups\"] if [g[\"model\"], g[\"basis\"], g[\"length\"]] "
		    "== [\"bounds\", \"all\", \"all\"]]'");
}

TEST(what_a_log_lacks_is_said_and_the_rest_scored)
{
	static const struct {
		const char *log, *says;
	} cases[] = {
		{"no_work.gwl", "no WORK record"},
		{"no_profile.gwl", "no device profile in it"},
		{"half_profile.gwl",
		 "the profile of Test GPU in it can't be used: embedded profile"},
		{"aggregates.gwl", "1,000 launches are held as sums only"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		shell_runs(SCORE "%s", cases[i].log);
		shell_says(cases[i].says, "same shape timed", "No model could answer");
		shell_runs(SCORE "--json %s | " PICK "'o[\"missing\"]'", cases[i].log);
		shell_says(cases[i].says);
	}
}

TEST(cut_off_log_is_scored_as_far_as_it_goes)
{
	shell_runs("head -c 9000 worked.gwl > cut.gwl; " SCORE "cut.gwl");
	shell_says("the file ends inside the block", "no END record", "measured counters");
	shell_runs(REPLAY "cut.gwl");
	shell_says("no END record");
}

TEST(bad_input_is_one_message_and_status_2)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{"score", "missing log file argument"},
		{"score /nonexistent.gwl", "/nonexistent.gwl: No such file"},
		{"score --by=moon worked.gwl", "must be one of launch|configuration"},
		{"score /dev/null", "neither a file nor a pipe"},
		{"replay", "missing log file argument"},
		{"replay --model=moon worked.gwl", "unknown model \"moon\""},
		{"replay --hide-work worked.gwl", "--hide-work is for --hide-times"},
		{"replay --family=a worked.gwl", "--family is for --hide-times"},
		{"replay --hide-times=kernel --family='(' worked.gwl",
		 "is not a regular expression"},
		{"replay --hide-times=kernel --families=/nonexistent worked.gwl",
		 "/nonexistent: No such file"},
		{"replay --hide-times=kernel --families=bad worked.gwl",
		 "bad:2: a line is \"family kernel\""},
		{"replay --hide-times=kernel --families=. worked.gwl",
		 ".: Is a directory; name a file of lines"},
		{"replay --hide-times=kernel --families=/dev/null worked.gwl",
		 "/dev/null: no line of it is \"family kernel\""},
		{"replay --check --hide-times=kernel worked.gwl", "leave out --hide-times"},
		{"replay --check --plot=p worked.gwl", "leave out --plot"},
		{"replay --check --by=launch worked.gwl", "leave out --by"},
		{"replay -o out.gwl worked.gwl plain.gwl", "--output takes one log"},
		{"replay -o /nonexistent/out.gwl worked.gwl",
		 "--output=/nonexistent/out.gwl can't be written: No such file or directory; name "
		 "a "
		 "file in a folder where you may write"},
		{"replay -o . worked.gwl", "--output=. can't be written: Is a directory; give"},
		{"replay -o out.gwl - <worked.gwl", "a pipe can't be; give a file"},
		{"score --plot= worked.gwl", "must be the name of a file or folder"},
		{"score --plot=bad worked.gwl", "this is a file and no folder"},
		{"score --help=1 worked.gwl", "--help takes no value; leave out \"=1\""},
		{"predict --device=H200 --launch=worked.gwl", "gpuwatch whatif says how long"},
		{"predict --device= --launch=bad", "--device=: must be a name"},
		{"predict --device=bad --launch=bad", "for the file of that name write ./bad"},
	};

	shell_runs("printf '# families\\nonly_a_family\\n' > bad");
	for (size_t i = 0; i < COUNT(cases); i++) {
		shell_ends(2, "$PREFIX/bin/gpuwatch %s 2>&1 >/dev/null", cases[i].arguments);
		shell_says(cases[i].says);
		assert_ptr_equal(strchr(shell_output, '\n') + 1, strchr(shell_output, '\0'));
	}
}

/* Under the other name of a link, too; and what stood there stays where writing fails. */
TEST(a_log_is_not_replayed_onto_itself)
{
	shell_ends(2, "cp worked.gwl own.gwl; ln -f own.gwl link.gwl; " REPLAY
		      "-o link.gwl own.gwl 2>&1 >/dev/null");
	shell_says("--output=link.gwl: this is a gpuwatch log, which is not overwritten");
	shell_runs("cmp own.gwl worked.gwl");
	shell_ends(2, "echo old > out.gwl; (ulimit -f 1; trap '' XFSZ; " REPLAY
		      "-o out.gwl own.gwl >/dev/null)");
	shell_says("--output=out.gwl can't be written: File too large");
	shell_gives("old\nout.gwl\n", "cat out.gwl; ls out.gwl*");
}

/* Whatever writes, the file it reads and any log are left as they are: compressed, linked, other.
 */
TEST(nothing_writes_over_a_log_or_over_what_it_reads)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{"report --html kept.gwl", "report: --html=kept.gwl: this is a gpuwatch log"},
		{"report --html=kept.gwl worked.gwl", "; name another file, or remove this"},
		{"report --html=link.gwl kept.gwl", "--html=link.gwl: this is a gpuwatch log"},
		{"report --html=kept.gwl logs", "--html=kept.gwl: this is a gpuwatch log"},
		{"export --format=csv -o kept.gwl worked.gwl", "export: --output=kept.gwl: this"},
		{"replay -o kept.gwl worked.gwl", "replay: --output=kept.gwl: this is a"},
		{"score --plot=kept.gwl worked.gwl", "score: --plot=kept.gwl: this is a"},
		{"replay --plot=kept.gwl worked.gwl", "replay: --plot=kept.gwl: this is a"},
		{"inspect --plot=kept.gwl bad", "inspect: --plot=kept.gwl: this is a"},
		{"inspect --plot=text text", "--plot=text: this is what the command reads; name"},
		{"predict --plot=text --launch=text --device=H200", "--plot=text: this is what"},
		{"calibrate --from=H200 --html=kept.gwl", "calibrate: --html=kept.gwl: this is a"},
		{"calibrate --from=./text --html=text", "--html=text: this is what the command"},
		{"calibrate --from=H200 -o kept.gwl", "calibrate: --output=kept.gwl: this is a"},
		{"fleet --html=kept.gwl logs", "fleet: --html=kept.gwl: this is a gpuwatch log"},
	};

	shell_runs("mkdir -p logs; cp worked.gwl kept.gwl; ln -f kept.gwl link.gwl; "
		   "ln -f kept.gwl logs/a.gwl; echo text > text");
	for (size_t i = 0; i < COUNT(cases); i++) {
		shell_ends(2, "$PREFIX/bin/gpuwatch %s 2>&1 >/dev/null", cases[i].arguments);
		shell_says(cases[i].says);
		assert_ptr_equal(strchr(shell_output, '\n') + 1, strchr(shell_output, '\0'));
	}
	shell_gives("text\n", "cmp worked.gwl kept.gwl; cat text");
	/* A compressed log is known as one wherever it can be read. */
	if (shell("command -v zstd && zstd -qf worked.gwl -o packed.zst && " SCORE "packed.zst"))
		return;
	shell_ends(2, REPLAY "--output=packed.zst worked.gwl");
	shell_says("--output=packed.zst: this is a gpuwatch log");
}

TEST(unreadable_log_among_others_is_reported_and_the_others_scored)
{
	shell_ends(2, SCORE "/nonexistent.gwl plain.gwl 2>&1");
	shell_says("/nonexistent.gwl: No such file", "same shape timed");
}

TEST(a_folder_stands_for_its_logs_and_a_pipe_for_one)
{
	shell_runs("mkdir -p of none; cp worked.gwl of/a.gwl; cp plain.gwl of/b.gwl; " SCORE
		   "of >folder; " SCORE "of/a.gwl of/b.gwl >files; cmp folder files");
	shell_runs(SCORE "worked.gwl >file; bash -c '" SCORE
			 "<(cat worked.gwl)' >pipe; cmp file pipe");
	shell_ends(2, SCORE "none 2>&1");
	shell_says("none: no log in this folder");
	shell_ends(2, "$PREFIX/bin/gpuwatch replay --output=anew of 2>&1; ls anew");
	shell_says("--output takes one log");
}

TEST(stand_in_says_so_first)
{
	shell_runs(SCORE "stand_in.gwl | head -1");
	shell_says("scripted by the CPU stand-in");
	shell_runs(SCORE "--json stand_in.gwl | sed -n 2p");
	shell_says("\"notice\"");
}

TEST(pictures_show_gpuwatch_and_with_models_each_that_answers)
{
	shell_gives("predicted-gpuwatch.svg\n",
		    SCORE "--plot=pictures worked.gwl >/dev/null && ls pictures");
	shell_gives("predicted-bounds.svg\npredicted-gpuwatch.svg\n",
		    SCORE "--models --plot=pictures worked.gwl >/dev/null && ls pictures");
	shell_runs("grep -c '<title>' pictures/predicted-gpuwatch.svg; "
		   "cat pictures/predicted-gpuwatch.svg");
	shell_says("same shape timed, work: measured counters", "25% off");
	shell_runs("test $(grep -c '25%%' pictures/predicted-gpuwatch.svg) = 3");
	shell_ends(2, SCORE "--plot=/nonexistent/x worked.gwl 2>&1 >/dev/null");
	shell_says("the folder cannot be made");
}

/* What the sample says was predicted is made up: no predictor says that again. */
TEST(other_predictions_than_the_log_has_are_found)
{
	shell_ends(1, REPLAY "--check worked.gwl");
	shell_says("0 of 83 predictions",
		   "the first that differs: launch 1 of the log, called after 0 measurements",
		   "differs in time, interval");
	shell_gives("[83, 0, 12, 12]\n", REPLAY
		    "--check --json worked.gwl | " PICK "'[str([r[\"logged\"], r[\"equal\"], "
		    "r[\"publications\"], r[\"in_step\"]]) for r in o[\"replayed\"]]'");
	shell_gives("[1]\n",
		    REPLAY "--check --json worked.gwl | " PICK "'str([d[\"launch\"] for d in "
			   "[r[\"first_difference\"] for r in o[\"replayed\"]]])'");
}

TEST(a_log_without_predictions_is_no_proof)
{
	shell_ends(1, REPLAY "--check unpredicted.gwl");
	shell_says("no prediction in it to compare with");
	shell_runs("rm -f again.gwl; " REPLAY "-o again.gwl worked.gwl >/dev/null && " REPLAY
		   "--check unpredicted.gwl again.gwl");
}

TEST(a_lower_limit_is_no_answer)
{
	shell_runs(SCORE "at_least.gwl");
	shell_says("  Predicted   20.0% of 5", "no prediction");
}

TEST(replay_of_a_replay_has_the_same_bits)
{
	shell_runs("rm -f again.gwl; " REPLAY "-o again.gwl worked.gwl >/dev/null && " REPLAY
		   "--check again.gwl");
	shell_says("all of 83");
	shell_runs(REPLAY "again.gwl | sed -n '/^gpuwatch replay/,$p' > a; " REPLAY
			  "worked.gwl | sed -n '/^gpuwatch replay/,$p' > b; sed -i "
			  "'/worked.gwl/d' a b; "
			  "grep -v again.gwl a | diff - b");
	/* Everything but the predictions stands as it stood. */
	shell_gives("1\n",
		    "for f in worked again; do $PREFIX/bin/gpuwatch report --json $f.gwl | " PICK
		    "'str([o[\"launches\"], o[\"total_ns\"], "
		    "o[\"verdict\"][\"seconds_by_bound\"], "
		    "[[k[\"Name\"], k[\"Total Time (ns)\"]] for k in o[\"kernels\"]]])'; "
		    "done | uniq | wc -l");
	shell_runs("$PREFIX/bin/gpuwatch report again.gwl");
	shell_says("the predictions are those of a replay, as recorded");
}

TEST(replay_scores_what_it_predicts)
{
	shell_runs(REPLAY "worked.gwl");
	shell_says("gpuwatch replay: as recorded", "same shape timed");
	shell_gives("gpuwatch-score-2\n83\n",
		    REPLAY "--json worked.gwl | " PICK
			   "'[o[\"schema\"], o[\"replayed\"][0][\"logged\"]]'");
}

TESTS_MAIN(make_samples, shell_teardown)
