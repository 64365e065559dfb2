/* The list of the development set (kernels/workloads), which needs neither GPU nor nvcc. */

#include "kernels/workloads/workload.h"
#include "tests/test.h"

TEST(the_set_has_at_least_forty_workloads)
{
	assert_true(wl_count >= 40);
}

TEST(names_are_unique)
{
	for (unsigned i = 0; i < wl_count; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(wl_infos[i].name, wl_infos[j].name);
}

TEST(sizes_rise)
{
	for (unsigned i = 0; i < wl_count; i++) {
		assert_true(wl_infos[i].sizes[0] > 0);
		for (unsigned s = 1; s < WL_SIZES; s++)
			if (wl_infos[i].sizes[s] <= wl_infos[i].sizes[s - 1])
				fail_msg("%s: size %u is not above size %u", wl_infos[i].name, s,
					 s - 1);
	}
}

/* The text goes into JSON and into a table as it is. */
TEST(words_need_no_escape)
{
	for (unsigned i = 0; i < wl_count; i++) {
		assert_null(strpbrk(wl_infos[i].measure, "\"\\\n|"));
		assert_null(strpbrk(wl_infos[i].meaning, "\"\\\n|"));
	}
}

/* The whole of a file of the set, to be freed. */
static char *source(const char *family)
{
	char path[512], *text = calloc(1, 1 << 17);
	FILE *in;

	snprintf(path, sizeof(path), GW_WORKLOADS "/%s.cu", family);
	in = fopen(path, "r");
	if (!in)
		fail_msg("family %s has no %s", family, path);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 17) - 1, in) > 0);
	fclose(in);
	return text;
}

TEST(each_workload_stands_in_the_file_of_its_family)
{
	char wanted[2][128], *text;

	for (unsigned i = 0; i < wl_count; i++) {
		text = source(wl_infos[i].family);
		snprintf(wanted[0], sizeof(wanted[0]), "WL_PREPARE(%s)", wl_infos[i].name);
		snprintf(wanted[1], sizeof(wanted[1]), "(%s,",
			 wl_infos[i].name); /* row of a macro */
		if (!strstr(text, wanted[0]) && !strstr(text, wanted[1]))
			fail_msg("%s.cu does not define %s", wl_infos[i].family, wl_infos[i].name);
		free(text);
	}
}

TEST(globs_match_whole_names)
{
	assert_true(wl_glob("copy_f32", "copy_f32"));
	assert_false(wl_glob("copy_f32", "copy_f32x4"));
	assert_true(wl_glob("copy_*", "copy_f32x4"));
	assert_true(wl_glob("*_f?2", "copy_f32"));
	assert_true(wl_glob("*a*b", "xaab"));
	assert_false(wl_glob("*a*b", "xaabc"));
	assert_true(wl_glob("*", ""));
	assert_false(wl_glob("?", ""));
}

TESTS_MAIN()
