/* gpuwatch inspect, as its users see it. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define INSPECT "$PREFIX/bin/gpuwatch inspect "

static int copy_corpus(void **state)
{
	return shell_setup(state) || shell("cp %s/* .", CORPUS);
}

TEST(text_is_as_reviewed)
{
	shell_prints("packed/inspect_program.txt", INSPECT "program");
	shell_prints("packed/inspect_archive_60.txt", "COLUMNS=60 " INSPECT "library.a");
	shell_prints("packed/inspect_kernel.txt", INSPECT "--arch=90 --kernel=power plain.fatbin");
}

#define SAXPY_CODE INSPECT "--sass --kernel=saxpy sm_90.cubin "

/* As nvdisasm shows it: the second load of saxpy sets scoreboard 2, which the FFMA waits for. */
TEST(machine_code_is_shown_with_its_control_bits)
{
	shell_runs(SAXPY_CODE "--json | grep -A 7 '\"at\": 240,'");
	shell_says("\"operation\": \"LDG\"", "\"class\": \"load\"", "\"stall\": 1",
		   "\"result_sets\": 2");
	shell_runs(SAXPY_CODE "--json | grep -A 7 '\"at\": 304,'");
	shell_says("\"operation\": \"FFMA\"", "\"waits_for\": 4");
}

TEST(machine_code_is_counted_by_loops_and_blocks)
{
	shell_runs(SAXPY_CODE "| grep -E '^    (fp32|store|B1) '");
	shell_says("    fp32 ", "    store ");
	shell_runs(SAXPY_CODE "--json | grep -A 6 '\"first\": 8,'");
	shell_says("\"instructions\": 15", "\"loads\": 2");
	shell_runs(INSPECT "--sass --kernel=powers sm_90.cubin | grep 'IN 1'");
}

/* Loads by DRAM at 500 cycles instead of L2's 200: one wait for both of them. */
TEST(cycles_follow_the_latencies_of_a_profile)
{
	int l1, l2, dram;

	shell_runs("for p in constant special operand branch; do echo \"\\\"lat_$p\\\": "
		   "{\\\"value\\\": 20, \\\"unit\\\": \\\"cycle\\\", \\\"method\\\": "
		   "\\\"vendor\\\", \\\"source\\\": \\\"invented for tests\\\"},\"; done "
		   ">rows; sed '/\"params\"/r rows' %s >gpu.json",
		   PROFILE);
	shell_runs(SAXPY_CODE "--device=gpu.json --json | grep -A 20 '\"first\": 8,' | "
			      "sed -n 's/.*\"\\(l1\\|l2\\|dram\\)\": *//p' | tr -d '\\n'");
	assert_int_equal(sscanf(shell_output, "%d,%d,%d", &l1, &l2, &dram), 3);
	assert_int_equal(l2 - l1, 170);
	assert_int_equal(dram - l2, 300);
	shell_runs(SAXPY_CODE "--device=gpu.json");
	shell_says("BY DRAM");
}

TEST(json_is_as_reviewed)
{
	shell_prints("packed/inspect.json", INSPECT "--json --arch=80 zstd.fatbin");
}

TEST(json_is_well_formed)
{
	if (shell("command -v python3"))
		skip();
	for (const char *const *file =
		     (const char *const[]){"lto.fatbin", "program", "library.a", "sm_70.ptx", NULL};
	     *file; file++)
		shell_runs(INSPECT "--json --ptx --sass %s | python3 -m json.tool", *file);
}

TEST(ptx_is_printed_as_it_was_compiled)
{
	shell_runs(INSPECT "--ptx sm_70.ptx | sed '1,/^PTX of/d' | diff - sm_70.ptx");
	shell_runs(INSPECT "--ptx --arch=120 lz4.fatbin");
	shell_says(".target sm_90\n", ".visible .entry powers(");
}

#define SAXPY INSPECT "--kernel=saxpy sm_70.ptx --launch='grid=80 block=128 "

/* 10000 elements: 312 warps do all of it, one does half, the last seven none. */
TEST(a_launch_is_evaluated)
{
	shell_runs(SAXPY "args=10000,2.5,pointer,pointer'");
	shell_says("global load                            626\n",
		   "global store                           313\n",
		   "of these divergent                       1\n", "exact: every warp is covered");
	shell_runs(SAXPY "args=0x2710,1,?,?' --json | grep -A2 'global load'");
	shell_says("\"least\": 626", "\"most\": 626");
}

/* The same launch by machine code, which alone shows instructions: 312 warps run to the end at
 * 0x160, the one with half its lanes too, seven leave at 0x70. */
