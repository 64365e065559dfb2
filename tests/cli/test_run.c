/* gpuwatch run and doctor, from an installation that was moved, with a stub in the library's place.
 */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define RUN "$PREFIX/bin/gpuwatch run "

/* By a way from any program's folder to the root, which glibc's loader alone understands. */
TEST(library_is_preloaded_by_its_absolute_path)
{
	const char *rest;

	shell_runs(RUN "sh -c 'echo \"$LD_PRELOAD\"'");
	assert_int_equal(strncmp(shell_output, "/$ORIGIN/../", 12), 0);
	shell_says("/lib/libgpuwatch.so\n");
	for (rest = shell_output + strlen("/$ORIGIN"); !strncmp(rest, "/..", 3);)
		rest += 3;
	assert_null(strstr(rest, ".."));
	shell_runs("test -e %.*s", (int)strcspn(rest, "\n"), rest);
}

TEST(program_of_an_older_glibc_runs_unwatched)
{
	if (shell("mkdir -p old && cp $(ldd /bin/true | grep -o '/[^ ]*ld-linux[^ ]*') old/ld.so "
		  "&& "
		  "echo 'int main(void) { return 7; }' > seven.c && "
		  "cc -o seven seven.c -Wl,--dynamic-linker=$PWD/old/ld.so"))
		skip(); /* no compiler */
	shell_ends(7, "echo GLIBC_2.33 > old/libc.so.6; " RUN "./seven");
	shell_says("uses an older C library; libgpuwatch.so needs glibc 2.34 or newer; it runs "
		   "without gpuwatch");
	shell_ends(7, "printf 'GLIBC_2.34\\0' > old/libc.so.6; " RUN "--quiet ./seven");
	assert_string_equal(shell_output, "");
}

TEST(what_is_preloaded_already_stays)
{
	shell_runs("LD_PRELOAD=libm.so.6 " RUN "sh -c 'echo $LD_PRELOAD'");
	shell_says("/lib/libgpuwatch.so:libm.so.6\n");
	shell_runs(RUN RUN "sh -c 'echo $LD_PRELOAD'");
	assert_ptr_equal(strstr(shell_output, "libgpuwatch.so"), strrchr(shell_output, '/') + 1);
}

TEST(nvtx_finds_the_library_unless_another_tool_is_named)
{
	shell_runs("unset NVTX_INJECTION64_PATH; " RUN
		   "sh -c 'test -e \"$NVTX_INJECTION64_PATH\" && echo $NVTX_INJECTION64_PATH'");
	shell_says("/lib/libgpuwatch.so\n");
	shell_runs("NVTX_INJECTION64_PATH=/other.so " RUN "sh -c 'echo $NVTX_INJECTION64_PATH'");
	shell_says("/other.so\n");
}

#define SHOW_NCCL RUN "sh -c 'echo \"<$NCCL_PROFILER_PLUGIN>\"'"

TEST(nccl_finds_the_library_unless_another_profiler_is_named)
{
	shell_runs("unset NCCL_PROFILER_PLUGIN; " SHOW_NCCL);
	shell_says("/lib/libgpuwatch.so>\n");
	shell_runs("NCCL_PROFILER_PLUGIN=/other.so " SHOW_NCCL);
	shell_says("</other.so>\n");
	shell_runs("GPUWATCH_NCCL=0 " SHOW_NCCL);
	shell_says("<>\n");
}

TEST(options_become_environment_variables)
{
	shell_runs(RUN "--mode=count --log-max 64K --out='%%p.gwl' -- env");
	shell_says("GPUWATCH_MODE=count\n", "GPUWATCH_LOG_MAX=64K\n", "GPUWATCH_OUT=%p.gwl\n");
	shell_lacks("GPUWATCH_RING");
	shell_runs(RUN "-o a.gwl -- env");
	shell_says("GPUWATCH_OUT=a.gwl\n");
}

