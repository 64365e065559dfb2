/* gpuwatch report, as its users see it. */
#include "cli/message.h"
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define REPORT "$PREFIX/bin/gpuwatch report "
/* the list of counters grows */
#define NO_COUNTERS " | sed '/\"counters\": {/,/}/d'"

static int make_samples(void **state)
{
	return shell_setup(state) ||
	       shell("mkdir logs && for s in plain second stand_in violations aggregates "
		     "clocked "
		     "analysed unanalysed modules at_least worked hostile; do "
		     "$TOOLS/make_sample $s $s.gwl || exit 1; done; cp plain.gwl second.gwl logs; "
		     "head -c 3000 plain.gwl > cut.gwl");
}

TEST(text_is_as_reviewed)
{
	shell_prints("packed/plain.txt", REPORT "plain.gwl");
	shell_prints("packed/config_80.txt", "COLUMNS=80 " REPORT "--by=config plain.gwl");
	shell_prints("packed/aggregates_wide.txt", REPORT "--wide --by=device aggregates.gwl");
}

TEST(csv_is_as_reviewed)
{
	shell_prints("packed/plain.csv", REPORT "--csv plain.gwl");
	shell_prints("packed/config.csv", REPORT "--csv --by=config plain.gwl");
}

TEST(csv_begins_with_the_columns_of_nsys)
{
	shell_runs(REPORT "--csv plain.gwl");
	assert_int_equal(
		strncmp(shell_output,
			"Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),"
			"StdDev (ns),",
			78 + 5),
		0);
}

/* Fail unless the output is lines of well-formed UTF-8 without what drives or turns a terminal. */
static void is_plain_text(void)
{
	for (char *line = shell_output, *end; *line; line = end + 1) {
		char clean[4096];

		end = line + strcspn(line, "\n");
		assert_int_equal(*end, '\n');
		*end = '\0';
		assert_true(strlen(line) < sizeof(clean));
		assert_string_equal(gw_printable(clean, sizeof(clean), line), line);
		*end = '\n';
	}
}

TEST(hostile_names_are_plain_text_in_every_form)
{
	static const char *const forms[] = {"", "--json", "--csv", "--wide --by=config",
					    "--verify"};

	for (size_t i = 0; i < COUNT(forms); i++) {
		shell_runs("NO_COLOR=1 " REPORT "%s hostile.gwl", forms[i]);
		is_plain_text();
	}
}

TEST(hostile_names_are_no_formulas_in_csv)
{
	shell_gives("'+1+1\n'-2+3\n'=cmd|' /C calc'!A0\n'@SUM(A1)\n",
		    REPORT "--csv --mangled hostile.gwl > names.csv && python3 -c '"
			   "import csv\n"
			   "for row in csv.DictReader(open(\"names.csv\")):\n"
			   "    print(row[\"Name\"])' | sort | sed -n \"/^'/p\"");
	shell_ends(1, "grep -c '^[=+@-]\\|,[=+@]\\|,\"[=+@-]' names.csv");
}

TEST(messages_name_hostile_files_in_plain_text)
{
	shell_ends(2, REPORT "\"$(printf '\\033]0;title\\a\\342\\200\\256\\377.gwl')\"");
	shell_says("?]0;title?????.gwl: ");
	is_plain_text();
}

TEST(json_is_as_reviewed)
{
	shell_prints("packed/plain.json", REPORT "--json plain.gwl" NO_COUNTERS);
}

/* 24 launches of 12 us half as long again, of 1335 instead of 1980 MHz; unknown causes are unknown.
 */
TEST(clocks_and_slow_launches_are_reported)
{
	shell_prints("packed/clocked.txt", "COLUMNS=100 " REPORT "clocked.gwl");
	shell_says("throttled: power cap",
		   "14 slow launches in 2 episodes, 560 µs beyond the prediction");
	shell_runs(REPORT "--csv clocked.gwl | cut -d, -f33,34 | sed 1d");
	shell_says("10,", "4,");
	shell_runs(REPORT "--json clocked.gwl | grep -A40 '\"slow\": {'");
	shell_says("\"cause\": \"SM clock\"", "\"lost_ns\": 60000");
	shell_prints("packed/clocked_details.txt",
		     "COLUMNS=100 " REPORT "--verbose --top=1 clocked.gwl");
	shell_says("SM 1658 MHz (1335 to 1980)", "throttled: power cap (50.0% of samples)");
	shell_runs(REPORT "--verbose plain.gwl");
	shell_lacks("Clock", "Slow");
}