TEST(machine_code_tells_a_launchs_instructions)
{
	shell_runs(INSPECT "--kernel=saxpy sm_90.cubin --launch='grid=80 block=128 "
			   "args=10000,2.5,pointer,pointer' | tail -12");
	shell_says("global load                            626\n",
		   "machine instruction                  7,255\n", "exact: every warp is covered");
}

TEST(what_an_unknown_argument_leaves_open_is_reported)
{
	shell_runs(SAXPY "args=?,1,?,?'");
	shell_says("0 to 640", "not exact: line ");
	shell_runs(SAXPY "' --json | grep '\"exact\": false'");
}

TEST(accesses_of_a_launch_are_shown_and_drawn)
{
	shell_runs(SAXPY "args=10000,1,pointer,pointer' --coalescing --plot=pictures");
	shell_says("degree of coalescing 100.00%");
	shell_runs("ls pictures/*.svg");
}

#define STATIC_SAXPY \
	INSPECT "--kernel=saxpy sm_90.cubin --launch='grid=80 block=128 args=%s,2.5,pointer," \
		"pointer' --device=%s "

/* The machine code's 7,255 instructions of the launch above, its 624 loads of 4 sectors and two of
 * half a warp; what a model makes of them is a static estimate, and can be no surer than what it
 * rests on. */
TEST(what_the_code_tells_of_a_launch_goes_to_the_models)
{
	shell_runs(STATIC_SAXPY ">reported && grep -E '^ +inst_executed +7255  warp inst "
				"+1.00' reported",
		   "10000", PROFILE);
	shell_runs("grep -E '^ +global_load_sectors +2500  sector +1.00' reported");
	shell_runs("grep -A99 'static estimates for ' reported");
	shell_says("CONFIDENCE", "bounds");
	shell_runs(STATIC_SAXPY "--json >reported; grep -A4 '\"inst_executed\"' reported", "10000",
		   PROFILE);
	shell_says("\"value\": 7255", "\"source\": \"static\"");
	shell_runs("sed -n '/\"model\": \"bounds\"/,$p' reported | grep -E "
		   "'\"(source|confidence)\"'");
	shell_says("\"source\": \"static\"", "\"confidence\": 0.7");
}

/* Without the number of elements a branch is unknown: no count may be called sure. */
TEST(instructions_that_are_not_settled_say_why)
{
	shell_runs(STATIC_SAXPY, "?", PROFILE);
	shell_says("not settled: a branch depends on what is not known before the launch");
	shell_runs(STATIC_SAXPY "| grep 'inst_executed .* 0.40'", "?", PROFILE);
}

/* As PTX has it, but off registers that are used again, numbers in pairs of them, and parameters
 * that are read by their place. */
TEST(machine_code_tells_what_addresses_are_made_of)
{
	static const unsigned architectures[] = {70, 75, 80, 86, 89, 90, 100, 120};

	for (size_t i = 0; i < COUNT(architectures); i++) {
		shell_runs("COLUMNS=200 " INSPECT "--kernel=saxpy --coalescing --launch='grid=4 "
			   "block=128 args=500,2,pointer,pointer' sm_%u.cubin | grep ' store '",
			   architectures[i]);
		shell_says("add(mul(add(tid.x, mul(ctaid.x, ntid.x)), 4), param3)");
	}
}

/* Without the argument that bounds it, a loop has no end that is known. */
TEST(work_that_is_open_is_a_lower_limit)
{
	static const char inspect[] =
		INSPECT "--kernel=powers --launch='grid=1 block=64 args=pointer,%s' --device=%s "
			"sm_90.cubin";

	shell_runs(inspect, "?", PROFILE);
	shell_says("decides how much it does: at least ");
	shell_runs(inspect, "5", PROFILE);
	shell_lacks("decides how much");
}

