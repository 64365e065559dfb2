/* SPDX-License-Identifier: Apache-2.0 */
/* Our reader of ELF files sees what libelf sees, and libelf as elf.h uses it tells the same. */
#include "predictor/code/elf.h"
#include "predictor/code/kernel.h"
#include "predictor/code/libelf.h"
#include "tests/code/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <gelf.h>

/* What libelf.h declares itself. */
_Static_assert(offsetof(Elf_Data, d_buf) == offsetof(struct gw_libelf_data, d_buf) &&
                       offsetof(Elf_Data, d_size) == offsetof(struct gw_libelf_data, d_size) &&
                       sizeof(((Elf_Data *)0)->d_size) ==
                               sizeof(((struct gw_libelf_data *)0)->d_size),
               "Elf_Data");
_Static_assert(sizeof(GElf_Sym) == sizeof(Elf64_Sym) && sizeof(GElf_Shdr) == sizeof(Elf64_Shdr) &&
                       sizeof(GElf_Ehdr) == sizeof(Elf64_Ehdr),
               "GElf types");

static const char *const files[] = {"sm_70.cubin",  "sm_75.cubin", "sm_80.cubin",  "sm_86.cubin",
                                    "sm_89.cubin",  "sm_90.cubin", "sm_90a.cubin", "sm_100.cubin",
                                    "sm_120.cubin", "program",     "library.so",   "relocatable.o"};

static int begin(void **state)
{
	const char *why = gw_libelf_open(GW_LIBELF_LOADED); /* this program is linked to it */

	if (why)
		fprintf(stderr, "test_elf: %s\n", why);
	return why || corpus_begin(state) || elf_version(EV_CURRENT) == EV_NONE;
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

/* Both answers to one question about an open file are the same. */
static void assert_same(const struct gw_elf *a, const struct gw_elf *b)
{
	struct gw_elf_symbols of_a, of_b;

	assert_int_equal(a->section_count, b->section_count);
	for (uint64_t i = 0; i < a->section_count; i++) {
		struct gw_bytes bytes[2];
		Elf64_Shdr s[2];

		assert_true(gw_elf_section(a, i, &s[0]));
		assert_true(gw_elf_section(b, i, &s[1]));
		assert_memory_equal(&s[0], &s[1], sizeof(*s));
		assert_ptr_equal(gw_elf_section_name(a, &s[0]), gw_elf_section_name(b, &s[1]));
		assert_int_equal(gw_elf_section_bytes(a, &s[0], &bytes[0]),
		                 gw_elf_section_bytes(b, &s[1], &bytes[1]));
		assert_ptr_equal(bytes[0].data, bytes[1].data);
		assert_int_equal(bytes[0].size, bytes[1].size);
	}
	gw_elf_symbols(a, &of_a);
	gw_elf_symbols(b, &of_b);
	assert_int_equal(of_a.count, of_b.count);
	for (uint64_t i = 0; i < of_a.count; i++) {
		struct gw_elf_symbol s[2] = {{0}, {0}};

		assert_true(gw_elf_symbol(&of_a, i, &s[0]));
		assert_true(gw_elf_symbol(&of_b, i, &s[1]));
		assert_int_equal(s[0].name, s[1].name);
		assert_int_equal(s[0].info, s[1].info);
		assert_int_equal(s[0].other, s[1].other);
		assert_int_equal(s[0].section, s[1].section);
		assert_int_equal(s[0].value, s[1].value);
		assert_int_equal(s[0].size, s[1].size);
		assert_ptr_equal(gw_elf_symbol_name(&of_a, &s[0]),
		                 gw_elf_symbol_name(&of_b, &s[1]));
	}
}

static void libelf_reads_every_file_and_tells_the_same(void **state)
{
	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(*files); f++) {
		struct gw_bytes file = corpus_file(corpus_arena(), files[f]);
		struct gw_elf ours, theirs;
		struct gw_fault fault;

		assert_true(gw_elf_open(file, &ours, &fault));
		theirs = ours;
		gw_libelf_read(&theirs, true, corpus_arena());
		if (theirs.refused.what)
			fail_msg("%s: %s", files[f], theirs.refused.what);
		assert_non_null(theirs.section);
		assert_null(ours.section);
		assert_same(&ours, &theirs);
	}
}

/* The end of pages that can't be written, before one that can't be read. */
struct pages {
	uint8_t *at;
	size_t size;
};

static struct gw_bytes guarded(const struct pages *pages, const uint8_t *data, size_t size)
{
	uint8_t *begin = pages->at + pages->size - size;

	assert_int_equal(mprotect(pages->at, pages->size, PROT_READ | PROT_WRITE), 0);
	if (size)
		memcpy(begin, data, size);
	assert_int_equal(mprotect(pages->at, pages->size, PROT_READ), 0);
	return (struct gw_bytes){size ? begin : NULL, size};
}

static struct pages pages_for(size_t size)
{
	enum { PAGE = 4096 };
	struct pages p = {.size = (size + PAGE - 1) / PAGE * PAGE};

	p.at = mmap(NULL, p.size + PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p.at, MAP_FAILED);
	assert_int_equal(mprotect(p.at + p.size, PAGE, PROT_NONE), 0);
	return p;
}

struct tally {
	unsigned read, refused, broken;
};