/* Of how many launches code shows nothing, or not all, and why. */
TEST(what_code_does_not_tell_is_said_with_the_reason)
{
	shell_runs("COLUMNS=200 " REPORT "--verbose analysed.gwl | grep -A1 '^  Code'");
	shell_says("Code       18 launches, data-dependent: a branch depends on what is not known "
		   "before "
		   "the launch (vector_add)",
		   "           18 launches, no code: no image in it runs on this GPU (vectorized");
	shell_lacks("large its blocks", "lost part");
	shell_runs(REPORT "--json analysed.gwl | sed -n '/^  \"code_analysis\"/,/^  ]/p'");
	shell_says("\"outcome\": \"no code\"", "\"configurations\": 1");
	shell_runs(REPORT "--json --by=config analysed.gwl | grep -A8 '^      \"code_analysis\"'");
	shell_says("\"analysed_launches\": 19", "\"reason\": null", "\"analysed_launches\": 0");
	shell_runs(REPORT "--verbose unanalysed.gwl");
	shell_says("Code       off: only mode audit reads code");
	shell_runs(REPORT "--verbose plain.gwl");
	shell_lacks("Code");
}

/* A program that was killed: what its log does not say is not taken for reported. */
TEST(a_log_that_ends_early_says_so_of_code)
{
	shell_ends(1, REPORT "--verbose cut.gwl");
	shell_says("not reached: the log ends before");
}

/* Each line of the sample: what it is bound by, what of, and what to fix first. */
TEST(bounds_are_reported_with_what_to_fix)
{
	shell_prints("packed/worked.txt", "COLUMNS=100 " REPORT "worked.gwl");
	shell_says("uncoalesced loads: 32 sectors per request",
		   "too few blocks: 8 where the GPU holds 256 at once");
	shell_prints("packed/worked_config_80.txt", "COLUMNS=80 " REPORT "--by=config worked.gwl");
	shell_prints("packed/worked.json", REPORT "--json worked.gwl" NO_COUNTERS);
}

/* No line of a report is wider than the terminal. */
TEST(report_fits_the_terminal)
{
	static const char *const logs[] = {"plain", "clocked", "analysed", "worked", "aggregates"};

	for (unsigned width = 60; width <= 140; width += 20)
		for (size_t i = 0; i < COUNT(logs); i++) {
			shell_runs("test $(COLUMNS=%u " REPORT
				   "%s.gwl | LC_ALL=C.UTF-8 wc -L) -le %u",
				   width, logs[i], width);
			shell_runs("test $(COLUMNS=%u " REPORT
				   "--by=device %s.gwl | LC_ALL=C.UTF-8 wc -L) -le %u",
				   width, logs[i], width);
		}
}

/* Nothing else than ASCII where the terminal's locale has no more. */
TEST(an_ascii_terminal_gets_ascii)
{
	static const char *const logs[] = {"plain", "clocked", "analysed", "worked"};

	for (size_t i = 0; i < COUNT(logs); i++)
		shell_ends(1, "LC_ALL=C " REPORT "%s.gwl | LC_ALL=C grep '[^ -~]'", logs[i]);
}

TEST(processes_are_merged)
{
	shell_runs(REPORT "logs");
	shell_says("2 processes", "120 kernel runs");
	shell_runs(REPORT "logs/plain.gwl logs/second.gwl");
	shell_says("120 kernel runs");
}

/* The header is a dozen lines, title included, whatever there is to say; details are asked for. */
TEST(the_header_is_at_most_twelve_lines)
{
	static const char *const logs[] = {"plain",   "clocked", "analysed",   "worked",
					   "hostile", "cut",     "violations", "aggregates"};

	for (unsigned width = 80; width <= 120; width += 20)
		for (size_t i = 0; i < COUNT(logs); i++) {
			shell("COLUMNS=%u " REPORT "%s.gwl | sed '2d;/^$/,$d' | wc -l", width,
			      logs[i]);
			assert_in_range(atoi(shell_output), 7, 12);
		}
	shell_runs(REPORT "plain.gwl");
	shell_says("When       2023-11-14 22:13:19 UTC · for 59.0 ms");
	shell_lacks("Own cost", "Dropped", "Degraded");
	shell_prints("packed/plain_details.txt", REPORT "--verbose --top=1 plain.gwl");
}

