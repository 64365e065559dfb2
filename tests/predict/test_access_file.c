/* SPDX-License-Identifier: Apache-2.0 */
/* Syntax trees as JSON, in and out, and the messages for what is none. */
#include "cli/inspect/access_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char store[] = "{\"st.global.v2.f32 [%rd1], {%f1, %f2};\": [\n"
                            " {\"reg\": \"%rd1\", \"opcode\": \"add.s64\", \"parent\": -1},\n"
                            " {\"reg\": \"%rd2\", \"opcode\": \"ld.param.u64\", \"parent\": 0},\n"
                            " {\"reg\": \"%rd3\", \"opcode\": \"mul.wide.s32\", \"parent\": 0},\n"
                            " {\"reg\": \"[param_1]\", \"opcode\": \"\", \"parent\": 1},\n"
                            " {\"reg\": \"%ctaid.y\", \"opcode\": \"\", \"parent\": 2},\n"
                            " {\"reg\": \"8\", \"opcode\": \"\", \"parent\": 2}]}";

static void a_file_gives_its_trees(void **state)
{
	struct access_file file;
	char error[512], text[128];

	(void)state;
	assert_true(access_file_parse(&file, store, strlen(store), "t", error, sizeof(error)));
	assert_int_equal(file.count, 1);
	assert_int_equal(file.access[0].bytes, 8);
	assert_true(file.access[0].store);
	assert_string_equal(gw_access_expression(&file.access[0], text, sizeof(text)),
	                    "add(mul(ctaid.y, 8), param1)");
	access_file_free(&file);
}

static void what_is_written_is_what_was_read(void **state)
{
	struct access_file file;
	char error[512], *written, *given;
	json_t *json, *original = json_loads(store, 0, NULL);

	(void)state;
	assert_true(access_file_parse(&file, store, strlen(store), "t", error, sizeof(error)));
	json = access_file_json(file.access, file.count);
	written = json_dumps(json, JSON_SORT_KEYS);
	given = json_dumps(original, JSON_SORT_KEYS);
	assert_string_equal(written, given);
	free(written);
	free(given);
	json_decref(json);
	json_decref(original);
	access_file_free(&file);
}

static void a_text_that_comes_twice_is_numbered(void **state)
{
	struct access_file file;
	struct gw_access twice[2];
	char error[512];
	json_t *json;

	(void)state;
	assert_true(access_file_parse(&file, store, strlen(store), "t", error, sizeof(error)));
	twice[0] = twice[1] = file.access[0];
	json = access_file_json(twice, 2);
	assert_int_equal(json_object_size(json), 2);
	assert_non_null(json_object_get(json, "st.global.v2.f32 [%rd1], {%f1, %f2}; (2)"));
	json_decref(json);
	access_file_free(&file);
}

static void errors_name_the_line_and_what_is_wrong(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
	        {"[]", "t:1: a file of accesses must be an object, not an array"},
	        {"{}", "t:1: a file has 1 to 4096 accesses, not 0"},
	        {"{\n\"ld.global.f32\": 3}", "t:2: an access must be an array, not a number"},
	        {"{\"ld.global.f32\": []}", "t:1: an access has 1 to 256 nodes, not 0"},
	        {"{\"bar.sync\": [1]}", "t:1: \"bar.sync\" does not state its width"},
	        {"{\"ld.global.f32\": [\n{\"reg\": \"1\", \"opcode\": \"\"}]}",
	         "t:2: a node needs \"reg\", \"opcode\" and \"parent\""},
	        {"{\"ld.global.f32\": [\n{\"reg\": \"1\", \"opcode\": \"\", \"parent\": 0.5}]}",
	         "t:2: \"parent\" is the number of a node"},
	        {"{\"ld.global.f32\": [\n{\"reg\": \"1\", \"op\": \"\"}]}",
	         "t:2: unknown key \"op\""},
	        {"{\"ld.global.f32\": [{\"reg\": \"%rd1\", \"opcode\": \"add.s64\", \"parent\": "
	         "-1},"
	         "\n{\"reg\": \"1\", \"opcode\": \"\", \"parent\": 7}]}",
	         "t:2: node 1: a node's parent stands before it"},
	        {"{\"ld.global.f32\": [{\"reg\": \"%rd1\", \"opcode\": \"add.s64\", \"parent\": "
	         "-1}]}",
	         "t:1: node 0: the opcode takes another number of operands"},
	        {"{\"ld.global.f32\": [", "t:1: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct access_file file;
		char error[512];

		assert_false(access_file_parse(&file, cases[i].text, strlen(cases[i].text), "t",
		                               error, sizeof(error)));
		if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("\"%s\" instead of \"%s\"", error, cases[i].error);
	}
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct access_file file;
	char error[512];

	(void)state;
	assert_false(access_file_read(&file, "/nowhere/trees.json", error, sizeof(error)));
	assert_non_null(strstr(error, "/nowhere/trees.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_file_gives_its_trees),
	        cmocka_unit_test(what_is_written_is_what_was_read),
	        cmocka_unit_test(a_text_that_comes_twice_is_numbered),
	        cmocka_unit_test(errors_name_the_line_and_what_is_wrong),
	        cmocka_unit_test(a_file_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
