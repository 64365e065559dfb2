/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sass/agree.h"
#include "predictor/code/sass/sass.h"
#include "tests/unit/sass/sass_text.h"

#include <stdio.h>
#include <string.h>

static bool same_class(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	return text->cls && !strcmp(gw_sass_class_name(insn->cls), text->cls) &&
	       !strcmp(gw_sass_space_name(insn->space), text->space);
}

static bool same_details(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	if (insn->guard != text->guard || insn->guard_not != text->guard_not)
		return false;
	if (insn->width != text->width)
		return false;
	if (!text->tensor)
		return true;
	return !strcmp(gw_sass_tensor_name(insn->tensor), text->tensor) &&
	       insn->tensor_flops == text->flops;
}

static void mark(bool *set, const struct gw_sass_regs *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].first < GW_SASS_RZ)
			set[list[i].first] = true;
}

/* First registers of what is read and written: the text names no others. */
static bool same_regs(const struct gw_sass_insn *insn, const struct sass_text *text)
{
	bool ours[256] = {0}, theirs[256] = {0};

	mark(ours, insn->defs, insn->def_count);
	mark(ours, insn->uses, insn->use_count);
	for (unsigned i = 0; i < text->reg_count; i++)
		theirs[text->regs[i]] = true;
	return !memcmp(ours, theirs, sizeof(ours));
}

/* Classes whose dependences matter and whose operands are decoded in full. */
static bool has_operands(const struct gw_sass_insn *insn)
{
	switch (insn->cls) {
	case GW_SASS_TENSOR: /* metadata of sparse forms is not decoded */
		return insn->pipe == GW_SASS_PIPE_TENSOR && insn->op != GW_SASS_OP_HMMA_16 &&
		       insn->op != GW_SASS_OP_HGMMA;
	case GW_SASS_TEXTURE:
	case GW_SASS_SURFACE:
	case GW_SASS_CONTROL:
	case GW_SASS_BARRIER:
	case GW_SASS_COPY:
	case GW_SASS_OTHER:
	case GW_SASS_ATOMIC: /* ATOMS.ARRIVE names one register less */
		return false;
	default:
		return true;
	}
}

static void complain(unsigned *lines, const char *what, const struct listing_line *line)
{
	if ((*lines)++ < 10)
		fprintf(stderr, "%s differs: %s\n", what, line->text);
}

static void compare(struct agreement *a, const struct listing_line *line, unsigned sm,
                    unsigned *lines)
{
	struct gw_sass_insn insn;
	struct sass_text text;
	bool same;

	a->insns++;
	a->known += gw_sass_decode(line->bytes, sm, &insn);
	sass_text_read(&text, line->text);
	same = same_class(&insn, &text);
	a->cls += same;
	if (!same)
		complain(lines, "class", line);
	same = same && same_details(&insn, &text);
	a->details += same;
	if (!same)
		complain(lines, "width, guard or shape", line);
	if (!has_operands(&insn))
		return;
	a->compute++;
	same = same_regs(&insn, &text);
	a->regs += same;
	if (!same)
		complain(lines, "register", line);
}

struct agreement agree(const struct listing *listing, unsigned sm)
{
	struct agreement a = {0};
	unsigned lines = 0;

	for (uint32_t k = 0; k < listing->count; k++)
		for (uint32_t i = 0; i < listing->kernels[k].count; i++)
			compare(&a, &listing->kernels[k].lines[i], sm, &lines);
	return a;
}