TEST(names_are_short_and_whole_ones_can_be_asked_for)
{
	shell_runs(REPORT "plain.gwl");
	shell_says("  vectorized_elementwise_kernel<4>\n", "  vector_add\n");
	shell_runs("COLUMNS=60 " REPORT "--full-names plain.gwl");
	shell_says("  void at::native::vectorized_elementwise_kernel<4>(int)\n");
	shell_runs(REPORT "--mangled plain.gwl");
	shell_says("  _Z10vector_addPKfS0_Pfi\n");
}

/* "To fix first" names rows by their number in the table. */
TEST(rows_are_numbered_and_referred_to)
{
	shell_runs("COLUMNS=160 " REPORT "worked.gwl");
	shell_says("  3  12.5%", "#3 `few_blocks` is latency-bound");
	shell_runs("COLUMNS=160 " REPORT "--top=1 worked.gwl");
	shell_says("#1 `gather_words`", ": `few_blocks` is latency-bound");
}

TEST(empty_columns_are_left_out)
{
	shell_runs(REPORT "--wide plain.gwl");
	shell_lacks("Headroom", "Limiter", "did not fit");
	shell_runs(REPORT "--wide worked.gwl");
	shell_says("Headroom");
}

/* What is not known in part has no share of a peak, in any form. */
TEST(no_bound_no_headroom)
{
	shell_gives(",,,,\n", REPORT "--csv worked.gwl | grep ',no_work$' | cut -d, -f15-19");
	shell_runs(REPORT "--json worked.gwl | python3 -c '"
			  "import json, sys\n"
			  "for k in json.load(sys.stdin)[\"kernels\"]:\n"
			  "    v = k[\"verdict\"]\n"
			  "    print(k[\"Name\"], v[\"bound\"], v[\"headroom\"] is None, "
			  "k[\"Headroom (%%)\"] is None, v[\"confidence\"] is None, "
			  "k[\"Bound\"])'");
	shell_says("no_work unknown True True True \n",
		   "stream_copy memory False False False memory\n");
}

TEST(a_filter_that_matches_nothing_says_so)
{
	shell_ends(1, REPORT "--filter=zzzz plain.gwl");
	shell_says("report: no kernel matches --filter=zzzz", "No kernel matches.");
	shell_lacks("To fix first");
	shell_gives("1\n", REPORT "--csv --filter=zzzz plain.gwl 2>/dev/null | wc -l");
	shell_gives("2\n", REPORT "--csv --filter=VECTOR_ADD plain.gwl | wc -l");
}

TEST(a_log_given_twice_counts_once)
{
	shell_runs(REPORT "plain.gwl plain.gwl");
	shell_says("warning: report: plain.gwl is given twice; it counts once", "60 kernel runs");
	shell_runs(REPORT "plain.gwl logs");
	shell_says("plain.gwl and logs/plain.gwl are the same log; it counts once",
		   "120 kernel runs");
}

/* The runs start a minute and more apart, which no process of one run does. */
TEST(runs_at_different_times_are_warned_of_and_kept_apart)
{
	shell_runs("mkdir -p runs && cp plain.gwl runs/gpuwatch.a.1.gwl && touch -d "
		   "'2023-11-14 22:13:20' runs/gpuwatch.a.1.gwl && "
		   "$TOOLS/make_sample later runs/gpuwatch.a.2.gwl && "
		   "$TOOLS/make_sample later_too runs/gpuwatch.a.3.gwl && touch -d "
		   "'2023-11-14 23:13:20' runs/gpuwatch.a.[23].gwl");
	shell_runs(REPORT "runs");
	shell_says(
		"warning: report: these are 2 runs at different times, added up; --last-run shows "
		"the last one alone",
		"2 runs at different times · 2023-11-14 22:13:19 UTC to 2023-11-14 23:13:20 UTC");
	shell_runs(REPORT "--last runs");
	shell_lacks("different times");
	shell_says("120 kernel runs");
	shell_runs("cd runs && " REPORT);
	shell_says("report: the last run: gpuwatch.a.2.gwl and 1 more\n", "120 kernel runs");
	shell_runs("GPUWATCH_OUT='runs/gpuwatch.%%h.1.gwl' " REPORT);
	shell_says("report: the last run: runs/gpuwatch.a.1.gwl\n");
	shell_ends(2, "cd empty_folder 2>/dev/null || mkdir empty_folder && cd "
		      "empty_folder && " REPORT);
	shell_says("report: missing log file argument, and no log is named gpuwatch.*.gwl here");
}

