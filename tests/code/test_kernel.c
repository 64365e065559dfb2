/* What cubins of every age tell of their kernels, against the vendor's cuobjdump and the source. */
#include "predictor/code/binary/kernel.h"
#include "tests/code/corpus.h"
#include "tests/test.h"

#define REDUCE "_Z6reduce6recordhPKfPf"
#define SAXPY  "_Z5saxpyifPKfPf"

static const char *const cubins[] = {
	"sm_70.cubin", "sm_75.cubin",  "sm_80.cubin",         "sm_86.cubin",  "sm_89.cubin",
	"sm_90.cubin", "sm_90a.cubin", "sm_90a-cuda12.cubin", "sm_100.cubin", "sm_120.cubin"};
enum { CUBINS = COUNT(cubins) };

static struct gw_cubin open_cubin(struct gw_bytes bytes)
{
	struct gw_cubin cubin;
	struct gw_fault fault;

	if (!gw_cubin_open(bytes, corpus_arena(), &cubin, &fault))
		fail_msg("%s", fault.what);
	return cubin;
}

static struct gw_code_kernel kernel_of(const struct gw_cubin *cubin, const char *name)
{
	uint32_t i = gw_cubin_find(cubin, name);
	struct gw_code_kernel k;
	struct gw_fault fault;

	if (i == cubin->count)
		fail_msg("there is no kernel %s", name);
	if (!gw_cubin_kernel(cubin, i, corpus_arena(), &k, &fault))
		fail_msg("%s", fault.what);
	return k;
}

TEST(resources_are_those_of_cuobjdump)
{
	struct gw_bytes table = corpus_file(corpus_arena(), "resources.txt");
	char *text = gw_arena_text(corpus_arena(), (const char *)table.data, table.size), *save;
	unsigned compared = 0;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char file[64], name[64];
		unsigned registers, stack, shared, constant;
		struct gw_cubin cubin;
		struct gw_code_kernel k;

		assert_int_equal(sscanf(line, "%63s %63s %u %u %u %u", file, name, &registers,
					&stack, &shared, &constant),
				 6);
		cubin = open_cubin(corpus_file(corpus_arena(), file));
		assert_int_equal(cubin.count, 3);
		assert_true(cubin.linked);
		k = kernel_of(&cubin, name);
		assert_int_equal(k.registers, registers);
		assert_int_equal(k.frame, stack);
		assert_int_equal(k.min_stack, stack);
		assert_int_equal(k.static_shared + k.reserved_shared, shared);
		assert_int_equal(k.bank[0].size, constant);
		compared++;
	}
	assert_int_equal(compared, 3 * CUBINS);
}

/* sum[64] of the source; the system's part, which the driver does not count, is distinguished. */
TEST(static_shared_memory_is_that_of_the_source)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));

		assert_int_equal(kernel_of(&cubin, REDUCE).static_shared, 256);
		assert_int_equal(kernel_of(&cubin, SAXPY).static_shared, 0);
	}
}

TEST(parameters_lie_as_in_the_source)
{
	static const struct gw_code_param reduce[] = {{0, 56}, {56, 1}, {64, 8}, {72, 8}};
	static const struct gw_code_param saxpy[] = {{0, 4}, {4, 4}, {8, 8}, {16, 8}};

	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));
		struct gw_code_kernel k = kernel_of(&cubin, REDUCE);

		assert_int_equal(k.param_count, 4);
		assert_memory_equal(k.param, reduce, sizeof(reduce));
		assert_int_equal(k.param_size, 80);
		assert_int_equal(k.param_base + k.param_size, k.bank[0].size);
		k = kernel_of(&cubin, SAXPY);
		assert_int_equal(k.param_count, 4);
		assert_memory_equal(k.param, saxpy, sizeof(saxpy));
	}
}

