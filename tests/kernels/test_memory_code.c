/*
 * The memory microbenchmarks, disassembled: each accesses memory as kernels/memory_code.def says,
 * as often as it says, and not otherwise (Sanchez Gil 2017, 4.1.7).
 */
#include "tests/kernels/code.h"
#include "tests/test.h"

/* Does a stretch of machine code access memory as a memory microbenchmark claims it does? */

enum { ACCESSES_WHY = 512 }; /**< room for the reason of a refusal */

enum { KINDS = 16 };

/* How often each opcode that accesses memory occurs. */
struct tally {
	struct {
		char opcode[sizeof(((struct sass_instruction *)0)->opcode)];
		unsigned count;
	} kind[KINDS];
	unsigned kinds;
};

static void add(struct tally *t, const char *opcode, size_t length, unsigned count)
{
	unsigned i = 0;

	while (i < t->kinds && (strlen(t->kind[i].opcode) != length ||
				strncmp(t->kind[i].opcode, opcode, length) != 0))
		i++;
	if (i == t->kinds && t->kinds < KINDS)
		snprintf(t->kind[t->kinds++].opcode, sizeof(t->kind[i].opcode), "%.*s", (int)length,
			 opcode);
	if (i < KINDS)
		t->kind[i].count += count;
}

/* Loads, stores, atomics, textures; arguments (constant bank 0) are none. */
static bool is_access(const struct sass_instruction *i)
{
	static const char *const names[] = {"LD", "ST", "ATOM", "RED", "TLD", "TEX", "CCTL"};

	if (strncmp(i->opcode, "LDC", 3) == 0 && strstr(i->operands, "c[0x0]"))
		return false;
	for (size_t n = 0; n < COUNT(names); n++)
		if (strncmp(i->opcode, names[n], strlen(names[n])) == 0)
			return true;
	return false;
}

static struct tally found_in(const struct sass_kernel *k, size_t from, size_t end)
{
	struct tally t = {.kinds = 0};

	for (size_t i = from; i < end; i++)
		if (is_access(&k->code[i]))
			add(&t, k->code[i].opcode, strlen(k->code[i].opcode), 1);
	return t;
}

static struct tally read_claim(const char *claimed)
{
	struct tally t = {.kinds = 0};

	for (claimed += strspn(claimed, " "); *claimed; claimed += strspn(claimed, " ")) {
		size_t name = strcspn(claimed, " *");
		const char *count = claimed + name;

		add(&t, claimed, name, *count == '*' ? (unsigned)strtoul(count + 1, NULL, 10) : 1);
		claimed += strcspn(claimed, " ");
	}
	return t;
}

static unsigned count_of(const struct tally *t, const char *opcode)
{
	for (unsigned i = 0; i < t->kinds; i++)
		if (strcmp(t->kind[i].opcode, opcode) == 0)
			return t->kind[i].count;
	return 0;
}

static bool same(const struct tally *found, const struct tally *claimed)
{
	if (found->kinds != claimed->kinds)
		return false;
	for (unsigned i = 0; i < found->kinds; i++)
		if (count_of(claimed, found->kind[i].opcode) != found->kind[i].count)
			return false;
	return true;
}

/* Append what was found to @p why. */
static void tell(const struct tally *found, char why[ACCESSES_WHY])
{
	size_t at = strlen(why);

	for (unsigned i = 0; i < found->kinds && at < ACCESSES_WHY; i++)
		at += (size_t)snprintf(why + at, ACCESSES_WHY - at, " %s*%u", found->kind[i].opcode,
				       found->kind[i].count);
	if (at < ACCESSES_WHY)
		snprintf(why + at, ACCESSES_WHY - at, "%s;", found->kinds ? "" : " nothing");
}

static size_t clock_at(const struct sass_kernel *k, unsigned number)
{
	for (size_t i = 0; i < k->count; i++)
		if (strstr(k->code[i].operands, "SR_CLOCKLO") && !number--)
			return i;
	return SIZE_MAX;
}

/*
 * What lies between reading number @reading of the clock, from 0, and the next accesses memory by
 * exactly @claimed ("LDG.E*4 STS": in any order), in the notation of kernels/memory_code.def.
 * False with the reason in @why.
 */
static bool accesses_timed(const struct sass_kernel *k, unsigned reading, const char *claimed,
			   char why[ACCESSES_WHY])
{
	size_t from = clock_at(k, reading), end = clock_at(k, reading + 1);
	struct tally wanted = read_claim(claimed), found;

	if (end == SIZE_MAX) {
		snprintf(why, ACCESSES_WHY, "it has no clock readings number %u and %u", reading,
			 reading + 1);
		return false;
	}
	found = found_in(k, from + 1, end);
	if (same(&found, &wanted))
		return true;
	snprintf(why, ACCESSES_WHY, "%s is claimed to be timed by reading %u, but there is",
		 claimed, reading);
	tell(&found, why);
	return false;
}

