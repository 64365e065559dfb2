/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/json_tree.h"

static char error[256];

static bool parse(struct json_tree *tree, const char *text)
{
	*error = '\0';
	return json_tree_parse(tree, text, strlen(text), error, sizeof(error));
}

static void refuses(const char *text, const char *why)
{
	struct json_tree tree;

	assert_false(parse(&tree, text));
	assert_string_equal(error, why);
	assert_null(tree.root);
}

static void every_kind_is_read(void **state)
{
	struct json_tree tree;
	const struct json_node *n;

	(void)state;
	assert_true(parse(&tree, " [null, true, false, -1.5e2, \"a\", [], {\"k\": 0}] "));
	assert_int_equal(tree.root->kind, NODE_ARRAY);
	assert_int_equal(tree.root->count, 7);
	n = tree.root->first;
	assert_int_equal(n->kind, NODE_NULL);
	n = n->next;
	assert_true(n->kind == NODE_BOOL && n->boolean);
	n = n->next;
	assert_true(n->kind == NODE_BOOL && !n->boolean);
	n = n->next;
	assert_true(n->kind == NODE_NUMBER && n->number == -150);
	n = n->next;
	assert_string_equal(n->string, "a");
	n = n->next;
	assert_true(n->kind == NODE_ARRAY && n->count == 0);
	n = n->next;
	assert_true(n->kind == NODE_OBJECT && json_member(n, "k")->number == 0);
	assert_null(json_member(n, "other"));
	json_tree_free(&tree);
}

static void a_value_remembers_its_line(void **state)
{
	struct json_tree tree;

	(void)state;
	assert_true(parse(&tree, "{\n\"a\": 1,\n\n\"b\":\n2}"));
	assert_int_equal(tree.root->line, 1);
	assert_int_equal(json_member(tree.root, "a")->line, 2);
	assert_int_equal(json_member(tree.root, "b")->line, 5);
	json_tree_free(&tree);
}

static void escapes_become_utf8(void **state)
{
	struct json_tree tree;

	(void)state;
	assert_true(parse(&tree, "\"\\\"\\\\\\/\\n\\u00b5\\u20ac\\ud83d\\ude00\""));
	assert_string_equal(tree.root->string, "\"\\/\nµ€😀");
	json_tree_free(&tree);
}

static void broken_text_is_refused_with_its_line(void **state)
{
	(void)state;
	refuses("", "1: the text ends where a value should stand");
	refuses("{\n\"a\" 1}", "2: expected : after \"a\"");
	refuses("[1,\n2\n", "3: expected , or ]");
	refuses("[01]", "1: not a value");
	refuses("1.", "1: a number needs digits after its point");
	refuses("1e", "1: a number needs digits in its exponent");
	refuses("\"abc", "1: a string is not closed");
	refuses("\"\\q\"", "1: unknown escape in a string");
	refuses("\"\x01\"", "1: a control character in a string");
	refuses("1 2", "1: text after the end of the document");
	refuses("nul", "1: not a value");
}

static void numbers_out_of_range_are_refused(void **state)
{
	(void)state;
	refuses("1e999", "1: the number 1e999 is out of range");
}

static void a_key_that_stands_twice_is_refused(void **state)
{
	(void)state;
	refuses("{\"a\":1,\n\"a\":2}", "2: the key \"a\" stands twice");
}

static void text_that_is_not_utf8_is_refused(void **state)
{
	(void)state;
	refuses("\"\xff\"", "1: a string is not UTF-8");
	refuses("\"\xc0\x80\"", "1: a string is not UTF-8");         /* overlong NUL */
	refuses("\"\xed\xa0\x80\"", "1: a string is not UTF-8");     /* a surrogate */
	refuses("\"\xf4\x90\x80\x80\"", "1: a string is not UTF-8"); /* beyond Unicode */
	refuses("\"\\ud800\"", "1: half a surrogate pair in a string");
	refuses("\"\\u0000\"", "1: a string may hold neither NUL nor half a surrogate pair");
}

static void nesting_is_bounded(void **state)
{
	struct json_tree tree;
	char deep[2 * JSON_TREE_DEPTH + 3];

	(void)state;
	memset(deep, '[', JSON_TREE_DEPTH);
	memset(deep + JSON_TREE_DEPTH, ']', JSON_TREE_DEPTH);
	deep[2 * JSON_TREE_DEPTH] = '\0';
	assert_true(parse(&tree, deep));
	json_tree_free(&tree);
	memset(deep, '[', sizeof(deep));
	deep[sizeof(deep) - 1] = '\0';
	refuses(deep, "1: nested more than 32 deep");
}

static void a_missing_file_is_named(void **state)
{
	struct json_tree tree;

	(void)state;
	assert_false(json_tree_read(&tree, "/nowhere/x.json", error, sizeof(error)));
	assert_string_equal(
	        error,
	        "/nowhere/x.json: cannot be read: No such file or directory; check its name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_kind_is_read),
	        cmocka_unit_test(a_value_remembers_its_line),
	        cmocka_unit_test(escapes_become_utf8),
	        cmocka_unit_test(broken_text_is_refused_with_its_line),
	        cmocka_unit_test(numbers_out_of_range_are_refused),
	        cmocka_unit_test(a_key_that_stands_twice_is_refused),
	        cmocka_unit_test(text_that_is_not_utf8_is_refused),
	        cmocka_unit_test(nesting_is_bounded),
	        cmocka_unit_test(a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
