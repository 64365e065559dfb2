#include "tests/kernels/region.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BARRIER "BAR.SYNC.DEFER_BLOCKING" /* has no operand that could be tied */
#define FENCE   "MEMBAR.SC.GPU"

enum { TOKENS = 16, MOVES = 4 };

/* One word of a step: its opcodes, and how often they may and must stand. */
struct token {
	char opcodes[64]; /* "a|b" */
	bool any;         /* "~": any number of times */
	unsigned wanted, seen;
};

struct tally {
	struct token tokens[TOKENS];
	unsigned count;
	unsigned tie, comparison, counter, bound, back, moves; /* the allowed rest */
	size_t first, last; /* instructions of a step; SIZE_MAX and 0 when there was none */
	size_t tie_at, comparison_at;
};

static bool one_of(const char *opcodes, const char *opcode)
{
	size_t length = strlen(opcode);

	for (const char *at = opcodes; *at; at += *at == '|') {
		size_t n = strcspn(at, "|");

		if (n == length && !strncmp(at, opcode, n))
			return true;
		at += n;
	}
	return false;
}

static void parse(struct tally *t, struct expected e)
{
	const char *at = e.step;

	for (at += strspn(at, " "); *at && t->count < TOKENS; at += strspn(at, " ")) {
		struct token *k = &t->tokens[t->count++];
		size_t length = strcspn(at, " "), name = strcspn(at, " *");

		k->any = *at == '~';
		snprintf(k->opcodes, sizeof(k->opcodes), "%.*s", (int)(name - k->any), at + k->any);
		if (!strcmp(k->opcodes, "MOV"))
			snprintf(k->opcodes, sizeof(k->opcodes), "MOV|IMAD.MOV.U32");
		k->wanted = e.steps;
		if (at[name] == '*')
			k->wanted *= (unsigned)strtoul(at + name + 1, NULL, 10);
		at += length;
	}
}

/* The word of a step that @p opcode belongs to; NULL: none. */
static const struct token *of_step(struct tally *t, const char *opcode)
{
	for (unsigned i = 0; i < t->count; i++) {
		struct token *k = &t->tokens[i];

		if (one_of(k->opcodes, opcode) && (k->any || k->seen < k->wanted)) {
			k->seen++;
			return k;
		}
	}
	return NULL;
}

static bool once(unsigned *seen)
{
	return ++*seen == 1;
}

/* What may stand there beside the steps; false: it may not. */
static bool allowed(struct tally *t, const struct sass_instruction *i, bool loop)
{
	if (!strcmp(i->opcode, "NOP"))
		return true;
	if (one_of("MOV|IMAD.MOV.U32", i->opcode))
		return ++t->moves <= MOVES;
	if (one_of("IADD3|UIADD3|VIADD", i->opcode))
		return once(&t->counter);
	if (one_of("ISETP.LE.U32.AND|ISETP.GE.U32.AND", i->opcode))
		return once(&t->bound);
	if (!strcmp(i->opcode, "BRA"))
		return loop && once(&t->back);
	return false;
}

static bool complete(const struct tally *t, char *why)
{
	for (unsigned i = 0; i < t->count; i++) {
		const struct token *k = &t->tokens[i];

		if (!k->any && k->seen != k->wanted) {
			snprintf(why, REGION_WHY, "%u of %s where %u are claimed", k->seen,
				 k->opcodes, k->wanted);
			return false;
		}
	}
	return true;
}

static size_t clock_at(const struct sass_kernel *k, unsigned number)
{
	for (size_t i = 0; i < k->count; i++)
		if (strstr(k->code[i].operands, "SR_CLOCKLO") && !number--)
			return i;
	return SIZE_MAX;
}

unsigned region_clocks(const struct sass_kernel *k)
{
	unsigned n = 0;

	while (clock_at(k, n) != SIZE_MAX)
		n++;
	return n;
}

/* The tie is the first LOP3.LUT and the comparison the last ISETP.NE.U32.AND of the stretch: steps
 * may hold the same opcodes. */
static void find_frame(struct tally *t, const struct sass_kernel *k, size_t from, size_t to)
{
	t->tie_at = t->comparison_at = SIZE_MAX;
	for (size_t i = from; i < to; i++) {
		if (t->tie_at == SIZE_MAX && !strcmp(k->code[i].opcode, "LOP3.LUT"))
			t->tie_at = i;
		if (!strcmp(k->code[i].opcode, "ISETP.NE.U32.AND"))
			t->comparison_at = i;
	}
}

static bool count(struct tally *t, const struct sass_kernel *k, size_t from, size_t to, bool loop,
		  char *why)
{
	t->first = SIZE_MAX;
	for (size_t i = from; i < to; i++) {
		const struct token *word;

		if (i == t->tie_at || i == t->comparison_at)
			continue;
		word = of_step(t, k->code[i].opcode);
		if (word && word->any)
			continue;
		if (word) {
			if (t->first == SIZE_MAX)
				t->first = i;
			t->last = i;
		} else if (!allowed(t, &k->code[i], loop)) {
			snprintf(why, REGION_WHY,
				 "instruction %zu is %s %s, which does not belong there", i,
				 k->code[i].opcode, k->code[i].operands);
			return false;
		}
	}
	return complete(t, why);
}