/* Some loop of the kernel, with the loops inside it, does. */
static bool accesses_loop(const struct sass_kernel *k, const char *claimed, char why[ACCESSES_WHY])
{
	struct tally wanted = read_claim(claimed);

	snprintf(why, ACCESSES_WHY, "a loop of %s is claimed, but its loops are", claimed);
	for (size_t i = 0; i < k->count; i++) {
		struct tally found;

		if (k->code[i].target > i) /* no branch back */
			continue;
		found = found_in(k, k->code[i].target, i);
		if (same(&found, &wanted))
			return true;
		tell(&found, why);
	}
	return false;
}

#define NOWHERE SIZE_MAX

/* Two loads in a loop, a store behind it; one load between two readings of the clock. */
static struct sass_instruction code[] = {
	{"LDC", "R1, c[0x0][0x28]", NOWHERE},
	{"CS2R", "R2, SR_CLOCKLO", NOWHERE},
	{"LDG.E", "R4, [R6]", NOWHERE},
	{"CS2R", "R8, SR_CLOCKLO", NOWHERE},
	{"LDS.128", "R4, [R6]", NOWHERE},
	{"IADD3", "R1, R1, 0x1, RZ", NOWHERE},
	{"LDS.128", "R8, [R6]", NOWHERE},
	{"LDC", "R9, c[0x0][0x210]", NOWHERE},
	{"BRA", "`(.L_x_1)", 4},
	{"STG.E", "[R2], R4", NOWHERE},
};
static const struct sass_kernel kernel = {"k", code, sizeof(code) / sizeof(*code)};
static char reason[ACCESSES_WHY];

TEST(the_claimed_accesses_are_found)
{
	assert_true(accesses_loop(&kernel, "LDS.128*2", reason));
	assert_true(accesses_timed(&kernel, 0, "LDG.E", reason));
}

TEST(too_few_or_too_many_are_refused)
{
	assert_false(accesses_loop(&kernel, "LDS.128", reason));
	assert_non_null(strstr(reason, "LDS.128*2"));
	assert_false(accesses_loop(&kernel, "LDS.128*3", reason));
	assert_false(accesses_timed(&kernel, 0, "LDG.E*2", reason));
}

TEST(another_width_is_refused)
{
	assert_false(accesses_loop(&kernel, "LDS.64*2", reason));
	assert_false(accesses_timed(&kernel, 0, "LDG.E.128", reason));
	assert_false(accesses_timed(&kernel, 0, "LDG", reason));
}

TEST(an_access_that_is_not_claimed_is_refused)
{
	assert_false(accesses_timed(&kernel, 0, "", reason));
	code[5] = (struct sass_instruction){"ATOMG.E.ADD", "R1, [R2], R3", NOWHERE};
	assert_false(accesses_loop(&kernel, "LDS.128*2", reason));
	code[5] = (struct sass_instruction){"LDC", "R1, c[0x3][R2]", NOWHERE};
	assert_false(accesses_loop(&kernel, "LDS.128*2", reason));
	code[5] = (struct sass_instruction){"IADD3", "R1, R1, 0x1, RZ", NOWHERE};
}

TEST(readings_that_are_not_there_are_refused)
{
	assert_false(accesses_timed(&kernel, 1, "", reason));
	assert_non_null(strstr(reason, "no clock readings"));
}

static unsigned failures;

static const struct sass_kernel *embedded_kernel(const char *name)
{
	const struct sass_kernel *k = sass_find(embedded_code(), name);

	if (!k)
		fail_msg("no embedded module has %s", name);
	return k;
}

static void report(const char *name, bool good, const char *why)
{
	if (good)
		return;
	failures++;
	print_error("%s: %s\n", name, why);
}

static void check_loop(const char *name, const char *claimed)
{
	char why[ACCESSES_WHY];

	report(name, accesses_loop(embedded_kernel(name), claimed, why), why);
}

static void check_timed(const char *name, unsigned reading, const char *claimed)
{
	char why[ACCESSES_WHY];

	report(name, accesses_timed(embedded_kernel(name), reading, claimed, why), why);
}

TEST(kernels_access_memory_as_they_claim)
{
	if (embedded_skip())
		skip();
	failures = 0;
#define LOOP(kernel, accesses)           check_loop(#kernel, accesses);
#define TIMED(kernel, reading, accesses) check_timed(#kernel, reading, accesses);
#include "kernels/memory_code.def"
#undef LOOP
#undef TIMED
	assert_int_equal(failures, 0);
}

int main(void)
{
	int failed = tests_run(embedded_decode, embedded_forget);

	if (embedded_skip())
		return failed ? failed : 77;
	if (embedded_tools())
		failed += tests_run(embedded_disassemble, embedded_forget);
	return failed;
}
