/* SPDX-License-Identifier: Apache-2.0 */
/* Our reader of ELF files sees what libelf sees. */
#include "predictor/code/elf.h"
#include "tests/code/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <gelf.h>

static const char *const files[] = {"sm_70.cubin",  "sm_75.cubin", "sm_80.cubin",  "sm_86.cubin",
                                    "sm_89.cubin",  "sm_90.cubin", "sm_90a.cubin", "sm_100.cubin",
                                    "sm_120.cubin", "program",     "library.so",   "relocatable.o"};

static int begin(void **state)
{
	return corpus_begin(state) || elf_version(EV_CURRENT) == EV_NONE;
}

/* What libelf answered; where it could not, the test ends with libelf's own message. */
static void *told(const void *answer, const char *file, const char *asked)
{
	if (!answer)
		fail_msg("%s: libelf's %s: %s", file, asked, elf_errmsg(-1));
	return (void *)(uintptr_t)answer;
}

static Elf *open_theirs(struct gw_bytes file, const char *name)
{
	return told(elf_memory((char *)(uintptr_t)file.data, file.size), name, "elf_memory");
}

static void sections_are_those_of_libelf(void **state)
{
	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		struct gw_bytes file = corpus_file(corpus_arena(), files[f]), bytes;
		Elf *theirs = open_theirs(file, files[f]);
		struct gw_elf ours;
		struct gw_fault fault;
		size_t count, names;
		Elf64_Shdr s;

		assert_true(gw_elf_open(file, &ours, &fault));
		assert_int_equal(elf_getshdrnum(theirs, &count), 0);
		assert_int_equal(elf_getshdrstrndx(theirs, &names), 0);
		assert_int_equal(ours.section_count, count);
		for (size_t i = 1; i < count; i++) {
			Elf_Scn *section = told(elf_getscn(theirs, i), files[f], "elf_getscn");
			const char *name;
			GElf_Shdr expected;

			told(gelf_getshdr(section, &expected), files[f], "gelf_getshdr");
			name = told(elf_strptr(theirs, names, expected.sh_name), files[f],
			            "elf_strptr");
			assert_true(gw_elf_section(&ours, i, &s));
			assert_memory_equal(&s, &expected, sizeof(s));
			assert_string_equal(gw_elf_section_name(&ours, &s), name);
			assert_true(gw_elf_section_bytes(&ours, &s, &bytes));
			if (s.sh_type != SHT_NOBITS && s.sh_size) {
				Elf_Data *data =
				        told(elf_rawdata(section, NULL), files[f], "elf_rawdata");

				assert_ptr_equal(bytes.data, data->d_buf);
			}
		}
		assert_false(gw_elf_section(&ours, count, &s));
		elf_end(theirs);
	}
}

static Elf_Data *symbol_table(Elf *elf, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type == SHT_SYMTAB)
			return elf_getdata(section, NULL);
	return NULL;
}

static void symbols_are_those_of_libelf(void **state)
{
	unsigned compared = 0;

	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		struct gw_bytes file = corpus_file(corpus_arena(), files[f]);
		Elf *theirs = open_theirs(file, files[f]);
		struct gw_elf_symbols symbols;
		struct gw_elf ours;
		struct gw_fault fault;
		GElf_Shdr header;
		Elf_Data *table = symbol_table(theirs, &header);

		assert_true(gw_elf_open(file, &ours, &fault));
		gw_elf_symbols(&ours, &symbols);
		assert_int_equal(symbols.count, table ? header.sh_size / header.sh_entsize : 0);
		for (uint64_t i = 0; i < symbols.count; i++, compared++) {
			struct gw_elf_symbol s;
			const char *name;
			GElf_Sym expected;

			assert_true(gw_elf_symbol(&symbols, i, &s));
			told(gelf_getsym(table, (int)i, &expected), files[f], "gelf_getsym");
			name = told(elf_strptr(theirs, header.sh_link, expected.st_name), files[f],
			            "elf_strptr");
			assert_string_equal(gw_elf_symbol_name(&symbols, &s), name);
			assert_int_equal(s.value, expected.st_value);
			assert_int_equal(s.size, expected.st_size);
			assert_int_equal(s.section, expected.st_shndx);
			assert_int_equal(s.info, expected.st_info);
			assert_int_equal(s.other, expected.st_other);
		}
		elf_end(theirs);
	}
	assert_in_range(compared, 100, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sections_are_those_of_libelf),
	        cmocka_unit_test(symbols_are_those_of_libelf),
	};

	return cmocka_run_group_tests(tests, begin, corpus_end);
}
