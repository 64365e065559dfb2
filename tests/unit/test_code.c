/* The code behind a launched kernel: found where the module lies, for the processor, in bounds. */
#include "preload/analysis/code.h"
#include "preload/analysis/code_mapped.h"
#include "preload/analysis/code_pack.h"
#include "preload/launch/module_reports.h"
#include "preload/runtime/options.h"
#include "tests/code/corpus.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOT = 3 };

static struct gw_arena arena;
static struct gw_code code;

static int start(void **state)
{
	fixture_start();
	gw_options.mode = GW_MODE_AUDIT;
	gw_options.analyze_code = true;
	assert_true(gw_module_reports_start());
	gw_code_start();
	gw_arena_init(&arena, 128 << 20);
	return 0;
}

static int end(void **state)
{
	gw_arena_free(&arena);
	return 0;
}

/* A module whose image is a copy of a file of the corpus. */
static struct gw_module_note *module_copied(uint32_t number, const char *file)
{
	struct gw_bytes bytes = corpus_file(&arena, file);
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + 1);

	n->number = number;
	n->bytes = bytes.size;
	n->image = (void *)(uintptr_t)bytes.data;
	gw_code_module(n);
	return n;
}

/* A module that lies in a file: at @p from_base where @p bytes is not 0. */
static struct gw_module_note *module_in_file(uint32_t number, const char *path, uint64_t from_base,
					     uint64_t bytes)
{
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + strlen(path) + 1);

	n->number = number;
	n->bytes = bytes;
	n->from_base = from_base;
	strcpy(n->path, path);
	gw_code_module(n);
	return n;
}

static bool code_of(const char *name, uint32_t module, uint32_t processor)
{
	gw_hot.shared->kernels[SLOT] = (struct gw_kernel_slot){
		.name = name, .module = module, .binary_version = processor};
	return gw_code_of(SLOT, &code);
}

TEST_WITH(the_machine_code_for_the_processor_is_found, start, end)
{
	module_copied(1, "zstd.fatbin");
	assert_true(code_of("powers", 1, 80));
	assert_true(code.machine);
	assert_int_equal(code.kernel.arch.number, 80);
	assert_int_equal(code.kernel.param_count, 2);
	assert_true(code_of("powers", 1, 90));
	assert_int_equal(code.kernel.arch.number, 90);
	assert_int_equal(code.kernel.arch.suffix, 'a');
	assert_null(code.why);
}

TEST_WITH(ptx_is_given_where_the_driver_compiled_it, start, end)
{
	module_copied(1, "zstd.fatbin");
	assert_true(code_of("powers", 1, 120));
	assert_false(code.machine);
	assert_non_null(memmem(code.ptx.data, code.ptx.size, ".entry powers", 13));
}

#define NOWHERE "its module was loaded unseen, and no object of the process holds its code"
#define OTHER   "its module was loaded unseen, and what has its name is other code"
#define NOT_ALL "its module was loaded unseen, and not all code could be searched for it"
#define SEVERAL "its module was loaded unseen, and there is other code of its name"

static void reason(const char *name, uint32_t module, uint32_t processor, const char *why)
{
	assert_false(code_of(name, module, processor));
	assert_false(code.machine);
	assert_string_equal(code.why, why);
}

TEST_WITH(what_is_not_known_has_its_reason, start, end)
{
	struct gw_module_note *broken = module_copied(2, "sm_80.cubin");

	module_copied(1, "sm_80.cubin");
	((uint8_t *)broken->image)[4] = 1; /* 32-bit */
	reason("powers", 0, 80, NOWHERE);
	reason("powers", 7, 80, NOWHERE);
	reason("powers", 1, UINT32_MAX,
	       "the driver does not report which processor its code is for");
	reason("powers", 1, 75, "no image in it runs on this GPU");
	reason("power", 1, 80, "the module's code for this GPU does not hold the kernel");
	reason("powers", 2, 80, "no image in it runs on this GPU");
	module_in_file(3, "/nonexistent", 0, 0);
	reason("powers", 3, 80, "its file could not be opened");
	module_in_file(4, "/dev/null", 0, 0);
	reason("powers", 4, 80, "its file is not a regular one");
	module_in_file(5, "", 0, 0);
	reason("powers", 5, 80, "its module is in no format that is known here");
	module_in_file(7, "", 0, 1000);
	reason("powers", 7, 80, "64 MiB of modules that lie in no file were kept already");
	module_in_file(8, "", 0, (16 << 20) + 1);
	reason("powers", 8, 80, "its module is larger than 16 MiB and lies in no file");
	module_in_file(9, CORPUS "/program", 0, 0)->stamp = 1;
	reason("powers", 9, 80, "its file has changed since it was loaded");
	module_in_file(6, CORPUS "/program", UINT32_MAX, 100);
	reason("powers", 6, 80, "its place in the file could not be found");
}

