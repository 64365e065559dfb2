/* The tables of `gpuwatch inspect`. */
#include "cli/inspect/inspect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/eval.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/table.h"

static void cell_count(struct gw_table *table, uint32_t value)
{
	struct gw_text text;

	gw_table_cell(table, gw_thousands(&text, value == GW_CODE_UNKNOWN ? NAN : (double)value));
}

static void cell_bytes(struct gw_table *table, uint64_t value)
{
	struct gw_text text;

	gw_table_cell(table, gw_bytes(&text, value == GW_CODE_UNKNOWN ? NAN : (double)value));
}

/* Where in the file: the archive's member, the section, or neither. */
static void cell_place(struct gw_table *table, const struct gw_image *image)
{
	char text[320];

	if (image->member)
		snprintf(text, sizeof(text), "%s", image->member);
	else if (image->section)
		snprintf(text, sizeof(text), "%s", image->section);
	else
		snprintf(text, sizeof(text), "-");
	gw_table_cell(table, text);
}

static void image_row(struct gw_table *table, const struct gw_image *image, size_t number)
{
	char text[32];

	gw_table_cellf(table, "%zu", number);
	gw_table_cell(table, inspect_code(image, text));
	gw_table_cell(table, gw_compression_name(image->compression));
	cell_bytes(table, image->stored.size);
	cell_bytes(table, image->size);
	gw_table_cellf(table, "%" PRIu64, image->offset);
	gw_table_cellf(table, "%u", image->container + 1);
	cell_place(table, image);
	gw_table_cell(table, image->name ? image->name : "-");
}

void inspect_images_text(const struct inspect_job *job)
{
	static const struct gw_table_column columns[] = {
		{"IMAGE", true, false, 0},     {"CODE", false, false, 0},
		{"PACKED", false, false, 4},   {"STORED", true, false, 3},
		{"SIZE", true, false, 0},      {"AT BYTE", true, false, 5},
		{"CONTAINER", true, false, 2}, {"IN", false, true, 6},
		{"SOURCE", false, false, 7},
	};
	struct gw_table *table = gw_table_new(columns, 9);
	char path[512];
	struct gw_text text;
	size_t shown = 0;

	for (size_t i = 0; i < job->images.count; i++) {
		if (!inspect_wanted(job, i))
			continue;
		shown++;
		if (!job->kernel) /* a library's thousands would stand before the kernel's lines */
			image_row(table, &job->images.image[i], i + 1);
	}
	printf("%s%s%s: %s, %s", gw_ink(stdout, GW_INK_BOLD),
	       gw_printable(path, sizeof(path), job->path), gw_ink(stdout, GW_INK_OFF),
	       job->images.form, gw_counted(&text, (double)job->images.count, "image", NULL));
	if (shown != job->images.count)
		printf(", %zu for compute capability %u.%u", shown, job->arch / 10, job->arch % 10);
	printf("\n");
	if (shown && !job->kernel) {
		printf("\n");
		gw_table_print(table, stdout, gw_width(), 2);
	}
	gw_table_free(table);
}

/* "256" threads at most, "= 64 x 2 x 1" exactly. */
static void cell_block(struct gw_table *table, const struct gw_code_kernel *k)
{
	const uint32_t *r = k->required_threads, *m = k->max_threads;
	char text[64] = "-";

	if (r[0] != GW_CODE_UNKNOWN)
		snprintf(text, sizeof(text), "= %u x %u x %u", r[0], r[1], r[2]);
	else if (m[0] != GW_CODE_UNKNOWN)
		snprintf(text, sizeof(text), "%" PRIu64, (uint64_t)m[0] * m[1] * m[2]);
	gw_table_cell(table, text);
}

static void kernels_table(const struct inspect_view *view)
{
	static const struct gw_table_column columns[] = {
		{"KERNEL", false, true, 0},    {"REGISTERS", true, false, 0},
		{"SHARED", true, false, 1},    {"STACK", true, false, 2},
		{"CONSTANT", true, false, 5},  {"PARAMETERS", true, false, 3},
		{"MAX BLOCK", true, false, 4}, {"CODE", true, false, 1},
	};
	struct gw_table *table = gw_table_new(columns, 8);

	for (size_t i = 0; i < view->count; i++) {
		const struct gw_code_kernel *k = &view->kernel[i];

		gw_table_cell(table, view->plain[i]);
		cell_count(table, k->registers);
		cell_bytes(table, k->static_shared);
		cell_bytes(table, k->min_stack);
		cell_bytes(table, k->code.size ? k->bank[3].size : GW_CODE_UNKNOWN);
		cell_bytes(table, k->param_size);
		cell_block(table, k);
		cell_bytes(table, k->code.size ? k->code.size : GW_CODE_UNKNOWN);
	}
	gw_table_show(table, 2);
}

static void parameters_text(const struct gw_code_kernel *k)
{
	char text[1024];

	if (k->param_count == GW_CODE_UNKNOWN)
		printf("    the layout of its parameters is unknown\n");
	else
		for (uint32_t i = 0; i < k->param_count; i++)
			printf("    parameter %u: %u B at %s 0x%x\n", i, k->param[i].size,
			       k->param_base == GW_CODE_UNKNOWN ? "byte" : "constant",
			       (k->param_base == GW_CODE_UNKNOWN ? 0 : k->param_base) +
				       k->param[i].offset);
	for (uint32_t i = 0; i < k->function_count; i++)
		if (k->function[i].offset)
			printf("    calls %s, %" PRIu64 " B at 0x%" PRIx64 "\n",
			       gw_printable(text, sizeof(text), k->function[i].name),
			       k->function[i].size, k->function[i].offset);
}

static void heading(const struct inspect_view *view, const char *what)
{
	char code[24];

	printf("\n%s%s of image %zu (%s)%s\n", gw_ink(stdout, GW_INK_BOLD), what, view->number,
	       inspect_code(view->image, code), gw_ink(stdout, GW_INK_OFF));
}

/* Text from a file must not drive the terminal. */
static void ptx_text(struct gw_bytes text)
{
	for (size_t i = 0; i < text.size; i++) {
		int c = text.data[i];

		putchar((c >= ' ' && c <= '~') || c == '\n' || c == '\t' ? c : '?');
	}
	if (text.size && text.data[text.size - 1] != '\n')
		putchar('\n');
}

/* More of one kernel: the parts that are asked for, one below the other. */
static void kernel_text(const struct inspect_view *view, size_t index)
{
	const struct gw_code_kernel *k = &view->kernel[index];
	char name[1024];

	if (!view->job->kernel && !(view->job->sass && k->code.size))
		return;
	printf("\n  %s\n", gw_printable(name, sizeof(name), view->plain[index]));
	if (view->job->kernel)
		parameters_text(k);
	if (view->job->sass && k->code.size) {
		printf("\n");
		inspect_sass_text(k, view->job->device);
	}
}

void inspect_view_text(struct inspect_view *view)
{
	if (view->count) {
		heading(view, "Kernels");
		kernels_table(view);
		for (size_t i = 0; i < view->count; i++)
			kernel_text(view, i);
	}
	if (view->unread.what) {
		heading(view, "Kernels");
		printf("  not known: line %" PRIu32 ": %s\n", view->unread.line, view->unread.what);
	}
	if (view->job->ptx && view->image->kind == GW_IMAGE_PTX) {
		heading(view, "PTX");
		ptx_text(view->bytes);
	}
	if (view->job->launch)
		view->launched = inspect_eval_text(view);
}
