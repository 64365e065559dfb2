/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/accesses.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
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

bool accesses_timed(const struct sass_kernel *k, unsigned reading, const char *claimed,
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

bool accesses_loop(const struct sass_kernel *k, const char *claimed, char why[ACCESSES_WHY])
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
