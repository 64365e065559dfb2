/* Loaded code: how large an image is, and what is kept of it. */
#include "preload/launch/module_reports.h"
#include "preload/launch/modules.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static const char in_this_file[] = ".version 8.0\n.target sm_90\n";

/* Those with a copy, or in a file, stay: later loads share them. */
static void drop(struct gw_module_note *n)
{
	if (!n->image && !*n->path)
		free(n);
}

static int start(void **state)
{
	fixture_start();
	for (struct gw_module_note *n = gw_module_notes_take(), *next; n; n = next) {
		next = n->next;
		drop(n);
	}
	return 0;
}

static size_t size_of(const void *image)
{
	const void *begin;

	return gw_image_size(image, &begin);
}

TEST_WITH(an_elf_ends_with_its_last_table, start, NULL)
{
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			.e_shoff = 1000,
			.e_shnum = 3,
			.e_shentsize = 64};

	assert_int_equal(size_of(&e), 1192);
	e.e_phoff = 5000;
	e.e_phnum = 2;
	e.e_phentsize = 56;
	assert_int_equal(size_of(&e), 5112);
}

TEST_WITH(another_class_of_elf_is_not_known, start, NULL)
{
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32}, .e_shoff = 1000};

	assert_int_equal(size_of(&e), 0);
}

/* Where a hostile header's sums pass 2^64, the size is unknown, not a small number. */
TEST_WITH(an_elf_that_claims_too_much_has_no_size, start, NULL)
{
	Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			.e_shoff = UINT64_MAX - 10,
			.e_shnum = 1,
			.e_shentsize = 64};

	assert_int_equal(size_of(&e), 0);
	e.e_shoff = 0;
	e.e_phoff = UINT64_MAX;
	e.e_phnum = 1;
	e.e_phentsize = 56;
	assert_int_equal(size_of(&e), 0);
}

struct fatbin {
	uint32_t magic;
	uint16_t version, header;
	uint64_t size;
};

TEST_WITH(a_fatbin_says_its_size_also_through_its_wrapper, start, NULL)
{
	struct fatbin fat = {0xba55ed50u, 1, 16, 4000};
	struct {
		uint32_t magic, version;
		const void *data;
	} wrapper = {0x466243b1u, 1, &fat};
	const void *begin;

	assert_int_equal(gw_image_size(&fat, &begin), 4016);
	assert_ptr_equal(begin, &fat);
	assert_int_equal(gw_image_size(&wrapper, &begin), 4016);
	assert_ptr_equal(begin, &fat);
	wrapper.data = NULL;
	assert_int_equal(size_of(&wrapper), 0);
	fat.size = UINT64_MAX;
	assert_int_equal(size_of(&fat), 0);
}

TEST_WITH(ptx_ends_with_its_text, start, NULL)
{
	assert_int_equal(size_of(in_this_file), sizeof(in_this_file) - 1);
	assert_int_equal(size_of("// comment"), 10);
	assert_int_equal(size_of("\n\t.version"), 10);
}

TEST_WITH(garbage_has_no_size, start, NULL)
{
	assert_int_equal(size_of("\0\0\0\0"), 0);
	assert_int_equal(size_of("garbage"), 0);
	assert_int_equal(size_of("\x7f"
				 "ELX"),
			 0);
}

static struct gw_module_note *only_note(void)
{
	struct gw_module_note *n = gw_module_notes_take();

	assert_non_null(n);
	assert_null(n->next);
	return n;
}

TEST_WITH(code_in_memory_is_copied_with_its_digest, start, NULL)
{
	char *image = strdup(in_this_file);
	struct gw_module_note *n;
	uint64_t first;

	errno = 77;
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_DATA, image, NULL);
	assert_int_equal(errno, 77);
	n = only_note();
	assert_int_equal(n->origin, GW_MODULE_DATA);
	assert_int_equal(n->bytes, strlen(in_this_file));
	assert_memory_equal(n->image, in_this_file, n->bytes);
	assert_string_equal(n->path, "");
	first = n->digest;
	drop(n);
	image[3] ^= 1;
	gw_module_loaded((void *)0x2000, NULL, GW_MODULE_DATA, image, NULL);
	n = only_note();
	assert_true(n->digest && n->digest != first);
	drop(n);
	free(image);
}

TEST_WITH(code_that_lies_in_a_file_is_named_not_copied, start, NULL)
{
	struct gw_module_note *n;

	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_FATBIN, in_this_file, NULL);
	n = only_note();
	assert_null(n->image);
	assert_non_null(strstr(n->path, "test_modules"));
	drop(n);
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_FILE, NULL, "/some/kernel.cubin");
	n = only_note();
	assert_string_equal(n->path, "/some/kernel.cubin");
	assert_int_equal(n->bytes, 0);
	drop(n);
}