TEST(exit_status_and_signals_are_the_programs_own)
{
	shell_ends(42, RUN "sh -c 'exit 42'");
	shell_runs(RUN "sh -c 'kill -TERM $$'; echo $?");
	shell_says("143\n");
	shell_runs(RUN "sh --mode=x 2>/dev/null; echo $?"); /* the program's option, not ours */
	shell_says("2\n");
}

/* A log that is made while the program runs is named when it has ended; no kernel, no log. */
TEST(the_end_names_the_log_or_says_that_no_kernel_was_seen)
{
	shell_runs(RUN "true");
	shell_says("gpuwatch: run: no log was written: no kernel was seen");
	shell_gives("", RUN "--quiet true");
	shell_gives("", RUN "--mode=off true");
	shell_ends(3,
		   "mkdir -p ended && cd ended && $TOOLS/make_sample plain "
		   "gpuwatch.old.1.gwl && " RUN "sh -c '$TOOLS/make_sample plain gpuwatch.x.1.gwl "
		   "$(($(date +%%s) - 1699999999)); exit 3'");
	shell_says("gpuwatch: run: log: gpuwatch.x.1.gwl; gpuwatch report shows it\n");
	shell_runs("cd ended && rm *.gwl && " RUN "--out='a.%%p.gwl' "
		   "sh -c 'for i in 1 2; do $TOOLS/make_sample plain a.$i.gwl "
		   "$(($(date +%%s) - 1699999999)); done'");
	shell_says("gpuwatch: run: 2 logs: a.1.gwl and 1 more; gpuwatch report shows those that "
		   "it is given\n");
	shell_runs("cd ended && rm *.gwl; for s in idle killed; do " RUN "--out=$s.gwl "
		   "sh -c '$TOOLS/make_sample $0 $0.gwl "
		   "$(($(date +%%s) - 1699999999))' $s; done");
	shell_says("log: idle.gwl (no kernel was seen); gpuwatch report idle.gwl shows it\n",
		   "log: killed.gwl; gpuwatch report killed.gwl shows it\n");
	shell_runs("cd ended && " RUN "--out=.. "
		   "sh -c '$TOOLS/make_sample plain ../gpuwatch.x.1.gwl "
		   "$(($(date +%%s) - 1699999999))'");
	shell_says("gpuwatch: run: log: ../gpuwatch.x.1.gwl; gpuwatch report ../gpuwatch.x.1.gwl "
		   "shows it\n");
}

TEST(signals_are_passed_on_and_ends_are_the_programs_own)
{
	shell_ends(7, RUN "--summary=0 sh -c 'trap \"exit 7\" TERM; touch ready; while :; "
			  "do sleep 0.05; done' & p=$!; while ! test -e ready; do sleep "
			  "0.05; done; kill -TERM $p; wait $p");
	/* Who kills the command kills the program. */
	shell_runs("rm -f ready; " RUN
		   "sh -c 'echo $$ > pid; touch ready; exec sleep 60' & p=$!; while ! "
		   "test -e ready; do sleep 0.05; done; kill -KILL $p; wait $p; n=0; "
		   "while kill -0 $(cat pid) 2>/dev/null && ! grep -qs '^State:.Z' "
		   "/proc/$(cat pid)/status && test $n -lt 100; do sleep 0.05; "
		   "n=$((n+1)); done; test $n -lt 100");
	/* A parent that ignores the ends of children does not hide the exit status. */
	shell_ends(5, "python3 -c 'import os, signal, sys\n"
		      "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
		      "os.execv(sys.argv[1], sys.argv[1:])' $PREFIX/bin/gpuwatch run sh "
		      "-c 'exit 5'");
	/* A reader of the program's output sees its end when the program closes it. */
	shell_runs("rm -f go closed; { exec " RUN
		   "sh -c 'echo one; exec >&-; while ! test -e go; do sleep 0.05; done' "
		   "2>/dev/null; } | { timeout 60 cat && touch closed; touch go; }; "
		   "test -e closed");
	shell_says("one\n");
}

