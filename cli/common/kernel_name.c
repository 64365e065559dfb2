#include "cli/common/kernel_name.h"

#include "cli/common/memory.h"
#include "cli/message.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEPTH = 64, /* groups within groups that are shortened; deeper ones are copied */
	PARTS = 64, /* components of a qualified name that are looked at */
};

/* A range of a name; it ends at `end`. */
struct span {
	const char *at, *end;
};

/* A component of a qualified name: its identifier, and where its template arguments are. */
struct part {
	struct span name, arguments;
};

static char closing(char open)
{
	return open == '<' ? '>' : open == '(' ? ')' : open == '{' ? '}' : open == '[' ? ']' : 0;
}

/* The end of the group that starts at @p at; NULL where its brackets do not match. */
static const char *group_end(const char *at, const char *end)
{
	char stack[4 * DEPTH];
	size_t depth = 0;

	for (const char *p = at; p < end; p++) {
		if (closing(*p)) {
			if (depth == sizeof(stack))
				return NULL;
			stack[depth++] = closing(*p);
		} else if (*p == '>' && p > at && p[-1] == '-') {
			continue;
		} else if (strchr(">)}]", *p)) {
			if (!depth || stack[--depth] != *p)
				return NULL;
			if (!depth)
				return p + 1;
		}
	}
	return NULL;
}

static bool starts(struct span s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s.end - s.at) >= n && !memcmp(s.at, text, n);
}

static bool word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '~' || (c & 0x80);
}

/* A function within a function: its name says nothing, the outer one's does. */
static bool nameless(const struct part *p)
{
	return p->name.at == p->name.end || starts(p->name, "operator()") || *p->name.at == '{' ||
	       *p->name.at == '\'';
}

static struct part next_part(struct span *rest)
{
	struct part part = {{rest->at, rest->at}, {rest->at, rest->at}};
	const char *p = rest->at;

	if (p < rest->end && *p == '{') {
		const char *after = group_end(p, rest->end);

		p = after ? after : rest->end;
	} else {
		while (p < rest->end && word_character(*p))
			p++;
		if (starts(*rest, "operator()"))
			p = rest->at + strlen("operator()");
	}
	part.name.end = p;
	while (p < rest->end && closing(*p)) {
		const char *after = group_end(p, rest->end);

		if (!after)
			break;
		if (*p == '<' && part.arguments.at == part.arguments.end)
			part.arguments = (struct span){p + 1, after - 1};
		p = after;
	}
	rest->at = p;
	return part;
}

static bool shorten(FILE *out, struct span s, unsigned depth);

static bool put_part(FILE *out, const struct part *p, unsigned depth)
{
	fprintf(out, "%.*s", (int)(p->name.end - p->name.at), p->name.at);
	if (p->arguments.at == p->arguments.end)
		return true;
	fputc('<', out);
	if (!shorten(out, p->arguments, depth + 1))
		return false;
	fputc('>', out);
	return true;
}

/* A qualified name at the start of @p s: its last component with a name of its own. */
static bool put_qualified(FILE *out, struct span *s, unsigned depth)
{
	struct part best = {0};
	unsigned parts = 0;

	for (;;) {
		struct part p = next_part(s);

		if (p.name.at == s->at || parts++ == PARTS)
			return false;
		if (!nameless(&p) || !best.name.at)
			best = p;
		if (starts(*s, " const::"))
			s->at += strlen(" const");
		if (!starts(*s, "::"))
			return put_part(out, &best, depth);
		s->at += strlen("::");
	}
}

/* A number: 2ul is 2. */
static void put_number(FILE *out, struct span *s)
{
	const char *p = s->at;

	while (p < s->end && (isalnum((unsigned char)*p) || *p == '.'))
		p++;
	fprintf(out, "%.*s", (int)strspn(s->at, "0123456789.xabcdefABCDEF"), s->at);
	s->at = p;
}

static bool put_parenthesis(FILE *out, struct span *s, unsigned depth)
{
	const char *after = group_end(s->at, s->end);

	if (!after)
		return false;
	/* A cast in front of a number: (int)4. */
	if (after < s->end && (isdigit((unsigned char)*after) || *after == '-')) {
		s->at = after;
		return true;
	}
	fputc(*s->at, out);
	if (!shorten(out, (struct span){s->at + 1, after - 1}, depth + 1))
		return false;
	fputc(after[-1], out);
	s->at = after;
	return true;
}

