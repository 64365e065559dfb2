/* gpuwatch report --html: the file, without a browser (html_browser.py has one). */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <jansson.h>

#define REPORT "$PREFIX/bin/gpuwatch report "

static char page[4 << 20];

static int make_samples(void **state)
{
	return shell_setup(state) || shell("for s in plain clocked hostile markup worked crowd; do "
					   "$TOOLS/make_sample $s $s.gwl || exit 1; done");
}

/* The page of a sample into `page`. */
static void make_page(const char *sample, const char *options)
{
	FILE *file;

	shell_gives("", REPORT "--html=page.html %s %s.gwl", options, sample);
	file = fopen("page.html", "rb");
	assert_non_null(file);
	page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
	fclose(file);
}

/* The page's document; its end is that of the element. */
static json_t *document(void)
{
	static const char mark[] = "<script type=\"application/json\" id=\"data\">";
	char *from = strstr(page, mark), *end;
	json_error_t error;
	json_t *o;

	assert_non_null(from);
	from += sizeof(mark) - 1;
	end = strchr(from, '<');
	assert_non_null(end);
	assert_int_equal(strncmp(end, "</script>", 9), 0);
	for (char *at = from; at < end; at++)
		assert_true(*at >= ' ' && *at < 0x7f && *at != '>' && *at != '&');
	o = json_loadb(from, (size_t)(end - from), 0, &error);
	assert_non_null(o);
	return o;
}

static json_t *report_of(const char *sample, const char *options)
{
	json_t *o;

	shell_runs(REPORT "--json %s %s.gwl", options, sample);
	o = json_loads(shell_output, 0, NULL);
	assert_non_null(o);
	return o;
}

static void check_values(const json_t *o, const json_t *columns, const json_t *row)
{
	static const struct {
		const char *id, *key;
		double scale;
	} same[] = {{"total", "Total Time (ns)", 1},
		    {"instances", "Instances", 1},
		    {"med", "Med (ns)", 1},
		    {"share", "Time (%)", 100},
		    {"predicted", "Predicted (ns)", 1},
		    {"error", "Error (%)", 100}};
	const json_t *values = json_object_get(o, "values");

	for (size_t i = 0; i < COUNT(same); i++)
		for (size_t c = 0; c < json_array_size(columns); c++) {
			const char *id = json_string_value(
				json_object_get(json_array_get(columns, c), "id"));
			double a = json_number_value(json_array_get(values, c)) * same[i].scale;
			double b = json_number_value(json_object_get(row, same[i].key));

			if (!strcmp(id, same[i].id))
				assert_true(a - b <= 1e-9 * b && b - a <= 1e-9 * b);
		}
}

TEST(figures_are_those_of_json)
{
	static const char *const samples[] = {"plain", "clocked", "worked", "markup"};

	for (size_t s = 0; s < COUNT(samples); s++) {
		json_t *o, *all, *rows, *kernels, *columns;

		make_page(samples[s], "--by=config");
		o = document();
		all = report_of(samples[s], "--by=config");
		rows = json_incref(json_object_get(all, "kernels"));
		kernels = json_object_get(o, "kernels");
		columns = json_object_get(o, "columns");
		json_object_set_new(all, "kernels", json_array());
		assert_true(json_equal(all, json_object_get(o, "report")));
		assert_int_equal(json_array_size(kernels), json_array_size(rows));
		for (size_t i = 0; i < json_array_size(rows); i++)
			check_values(json_array_get(kernels, i), columns, json_array_get(rows, i));
		json_decref(rows);
		json_decref(all);
		json_decref(o);
	}
}

/* Shares of bins times their width are the times of the report. */
TEST(timeline_adds_up_to_the_idle_times)
{
	static const char *const idle[] = {"starved", "starved_graphs", "back_to_back", "paused"};
	json_t *o, *axis, *gpu, *times;
	double width;

	make_page("worked", "");
	o = document();
	axis = json_object_get(o, "axis");
	width = json_number_value(json_object_get(axis, "bin_ns"));
	gpu = json_array_get(json_object_get(axis, "gpus"), 0);
	times = json_object_get(
		json_array_get(json_object_get(json_object_get(o, "report"), "devices"), 0),
		"idle");
	for (size_t i = 0; i < 4; i++) {
		json_t *bins = json_object_get(gpu, idle[i]);
		double sum = 0, ns = json_number_value(
					json_object_get(json_object_get(times, idle[i]), "ns"));

		for (size_t k = 0; k < json_array_size(bins); k++)
			sum += json_number_value(json_array_get(bins, k)) * width / 1000;
		/* Each bin is rounded to a thousandth of its width. */
		assert_true(sum - ns <= 0.01 * ns + width && ns - sum <= 0.01 * ns + width);
	}
	json_decref(o);
}