TEST(missing_program_is_127_and_unexecutable_126)
{
	shell_ends(127, RUN "no_such_program");
	shell_says("no_such_program: no such program");
	shell_ends(127, RUN "./nothing");
	shell_ends(126, "echo > plain; " RUN "./plain");
	shell_says("not an executable file");
	shell_ends(126, RUN "/tmp");
}

TEST(static_program_is_refused_with_the_way_out)
{
	if (shell("test -x $TOOLS/static_program"))
		skip(); /* no libc to link statically with */
	shell_ends(2, RUN "$TOOLS/static_program");
	shell_says("is statically linked", "--inject", "CUDA_INJECTION64_PATH");
	shell_runs(RUN "--inject $TOOLS/static_program");
	shell_says("/lib/libgpuwatch.so"); /* it prints its CUDA_INJECTION64_PATH */
}

TEST(injection_does_not_displace_another_tool)
{
	shell_ends(2, "CUDA_INJECTION64_PATH=/opt/other.so " RUN "--inject env");
	shell_says("already names /opt/other.so");
}

/* The first 64 bytes of an ELF header: class, machine, no program headers. */
static void write_elf(const char *name, int class, int machine)
{
	shell_runs("{ printf '\\177ELF\\00%d\\001\\001'; head -c 9 /dev/zero; printf "
		   "'\\002\\000\\%03o\\000'; "
		   "head -c 200 /dev/zero; } > %s; chmod +x %s",
		   class, (unsigned)machine, name, name);
}

TEST(other_architectures_are_refused)
{
	write_elf("bits32", 1, 3);
	shell_ends(2, RUN "./bits32");
	shell_says("is a 32-bit program");
	write_elf("riscv", 2, 243);
	shell_ends(2, RUN "./riscv");
	shell_says("another processor architecture");
	shell_ends(2, "head -c 20 bits32 > short; chmod +x short; " RUN "./short");
	shell_ends(2, "printf '\\177ELF' > stub; chmod +x stub; " RUN "./stub");
	shell_says("broken ELF header");
}

TEST(hostile_program_headers_are_refused)
{
	/* 65,535 headers at an offset past the end of the file */
	shell_ends(2, "cp /bin/true evil; printf "
		      "'\\377\\377\\377\\377\\377\\377\\377\\177' | dd of=evil bs=1 "
		      "seek=32 conv=notrunc status=none; " RUN "./evil");
	shell_says("broken ELF program headers");
	shell_ends(2, "cp /bin/true evil; printf '\\377\\377' | dd of=evil bs=1 seek=56 "
		      "conv=notrunc "
		      "status=none; " RUN "./evil");
	shell_says("broken ELF program headers");
}

TEST(privileged_program_is_refused)
{
	if (getuid())
		skip(); /* giving a file to somebody else takes root */
	shell_ends(2, "cp /bin/true suid && chown 65534 suid && chmod 4755 suid; " RUN "./suid");
	shell_says("setuid");
	shell_ends(2, "cp /bin/true sgid && chown 0:65534 sgid && chmod 2755 sgid; " RUN "./sgid");
	shell_says("setgid");
	shell_runs("chmod 755 suid; " RUN "./suid");
}

TEST(scripts_are_judged_by_their_interpreter)
{
	shell_runs("printf '#!/bin/sh\\necho ran\\n' > good; chmod +x good; " RUN "./good");
	shell_says("ran");
	shell_ends(2, "printf '#!/no/such\\n' > lost; chmod +x lost; " RUN "./lost");
	shell_says("which does not exist");
	shell_ends(2, "printf '#!%%s/loop\\n' $PWD > loop; chmod +x loop; " RUN "./loop");
	shell_ends(2, "echo text > text; chmod +x text; " RUN "./text");
	shell_says("neither a program nor a script with a #! line; give a program, or its "
		   "interpreter and the script");
	if (shell("test -x $TOOLS/static_program"))
		skip();
	shell_ends(2, "printf '#!%%s\\n' $TOOLS/static_program > bad; chmod +x bad; " RUN "./bad");
	shell_says("is a script for", "statically linked");
}

