#include <expat.h>

#include "cli/plot/plots.h"
#include "tests/test.h"

static const struct plot_kernel kernels[] = {
	{"red & black", PLOT_FP64, 0.3, 0.12, 0.17, 0.71},
	{"<gemm>", PLOT_FP32, 24.8, 0.35, 0.49, 0.16},
};
static const struct plot_device devices[] = {
	{"GTX-660", 117.56e9, {1940.8e9, 89.7e9, 359e9}, 144e9, 1983e9},
	{"Unknown sheet", 163e9, {1462e9, 184e9, 742e9}, NAN, NAN},
};
static const struct plot_cell cells[] = {
	{89.7e9, 51.7e9, 28.9e9, 28.9e9, 28.88e9},
	{184e9, 106e9, 51e9, 49.3e9, NAN},
	{1940e9, 1940e9, 202e9, 202e9, 169e9},
	{1462e9, 1462e9, 351e9, 351e9, NAN},
};
static const struct plot_data data = {2, 2, kernels, devices, cells};

/* A kernel of which nothing but its name is known, on a device of the same kind. */
static const struct plot_kernel blank_kernel = {"blank", PLOT_INT, NAN, NAN, NAN, NAN};
static const struct plot_device blank_device = {"void", NAN, {NAN, NAN, NAN}, NAN, NAN};
static const struct plot_cell blank_cell = {NAN, NAN, NAN, NAN, NAN};
static const struct plot_data blank = {1, 1, &blank_kernel, &blank_device, &blank_cell};

static void well_formed(struct svg *s)
{
	XML_Parser parser = XML_ParserCreate("UTF-8");
	const char *text = svg_finish(s);

	if (XML_Parse(parser, text, (int)strlen(text), 1) != XML_STATUS_OK)
		fail_msg("line %lu: %s", XML_GetCurrentLineNumber(parser),
			 XML_ErrorString(XML_GetErrorCode(parser)));
	assert_null(strstr(text, "=\"nan"));
	XML_ParserFree(parser);
}

static void holds(struct svg *s, const char *text)
{
	if (!strstr(svg_finish(s), text))
		fail_msg("the picture lacks %s", text);
}

TEST(a_roofline_shows_its_device_and_every_kernel)
{
	struct svg *s = plot_roofline(&data, 0);

	well_formed(s);
	holds(s, "Roofline of GTX-660");
	holds(s, ">red &amp; black<");
	holds(s, ">&lt;gemm&gt;<");
	holds(s, "device memory: 117.6 GB/s");
	svg_free(s);
}

TEST(a_quadrant_shows_every_device_and_kernel)
{
	struct svg *s = plot_quadrant(&data);

	well_formed(s);
	holds(s, ">GTX-660<");
	holds(s, ">Unknown sheet<");
	holds(s, ">red &amp; black (0.3)<");
	holds(s, ">&lt;gemm&gt; (24.8)<");
	holds(s, "GTX-660 by its data sheet: ");
	/* Linear axes from the origin. */
	holds(s, ">0<");
	svg_free(s);
}

TEST(a_degradation_shows_both_steps_and_what_was_measured)
{
	struct svg *s = plot_degradation(&data, 0);

	well_formed(s);
	holds(s, "Quadrant-split of red &amp; black");
	holds(s, "GTX-660: peak 89.7, with E_mix 51.7, with E_instr 28.9 Gop/s");
	holds(s, "GTX-660: predicted 28.9 Gop/s");
	holds(s, "GTX-660: measured 28.88 Gop/s");
	holds(s, ">Unknown sheet<");
	assert_null(strstr(svg_finish(s), "Unknown sheet: measured"));
	svg_free(s);
}

TEST(the_data_sheet_is_shown_for_fp32_only)
{
	struct svg *fp64 = plot_degradation(&data, 0), *fp32 = plot_degradation(&data, 1);

	assert_null(strstr(svg_finish(fp64), "by the data sheet"));
	holds(fp32, "by the data sheet");
	svg_free(fp64);
	svg_free(fp32);
}

