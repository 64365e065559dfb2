#include "cli/html/page.h"

#include "cli/export/export.h"

#include <stdlib.h>
#include <string.h>

#define PART(name, file) \
	__asm__(".pushsection .rodata\n" \
		".hidden html_part_" #name "\n" \
		".globl html_part_" #name "\n" \
		"html_part_" #name ":\n" \
		".incbin \"" GW_HTML "/" file "\"\n" \
		".hidden html_part_end_" #name "\n" \
		".globl html_part_end_" #name "\n" \
		"html_part_end_" #name ":\n" \
		".popsection\n"); \
	extern const char html_part_##name[], html_part_end_##name[];
#include "cli/html/parts.def"
#undef PART

static const struct {
	const char *name, *text, *end;
} parts[] = {
#define PART(name, file) {#name, html_part_##name, html_part_end_##name},
#include "cli/html/parts.def"
#undef PART
};

/* What a page has of its own: main, the part that is its sections; skip, the section to go to at
 * once; scripts, parts. */
static const struct page {
	const char *name, *title, *skip, *main, *scripts[3];
} pages[] = {
	{"report", "gpuwatch report", "kernels", "report_main", {"kernels", "sections"}},
	{"profile", "gpuwatch device profile", "values", "profile_main", {"profile"}},
	{"fleet", "gpuwatch fleet", "answers", "fleet_main", {"fleet"}},
};

enum { PARTS = sizeof(parts) / sizeof(*parts), CHARACTER = 6 /* the longest of an escape */ };

/*
 * JSON within a script element. As it is in ASCII, only what could end the element or begin a
 * comment is left; all of it stands within strings, where \u is another way to write it.
 */
static void write_data(struct export_out *out, const char *json)
{
	for (const char *from = json; *from;) {
		size_t plain = strcspn(from, "<>&");

		export_write(out, from, plain);
		from += plain;
		if (*from)
			export_print(out, "\\u%04x", (unsigned)*from++);
	}
}

static size_t written(const char *json)
{
	size_t size = strlen(json);

	for (const char *at = json; (at = strpbrk(at, "<>&")); at++)
		size += CHARACTER - 1;
	return size;
}

/* The document as text; free() it. Limits are halved until it leaves room for the page. */
static char *document(struct gw_report *report, struct html_series *series)
{
	struct html_limits limits = {.rows = 1000,
				     .series = 200,
				     .fine = 50,
				     .bins = (size_t)4 * HTML_BINS,
				     .items = 256,
				     .text = 160};
	size_t rest = HTML_MOST;

	for (unsigned i = 0; i < PARTS; i++)
		rest -= (size_t)(parts[i].end - parts[i].text);
	for (;;) {
		json_t *data = html_data(report, series, &limits);
		char *json = json_dumps(data,
					JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));

		json_decref(data);
		if (!json || written(json) <= rest || !limits.items)
			return json;
		free(json);
		limits = (struct html_limits){.rows = limits.rows / 2,
					      .series = limits.series / 2,
					      .fine = limits.fine / 2,
					      .bins = limits.bins / 2,
					      .items = limits.items / 2,
					      .text = limits.text > 80 ? limits.text - 20 : 80};
	}
}

static bool is_named(const char *at, size_t length, const char *name)
{
	return strlen(name) == length && !memcmp(at, name, length);
}

static void write_part(struct export_out *out, const char *at, size_t length)
{
	for (unsigned i = 0; i < PARTS; i++)
		if (is_named(at, length, parts[i].name))
			export_write(out, parts[i].text, (size_t)(parts[i].end - parts[i].text));
}

/* What stands between two @ in page.html. */
static void write_place(struct export_out *out, const char *at, size_t length,
			const struct page *page, const char *json)
{
	if (is_named(at, length, "data"))
		write_data(out, json);
	else if (is_named(at, length, "title"))
		export_print(out, "%s", page->title);
	else if (is_named(at, length, "skip"))
		export_print(out, "%s", page->skip);
	else if (is_named(at, length, "main"))
		write_part(out, page->main, strlen(page->main));
	else if (is_named(at, length, "scripts"))
		for (unsigned i = 0; page->scripts[i]; i++)
			write_part(out, page->scripts[i], strlen(page->scripts[i]));
	else
		write_part(out, at, length);
}

bool html_write_data(const char *name, const char *json, const char *path)
{
	const char *at = parts[0].text, *end = parts[0].end, *mark, *close;
	const struct page *page = pages;
	struct export_out out;

	while (strcmp(page->name, name) != 0)
		page++;
	if (!export_open(&out, path))
		return false;
	while ((mark = memchr(at, '@', (size_t)(end - at))) &&
	       (close = memchr(mark + 1, '@', (size_t)(end - mark - 1)))) {
		export_write(&out, at, (size_t)(mark - at));
		write_place(&out, mark + 1, (size_t)(close - mark - 1), page, json);
		at = close + 1;
	}
	export_write(&out, at, (size_t)(end - at));
	return export_close(&out, true);
}

bool html_write(struct gw_report *report, struct html_series *series, const char *path)
{
	char *json = document(report, series);
	bool good = json && html_write_data("report", json, path);

	free(json);
	return good;
}
