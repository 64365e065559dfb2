#include "predictor/code/ptx/lex.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Names hold letters, digits, _ and $; registers begin with %; suffixes with a dot. */
static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '$' || c == '%' || c == '.';
}

static char peek(const struct gw_ptx_lexer *l, unsigned ahead)
{
	return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static void new_line(struct gw_ptx_lexer *l)
{
	l->line++;
	l->line_start = l->at + 1;
}

static void skip_comment(struct gw_ptx_lexer *l, bool block)
{
	l->at += 2;
	while (l->at < l->end) {
		if (*l->at == '\n') {
			if (!block)
				return;
			new_line(l);
		}
		if (block && *l->at == '*' && peek(l, 1) == '/') {
			l->at += 2;
			return;
		}
		l->at++;
	}
}

static void skip_blanks(struct gw_ptx_lexer *l)
{
	while (l->at < l->end) {
		char c = *l->at;

		if (c == '/' && (peek(l, 1) == '/' || peek(l, 1) == '*')) {
			skip_comment(l, peek(l, 1) == '*');
			continue;
		}
		if (c == '\n')
			new_line(l);
		else if (c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != '\0')
			return;
		l->at++;
	}
}

static void finish(struct gw_ptx_lexer *l, enum gw_ptx_kind kind, const char *start)
{
	l->token.kind = kind;
	l->token.text = start;
	l->token.length = (uint32_t)(l->at - start);
}

/* 0f and 0d: a float by its bits. */
static void lex_float_bits(struct gw_ptx_lexer *l, const char *start, unsigned digits)
{
	uint64_t v = 0;

	l->at += 2;
	for (unsigned n = 0; n < digits; n++, l->at++) {
		int d = hex_digit(peek(l, 0));

		if (d < 0) {
			finish(l, PTX_BAD, start);
			return;
		}
		v = v << 4 | (unsigned)d;
	}
	l->token.value = v;
	l->token.bits = (uint8_t)(4 * digits);
	finish(l, PTX_FLOAT, start);
}

static unsigned base_of(struct gw_ptx_lexer *l)
{
	if (peek(l, 0) != '0')
		return 10;
	if (peek(l, 1) == 'x' || peek(l, 1) == 'X') {
		l->at += 2;
		return 16;
	}
	if (peek(l, 1) == 'b' || peek(l, 1) == 'B') {
		l->at += 2;
		return 2;
	}
	return 8;
}

/* A decimal float, as people write it and compilers don't: its value is not parsed. */
static bool lex_decimal(struct gw_ptx_lexer *l, const char *start)
{
	const char *p = l->at;

	while (p < l->end && is_digit(*p))
		p++;
	if (p == l->end || *p != '.' || l->end - p < 2 || !is_digit(p[1]))
		return false;
	for (p++; p < l->end && (is_digit(*p) || *p == 'e' || *p == 'E' ||
				 ((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E')));)
		p++;
	l->at = p;
	finish(l, PTX_FLOAT, start);
	return true;
}

static void lex_number(struct gw_ptx_lexer *l)
{
	const char *start = l->at;
	uint64_t v = 0;
	unsigned base;
	int d;

	if (peek(l, 0) == '0' && (peek(l, 1) == 'f' || peek(l, 1) == 'F')) {
		lex_float_bits(l, start, 8);
		return;
	}
	if (peek(l, 0) == '0' && (peek(l, 1) == 'd' || peek(l, 1) == 'D')) {
		lex_float_bits(l, start, 16);
		return;
	}
	if (lex_decimal(l, start))
		return;
	base = base_of(l);
	while ((d = hex_digit(peek(l, 0))) >= 0 && (unsigned)d < base) {
		v = v * base + (unsigned)d;
		l->at++;
	}
	if (peek(l, 0) == 'U')
		l->at++;
	l->token.value = v;
	finish(l, is_word(peek(l, 0)) && peek(l, 0) != '.' ? PTX_BAD : PTX_NUMBER, start);
}

static void lex_word(struct gw_ptx_lexer *l)
{
	const char *start = l->at;

	while (l->at < l->end) {
		if (is_word(*l->at))
			l->at++;
		else if (*l->at == ':' && peek(l, 1) == ':')
			l->at += 2;
		else
			break;
	}
	finish(l, PTX_WORD, start);
}

static void lex_string(struct gw_ptx_lexer *l)
{
	const char *start = ++l->at;

	while (l->at < l->end && *l->at != '"' && *l->at != '\n')
		l->at += *l->at == '\\' && l->end - l->at > 1 && l->at[1] != '\n' ? 2 : 1;
	finish(l, peek(l, 0) == '"' ? PTX_STRING : PTX_BAD, start);
	if (peek(l, 0) == '"')
		l->at++;
}

void gw_ptx_next(struct gw_ptx_lexer *l)
{
	char c;

	skip_blanks(l);
	l->token = (struct gw_ptx_token){.line = l->line,
					 .column = (uint32_t)(l->at - l->line_start) + 1};
	c = peek(l, 0);
	if (l->at >= l->end) {
		finish(l, PTX_END, l->at);
	} else if (is_digit(c)) {
		lex_number(l);
	} else if (is_word(c)) {
		lex_word(l);
	} else if (c == '"') {
		lex_string(l);
	} else {
		l->at++;
		finish(l, c > ' ' && c < 127 ? PTX_MARK : PTX_BAD, l->at - 1);
	}
}

void gw_ptx_lex_begin(struct gw_ptx_lexer *l, struct gw_bytes text)
{
	static const char nothing[1];
	const char *start = text.data ? (const char *)text.data : nothing;

	*l = (struct gw_ptx_lexer){
		.at = start, .end = start + text.size, .line_start = start, .line = 1};
	gw_ptx_next(l);
}

bool gw_ptx_is_mark(const struct gw_ptx_lexer *l, char c)
{
	return l->token.kind == PTX_MARK && *l->token.text == c;
}

bool gw_ptx_is_word(const struct gw_ptx_lexer *l, const char *word)
{
	return l->token.kind == PTX_WORD && l->token.length == strlen(word) &&
	       !memcmp(l->token.text, word, l->token.length);
}

bool gw_ptx_refuse(const struct gw_ptx_token *token, struct gw_ptx_fault *fault, const char *what)
{
	size_t n =
		token->length < sizeof(fault->near) - 1 ? token->length : sizeof(fault->near) - 1;

	fault->what = what;
	fault->line = token->line;
	fault->column = token->column;
	for (size_t i = 0; i < n; i++)
		fault->near[i] =
			token->text[i] >= ' ' && token->text[i] < 127 ? token->text[i] : '?';
	fault->near[n] = '\0';
	return false;
}
