/* The dynamic linker's own functions, beneath the ones we stand in for. */
#ifndef GW_REAL_DL_H
#define GW_REAL_DL_H

#include <stdbool.h>
#include <stdint.h>

/** The C library's dlsym and dlvsym; never NULL after gw_dl_init. */
extern void *(*gw_real_dlsym)(void *handle, const char *name);
extern void *(*gw_real_dlvsym)(void *handle, const char *name, const char *version);

/** Where the object lies that has them. */
extern uintptr_t gw_libc_base;

/** The next in line: those of a library preloaded behind us, else the C library's. */
extern void *(*gw_next_dlsym)(void *handle, const char *name);
extern void *(*gw_next_dlvsym)(void *handle, const char *name, const char *version);

/** Find them in the C library's symbol table. Idempotent; safe before any constructor has run. */
void gw_dl_init(void);

/**
 * Put the functions of @p handle that @p names lists, each ended by a 0 and all by another, into
 * @p place. Returns the first of the @p needed first ones that is lacking, NULL: none is.
 */
const char *gw_dl_find(void *handle, void **place, const char *names, unsigned needed);

/** Find the functions of libm that the library calls, before it calls any; false: there is one that
 * libm lacks, or no libm. */
bool gw_libm_find(void);

#endif
