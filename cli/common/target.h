/*
 * Whether gpuwatch can run a program: what kind of executable it is. ELF files on disk are read by
 * libelf.
 */
#ifndef GW_TARGET_H
#define GW_TARGET_H

#include <stdbool.h>
#include <stddef.h>

enum gw_target_kind {
	GW_TARGET_DYNAMIC,    /**< LD_PRELOAD reaches it */
	GW_TARGET_STATIC,     /**< no dynamic loader: LD_PRELOAD does not reach it */
	GW_TARGET_PRIVILEGED, /**< setuid, setgid or with capabilities: the loader ignores
				 LD_PRELOAD */
	GW_TARGET_FOREIGN,    /**< another architecture or word size */
	GW_TARGET_MUSL,       /**< its C library is musl */
	GW_TARGET_OLD,        /**< its loader is that of a glibc older than 2.34 */
	GW_TARGET_ASAN,       /**< AddressSanitizer's runtime is among its libraries */
	GW_TARGET_BROKEN,     /**< neither program nor script, or a broken header */
	GW_TARGET_UNREADABLE, /**< could not be looked at; it may be run, unchecked */
};

/**
 * Look at the executable @p path; for a script, at its interpreter. Into @p what goes what was
 * found and why it matters, in words that follow the path of the program.
 */
enum gw_target_kind gw_target(const char *path, char *what, size_t size);

/**
 * The file that executing @p command would run, by PATH where it has no slash. 0 and the path in
 * @p out; 127 when there is none, 126 when it may not be executed, as shells and env do.
 */
int gw_target_find(const char *command, char *out, size_t size);

/**
 * libelf's handle of the file open at @p fd, for elf_end(); NULL where it can't be read. It copies
 * what it reads: a mapped file that is cut short ends its reader (SIGBUS).
 */
struct Elf *gw_target_elf(int fd);

/** The GNU build id of an ELF file in hexadecimal; "" where it has none. */
void gw_target_build_id(struct Elf *elf, char *out, size_t size);

#endif
