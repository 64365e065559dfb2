/*
 * Where the launches of a log came from: the stack of the first launch of each configuration. A
 * frame of Python has its names in the log; one of native code has an object and an address, for
 * which symbols.h finds names.
 */
#ifndef GW_CLI_STACKS_H
#define GW_CLI_STACKS_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_log;

/** Code on a stack: a program or a library. */
struct stack_object {
	char *path, *build_id; /**< build_id: hex, "" where it has none */
	bool interpreter;      /**< CPython: its frames stand for those of Python */
};

struct stack_frame {
	uint32_t object;       /**< position in log_stacks.objects; GW_INDEX_NONE: Python */
	uint32_t line;         /**< 0: not known */
	uint64_t address;      /**< of an object, as its file has it; behind the call */
	char *file, *function; /**< "": not known */
	bool looked;           /**< native: its names were looked for */
};

/** Frames stand from the innermost: native ones, then Python's. */
struct log_stack {
	uint32_t config; /**< position in gw_log.configs */
	uint32_t count, python, end, flags;
	uint32_t *frames; /**< positions in log_stacks.frames */
};

/** Zero-initialised is empty. */
struct log_stacks {
	struct stack_object *objects;
	struct stack_frame *frames;
	struct log_stack *list;
	size_t object_count, frame_count, count;
	size_t object_room, frame_room, room;
	uint32_t *of_config; /**< by configuration: position in list, GW_INDEX_NONE: none */
	size_t config_count;
};

void log_stacks_object(struct log_stacks *stacks, const char *path, const char *build_id);
/** @p object: position, GW_INDEX_NONE for Python. */
void log_stacks_frame(struct log_stacks *stacks, const struct gw_record_frame *record,
		      uint32_t object, const char *file, const char *function);
/** @p frames: positions, freed with the stacks; those that are lost are GW_INDEX_NONE. */
void log_stacks_add(struct log_stacks *stacks, const struct gw_record_stack *record,
		    uint32_t config, uint32_t *frames);

/**
 * The log is read: find each configuration's stack. One that has none of its own, as one of a graph
 * node whose argument hash became known between capture and launch, has that of another
 * configuration of its kernel of the same shape.
 */
void log_stacks_settle(struct log_stacks *stacks, const struct gw_log *log);

void log_stacks_free(struct log_stacks *stacks);

enum {
	STACK_SHOWN = 128, /**< frames of a stack that are shown at most */
	LOG_LINE = 512,    /**< bytes of a frame's text */
};

/**
 * The frames of stack @p stack that tell something, from the innermost, named: native ones up to
 * the interpreter's, then those of Python, positions at @p out; how many there are.
 */
size_t log_stack_shown(struct log_stacks *stacks, uint32_t stack, uint32_t out[STACK_SHOWN]);

/** Whether two stacks have the same frames to show. */
bool log_stack_same(const struct log_stacks *stacks, uint32_t one, uint32_t other);

/** A frame in a line, at @p out: "folder/file.py:12 function", "library function",
 * "library+0x1234". */
void log_frame_text(const struct log_stacks *stacks, uint32_t frame, char *out, size_t room);

/**
 * The line of the program that configuration @p config came from, as above: the innermost frame of
 * Python that is no installed package's, else the innermost of Python, else the innermost native
 * one that is not of CUDA, else, where the stack was cut off within CUDA's libraries, the outermost
 * of them. Native functions have short names, as kernels in a table. "[no stack]" where there is
 * none.
 */
void log_stack_line(struct log_stacks *stacks, uint32_t config, char *out, size_t room);

#endif