/* A warp that has issued these issues nothing more until they are done: no result need be
 * compared. */
static bool holds_warp(const struct tally *t)
{
	for (unsigned i = 0; i < t->count; i++)
		if (!strcmp(t->tokens[i].opcodes, BARRIER) || !strcmp(t->tokens[i].opcodes, FENCE))
			return true;
	return false;
}

/* The steps lie between the tie and the comparison. */
static bool framed(const struct tally *t, char *why)
{
	/* A sequence may begin with what does not depend on the tied operand. */
	if (t->count == 1 && t->first < t->tie_at && strcmp(t->tokens[0].opcodes, BARRIER) != 0) {
		snprintf(why, REGION_WHY, "instruction %zu comes before the tie to the clock",
			 t->first);
		return false;
	}
	if (t->first != SIZE_MAX && t->last > t->comparison_at && !holds_warp(t)) {
		snprintf(why, REGION_WHY, "instruction %zu comes after the comparison", t->last);
		return false;
	}
	return true;
}

bool region_timed(const struct sass_kernel *k, unsigned first, enum region_end end,
		  struct expected e, char why[REGION_WHY])
{
	size_t from = clock_at(k, first), to = clock_at(k, first + 1);
	struct tally t = {.count = 0};

	if (to == SIZE_MAX) {
		snprintf(why, REGION_WHY, "it has no clock readings number %u and %u", first,
			 first + 1);
		return false;
	}
	parse(&t, e);
	find_frame(&t, k, from + 1, to);
	if (end == REGION_OPEN)
		t.comparison_at = SIZE_MAX;
	else if (t.comparison_at == SIZE_MAX) {
		snprintf(why, REGION_WHY, "the last reading is not tied to what it times");
		return false;
	}
	if (t.tie_at == SIZE_MAX) {
		snprintf(why, REGION_WHY, "the first reading is not tied to what it times");
		return false;
	}
	return count(&t, k, from + 1, to, false, why) && framed(&t, why);
}

/* The register number @p at of an instruction's operands: its name up to a dot or a comma. */
static void operand(const struct sass_instruction *i, unsigned at, char name[16])
{
	const char *text = i->operands;

	while (at-- && *text) {
		text += strcspn(text, ",");
		text += strspn(text, ", ");
	}
	snprintf(name, 16, "%.*s", (int)strcspn(text, ",."), text);
}

bool region_waits_for_last(const struct sass_kernel *k, unsigned first, char why[REGION_WHY])
{
	size_t next = clock_at(k, first + 1), tie = next;
	char result[16], tied[16];

	if (next == SIZE_MAX || !next) {
		snprintf(why, REGION_WHY, "it has no reading number %u", first + 1);
		return false;
	}
	while (tie < k->count && strcmp(k->code[tie].opcode, "LOP3.LUT") != 0)
		tie++;
	if (tie == k->count) {
		snprintf(why, REGION_WHY, "nothing is tied to its reading number %u", first + 1);
		return false;
	}
	operand(&k->code[next - 1], 0, result);
	operand(&k->code[tie], 1, tied);
	if (!strcmp(result, tied))
		return true;
	snprintf(why, REGION_WHY, "it waits for %s, but the last result is %s", tied, result);
	return false;
}

/* The loop whose branch back is instruction @p back. */
static bool loop_holds(const struct sass_kernel *k, size_t back, struct expected e, char *why)
{
	struct tally t = {.tie_at = SIZE_MAX, .comparison_at = SIZE_MAX};

	parse(&t, e);
	if (!count(&t, k, k->code[back].target, back + 1, true, why))
		return false;
	if (!t.bound || !t.back) {
		snprintf(why, REGION_WHY, "its loop has no counter");
		return false;
	}
	return true;
}

bool region_branch(const struct sass_kernel *k, char why[REGION_WHY])
{
	size_t first = clock_at(k, 0), branch = clock_at(k, 1) + 1;

	if (region_clocks(k) == 2 && branch < k->count && !strcmp(k->code[branch].opcode, "BRA") &&
	    k->code[branch].target == first)
		return true;
	snprintf(why, REGION_WHY, "no branch leads from its last clock reading to its first");
	return false;
}

/* First branch back from @p from to before @p to; SIZE_MAX when there is none. */
static size_t branch_back(const struct sass_kernel *k, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (k->code[i].target <= i && !strcmp(k->code[i].opcode, "BRA"))
			return i;
	return SIZE_MAX;
}

bool region_loop(const struct sass_kernel *k, struct expected e, char why[REGION_WHY])
{
	size_t end = region_clocks(k) == 2 ? clock_at(k, 1) : 0;
	size_t back = end ? branch_back(k, clock_at(k, 0), end) : SIZE_MAX;

	if (back == SIZE_MAX || branch_back(k, back + 1, end) != SIZE_MAX) {
		snprintf(why, REGION_WHY, "it has not one loop between two clock readings");
		return false;
	}
	return loop_holds(k, back, e, why);
}

bool region_any_loop(const struct sass_kernel *k, struct expected e, char why[REGION_WHY])
{
	snprintf(why, REGION_WHY, "it has no loop");
	for (size_t i = branch_back(k, 0, k->count); i != SIZE_MAX;
	     i = branch_back(k, i + 1, k->count))
		if (loop_holds(k, i, e, why))
			return true;
	return false;
}
