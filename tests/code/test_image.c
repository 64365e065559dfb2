/* Files of every form are listed image by image, and the driver's choice among them is known. */
#include "predictor/code/binary/image.h"
#include "predictor/code/binary/kernel.h"
#include "tests/code/corpus.h"
#include "tests/test.h"

static void assert_image(const struct gw_image *image, enum gw_image_kind kind, const char *arch)
{
	char text[24];

	assert_int_equal(image->kind, kind);
	assert_string_equal(gw_code_arch_text(image->arch, kind == GW_IMAGE_PTX, text), arch);
}

TEST(a_fatbin_lists_its_entries)
{
	struct gw_images images = corpus_images(corpus_arena(), "plain.fatbin", 4);

	assert_string_equal(images.form, "fatbin");
	assert_int_equal(images.containers, 1);
	assert_image(&images.image[0], GW_IMAGE_CUBIN, "sm_80");
	assert_image(&images.image[1], GW_IMAGE_CUBIN, "sm_90a");
	assert_image(&images.image[2], GW_IMAGE_CUBIN, "sm_100f");
	assert_image(&images.image[3], GW_IMAGE_PTX, "compute_90");
	assert_int_equal(images.image[3].version_major, 9);
	assert_int_equal(images.image[3].version_minor, 0);
	assert_int_equal(images.image[1].offset, images.image[0].offset + 9568 + 64);
}

TEST(ptx_comes_without_its_padding)
{
	struct gw_images images = corpus_images(corpus_arena(), "plain.fatbin", 4);
	struct gw_bytes text = corpus_bytes(corpus_arena(), &images.image[3]);

	assert_non_null(memmem(text.data, text.size, ".entry powers", 13));
	assert_int_not_equal(text.data[text.size - 1], 0);
}

TEST(containers_in_a_row_are_distinguished)
{
	struct gw_bytes first = corpus_file(corpus_arena(), "zstd.fatbin");
	struct gw_bytes second = corpus_file(corpus_arena(), "plain.fatbin");
	size_t padding = 24, size = first.size + padding + second.size;
	uint8_t *both = gw_arena_array(corpus_arena(), size + padding, 1);
	struct gw_images images;
	struct gw_fault fault;

	memcpy(both, first.data, first.size);
	memcpy(both + first.size + padding, second.data, second.size);
	assert_true(gw_images_open((struct gw_bytes){both, size + padding}, corpus_arena(), &images,
				   &fault));
	assert_int_equal(images.count, 7);
	assert_int_equal(images.containers, 2);
	assert_int_equal(gw_images_together(&images, 0), 3);
	assert_int_equal(gw_images_together(&images, 3), 4);
}

TEST(old_entries_have_shorter_headers)
{
	/* A container of one entry whose header ends before the packed sizes. */
	static const uint8_t file[16 + 48 + 8] =
		{
			[0] = 0x50, 0xed, 0x55,     0xba,      1,           0,
			16,         0,    56,       [16] = 2,  0,           1,
			1,          48,   [24] = 8, [44] = 30, [56] = 0x11, [64] = 'c'};
	struct gw_images images;
	struct gw_fault fault;

	assert_true(gw_images_open((struct gw_bytes){file, sizeof(file)}, corpus_arena(), &images,
				   &fault));
	assert_int_equal(images.count, 1);
	assert_image(&images.image[0], GW_IMAGE_CUBIN, "sm_30");
	assert_int_equal(images.image[0].size, 8);
	assert_int_equal(images.image[0].stored.data[0], 'c');
}

TEST(bare_files_are_images_too)
{
	static const struct {
		const char *file, *form, *arch;
		enum gw_image_kind kind;
	} bare[] = {
		{"sm_70.cubin", "cubin", "sm_70", GW_IMAGE_CUBIN},
		{"sm_90.cubin", "cubin", "sm_90", GW_IMAGE_CUBIN},
		{"sm_90a.cubin", "cubin", "sm_90a", GW_IMAGE_CUBIN},
		{"sm_90a-cuda12.cubin", "cubin", "sm_90a", GW_IMAGE_CUBIN},
		{"sm_120.cubin", "cubin", "sm_120", GW_IMAGE_CUBIN},
		{"sm_70.ptx", "PTX", "compute_70", GW_IMAGE_PTX},
	};

	for (size_t i = 0; i < COUNT(bare); i++) {
		struct gw_images images = corpus_images(corpus_arena(), bare[i].file, 1);

		assert_string_equal(images.form, bare[i].form);
		assert_image(&images.image[0], bare[i].kind, bare[i].arch);
	}
}

