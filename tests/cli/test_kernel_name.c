/* SPDX-License-Identifier: Apache-2.0 */
/* Names: of kernels, short and distinguished; of native code, by the object that ran. */
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/stack/symbols.h"
#include "predictor/code/binary/elf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
	const char *plain, *shortened;
} cases[] = {
        {"gather_words", "gather_words"},
        {"vector_add(float const*, float const*, float*, int)", "vector_add"},
        {"void wl_fill<unsigned char>(unsigned char*, unsigned long)", "wl_fill<unsigned char>"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
         "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
         "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1>>"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous "
         "namespace)::CompareFunctor<float>, std::array<char*, 3ul> >(int, at::native::(anonymous "
         "namespace)::CompareFunctor<float>, std::array<char*, 3ul>)",
         "vectorized_elementwise_kernel<4, CompareFunctor<float>, array<char*, 3>>"},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 1, true, "
         "false>(float*, float const*, int, int, int, bool const*, int, bool)",
         "softmax_warp_forward<float, float, float, 1, true, false>"},
        {"void at::native::k<at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
         "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda(float)#1}, "
         "(bool)1>(int)",
         "k<GeluCUDAKernelImpl, 1>"},
        {"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>("
         "cutlass_80_simt_sgemm_64x64_8x5_tn_align1::Params)",
         "Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>"},
        {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8",
         "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8"},
        {"void ns::f<-1, 32u>(int) [clone .isra.0]", "f<-1, 32>"},
        /* Not names of functions, and brackets that do not match. */
        {"", ""},
        {"(", "("},
        {"a<b(c", "a<b(c"},
        {"void x<(y>(int)", "void x<(y>(int)"},
        {"=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"},
        {"f(int)::g", "f(int)::g"},
};

static void kernel_name_drops_what_repeats(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = gw_kernel_name(cases[i].plain);

		assert_string_equal(text, cases[i].shortened);
		free(text);
	}
}

static void kernel_name_survives_deep_nesting(void **state)
{
	enum { DEEP = 5000 };
	char *name = gw_alloc(3 * DEEP + 16), *text;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < DEEP; i++, n += 2)
		strcpy(name + n, "a<");
	for (size_t i = 0; i < DEEP; i++)
		name[n++] = '>';
	strcpy(name + n, "(int)");
	text = gw_kernel_name(name);
	assert_string_equal(text, name);
	free(text);
	free(name);
}

static void kernel_names_that_differ_stay_different(void **state)
{
	static const struct gw_kernel_names names[] = {
	        {"_ZN1a1fEi", "a::f(int)"}, {"_ZN1b1fEi", "b::f(int)"}, {"_Z1gi", "g(int)"},
	        {"_Z1gi", "g(int)"},        {"_Z1hPi", "h(int*)"},      {"_Z1hPiX", "h(int*)"},
	};
	char *out[6];

	(void)state;
	gw_kernel_names(names, 6, out);
	assert_string_equal(out[0], "a::f(int)");
	assert_string_equal(out[1], "b::f(int)");
	assert_string_equal(out[2], "g");
	assert_string_equal(out[3], "g");
	assert_string_equal(out[4], "_Z1hPi");
	assert_string_equal(out[5], "_Z1hPiX");
	for (size_t i = 0; i < 6; i++)
		free(out[i]);
}

/* At every width from 20 on: what differs looks different, and what is the same looks the same. */
static void kernel_names_fit_and_stay_different(void **state)
{
	static const char *const names[] = {
	        "multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float, 1, "
	        "1, "
	        "0>, multiplies<float>, float>",
	        "multi_tensor_apply_kernel<TensorListMetadata<1>, BinaryOpScalarFunctor<float, 1, "
	        "1, "
	        "0>, plus<float>, float>",
	        "multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1, 1>, "
	        "Sqrt<float>>",
	        "multi_tensor_apply_kernel<TensorListMetadata<2>, UnaryOpFunctor<float, 2, 1, 1>, "
	        "Sqrt<float>>",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x128x8_stage3_warpsize1x4x1",
	        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1",
	        "reduce_kernel<512, 1, ReduceOp<float, func_wrapper_t<float, sum_functor>>>",
	        "reduce_kernel<512, 1, ReduceOp<float, func_wrapper_t<float, max_functor>>>",
	        "reduce_kernel<256, 1, ReduceOp<float, func_wrapper_t<float, max_functor>>>",
	        "short",
	};
	enum { COUNT = sizeof(names) / sizeof(*names) };

	(void)state;
	for (size_t width = 20; width < 130; width++) {
		char *text[COUNT];

		for (size_t i = 0; i < COUNT; i++)
			text[i] = gw_copy(names[i]);
		gw_kernel_names_fit(text, COUNT, width);
		for (size_t i = 0; i < COUNT; i++) {
			assert_in_range(strlen(text[i]), 1, width);
			for (size_t k = 0; k < i; k++)
				assert_int_equal(!strcmp(text[i], text[k]),
				                 !strcmp(names[i], names[k]));
		}
		if (width == 40) {
			assert_non_null(strstr(text[0], "multiplies"));
			assert_non_null(strstr(text[4], "_nn_n"));
			assert_string_equal(text[10], "short");
		}
		for (size_t i = 0; i < COUNT; i++)
			free(text[i]);
	}
}

/* Names of native code: which file is the object that ran, and a file that changes while it is
 * read. */
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

	(void)state;
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
	(void)state;
	symbols_end();
	return unlink(copy);
}

static void a_function_of_the_object_that_ran_has_its_name(void **state)
{
	(void)state;
	if (!*build_id)
		skip(); /* linked without one */
	assert_name(build_id, "a_function_of_this_test");
}

static void an_object_with_another_build_id_has_no_names(void **state)
{
	(void)state;
	assert_name("0123456789abcdef0123456789abcdef01234567", "");
}

static void an_object_whose_build_id_is_not_known_has_no_names(void **state)
{
	(void)state;
	assert_name("", "");
}

static void a_file_that_is_cut_short_later_does_not_end_the_reader(void **state)
{
	(void)state;
	if (!*build_id)
		skip();
	assert_name(build_id, "a_function_of_this_test");
	assert_int_equal(truncate(copy, 64), 0);
	assert_name(build_id, "a_function_of_this_test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kernel_name_drops_what_repeats),
	        cmocka_unit_test(kernel_name_survives_deep_nesting),
	        cmocka_unit_test(kernel_names_that_differ_stay_different),
	        cmocka_unit_test(kernel_names_fit_and_stay_different),
	};
	const struct CMUnitTest more[] = {
	        cmocka_unit_test(a_function_of_the_object_that_ran_has_its_name),
	        cmocka_unit_test(an_object_with_another_build_id_has_no_names),
	        cmocka_unit_test(an_object_whose_build_id_is_not_known_has_no_names),
	        cmocka_unit_test(a_file_that_is_cut_short_later_does_not_end_the_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) +
	       cmocka_run_group_tests(more, copy_itself, remove_it);
}
