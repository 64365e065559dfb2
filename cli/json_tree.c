/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_tree.h"
#include "cli/say.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nodes and strings live in chunks that are freed together. */
struct json_chunk {
	struct json_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

struct parser {
	struct json_tree *tree;
	const char *at, *end;
	unsigned line, depth;
	char *error;
	size_t error_size;
};

static bool parse_value(struct parser *p, struct json_node *node);

__attribute__((format(printf, 2, 3))) static bool fail(struct parser *p, const char *format, ...)
{
	va_list args;
	int n = snprintf(p->error, p->error_size, "%u: ", p->line);

	if (n < 0 || (size_t)n >= p->error_size)
		return false;
	va_start(args, format);
	vsnprintf(p->error + n, p->error_size - (size_t)n, format, args);
	va_end(args);
	return false;
}

static void *allocate(struct parser *p, size_t size)
{
	struct json_chunk *chunk = p->tree->chunks;
	void *result;

	size = (size + 15) & ~(size_t)15;
	if (!chunk || chunk->size - chunk->used < size) {
		size_t room = size > 32768 ? size : 32768;

		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk) {
			fail(p, "out of memory");
			return NULL;
		}
		*chunk = (struct json_chunk){.next = p->tree->chunks, .size = room};
		p->tree->chunks = chunk;
	}
	result = chunk->data + chunk->used;
	chunk->used += size;
	memset(result, 0, size);
	return result;
}

static void skip_space(struct parser *p)
{
	for (; p->at < p->end; p->at++) {
		if (*p->at == '\n')
			p->line++;
		else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
			return;
	}
}

static bool accept(struct parser *p, char c)
{
	skip_space(p);
	if (p->at == p->end || *p->at != c)
		return false;
	p->at++;
	return true;
}

static bool hex4(struct parser *p, unsigned *code)
{
	*code = 0;
	if (p->end - p->at < 4)
		return fail(p, "\\u needs four hexadecimal digits");
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *d = *p->at ? strchr(digits, *p->at | 0x20) : NULL;

		if (!d || *p->at < '0')
			return fail(p, "\\u needs four hexadecimal digits");
		*code = *code * 16 + (unsigned)(d - digits);
		p->at++;
	}
	return true;
}

static char *put_utf8(char *out, unsigned c)
{
	if (c < 0x80) {
		*out++ = (char)c;
	} else if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
		*out++ = (char)(0x80 | (c & 63));
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xe0 | c >> 12);
		} else {
			*out++ = (char)(0xf0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 63));
		}
		*out++ = (char)(0x80 | (c >> 6 & 63));
		*out++ = (char)(0x80 | (c & 63));
	}
	return out;
}

