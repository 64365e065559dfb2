#include "cli/fleet/engine.h"

#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/html/page.h"
#include "cli/message.h"
#include "cli/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 32, COMPLAINTS = 10 };

void fleet_complain(const struct fleet_store *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->files; i++)
		if (s->file[i].path && *s->file[i].why && count++ < COMPLAINTS)
			gw_warning("fleet: %s is left out: %s", s->file[i].path, s->file[i].why);
	if (count > COMPLAINTS)
		gw_warning("fleet: %zu files more are left out; --json names all",
			   count - COMPLAINTS);
}

/* ---- text ---- */

static const char *cell(const json_t *value, char *room, size_t size)
{
	if (json_is_string(value))
		return json_string_value(value);
	if (!json_is_number(value))
		return "unknown";
	snprintf(room, size, "%.10g", json_number_value(value));
	return room;
}

static void put_table(const json_t *columns, const json_t *rows)
{
	struct gw_table_column column[COLUMNS];
	const size_t count =
		json_array_size(columns) < COLUMNS ? json_array_size(columns) : COLUMNS;
	const json_t *first = json_array_get(rows, 0);
	struct gw_table *table;
	const json_t *row;
	char room[64];
	size_t i;

	for (i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(columns, i));

		column[i] =
			(struct gw_table_column){.title = name,
						 .right = json_is_number(json_array_get(first, i)),
						 .elastic = !strcmp(name, "kernel")};
	}
	table = gw_table_new(column, (unsigned)count);
	json_array_foreach(rows, i, row) for (size_t k = 0; k < count; k++)
		gw_table_cell(table, cell(json_array_get(row, k), room, sizeof(room)));
	gw_table_show(table, 2);
}

void fleet_text(const struct fleet_asked *a)
{
	const json_t *answer;
	size_t i;

	json_array_foreach(a->answers->answers, i, answer)
	{
		const struct fleet_step *q =
			fleet_question(json_string_value(json_object_get(answer, "name")));
		const json_t *rows = json_object_get(answer, "rows");

		/* Of all questions, one is for a picture. */
		if (!q || (json_array_size(a->answers->answers) > 1 && !strcmp(q->name, "ratios")))
			continue;
		printf("%s%s%s%s (%s)\n", i ? "\n" : "", gw_ink(stdout, GW_INK_BOLD), q->title,
		       gw_ink(stdout, GW_INK_OFF), q->name);
		if (json_array_size(rows))
			put_table(json_object_get(answer, "columns"), rows);
		else
			printf("  unknown: the store has nothing that answers it\n");
	}
}

/* ---- JSON and the page ---- */

static json_t *clean(const json_t *value)
{
	return json_is_string(value) ? gw_json_text(json_string_value(value))
				     : json_incref((json_t *)value);
}

static json_t *answer_json(const json_t *from)
{
	const struct fleet_step *q =
		fleet_question(json_string_value(json_object_get(from, "name")));
	json_t *rows = json_array();
	const json_t *row, *value;
	size_t i, k;

	json_array_foreach(json_object_get(from, "rows"), i, row)
	{
		json_t *to = json_array();

		json_array_foreach(row, k, value) json_array_append_new(to, clean(value));
		json_array_append_new(rows, to);
	}
	return json_pack("{s:s, s:s, s:s, s:O, s:o, s:O}", "name", q ? q->name : "", "title",
			 q ? q->title : "", "meaning", q ? q->meaning : "", "columns",
			 json_object_get(from, "columns"), "rows", rows, "seconds",
			 json_object_get(from, "seconds"));
}

json_t *fleet_json(const struct fleet_asked *a)
{
	json_t *files = json_object(), *refused = json_array(), *questions = json_array();
	const json_t *answer;
	size_t i;

	for (int t = 0; t < FLEET_TABLES; t++)
		json_object_set_new(files, fleet_table_names[t],
				    json_integer((json_int_t)a->store->used[t]));
	for (i = 0; i < a->store->files; i++)
		if (a->store->file[i].path && *a->store->file[i].why)
			json_array_append_new(refused,
					      json_pack("{s:o, s:o}", "file",
							gw_json_text(a->store->file[i].path), "why",
							gw_json_text(a->store->file[i].why)));
	json_array_foreach(a->answers->answers, i, answer)
		json_array_append_new(questions, answer_json(answer));
	return json_pack("{s:s, s:o, s:s, s:o, s:f, s:o, s:o, s:o}", "schema", "gpuwatch-fleet-1",
			 "store", gw_json_text(a->path), "engine",
			 fleet_engine_names[a->run->engine], "engine_version",
			 gw_json_text(a->answers->version), "seconds", a->answers->seconds, "files",
			 files, "refused", refused, "questions", questions);
}

bool fleet_html(const struct fleet_asked *a, const char *path)
{
	json_t *data = fleet_json(a);
	char *json;
	bool good;

	/* What the other pages have, which their common part looks at. */
	json_object_set_new(data, "columns", json_array());
	json = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	json_decref(data);
	good = json && html_write_data("fleet", json, path);
	free(json);
	return good;
}
