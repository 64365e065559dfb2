/* JSON files that the command reads, those of memory accesses among them. */
#include "cli/common/json_file.h"
#include "cli/inspect/access_file.h"
#include "tests/test.h"

static char refusal[256];

static bool parse(struct json_file *file, const char *text)
{
	*refusal = '\0';
	return json_file_parse(file, text, strlen(text), refusal, sizeof(refusal));
}

static void refuses(const char *text, const char *why)
{
	struct json_file file;

	assert_false(parse(&file, text));
	assert_string_equal(refusal, why);
	assert_null(file.root);
}

TEST(every_kind_is_read)
{
	struct json_node root, n, member;
	struct json_file file;

	assert_true(parse(&file, " [null, true, false, -1.5e2, \"a\", [], {\"k\": 0}] "));
	root = json_file_root(&file);
	assert_int_equal(root.kind, NODE_ARRAY);
	assert_int_equal(root.count, 7);
	n = json_first(&root);
	assert_int_equal(n.kind, NODE_NULL);
	json_next(&n);
	assert_true(n.kind == NODE_BOOL && n.boolean);
	json_next(&n);
	assert_true(n.kind == NODE_BOOL && !n.boolean);
	json_next(&n);
	assert_true(n.kind == NODE_NUMBER && n.number == -150);
	json_next(&n);
	assert_string_equal(n.string, "a");
	json_next(&n);
	assert_true(n.kind == NODE_ARRAY && n.count == 0);
	assert_null(json_first(&n).value);
	json_next(&n);
	member = json_member(&n, "k");
	assert_true(n.kind == NODE_OBJECT && member.kind == NODE_NUMBER && member.number == 0);
	assert_null(json_member(&n, "other").value);
	json_next(&n);
	assert_null(n.value);
	json_file_free(&file);
}

TEST(members_come_in_the_order_of_the_file)
{
	static const char *const keys[] = {"z", "a", "m", "b"};
	struct json_file file;
	struct json_node root;
	size_t i = 0;

	assert_true(parse(&file, "{\"z\": 1, \"a\": 2, \"m\": 3, \"b\": 4}"));
	root = json_file_root(&file);
	for (struct json_node n = json_first(&root); n.value; json_next(&n))
		assert_string_equal(n.key, keys[i++]);
	assert_int_equal(i, 4);
	json_file_free(&file);
}

static unsigned line_of(const struct json_file *file, const char *const *keys, size_t index)
{
	struct json_node nodes[8] = {json_file_root(file)};
	unsigned depth = 0;

	for (; keys[depth]; depth++)
		nodes[depth + 1] = json_member(&nodes[depth], keys[depth]);
	if (nodes[depth].kind != NODE_ARRAY)
		return json_file_line(file, &nodes[depth]);
	for (struct json_node n = json_first(&nodes[depth]); n.value; json_next(&n))
		if (n.index == index)
			return json_file_line(file, &n);
	return 0;
}

#define LINE(index, ...) \
	line_of(&file, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL}, index)

TEST(a_value_s_line_is_found_again)
{
	struct json_file file;

	assert_true(parse(&file,
			  "\n{\n\"a\": 1,\n\n\"b\":\n2, \"c\": [[{\"]\": \"[,\"}],\n"
			  "null, -1e5, true,\nnull], \"d\\\"\": {\n\"e\" : {\"f\":\nfalse}}}"));
	assert_int_equal(LINE(0), 2);
	assert_int_equal(LINE(0, "a"), 3);
	assert_int_equal(LINE(0, "b"), 6);
	assert_int_equal(LINE(0, "c"), 6);
	assert_int_equal(LINE(1, "c"), 7);
	assert_int_equal(LINE(3, "c"), 7);
	assert_int_equal(LINE(4, "c"), 8);
	assert_int_equal(LINE(0, "d\"", "e"), 9);
	assert_int_equal(LINE(0, "d\"", "e", "f"), 10);
	json_file_free(&file);
}

TEST(escapes_become_utf8)
{
	struct json_file file;

	assert_true(parse(&file, "\"\\\"\\\\\\/\\n\\u00b5\\u20ac\\ud83d\\ude00\""));
	assert_string_equal(json_file_root(&file).string, "\"\\/\nµ€😀");
	json_file_free(&file);
}

/* What is wrong is said in jansson's words, which differ between its versions. */
static void refuses_on_line(const char *text, unsigned line)
{
	struct json_file file;
	int said = 0;
	unsigned on;

	assert_false(parse(&file, text));
	assert_null(file.root);
	if (sscanf(refusal, "%u: %n", &on, &said) != 1 || !said || !refusal[said] || on != line)
		fail_msg("\"%s\" for %s, expected line %u", refusal, text, line);
}

TEST(broken_text_is_refused_with_its_line)
{
	refuses_on_line("", 1);
	refuses_on_line("{\n\"a\" 1}", 2);
	refuses_on_line("[1,\n2\n", 3);
	refuses_on_line("[01]", 1);
	refuses_on_line("1.", 1);
	refuses_on_line("1e", 1);
	refuses_on_line("\"abc", 1);
	refuses_on_line("\"\\q\"", 1);
	refuses_on_line("\"\x01\"", 1);
	refuses_on_line("1 2", 1);
	refuses_on_line("nul", 1);
	refuses_on_line("{\"a\": 1,}", 1);
	refuses_on_line("[NaN]", 1);
	refuses_on_line("[Infinity]", 1);
}

