/* What is made of the lists is complete, well formed and current. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define GPUWATCH "$PREFIX/bin/gpuwatch "

TEST(log_format_describes_every_record_and_counter)
{
	static const char *const named[] = {
#define RECORD(kind, NAME, name, meaning) "## " #NAME " (" #kind ")\n",
#define FIELD(type, name, unit, meaning)  "| " #name " | " #type " |",
#define RECORD_END(NAME, name, tail)
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
#define COUNTER(name, meaning) "| " #name " | u64 |",
#include "predictor/log/counter.def"
#undef COUNTER
	};

	shell_runs(GPUWATCH "--generate log-format");
	for (size_t i = 0; i < COUNT(named); i++)
		shell_says(named[i]);
}

TEST(every_command_has_a_page)
{
	static const char *const commands[] = {
#define COMMAND(name, function, operands, summary, synopsis) #name,
#include "cli/commands.def"
#undef COMMAND
	};

	for (size_t i = 0; i < COUNT(commands); i++) {
		shell_runs(GPUWATCH "--generate gpuwatch-%s.1", commands[i]);
		shell_says(".SH \"SYNOPSIS\"", ".SH \"EXIT STATUS\"");
		shell_runs(GPUWATCH "%s --help", commands[i]);
		shell_says("\nExamples:\n  gpuwatch ", "\nExit status:\n  ");
	}
	shell_ends(2, GPUWATCH "--generate nonsense");
}

TEST(the_main_page_tells_places_and_every_variable_of_commands)
{
	static const char *const reported[] = {
		".SH \"FILES\"", "gpuwatch/profiles", "gpuwatch/docs",   "NO_COLOR",
		"TERM",          "COLUMNS",           "GPUWATCH_PROFILE"};

	shell_runs(GPUWATCH "--generate gpuwatch.1");
	for (size_t i = 0; i < COUNT(reported); i++)
		shell_says(reported[i]);
}

TEST(calibrates_page_tells_every_group_and_what_a_profile_holds)
{
	shell_runs(GPUWATCH "--generate gpuwatch-calibrate.1");
#define GROUP(name, function, full_seconds, quick_seconds, meaning) shell_says("\\fB" #name "\\fR");
#include "calib/groups.def"
#undef GROUP
#define PARAM(name, unit, meaning)           shell_says("\\fB" #name " [" unit "]\\fR");
#define CURVE(name, unit_x, unit_y, meaning) shell_says("\\fB" #name " [" unit_y " by " unit_x "]");
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
}

TEST(agents_page_tells_every_metric)
{
	shell_runs(GPUWATCH "--generate gpuwatch-agent.1");
#define METRIC(id, KIND, name, unit, labels, help) shell_says("\\fB" name);
#include "cli/agent/metrics.def"
#undef METRIC
	shell_says("\\fBgpuwatch_launches_total {gpu, kernel}\\fR");
}

TEST(library_page_tells_every_variable_and_counter)
{
	shell_runs(GPUWATCH "--generate libgpuwatch.7");
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) shell_says(variable);
#include "predictor/core/config.def"
#undef OPTION
	shell_says("\\fBGPUWATCH_BUDGET=a whole number, 0 to 100\\fR",
		   "\\fBGPUWATCH_LOG_MAX=bytes, with K, M, G or T, 65536 to 1099511627776\\fR");
#define COUNTER(name, meaning) shell_says("\\fB" #name "\\fR");
#include "predictor/log/counter.def"
#undef COUNTER
}

TEST(pages_are_well_formed)
{
	static const char pages[] = "gpuwatch.1 libgpuwatch.7 gpuwatch-log.5"
#define COMMAND(name, function, operands, summary, synopsis) " gpuwatch-" #name ".1"
#include "cli/commands.def"
#undef COMMAND
		;

	if (shell("command -v man"))
		skip();
	shell_gives("",
		    "for p in %s; do " GPUWATCH
		    "--generate $p > $p; MANROFFSEQ= man --warnings -E UTF-8 -l "
		    "-Tutf8 -Z ./$p > /dev/null || exit 1; done",
		    pages);
}

/* What bash offers for the words of a command line, the last one being completed. */
static void complete(const char *words, int last)
{
	shell_runs("bash -c 'source <(" GPUWATCH
		   "--generate gpuwatch.bash); compopt() { :; }; COMP_WORDS=(%s); "
		   "COMP_CWORD=%d; _gpuwatch; printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
		   words, last);
}