TEST(a_family_is_read_from_the_compilers_note)
{
	struct gw_images images = corpus_images(corpus_arena(), "plain.fatbin", 4);
	struct gw_code_arch arch = gw_cubin_arch(corpus_bytes(corpus_arena(), &images.image[2]));

	assert_int_equal(arch.number, 100);
	assert_int_equal(arch.suffix, 'f');
}

TEST(programs_and_libraries_hold_fatbins)
{
	static const struct {
		const char *file, *form;
		size_t count;
		const char *section;
	} hosts[] = {
		{"program", "executable", 3, ".nv_fatbin"},
		{"library.so", "shared library", 3, ".nv_fatbin"},
		{"relocatable.o", "host object", 2, "__nv_relfatbin"},
	};

	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct gw_images images =
			corpus_images(corpus_arena(), hosts[i].file, hosts[i].count);

		assert_string_equal(images.form, hosts[i].form);
		assert_string_equal(images.image[0].section, hosts[i].section);
		for (size_t k = 0; k < images.count; k++)
			assert_true(corpus_bytes(corpus_arena(), &images.image[k]).size > 1000);
	}
}

TEST(containers_are_found_in_sections_of_any_name)
{
	static const char *const files[] = {"program", "library.so"};

	for (size_t f = 0; f < 2; f++) {
		struct gw_images named = corpus_images(corpus_arena(), files[f], 3);
		struct gw_bytes file = corpus_file(corpus_arena(), files[f]);
		uint8_t *name = memmem(file.data, file.size, ".nv_fatbin", 10);
		struct gw_images images;
		struct gw_fault fault;

		assert_non_null(name);
		memcpy(name, ".my", 3);
		assert_true(gw_images_open(file, corpus_arena(), &images, &fault));
		assert_int_equal(images.count, 3);
		assert_int_equal(images.containers, named.containers);
		for (size_t i = 0; i < images.count; i++) {
			assert_string_equal(images.image[i].section, ".my_fatbin");
			assert_int_equal(images.image[i].offset, named.image[i].offset);
		}
	}
}

enum { DATA_AT = 2 * sizeof(Elf64_Ehdr) }; /* of what host() below holds */

/* A shared library with one section, so many times in its table, and the table's names. */
static struct gw_bytes host(struct gw_bytes data, uint64_t flags, unsigned sections)
{
	static const char names[] = "\0.ldata";
	size_t names_at = DATA_AT + data.size, table_at = names_at + sizeof(names);
	size_t size = table_at + (sections + 2) * sizeof(Elf64_Shdr);
	uint8_t *file = gw_arena_array(corpus_arena(), size, 1);
	Elf64_Ehdr header = {
		.e_ident = {127, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_shoff = table_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(sections + 2),
		.e_shstrndx = (uint16_t)(sections + 1),
	};
	Elf64_Shdr section = {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = flags,
			      .sh_offset = DATA_AT,
			      .sh_size = data.size};

	memcpy(file, &header, sizeof(header));
	memcpy(file + DATA_AT, data.data, data.size);
	memcpy(file + names_at, names, sizeof(names));
	for (unsigned i = 0; i < sections; i++)
		memcpy(file + table_at + (i + 1) * sizeof(section), &section, sizeof(section));
	section = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names)};
	memcpy(file + size - sizeof(section), &section, sizeof(section));
	return (struct gw_bytes){file, size};
}

static size_t append(uint8_t *to, size_t at, const void *what, size_t size)
{
	memcpy(to + at, what, size);
	return at + size;
}

/* What looks like containers and cubins and is none, then one of each, at odd places. */
static struct gw_bytes mixed_data(struct gw_bytes fatbin, struct gw_bytes cubin, size_t *fatbin_at,
				  size_t *cubin_at)
{
	static const char noise[] =
		"P\xed\x55\xba"                                     /* a magic number, in text */
		"P\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0"           /* empty */
		"P\xed\x55\xba\2\0\x10\0\x10\0\0\0\0\0\0\0"         /* of a version to come */
		"P\xed\x55\xba\1\0\x10\0\0\0\0\0\1\0\0\0"           /* 4 GiB */
		"P\xed\x55\xba\1\0\x10\0\x10\0\0\0\0\0\0\0\2\0\1\1" /* an entry cut off */
		"\177ELF\2\1\1 of 64 bits";
	uint8_t *data =
		gw_arena_array(corpus_arena(), 3 * sizeof(noise) + fatbin.size + cubin.size, 1);
	size_t at = append(data, 0, noise, sizeof(noise));

	*fatbin_at = at += !(at & 1);
	at = append(data, at, fatbin.data, fatbin.size);
	at = append(data, at, noise, sizeof(noise));
	*cubin_at = at += !(at & 1);
	at = append(data, at, cubin.data, cubin.size);
	at = append(data, at, noise, 3);
	return (struct gw_bytes){data, at};
}