TEST_WITH(the_linkers_output_is_reported_as_such_once, start, NULL)
{
	struct gw_module_note *n;
	char *image = strdup(".version 8.0\n// linked\n");

	gw_module_linked(image);
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_DATA, image, NULL);
	n = only_note();
	assert_int_equal(n->origin, GW_MODULE_LINKED);
	drop(n);
	gw_module_loaded((void *)0x2000, NULL, GW_MODULE_DATA, image, NULL);
	n = only_note();
	assert_int_equal(n->origin, GW_MODULE_DATA);
	drop(n);
	free(image);
}

static uint64_t identity_of(void *handle, const void *image, const char *path)
{
	uint64_t identity;

	gw_module_loaded(handle, NULL, GW_MODULE_DATA, image, path);
	identity = gw_module_identity(gw_module_number((uintptr_t)handle));
	return identity;
}

TEST_WITH(code_loaded_again_is_the_same_and_other_code_is_not, start, NULL)
{
	char *image = strdup(in_this_file);
	uint64_t first = identity_of((void *)0x1000, image, NULL);

	assert_true(first != 0);
	assert_true(identity_of((void *)0x2000, image, NULL) == first);
	image[strlen(image) - 2] ^= 1;
	assert_true(identity_of((void *)0x3000, image, NULL) != first);
	assert_true(identity_of((void *)0x4000, in_this_file, NULL) !=
		    0); /* where it lies decides */
	assert_true(identity_of((void *)0x5000, in_this_file, NULL) ==
		    identity_of((void *)0x6000, in_this_file, NULL));
	assert_true(identity_of((void *)0x5000, in_this_file, NULL) !=
		    identity_of((void *)0x6000, in_this_file + 1, NULL));
	strcpy(image, "garbage");
	assert_true(identity_of((void *)0x7000, image, NULL) == 0);
	assert_true(gw_module_identity(0) == 0);
	assert_true(gw_module_identity(UINT32_MAX) == 0);
	free(image);
}

/* Each handle of a library, and each context, loads its modules anew. */
TEST_WITH(a_module_loaded_again_has_no_note_of_its_own, start, NULL)
{
	char *image = strdup(".version 8.0\n// loaded again\n");
	const char *file = "/some/again.cubin";
	struct gw_module_note *n, *other;

	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_DATA, image, NULL);
	n = only_note();
	assert_non_null(n->image);
	gw_module_loaded((void *)0x2000, NULL, GW_MODULE_DATA, image, NULL);
	assert_null(gw_module_notes_take());
	assert_int_equal(gw_module_number(0x2000), n->number);
	assert_ptr_equal(gw_module_copy_of(n->digest, n->bytes), n);
	assert_null(gw_module_copy_of(n->digest, n->bytes + 1));
	gw_module_loaded((void *)0x3000, NULL, GW_MODULE_FILE, NULL, file);
	assert_int_equal(only_note()->number, n->number + 1);
	gw_module_loaded((void *)0x4000, NULL, GW_MODULE_FILE, NULL, file);
	assert_null(gw_module_notes_take());
	assert_int_equal(gw_module_number(0x4000), n->number + 1);
	image[strlen(image) - 2] ^= 1;
	gw_module_loaded((void *)0x5000, NULL, GW_MODULE_DATA, image, NULL);
	other = only_note();
	assert_int_equal(other->number, n->number + 2);
	assert_non_null(other->image);
	for (int i = 0; i < 2; i++) /* the log says how */
		gw_module_loaded((void *)0x6000, NULL, GW_MODULE_LIBRARY, image, NULL);
	assert_int_equal(only_note()->number, n->number + 3);
	free(image);
}

TEST_WITH(a_copy_without_memory_takes_no_room, start, NULL)
{
	enum { SIZE = 4096 };
	char *image = memset(malloc(SIZE), '/', SIZE);
	const uint64_t copied = gw_module_copied(), now = gw_memory_now();
	struct gw_module_note *n;

	memcpy(image, in_this_file, sizeof(in_this_file) - 1);
	image[SIZE - 1] = 0;
	gw_options.memory_max = (now + SIZE) / 7 * 8; /* its note has room */
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_DATA, image, NULL);
	gw_options.memory_max = 0;
	n = only_note();
	assert_null(n->image);
	drop(n);
	assert_int_equal(gw_module_copied(), copied);
	assert_true(gw_memory_now() < now + SIZE);
	free(image);
}

/* Each of them is that of another module, so none is kept once. */
TEST_WITH(a_report_without_room_takes_none, start, NULL)
{
	enum { SIZE = 1 << 20 };
	char *cubin = calloc(1, SIZE);
	uint64_t copied, now;
	uint32_t number = 1;

	gw_options.mode = GW_MODE_AUDIT;
	gw_options.analyze_code = true;
	assert_true(gw_module_reports_start());
	gw_module_unseen();
	/* Until the pool is full, which the copies of modules are not. */
	do {
		copied = gw_module_copied();
		memcpy(cubin, &number, sizeof(number));
		number++;
		gw_module_reported(cubin, SIZE);
		gw_module_copy_give(gw_module_copied() - copied);
	} while (gw_counters[GW_COUNTER_images_dropped] == 0);
	copied = gw_module_copied();
	now = gw_memory_now();
	memcpy(cubin, &number, sizeof(number));
	gw_module_reported(cubin, SIZE);
	assert_int_equal(gw_counters[GW_COUNTER_images_dropped], 2);
	assert_int_equal(gw_module_copied(), copied);
	assert_int_equal(gw_memory_now(), now);
	free(cubin);
}

