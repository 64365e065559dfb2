/* PTX's tokens. */
#ifndef GW_CODE_PTX_LEX_H
#define GW_CODE_PTX_LEX_H

#include "predictor/code/ptx/ptx.h"

enum gw_ptx_kind {
	PTX_END,    /**< of the text */
	PTX_WORD,   /**< name, register, opcode with its suffixes, directive with its dot */
	PTX_NUMBER, /**< integer */
	PTX_FLOAT,  /**< float; value holds its bits, `bits` how many */
	PTX_STRING, /**< without its quotes */
	PTX_MARK,   /**< one character of punctuation */
	PTX_BAD,    /**< none of these */
};

struct gw_ptx_token {
	enum gw_ptx_kind kind;
	const char *text; /**< in the text parsed; not terminated */
	uint32_t length;
	uint32_t line, column;
	uint64_t value; /**< of a number; of a float, its bits */
	uint8_t bits;   /**< of a float: 32 or 64; 0: decimal, its value is not parsed */
};

struct gw_ptx_lexer {
	const char *at, *end, *line_start;
	uint32_t line;
	struct gw_ptx_token token; /**< the current one */
};

/** Begin: the current token is the first. */
void gw_ptx_lex_begin(struct gw_ptx_lexer *lexer, struct gw_bytes text);

/** Go on to the next token. */
void gw_ptx_next(struct gw_ptx_lexer *lexer);

/** The current token is the mark @p c. */
bool gw_ptx_is_mark(const struct gw_ptx_lexer *lexer, char c);

/** The current token is the word @p word. */
bool gw_ptx_is_word(const struct gw_ptx_lexer *lexer, const char *word);

/** Fill @p fault with @p what at the current token. Always false. */
bool gw_ptx_refuse(const struct gw_ptx_token *token, struct gw_ptx_fault *fault, const char *what);

#endif
