/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libelf, opened at run time: the first choice for reading an ELF file's sections and symbols.
 * elf.h opens a file first and keeps what libelf gets inside its bounds; where libelf is missing,
 * or refuses what is in the file, elf.h's own reader answers, with the same. Nothing of libelf is
 * needed to build, and nothing of it remains open between two files.
 *
 * One thread at a time.
 */
#ifndef GW_CODE_LIBELF_H
#define GW_CODE_LIBELF_H

#include "predictor/code/arena.h"
#include "predictor/code/elf.h"

/** Elf_Data, as far as it is looked at; libelf owns these. */
struct gw_libelf_data {
	void *d_buf;        /**< the section's bytes */
	int d_type;         /**< how they are read */
	unsigned d_version; /**< of these types */
	size_t d_size;      /**< bytes */
};

/** Which libelf.so.1 will do. */
enum gw_libelf_from {
	GW_LIBELF_LOADED, /**< one that the process has loaded itself */
	GW_LIBELF_SYSTEM, /**< the dynamic linker's, and all that it needs */
};

/** More sections than these are not given to libelf, which takes about 250 bytes for each. */
enum { GW_LIBELF_SECTIONS_MAX = 1 << 15 };

/**
 * Have libelf read from now on, if there is one with all functions of libelf.def; else why not: a
 * text that stays until the next call. NULL: there is, and it stays loaded.
 */
const char *gw_libelf_open(enum gw_libelf_from from);

/** Leave it to our own reader again. */
void gw_libelf_leave(void);

/** The file of the libelf that reads; NULL: none does. */
const char *gw_libelf_path(void);

/**
 * Have libelf read the sections, and with @p symbols the symbols, of the open file @p elf into
 * tables in @p arena, from which elf.h then answers. Where it can't, all stays as it was, and
 * elf->refused says what libelf found wrong, and where.
 */
void gw_libelf_read(struct gw_elf *elf, bool symbols, struct gw_arena *arena);

#endif
