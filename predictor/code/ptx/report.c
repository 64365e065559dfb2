#include "predictor/code/ptx/report.h"

#include <string.h>

bool gw_access_kind(const struct gw_ir_insn *insn, enum gw_access_kind *kind)
{
	if (insn->space == IR_SPACE_FRAME)
		return false;
	switch (insn->op) {
	case IR_LD:
		*kind = insn->flags & IR_MEM_PREFETCH ? GW_ACCESS_PREFETCH : GW_ACCESS_LOAD;
		return true;
	case IR_ST:
		*kind = GW_ACCESS_STORE;
		return true;
	case IR_ATOM:
		*kind = GW_ACCESS_ATOMIC;
		return true;
	case IR_RED:
		*kind = GW_ACCESS_REDUCE;
		return true;
	default:
		return false;
	}
}

const char *gw_access_name(enum gw_access_kind kind)
{
	static const char *const names[] = {"load", "store", "atomic", "reduction", "prefetch"};

	return (unsigned)kind < GW_ACCESS_KINDS ? names[kind] : "?";
}

/* The one space that an instruction's accesses went to, or GENERIC. */
static unsigned space_of(uint16_t spaces, unsigned declared)
{
	if (!spaces || spaces & (spaces - 1))
		return declared;
	return (unsigned)__builtin_ctz(spaces);
}

static void add(struct gw_eval_count *to, struct gw_eval_count from)
{
	to->least += from.least;
	to->most += from.most;
}

void gw_access_count(const struct gw_ir_program *program, const struct gw_eval_report *eval,
		     struct gw_access_counts *out)
{
	enum gw_access_kind kind;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < program->insn_count; i++) {
		const struct gw_ir_insn *insn = &program->insns[i];

		if (gw_access_kind(insn, &kind))
			add(&out->by[space_of(eval->spaces[i], insn->space)][kind], eval->insns[i]);
		else if (insn->op == IR_BAR && insn->aux < GW_IR_BARRIERS)
			add(&out->barriers[insn->aux], eval->insns[i]);
	}
}

static bool refuse(struct gw_ptx_fault *fault, const char *what, uint32_t line)
{
	*fault = (struct gw_ptx_fault){.what = what, .line = line};
	return false;
}

bool gw_ptx_evaluate(struct gw_bytes text, const char *name, const struct gw_config *config,
		     struct gw_bytes arguments, const struct gw_eval_limits *limits,
		     gw_eval_sink *sink, void *arg, struct gw_arena *arena,
		     struct gw_ptx_report *out, struct gw_ptx_fault *fault)
{
	struct gw_eval_launch launch = {.config = *config, .arguments = arguments};
	const char *wrong;
	struct gw_ptx ptx;
	uint32_t kernel;

	memset(out, 0, sizeof(*out));
	if (!gw_ptx_parse(text, arena, &ptx, fault))
		return false;
	kernel = name ? gw_ptx_find(&ptx, name) : 0;
	if (kernel >= ptx.kernel_count)
		return refuse(fault, "no kernel of this name; its symbol is needed, as mangled", 0);
	if (!name && ptx.kernel_count != 1)
		return refuse(fault, "the text has several kernels; name one", 0);
	out->kernel = ptx.kernels[kernel];
	if (!gw_ptx_lower(&ptx, kernel, arena, &out->program, fault))
		return false;
	wrong = gw_eval_grid(&out->program, &launch, limits, sink, arg, arena, &out->eval);
	if (wrong)
		return refuse(fault, wrong, out->kernel.line);
	gw_access_count(&out->program, &out->eval, &out->counts);
	out->exact = out->eval.coverage == GW_COVER_EXACT && out->eval.control_known &&
		     out->eval.complete && !out->program.open_calls;
	return true;
}
