/* SPDX-License-Identifier: Apache-2.0 */
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
	assert_int_equal(shell(REPORT "--csv plain.gwl"), 0);
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

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		assert_int_equal(shell("NO_COLOR=1 " REPORT "%s hostile.gwl", forms[i]), 0);
		is_plain_text();
	}
}

TEST(hostile_names_are_no_formulas_in_csv)
{
	assert_int_equal(shell(REPORT "--csv --mangled hostile.gwl > names.csv && python3 -c '"
				      "import csv\n"
				      "for row in csv.DictReader(open(\"names.csv\")):\n"
				      "    print(row[\"Name\"])' | sort | sed -n \"/^'/p\""),
			 0);
	assert_string_equal(shell_output, "'+1+1\n'-2+3\n'=cmd|' /C calc'!A0\n'@SUM(A1)\n");
	assert_int_equal(shell("grep -c '^[=+@-]\\|,[=+@]\\|,\"[=+@-]' names.csv"), 1);
}

TEST(messages_name_hostile_files_in_plain_text)
{
	assert_int_equal(shell(REPORT "\"$(printf '\\033]0;title\\a\\342\\200\\256\\377.gwl')\""),
			 2);
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
	shell_says("throttled: power cap");
	shell_says("14 slow launches in 2 episodes, 560 µs beyond the prediction");
	assert_int_equal(shell(REPORT "--csv clocked.gwl | cut -d, -f33,34 | sed 1d"), 0);
	shell_says("10,");
	shell_says("4,");
	assert_int_equal(shell(REPORT "--json clocked.gwl | grep -A40 '\"slow\": {'"), 0);
	shell_says("\"cause\": \"SM clock\"");
	shell_says("\"lost_ns\": 60000");
	shell_prints("packed/clocked_details.txt",
		     "COLUMNS=100 " REPORT "--verbose --top=1 clocked.gwl");
	shell_says("SM 1658 MHz (1335 to 1980)");
	shell_says("throttled: power cap (50.0% of samples)");
	assert_int_equal(shell(REPORT "--verbose plain.gwl"), 0);
	assert_null(strstr(shell_output, "Clock"));
	assert_null(strstr(shell_output, "Slow"));
}

/* Of how many launches code shows nothing, or not all, and why. */
TEST(what_code_does_not_tell_is_said_with_the_reason)
{
	assert_int_equal(shell("COLUMNS=200 " REPORT "--verbose analysed.gwl | grep -A1 '^  Code'"),
			 0);
	shell_says("Code       18 launches, data-dependent: a branch depends on what is not known "
		   "before "
		   "the launch (vector_add)");
	shell_says("           18 launches, no code: no image in it runs on this GPU (vectorized");
	assert_null(strstr(shell_output, "large its blocks"));
	assert_null(strstr(shell_output, "lost part"));
	assert_int_equal(
		shell(REPORT "--json analysed.gwl | sed -n '/^  \"code_analysis\"/,/^  ]/p'"), 0);
	shell_says("\"outcome\": \"no code\"");
	shell_says("\"configurations\": 1");
	assert_int_equal(
		shell(REPORT
		      "--json --by=config analysed.gwl | grep -A8 '^      \"code_analysis\"'"),
		0);
	shell_says("\"analysed_launches\": 19");
	shell_says("\"reason\": null");
	shell_says("\"analysed_launches\": 0");
	assert_int_equal(shell(REPORT "--verbose unanalysed.gwl"), 0);
	shell_says("Code       off: only mode audit reads code");
	assert_int_equal(shell(REPORT "--verbose plain.gwl"), 0);
	assert_null(strstr(shell_output, "Code"));
}

/* A program that was killed: what its log does not say is not taken for reported. */
TEST(a_log_that_ends_early_says_so_of_code)
{
	assert_int_equal(shell(REPORT "--verbose cut.gwl"), 1);
	shell_says("not reached: the log ends before");
}

/* Each line of the sample: what it is bound by, what of, and what to fix first. */
TEST(bounds_are_reported_with_what_to_fix)
{
	shell_prints("packed/worked.txt", "COLUMNS=100 " REPORT "worked.gwl");
	shell_says("uncoalesced loads: 32 sectors per request");
	shell_says("too few blocks: 8 where the GPU holds 256 at once");
	shell_prints("packed/worked_config_80.txt", "COLUMNS=80 " REPORT "--by=config worked.gwl");
	shell_prints("packed/worked.json", REPORT "--json worked.gwl" NO_COUNTERS);
}

