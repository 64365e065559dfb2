/* SPDX-License-Identifier: Apache-2.0 */
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

	assert_int_equal(shell(RUN "sh -c 'echo \"$LD_PRELOAD\"'"), 0);
	assert_int_equal(strncmp(shell_output, "/$ORIGIN/../", 12), 0);
	shell_says("/lib/libgpuwatch.so\n");
	for (rest = shell_output + strlen("/$ORIGIN"); !strncmp(rest, "/..", 3);)
		rest += 3;
	assert_null(strstr(rest, ".."));
	assert_int_equal(shell("test -e %.*s", (int)strcspn(rest, "\n"), rest), 0);
}

TEST(program_of_an_older_glibc_runs_unwatched)
{
	if (shell("mkdir -p old && cp $(ldd /bin/true | grep -o '/[^ ]*ld-linux[^ ]*') old/ld.so "
		  "&& "
		  "echo 'int main(void) { return 7; }' > seven.c && "
		  "cc -o seven seven.c -Wl,--dynamic-linker=$PWD/old/ld.so"))
		skip(); /* no compiler */
	assert_int_equal(shell("echo GLIBC_2.33 > old/libc.so.6; " RUN "./seven"), 7);
	shell_says("uses an older C library; libgpuwatch.so needs glibc 2.34 or newer; it runs "
		   "without gpuwatch");
	assert_int_equal(shell("printf 'GLIBC_2.34\\0' > old/libc.so.6; " RUN "--quiet ./seven"),
			 7);
	assert_string_equal(shell_output, "");
}

TEST(what_is_preloaded_already_stays)
{
	assert_int_equal(shell("LD_PRELOAD=libm.so.6 " RUN "sh -c 'echo $LD_PRELOAD'"), 0);
	shell_says("/lib/libgpuwatch.so:libm.so.6\n");
	assert_int_equal(shell(RUN RUN "sh -c 'echo $LD_PRELOAD'"), 0);
	assert_ptr_equal(strstr(shell_output, "libgpuwatch.so"), strrchr(shell_output, '/') + 1);
}

TEST(nvtx_finds_the_library_unless_another_tool_is_named)
{
	assert_int_equal(
		shell("unset NVTX_INJECTION64_PATH; " RUN
		      "sh -c 'test -e \"$NVTX_INJECTION64_PATH\" && echo $NVTX_INJECTION64_PATH'"),
		0);
	shell_says("/lib/libgpuwatch.so\n");
	assert_int_equal(
		shell("NVTX_INJECTION64_PATH=/other.so " RUN "sh -c 'echo $NVTX_INJECTION64_PATH'"),
		0);
	shell_says("/other.so\n");
}

#define SHOW_NCCL RUN "sh -c 'echo \"<$NCCL_PROFILER_PLUGIN>\"'"

TEST(nccl_finds_the_library_unless_another_profiler_is_named)
{
	assert_int_equal(shell("unset NCCL_PROFILER_PLUGIN; " SHOW_NCCL), 0);
	shell_says("/lib/libgpuwatch.so>\n");
	assert_int_equal(shell("NCCL_PROFILER_PLUGIN=/other.so " SHOW_NCCL), 0);
	shell_says("</other.so>\n");
	assert_int_equal(shell("GPUWATCH_NCCL=0 " SHOW_NCCL), 0);
	shell_says("<>\n");
}

TEST(options_become_environment_variables)
{
	assert_int_equal(shell(RUN "--mode=count --log-max 64K --out='%%p.gwl' -- env"), 0);
	shell_says("GPUWATCH_MODE=count\n");
	shell_says("GPUWATCH_LOG_MAX=64K\n");
	shell_says("GPUWATCH_OUT=%p.gwl\n");
	assert_null(strstr(shell_output, "GPUWATCH_RING"));
	assert_int_equal(shell(RUN "-o a.gwl -- env"), 0);
	shell_says("GPUWATCH_OUT=a.gwl\n");
}

TEST(exit_status_and_signals_are_the_programs_own)
{
	assert_int_equal(shell(RUN "sh -c 'exit 42'"), 42);
	assert_int_equal(shell(RUN "sh -c 'kill -TERM $$'; echo $?"), 0);
	shell_says("143\n");
	assert_int_equal(shell(RUN "sh --mode=x 2>/dev/null; echo $?"),
			 0); /* the program's option, not ours */
	shell_says("2\n");
}

