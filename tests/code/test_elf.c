/* The reader of ELF files sees what libelf sees, and reads nothing outside a broken file. */
#include "predictor/code/binary/elf.h"
#include "tests/code/corpus.h"
#include "tests/test.h"

#include <limits.h>
#include <sys/mman.h>

#include <gelf.h>

static const char *const files[] = {"sm_70.cubin",  "sm_75.cubin", "sm_80.cubin",  "sm_86.cubin",
				    "sm_89.cubin",  "sm_90.cubin", "sm_90a.cubin", "sm_100.cubin",
				    "sm_120.cubin", "program",     "library.so",   "relocatable.o"};

static int begin(void **state)
{
	return corpus_begin(state) || elf_version(EV_CURRENT) == EV_NONE;
}

/* What libelf answered; where it could not, the test ends with libelf's own message. */
static void *reported(const void *answer, const char *file, const char *asked)
{
	if (!answer)
		fail_msg("%s: libelf's %s: %s", file, asked, elf_errmsg(-1));
	return (void *)(uintptr_t)answer;
}

static Elf *open_theirs(struct gw_bytes file, const char *name)
{
	return reported(elf_memory((char *)(uintptr_t)file.data, file.size), name, "elf_memory");
}

TEST(sections_are_those_of_libelf)
{
	for (size_t f = 0; f < COUNT(files); f++) {
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
			Elf_Scn *section = reported(elf_getscn(theirs, i), files[f], "elf_getscn");
			const char *name;
			GElf_Shdr expected;

			reported(gelf_getshdr(section, &expected), files[f], "gelf_getshdr");
			name = reported(elf_strptr(theirs, names, expected.sh_name), files[f],
					"elf_strptr");
			assert_true(gw_elf_section(&ours, i, &s));
			assert_memory_equal(&s, &expected, sizeof(s));
			assert_string_equal(gw_elf_section_name(&ours, &s), name);
			assert_true(gw_elf_section_bytes(&ours, &s, &bytes));
			if (s.sh_type != SHT_NOBITS && s.sh_size) {
				Elf_Data *data = reported(elf_rawdata(section, NULL), files[f],
							  "elf_rawdata");

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

TEST(symbols_are_those_of_libelf)
{
	unsigned compared = 0;

	for (size_t f = 0; f < COUNT(files); f++) {
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
			reported(gelf_getsym(table, (int)i, &expected), files[f], "gelf_getsym");
			name = reported(elf_strptr(theirs, header.sh_link, expected.st_name),
					files[f], "elf_strptr");
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
	unsigned read, broken;
	unsigned sections, symbols; /* of those read, that libelf reads too */
};

/* Read all that the reader gives: on guarded pages, what lies outside the file ends the test. */
static unsigned touch(struct gw_bytes bytes)
{
	unsigned sum = 0;

	for (size_t i = 0; i < bytes.size; i++)
		sum += bytes.data[i];
	return sum;
}

static void read_everything(const struct gw_elf *elf)
{
	struct gw_elf_symbols symbols;
	struct gw_elf_symbol symbol;
	struct gw_bytes bytes;
	volatile unsigned sum = 0;
	Elf64_Shdr s;

	for (uint64_t i = 0; gw_elf_section(elf, i, &s); i++) {
		sum += (unsigned)strlen(gw_elf_section_name(elf, &s));
		if (gw_elf_section_bytes(elf, &s, &bytes))
			sum += touch(bytes);
	}
	gw_elf_symbols(elf, &symbols);
	for (uint64_t i = 0; i < symbols.count; i++) {
		assert_true(gw_elf_symbol(&symbols, i, &symbol));
		sum += (unsigned)strlen(gw_elf_symbol_name(&symbols, &symbol));
	}
	assert_false(gw_elf_symbol(&symbols, symbols.count, &symbol));
	(void)sum;
}

/* Where libelf reads the symbols of the section from the same bytes, they are the same. */
static unsigned same_symbols(const struct gw_elf *ours, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	struct gw_elf_symbols symbols;

	gw_elf_symbols(ours, &symbols);
	if (!data || data->d_buf != symbols.table.data || data->d_size != symbols.table.size)
		return 0;
	for (uint64_t i = 0; i < symbols.count; i++) {
		struct gw_elf_symbol s;
		GElf_Sym expected;

		if (!gelf_getsym(data, (int)i, &expected))
			return 0;
		assert_true(gw_elf_symbol(&symbols, i, &s));
		assert_int_equal(s.name, expected.st_name);
		assert_int_equal(s.value, expected.st_value);
		assert_int_equal(s.size, expected.st_size);
		assert_int_equal(s.info, expected.st_info);
		assert_int_equal(s.other, expected.st_other);
		if (expected.st_shndx != SHN_XINDEX)
			assert_int_equal(s.section, expected.st_shndx);
	}
	return 1;
}

static void compare_with_libelf(const struct gw_elf *ours, struct tally *tally)
{
	Elf *theirs = elf_memory((char *)(uintptr_t)ours->file.data, ours->file.size);
	bool symbols = false;
	GElf_Shdr expected;
	Elf64_Shdr s;
	size_t count;

	if (!theirs || elf_getshdrnum(theirs, &count) || count != ours->section_count)
		count = 0;
	for (size_t i = 1; i < count; i++) {
		Elf_Scn *section = elf_getscn(theirs, i);

		if (!section || !gelf_getshdr(section, &expected))
			continue;
		assert_true(gw_elf_section(ours, i, &s));
		assert_memory_equal(&s, &expected, sizeof(s));
		tally->sections++;
		if (s.sh_type == SHT_SYMTAB && !symbols) {
			symbols = true;
			tally->symbols += same_symbols(ours, section);
		}
	}
	elf_end(theirs);
}

/* A file that may be broken. */
static void try_file(struct gw_bytes file, struct tally *tally)
{
	struct gw_fault fault;
	struct gw_elf elf;

	if (!gw_elf_open(file, &elf, &fault)) {
		assert_non_null(fault.what);
		tally->broken++;
		return;
	}
	tally->read++;
	read_everything(&elf);
	compare_with_libelf(&elf, tally);
}

TEST(a_file_cut_off_anywhere_is_read_within_its_bounds)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_70.cubin");
	struct pages pages = pages_for(file.size);
	struct tally tally = {0};

	for (size_t size = 0; size <= file.size; size++)
		try_file(guarded(&pages, file.data, size), &tally);
	/* The table of sections stands at the end: what is cut off has none. */
	assert_int_equal(tally.broken + tally.read, file.size + 1);
	assert_in_range(tally.read, 1, file.size);
	assert_in_range(tally.broken, 1, file.size);
	munmap(pages.at, pages.size + 4096);
}

TEST(a_file_with_any_byte_changed_is_read_within_its_bounds)
{
	static const uint8_t masks[] = {0x01, 0x80, 0xff};
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_70.cubin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);
	struct pages pages = pages_for(file.size);
	struct tally tally = {0};

	for (size_t at = 0; at < file.size; at++)
		for (size_t m = 0; m < sizeof(masks); m++) {
			copy[at] ^= masks[m];
			try_file(guarded(&pages, copy, file.size), &tally);
			copy[at] ^= masks[m];
		}
	assert_int_equal(tally.broken + tally.read, file.size * sizeof(masks));
	assert_in_range(tally.broken, 1, file.size * sizeof(masks));
	/* libelf refuses some of what is read, and most it reads. */
	assert_in_range(tally.symbols, tally.read / 2, tally.read);
	assert_in_range(tally.sections, tally.read, UINT_MAX);
	munmap(pages.at, pages.size + 4096);
}

/* libelf reads nothing of such a table. */
TEST(of_a_table_that_ends_within_a_symbol_the_whole_ones_are_read)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_90.cubin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);
	struct gw_elf_symbols before, after;
	struct gw_fault fault;
	struct gw_elf elf;
	Elf64_Shdr table;
	uint64_t at = 0;

	assert_true(gw_elf_open(file, &elf, &fault));
	gw_elf_symbols(&elf, &before);
	assert_in_range(before.count, 1, 1000);
	while (gw_elf_section(&elf, at, &table) && table.sh_type != SHT_SYMTAB)
		at++;
	copy[elf.header.e_shoff + at * sizeof(table) + offsetof(Elf64_Shdr, sh_size)] += 1;
	file.data = copy;
	assert_true(gw_elf_open(file, &elf, &fault));
	gw_elf_symbols(&elf, &after);
	assert_int_equal(after.table.size, before.table.size + 1);
	assert_int_equal(after.count, before.count);
}

TESTS_MAIN(begin, corpus_end)