TEST(stand_in_says_so_at_the_top_of_every_output)
{
	static const char *const ways[] = {"", "--json", "--csv", "--verify", "--by=config --wide"};

	for (size_t i = 0; i < COUNT(ways); i++) {
		const char *notice;

		shell_runs(REPORT "%s stand_in.gwl", ways[i]);
		shell_says("times are scripted by the CPU stand-in, not measured on a GPU");
		notice = strstr(shell_output, "times are scripted");
		assert_true(notice - shell_output < 20);
	}
	shell_runs(REPORT "plain.gwl");
	shell_lacks("stand-in");
}

TEST(verify_lists_violations_and_exits_1)
{
	shell_runs(REPORT "violations.gwl");
	shell_says("2 violations: predictions from later measurements (--verify)");
	shell_runs(REPORT "--verbose violations.gwl");
	shell_says("check passed by 55 of 57 predictions");
	shell_ends(1, REPORT "--verify violations.gwl");
	shell_says("uses 31 measurements, only 30 are before it",
		   "uses 40 measurements, the last of which ended after that");
	shell_ends(1, REPORT "--verify --json violations.gwl");
	shell_runs(REPORT "--verify plain.gwl");
	shell_says("no violation");
}

TEST(rows_are_sorted_filtered_and_cut)
{
	shell_gives("20\n20\n20\n",
		    REPORT "--csv --by=config --sort=instances plain.gwl | cut -d, -f3 | tail -n3");
	shell_gives("Min (ns)\n255000\n12000\n3131\n",
		    REPORT "--csv --by=config --sort='Min (ns)' plain.gwl | cut -d, -f6");
	shell_runs(REPORT
		   "--csv --sort=name plain.gwl | sed 's/.*,\"\\?\\([a-z ]*\\).*/\\1/' | wc -l");
	shell_gives("2\n", REPORT "--csv --filter='^vector' plain.gwl | wc -l");
	shell_runs(REPORT "--csv --top=1 plain.gwl");
	shell_says("vectorized");
	shell_lacks("vector_add");
	shell_runs(REPORT "--csv --mangled plain.gwl");
	shell_says("_Z10vector_addPKfS0_Pfi");
}

TEST(shares_stay_those_of_all_kernels_under_a_filter)
{
	shell_runs(REPORT "--csv --filter=vector_add plain.gwl | tail -1 | cut -d, -f1");
	assert_true(atof(shell_output) > 1 && atof(shell_output) < 10);
}

TEST(device_is_chosen_by_number_uuid_or_name)
{
	shell_runs(REPORT "--device=0 plain.gwl");
	shell_says("60 kernel runs");
	shell_runs(REPORT "--device=AABBCC plain.gwl");
	shell_runs(REPORT "--device=h200 plain.gwl");
	shell_ends(2, REPORT "--device=1 plain.gwl");
	shell_says("matches no GPU of these logs");
}

TEST(cut_off_log_is_used_and_reported)
{
	shell_ends(1, REPORT "cut.gwl");
	shell_says("the file ends inside the block at offset", "and 1 more: --verbose");
	shell_ends(1, REPORT "--verbose cut.gwl");
	shell_says("no END record: the process was killed or is still running");
	shell_ends(1, REPORT "--json cut.gwl");
	shell_says("\"whole\": false");
}

