/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch inspect, as its users see it. */
#include "tests/cli/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define INSPECT "$PREFIX/bin/gpuwatch inspect "

static int copy_corpus(void **state)
{
	return shell_setup(state) || shell("cp %s/* .", CORPUS);
}

static void text_is_as_reviewed(void **state)
{
	(void)state;
	assert_int_equal(shell(INSPECT "program"), 0);
	shell_is_golden("inspect_program.txt");
	assert_int_equal(shell("COLUMNS=60 " INSPECT "library.a"), 0);
	shell_is_golden("inspect_archive_60.txt");
	assert_int_equal(shell(INSPECT "--device=90 --kernel=power plain.fatbin"), 0);
	shell_is_golden("inspect_kernel.txt");
}

static void json_is_as_reviewed(void **state)
{
	(void)state;
	assert_int_equal(shell(INSPECT "--json --device=80 zstd.fatbin"), 0);
	shell_is_golden("inspect.json");
}

static void json_is_well_formed(void **state)
{
	(void)state;
	if (shell("command -v python3"))
		skip();
	for (const char *const *file =
	             (const char *const[]){"lto.fatbin", "program", "library.a", "sm_70.ptx", NULL};
	     *file; file++)
		assert_int_equal(shell(INSPECT "--json --ptx %s | python3 -m json.tool", *file), 0);
}

static void ptx_is_printed_as_it_was_compiled(void **state)
{
	(void)state;
	assert_int_equal(shell(INSPECT "--ptx sm_70.ptx | sed '1,/^PTX of/d' | diff - sm_70.ptx"),
	                 0);
	assert_int_equal(shell(INSPECT "--ptx --device=120 lz4.fatbin"), 0);
	shell_says(".target sm_90\n");
	shell_says(".visible .entry powers(");
}

/* One message, status 2. */
static void refuses(const char *command, const char *text)
{
	assert_int_equal(shell("%s 2>message >shown", command), 2);
	assert_int_equal(shell("wc -l <message; cat message"), 0);
	shell_says("1\n");
	shell_says(text);
}

static void bad_input_gets_one_message_with_file_place_and_remedy(void **state)
{
	(void)state;
	refuses(INSPECT "missing", "missing: No such file");
	refuses(INSPECT ".", ".: not a regular file; give");
	refuses(INSPECT, "inspect takes one file");
	refuses(INSPECT "program library.a", "inspect takes one file");
	refuses(": >empty; " INSPECT "empty", "empty: at byte 0: it is empty; ");
	refuses("echo hello >hello; " INSPECT "hello",
	        "hello: at byte 0: neither a fatbin, a cubin, PTX, an ELF file nor an archive; ");
	refuses("head -c 4000 zstd.fatbin >cut; " INSPECT "cut",
	        "cut: at byte 0: a fatbin container runs over the end of its place; is the file "
	        "whole?");
	refuses(INSPECT "/bin/sh", "/bin/sh: ");
	shell_says("without device code; name the file that holds it");
	refuses(INSPECT "--device=70 program", "no image runs on a GPU of compute capability 70; ");
	refuses(INSPECT "--kernel=nonsense program", "no kernel's name holds \"nonsense\"; ");
	refuses(INSPECT "--device=big program", "--device");
}

static void a_broken_image_does_not_hide_the_others(void **state)
{
	(void)state;
	/* Where the packed bytes of the first image begin. */
	refuses("cp zstd.fatbin torn; printf '\\377\\377\\377\\377\\377\\377' | dd of=torn bs=1 "
	        "seek=80 conv=notrunc 2>/dev/null; " INSPECT "torn",
	        "torn: image 1 (sm_80) at byte 80: the zstd data are broken; 1 of 4 images could "
	        "not be read");
	assert_int_equal(shell("cat shown"), 0);
	shell_says("Kernels of image 2 (sm_90a)");
	assert_int_equal(shell(INSPECT "--json torn 2>/dev/null | grep '\"error\": \"the'"), 0);
}

static void a_name_from_a_file_can_not_drive_the_terminal(void **state)
{
	(void)state;
	assert_int_equal(shell("sed 's/powers/p\\x1bwers/g' sm_80.cubin >evil && " INSPECT
	                       "--kernel=wers evil"),
	                 0);
	assert_null(strchr(shell_output, '\033'));
	shell_says("p?wers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(text_is_as_reviewed),
	        cmocka_unit_test(json_is_as_reviewed),
	        cmocka_unit_test(json_is_well_formed),
	        cmocka_unit_test(ptx_is_printed_as_it_was_compiled),
	        cmocka_unit_test(bad_input_gets_one_message_with_file_place_and_remedy),
	        cmocka_unit_test(a_broken_image_does_not_hide_the_others),
	        cmocka_unit_test(a_name_from_a_file_can_not_drive_the_terminal),
	};

	return cmocka_run_group_tests(tests, copy_corpus, shell_teardown);
}
