#include "cli/fleet/plan.h"

#include "cli/common/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Files are in the command itself. */
#define STEP(name) \
	__asm__(".pushsection .rodata\n" \
		".hidden fleet_sql_" #name "\n" \
		".globl fleet_sql_" #name "\n" \
		"fleet_sql_" #name ":\n" \
		".incbin \"" GW_FLEET_SQL "/" #name ".sql\"\n" \
		".hidden fleet_sql_end_" #name "\n" \
		".globl fleet_sql_end_" #name "\n" \
		"fleet_sql_end_" #name ":\n" \
		".popsection\n"); \
	extern const char fleet_sql_##name[], fleet_sql_end_##name[];
STEP(tables)
#define VIEW(name, needs)
#define TABLE(name, needs)
#define QUESTION(name, needs, title, meaning) STEP(name)
#include "cli/fleet/questions.def"
#undef VIEW
#undef TABLE
#undef QUESTION

#define ROW(name, needs, title, meaning, kind, file) \
	{#name, needs, title, meaning, kind, fleet_sql_##file, fleet_sql_end_##file},
const struct fleet_step fleet_steps[] = {
#define VIEW(name, needs)                     ROW(name, needs, NULL, NULL, FLEET_VIEW, tables)
#define TABLE(name, needs)                    ROW(name, needs, NULL, NULL, FLEET_TABLE, tables)
#define QUESTION(name, needs, title, meaning) ROW(name, needs, title, meaning, FLEET_QUESTION, name)
#include "cli/fleet/questions.def"
#undef VIEW
#undef TABLE
#undef QUESTION
};

enum { STEPS = sizeof(fleet_steps) / sizeof(*fleet_steps), ARGUMENTS = 16 };
const size_t fleet_step_count = STEPS;

static const struct dialect {
	const char *name, *text[3];
} dialects[] = {
#define DIALECT(name, duckdb, spark, clickhouse, meaning) {#name, {duckdb, spark, clickhouse}},
#include "cli/fleet/dialect.def"
#undef DIALECT
};

/* ---- a text that grows ---- */

struct text {
	char *data;
	size_t length, room;
};

static void put(struct text *t, const char *from, size_t length)
{
	t->data = gw_grow(t->data, &t->room, t->length + length + 1, 1);
	memcpy(t->data + t->length, from, length);
	t->length += length;
	t->data[t->length] = 0;
}

/* ---- dialects ---- */

struct expansion {
	enum fleet_engine engine;
	const struct fleet_span *span;
	unsigned rows;
};

struct piece {
	const char *text;
	size_t length;
};

static void expand(const struct expansion *e, struct text *to, const char *sql, size_t length);

/* The arguments of what stands in parentheses from @p at on; returns how long all of it is. */
static size_t arguments(const char *at, size_t length, struct piece *all, struct piece *argument,
			size_t *count)
{
	int depth = 0;
	size_t from = 1;

	*count = 0;
	for (size_t i = 0; i < length; i++) {
		depth += (at[i] == '(') - (at[i] == ')');
		if ((depth == 1 && at[i] == ',') || !depth) {
			while (at[from] == ' ' || at[from] == '\n')
				from++;
			if (*count < ARGUMENTS)
				argument[(*count)++] = (struct piece){at + from, i - from};
			from = i + 1;
		}
		if (!depth) {
			*all = (struct piece){at + 1, i - 1};
			return i + 1;
		}
	}
	return 0;
}

static void put_dialect(const struct expansion *e, struct text *to, const char *form,
			const struct piece *all, const struct piece *argument, size_t count)
{
	for (; *form; form++) {
		const size_t which = *form == '$' && isdigit((unsigned char)form[1])
					     ? (size_t)(form[1] - '1')
					     : ARGUMENTS;

		if (*form == '$' && form[1] == '*')
			expand(e, to, all->text, all->length), form++;
		else if (which < count)
			expand(e, to, argument[which].text, argument[which].length), form++;
		else
			put(to, form, 1);
	}
}

/* The last hours of the table @p of before the span's end. A host whose clock is ahead moves that
 * end for no other: hours to come count where there are no others. */
static void put_last(const struct fleet_span *s, struct text *to, const struct piece *of)
{
	char text[160];

	snprintf(text, sizeof(text),
		 " AND (SELECT coalesce(max(CASE WHEN time_s <= %llu THEN time_s END), "
		 "max(time_s)) FROM ",
		 (unsigned long long)s->now_s);
	put(to, text, strlen(text));
	put(to, of->text, of->length);
	if (s->until_s != UINT64_MAX) {
		snprintf(text, sizeof(text), " WHERE time_s < %llu",
			 (unsigned long long)s->until_s);
		put(to, text, strlen(text));
	}
	snprintf(text, sizeof(text), ") - time_s BETWEEN 0 AND %llu",
		 (unsigned long long)s->last_s - 3600);
	put(to, text, strlen(text));
}

/* Rows of the table @p of, which has time_s, within the span. */
static void put_span(const struct expansion *e, struct text *to, const struct piece *of)
{
	const struct fleet_span *s = e->span;
	char number[64];

	snprintf(number, sizeof(number), "time_s >= %llu", (unsigned long long)s->since_s);
	put(to, number, strlen(number));
	if (s->until_s != UINT64_MAX) {
		snprintf(number, sizeof(number), " AND time_s < %llu",
			 (unsigned long long)s->until_s);
		put(to, number, strlen(number));
	}
	if (s->last_s)
		put_last(s, to, of);
}

static size_t put_macro(const struct expansion *e, struct text *to, const char *at, size_t length)
{
	struct piece argument[ARGUMENTS], all = {"", 0};
	size_t name = 0, count = 0, taken;
	char rows[16];

	while (name < length && (islower((unsigned char)at[name]) || at[name] == '_'))
		name++;
	taken = name;
	if (name < length && at[name] == '(')
		taken += arguments(at + name, length - name, &all, argument, &count);
	if (name == 4 && !strncmp(at, "span", name)) {
		put_span(e, to, &all);
	} else if (name == 4 && !strncmp(at, "rows", name)) {
		snprintf(rows, sizeof(rows), "%u", e->rows);
		put(to, rows, strlen(rows));
	}
	for (size_t i = 0; i < sizeof(dialects) / sizeof(*dialects); i++)
		if (strlen(dialects[i].name) == name && !strncmp(dialects[i].name, at, name))
			put_dialect(e, to, dialects[i].text[e->engine], &all, argument, count);
	return taken;
}

static void expand(const struct expansion *e, struct text *to, const char *sql, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (sql[i] == '@')
			i += put_macro(e, to, sql + i + 1, length - i - 1);
		else
			put(to, sql + i, 1);
}

/* The part of tables.sql behind the line "--- name". */
static struct piece part_of(const struct fleet_step *s)
{
	const size_t name = strlen(s->name);
	const char *at = s->sql, *end;

	if (s->kind == FLEET_QUESTION)
		return (struct piece){at, (size_t)(s->sql_end - at)};
	while ((at = memmem(at, (size_t)(s->sql_end - at), "\n--- ", 5)) &&
	       (strncmp(at + 5, s->name, name) != 0 || at[5 + name] != '\n'))
		at += 5;
	if (!at)
		return (struct piece){"", 0};
	at += 6 + name;
	end = memmem(at, (size_t)(s->sql_end - at), "\n--- ", 5);
	return (struct piece){at, (size_t)((end ? end : s->sql_end) - at)};
}

/* Without the comment at its head. */
char *fleet_sql(enum fleet_engine engine, const char *sql, size_t length,
		const struct fleet_span *span, unsigned rows)
{
	const struct expansion e = {engine, span, rows};
	struct text to = {0};
	size_t at = 0;

	while (at + 1 < length && sql[at] == '-' && sql[at + 1] == '-') {
		while (at < length && sql[at] != '\n')
			at++;
		at++;
	}
	put(&to, "", 0);
	expand(&e, &to, sql + at, length > at ? length - at : 0);
	return to.data;
}

/* ---- the plan ---- */

const struct fleet_step *fleet_question(const char *name)
{
	for (size_t i = 0; i < STEPS; i++)
		if (fleet_steps[i].kind == FLEET_QUESTION && !strcmp(fleet_steps[i].name, name))
			return &fleet_steps[i];
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

json_t *fleet_plan(enum fleet_engine engine, const bool *wanted, const struct fleet_span *span,
		   unsigned rows)
{
	static const char *const kinds[] = {"view", "table", "question"};
	bool needed[STEPS];
	json_t *plan = json_array();

	memcpy(needed, wanted, sizeof(needed));
	for (size_t i = STEPS; i--;)
		for (size_t k = 0; needed[i] && k < i; k++)
			needed[k] |= has_word(fleet_steps[i].needs, fleet_steps[k].name);
	for (size_t i = 0; i < STEPS; i++) {
		const struct fleet_step *s = &fleet_steps[i];
		const struct piece part = part_of(s);
		char *sql;

		if (!needed[i])
			continue;
		sql = fleet_sql(engine, part.text, part.length, span, rows);
		json_array_append_new(plan, json_pack("{s:s, s:s, s:s}", "name", s->name, "kind",
						      kinds[s->kind], "sql", sql));
		free(sql);
	}
	return plan;
}
