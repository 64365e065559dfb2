#include "cli/plot/axis.h"
#include "tests/test.h"

TEST(text_is_escaped)
{
	struct svg *s = svg_new(10, 10, "a < b & \"c\"", "x\x01y");
	const char *text;

	svg_text(s, 1, 1, 10, SVG_START, SVG_INK, false, 0, "<script>");
	text = svg_finish(s);
	assert_non_null(strstr(text, "<title>a &lt; b &amp; &quot;c&quot;</title>"));
	assert_non_null(strstr(text, "<desc>x y</desc>"));
	assert_non_null(strstr(text, ">&lt;script&gt;</text>"));
	assert_null(strstr(text, "<script>"));
	svg_free(s);
}

TEST(the_picture_stands_alone)
{
	struct svg *s = svg_new(320, 200, "t", "d");
	const char *text = svg_finish(s), *first = strstr(text, "http");

	assert_non_null(strstr(text, "viewBox=\"0 0 320 200\""));
	assert_non_null(strstr(text, "prefers-color-scheme:dark"));
	assert_memory_equal(first, "http://www.w3.org/2000/svg\"", 27); /* the name space only */
	assert_null(strstr(first + 1, "http"));
	assert_null(strstr(text, "href"));
	svg_free(s);
}

TEST(what_is_not_finite_stays_a_number)
{
	struct svg *s = svg_new(10, 10, "t", "d");

	svg_line(s, NAN, INFINITY, -INFINITY, 1e300, (struct svg_pen){SVG_INK, 1, false});
	assert_null(strstr(svg_finish(s), "nan"));
	assert_null(strstr(svg_finish(s), "inf"));
	svg_free(s);
}

TEST(a_log_axis_puts_decades_at_equal_steps)
{
	struct axis a = {.log = true, .low = 1, .high = 1000, .from = 0, .to = 300};

	assert_true(fabs(axis_at(&a, 10) - 100) < 1e-9);
	assert_true(fabs(axis_at(&a, 100) - 200) < 1e-9);
	assert_true(isnan(axis_at(&a, 0)) && isnan(axis_at(&a, -1)));
}

TEST(a_range_leaves_out_what_it_cannot_show)
{
	struct axis_range r = AXIS_EMPTY;

	axis_include(&r, NAN, true);
	axis_include(&r, 0, true);
	axis_include(&r, INFINITY, true);
	assert_true(isnan(r.low));
	axis_include(&r, 5, true);
	axis_include(&r, 2, true);
	assert_true(r.low == 2 && r.high == 5);
}

TEST(an_empty_range_still_makes_an_axis)
{
	struct axis a = axis_over(AXIS_EMPTY, true, 0, 100, "");
	struct axis b = axis_over((struct axis_range){3, 3}, false, 0, 100, "");

	assert_true(a.low > 0 && a.high > a.low);
	assert_true(b.high > b.low);
}

TEST(numbers_read_well)
{
	char out[48];

	assert_string_equal(axis_number(out, sizeof(out), 0), "0");
	assert_string_equal(axis_number(out, sizeof(out), 0.05), "0.05");
	assert_string_equal(axis_number(out, sizeof(out), 1200), "1,200");
	assert_string_equal(axis_number(out, sizeof(out), -20000), "−20,000");
	assert_string_equal(axis_number(out, sizeof(out), 1e7), "10⁷");
	assert_string_equal(axis_number(out, sizeof(out), 1e-12), "10⁻¹²");
}

/* Where the text element that holds @p text is drawn. */
static void place(const char *svg, const char *text, double *x, double *y)
{
	const char *at = strstr(svg, text);

	assert_non_null(at);
	while (strncmp(at, "<text", 5) != 0)
		at--;
	assert_int_equal(sscanf(strstr(at, " x="), " x=\"%lf\" y=\"%lf\"", x, y), 2);
}

TEST(labels_of_one_point_do_not_overlap)
{
	struct svg *s = svg_new(400, 300, "t", "d");
	struct labels *l = labels_new(0, 0, 400, 300);
	double x1, y1, x2, y2;

	labels_want(l, 200, 150, 10, SVG_INK, "first-label");
	labels_want(l, 200, 150, 10, SVG_INK, "other-label");
	labels_draw(l, s);
	labels_free(l);
	place(svg_finish(s), ">first-label<", &x1, &y1);
	place(svg_finish(s), ">other-label<", &x2, &y2);
	assert_true(fabs(y1 - y2) >= 10 || fabs(x1 - x2) >= svg_text_width("first-label", 10));
	svg_free(s);
}

TEST(a_file_that_cannot_be_written_is_named)
{
	struct svg *s = svg_new(10, 10, "t", "d");
	char error[256];

	assert_false(svg_save(s, "/nowhere/x.svg", error, sizeof(error)));
	assert_string_equal(error, "/nowhere/x.svg: cannot be written: No such file or directory");
	svg_free(s);
}

TESTS_MAIN()
