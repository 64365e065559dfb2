#include "cli/doctor/doctor.h"

#include "cli/command.h"
#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	char *name, *found, *remedy; /* remedy NULL: nothing to fix */
	enum gw_health health;
};

struct gw_doctor {
	struct finding *findings;
	size_t count, room;
};

struct options {
	bool json;
};

static const struct gw_option options[] = {
	GW_OPT_FLAG(json, "JSON: {\"works\": bool, \"checks\": [{name, health, found, remedy}]}"),
	{0},
};

static const char *const health_names[] = {"ok", "degraded", "missing"};

void gw_doctor_say(struct gw_doctor *doctor, const char *name, enum gw_health health,
		   const char *remedy, const char *found, ...)
{
	char raw[5000], text[5000];
	struct finding *f;
	va_list args;

	va_start(args, found);
	vsnprintf(raw, sizeof(raw), found, args);
	va_end(args);
	doctor->findings = gw_grow(doctor->findings, &doctor->room, ++doctor->count, sizeof(*f));
	f = &doctor->findings[doctor->count - 1];
	*f = (struct finding){gw_copy(name), gw_copy(gw_printable(text, sizeof(text), raw)),
			      remedy ? gw_copy(remedy) : NULL, health};
}

static bool works(const struct gw_doctor *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->findings[i].health == GW_HEALTH_MISSING)
			return false;
	return true;
}

static void print_json(const struct gw_doctor *d)
{
	json_t *root = json_object(), *list = json_array();

	for (size_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->findings[i];
		json_t *o = json_object();

		gw_set_text(o, "name", f->name);
		gw_set_text(o, "health", health_names[f->health]);
		gw_set_text(o, "found", f->found);
		gw_set_text(o, "remedy", f->remedy);
		json_array_append_new(list, o);
	}
	gw_set_text(root, "schema", "gpuwatch-doctor-1");
	gw_set_bool(root, "works", works(d));
	json_object_set_new(root, "checks", list);
	gw_json_print(root);
}

/* Words of @p text wrapped to the terminal, each line after @p indent columns. */
static void wrap(const char *text, unsigned indent)
{
	size_t width = gw_width() - indent, column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column && column + 1 + length > width) {
			printf("\n%*s", (int)indent, "");
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

static void print_text(const struct gw_doctor *d)
{
	static const enum gw_ink inks[] = {GW_INK_GOOD, GW_INK_WARN, GW_INK_BAD};

	for (size_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->findings[i];

		printf("  %s%-8s%s  %-12s  ", gw_ink(stdout, inks[f->health]),
		       health_names[f->health], gw_ink(stdout, GW_INK_OFF), f->name);
		wrap(f->found, 26);
		if (f->remedy) {
			printf("%*s%s", 26, "", gw_ink(stdout, GW_INK_DIM));
			wrap(f->remedy, 26);
			fputs(gw_ink(stdout, GW_INK_OFF), stdout);
		}
	}
	puts(works(d) ? "\n  gpuwatch works here: gpuwatch run -- ./app"
		      : "\n  gpuwatch does not work here yet: fix the items marked missing.");
}

static int doctor_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	struct gw_doctor d = {0};
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc)
		return gw_error("doctor: unexpected argument \"%s\"", argv[0]);
	gw_doctor_system(&d);
	gw_doctor_cuda(&d);
	gw_doctor_segments(&d);
	if (o.json)
		print_json(&d);
	else
		print_text(&d);
	status = works(&d) ? GW_EXIT_OK : GW_EXIT_FINDINGS;
	for (size_t i = 0; i < d.count; i++) {
		free(d.findings[i].name);
		free(d.findings[i].found);
		free(d.findings[i].remedy);
	}
	free(d.findings);
	return status;
}

const struct gw_command_body gw_doctor_command = {
	.run = doctor_main,
	.options = options,
	.description = "Checks everything gpuwatch needs. Each item is ok, degraded (kernels are "
		       "timed, but\n"
		       "something else is missing) or missing (gpuwatch does not work), with its "
		       "remedy. The\n"
		       "driver and CUPTI are opened in child processes; nothing is changed.",
	.examples = "gpuwatch doctor\n"
		    "Before the first run on a machine.\n",
	.exit_status =
		"0 gpuwatch works here; 1 something is missing that the main job needs; 2 bad "
		"options.",
};
