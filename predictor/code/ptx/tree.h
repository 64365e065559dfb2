/* What the parser makes of a PTX text, for the lowering: names resolved, instructions not yet. */
#ifndef GW_CODE_PTX_TREE_H
#define GW_CODE_PTX_TREE_H

#include "predictor/code/ptx/ptx.h"
#include "predictor/code/ptx/lex.h"

#define PTX_NONE UINT32_MAX

/** What a name stands for in a scope. */
enum gw_ptx_named { PTX_NAMED_REGISTER, PTX_NAMED_VARIABLE, PTX_NAMED_LABEL, PTX_NAMED_FUNCTION };

/** A variable: of the module or of a function, a parameter of a kernel, function or call. */
struct gw_ptx_variable {
	const char *name;
	uint8_t space;    /**< enum gw_ir_space; PARAM: a kernel's, FRAME: a function's or call's */
	bool in_register; /**< a function's parameter declared .reg */
	bool dynamic;     /**< an array without a size */
	uint32_t reg;     /**< its register, when in_register */
	uint32_t align;   /**< bytes */
	uint64_t size;    /**< bytes */
	uint32_t offset;  /**< of a kernel parameter */
	const uint8_t *bytes; /**< initial contents, or NULL */
};

enum gw_ptx_operand_kind {
	PTX_OPERAND_REGISTER, /**< index: register of the function */
	PTX_OPERAND_VARIABLE, /**< index: in variables[], plus value */
	PTX_OPERAND_NUMBER,   /**< value */
	PTX_OPERAND_FLOAT,    /**< value: its bits; width: 32 or 64, 0 when not parsed */
	PTX_OPERAND_SPECIAL,  /**< index: a name such as %tid.x */
	PTX_OPERAND_NAME,     /**< index: a label, a function or something unknown */
	PTX_OPERAND_LIST,     /**< {a, b} or (a, b): index, count: in operands[] */
	PTX_OPERAND_MEMORY,   /**< [a], [a + value], [a, b]: index, count: in operands[] */
	PTX_OPERAND_PAIR,     /**< a|b: index, count 2 */
	PTX_OPERAND_SINK,     /**< _ */
};

struct gw_ptx_operand {
	uint8_t kind; /**< enum gw_ptx_operand_kind */
	uint8_t width;
	bool negated; /**< !a */
	uint32_t index, count;
	uint64_t value; /**< number, or offset */
};

/** An instruction; or, with no opcode, a list of names (.branchtargets), named by its label. */
struct gw_ptx_statement {
	const char *opcode;    /**< with its suffixes; NULL: a list of names */
	uint32_t first, count; /**< operands */
	uint32_t guard;        /**< register; PTX_NONE: none */
	bool guard_not;
	uint32_t scope;
	uint32_t line, column;
};

struct gw_ptx_function {
	struct gw_ptx_kernel kernel; /**< its name; for an entry, all of it */
	bool is_entry, has_body;
	uint32_t first_result, results;     /**< variables[] */
	uint32_t first_param, params;       /**< variables[] */
	uint32_t first, count;              /**< statements */
	uint32_t first_register, registers; /**< widths[] */
	uint32_t scope;                     /**< of its body */
};

/** Names of the text, each once. */
struct gw_ptx_name {
	const char *text;
	uint32_t length;
	uint32_t next; /**< in its bucket */
};

/** What a name stands for in one scope. */
struct gw_ptx_meaning {
	uint32_t scope, name;
	uint8_t what;   /**< enum gw_ptx_named */
	uint32_t index; /**< register, variable, statement or function */
	uint32_t next;
};

/** `.reg .b32 %r<5>`: registers made when they are first named. */
struct gw_ptx_range {
	uint32_t scope, prefix, count; /**< prefix: a name */
	uint8_t width;
	uint32_t next; /**< of the same scope */
};

struct gw_ptx_scope {
	uint32_t parent; /**< PTX_NONE: the module's */
	uint32_t ranges; /**< first */
};

/** An array that grows. */
struct gw_ptx_array {
	void *items;
	uint32_t count, room;
};

struct gw_ptx_inside {
	struct gw_arena *arena;
	struct gw_ptx_array functions, variables, statements, operands, widths, names, meanings,
		ranges, scopes;
	uint32_t *name_bucket, *meaning_bucket;
	uint32_t looks; /**< at names, at most GW_PTX_LOOKS_MAX: a tenth of a second and more */
};

enum { GW_PTX_LOOKS_MAX = 1 << 25 };

/** Element @p i of an array, of the type named. */
#define PTX_AT(type, array, i) ((struct gw_ptx_##type *)(array).items + (i))

/** Room for one more element of @p size bytes, zeroed; NULL: no room, or no more looks. */
void *gw_ptx_add(struct gw_ptx_inside *in, struct gw_ptx_array *array, size_t size);

/* names.c */
bool gw_ptx_names_init(struct gw_ptx_inside *in);
/** The name's index, made when it is new; PTX_NONE: no room. */
uint32_t gw_ptx_name(struct gw_ptx_inside *in, const char *text, uint32_t length);
const char *gw_ptx_name_text(const struct gw_ptx_inside *in, uint32_t name);
uint32_t gw_ptx_scope_open(struct gw_ptx_inside *in, uint32_t parent);
bool gw_ptx_mean(struct gw_ptx_inside *in, uint32_t scope, uint32_t name, enum gw_ptx_named what,
		 uint32_t index);
/** What @p name stands for, from @p scope outwards; registers of a range are made on the way, with
 *  numbers counted from @p first_register. NULL: nothing. */
const struct gw_ptx_meaning *gw_ptx_meaning(struct gw_ptx_inside *in, uint32_t scope, uint32_t name,
					    uint32_t first_register);
bool gw_ptx_range_add(struct gw_ptx_inside *in, uint32_t scope, uint32_t prefix, uint32_t count,
		      unsigned width);
/** A register of its own; PTX_NONE: no room. */
uint32_t gw_ptx_register(struct gw_ptx_inside *in, uint32_t first_register, unsigned width);

/** The parser's state. */
struct gw_ptx_parser {
	struct gw_ptx_lexer lexer;
	struct gw_ptx_inside *in;
	struct gw_ptx *out;
	struct gw_ptx_fault *fault;
	struct gw_ptx_function *function; /**< whose body is being read, or NULL */
	uint32_t depth;
	bool listing; /**< bodies are read, but not kept */
};

/** Refuse the text at the current token. Always false. */
bool gw_ptx_fail(struct gw_ptx_parser *p, const char *what);
/** Refuse it because the arena has no room, or its names take too long. Always false. */
bool gw_ptx_no_room(struct gw_ptx_parser *p);
/** Take the mark @p c, or refuse. */
bool gw_ptx_expect(struct gw_ptx_parser *p, char c);

/* declare.c: declarations of registers, variables and parameters. */
/** `.reg ...;` of @p scope, the current token being behind ".reg". */
bool gw_ptx_declare_registers(struct gw_ptx_parser *p, uint32_t scope);
/** A variable of @p space, the current token being behind its space. Its index in *index. */
bool gw_ptx_declare_variable(struct gw_ptx_parser *p, uint32_t scope, enum gw_ir_space space,
			     uint32_t *index);
/** Space of a directive (".shared"); false: it is none. */
bool gw_ptx_space_of(const struct gw_ptx_token *token, enum gw_ir_space *space);

/* body.c */
/** The statements of a body, up to its closing brace; the current token is behind the opening. */
bool gw_ptx_parse_body(struct gw_ptx_parser *p, uint32_t scope);

#endif