TEST(bad_options_exit_2_and_start_nothing)
{
	static const char *const bad[] = {"--mode=fast", "--log-max=1", "--ring=3",
					  "--summary=2", "--nope",      "--out"};

	for (size_t i = 0; i < COUNT(bad); i++) {
		shell_ends(2, RUN "%s%s", bad[i],
			   strcmp(bad[i], "--out") ? " -- echo started" : "");
		shell_lacks("started");
	}
	shell_ends(2, RUN);
	shell_says("missing command argument");
}

TEST(help_and_version_answer_on_stdout)
{
	shell_runs("$PREFIX/bin/gpuwatch --help 2>/dev/null");
	shell_says("report ", "doctor ");
	shell_gives("1\n", "for v in --version version; do $PREFIX/bin/gpuwatch $v; done "
			   "2>/dev/null | uniq | wc -l");
	shell_runs("$PREFIX/bin/gpuwatch --version 2>/dev/null");
	shell_says("gpuwatch 0.");
	shell_runs(RUN "--help 2>/dev/null");
	shell_says("--log-max=BYTES");
	shell_runs("test $(COLUMNS=80 " RUN "--help | sed -n '/^Options/,$p' | wc -L) -le 80 && "
		   "test $(COLUMNS=0 " RUN "--help | wc -L) -gt 100 && "
		   "COLUMNS=10000 " RUN "--help");
	shell_says("as sums (default 1G) (64K to 1T)\n",
		   "power of two (default 16384) (64 to 1048576)\n",
		   "(default audit) (audit|watch|count|off|idle)\n");
	shell_ends(2, "$PREFIX/bin/gpuwatch");
	shell_ends(2, "$PREFIX/bin/gpuwatch nonsense");
	shell_says("unknown command \"nonsense\"; see gpuwatch --help");
	shell_ends(2, "$PREFIX/bin/gpuwatch reprot");
	shell_says("unknown command \"reprot\"; did you mean \"report\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch report --jsn x");
	shell_says("report: unknown option --jsn; did you mean \"--json\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch --versoin");
	shell_says("unknown option \"--versoin\"; did you mean \"--version\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch report --sort=instance x");
	shell_says("unknown column; did you mean \"instances\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch help nonsense");
	shell_says("unknown command \"nonsense\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch --nonsense");
	shell_says("unknown option \"--nonsense\"");
}

TEST(missing_library_is_reported)
{
	shell_ends(2, "mkdir -p alone/bin && cp $PREFIX/bin/gpuwatch alone/bin && "
		      "alone/bin/gpuwatch run true");
	shell_says("libgpuwatch.so was not found");
}

TEST(doctor_names_what_is_missing_and_exits_1)
{
	shell_ends(1, "GPUWATCH_OUT=/no/such/folder/x $PREFIX/bin/gpuwatch doctor");
	shell_says("missing   output", "set GPUWATCH_OUT", "ok        libgpuwatch",
		   "fix the items marked missing");
}

TEST(doctor_names_variables_that_nothing_reads)
{
	shell("GPUWATCH_MODEE=count GPUWATCH_MODE=count $PREFIX/bin/gpuwatch doctor");
	shell_says("degraded  environment", "nothing reads GPUWATCH_MODEE",
		   "did you mean \"GPUWATCH_MODE\"");
	shell("GPUWATCH_MODE=count $PREFIX/bin/gpuwatch doctor");
	shell_lacks("environment");
}

TEST(doctor_survives_a_library_that_crashes)
{
	shell_ends(1, "GW_STUB_CRASH=1 $PREFIX/bin/gpuwatch doctor");
	shell_says("missing   libgpuwatch", "it crashed");
}

TEST(doctor_speaks_json)
{
	shell("$PREFIX/bin/gpuwatch doctor --json 2>/dev/null");
	shell_says("\"schema\": \"gpuwatch-doctor-1\"", "\"name\": \"driver\"");
	shell_ends(2, "$PREFIX/bin/gpuwatch doctor extra");
}

TESTS_MAIN(shell_setup, shell_teardown)