TEST_WITH(a_file_that_was_loaded_is_read, start, end)
{
	module_in_file(1, CORPUS "/sm_75.cubin", 0, 0);
	assert_true(code_of("powers", 1, 75));
	assert_int_equal(code.kernel.arch.number, 75);
}

/* As dladdr() reports it of a program's or library's container: by its address when loaded. */
TEST_WITH(a_container_is_read_from_where_it_lies_in_a_library, start, end)
{
	static const char *const files[] = {"library.so", "program"};

	for (uint32_t i = 0; i < 2; i++) {
		char path[512];
		struct gw_images images = corpus_images(&arena, files[i], 3);
		/* The container's header stands before the header of its first entry. */
		uint64_t at = images.image[1].offset - 64 - 16;

		snprintf(path, sizeof(path), "%s/%s", CORPUS, files[i]);
		/* Addresses are offsets in the segment that begins the file. */
		module_in_file(i + 1, path, at, images.image[2].offset + 1568 - at);
		assert_true(code_of("powers", i + 1, 80));
		assert_int_equal(code.kernel.arch.number, 80);
	}
}

TEST_WITH(a_library_is_read_once_for_all_its_kernels, start, end)
{
	struct gw_module_note *n = module_copied(1, "zstd.fatbin");

	assert_true(code_of("powers", 1, 80));
	memset(n->image, 0, (size_t)n->bytes);
	assert_true(code_of("_Z5saxpyifPKfPf", 1, 80));
	assert_true(code.machine);
}

