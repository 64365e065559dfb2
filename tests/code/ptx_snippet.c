#include "ptx_snippet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
			   ".visible .entry k(.param .u32 n, .param .u32 m, .param .u64 x)\n{\n"
			   ".reg .pred %p<16>; .reg .b16 %rs<16>; .reg .b32 %r<64>;\n"
			   ".reg .b64 %rd<64>; .reg .f32 %f<16>;\n"
			   ".shared .align 16 .b8 buffer[4096];\n"
			   "ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m]; ld.param.u64 %rd1, [x];\n"
			   "mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;\n"
			   "mad.lo.s32 %r6, %r4, %r5, %r3;\n";

static struct gw_arena arena;
static struct gw_ptx_report report;
static struct gw_ptx_fault fault;

int snippet_end(void **state)
{
	(void)state;
	gw_arena_free(&arena);
	return 0;
}

struct gw_arena *snippet_arena(void)
{
	gw_arena_free(&arena);
	gw_arena_init(&arena, (size_t)64 << 20);
	return &arena;
}

static bool evaluate(const char *body, uint32_t blocks, uint32_t threads, int32_t n, int32_t m)
{
	static char text[1 << 16];
	struct {
		int32_t n, m;
		uint64_t x;
	} arguments = {n, m, 0x10000};
	struct gw_config config = {{blocks, 1, 1}, {threads, 1, 1}, {1, 1, 1}, 0, 0};
	int length = snprintf(text, sizeof(text), "%s%s\n}\n", head, body);

	return gw_ptx_evaluate((struct gw_bytes){(const uint8_t *)text, (size_t)length}, NULL,
			       &config,
			       (struct gw_bytes){(const uint8_t *)&arguments, sizeof(arguments)},
			       NULL, NULL, NULL, snippet_arena(), &report, &fault);
}

const struct gw_ptx_report *snippet(const char *body, uint32_t blocks, uint32_t threads, int32_t n,
				    int32_t m)
{
	if (!evaluate(body, blocks, threads, n, m))
		fail_msg("line %u, column %u: %s (%s)", fault.line, fault.column, fault.what,
			 fault.near);
	return &report;
}

const struct gw_ptx_fault *snippet_refused(const char *body)
{
	if (evaluate(body, 1, 32, 0, 0))
		fail_msg("taken: %s", body);
	return &fault;
}

struct gw_eval_count snippet_stores(const struct gw_ptx_report *r)
{
	return r->counts.by[IR_SPACE_GLOBAL][GW_ACCESS_STORE];
}