/* A file that may be broken: both tell the same, or libelf says where it finds it wrong. */
static void try_file(struct gw_bytes file, struct tally *tally)
{
	struct gw_elf ours, theirs;
	struct gw_fault fault;
	struct gw_arena arena;

	if (!gw_elf_open(file, &ours, &fault)) {
		assert_non_null(fault.what);
		tally->broken++;
		return;
	}
	gw_arena_init(&arena, 1 << 20);
	theirs = ours;
	gw_libelf_read(&theirs, true, &arena);
	assert_int_equal(!theirs.section, theirs.refused.what != NULL);
	if (theirs.section) {
		tally->read++;
	} else {
		assert_true(strlen(theirs.refused.what) > 0);
		assert_null(theirs.symbol);
		tally->refused++;
	}
	assert_same(&ours, &theirs);
	gw_arena_free(&arena);
}

static void a_file_cut_off_anywhere_is_read_alike(void **state)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_70.cubin");
	struct pages pages = pages_for(file.size);
	struct tally tally = {0};

	(void)state;
	for (size_t size = 0; size <= file.size; size++)
		try_file(guarded(&pages, file.data, size), &tally);
	/* The table of sections stands at the end: what is cut off has none. */
	assert_int_equal(tally.broken + tally.read + tally.refused, file.size + 1);
	assert_in_range(tally.read, 1, file.size);
	assert_in_range(tally.broken, 1, file.size);
	munmap(pages.at, pages.size + 4096);
}

static void a_file_with_any_byte_changed_is_read_alike(void **state)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_70.cubin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);
	struct pages pages = pages_for(file.size);
	struct tally tally = {0};

	(void)state;
	for (size_t at = 0; at < file.size; at++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			copy[at] ^= masks[m];
			try_file(guarded(&pages, copy, file.size), &tally);
			copy[at] ^= masks[m];
		}
	assert_int_equal(tally.broken + tally.read + tally.refused, file.size * sizeof(masks));
	assert_in_range(tally.read, 1, file.size * sizeof(masks));
	assert_in_range(tally.refused, 1, file.size * sizeof(masks));
	munmap(pages.at, pages.size + 4096);
}

static uint64_t section_of_type(const struct gw_elf *elf, uint32_t type)
{
	Elf64_Shdr s;

	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++)
		if (s.sh_type == type)
			return i;
	fail();
	return 0;
}

static void a_refusal_names_the_place_and_ours_answers(void **state)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_90.cubin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);
	struct gw_cubin ours, theirs;
	struct gw_fault fault;
	struct gw_elf elf;
	Elf64_Shdr table;
	uint64_t at;

	(void)state;
	/* A table of symbols that ends within one: libelf gives none of it, ours all that are
	 * whole. */
	assert_true(gw_elf_open(file, &elf, &fault));
	at = section_of_type(&elf, SHT_SYMTAB);
	gw_elf_section(&elf, at, &table);
	copy[elf.header.e_shoff + at * sizeof(table) + offsetof(Elf64_Shdr, sh_size)] += 1;
	file.data = copy;
	assert_true(gw_cubin_open(file, corpus_arena(), &theirs, &fault));
	assert_string_equal(theirs.elf.refused.what, "invalid data");
	assert_int_equal(theirs.elf.refused.offset, table.sh_offset);
	gw_libelf_leave();
	assert_true(gw_cubin_open(file, corpus_arena(), &ours, &fault));
	assert_null(gw_libelf_open(GW_LIBELF_LOADED));
	assert_null(ours.elf.refused.what);
	assert_same(&ours.elf, &theirs.elf);
	assert_int_equal(theirs.count, ours.count);
	assert_in_range(theirs.count, 1, 100);
}

static void too_many_sections_are_not_given_to_libelf(void **state)
{
	enum { COUNT = GW_LIBELF_SECTIONS_MAX + 1 };
	Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
	                                 ELFDATA2LSB, EV_CURRENT},
	                     .e_shoff = sizeof(header),
	                     .e_shentsize = sizeof(Elf64_Shdr)};
	Elf64_Shdr first = {.sh_size = COUNT};
	size_t size = sizeof(header) + (size_t)COUNT * sizeof(first);
	uint8_t *data = gw_arena_array(corpus_arena(), size, 1);
	struct gw_fault fault;
	struct gw_elf elf;

	(void)state;
	assert_non_null(data);
	memcpy(data, &header, sizeof(header));
	memcpy(data + sizeof(header), &first, sizeof(first));
	assert_true(gw_elf_open((struct gw_bytes){data, size}, &elf, &fault));
	assert_int_equal(elf.section_count, COUNT);
	gw_libelf_read(&elf, true, corpus_arena());
	assert_string_equal(elf.refused.what, "more sections than are given to libelf");
	assert_null(elf.section);
}

static void without_memory_for_tables_ours_answers(void **state)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_90.cubin");
	struct gw_elf ours, theirs;
	struct gw_fault fault;
	struct gw_arena arena;

	(void)state;
	assert_true(gw_elf_open(file, &ours, &fault));
	for (size_t limit = 0; limit < 8192; limit += 512) {
		gw_arena_init(&arena, limit);
		theirs = ours;
		gw_libelf_read(&theirs, true, &arena);
		assert_int_equal(!theirs.section, theirs.refused.what != NULL);
		assert_true(limit || theirs.refused.what);
		assert_false(arena.refused);
		assert_same(&ours, &theirs);
		gw_arena_free(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sections_are_those_of_libelf),
	        cmocka_unit_test(symbols_are_those_of_libelf),
	        cmocka_unit_test(libelf_reads_every_file_and_tells_the_same),
	        cmocka_unit_test(a_file_cut_off_anywhere_is_read_alike),
	        cmocka_unit_test(a_file_with_any_byte_changed_is_read_alike),
	        cmocka_unit_test(a_refusal_names_the_place_and_ours_answers),
	        cmocka_unit_test(too_many_sections_are_not_given_to_libelf),
	        cmocka_unit_test(without_memory_for_tables_ours_answers),
	};

	return cmocka_run_group_tests(tests, begin, corpus_end);
}