TEST_WITH(a_file_written_anew_is_other_code, start, NULL)
{
	char path[] = "/tmp/gw_module.XXXXXX";
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	int fd = mkstemp(path);
	uint64_t first;

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	first = identity_of((void *)0x1000, NULL, path);
	assert_true(first != 0);
	assert_true(identity_of((void *)0x2000, NULL, path) == first);
	times[1].tv_nsec = 1;
	assert_int_equal(futimens(fd, times), 0);
	assert_true(identity_of((void *)0x3000, NULL, path) != first);
	close(fd);
	unlink(path);
	assert_true(identity_of((void *)0x4000, NULL, "/some/kernel.cubin") !=
		    identity_of((void *)0x5000, NULL, "/another/kernel.cubin"));
}

/* Its header may say more than there is: what is behind is not read. */
TEST_WITH(a_huge_image_is_reported_by_its_head, start, NULL)
{
	struct fatbin *fat = malloc(sizeof(*fat));
	uint64_t first;

	*fat = (struct fatbin){0xba55ed50u, 1, 16, UINT64_C(1) << 40};
	first = identity_of((void *)0x1000, fat, NULL);
	assert_true(first != 0 && identity_of((void *)0x1000, fat, NULL) == first);
	fat->size++;
	assert_true(identity_of((void *)0x1000, fat, NULL) != first);
	free(fat);
}

TEST_WITH(notes_come_oldest_first_and_once, start, NULL)
{
	struct gw_module_note *n, *next;
	uint32_t last = 0;

	for (uintptr_t i = 1; i <= 5; i++)
		gw_module_loaded((void *)(i << 12), NULL, GW_MODULE_FILE, NULL, &"fffff"[i - 1]);
	n = gw_module_notes_take();
	assert_null(gw_module_notes_take());
	for (int i = 0; i < 5; i++, n = next) {
		assert_true(n->number > last);
		last = n->number;
		next = n->next;
		drop(n);
	}
	assert_null(n);
}

TEST_WITH(an_unloaded_module_takes_its_functions_along, start, NULL)
{
	struct gw_map *functions = &gw_hot.shared->functions;

	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_FILE, NULL, "f");
	assert_true(gw_module_number(0x1000) > 0);
	gw_map_put(functions, 0x5000, 1, 0x1000, 0);
	gw_map_put(functions, 0x6000, 2, 0x2000, 0);
	gw_module_gone((void *)0x1000);
	assert_int_equal(gw_module_number(0x1000), 0);
	assert_int_equal(gw_map_get(functions, 0x5000), 0);
	assert_int_equal(gw_map_get(functions, 0x6000), 2);
	assert_int_equal(gw_module_number(0), 0);
}

TEST_WITH(a_function_found_under_another_owner_is_another, start, NULL)
{
	struct gw_map *functions = &gw_hot.shared->functions;

	gw_map_put(functions, 0x5000, 1, 0x1000, 0);
	gw_function_found((void *)0x5000, (void *)0x1000);
	assert_int_equal(gw_map_get(functions, 0x5000), 1);
	gw_function_found((void *)0x5000, (void *)0x2000);
	assert_int_equal(gw_map_get(functions, 0x5000), 0);
}

TEST_WITH(a_module_of_a_library_is_its_code_and_ends_with_it, start, NULL)
{
	struct gw_map *functions = &gw_hot.shared->functions;
	uint32_t number;

	gw_module_of_library((void *)0x2000, (void *)0x1000, NULL);
	assert_int_equal(gw_module_number(0x2000), 0); /* of a library nobody saw */
	gw_module_loaded((void *)0x1000, NULL, GW_MODULE_FILE, NULL, "f");
	number = gw_module_number(0x1000);
	gw_module_of_library((void *)0x2000, (void *)0x1000, NULL);
	assert_int_equal(gw_module_number(0x2000), number);
	assert_int_equal(gw_module_owner(0x2000), 0x1000);
	assert_int_equal(gw_module_owner(0x1000), 0x1000);
	assert_int_equal(gw_module_owner(0x3000), 0x3000);
	gw_map_put(functions, 0x5000, 1, gw_module_owner(0x2000), 0);
	gw_function_found((void *)0x5000, (void *)0x2000); /* the library by its other name */
	assert_int_equal(gw_map_get(functions, 0x5000), 1);
	gw_module_gone((void *)0x1000);
	assert_int_equal(gw_module_number(0x2000), 0);
	assert_int_equal(gw_module_owner(0x2000), 0x2000);
	assert_int_equal(gw_map_get(functions, 0x5000), 0);
}

TESTS_MAIN()