TEST(page_asks_for_nothing)
{
	static const char *const fetches[] = {"src=",        "@import",    "url(",
					      "fetch(",      "XMLHttp",    "WebSocket",
					      "EventSource", "sendBeacon", "import("};
	size_t links = 0;

	make_page("plain", "");
	assert_non_null(strstr(page, "default-src 'none'"));
	for (size_t i = 0; i < COUNT(fetches); i++)
		assert_null(strstr(page, fetches[i]));
	for (const char *at = page; (at = strstr(at, "http")); at++)
		links += !strncmp(at, "http://", 7) || !strncmp(at, "https://", 8);
	/* The comment in which uPlot names its home. */
	assert_int_equal(links, 1);
	assert_non_null(strstr(page, "/*! https://github.com/leeoniya/uPlot"));
	assert_non_null(strstr(page, "The MIT License"));
}

TEST(names_stay_within_their_strings)
{
	json_t *o, *kernels;
	bool found = false;

	make_page("hostile", "");
	json_decref(document());
	make_page("markup", "--full-names");
	o = document();
	kernels = json_object_get(o, "kernels");
	for (size_t i = 0; i < json_array_size(kernels); i++)
		found |= !strcmp(
			json_string_value(json_object_get(json_array_get(kernels, i), "name")),
			"</script><script>window.harmed = 1</script>");
	assert_true(found);
	assert_null(strstr(page, "window.harmed = 1</script>"));
	json_decref(o);
}

TEST(page_is_small_whatever_the_names)
{
	json_t *o, *report;
	double total = 0;

	make_page("crowd", "");
	assert_true(strlen(page) <= 2000000);
	o = document();
	report = json_object_get(o, "report");
	for (size_t i = 0; i < json_array_size(json_object_get(o, "kernels")); i++)
		total += json_number_value(json_array_get(
			json_object_get(json_array_get(json_object_get(o, "kernels"), i), "values"),
			1));
	total += json_number_value(json_object_get(json_object_get(o, "others"), "total_ns"));
	assert_true(total == json_number_value(json_object_get(report, "total_ns")));
	json_decref(o);
}

TEST(file_is_whole_or_stays)
{
	shell_ends(2, REPORT "--html=nowhere/page.html plain.gwl");
	shell_says("gpuwatch: nowhere/page.html: can't be written: No such file or directory");
	assert_ptr_equal(strchr(shell_output, '\n'), shell_output + strlen(shell_output) - 1);
	shell_ends(2, REPORT "--html=/dev/full plain.gwl");
	shell_says("/dev/full: can't be written: No space left on device");
	shell_ends(2, "mkdir kept && echo old > kept/page.html && "
		      "(ulimit -f 8; trap '' XFSZ; " REPORT "--html=kept/page.html plain.gwl)");
	shell_gives("page.html\nold\n", "ls kept; cat kept/page.html");
	shell_gives("<!doctype html>", REPORT "--html=- plain.gwl | head -c 15");
}

TEST(other_forms_exclude_it)
{
	shell_ends(2, REPORT "--html=page.html --json plain.gwl");
	shell_says("--json, --csv and --html exclude each other; give one of them");
}

/* ---- graphs that are timed whole, in text and JSON */

TEST(whole_graphs_have_a_table)
{
	shell_runs("$TOOLS/make_sample whole_graphs whole_graphs.gwl");
	shell_runs("COLUMNS=140 " REPORT "whole_graphs.gwl");
	shell_says("by the timed ones 80.0 ms",
		   "graph 1       40     1,000    100   80.0 ms  80.0 µs  0%     "
		   "100 µs       0.80           100%  memory",
		   "In graphs  85.0 ms by the timed ones · memory 92.2% · "
		   "without a verdict 7.8%");
}

TEST(verbose_has_windows_and_slow_episodes_of_graphs)
{
	shell_runs("$TOOLS/make_sample whole_graphs whole_graphs.gwl");
	shell_runs("COLUMNS=140 " REPORT "--verbose whole_graphs.gwl");
	shell_says("20 slow launches in 1 episode",
		   "Windows    20 · each charged 5.00 ms · "
		   "GPUWATCH_BUDGET sets that share · 3 late: a capture "
		   "or unfinished kernels",
		   "graph 1 · 20 launches 1.04 times as long · cause "
		   "other processes");
	shell_runs(REPORT "--json whole_graphs.gwl");
	shell_says("\"graph\": 1,\n        \"cause\": "
		   "\"other processes\"");
}

TESTS_MAIN(make_samples, shell_teardown)