/* A log that is made while the program runs is named when it has ended; no kernel, no log. */
TEST(the_end_names_the_log_or_says_that_no_kernel_was_seen)
{
	assert_int_equal(shell(RUN "true"), 0);
	shell_says("gpuwatch: run: no log was written: no kernel was seen");
	assert_int_equal(shell(RUN "--quiet true"), 0);
	assert_string_equal(shell_output, "");
	assert_int_equal(shell(RUN "--mode=off true"), 0);
	assert_string_equal(shell_output, "");
	assert_int_equal(shell("mkdir -p ended && cd ended && $TOOLS/make_sample plain "
			       "gpuwatch.old.1.gwl && " RUN
			       "sh -c '$TOOLS/make_sample plain gpuwatch.x.1.gwl "
			       "$(($(date +%%s) - 1699999999)); exit 3'"),
			 3);
	shell_says("gpuwatch: run: log: gpuwatch.x.1.gwl; gpuwatch report shows it\n");
	assert_int_equal(shell("cd ended && rm *.gwl && " RUN "--out='a.%%p.gwl' "
			       "sh -c 'for i in 1 2; do $TOOLS/make_sample plain a.$i.gwl "
			       "$(($(date +%%s) - 1699999999)); done'"),
			 0);
	shell_says("gpuwatch: run: 2 logs: a.1.gwl and 1 more; gpuwatch report shows those that "
		   "it is given\n");
	assert_int_equal(shell("cd ended && rm *.gwl; for s in idle killed; do " RUN "--out=$s.gwl "
			       "sh -c '$TOOLS/make_sample $0 $0.gwl "
			       "$(($(date +%%s) - 1699999999))' $s; done"),
			 0);
	shell_says("log: idle.gwl (no kernel was seen); gpuwatch report idle.gwl shows it\n");
	shell_says("log: killed.gwl; gpuwatch report killed.gwl shows it\n");
	assert_int_equal(shell("cd ended && " RUN "--out=.. "
			       "sh -c '$TOOLS/make_sample plain ../gpuwatch.x.1.gwl "
			       "$(($(date +%%s) - 1699999999))'"),
			 0);
	shell_says("gpuwatch: run: log: ../gpuwatch.x.1.gwl; gpuwatch report ../gpuwatch.x.1.gwl "
		   "shows it\n");
}

TEST(signals_are_passed_on_and_ends_are_the_programs_own)
{
	assert_int_equal(shell(RUN "--summary=0 sh -c 'trap \"exit 7\" TERM; touch ready; while :; "
				   "do sleep 0.05; done' & p=$!; while ! test -e ready; do sleep "
				   "0.05; done; kill -TERM $p; wait $p"),
			 7);
	/* Who kills the command kills the program. */
	assert_int_equal(shell("rm -f ready; " RUN
			       "sh -c 'echo $$ > pid; touch ready; exec sleep 60' & p=$!; while ! "
			       "test -e ready; do sleep 0.05; done; kill -KILL $p; wait $p; n=0; "
			       "while kill -0 $(cat pid) 2>/dev/null && ! grep -qs '^State:.Z' "
			       "/proc/$(cat pid)/status && test $n -lt 100; do sleep 0.05; "
			       "n=$((n+1)); done; test $n -lt 100"),
			 0);
	/* A parent that ignores the ends of children does not hide the exit status. */
	assert_int_equal(shell("python3 -c 'import os, signal, sys\n"
			       "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
			       "os.execv(sys.argv[1], sys.argv[1:])' $PREFIX/bin/gpuwatch run sh "
			       "-c 'exit 5'"),
			 5);
	/* A reader of the program's output sees its end when the program closes it. */
	assert_int_equal(
		shell("rm -f go closed; { exec " RUN
		      "sh -c 'echo one; exec >&-; while ! test -e go; do sleep 0.05; done' "
		      "2>/dev/null; } | { timeout 60 cat && touch closed; touch go; }; "
		      "test -e closed"),
		0);
	shell_says("one\n");
}

TEST(missing_program_is_127_and_unexecutable_126)
{
	assert_int_equal(shell(RUN "no_such_program"), 127);
	shell_says("no_such_program: no such program");
	assert_int_equal(shell(RUN "./nothing"), 127);
	assert_int_equal(shell("echo > plain; " RUN "./plain"), 126);
	shell_says("not an executable file");
	assert_int_equal(shell(RUN "/tmp"), 126);
}