TEST(numbers_out_of_range_are_refused)
{
	refuses_on_line("1e999", 1);
	refuses_on_line("[1,\n-1e999]", 2);
}

TEST(whole_numbers_of_any_size_are_read)
{
	struct json_file file;

	assert_true(parse(&file, "123456789012345678901234567890"));
	assert_true(json_file_root(&file).number == 123456789012345678901234567890.0);
	json_file_free(&file);
}

TEST(a_key_that_stands_twice_is_refused)
{
	refuses_on_line("{\"a\":1,\n\"a\":2}", 2);
	refuses_on_line("{\"a\":1,\n\"\\u0061\":2}", 2);
}

TEST(text_that_is_not_utf8_is_refused)
{
	refuses_on_line("\"\xff\"", 1);
	refuses_on_line("\"\xc0\x80\"", 1);         /* overlong NUL */
	refuses_on_line("\"\xed\xa0\x80\"", 1);     /* a surrogate */
	refuses_on_line("\"\xf4\x90\x80\x80\"", 1); /* beyond Unicode */
	refuses_on_line("\"\\ud800\"", 1);
	refuses_on_line("\"\\u0000\"", 1);
}

TEST(a_nul_in_the_text_is_refused)
{
	static const char text[] = "[1,\0 2]";
	struct json_file file;

	assert_false(json_file_parse(&file, text, sizeof(text) - 1, refusal, sizeof(refusal)));
}

TEST(what_is_quoted_of_the_text_drives_no_terminal)
{
	refuses_on_line("[\"a\"\n\"\\u001b[31m\"]", 2);
	assert_null(strchr(refusal, '\x1b'));
	refuses_on_line("{\"\\u001b\":1, \"\\u001b\":1}", 1);
	assert_null(strchr(refusal, '\x1b'));
	refuses_on_line("[\x1b[31m]", 1);
	assert_null(strchr(refusal, '\x1b'));
}

TEST(nesting_is_bounded)
{
	struct json_file file;
	char deep[2 * JSON_FILE_DEPTH + 3];

	memset(deep, '[', JSON_FILE_DEPTH);
	memset(deep + JSON_FILE_DEPTH, ']', JSON_FILE_DEPTH);
	deep[2 * JSON_FILE_DEPTH] = '\0';
	assert_true(parse(&file, deep));
	json_file_free(&file);
	assert_true(parse(&file, "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\""));
	json_file_free(&file);
	memset(deep, '[', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	refuses(deep, "1: nested more than 32 deep");
}

TEST(a_missing_file_is_named)
{
	struct json_file file;

	assert_false(json_file_read(&file, "/nowhere/x.json", refusal, sizeof(refusal)));
	assert_string_equal(
		refusal,
		"/nowhere/x.json: cannot be read: No such file or directory; check its name");
}

/* Syntax trees as JSON, in and out, and the messages for what is none. */
static const char store[] = "{\"st.global.v2.f32 [%rd1], {%f1, %f2};\": [\n"
			    " {\"reg\": \"%rd1\", \"opcode\": \"add.s64\", \"parent\": -1},\n"
			    " {\"reg\": \"%rd2\", \"opcode\": \"ld.param.u64\", \"parent\": 0},\n"
			    " {\"reg\": \"%rd3\", \"opcode\": \"mul.wide.s32\", \"parent\": 0},\n"
			    " {\"reg\": \"[param_1]\", \"opcode\": \"\", \"parent\": 1},\n"
			    " {\"reg\": \"%ctaid.y\", \"opcode\": \"\", \"parent\": 2},\n"
			    " {\"reg\": \"8\", \"opcode\": \"\", \"parent\": 2}]}";

TEST(a_file_gives_its_trees)
{
	struct access_file file;
	char error[512], text[128];

	assert_true(access_file_parse(&file, store, strlen(store), "t", error, sizeof(error)));
	assert_int_equal(file.count, 1);
	assert_int_equal(file.access[0].bytes, 8);
	assert_true(file.access[0].store);
	assert_string_equal(gw_access_expression(&file.access[0], text, sizeof(text)),
			    "add(mul(ctaid.y, 8), param1)");
	access_file_free(&file);
}

TEST(what_is_written_is_what_was_read)
{
	struct access_file file;
	char error[512], *written, *given;
	json_t *json, *original = json_loads(store, 0, NULL);

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

TEST(a_text_that_comes_twice_is_numbered)
{
	struct access_file file;
	struct gw_access twice[2];
	char error[512];
	json_t *json;

	assert_true(access_file_parse(&file, store, strlen(store), "t", error, sizeof(error)));
	twice[0] = twice[1] = file.access[0];
	json = access_file_json(twice, 2);
	assert_int_equal(json_object_size(json), 2);
	assert_non_null(json_object_get(json, "st.global.v2.f32 [%rd1], {%f1, %f2}; (2)"));
	json_decref(json);
	access_file_free(&file);
}

TEST(errors_name_the_line_and_what_is_wrong)
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

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct access_file file;
		char error[512];

		assert_false(access_file_parse(&file, cases[i].text, strlen(cases[i].text), "t",
					       error, sizeof(error)));
		if (strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
			fail_msg("\"%s\" instead of \"%s\"", error, cases[i].error);
	}
}

TEST(a_file_that_is_not_there_is_named)
{
	struct access_file file;
	char error[512];

	assert_false(access_file_read(&file, "/nowhere/trees.json", error, sizeof(error)));
	assert_non_null(strstr(error, "/nowhere/trees.json"));
}

TESTS_MAIN()