/* The file is an object of the process while it is mapped so. */
static void *mapped(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	void *at;

	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	at = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

/* As the driver reports the kernel. */
static bool unseen(const char *name, uint32_t processor, uint32_t registers, uint32_t shared)
{
	gw_hot.shared->kernels[SLOT] = (struct gw_kernel_slot){.name = name,
							       .binary_version = processor,
							       .registers = registers,
							       .static_shared = shared};
	return gw_code_of(SLOT, &code);
}

TEST_WITH(code_of_a_module_loaded_unseen_is_found_in_the_process_s_objects, start, end)
{
	size_t size;
	void *at = mapped(CORPUS "/library.so", &size);

	assert_true(unseen("powers", 80, 12, 0));
	assert_true(code.machine);
	assert_int_equal(code.kernel.arch.number, 80);
	assert_int_equal(gw_code_mapped_count(), 2);
	/* Shared memory as the driver reports it, with or without what the system has of it. */
	assert_true(unseen("_Z6reduce6recordhPKfPf", 80, 22, 256));
	assert_true(unseen("_Z6reduce6recordhPKfPf", 80, 22, 256 + 1024));
	assert_false(unseen("powers", 80, 13, 0));
	assert_string_equal(code.why, OTHER);
	assert_false(unseen("_Z6reduce6recordhPKfPf", 80, 22, 512));
	assert_string_equal(code.why, OTHER);
	assert_false(unseen("power", 80, 12, 0));
	assert_string_equal(code.why, NOWHERE);
	/* No machine code for this one: the driver compiles the PTX. */
	assert_true(unseen("powers", 100, 40, 0));
	assert_false(code.machine);
	assert_non_null(memmem(code.ptx.data, code.ptx.size, ".entry powers", 13));
	munmap(at, size);
}

/* With its header it goes round to where it begins. */
TEST_WITH(a_container_that_is_longer_than_its_section_is_not_listed, start, end)
{
	static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
	const uint16_t header = 0xffff;
	const uint64_t rest = -(uint64_t)header;
	char path[] = "/tmp/gw_library.XXXXXX";
	size_t size;
	char *from = mapped(CORPUS "/library.so", &size), *copy = test_malloc(size), *last = NULL;
	int fd = mkstemp(path);
	void *at;

	memcpy(copy, from, size);
	munmap(from, size);
	for (char *c = copy; (c = memmem(c, size - (size_t)(c - copy), magic, 4)); c++)
		last = c;
	assert_non_null(last);
	memcpy(last + 6, &header, sizeof(header));
	memcpy(last + 8, &rest, sizeof(rest));
	assert_int_equal(write(fd, copy, size), size);
	close(fd);
	at = mapped(path, &size);
	unseen("power", 80, 12, 0);
	assert_in_range(gw_code_mapped_count(), 0, 8);
	munmap(at, size);
	unlink(path);
	test_free(copy);
}

TEST_WITH(code_of_a_module_loaded_unseen_is_found_in_reports, start, end)
{
	struct gw_bytes cubin = corpus_file(&arena, "sm_90.cubin");
	struct gw_bytes other = corpus_file(&arena, "sm_90a-cuda12.cubin");
	bool all;

	gw_module_unseen();
	gw_module_reported(cubin.data, cubin.size);
	gw_module_reported(cubin.data, cubin.size);
	assert_null(gw_module_reports(&all)->next); /* the same again takes no room */
	assert_true(all);
	assert_true(unseen("powers", 90, 12, 0));
	assert_true(code.machine);
	assert_int_equal(code.kernel.arch.number, 90);
	/* It is for one processor alone. */
	assert_false(unseen("powers", 80, 12, 0));
	assert_string_equal(code.why, NOWHERE);
	/* Loaded again, compiled otherwise. */
	gw_module_reported(other.data, other.size);
	assert_false(unseen("_Z6reduce6recordhPKfPf", 90, 26, 256));
	assert_string_equal(code.why, SEVERAL);
}

/* The same code in two images is the same. */
TEST_WITH(code_that_two_images_have_alike_is_found, start, end)
{
	struct gw_bytes cubin = corpus_file(&arena, "sm_90.cubin");
	size_t size = cubin.size + 64;
	uint8_t *longer = gw_arena_array(&arena, 1, size);
	bool all;

	memcpy(longer, cubin.data, cubin.size);
	gw_module_unseen();
	gw_module_reported(cubin.data, cubin.size);
	gw_module_reported(longer, size);
	assert_non_null(gw_module_reports(&all)->next);
	assert_true(unseen("powers", 90, 12, 0));
	assert_true(code.machine);
}

/* A fatbin's header and that of its only entry. */
struct container {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
	uint16_t kind, entry_version;
	uint32_t entry_header;
	uint64_t entry_size;
	uint32_t packed, options;
	uint16_t minor, major;
	uint32_t arch, name[2];
	uint64_t flags, zero, unpacked;
};

/* A container of PTX, as the compiler leaves it in a host's file. */
static void host_with_ptx(const char *path, const char *ptx)
{
	static uint8_t file[1 << 16];
	const size_t length = strlen(ptx) + 1, padded = (length + 7) & ~(size_t)7;
	const struct container head = {0xba55ed50, 1, 16, 64 + padded, 1,   0x101, 64, padded, 0,
				       0,          8, 7,  52,          {0}, 0x11,  0,  0};
	const char names[] = "\0.nv_fatbin\0.shstrtab";
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_phoff = sizeof(e),
			.e_ehsize = sizeof(e),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2};
	Elf64_Phdr p = {.p_type = PT_LOAD, .p_filesz = sizeof(file), .p_memsz = sizeof(file)};
	Elf64_Shdr s[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = 1024,
		 .sh_offset = 1024,
		 .sh_size = 16 + 64 + padded},
		{.sh_name = 12, .sh_type = SHT_STRTAB, .sh_offset = 512, .sh_size = sizeof(names)}};
	FILE *out = fopen(path, "wb");

	assert_true(1024 + sizeof(head) + padded <= sizeof(file));
	memset(file, 0, sizeof(file));
	e.e_shoff = 256;
	memcpy(file, &e, sizeof(e));
	memcpy(file + sizeof(e), &p, sizeof(p));
	memcpy(file + 256, s, sizeof(s));
	memcpy(file + 512, names, sizeof(names));
	memcpy(file + 1024, &head, sizeof(head));
	memcpy(file + 1024 + sizeof(head), ptx, length);
	assert_int_equal(fwrite(file, sizeof(file), 1, out), 1);
	fclose(out);
}

#define PTX_HEAD ".version 7.8\n.target sm_52\n.address_size 64\n"
#define ONE      ".visible .entry one(.param .u64 p) { ret; }\n"
#define TWO      ".visible .entry two(.param .u64 p, .param .u32 q) { call (r), f; ret; }\n"