/* Kleimenov & Popova 2021, fig. 3: the loop of the paper, as PTX. */
TEST(a_loop_has_a_thread_s_time_as_an_expression)
{
	shell_runs("printf '%%s\n' '.version 7.0' '.target sm_70' '.address_size 64' "
		   "'.visible .entry fig3(.param .u64 out, .param .f64 p) {' "
		   "'.reg .pred %%q; .reg .u32 %%j; .reg .u64 %%o; .reg .f64 %%t, %%p;' "
		   "'ld.param.u64 %%o, [out]; ld.param.f64 %%p, [p];' "
		   "'mov.f64 %%t, 0d3FF0000000000000; mov.u32 %%j, 0;' "
		   "'LOOP: setp.ge.u32 %%q, %%j, 15; @%%q bra DONE;' "
		   "'mul.f64 %%t, %%t, 0d3FF4CCCCCCCCCCCD;' "
		   "'add.f64 %%t, %%t, 0d4020000000000000; add.f64 %%t, %%t, %%p;' "
		   "'add.u32 %%j, %%j, 1; bra LOOP;' "
		   "'DONE: st.global.f64 [%%o], %%t; ret; }' >fig3.ptx; " INSPECT
		   "--launch='grid=1 block=32 args=pointer,1.0' fig3.ptx");
	shell_says("two iterations of a thread take max(4 lat_int + 4 lat_fp64 + 2 del_int + 2 "
		   "del_fp64 + 2 del_br, 2 lat_int + 5 lat_fp64 + del_int + del_fp64 + del_br)");
	shell_runs(INSPECT "--json --launch='grid=1 block=32 args=pointer,1.0' "
			   "fig3.ptx | grep two_iterations");
	shell_says("\"max(4 lat_int + ");
}

/* What they run adds up to the instructions that are reported. */
TEST(a_launch_tells_how_often_each_block_runs)
{
	shell_runs(INSPECT "--kernel=powers --launch='grid=1 block=64 args=pointer,5' "
			   "--json sm_90.cubin | tr -d ' \n' | grep -o "
			   "'\"instructions\":[0-9]*,\"least\":[0-9]*' | tr -c '0-9\n' ' ' "
			   "| awk '{sum += $1 * $2} END {print sum}'");
	shell_says("174\n");
	shell_runs(INSPECT "--kernel=powers --launch='grid=1 block=64 args=pointer,5' "
			   "sm_90.cubin | grep 'machine instruction'");
	shell_says(" 174\n");
	shell_runs(INSPECT "--sass --kernel=saxpy --launch='grid=4 block=128 "
			   "args=200,2,pointer,pointer' sm_90.cubin | grep -A2 'RUN BY'");
	shell_says(" 0x0             8            16", "0x80            15             7");
}

/* What the compiler is still to decide is not known; the names and parameters are declared. */
TEST(kernels_of_ptx_are_listed)
{
	shell_runs(INSPECT "sm_70.ptx");
	shell_says("Kernels of image 1 (compute_70)",
		   "powers                                                       -       -      -  "
		   "      "
		   " -        12 B          -     -");
	shell_runs(INSPECT "--kernel==_Z5saxpyifPKfPf sm_70.ptx");
	shell_says("parameter 3: 8 B at byte 0x10");
	shell_lacks("powers");
	shell_runs(INSPECT "--json --kernel=saxpy sm_70.ptx");
	shell_says("\"registers\": null", "\"param_size\": 24", "\"code_bytes\": null");
	shell_runs("head -c 3000 sm_70.ptx >cut.ptx; " INSPECT "cut.ptx");
	shell_says("not known: line 132: an operand was expected");
	shell_runs(INSPECT "--json cut.ptx");
	shell_says("\"kernels\": null");
}

TEST(images_and_files_are_called_what_they_are)
{
	shell_runs(INSPECT "lto.fatbin");
	shell_says("lto_80");
	shell_runs(INSPECT "library.so");
	shell_says("library.so: shared library");
	shell_runs(INSPECT "program");
	shell_says("program: executable");
	/* A library with a place to begin at, as the vendor's have. */
	shell_runs("cp library.so begins.so; printf '\\100' | "
		   "dd of=begins.so bs=1 seek=24 conv=notrunc 2>/dev/null; " INSPECT "begins.so");
	shell_says("begins.so: shared library");
}

/* It is evaluated all the same: the driver's word is not ours. */
TEST(a_launch_that_the_driver_refuses_is_said_to_be)
{
	shell_runs(INSPECT "--kernel=saxpy --launch='grid=4 block=129 args=500,2,pointer,"
			   "pointer' sm_90.cubin");
	shell_says("the driver refuses this launch: it is compiled for at most 128 threads a block",
		   "machine instruction");
	shell_runs(INSPECT "--kernel=saxpy --launch='grid=4 block=129 args=500,2,pointer,"
			   "pointer' sm_70.ptx");
	shell_says("at most 128 threads");
	shell_runs(INSPECT "--kernel=saxpy --launch='grid=4 block=128 args=500,2,pointer,"
			   "pointer' --json sm_90.cubin");
	shell_says("\"refused\": null");
}

TEST(a_kernel_can_be_asked_for_by_its_whole_name)
{
	shell_runs(INSPECT "--kernel=power sm_90.cubin | grep '^  powers '");
	shell_runs(INSPECT "--kernel==powers sm_90.cubin | grep '^  powers '");
	shell_ends(2, INSPECT "--kernel==power sm_90.cubin");
}