/* Types and values as they are listed between brackets; false where this is not a C++ name. */
static bool shorten(FILE *out, struct span s, unsigned depth)
{
	static const char unnamed[] = "(anonymous namespace)::";

	if (depth == DEPTH)
		return false;
	while (s.end > s.at && s.end[-1] == ' ')
		s.end--;
	while (s.at < s.end) {
		if (starts(s, unnamed)) {
			s.at += strlen(unnamed);
		} else if (isdigit((unsigned char)*s.at)) {
			put_number(out, &s);
		} else if (*s.at == '(' || *s.at == '[') {
			if (!put_parenthesis(out, &s, depth))
				return false;
		} else if (word_character(*s.at) || *s.at == '{') {
			if (!put_qualified(out, &s, depth))
				return false;
		} else if (strchr("<>)}]", *s.at)) {
			return false;
		} else {
			fputc(*s.at++, out);
		}
	}
	return true;
}

/* @p s without what GCC appends to the names of clones. */
static void drop_clone(struct span *s)
{
	for (const char *p = s->at; p < s->end; p++)
		if (starts((struct span){p, s->end}, " [clone "))
			s->end = p;
}

/* The function's own name: without parameters and what stands in front. False: not a function. */
static bool find_name(struct span *s)
{
	const char *space = NULL, *group = NULL, *after = NULL;

	drop_clone(s);
	for (const char *p = s->at; p < s->end;) {
		if (closing(*p)) {
			const char *end = group_end(p, s->end);

			if (!end)
				return false;
			if (*p == '(') {
				group = p;
				after = end;
			}
			p = end;
			continue;
		}
		if (*p == ' ' && !starts((struct span){p, s->end}, " const::"))
			space = p;
		p++;
	}
	if (!group || after != s->end)
		return false;
	if (space && space < group)
		s->at = space + 1;
	s->end = group;
	return s->at < s->end;
}

/* A copy of @p plain without the marks of unnamed namespaces: their blank would look like the one
 * after a return type. */
static char *without_unnamed(const char *plain)
{
	static const char unnamed[] = "(anonymous namespace)::";
	char *copy = gw_copy(plain), *to = copy;

	for (const char *from = copy; *from;) {
		if (!strncmp(from, unnamed, strlen(unnamed)))
			from += strlen(unnamed);
		else
			*to++ = *from++;
	}
	*to = '\0';
	return copy;
}

char *gw_kernel_name(const char *plain)
{
	char *copy = without_unnamed(plain), *text = NULL;
	struct span s = {copy, copy + strlen(copy)};
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool good;

	if (!out) {
		free(copy);
		return gw_copy(plain);
	}
	good = find_name(&s) && shorten(out, s, 0);
	fclose(out);
	free(copy);
	if (good && size)
		return text;
	free(text);
	return gw_copy(plain);
}

/* A text and where it stands in the caller's array. */
struct entry {
	const char *text, *identity;
	size_t index;
};

static int by_text(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	int order = strcmp(a->text, b->text);

	return order ? order : strcmp(a->identity, b->identity);
}

/* Mark in @p clash each name whose text another name has, too; returns whether there is one. */
static bool find_clashes(char *const *text, const struct gw_kernel_names *names, size_t count,
			 bool *clash)
{
	struct entry *e = gw_alloc((count + 1) * sizeof(*e));
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		e[i] = (struct entry){text[i], names ? names[i].mangled : "", i};
		clash[i] = false;
	}
	qsort(e, count, sizeof(*e), by_text);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && !strcmp(e[next].text, e[i].text);)
			next++;
		/* Sorted by identity: all are the same when the first and the last are. */
		if (!strcmp(e[i].identity, e[next - 1].identity))
			continue;
		any = true;
		for (size_t k = i; k < next; k++)
			clash[e[k].index] = true;
	}
	free(e);
	return any;
}

void gw_kernel_names(const struct gw_kernel_names *names, size_t count, char **out)
{
	bool *clash = gw_alloc((count + 1) * sizeof(*clash));

	for (size_t i = 0; i < count; i++)
		/* A name that is not mangled has no parameters to drop. */
		out[i] = strcmp(names[i].mangled, names[i].plain) ? gw_kernel_name(names[i].plain)
								  : gw_copy(names[i].plain);
	for (unsigned step = 0; step < 2 && find_clashes(out, names, count, clash); step++)
		for (size_t i = 0; i < count; i++)
			if (clash[i]) {
				free(out[i]);
				out[i] = gw_copy(step ? names[i].mangled : names[i].plain);
			}
	free(clash);
}

/* Bytes that @p a and @p b have in common at their start. */
static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* Bytes of the first @p columns characters of @p text. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && columns-- == 0)
			break;
	return i;
}