TEST(bash_completes_commands_options_and_choices)
{
	if (shell("command -v bash"))
		skip();
	complete("gpuwatch repo", 1);
	assert_string_equal(shell_output, "report\n");
	complete("gpuwatch help repo", 2);
	assert_string_equal(shell_output, "report\n");
	complete("gpuwatch run --log", 2);
	assert_string_equal(shell_output, "--log=\n--log-max=\n--log-mode=\n--log-group=\n");
	complete("gpuwatch run --mode = c", 4);
	assert_string_equal(shell_output, "count\n");
	complete("gpuwatch report --by = ", 3);
	assert_string_equal(shell_output, "kernel\nconfig\ndevice\nmodule\nrange\nline\nrank\n");
}

TEST(bash_completes_what_stands_for_a_value)
{
	if (shell("command -v bash"))
		skip();
	shell_runs("touch tot.gwl medium");
	complete("gpuwatch report --sort = tot", 4);
	assert_string_equal(shell_output, "total\n");
	complete("gpuwatch report --sort me", 3);
	assert_string_equal(shell_output, "med\nmeasured\n");
	complete("gpuwatch report --top me", 3);
	assert_string_equal(shell_output, "\n");
	complete("gpuwatch replay --output = tot", 4);
	assert_string_equal(shell_output, "tot.gwl\n");
	complete("gpuwatch run --out = tot", 4);
	assert_string_equal(shell_output, "tot.gwl\n");
	complete("gpuwatch report --by kernel tot", 4);
	assert_string_equal(shell_output, "tot.gwl\n");
	shell_runs("touch 'two words.gwl'");
	complete("gpuwatch report two", 2);
	assert_string_equal(shell_output, "two words.gwl\n");
	complete("gpuwatch run -- tot", 3); /* no command is called so */
	assert_string_equal(shell_output, "\n");
	complete("gpuwatch run -- sh tot", 4);
	assert_string_equal(shell_output, "tot.gwl\n");
}

/* What zsh's own functions are asked to offer there, a line each. */
static void complete_in_zsh(const char *words, int current)
{
	shell_runs("zsh -fc '_describe() { print -rl -- $commands; }; "
		   "_arguments() { print -rl -- \"$@\"; }; compadd() { shift; print -rl -- "
		   "\"$@\"; }; words=(%s); CURRENT=%d; source <(" GPUWATCH
		   "--generate gpuwatch.zsh)'",
		   words, current);
}

TEST(zsh_completes_commands_options_and_choices)
{
	if (shell("command -v zsh"))
		skip();
	complete_in_zsh("gpuwatch \"\"", 2);
	shell_says("report:", "\nhelp\n");
	complete_in_zsh("gpuwatch help \"\"", 3);
	shell_says("report:");
	complete_in_zsh("gpuwatch report \"\"", 3);
	shell_says("\n--by=[", "]:value:(kernel config device module range line rank)\n",
		   "\n*:file:_files\n");
	complete_in_zsh("gpuwatch run \"\"", 3);
	shell_says("\n(-)*::program:_normal\n");
}

TEST(zsh_can_read_its_completion)
{
	if (shell("command -v zsh"))
		skip();
	shell_gives("", GPUWATCH "--generate gpuwatch.zsh > _gpuwatch && zsh -fn _gpuwatch");
}

TESTS_MAIN(shell_setup, shell_teardown)
