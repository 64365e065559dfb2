/* Names of native code: which file is the object that ran, and a file that changes while it is
 * read; and which frame of a stack is the line of the program. */
#include "cli/common/target.h"
#include "cli/stack/stacks.h"
#include "cli/stack/symbols.h"
#include "predictor/code/binary/elf.h"
#include "tests/test.h"

#include <fcntl.h>
#include <unistd.h>

enum { FILE_MAX = 64 << 20, NOTE_HEAD = 16 };

extern const char __executable_start[]; /* by the linker */

static char copy[] = "/tmp/gw-symbols-XXXXXX", build_id[128];

__attribute__((noinline, used)) static void a_function_of_this_test(void)
{
	__asm__ volatile("");
}

/* Of the function, in the file. */
static uint64_t address(void)
{
	return (uint64_t)((uintptr_t)a_function_of_this_test - (uintptr_t)__executable_start);
}

static void assert_name(const char *id, const char *expected)
{
	char *function, *file;
	uint32_t line;

	symbols_find(copy, id, address(), &function, &file, &line);
	assert_string_equal(function, expected);
	free(function);
	free(file);
}

/* This program into `copy`; its build id. */
static int copy_itself(void **state)
{
	unsigned char *image = malloc(FILE_MAX);
	FILE *from = fopen("/proc/self/exe", "rb"), *to = fdopen(mkstemp(copy), "wb");
	size_t size = image && from ? fread(image, 1, FILE_MAX, from) : 0;
	struct gw_fault fault;
	struct gw_bytes note = {0};
	struct gw_elf elf;
	Elf64_Shdr s;
	bool well = to && fwrite(image, 1, size, to) == size &&
		    gw_elf_open((struct gw_bytes){image, size}, &elf, &fault);

	for (uint64_t i = 0; well && gw_elf_section(&elf, i, &s); i++)
		if (!strcmp(gw_elf_section_name(&elf, &s), ".note.gnu.build-id"))
			gw_elf_section_bytes(&elf, &s, &note);
	for (size_t i = NOTE_HEAD; i < note.size && 2 * i < sizeof(build_id); i++)
		snprintf(build_id + 2 * (i - NOTE_HEAD), 3, "%02x", note.data[i]);
	if (from)
		fclose(from);
	if (to)
		fclose(to);
	free(image);
	return well ? 0 : -1;
}

static int remove_it(void **state)
{
	symbols_end();
	return unlink(copy);
}

TEST(a_function_of_the_object_that_ran_has_its_name)
{
	if (!*build_id)
		skip(); /* linked without one */
	assert_name(build_id, "a_function_of_this_test");
}

TEST(an_object_with_another_build_id_has_no_names)
{
	assert_name("0123456789abcdef0123456789abcdef01234567", "");
}

TEST(an_object_whose_build_id_is_not_known_has_no_names)
{
	assert_name("", "");
}

/* Each byte of the headers is set to all ones; libelf answers or refuses. */
TEST(a_file_with_damaged_headers_does_not_end_the_reader)
{
	int fd = open(copy, O_RDWR);
	unsigned char was, all = 0xff;
	Elf64_Ehdr h;
	unsigned read = 0;

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	for (uint64_t i = 0, size = sizeof(h) + h.e_phnum * sizeof(Elf64_Phdr);
	     i < size + h.e_shnum * sizeof(Elf64_Shdr); i++) {
		const off_t at = (off_t)(i < size ? i : h.e_shoff + i - size);
		char *function, *file, what[512];
		uint32_t line;

		assert_int_equal(pread(fd, &was, 1, at), 1);
		assert_int_equal(pwrite(fd, &all, 1, at), 1);
		symbols_end();
		symbols_find(copy, build_id, address(), &function, &file, &line);
		gw_target(copy, what, sizeof(what));
		read += !strcmp(function, "a_function_of_this_test");
		free(function);
		free(file);
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
	}
	close(fd);
	symbols_end();
	assert_true(read > 100 || !*build_id);
}

TEST(a_file_that_is_cut_short_later_does_not_end_the_reader)
{
	if (!*build_id)
		skip();
	assert_name(build_id, "a_function_of_this_test");
	assert_int_equal(truncate(copy, 64), 0);
	assert_name(build_id, "a_function_of_this_test");
}

static char program[] = "/opt/program", blas[] = "/opt/libcublasLt.so.13", no_text[] = "";

/* The line of a stack of @p count native frames from the innermost. */
static void assert_line(struct stack_frame *frames, uint32_t count, const char *line)
{
	struct stack_object objects[] = {{program, no_text, false}, {blas, no_text, false}};
	uint32_t positions[] = {0, 1, 2}, of_config = 0;
	struct log_stack list = {.count = count, .frames = positions};
	struct log_stacks s = {.objects = objects,
			       .frames = frames,
			       .list = &list,
			       .count = 1,
			       .object_count = 2,
			       .frame_count = count,
			       .of_config = &of_config,
			       .config_count = 1};
	char out[LOG_LINE];

	log_stack_line(&s, 0, out, sizeof(out));
	assert_string_equal(out, line);
}

#define FRAME(of, at, name) \
	{ \
		.object = of, .address = at, .file = no_text, .function = name, .looked = true \
	}

TEST(the_runtime_linked_into_a_program_is_not_its_line)
{
	struct stack_frame frames[] = {FRAME(0, 1, "libcudart_static_4d8b33"),
				       FRAME(0, 2, "cudaLaunchKernel"), FRAME(0, 3, "main")};

	assert_line(frames, 3, "program main");
}

TEST(a_line_has_the_short_name_of_a_function)
{
	struct stack_frame frames[] = {
		FRAME(0, 1, "cudaLaunchKernel"),
		FRAME(0, 2, "void at::native::reduce<at::Half, 4>(at::Tensor&, int)")};

	assert_line(frames, 2, "program reduce<Half, 4>");
}

TEST(a_stack_cut_off_in_a_library_of_cuda_has_its_outermost_frame)
{
	struct stack_frame frames[] = {FRAME(1, 0x10, no_text), FRAME(1, 0x20, no_text)};

	assert_line(frames, 2, "libcublasLt.so.13+0x20");
	assert_line(frames, 0, "[no stack]");
}

TESTS_MAIN(copy_itself, remove_it)