/* No line of a report is wider than the terminal. */
TEST(report_fits_the_terminal)
{
	static const char *const logs[] = {"plain", "clocked", "analysed", "worked", "aggregates"};

	for (unsigned width = 60; width <= 140; width += 20)
		for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
			assert_int_equal(shell("test $(COLUMNS=%u " REPORT
					       "%s.gwl | LC_ALL=C.UTF-8 wc -L) -le %u",
					       width, logs[i], width),
					 0);
			assert_int_equal(shell("test $(COLUMNS=%u " REPORT
					       "--by=device %s.gwl | LC_ALL=C.UTF-8 wc -L) -le %u",
					       width, logs[i], width),
					 0);
		}
}

/* Nothing else than ASCII where the terminal's locale has no more. */
TEST(an_ascii_terminal_gets_ascii)
{
	static const char *const logs[] = {"plain", "clocked", "analysed", "worked"};

	for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++)
		assert_int_equal(
			shell("LC_ALL=C " REPORT "%s.gwl | LC_ALL=C grep '[^ -~]'", logs[i]), 1);
}

TEST(processes_are_merged)
{
	assert_int_equal(shell(REPORT "logs"), 0);
	shell_says("2 processes");
	shell_says("120 kernel runs");
	assert_int_equal(shell(REPORT "logs/plain.gwl logs/second.gwl"), 0);
	shell_says("120 kernel runs");
}

/* The header is a dozen lines, title included, whatever there is to say; details are asked for. */
TEST(the_header_is_at_most_twelve_lines)
{
	static const char *const logs[] = {"plain",   "clocked", "analysed",   "worked",
					   "hostile", "cut",     "violations", "aggregates"};

	for (unsigned width = 80; width <= 120; width += 20)
		for (size_t i = 0; i < sizeof(logs) / sizeof(*logs); i++) {
			shell("COLUMNS=%u " REPORT "%s.gwl | sed '2d;/^$/,$d' | wc -l", width,
			      logs[i]);
			assert_in_range(atoi(shell_output), 7, 12);
		}
	assert_int_equal(shell(REPORT "plain.gwl"), 0);
	shell_says("When       2023-11-14 22:13:19 UTC · for 59.0 ms");
	assert_null(strstr(shell_output, "Own cost"));
	assert_null(strstr(shell_output, "Dropped"));
	assert_null(strstr(shell_output, "Degraded"));
	shell_prints("packed/plain_details.txt", REPORT "--verbose --top=1 plain.gwl");
}

TEST(names_are_short_and_whole_ones_can_be_asked_for)
{
	assert_int_equal(shell(REPORT "plain.gwl"), 0);
	shell_says("  vectorized_elementwise_kernel<4>\n");
	shell_says("  vector_add\n");
	assert_int_equal(shell("COLUMNS=60 " REPORT "--full-names plain.gwl"), 0);
	shell_says("  void at::native::vectorized_elementwise_kernel<4>(int)\n");
	assert_int_equal(shell(REPORT "--mangled plain.gwl"), 0);
	shell_says("  _Z10vector_addPKfS0_Pfi\n");
}

/* "To fix first" names rows by their number in the table. */
TEST(rows_are_numbered_and_referred_to)
{
	assert_int_equal(shell("COLUMNS=160 " REPORT "worked.gwl"), 0);
	shell_says("  3  12.5%");
	shell_says("#3 `few_blocks` is latency-bound");
	assert_int_equal(shell("COLUMNS=160 " REPORT "--top=1 worked.gwl"), 0);
	shell_says("#1 `gather_words`");
	shell_says(": `few_blocks` is latency-bound");
}

TEST(empty_columns_are_left_out)
{
	assert_int_equal(shell(REPORT "--wide plain.gwl"), 0);
	assert_null(strstr(shell_output, "Headroom"));
	assert_null(strstr(shell_output, "Limiter"));
	assert_null(strstr(shell_output, "did not fit"));
	assert_int_equal(shell(REPORT "--wide worked.gwl"), 0);
	shell_says("Headroom");
}

