/* What an engine is asked: questions.def in its dialect of SQL. */
#ifndef GW_FLEET_PLAN_H
#define GW_FLEET_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fleet_engine { FLEET_DUCKDB, FLEET_SPARK, FLEET_CLICKHOUSE };

enum fleet_kind { FLEET_VIEW, FLEET_TABLE, FLEET_QUESTION };

/** A row of questions.def. */
struct fleet_step {
	const char *name, *needs, *title, *meaning;
	enum fleet_kind kind;
	const char *sql, *sql_end; /**< its file: its own, or that of all tables */
};

extern const struct fleet_step fleet_steps[];
extern const size_t fleet_step_count;

/** Which rows are needed; hours that begin at a time or later, and before one. */
struct fleet_span {
	uint64_t since_s, until_s; /**< since 1970; 0 and UINT64_MAX: all */
	uint64_t last_s;           /**< the last so many of the store; 0: all */
	uint64_t now_s;            /**< what is later has not come yet, but for a wrong clock */
};

/** The question called @p name; NULL: there is none. */
const struct fleet_step *fleet_question(const char *name);

/**
 * The steps that the questions @p wanted (by position in fleet_steps) need, in order: an array of
 * objects with "name", "kind" and "sql". @p rows: of an answer, at most.
 */
json_t *fleet_plan(enum fleet_engine engine, const bool *wanted, const struct fleet_span *span,
		   unsigned rows);

/** @p sql of @p length bytes in the dialect of @p engine; free() it. */
char *fleet_sql(enum fleet_engine engine, const char *sql, size_t length,
		const struct fleet_span *span, unsigned rows);

#endif