/* One message, status 2. */
static void refuses(const char *command, const char *text)
{
	shell_ends(2, "%s 2>message >shown", command);
	shell_runs("wc -l <message; cat message");
	shell_says("1\n", text);
}

TEST(bad_input_gets_one_message_with_file_place_and_remedy)
{
	refuses(INSPECT "missing", "missing: No such file");
	refuses(INSPECT ".", ".: not a regular file; give");
	refuses(INSPECT, "missing file argument");
	refuses(INSPECT "program library.a", "more than one file argument");
	refuses(": >empty; " INSPECT "empty", "empty: at byte 0: it is empty; ");
	refuses("echo hello >hello; " INSPECT "hello",
		"hello: at byte 0: neither a fatbin, a cubin, PTX, an ELF file nor an archive; ");
	refuses("head -c 4000 zstd.fatbin >cut; " INSPECT "cut",
		"cut: at byte 0: a fatbin container runs over the end of its place; is the file "
		"whole?");
	refuses(INSPECT "/bin/sh", "/bin/sh: ");
	shell_says("without device code; name the file that holds it");
	refuses(INSPECT "--arch=70 program", "no image runs on a GPU of compute capability 70; ");
	refuses(INSPECT "--kernel=nonsense program", "no kernel's name holds \"nonsense\"; ");
	refuses(INSPECT "--arch=big program", "--arch");
	refuses(INSPECT "--device=H200 program",
		"--device is about machine code or a launch: give --sass or --launch");
	refuses(INSPECT "--coalescing program", "--coalescing is about a launch: give --launch");
	refuses(INSPECT "--launch='grid=1 block=1' lto.fatbin", "no such kernel to evaluate");
}

/* The launch is meant for the kernels that take such arguments. */
TEST(kernels_of_other_arguments_are_left_out)
{
	shell_runs(INSPECT "--launch='grid=80 block=128 args=10000,2.5,pointer,pointer' "
			   "sm_90.cubin >out");
	shell_runs("grep -q '^saxpy(.*grid 80' out && grep -q 'is left out: it takes' out");
	shell_runs(INSPECT "--json --launch='grid=80 block=128 args=10000,2.5,pointer,"
			   "pointer' sm_90.cubin | grep -q '\"why_not\": \"it takes'");
	refuses(INSPECT "--launch='grid=1 block=1 args=1,2,3,4,5,6,7,8,9' sm_90.cubin",
		"no kernel takes such arguments");
}

TEST(a_launch_that_can_not_be_gets_one_message)
{
	refuses(INSPECT "--launch='grid=4' sm_70.ptx", "needs grid= and block=, as in --launch=");
	refuses(INSPECT "--launch='grid=4 block=0' sm_70.ptx", "block=0 is not one to three");
	refuses(INSPECT "--launch='grid=4 grid=4' sm_70.ptx", "\"grid=4\" comes twice");
	refuses(INSPECT "--launch='blok=4' sm_70.ptx", "\"blok=4\" is not known; it takes grid=");
	refuses(SAXPY "args=1,2'", "takes 4 arguments, not 2; ? stands for");
	refuses(SAXPY "args=pointer,2,0,0'",
		"argument 0, \"pointer\", does not fit its parameter of 4 bytes");
	refuses(SAXPY "args=4294967296,2,0,0'", "argument 0");
	refuses(SAXPY "args=1,2,0.5x,0'", "argument 2");
}

TEST(a_broken_image_does_not_hide_the_others)
{
	/* Where the packed bytes of the first image begin. */
	refuses("cp zstd.fatbin torn; printf '\\377\\377\\377\\377\\377\\377' | dd of=torn bs=1 "
		"seek=80 conv=notrunc 2>/dev/null; " INSPECT "torn",
		"torn: image 1 (sm_80) at byte 80: the zstd data are broken; 1 of 3 images could "
		"not be read");
	shell_runs("cat shown");
	shell_says("Kernels of image 2 (sm_90a)");
	shell_runs(INSPECT "--json torn 2>/dev/null | grep '\"error\": \"the'");
}

TEST(a_name_from_a_file_can_not_drive_the_terminal)
{
	shell_runs("sed 's/powers/p\\x1bwers/g' sm_80.cubin >evil && " INSPECT
		   "--kernel=wers evil");
	assert_null(strchr(shell_output, '\033'));
	shell_says("p?wers");
}

TESTS_MAIN(copy_corpus, shell_teardown)