/* Two objects of one source and more: what an entry calls may be another in each. */
TEST_WITH(ptx_of_two_objects_is_compared_by_entry, start, end)
{
	char path[2][32] = {"/tmp/gw_host.XXXXXX", "/tmp/gw_host.XXXXXX"};
	const char *text[] = {PTX_HEAD ONE TWO,
			      PTX_HEAD TWO "// more\n" ONE ".entry cut(.param .u64 p"};
	size_t size[2];
	void *at[2];

	for (unsigned i = 0; i < 2; i++) {
		close(mkstemp(path[i]));
		host_with_ptx(path[i], text[i]);
		at[i] = mapped(path[i], &size[i]);
	}
	assert_true(unseen("one", 90, 20, 0));
	assert_non_null(memmem(code.ptx.data, code.ptx.size, "entry one", 9));
	assert_int_equal(gw_code_mapped_count(), 2);
	assert_false(unseen("two", 90, 20, 0));
	assert_string_equal(code.why, SEVERAL);
	assert_true(unseen("cut", 90, 20, 0));
	for (unsigned i = 0; i < 2; i++) {
		munmap(at[i], size[i]);
		unlink(path[i]);
	}
}

/* Each entry of the table of symbols is a kernel, all of them of one large section. */
TEST_WITH(kernels_that_claim_the_same_code_are_read_within_a_bound, start, end)
{
	enum { SIZE = 8 << 20, COPIES = 20 };
	struct gw_bytes cubin = corpus_file(&arena, "sm_90.cubin");
	uint8_t *large = gw_arena_array(&arena, SIZE, 1), *at = large + cubin.size;
	Elf64_Shdr *s = (void *)(large + ((const Elf64_Ehdr *)(const void *)cubin.data)->e_shoff);

	memcpy(large, cubin.data, cubin.size);
	for (unsigned n = ((Elf64_Ehdr *)(void *)large)->e_shnum; n--; s++) {
		for (unsigned i = 0; s->sh_type == SHT_SYMTAB && i < COPIES; i++)
			at = mempcpy(at, large + s->sh_offset, s->sh_size);
		if (s->sh_type == SHT_SYMTAB)
			*s = (Elf64_Shdr){s->sh_name,          s->sh_type, 0, 0, cubin.size,
					  COPIES * s->sh_size, s->sh_link, 0, 8, s->sh_entsize};
		else if (s->sh_type == SHT_PROGBITS && s->sh_flags & SHF_EXECINSTR)
			s->sh_size = SIZE - s->sh_offset;
	}
	gw_module_unseen();
	gw_module_reported(large, SIZE);
	gw_module_copy_give(SIZE);
	assert_false(unseen("none", 90, 12, 0));
	assert_string_equal(code.why, NOT_ALL);
}

/* What is reported while a hook sees the load is of that module, and wanted where that is PTX. */
TEST_WITH(machine_code_of_ptx_is_kept_with_it, start, end)
{
	struct gw_bytes cubin = corpus_file(&arena, "sm_90.cubin");
	struct gw_bytes ptx = corpus_file(&arena, "sm_70.ptx");
	const struct gw_module_note *compiled;
	struct gw_module_note *n = module_copied(1, "sm_70.ptx");
	bool all;

	gw_module_load_begun(cubin.data, NULL);
	gw_module_reported(cubin.data, cubin.size);
	assert_null(gw_module_load_ended(false));
	gw_module_load_begun(ptx.data, NULL);
	gw_module_reported(cubin.data, cubin.size);
	compiled = gw_module_load_ended(false);
	assert_non_null(compiled);
	assert_null(gw_module_reports(&all));
	assert_true(code_of("powers", 1, 90));
	assert_false(code.machine);
	gw_code_start();
	n->compiled = compiled;
	gw_code_module(n);
	assert_true(code_of("powers", 1, 90));
	assert_true(code.machine);
	gw_module_load_begun(NULL, "kernels.ptx");
	gw_module_reported(cubin.data, cubin.size);
	assert_non_null(gw_module_load_ended(false));
}

/* Module @p number: a cubin whose section headers have moved, so that it is large. */
static struct gw_module_note *large_module(uint32_t number, size_t size)
{
	struct gw_bytes cubin = corpus_file(&arena, "sm_80.cubin");
	size_t table = size - sizeof(Elf64_Shdr) * 256;
	struct gw_module_note *n;
	uint8_t *image = gw_arena_array(&arena, size, 1);
	Elf64_Ehdr head;