TEST(containers_and_cubins_are_found_among_other_data)
{
	struct gw_bytes fatbin = corpus_file(corpus_arena(), "zstd.fatbin"), data;
	struct gw_bytes cubin = corpus_file(corpus_arena(), "sm_80.cubin");
	size_t fatbin_at, cubin_at, last;
	struct gw_images alone, images;
	struct gw_fault fault;

	data = mixed_data(fatbin, cubin, &fatbin_at, &cubin_at);
	assert_true(gw_images_open(fatbin, corpus_arena(), &alone, &fault));
	assert_true(gw_images_open(host(data, SHF_ALLOC | SHF_WRITE, 1), corpus_arena(), &images,
				   &fault));
	assert_string_equal(images.form, "shared library");
	assert_int_equal(images.containers, alone.containers + 1);
	assert_int_equal(images.count, alone.count + 1);
	last = images.count - 1;
	assert_string_equal(images.image[0].section, ".ldata");
	assert_int_equal(images.image[0].offset, DATA_AT + fatbin_at + alone.image[0].offset);
	assert_image(&images.image[last], GW_IMAGE_CUBIN, "sm_80");
	assert_int_equal(images.image[last].offset, DATA_AT + cubin_at);
	assert_int_equal(images.image[last].size, cubin.size);
}

TEST(only_data_that_is_loaded_is_searched)
{
	struct gw_bytes fatbin = corpus_file(corpus_arena(), "zstd.fatbin");
	static const uint64_t flags[] = {0, SHF_ALLOC | SHF_EXECINSTR};
	struct gw_images images;
	struct gw_fault fault;

	for (size_t i = 0; i < COUNT(flags); i++) {
		assert_true(
			gw_images_open(host(fatbin, flags[i], 1), corpus_arena(), &images, &fault));
		assert_int_equal(images.count, 0);
	}
}

/* Else a file could have a search as long as its size times its sections. */
TEST(what_sections_share_is_searched_once)
{
	struct gw_bytes fatbin = corpus_file(corpus_arena(), "zstd.fatbin");
	struct gw_images alone, images;
	struct gw_fault fault;

	assert_true(gw_images_open(fatbin, corpus_arena(), &alone, &fault));
	assert_true(gw_images_open(host(fatbin, SHF_ALLOC, 3), corpus_arena(), &images, &fault));
	assert_int_equal(images.count, alone.count);
}

TEST(a_container_broken_behind_its_begin_is_reported)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "plain.fatbin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);
	struct gw_images images;
	struct gw_fault fault;

	copy[0x25b0 + 4] = 1; /* header size of the second entry */
	assert_false(gw_images_open(host((struct gw_bytes){copy, file.size}, SHF_ALLOC, 1),
				    corpus_arena(), &images, &fault));
	assert_string_equal(fault.what, "a fatbin entry's header is broken or cut off");
	assert_int_equal(fault.offset, DATA_AT + 0x25b0);
	assert_int_equal(images.count, 1);
}

TEST(a_cubin_of_cupys_cache_is_found_behind_its_digest)
{
	static const char digest[] = "dbf2f6259cd3cad580e769f1a3f89197e4246f0f";
	struct gw_bytes cubin = corpus_file(corpus_arena(), "sm_90.cubin");
	size_t size = cubin.size + sizeof(digest) - 1;
	uint8_t *file = gw_arena_array(corpus_arena(), size, 1);
	struct gw_images images;
	struct gw_fault fault;

	memcpy(file, digest, sizeof(digest) - 1);
	memcpy(file + sizeof(digest) - 1, cubin.data, cubin.size);
	assert_true(gw_images_open((struct gw_bytes){file, size}, corpus_arena(), &images, &fault));
	assert_int_equal(images.count, 1);
	assert_image(&images.image[0], GW_IMAGE_CUBIN, "sm_90");
	assert_int_equal(images.image[0].offset, 40);
}

TEST(an_archive_names_its_members)
{
	struct gw_images images = corpus_images(corpus_arena(), "library.a", 4);

	assert_string_equal(images.form, "archive");
	assert_string_equal(images.image[0].member, "relocatable.o");
	assert_string_equal(images.image[2].member, "a_name_longer_than_sixteen.o");
	assert_int_equal(images.containers, 2);
}

TEST(code_for_the_linker_is_listed_but_not_read)
{
	struct gw_images images = corpus_images(corpus_arena(), "lto.fatbin", 1);

	assert_int_equal(images.image[0].kind, GW_IMAGE_OTHER);
	assert_int_equal(images.image[0].entry_kind, 8);
}

