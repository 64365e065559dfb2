/*
 * Command-line options, one table per command. The table is what the parser, --help, the
 * manual and the completion read.
 */
#ifndef GW_CLI_OPTIONS_H
#define GW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_option_type {
	GW_OPTION_FLAG,   /**< no value; stored as bool */
	GW_OPTION_TEXT,   /**< any text; const char * */
	GW_OPTION_FILE,   /**< the same; completion offers files */
	GW_OPTION_CHOICE, /**< one of `choices`; const char * */
	GW_OPTION_NUMBER, /**< a number between low and high; double */
	GW_OPTION_COUNT,  /**< a whole number between low and high; uint64_t */
	GW_OPTION_SIZE,   /**< bytes with an optional K, M, G, T between low and high; uint64_t */
	GW_OPTION_LIST, /**< any text but none; the option may stand several times; struct gw_words
			 */
};

enum { GW_WORDS_MAX = 64 }; /**< most times a LIST option may stand */

/** Where a LIST option goes, in the order given. */
struct gw_words {
	size_t count;
	const char *word[GW_WORDS_MAX];
};

/** An option: --name, --name=VALUE or --name VALUE; -o FILE is --output=FILE, or
 * --out=FILE. A row whose name is NULL ends a table. */
struct gw_option {
	const char *name; /**< an underscore in it is written as a hyphen */
	enum gw_option_type type;
	const char *argument; /**< what the value is called in help, "" or NULL for a flag */
	const char *choices;  /**< for CHOICE: words separated by |; for TEXT: words to complete */
	double low, high;     /**< for NUMBER, COUNT, SIZE; both 0: any that is not negative */
	size_t offset;        /**< where the value goes in the command's struct */
	bool text;            /**< check the value by its type, but store it as const char * */
	bool written;         /**< for FILE: what is written; never a log, never what is read */
	const char *meaning;  /**< for help and manual; starts with a small letter, no full stop */
};

/**
 * Rows of a command's table. An option is called as the field of the command's `struct options`
 * that it goes to; a table ends with {0}.
 */
#define GW_OPT_FLAG(field, ...)       GW_OPT_ROW(field, FLAG, .meaning = __VA_ARGS__)
#define GW_OPT_TEXT(field, term, ...) GW_OPT_VALUE(field, TEXT, term, __VA_ARGS__)
#define GW_OPT_WORD(field, term, words, ...) \
	GW_OPT_VALUE(field, TEXT, term, __VA_ARGS__, .choices = words)
#define GW_OPT_FILE(field, term, ...) GW_OPT_VALUE(field, FILE, term, __VA_ARGS__)
#define GW_OPT_OUT(field, term, ...)  GW_OPT_VALUE(field, FILE, term, __VA_ARGS__, .written = true)
#define GW_OPT_LIST(field, term, ...) GW_OPT_VALUE(field, LIST, term, __VA_ARGS__)
#define GW_OPT_CHOICE(field, term, words, ...) \
	GW_OPT_VALUE(field, CHOICE, term, __VA_ARGS__, .choices = words)
#define GW_OPT_COUNT(field, term, least, most, ...) \
	GW_OPT_VALUE(field, COUNT, term, __VA_ARGS__, .low = least, .high = most)
#define GW_OPT_VALUE(field, kind, term, ...) \
	GW_OPT_ROW(field, kind, .argument = term, .meaning = __VA_ARGS__)
#define GW_OPT_ROW(field, kind, ...) \
	{ \
		.name = #field, .type = GW_OPTION_##kind, \
		.offset = offsetof(struct options, field), __VA_ARGS__ \
	}

/**
 * Parse @p argv, @p argc strings, by @p options into the struct @p values, whose fields stay as
 * they are where no option names them. Operands are moved to the front of argv in their order and
 * *argc becomes their number. After "--", and after the first operand when @p stop_at_operand,
 * everything is an operand. What an option marked `written` names may be no gpuwatch log, no
 * operand, and no file that another option reads. Returns false after one message on stderr;
 * @p command is its name there.
 */
bool gw_options_parse(const struct gw_option *options, const char *command, bool stop_at_operand,
		      int *argc, char **argv, void *values);

/**
 * Check @p text as a value of @p option; on success store it through @p where (may be NULL).
 * Returns NULL, or why not: the text says what is allowed and is valid until the next call.
 */
const char *gw_option_check(const struct gw_option *option, const char *text, void *where);

/** Print the options (NULL: none) as --help shows them, --help itself last. */
void gw_options_help(const struct gw_option *options);

enum { GW_OPTION_MEANING = 700 }; /**< room for what gw_option_meaning says */

/** What the option means, with the words or the range it takes, into @p out. Returns @p out. */
const char *gw_option_meaning(const struct gw_option *option, char *out, size_t size);

/** The option as it is written, "--log-max", into @p out. Returns @p out. */
const char *gw_option_name(const struct gw_option *option, char *out, size_t size);

/** Whether the option takes a value, and whether completion has words for it. */
static inline bool gw_option_valued(const struct gw_option *option)
{
	return option->argument && *option->argument;
}
static inline bool gw_option_listed(const struct gw_option *option)
{
	return option->choices && *option->choices;
}

#endif
