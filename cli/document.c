#include "cli/manual.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A paragraph right after a heading takes no macro of its own. */
static bool headed;

static void roff_paragraph(void)
{
	if (!headed)
		printf(".PP\n");
	headed = false;
}

/* Text of @p length bytes with roff's own characters made plain; `x` becomes bold. */
static void roff(const char *text, size_t length)
{
	bool start = true, bold = false;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (start && (c == '.' || c == '\''))
			fputs("\\&", stdout);
		start = false;
		if (c == '\\')
			fputs("\\e", stdout);
		else if (c == '-')
			fputs("\\-", stdout);
		else if (c == '`')
			fputs((bold = !bold) ? "\\fB" : "\\fR", stdout);
		else
			putchar(c);
		start = c == '\n';
	}
}

static void roff_line(const char *text)
{
	roff(text, strlen(text));
	putchar('\n');
}

/* A cell of a Markdown table: the bar would end it. */
static void cell(const char *text)
{
	for (; *text; text++)
		printf(*text == '|' ? "\\|" : "%c", *text);
}

void gw_document_title(enum gw_document kind, const char *name, int section, const char *summary)
{
	if (kind == GW_DOCUMENT_MARKDOWN) {
		printf("# %s\n\n%s.\n", name, summary);
		return;
	}
	fputs(".TH ", stdout);
	for (const char *p = name; *p; p++)
		putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
	/* No date: the same sources give the same page. */
	printf(" %d \"\" \"gpuwatch %s\" \"gpuwatch manual\"\n.SH NAME\n", section, GW_VERSION);
	printf("%s \\- ", name);
	roff_line(summary);
}

void gw_document_heading(enum gw_document kind, const char *text)
{
	if (kind == GW_DOCUMENT_MARKDOWN)
		printf("\n## %s\n", text);
	else
		printf(".SH \"%s\"\n", text);
	headed = true;
}

void gw_document_text(enum gw_document kind, const char *text)
{
	if (kind == GW_DOCUMENT_MARKDOWN) {
		printf("\n%s\n", text);
		return;
	}
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);

		roff_paragraph();
		roff(text, length);
		putchar('\n');
		text += length + (end ? 2 : 0);
	}
}

void gw_document_verbatim(enum gw_document kind, const char *text)
{
	if (kind == GW_DOCUMENT_MARKDOWN) {
		printf("\n    %s\n", text);
		return;
	}
	roff_paragraph();
	printf(".nf\n");
	roff_line(text);
	printf(".fi\n");
}

void gw_document_item(enum gw_document kind, const char *term, const char *text)
{
	if (kind == GW_DOCUMENT_MARKDOWN) {
		printf("- `%s`: %s\n", term, text);
		return;
	}
	headed = false;
	printf(".TP\n\\fB");
	roff(term, strlen(term));
	printf("\\fR\n");
	roff_line(text);
}

void gw_document_fields(enum gw_document kind)
{
	if (kind == GW_DOCUMENT_MARKDOWN)
		printf("\n| field | type | unit | meaning |\n|---|---|---|---|\n");
}

void gw_document_field(enum gw_document kind, const char *name, const char *type, const char *unit,
		       const char *meaning)
{
	if (kind == GW_DOCUMENT_MARKDOWN) {
		printf("| %s | %s | %s | ", name, type, unit);
		cell(meaning);
		printf(" |\n");
		return;
	}
	headed = false;
	printf(".TP\n\\fB%s\\fR (%s%s", name, type, *unit ? ", " : "");
	roff(unit, strlen(unit));
	printf(")\n");
	roff_line(meaning);
}