	assert_non_null(image);
	memcpy(&head, cubin.data, sizeof(head));
	memcpy(image, cubin.data, cubin.size);
	memcpy(image + table, cubin.data + head.e_shoff, (size_t)head.e_shnum * head.e_shentsize);
	head.e_shoff = table;
	memcpy(image, &head, sizeof(head));
	image[cubin.size] = (uint8_t)number;
	gw_module_loaded((void *)(uintptr_t)number, (void *)1, GW_MODULE_DATA, image, NULL);
	n = gw_module_notes_take();
	assert_non_null(n);
	assert_non_null(n->image);
	n->number = number;
	gw_code_module(n);
	gw_code_pack_add(n);
	return n;
}

/* Also where its code is held. */
TEST_WITH(many_images_are_packed_and_read_all_the_same, start, end)
{
	enum { SIZE = 6 << 20 };
	struct gw_module_note *n[3];
	uint64_t before = gw_module_copied();

	for (uint32_t m = 0; m < 2; m++)
		n[m] = large_module(m + 1, SIZE);
	for (unsigned i = 0; i < 20; i++)
		gw_code_pack_some();
	assert_int_equal(n[0]->packed, 0); /* not many */
	assert_true(code_of("powers", 1, 80));
	n[2] = large_module(3, SIZE);
	for (unsigned i = 0; i < 20; i++)
		gw_code_pack_some();
	assert_in_range(n[0]->packed, 1, SIZE / 2);
	assert_int_equal(n[1]->packed, 0); /* the others fit again */
	assert_int_equal(gw_module_copied(), before + n[1]->bytes + n[2]->bytes + n[0]->packed);
	assert_true(gw_counters[GW_COUNTER_images_packed] == 1);
	assert_true(code_of("powers", 1, 80));
	assert_true(code.machine);
	assert_true(code_of("powers", 2, 80));
	gw_options.mode = GW_MODE_WATCH; /* is to be small */
	for (unsigned i = 0; i < 40; i++)
		gw_code_pack_some();
	assert_in_range(n[1]->packed, 1, SIZE / 2);
	assert_in_range(n[2]->packed, 1, SIZE / 2);
}

TEST_WITH(reports_are_bounded, start, end)
{
	enum { SIZE = 12 << 20 };
	uint64_t *large = gw_arena_array(&arena, 1, SIZE);
	bool all;

	gw_module_unseen();
	gw_module_reported(large, GW_MODULE_COPY_MAX + 1);
	assert_null(gw_module_reports(&all));
	assert_false(all);
	for (unsigned i = 0; i < 16; i++) {
		large[0] = i;
		gw_module_reported(large, SIZE);
	}
	assert_false(gw_module_copy_take(SIZE));
	/* Not knowing all of it, no name is said to be nowhere. */
	assert_false(unseen("powers", 90, 12, 0));
	assert_string_equal(code.why, NOT_ALL);
}

/* A fatbin of one image as large as may be read; more of them than there is room for. */
TEST_WITH(what_is_held_stays_in_bounds, start, end)
{
	enum { LARGE = 12 << 20, MODULES = 12 };
	struct gw_bytes cubin = corpus_file(&arena, "sm_80.cubin");
	struct container head = {0xba55ed50, 1, 16, 0,  2,      0x101,  64, 0,    0,
				 0,          8, 1,  80, {0, 0}, 0x2011, 0,  LARGE};
	/* LZ4: the cubin as literals, then a match that repeats its end up to the size. */
	size_t room = sizeof(head) + cubin.size + LARGE / 255 + 64, n = sizeof(head), left;
	uint8_t *file = gw_arena_array(&arena, room, 1);

	file[n++] = 0xff;
	for (left = cubin.size - 15; left >= 255; left -= 255)
		file[n++] = 255;
	file[n++] = (uint8_t)left;
	memcpy(file + n, cubin.data, cubin.size);
	n += cubin.size;
	file[n++] = 1;
	file[n++] = 0;
	for (left = LARGE - cubin.size - 19; left >= 255; left -= 255)
		file[n++] = 255;
	file[n++] = (uint8_t)left;
	head.packed = (uint32_t)(n - sizeof(head));
	head.entry_size = head.packed;
	head.size = head.entry_size + 64;
	memcpy(file, &head, sizeof(head));
	for (uint32_t m = 1; m <= MODULES; m++) {
		struct gw_module_note *note = gw_arena_array(&arena, 1, sizeof(*note) + 1);

		note->number = m;
		note->image = file;
		note->bytes = n;
		gw_code_module(note);
		assert_true(code_of("powers", m, 80));
		assert_in_range(gw_code_held(), LARGE, GW_CODE_MEMORY);
	}
}

TESTS_MAIN()