TEST(bad_file_is_reported_with_its_name_and_the_others_are_shown)
{
	shell_ends(2, "echo text > text.gwl; " REPORT "text.gwl");
	shell_says("gpuwatch: text.gwl: it is not a gpuwatch log");
	shell_ends(2, REPORT "text.gwl plain.gwl");
	shell_says("60 kernel runs");
	shell_ends(2, REPORT "nothere.gwl");
	shell_says("nothere.gwl: No such file or directory; check its name");
	shell_ends(2, "head -c 300 plain.gwl > stump.gwl; " REPORT "stump.gwl");
	shell_says("stump.gwl: it ends after 300 of the ", "copy it once more");
	shell_ends(2, "mkdir -p empty; " REPORT "empty");
	shell_says("no log in this folder");
	shell_ends(2, "mkfifo fifo.gwl; " REPORT "fifo.gwl");
	shell_says("nothing comes through this pipe");
	shell_runs("bash -c '" REPORT "<(sleep 0.1; cat plain.gwl)'");
	shell_says("60 kernel runs");
	if (!geteuid())
		skip(); /* who may read everything */
	shell_ends(2, "cp plain.gwl closed.gwl; chmod 0 closed.gwl; " REPORT "closed.gwl");
	shell_says("closed.gwl: Permission denied; read it as its owner");
}

TEST(bad_options_exit_2_with_one_message)
{
	static const char *const bad[] = {"--sort=nope plain.gwl",  "--by=x plain.gwl",
					  "--filter='(' plain.gwl", "--json --csv plain.gwl",
					  "--top=-1 plain.gwl",     "--nope plain.gwl"};

	for (size_t i = 0; i < COUNT(bad); i++) {
		shell_ends(2, REPORT "%s", bad[i]);
		assert_int_equal(strncmp(shell_output, "gpuwatch: report: ", 18), 0);
		assert_ptr_equal(strchr(shell_output, '\n'),
				 shell_output + strlen(shell_output) - 1);
	}
}

TEST(compressed_log_reads_the_same)
{
	if (shell("command -v zstd && zstd -q plain.gwl -o packed.gwl.zst && " REPORT
		  "packed.gwl.zst") == 127 ||
	    strstr(shell_output, "without libzstd"))
		skip();
	shell_runs(REPORT "--csv plain.gwl > a; " REPORT "--csv packed.gwl.zst > b; cmp a b");
	shell_ends(2, "head -c 1000 packed.gwl.zst > half.gwl.zst; " REPORT "half.gwl.zst");
	shell_says("half.gwl.zst: the compressed file ends inside a frame");
}

TEST(standard_input_is_read)
{
	shell_runs("cat plain.gwl | " REPORT "--csv - > a; " REPORT "--csv plain.gwl > b; cmp a b");
}

TEST(full_output_is_an_error)
{
	shell_ends(2, REPORT "plain.gwl > /dev/full");
	shell_says("output could not be written");
}

TEST(gpu_time_is_summed_by_file)
{
	shell_runs(REPORT "--by=module modules.gwl");
	shell_says("  52.4%   110 µs          2", "  /opt/old/lib/libblas.so.13\n",
		   "  /opt/lib/libblas.so.13\n", "  [memory]\n", "  [unknown]\n", "  app\n");
	shell_runs(REPORT "--by=module --full-names modules.gwl");
	shell_says("  /usr/bin/app\n");
	shell_runs(REPORT "--by=module --json modules.gwl | grep -c '\"Name\"'");
	shell_says("5");
}

TEST(a_lower_limit_is_shown_as_one)
{
	shell_runs(REPORT "--by=config at_least.gwl");
	shell_says("  Predicted  20.0% of launches", "lower limit alone: 80.0%", "  ≥12.3 µs  ");
	shell_runs("LC_ALL=C " REPORT "--by=config at_least.gwl");
	shell_says("  >=12.3 us  ");
	shell_runs(REPORT "--by=config --json at_least.gwl");
	shell_says("\"at_least\": 4,", "\"At Least (ns)\": 12300", "\"Predicted (ns)\": null");
}

TEST(a_span_of_a_log_is_reported)
{
	shell_ends(2, REPORT "--json --until=1us plain.gwl");
	shell_says("--until=1us is no time");
	shell_ends(2, REPORT "--last=5 plain.gwl");
	shell_says("--last=5 is no span of time");
	shell_ends(2, REPORT "--since=10s --last=5s plain.gwl");
	shell_says("exclude each other");
	shell_ends(1, REPORT "--until=1999-01-01T00:00:00Z plain.gwl");
	shell_says("no launch in that span");
	shell_runs(REPORT "--last=9000d plain.gwl");
	shell_ends(2, "$PREFIX/bin/gpuwatch whatif --device=A100 --last=5 plain.gwl");
	shell_says("whatif: --last=5 is no span of time");
}

TESTS_MAIN(make_samples, shell_teardown)