static const struct gw_image *choose(const char *archs, unsigned device)
{
	static struct gw_image list[8];
	size_t count = 0;

	/* "80 90a p75": cubins of sm_80 and sm_90a, PTX of compute_75 */
	for (const char *at = archs; *at; at += strspn(at, " ")) {
		struct gw_image *image = &list[count++];

		*image = (struct gw_image){.kind = *at == 'p' ? GW_IMAGE_PTX : GW_IMAGE_CUBIN};
		at += *at == 'p';
		while (*at >= '0' && *at <= '9')
			image->arch.number = (uint16_t)(image->arch.number * 10 + (*at++ - '0'));
		if (*at == 'a' || *at == 'f')
			image->arch.suffix = *at++;
	}
	return gw_image_choose(list, count, device);
}

static void assert_choice(const char *archs, unsigned device, const char *expected)
{
	const struct gw_image *image = choose(archs, device);
	char text[24] = "none";

	if (image)
		gw_code_arch_text(image->arch, image->kind == GW_IMAGE_PTX, text);
	if (strcmp(text, expected) != 0)
		fail_msg("of \"%s\" a device of %u takes %s, not %s", archs, device, text,
			 expected);
}

TEST(the_closest_machine_code_is_chosen)
{
	assert_choice("75 80 86 90", 80, "sm_80");
	assert_choice("75 80 86 90", 89, "sm_86");
	assert_choice("75 80 86 p80", 87, "sm_86");
	assert_choice("80", 86, "sm_80");
	assert_choice("86", 80, "none");
	assert_choice("80 p70", 90, "compute_70");
}

TEST(ptx_is_chosen_where_no_machine_code_runs)
{
	assert_choice("75 p75 p80 p90", 89, "compute_80");
	assert_choice("p90", 80, "none");
	assert_choice("p52 p120", 120, "compute_120");
	assert_choice("100 p90", 120, "compute_90");
}

TEST(suffixes_bind_code_to_a_processor_or_family)
{
	assert_choice("90 90a", 90, "sm_90a");
	assert_choice("90a", 90, "sm_90a");
	assert_choice("100a p90", 103, "compute_90");
	assert_choice("100f p90", 103, "sm_100f");
	assert_choice("100f", 120, "none");
	assert_choice("p90a p80", 90, "compute_90a");
	assert_choice("p90a p80", 100, "compute_80");
	assert_choice("p100f p90", 103, "compute_100f");
	assert_choice("p100f p90", 120, "compute_90");
}

static void refuses(const uint8_t *data, size_t size, const char *what, uint64_t offset)
{
	struct gw_images images;
	struct gw_fault fault;

	assert_false(
		gw_images_open((struct gw_bytes){data, size}, corpus_arena(), &images, &fault));
	assert_string_equal(fault.what, what);
	assert_int_equal(fault.offset, offset);
}

TEST(broken_files_are_refused_with_the_place)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "plain.fatbin");
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);

	refuses(NULL, 0, "it is empty", 0);
	refuses((const uint8_t *)"hello", 5,
		"neither a fatbin, a cubin, PTX, an ELF file nor an archive", 0);
	refuses(file.data, file.size - 8, "a fatbin container runs over the end of its place", 0);
	refuses(file.data, 12, "a fatbin container's header is broken or cut off", 0);
	copy[16 + 4] = 255; /* size of the first entry's header */
	copy[16 + 5] = 255;
	refuses(copy, file.size, "a fatbin entry's header is broken or cut off", 16);
	memcpy(copy, file.data, file.size);
	memset(copy + 16 + 8, 255, 4); /* size of the first entry */
	refuses(copy, file.size, "a fatbin entry runs over the end of its container", 16);
	copy[4] = 2;
	refuses(copy, file.size, "a fatbin container of a version other than 1", 0);
}

TEST(what_stands_before_a_fault_is_kept)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "plain.fatbin");
	struct gw_images images;
	struct gw_fault fault;
	uint8_t *copy = gw_arena_copy(corpus_arena(), file.data, file.size);

	copy[0x25b0 + 4] = 1; /* header size of the second entry */
	assert_false(gw_images_open((struct gw_bytes){copy, file.size}, corpus_arena(), &images,
				    &fault));
	assert_int_equal(fault.offset, 0x25b0);
	assert_int_equal(images.count, 1);
	assert_image(&images.image[0], GW_IMAGE_CUBIN, "sm_80");
}

TEST(the_list_stays_in_the_memory_allowed)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "plain.fatbin");
	struct gw_images images;
	struct gw_fault fault;
	struct gw_arena small;

	gw_arena_init(&small, 300);
	assert_false(gw_images_open(file, &small, &images, &fault));
	assert_string_equal(fault.what, "more images than the memory allowed can list");
	gw_arena_free(&small);
}

TESTS_MAIN(corpus_begin, corpus_end)