/* What is not known in part has no share of a peak, in any form. */
TEST(no_bound_no_headroom)
{
	assert_int_equal(shell(REPORT "--csv worked.gwl | grep ',no_work$' | cut -d, -f15-19"), 0);
	assert_string_equal(shell_output, ",,,,\n");
	assert_int_equal(shell(REPORT
			       "--json worked.gwl | python3 -c '"
			       "import json, sys\n"
			       "for k in json.load(sys.stdin)[\"kernels\"]:\n"
			       "    v = k[\"verdict\"]\n"
			       "    print(k[\"Name\"], v[\"bound\"], v[\"headroom\"] is None, "
			       "k[\"Headroom (%%)\"] is None, v[\"confidence\"] is None, "
			       "k[\"Bound\"])'"),
			 0);
	shell_says("no_work unknown True True True \n");
	shell_says("stream_copy memory False False False memory\n");
}

TEST(a_filter_that_matches_nothing_says_so)
{
	assert_int_equal(shell(REPORT "--filter=zzzz plain.gwl"), 1);
	shell_says("report: no kernel matches --filter=zzzz");
	shell_says("No kernel matches.");
	assert_null(strstr(shell_output, "To fix first"));
	assert_int_equal(shell(REPORT "--csv --filter=zzzz plain.gwl 2>/dev/null | wc -l"), 0);
	assert_string_equal(shell_output, "1\n");
	assert_int_equal(shell(REPORT "--csv --filter=VECTOR_ADD plain.gwl | wc -l"), 0);
	assert_string_equal(shell_output, "2\n");
}

TEST(a_log_given_twice_counts_once)
{
	assert_int_equal(shell(REPORT "plain.gwl plain.gwl"), 0);
	shell_says("warning: report: plain.gwl is given twice; it counts once");
	shell_says("60 kernel runs");
	assert_int_equal(shell(REPORT "plain.gwl logs"), 0);
	shell_says("plain.gwl and logs/plain.gwl are the same log; it counts once");
	shell_says("120 kernel runs");
}

/* The runs start a minute and more apart, which no process of one run does. */
TEST(runs_at_different_times_are_warned_of_and_kept_apart)
{
	assert_int_equal(shell("mkdir -p runs && cp plain.gwl runs/gpuwatch.a.1.gwl && touch -d "
			       "'2023-11-14 22:13:20' runs/gpuwatch.a.1.gwl && "
			       "$TOOLS/make_sample later runs/gpuwatch.a.2.gwl && "
			       "$TOOLS/make_sample later_too runs/gpuwatch.a.3.gwl && touch -d "
			       "'2023-11-14 23:13:20' runs/gpuwatch.a.[23].gwl"),
			 0);
	assert_int_equal(shell(REPORT "runs"), 0);
	shell_says(
		"warning: report: these are 2 runs at different times, added up; --last-run shows "
		"the last one alone");
	shell_says(
		"2 runs at different times · 2023-11-14 22:13:19 UTC to 2023-11-14 23:13:20 UTC");
	assert_int_equal(shell(REPORT "--last runs"), 0);
	assert_null(strstr(shell_output, "different times"));
	shell_says("120 kernel runs");
	assert_int_equal(shell("cd runs && " REPORT), 0);
	shell_says("report: the last run: gpuwatch.a.2.gwl and 1 more\n");
	shell_says("120 kernel runs");
	assert_int_equal(shell("GPUWATCH_OUT='runs/gpuwatch.%%h.1.gwl' " REPORT), 0);
	shell_says("report: the last run: runs/gpuwatch.a.1.gwl\n");
	assert_int_equal(shell("cd empty_folder 2>/dev/null || mkdir empty_folder && cd "
			       "empty_folder && " REPORT),
			 2);
	shell_says("report: missing log file argument, and no log is named gpuwatch.*.gwl here");
}

TEST(stand_in_says_so_at_the_top_of_every_output)
{
	static const char *const ways[] = {"", "--json", "--csv", "--verify", "--by=config --wide"};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const char *notice;

		assert_int_equal(shell(REPORT "%s stand_in.gwl", ways[i]), 0);
		shell_says("times are scripted by the CPU stand-in, not measured on a GPU");
		notice = strstr(shell_output, "times are scripted");
		assert_true(notice - shell_output < 20);
	}
	assert_int_equal(shell(REPORT "plain.gwl"), 0);
	assert_null(strstr(shell_output, "stand-in"));
}

