/* Kernel names as a table shows them: short, and distinguished. */
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "tests/test.h"

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

TEST(kernel_name_drops_what_repeats)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *text = gw_kernel_name(cases[i].plain);

		assert_string_equal(text, cases[i].shortened);
		free(text);
	}
}

TEST(kernel_name_survives_deep_nesting)
{
	enum { DEEP = 5000 };
	char *name = gw_alloc(3 * DEEP + 16), *text;
	size_t n = 0;

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

TEST(kernel_names_that_differ_stay_different)
{
	static const struct gw_kernel_names names[] = {
		{"_ZN1a1fEi", "a::f(int)"}, {"_ZN1b1fEi", "b::f(int)"}, {"_Z1gi", "g(int)"},
		{"_Z1gi", "g(int)"},        {"_Z1hPi", "h(int*)"},      {"_Z1hPiX", "h(int*)"},
	};
	char *out[6];

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
TEST(kernel_names_fit_and_stay_different)
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

TESTS_MAIN()