TEST(static_program_is_refused_with_the_way_out)
{
	if (shell("test -x $TOOLS/static_program"))
		skip(); /* no libc to link statically with */
	assert_int_equal(shell(RUN "$TOOLS/static_program"), 2);
	shell_says("is statically linked");
	shell_says("--inject");
	shell_says("CUDA_INJECTION64_PATH");
	assert_int_equal(shell(RUN "--inject $TOOLS/static_program"), 0);
	shell_says("/lib/libgpuwatch.so"); /* it prints its CUDA_INJECTION64_PATH */
}

TEST(injection_does_not_displace_another_tool)
{
	assert_int_equal(shell("CUDA_INJECTION64_PATH=/opt/other.so " RUN "--inject env"), 2);
	shell_says("already names /opt/other.so");
}

/* The first 64 bytes of an ELF header: class, machine, no program headers. */
static void write_elf(const char *name, int class, int machine)
{
	assert_int_equal(shell("{ printf '\\177ELF\\00%d\\001\\001'; head -c 9 /dev/zero; printf "
			       "'\\002\\000\\%03o\\000'; "
			       "head -c 200 /dev/zero; } > %s; chmod +x %s",
			       class, (unsigned)machine, name, name),
			 0);
}

TEST(other_architectures_are_refused)
{
	write_elf("bits32", 1, 3);
	assert_int_equal(shell(RUN "./bits32"), 2);
	shell_says("is a 32-bit program");
	write_elf("riscv", 2, 243);
	assert_int_equal(shell(RUN "./riscv"), 2);
	shell_says("another processor architecture");
	assert_int_equal(shell("head -c 20 bits32 > short; chmod +x short; " RUN "./short"), 2);
	assert_int_equal(shell("printf '\\177ELF' > stub; chmod +x stub; " RUN "./stub"), 2);
	shell_says("broken ELF header");
}

TEST(hostile_program_headers_are_refused)
{
	/* 65,535 headers at an offset past the end of the file */
	assert_int_equal(shell("cp /bin/true evil; printf "
			       "'\\377\\377\\377\\377\\377\\377\\377\\177' | dd of=evil bs=1 "
			       "seek=32 conv=notrunc status=none; " RUN "./evil"),
			 2);
	shell_says("broken ELF program headers");
	assert_int_equal(shell("cp /bin/true evil; printf '\\377\\377' | dd of=evil bs=1 seek=56 "
			       "conv=notrunc "
			       "status=none; " RUN "./evil"),
			 2);
	shell_says("broken ELF program headers");
}

TEST(privileged_program_is_refused)
{
	if (getuid())
		skip(); /* giving a file to somebody else takes root */
	assert_int_equal(
		shell("cp /bin/true suid && chown 65534 suid && chmod 4755 suid; " RUN "./suid"),
		2);
	shell_says("setuid");
	assert_int_equal(
		shell("cp /bin/true sgid && chown 0:65534 sgid && chmod 2755 sgid; " RUN "./sgid"),
		2);
	shell_says("setgid");
	assert_int_equal(shell("chmod 755 suid; " RUN "./suid"), 0);
}

TEST(scripts_are_judged_by_their_interpreter)
{
	assert_int_equal(
		shell("printf '#!/bin/sh\\necho ran\\n' > good; chmod +x good; " RUN "./good"), 0);
	shell_says("ran");
	assert_int_equal(shell("printf '#!/no/such\\n' > lost; chmod +x lost; " RUN "./lost"), 2);
	shell_says("which does not exist");
	assert_int_equal(shell("printf '#!%%s/loop\\n' $PWD > loop; chmod +x loop; " RUN "./loop"),
			 2);
	assert_int_equal(shell("echo text > text; chmod +x text; " RUN "./text"), 2);
	shell_says("neither a program nor a script with a #! line; give a program, or its "
		   "interpreter and the script");
	if (shell("test -x $TOOLS/static_program"))
		skip();
	assert_int_equal(
		shell("printf '#!%%s\\n' $TOOLS/static_program > bad; chmod +x bad; " RUN "./bad"),
		2);
	shell_says("is a script for");
	shell_says("statically linked");
}