TEST(verify_lists_violations_and_exits_1)
{
	assert_int_equal(shell(REPORT "violations.gwl"), 0);
	shell_says("2 violations: predictions from later measurements (--verify)");
	assert_int_equal(shell(REPORT "--verbose violations.gwl"), 0);
	shell_says("check passed by 55 of 57 predictions");
	assert_int_equal(shell(REPORT "--verify violations.gwl"), 1);
	shell_says("uses 31 measurements, only 30 are before it");
	shell_says("uses 40 measurements, the last of which ended after that");
	assert_int_equal(shell(REPORT "--verify --json violations.gwl"), 1);
	assert_int_equal(shell(REPORT "--verify plain.gwl"), 0);
	shell_says("no violation");
}

TEST(rows_are_sorted_filtered_and_cut)
{
	assert_int_equal(
		shell(REPORT
		      "--csv --by=config --sort=instances plain.gwl | cut -d, -f3 | tail -n3"),
		0);
	assert_string_equal(shell_output, "20\n20\n20\n");
	assert_int_equal(
		shell(REPORT "--csv --by=config --sort='Min (ns)' plain.gwl | cut -d, -f6"), 0);
	assert_string_equal(shell_output, "Min (ns)\n255000\n12000\n3131\n");
	assert_int_equal(
		shell(REPORT
		      "--csv --sort=name plain.gwl | sed 's/.*,\"\\?\\([a-z ]*\\).*/\\1/' | wc -l"),
		0);
	assert_int_equal(shell(REPORT "--csv --filter='^vector' plain.gwl | wc -l"), 0);
	assert_string_equal(shell_output, "2\n");
	assert_int_equal(shell(REPORT "--csv --top=1 plain.gwl"), 0);
	shell_says("vectorized");
	assert_null(strstr(shell_output, "vector_add"));
	assert_int_equal(shell(REPORT "--csv --mangled plain.gwl"), 0);
	shell_says("_Z10vector_addPKfS0_Pfi");
}

TEST(shares_stay_those_of_all_kernels_under_a_filter)
{
	assert_int_equal(
		shell(REPORT "--csv --filter=vector_add plain.gwl | tail -1 | cut -d, -f1"), 0);
	assert_true(atof(shell_output) > 1 && atof(shell_output) < 10);
}

TEST(device_is_chosen_by_number_uuid_or_name)
{
	assert_int_equal(shell(REPORT "--device=0 plain.gwl"), 0);
	shell_says("60 kernel runs");
	assert_int_equal(shell(REPORT "--device=AABBCC plain.gwl"), 0);
	assert_int_equal(shell(REPORT "--device=h200 plain.gwl"), 0);
	assert_int_equal(shell(REPORT "--device=1 plain.gwl"), 2);
	shell_says("matches no GPU of these logs");
}

TEST(cut_off_log_is_used_and_reported)
{
	assert_int_equal(shell(REPORT "cut.gwl"), 1);
	shell_says("the file ends inside the block at offset");
	shell_says("and 1 more: --verbose");
	assert_int_equal(shell(REPORT "--verbose cut.gwl"), 1);
	shell_says("no END record: the process was killed or is still running");
	assert_int_equal(shell(REPORT "--json cut.gwl"), 1);
	shell_says("\"whole\": false");
}

TEST(bad_file_is_reported_with_its_name_and_the_others_are_shown)
{
	assert_int_equal(shell("echo text > text.gwl; " REPORT "text.gwl"), 2);
	shell_says("gpuwatch: text.gwl: it is not a gpuwatch log");
	assert_int_equal(shell(REPORT "text.gwl plain.gwl"), 2);
	shell_says("60 kernel runs");
	assert_int_equal(shell(REPORT "nothere.gwl"), 2);
	shell_says("nothere.gwl: No such file or directory; check its name");
	assert_int_equal(shell("head -c 300 plain.gwl > stump.gwl; " REPORT "stump.gwl"), 2);
	shell_says("stump.gwl: it ends after 300 of the ");
	shell_says("copy it once more");
	assert_int_equal(shell("mkdir -p empty; " REPORT "empty"), 2);
	shell_says("no log in this folder");
	assert_int_equal(shell("mkfifo fifo.gwl; " REPORT "fifo.gwl"), 2);
	shell_says("nothing comes through this pipe");
	assert_int_equal(shell("bash -c '" REPORT "<(sleep 0.1; cat plain.gwl)'"), 0);
	shell_says("60 kernel runs");
	if (!geteuid())
		skip(); /* who may read everything */
	assert_int_equal(shell("cp plain.gwl closed.gwl; chmod 0 closed.gwl; " REPORT "closed.gwl"),
			 2);
	shell_says("closed.gwl: Permission denied; read it as its owner");
}