static bool parse_escape(struct parser *p, char **out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = p->at < p->end ? *p->at++ : '\0';
	const char *simple = c ? strchr(from, c) : NULL;
	unsigned code, low;

	if (simple) {
		*(*out)++ = to[simple - from];
		return true;
	}
	if (c != 'u')
		return fail(p, "unknown escape in a string");
	if (!hex4(p, &code))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (p->end - p->at < 2 || p->at[0] != '\\' || p->at[1] != 'u')
			return fail(p, "half a surrogate pair in a string");
		p->at += 2;
		if (!hex4(p, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(p, "half a surrogate pair in a string");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code == 0 || (code >= 0xdc00 && code < 0xe000)) {
		return fail(p, "a string may hold neither NUL nor half a surrogate pair");
	}
	*out = put_utf8(*out, code);
	return true;
}

/* Length of the well-formed UTF-8 sequence at s (RFC 3629), 0 when it is none. */
static size_t utf8_length(const char *s, const char *end)
{
	const unsigned char *b = (const unsigned char *)s;
	size_t left = (size_t)(end - s), n;
	unsigned low = 0x80, high = 0xbf;

	if (b[0] < 0x80)
		return 1;
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;
	n = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
	if (b[0] == 0xe0)
		low = 0xa0;
	else if (b[0] == 0xed)
		high = 0x9f;
	else if (b[0] == 0xf0)
		low = 0x90;
	else if (b[0] == 0xf4)
		high = 0x8f;
	if (left < n || b[1] < low || b[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (b[i] < 0x80 || b[i] > 0xbf)
			return 0;
	return n;
}

/* The opening quote is behind us. */
static bool parse_string(struct parser *p, const char **result)
{
	const char *close = p->at;
	char *out;

	while (close < p->end && *close != '"')
		close += *close == '\\' && p->end - close > 1 ? 2 : 1;
	if (close >= p->end)
		return fail(p, "a string is not closed");
	/* No escape is longer decoded than written, so the text's own length is enough. */
	out = allocate(p, (size_t)(close - p->at) + 1);
	if (!out)
		return false;
	*result = out;
	while (*p->at != '"') {
		size_t n;

		if (*p->at == '\\') {
			p->at++;
			if (!parse_escape(p, &out))
				return false;
			continue;
		}
		n = utf8_length(p->at, p->end);
		if (!n)
			return fail(p, "a string is not UTF-8");
		if ((unsigned char)*p->at < 0x20)
			return fail(p, "a control character in a string");
		memcpy(out, p->at, n);
		out += n;
		p->at += n;
	}
	*out = '\0';
	p->at++;
	return true;
}

static const char *skip_digits(const char *s, const char *end)
{
	while (s < end && *s >= '0' && *s <= '9')
		s++;
	return s;
}

static bool parse_number(struct parser *p, double *number)
{
	char text[64];
	const char *s = p->at, *digits;
	size_t length;

	if (s < p->end && *s == '-')
		s++;
	digits = s;
	s = skip_digits(s, p->end);
	if (s == digits || (*digits == '0' && s - digits > 1))
		return fail(p, "not a value");
	if (s < p->end && *s == '.') {
		digits = ++s;
		s = skip_digits(s, p->end);
		if (s == digits)
			return fail(p, "a number needs digits after its point");
	}
	if (s < p->end && (*s == 'e' || *s == 'E')) {
		s++;
		if (s < p->end && (*s == '+' || *s == '-'))
			s++;
		digits = s;
		s = skip_digits(s, p->end);
		if (s == digits)
			return fail(p, "a number needs digits in its exponent");
	}
	length = (size_t)(s - p->at);
	if (length >= sizeof(text))
		return fail(p, "a number of %zu characters; the limit is %zu", length,
		            sizeof(text) - 1);
	memcpy(text, p->at, length);
	text[length] = '\0';
	*number = strtod(text, NULL);
	if (!isfinite(*number))
		return fail(p, "the number %s is out of range", text);
	p->at = s;
	return true;
}

static bool parse_key(struct parser *p, const struct json_node *object, struct json_node *member)
{
	if (!accept(p, '"'))
		return fail(p, "expected a key in double quotes");
	member->line = p->line;
	if (!parse_string(p, &member->key))
		return false;
	if (json_member(object, member->key))
		return fail(p, "the key \"%s\" stands twice", member->key);
	if (!accept(p, ':'))
		return fail(p, "expected : after \"%s\"", member->key);
	return true;
}

static bool parse_items(struct parser *p, struct json_node *node, char close)
{
	struct json_node **tail = &node->first;

	if (++p->depth > JSON_TREE_DEPTH)
		return fail(p, "nested more than %d deep", JSON_TREE_DEPTH);
	if (accept(p, close)) {
		p->depth--;
		return true;
	}
	do {
		struct json_node *item = allocate(p, sizeof(*item));

		if (!item)
			return false;
		/* An object with very many members would make the check for doubles quadratic. */
		if (node->kind == NODE_OBJECT && node->count >= 1000)
			return fail(p, "more than 1000 keys in one object");
		if (node->kind == NODE_OBJECT && !parse_key(p, node, item))
			return false;
		if (!parse_value(p, item))
			return false;
		*tail = item;
		tail = &item->next;
		node->count++;
	} while (accept(p, ','));
	if (!accept(p, close))
		return fail(p, "expected , or %c", close);
	p->depth--;
	return true;
}

static bool accept_word(struct parser *p, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return false;
	p->at += n;
	return true;
}

static bool parse_value(struct parser *p, struct json_node *node)
{
	skip_space(p);
	node->line = p->line;
	if (p->at == p->end)
		return fail(p, "the text ends where a value should stand");
	if (accept(p, '{')) {
		node->kind = NODE_OBJECT;
		return parse_items(p, node, '}');
	}
	if (accept(p, '[')) {
		node->kind = NODE_ARRAY;
		return parse_items(p, node, ']');
	}
	if (accept(p, '"')) {
		node->kind = NODE_STRING;
		return parse_string(p, &node->string);
	}
	if (accept_word(p, "null")) {
		node->kind = NODE_NULL;
		return true;
	}
	node->kind = NODE_BOOL;
	node->boolean = accept_word(p, "true");
	if (node->boolean || accept_word(p, "false"))
		return true;
	node->kind = NODE_NUMBER;
	return parse_number(p, &node->number);
}

bool json_tree_parse(struct json_tree *tree, const char *text, size_t length, char *error,
                     size_t error_size)
{
	struct parser p = {.tree = tree,
	                   .at = text,
	                   .end = text + length,
	                   .line = 1,
	                   .error = error,
	                   .error_size = error_size};
	bool ok;

	*tree = (struct json_tree){0};
	if (length > JSON_TREE_BYTES)
		ok = fail(&p, "longer than %d bytes", JSON_TREE_BYTES);
	else
		ok = (tree->root = allocate(&p, sizeof(*tree->root))) != NULL &&
		     parse_value(&p, tree->root);
	skip_space(&p);
	if (ok && p.at != p.end)
		ok = fail(&p, "text after the end of the document");
	if (!ok)
		json_tree_free(tree);
	return ok;
}

static char *read_all(FILE *file, size_t *length)
{
	size_t room = 65536, used = 0, got;
	char *text = malloc(room);

	while (text && (got = fread(text + used, 1, room - used, file)) > 0) {
		used += got;
		if (used > JSON_TREE_BYTES)
			break;
		if (used == room) {
			char *bigger = realloc(text, room *= 2);

			if (!bigger)
				free(text);
			text = bigger;
		}
	}
	*length = used;
	return text;
}

bool json_tree_read(struct json_tree *tree, const char *path, char *error, size_t error_size)
{
	bool standard = strcmp(path, "-") == 0, ok = false;
	FILE *file = standard ? stdin : fopen(path, "re");
	char what[512], *text = NULL;
	size_t length = 0;

	*tree = (struct json_tree){0};
	if (file) {
		errno = 0;
		text = read_all(file, &length);
	}
	if (!file || !text || ferror(file)) {
		snprintf(error, error_size, "%s: cannot be read: %s%s", path,
		         strerror(errno ? errno : EIO), gw_open_remedy(errno));
	} else {
		ok = json_tree_parse(tree, text, length, what, sizeof(what));
		if (!ok)
			snprintf(error, error_size, "%s:%s", standard ? "standard input" : path,
			         what);
	}
	free(text);
	if (file && !standard)
		fclose(file);
	return ok;
}

void json_tree_free(struct json_tree *tree)
{
	while (tree->chunks) {
		struct json_chunk *next = tree->chunks->next;

		free(tree->chunks);
		tree->chunks = next;
	}
	tree->root = NULL;
}

const struct json_node *json_member(const struct json_node *object, const char *key)
{
	if (object->kind != NODE_OBJECT)
		return NULL;
	for (const struct json_node *m = object->first; m; m = m->next)
		if (strcmp(m->key, key) == 0)
			return m;
	return NULL;
}

const char *json_kind_name(enum json_kind kind)
{
	static const char *const names[] = {"null",     "true or false", "a number",
	                                    "a string", "an array",      "an object"};

	return names[kind];
}