/* Where the word at byte @p at of @p text starts. */
static size_t word_start(const char *text, size_t at)
{
	while (at && (word_character(text[at - 1]) && text[at - 1] != '_'))
		at--;
	return at;
}

/* @p text in @p columns columns: its start, and what follows byte @p from. */
static char *cut(const char *text, size_t from, size_t columns)
{
	const char *dots = gw_utf8() ? "…" : "..";
	size_t mark = gw_columns(dots), size = strlen(text) + 8, head, rest;
	char *out = gw_alloc(size);

	from = word_start(text, from);
	head = (columns - 2 * mark) / 3;
	if (columns < 4 * mark || gw_columns(text) - gw_columns(text + from) + 4 < columns) {
		/* The difference is within what the start alone shows. */
		snprintf(out, size, "%.*s%s",
			 (int)bytes_of(text, columns > mark ? columns - mark : columns), text,
			 columns > mark ? dots : "");
		return out;
	}
	rest = gw_columns(text + from);
	if (rest + mark + head <= columns) {
		/* Its end fits: show as much of the start as there is room for. */
		head = columns - mark - rest;
		snprintf(out, size, "%.*s%s%s", (int)bytes_of(text, head), text, dots, text + from);
		return out;
	}
	rest = columns - head - 2 * mark;
	snprintf(out, size, "%.*s%s%.*s%s", (int)bytes_of(text, head), text, dots,
		 (int)bytes_of(text + from, rest), text + from, dots);
	return out;
}

/* How far the @p i-th of @p e, sorted, is like a neighbour that differs from it. */
static size_t like_others(const struct entry *e, size_t count, size_t i)
{
	size_t before = i, after = i, n = 0, m = 0;

	while (before && !strcmp(e[before - 1].text, e[i].text))
		before--;
	while (after + 1 < count && !strcmp(e[after + 1].text, e[i].text))
		after++;
	if (before)
		n = common(e[i].text, e[before - 1].text);
	if (after + 1 < count)
		m = common(e[i].text, e[after + 1].text);
	return n > m ? n : m;
}

/* Texts that came out alike although they are not: the first difference among those decides. */
static void part_alike(char **cuts, char *const *text, size_t count, size_t columns)
{
	struct gw_kernel_names *names = gw_alloc((count + 1) * sizeof(*names));
	bool *clash = gw_alloc((count + 1) * sizeof(*clash));
	unsigned number = 0;

	for (size_t i = 0; i < count; i++)
		names[i] = (struct gw_kernel_names){text[i], text[i]};
	for (unsigned step = 0; step < 2 && find_clashes(cuts, names, count, clash); step++)
		for (size_t i = 0; i < count; i++) {
			size_t least = strlen(text[i]), room = columns > 8 ? columns - 5 : columns;
			size_t first;
			char *plain;

			if (!clash[i])
				continue;
			for (size_t k = 0; k < count; k++)
				if (clash[k] && strcmp(text[k], text[i]) &&
				    common(text[k], text[i]) < least)
					least = common(text[k], text[i]);
			free(cuts[i]);
			if (!step) {
				cuts[i] = cut(text[i], least, columns);
				continue;
			}
			/* They differ in more places than fit: number them. */
			first = i;
			while (first && (!clash[first - 1] || strcmp(text[first - 1], text[i])))
				first--;
			if (first) {
				cuts[i] = gw_copy(cuts[first - 1]);
				continue;
			}
			plain = cut(text[i], least, room);
			cuts[i] = gw_alloc(strlen(plain) + 16);
			snprintf(cuts[i], strlen(plain) + 16, "%s~%u", plain, ++number);
			free(plain);
		}
	free(names);
	free(clash);
}

void gw_kernel_names_fit(char **text, size_t count, size_t columns)
{
	struct entry *e = gw_alloc((count + 1) * sizeof(*e));
	char **cuts = gw_alloc((count + 1) * sizeof(*cuts));

	for (size_t i = 0; i < count; i++)
		e[i] = (struct entry){text[i], "", i};
	qsort(e, count, sizeof(*e), by_text);
	for (size_t i = 0; i < count; i++) {
		const char *t = e[i].text;

		cuts[e[i].index] = gw_columns(t) <= columns
					   ? gw_copy(t)
					   : cut(t, like_others(e, count, i), columns);
	}
	part_alike(cuts, text, count, columns);
	for (size_t i = 0; i < count; i++) {
		free(text[i]);
		text[i] = cuts[i];
	}
	free(cuts);
	free(e);
}
