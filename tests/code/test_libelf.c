/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes of a libelf.so.1 that is not what it should be: "poor", it lacks functions; "odd", it
 * answers one question otherwise. The linker finds it by LD_LIBRARY_PATH.
 */
#include "predictor/code/libelf.h"
#include "tests/code/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void open_cubin(struct gw_elf *elf)
{
	struct gw_fault fault;

	assert_true(gw_elf_open(corpus_file(corpus_arena(), "sm_80.cubin"), elf, &fault));
	gw_libelf_read(elf, true, corpus_arena());
}

static void none_is_loaded_unless_asked_for(void **state)
{
	struct gw_elf elf;

	(void)state;
	assert_string_equal(gw_libelf_open(GW_LIBELF_LOADED),
	                    "the process has loaded no libelf.so.1");
	assert_null(gw_libelf_path());
	open_cubin(&elf);
	assert_null(elf.section);
	assert_null(elf.refused.what);
}

static void one_that_lacks_functions_is_left_alone(void **state)
{
	struct gw_elf elf;

	(void)state;
	assert_string_equal(gw_libelf_open(GW_LIBELF_SYSTEM),
	                    "the libelf.so.1 that there is lacks elf_memory");
	assert_null(gw_libelf_path());
	open_cubin(&elf);
	assert_null(elf.section);
	assert_null(elf.refused.what);
	/* It has been closed again. */
	assert_string_equal(gw_libelf_open(GW_LIBELF_LOADED),
	                    "the process has loaded no libelf.so.1");
}

static void a_good_one_reads(void **state)
{
	struct gw_elf elf;

	(void)state;
	assert_null(gw_libelf_open(GW_LIBELF_SYSTEM));
	assert_non_null(gw_libelf_path());
	open_cubin(&elf);
	assert_non_null(elf.section);
	assert_non_null(elf.symbol);
	assert_null(elf.refused.what);
	gw_libelf_leave();
	assert_null(gw_libelf_path());
	open_cubin(&elf);
	assert_null(elf.section);
	assert_null(gw_libelf_open(GW_LIBELF_LOADED));
}

/* Nothing of it is used where one answer can't be. */
static void one_that_answers_otherwise_is_not_believed(void **state)
{
	static const struct {
		const char *what, *said;
	} cases[] = {
	        {"elf_memory", "odd"},
	        {"gelf_getehdr", "libelf reads it otherwise"},
	        {"elf_getshdrnum", "odd"},
	        {"elf_getscn", "odd"},
	        {"gelf_getshdr", "odd"},
	        {"elf_rawdata", "odd"},
	        {"elf_rawdata elsewhere", "odd"},
	        {"elf_rawdata longer", "odd"},
	        {"elf_getshdrstrndx", "odd"},
	        {"elf_getdata", "odd"},
	        {"gelf_getsymshndx", "odd"},
	};

	(void)state;
	assert_null(gw_libelf_open(GW_LIBELF_SYSTEM));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gw_elf elf;

		setenv("ODD_LIBELF", cases[i].what, 1);
		open_cubin(&elf);
		if (elf.section || elf.symbol || !elf.refused.what)
			fail_msg("%s was believed", cases[i].what);
		assert_string_equal(elf.refused.what, cases[i].said);
		assert_in_range(elf.refused.offset, 0, elf.file.size);
	}
	unsetenv("ODD_LIBELF");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest poor[] = {
	        cmocka_unit_test(none_is_loaded_unless_asked_for),
	        cmocka_unit_test(one_that_lacks_functions_is_left_alone),
	};
	const struct CMUnitTest other[] = {
	        cmocka_unit_test(none_is_loaded_unless_asked_for),
	        cmocka_unit_test(a_good_one_reads),
	        cmocka_unit_test(one_that_answers_otherwise_is_not_believed),
	};

	if (argc == 2 && strcmp(argv[1], "poor") == 0)
		return cmocka_run_group_tests(poor, corpus_begin, corpus_end);
	return cmocka_run_group_tests(other, corpus_begin, corpus_end);
}