TEST(bad_options_exit_2_and_start_nothing)
{
	static const char *const bad[] = {"--mode=fast", "--log-max=1", "--ring=3",
					  "--summary=2", "--nope",      "--out"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(shell(RUN "%s%s", bad[i],
				       strcmp(bad[i], "--out") ? " -- echo started" : ""),
				 2);
		assert_null(strstr(shell_output, "started"));
	}
	assert_int_equal(shell(RUN), 2);
	shell_says("missing command argument");
}

TEST(help_and_version_answer_on_stdout)
{
	assert_int_equal(shell("$PREFIX/bin/gpuwatch --help 2>/dev/null"), 0);
	shell_says("report ");
	shell_says("doctor ");
	assert_int_equal(shell("for v in --version version; do $PREFIX/bin/gpuwatch $v; done "
			       "2>/dev/null | uniq | wc -l"),
			 0);
	assert_string_equal(shell_output, "1\n");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch --version 2>/dev/null"), 0);
	shell_says("gpuwatch 0.");
	assert_int_equal(shell(RUN "--help 2>/dev/null"), 0);
	shell_says("--log-max=BYTES");
	assert_int_equal(shell("test $(COLUMNS=80 " RUN
			       "--help | sed -n '/^Options/,$p' | wc -L) -le 80 && "
			       "test $(COLUMNS=0 " RUN "--help | wc -L) -gt 100 && "
			       "COLUMNS=10000 " RUN "--help"),
			 0);
	shell_says("as sums (default 1G) (64K to 1T)\n");
	shell_says("power of two (default 16384) (64 to 1048576)\n");
	shell_says("(default audit) (audit|watch|count|off|idle)\n");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch"), 2);
	assert_int_equal(shell("$PREFIX/bin/gpuwatch nonsense"), 2);
	shell_says("unknown command \"nonsense\"; see gpuwatch --help");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch reprot"), 2);
	shell_says("unknown command \"reprot\"; did you mean \"report\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch report --jsn x"), 2);
	shell_says("report: unknown option --jsn; did you mean \"--json\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch --versoin"), 2);
	shell_says("unknown option \"--versoin\"; did you mean \"--version\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch report --sort=instance x"), 2);
	shell_says("unknown column; did you mean \"instances\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch help nonsense"), 2);
	shell_says("unknown command \"nonsense\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch --nonsense"), 2);
	shell_says("unknown option \"--nonsense\"");
}

TEST(missing_library_is_reported)
{
	assert_int_equal(shell("mkdir -p alone/bin && cp $PREFIX/bin/gpuwatch alone/bin && "
			       "alone/bin/gpuwatch run true"),
			 2);
	shell_says("libgpuwatch.so was not found");
}

TEST(doctor_names_what_is_missing_and_exits_1)
{
	assert_int_equal(shell("GPUWATCH_OUT=/no/such/folder/x $PREFIX/bin/gpuwatch doctor"), 1);
	shell_says("missing   output");
	shell_says("set GPUWATCH_OUT");
	shell_says("ok        libgpuwatch");
	shell_says("fix the items marked missing");
}

TEST(doctor_names_variables_that_nothing_reads)
{
	shell("GPUWATCH_MODEE=count GPUWATCH_MODE=count $PREFIX/bin/gpuwatch doctor");
	shell_says("degraded  environment");
	shell_says("nothing reads GPUWATCH_MODEE");
	shell_says("did you mean \"GPUWATCH_MODE\"");
	shell("GPUWATCH_MODE=count $PREFIX/bin/gpuwatch doctor");
	assert_null(strstr(shell_output, "environment"));
}

TEST(doctor_survives_a_library_that_crashes)
{
	assert_int_equal(shell("GW_STUB_CRASH=1 $PREFIX/bin/gpuwatch doctor"), 1);
	shell_says("missing   libgpuwatch");
	shell_says("it crashed");
}

TEST(doctor_speaks_json)
{
	shell("$PREFIX/bin/gpuwatch doctor --json 2>/dev/null");
	shell_says("\"schema\": \"gpuwatch-doctor-1\"");
	shell_says("\"name\": \"driver\"");
	assert_int_equal(shell("$PREFIX/bin/gpuwatch doctor extra"), 2);
}

int main(void)
{
	return tests_run(shell_setup, shell_teardown);
}