TEST(launch_bounds_are_those_of_the_source)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));
		struct gw_code_kernel k = kernel_of(&cubin, SAXPY);

		assert_int_equal(k.max_threads[0], 128);
		assert_int_equal(k.max_threads[1], 1);
		assert_int_equal(k.max_threads[2], 1);
		assert_int_equal(k.required_threads[0], GW_CODE_UNKNOWN);
		assert_int_equal(k.max_registers, 128); /* four blocks of 128 threads */
		k = kernel_of(&cubin, REDUCE);
		assert_int_equal(k.max_threads[0], GW_CODE_UNKNOWN);
		assert_int_equal(k.max_registers, 255);
	}
}

TEST(barriers_are_counted)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));

		assert_int_equal(kernel_of(&cubin, REDUCE).barriers, 1);
		assert_int_equal(kernel_of(&cubin, SAXPY).barriers, 0);
	}
}

TEST(constants_shared_by_kernels_are_found)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));

		/* coefficient[8] */
		assert_int_equal(kernel_of(&cubin, SAXPY).bank[3].size, 32);
	}
}

TEST(exits_lie_in_the_code)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));
		struct gw_code_kernel k = kernel_of(&cubin, SAXPY);

		assert_in_range(k.exit_count, 1, 4);
		for (uint32_t i = 0; i < k.exit_count; i++) {
			uint64_t word = 0;

			assert_true(gw_bytes_get(k.code, k.exits[i], &word, sizeof(word)));
			/* EXIT of Volta and later */
			assert_int_equal(word & 0xfff, 0x94d);
		}
	}
}

TEST(a_function_that_was_not_inlined_is_found)
{
	for (unsigned c = 0; c < CUBINS; c++) {
		struct gw_cubin cubin = open_cubin(corpus_file(corpus_arena(), cubins[c]));
		struct gw_code_kernel k = kernel_of(&cubin, "powers");

		assert_int_equal(k.function_count, 2);
		assert_string_equal(k.function[0].name, "powers");
		assert_int_equal(k.function[0].offset, 0);
		assert_non_null(strstr(k.function[1].name, "_Z5powerfi"));
		assert_in_range(k.function[1].offset + k.function[1].size, 1, k.code.size);
	}
}

TEST(a_relocatable_cubin_names_what_it_calls)
{
	struct gw_images images = corpus_images(corpus_arena(), "relocatable.o", 2);
	bool called = false;

	for (size_t i = 0; i < images.count; i++) {
		struct gw_cubin cubin;
		struct gw_code_kernel k;

		if (images.image[i].kind != GW_IMAGE_CUBIN)
			continue;
		cubin = open_cubin(corpus_bytes(corpus_arena(), &images.image[i]));
		assert_false(cubin.linked);
		assert_int_equal(cubin.count, 3);
		k = kernel_of(&cubin, "powers");
		for (uint32_t r = 0; r < k.relocation_count; r++) {
			assert_in_range(k.relocation[r].offset, 0, k.code.size - 1);
			called |= strcmp(k.relocation[r].symbol, "_Z5powerfi") == 0;
		}
		assert_int_equal(k.min_stack, GW_CODE_UNKNOWN);
	}
	assert_true(called);
}

TEST(what_is_no_cubin_is_refused)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "program");
	struct gw_cubin cubin;
	struct gw_fault fault;

	assert_false(gw_cubin_open(file, corpus_arena(), &cubin, &fault));
	assert_string_equal(fault.what, "an ELF file, but not of machine code for a GPU");
	assert_false(
		gw_cubin_open((struct gw_bytes){file.data, 40}, corpus_arena(), &cubin, &fault));
	assert_string_equal(fault.what, "the file ends inside its ELF header");
	assert_int_equal(fault.offset, 40);
}

TEST(a_cut_cubin_is_refused)
{
	struct gw_bytes file = corpus_file(corpus_arena(), "sm_80.cubin");
	struct gw_cubin cubin;
	struct gw_fault fault;

	file.size = 0x700; /* the table of sections lies behind */
	assert_false(gw_cubin_open(file, corpus_arena(), &cubin, &fault));
	assert_string_equal(fault.what, "the table of sections runs over the end of the ELF file");
}

TESTS_MAIN(corpus_begin, corpus_end)
