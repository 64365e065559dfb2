/*
 * The embedded microbenchmarks, disassembled: each holds the instructions it claims to time, as
 * many times as it claims, and nothing else that matters (Sanchez Gil 2017, 4.1.7). Read by our own
 * decoder, and by cuobjdump and nvdisasm where they are, which must tell the same; what may stand
 * beside the claimed instructions is listed in region.h.
 */

#include "kernels/kernels.h"
#include "kernels/shape.h"
#include "tests/kernels/code.h"
#include "tests/kernels/region.h"
#include "tests/test.h"

static unsigned failures;
static bool by_tools; /* the code was read by nvdisasm */

static const struct sass_kernel *kernel(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

static const struct sass_kernel *kernel(const char *format, ...)
{
	char name[96];
	const struct sass_kernel *k;
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	k = sass_find(embedded_code(), name);
	if (!k)
		fail_msg("no embedded module has %s", name);
	return k;
}

static void report(const struct sass_kernel *k, bool good, const char *why)
{
	if (good)
		return;
	failures++;
	print_error("%s: %s\n", k->name, why);
}

static void check_chain(const char *name, const char *step, unsigned steps)
{
	const struct sass_kernel *k = kernel("gw_chain_%s", name);
	char why[REGION_WHY];

	report(k, region_timed(k, 0, REGION_COMPARED, (struct expected){step, steps}, why), why);
	report(k,
	       region_timed(k, 2, REGION_COMPARED, (struct expected){step, GW_LONG * steps}, why),
	       why);
}

static void check_loop(const char *name, const char *step, unsigned steps)
{
	const struct sass_kernel *k = kernel("gw_rate_%s", name);
	char why[REGION_WHY];

	report(k, region_loop(k, (struct expected){step, steps}, why), why);
}

#define TYPE(name, bytes, steps, chains) static const unsigned turn_##name = (steps) * (chains);
GW_TYPES(TYPE)
#undef TYPE

TEST(chains_hold_their_two_lengths)
{
	failures = 0;
#define CODE(name, type, place, steps, parts, sass, ptx) check_chain(#name, sass, steps);
#include "kernels/code.def"
#undef CODE
#define WGMMA(name, type, kind, sass, suffix, scales) \
	check_chain(#name, sass " WARPGROUP.ARRIVE WARPGROUP.DEPBAR.LE", GW_WGMMA_SLICES);
#include "kernels/wgmma.def"
#undef WGMMA
	assert_int_equal(failures, 0);
}

/* What a turn of a wgmma loop holds beside the operations: one wait for all of them, and the
 * addresses of their factors, made in the uniform datapath. */
#define WGMMA_TURN \
	"WARPGROUP.ARRIVE WARPGROUP.DEPBAR.LE " \
	"~UIADD3.64 ~ULOP3.LUT ~UMOV ~USHF.R.U32.HI ~ULEA ~UIADD3"

TEST(waits_hold_their_two_lengths)
{
	failures = 0;
#define WAITED(name, type, steps, kind, result, sass, ...) check_chain("wait_" #name, sass, steps);
#include "kernels/waits.def"
	assert_int_equal(failures, 0);
}

TEST(branch_is_all_between_two_readings)
{
	const struct sass_kernel *k = kernel("gw_wait_branch");
	char why[REGION_WHY];

	failures = 0;
	report(k, region_branch(k, why), why);
	assert_int_equal(failures, 0);
}

TEST(rate_loops_hold_their_steps)
{
	failures = 0;
#define CODE(name, type, place, steps, parts, sass, ptx) \
	check_loop(#name, sass, turn_##type / ((steps) <= GW_SEQUENCE ? 8 : 1));
#include "kernels/code.def"
#undef CODE
	check_loop("issue", "FADD FMNMX", GW_ISSUE_STEPS * GW_ISSUE_CHAINS);
	check_loop("swap_32", "LDS*2 STS*2", GW_SWAP_STEPS);
	check_loop("swap_64", "LDS.64*2 STS.64*2", GW_SWAP_STEPS);
	check_loop("swap_128", "LDS.128*2 STS.128*2", GW_SWAP_STEPS);
#define WGMMA(name, type, kind, sass, suffix, scales) \
	check_loop(#name, sass "*16 " WGMMA_TURN, GW_WGMMA_STEPS / 16);
#include "kernels/wgmma.def"
#undef WGMMA
	assert_int_equal(failures, 0);
}

/* What one step of an operation is in machine code. */
static const char *step_of(const char *operation)
{
#define CODE(name, type, place, steps, parts, sass, ptx) \
	if (!strcmp(operation, #name)) \
		return sass;
#include "kernels/code.def"
#undef CODE
	fail_msg("code.def has no %s", operation);
	return "";
}

/* A batch: steps, then apart from them the comparison that waits for the last. */
static void check_batch(const struct sass_kernel *k, const char *step, unsigned steps)
{
	char why[REGION_WHY];

	report(k, region_timed(k, 0, REGION_OPEN, (struct expected){step, steps}, why), why);
	report(k, region_timed(k, 1, REGION_COMPARED, (struct expected){"", 0}, why), why);
	/* A sequence ends where it ends. */
	if (steps && !strchr(step, ' '))
		report(k, region_waits_for_last(k, 0, why), why);
	assert_int_equal(region_clocks(k), 3);
}

TEST(batches_hold_one_to_eight_operations)
{
	failures = 0;
#define PIPELINED(name, type, meaning) \
	for (unsigned n = 1; n <= GW_BATCH_MAX; n++) \
		check_batch(kernel("gw_batch_" #name "_%u", n), step_of(#name), n);
#include "kernels/pipelined.def"
#undef PIPELINED
	assert_int_equal(failures, 0);
}

TEST(the_clock_s_cost_is_timed_without_an_operation)
{
	static const char *const types[] = {"f32", "f64", "b32"};

	failures = 0;
	for (size_t i = 0; i < COUNT(types); i++)
		check_batch(kernel("gw_clock_%s", types[i]), "", 0);
	assert_int_equal(failures, 0);
}

TEST(mixbench_loops_hold_multiply_adds_only)
{
	static const struct {
		const char *name, *step;
	} kinds[] = {{"fp32", "FFMA"},
		     {"fp64", "DFMA"},
		     {"fp16", "HFMA2|HFMA2.MMA ~LDC"},
		     {"int", "IMAD"}};
	char why[REGION_WHY];

	failures = 0;
	for (size_t i = 0; i < COUNT(kinds); i++)
		for (unsigned unrolled = 1; unrolled <= 16; unrolled *= 4) {
			const struct sass_kernel *k =
				kernel("gw_mix_%s_%u", kinds[i].name, unrolled);

			report(k,
			       region_any_loop(k, (struct expected){kinds[i].step, 8 * unrolled},
					       why),
			       why);
		}
	assert_int_equal(failures, 0);
}

/* Whether our decoder's instruction is nvdisasm's: as far as its modifiers are printed, and where
 * it goes. */
static bool same(const struct sass_instruction *own, const struct sass_instruction *vendor)
{
	size_t name = strcspn(vendor->opcode, ".");

	if (!strncmp(vendor->opcode, "REDG.", 5)) /* as of 13.5; RED before */
		name--;
	if (!strcmp(vendor->opcode, "BRA") && own->target != vendor->target)
		return false;
	if (sass_spelled(vendor->opcode))
		return !strcmp(own->opcode, vendor->opcode);
	return strlen(own->opcode) == name && !strncmp(own->opcode, vendor->opcode, name);
}

static unsigned compare(const struct sass_kernel *own)
{
	const struct sass_kernel *vendor = kernel("%s", own->name);
	unsigned differ = 0;

	assert_int_equal(own->count, vendor->count);
	for (size_t i = 0; i < own->count; i++)
		if (!same(&own->code[i], &vendor->code[i]) && ++differ <= 3)
			print_error("%s, instruction %zu: %s, nvdisasm has %s\n", own->name, i,
				    own->code[i].opcode, vendor->code[i].opcode);
	return differ;
}

TEST(our_decoder_tells_what_nvdisasm_tells)
{
	unsigned differ = 0;

	if (!by_tools)
		skip();
	for (const struct gw_kernel_image *i = gw_kernel_images; i->name; i++) {
		struct gw_bytes bytes = {(const uint8_t *)i->data, (size_t)(i->end - i->data)};
		struct sass_listing own;
		const char *why;

		assert_true(sass_decode(bytes, &own, &why));
		for (size_t k = 0; k < own.count; k++)
			differ += compare(&own.kernels[k]);
		sass_free(&own);
	}
	assert_int_equal(differ, 0);
}

int main(void)
{
	int failed;

	if (embedded_skip())
		return 77;
	failed = tests_run(embedded_decode, embedded_forget);
	by_tools = embedded_tools();
	if (by_tools)
		failed += tests_run(embedded_disassemble, embedded_forget);
	return failed;
}