TEST(bad_options_exit_2_with_one_message)
{
	static const char *const bad[] = {"--sort=nope plain.gwl",  "--by=x plain.gwl",
					  "--filter='(' plain.gwl", "--json --csv plain.gwl",
					  "--top=-1 plain.gwl",     "--nope plain.gwl"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(shell(REPORT "%s", bad[i]), 2);
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
	assert_int_equal(
		shell(REPORT "--csv plain.gwl > a; " REPORT "--csv packed.gwl.zst > b; cmp a b"),
		0);
	assert_int_equal(
		shell("head -c 1000 packed.gwl.zst > half.gwl.zst; " REPORT "half.gwl.zst"), 2);
	shell_says("half.gwl.zst: the compressed file ends inside a frame");
}

TEST(standard_input_is_read)
{
	assert_int_equal(shell("cat plain.gwl | " REPORT "--csv - > a; " REPORT
			       "--csv plain.gwl > b; cmp a b"),
			 0);
}

TEST(full_output_is_an_error)
{
	assert_int_equal(shell(REPORT "plain.gwl > /dev/full"), 2);
	shell_says("output could not be written");
}

TEST(gpu_time_is_summed_by_file)
{
	assert_int_equal(shell(REPORT "--by=module modules.gwl"), 0);
	shell_says("  52.4%   110 µs          2");
	shell_says("  /opt/old/lib/libblas.so.13\n");
	shell_says("  /opt/lib/libblas.so.13\n");
	shell_says("  [memory]\n");
	shell_says("  [unknown]\n");
	shell_says("  app\n");
	assert_int_equal(shell(REPORT "--by=module --full-names modules.gwl"), 0);
	shell_says("  /usr/bin/app\n");
	assert_int_equal(shell(REPORT "--by=module --json modules.gwl | grep -c '\"Name\"'"), 0);
	shell_says("5");
}

TEST(a_lower_limit_is_shown_as_one)
{
	assert_int_equal(shell(REPORT "--by=config at_least.gwl"), 0);
	shell_says("  Predicted  20.0% of launches");
	shell_says("lower limit alone: 80.0%");
	shell_says("  ≥12.3 µs  ");
	assert_int_equal(shell("LC_ALL=C " REPORT "--by=config at_least.gwl"), 0);
	shell_says("  >=12.3 us  ");
	assert_int_equal(shell(REPORT "--by=config --json at_least.gwl"), 0);
	shell_says("\"at_least\": 4,");
	shell_says("\"At Least (ns)\": 12300");
	shell_says("\"Predicted (ns)\": null");
}

TEST(a_span_of_a_log_is_reported)
{
	assert_int_equal(shell(REPORT "--json --until=1us plain.gwl"), 2);
	shell_says("--until=1us is no time");
	assert_int_equal(shell(REPORT "--last=5 plain.gwl"), 2);
	shell_says("--last=5 is no span of time");
	assert_int_equal(shell(REPORT "--since=10s --last=5s plain.gwl"), 2);
	shell_says("exclude each other");
	assert_int_equal(shell(REPORT "--until=1999-01-01T00:00:00Z plain.gwl"), 1);
	shell_says("no launch in that span");
	assert_int_equal(shell(REPORT "--last=9000d plain.gwl"), 0);
	assert_int_equal(shell("$PREFIX/bin/gpuwatch whatif --device=A100 --last=5 plain.gwl"), 2);
	shell_says("whatif: --last=5 is no span of time");
}

int main(void)
{
	return tests_run(make_samples, shell_teardown);
}