TEST(the_legend_names_only_what_is_drawn)
{
	static const struct plot_cell unmeasured = {89.7e9, 51.7e9, 28.9e9, 28.9e9, NAN};
	struct plot_data d = {1, 1, kernels, devices, &unmeasured};
	struct svg *s = plot_degradation(&d, 0);

	assert_null(strstr(svg_finish(s), ">measured<"));
	holds(s, ">predicted<");
	svg_free(s);
}

TEST(densities_show_their_shares)
{
	struct svg *s = plot_densities(&data);

	well_formed(s);
	holds(s, ">12.0%<");
	holds(s, ">49.0%<");
	holds(s, "<text class=\"f4\" x="); /* as the background, without its halo */
	holds(s, ">red &amp; black<");
	svg_free(s);
}

TEST(errors_show_signs_and_cut_long_bars)
{
	static const char *const groups[] = {"a", "b"}, *const series[] = {"X", "Y"};
	static const struct plot_bar bars[] = {{0, 0, -0.05}, {0, 1, 0.25}, {1, 0, 7}, {1, 1, NAN}};
	struct svg *s = plot_errors(&(struct plot_bars){"t", "d", 2, 2, 4, groups, series, bars});

	well_formed(s);
	holds(s, ">−5.0%<");
	holds(s, ">+25.0%<");
	holds(s, ">+700.0% (cut)<");
	svg_free(s);
}

TEST(unknown_values_leave_no_trace)
{
	struct svg *pictures[] = {plot_roofline(&blank, 0), plot_quadrant(&blank),
				  plot_degradation(&blank, 0), plot_densities(&blank)};

	for (size_t i = 0; i < 4; i++) {
		well_formed(pictures[i]);
		svg_free(pictures[i]);
	}
}

TEST(many_names_keep_apart)
{
	enum { MANY = 28 };
	struct plot_kernel many[MANY];
	struct plot_cell on[MANY];
	char names[MANY][16];
	struct plot_data d = {MANY, 1, many, devices, on};
	double last = -1;
	struct svg *s;

	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "kernel-%zu", i);
		many[i] = (struct plot_kernel){names[i], PLOT_FP32, 1 - 0.001 * (double)i,
					       0.5,      0.2,       0.3};
		on[i] = cells[2];
	}
	s = plot_quadrant(&d);
	for (size_t i = 0; i < MANY; i++) {
		char want[32];
		const char *at;
		double y;

		snprintf(want, sizeof(want), ">kernel-%zu (", i);
		at = strstr(svg_finish(s), want);
		assert_non_null(at);
		while (strncmp(at, " y=\"", 4) != 0)
			at--;
		y = strtod(at + 4, NULL);
		assert_true(last < 0 || y - last >= 11); /* the size of the text */
		last = y;
	}
	svg_free(s);
}

TEST(a_coalescing_graph_says_003_s_measures)
{
	struct plot_coalescing graph = {.kernel = "stencil<2>",
					.bytes = 4,
					.outside = 16,
					.degree = 0.5,
					.expectation = 8,
					.sectors = 7.5};
	struct svg *s;

	for (unsigned i = 0; i < 16; i++)
		graph.lanes[i] = 1;
	s = plot_coalescing(&graph);
	well_formed(s);
	holds(s, "Coalescing graph of stencil&lt;2&gt;");
	holds(s, "Degree of coalescing 50%, sector expectation 8, sectors per request 7.5");
	svg_free(s);
}

TEST(a_locality_graph_shows_every_block_and_what_is_shared)
{
	static const double shared[] = {40, 8, 0, 8, 40, 10, 0, 10, 40};
	static const char *const names[] = {"(0, 0, 0)", "(1, 0, 0)", "(2, 0, 0)"};
	struct plot_sharing matrix = {"gemm", 3, shared, names, 1.0 / 3, 1};
	struct svg *s = plot_sharing(&matrix);

	well_formed(s);
	holds(s, "(2, 0, 0)");
	holds(s, "(1, 0, 0) and (2, 0, 0): 10 of 40 sectors");
	holds(s, "SpScore 0.3333, degree of sharing 100%");
	svg_free(s);
}

TESTS_MAIN()
