/* Device profiles: writing loses nothing. */

#include <dirent.h>
#include <locale.h>

#include "predictor/profile/profile.h"
#include "predictor/profile/json.h"
#include "tests/test.h"

static struct gw_profile profile, other;
static struct gw_profile_error error;

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void assert_same_groups(const struct gw_profile *a, const struct gw_profile *b)
{
	assert_int_equal(a->group_count, b->group_count);
	for (unsigned i = 0; i < a->group_count; i++) {
		const struct gw_group_run *x = &a->groups[i], *y = &b->groups[i];

		assert_string_equal(x->name, y->name);
		assert_string_equal(x->date, y->date);
		assert_string_equal(x->driver, y->driver);
		assert_string_equal(x->throttle, y->throttle);
		assert_true(same_number(x->sm_clock, y->sm_clock) &&
			    same_number(x->sm_clock_low, y->sm_clock_low) &&
			    same_number(x->temperature, y->temperature) &&
			    same_number(x->power, y->power) && same_number(x->seconds, y->seconds));
	}
	assert_memory_equal(a->group, b->group, sizeof(a->group));
	assert_memory_equal(a->curve_group, b->curve_group, sizeof(a->curve_group));
}

static void assert_same_curve(const struct gw_curve *x, const struct gw_curve *y)
{
	assert_true(x->count == y->count && x->method == y->method);
	for (uint32_t k = 0; k < x->count; k++)
		assert_true(x->x[k] == y->x[k] && x->y[k] == y->y[k] &&
			    same_number(x->spread[k], y->spread[k]));
	assert_true(same_number(x->fit.slope, y->fit.slope) &&
		    same_number(x->fit.intercept, y->fit.intercept) &&
		    same_number(x->fit.r2, y->fit.r2) && same_number(x->fit.low, y->fit.low) &&
		    same_number(x->fit.high, y->fit.high));
}

static void assert_same_device(const struct gw_profile *a, const struct gw_profile *b)
{
	assert_string_equal(a->device.name, b->device.name);
	assert_int_equal(a->alias_count, b->alias_count);
	assert_memory_equal(a->aliases, b->aliases, sizeof(a->aliases));
	assert_memory_equal(&a->provenance, &b->provenance, sizeof(a->provenance));
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		const struct gw_profile_value *x = &a->device.param[i], *y = &b->device.param[i];

		assert_true(same_number(x->value, y->value) && same_number(x->spread, y->spread));
		assert_true(x->samples == y->samples && x->method == y->method);
		assert_string_equal(a->source[i], b->source[i]);
		assert_string_equal(a->how[i], b->how[i]);
	}
	for (unsigned i = 0; i < GW_CURVES; i++) {
		assert_same_curve(&a->device.curve[i], &b->device.curve[i]);
		assert_string_equal(a->curve_source[i], b->curve_source[i]);
		assert_string_equal(a->curve_how[i], b->curve_how[i]);
	}
	assert_same_groups(a, b);
}

static void write_and_read_back(const struct gw_profile *in, struct gw_profile *out)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	assert_int_equal(gw_profile_write(in, f), 0);
	fclose(f);
	if (gw_profile_parse(text, length, "written", out, &error))
		fail_msg("%s", error.text);
	free(text);
}

/* A profile that uses everything: awkward numbers, quotes, accents, full curves. */
static void fill(struct gw_profile *p)
{
	gw_profile_clear(p, "Quote \" backslash \\ accent \xc3\xa9");
	snprintf(p->aliases[p->alias_count++], sizeof(*p->aliases), "alias/1");
	snprintf(p->provenance.note, sizeof(p->provenance.note), "a \"note\"");
	gw_profile_group(p, "first \"group\"");
	p->groups[gw_profile_group(p, "second") - 1].power = 100.0 / 3;
	snprintf(p->groups[1].throttle, sizeof(p->groups[1].throttle), "none");
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		double low, high;

		gw_unit_scale(gw_param_info(i).unit, gw_param_info(i).unit, &low, &high);
		p->device.param[i] =
			(struct gw_profile_value){.value = low + (high - low) / (3.0 + i),
						  .spread = i % 3 ? NAN : 1.0 / (i + 3.0),
						  .samples = i,
						  .method = GW_METHOD_MEASURED};
		snprintf(p->source[i], sizeof(p->source[i]), "source %u", i);
		snprintf(p->how[i], sizeof(p->how[i]), "how %u", i);
		p->group[i] = (uint8_t)(i % 3);
	}
	p->device.param[1] =
		(struct gw_profile_value){.value = NAN, .spread = NAN}; /* unknown, and why */
	p->source[1][0] = '\0';
	for (unsigned i = 0; i < GW_CURVES; i++) {
		p->device.curve[i].count = GW_CURVE_POINTS;
		p->device.curve[i].method = GW_METHOD_PAPER;
		if (i % 2)
			p->device.curve[i].fit =
				(struct gw_fit){-1e-3 / (i + 1), -0.1, 1 / 3.0, 1, 7};
		p->curve_group[i] = (uint8_t)(i % 3);
		snprintf(p->curve_how[i], sizeof(p->curve_how[i]), "how of curve %u", i);
		snprintf(p->curve_source[i], sizeof(p->curve_source[i]), "curve %u", i);
		for (unsigned k = 0; k < GW_CURVE_POINTS; k++) {
			p->device.curve[i].x[k] = 1 + (k + 0.1) / 3;
			p->device.curve[i].spread[k] = k % 2 ? NAN : 0.1 / (k + 3);
			p->device.curve[i].y[k] = 1 + (k ^ 5) / 700.0;
			if (strchr(gw_curve_info(i).unit, 's') == gw_curve_info(i).unit)
				p->device.curve[i].y[k] = (k ^ 5) / 700.0;
		}
	}
}

TEST(what_is_written_reads_back_to_the_same_bits)
{
	fill(&profile);
	write_and_read_back(&profile, &other);
	assert_same_device(&profile, &other);
}

TEST(numbers_are_written_alike_in_every_locale)
{
	static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", NULL};
	unsigned i = 0;

	while (commas[i] && !setlocale(LC_NUMERIC, commas[i]))
		i++;
	if (!commas[i])
		skip(); /* no locale with a decimal comma is installed */
	fill(&profile);
	write_and_read_back(&profile, &other);
	setlocale(LC_NUMERIC, "C");
	assert_same_device(&profile, &other);
}

/* No number without its document or, where a calibration wrote it, how it was got. */
static bool has_origin(const struct gw_profile *p, unsigned i)
{
	return p->device.param[i].method == GW_METHOD_NONE || *p->source[i] ||
	       (*p->how[i] && p->group[i]);
}

TEST(every_shipped_profile_reads_and_survives_writing)
{
	DIR *folder = opendir(GW_PROFILES);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char path[4096];

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", GW_PROFILES, entry->d_name);
		if (gw_profile_read(path, &profile, &error))
			fail_msg("%s", error.text);
		for (unsigned i = 0; i < GW_PARAMS; i++)
			assert_true(has_origin(&profile, i));
		profile.path[0] = '\0';
		write_and_read_back(&profile, &other);
		assert_same_device(&profile, &other);
		count++;
	}
	closedir(folder);
	assert_true(count >= 22);
}

TESTS_MAIN()
