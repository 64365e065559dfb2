/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic linker's own functions, beneath the ones we stand in for. */
#ifndef GW_DL_H
#define GW_DL_H

/** The C library's dlsym and dlvsym; never NULL after gw_dl_init. */
extern void *(*gw_real_dlsym)(void *handle, const char *name);
extern void *(*gw_real_dlvsym)(void *handle, const char *name, const char *version);

/** The next in line: those of a library preloaded behind us, else the C library's. */
extern void *(*gw_next_dlsym)(void *handle, const char *name);
extern void *(*gw_next_dlvsym)(void *handle, const char *name, const char *version);

/** Find them in the C library's symbol table. Idempotent; safe before any constructor has run. */
void gw_dl_init(void);

/** What our dlsym answers: @p answered 0 means the next is to be asked, as if by the @p caller. */
struct gw_dl_answer {
	void *address;
	long answered;
};
struct gw_dl_answer gw_dlsym_filter(void *handle, const char *name, void *caller);
struct gw_dl_answer gw_dlvsym_filter(void *handle, const char *name, const char *version,
                                     void *caller);

#endif
