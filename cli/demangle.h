/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_DEMANGLE_H
#define GW_DEMANGLE_H

/**
 * The C++ name that @p mangled stands for, or a copy of it when it is none, is too long to be
 * taken apart safely, or no demangler is to be had. free() it.
 */
char *gw_demangle(const char *mangled);

/** Why names stay mangled, as a sentence; NULL when there is a demangler. */
const char *gw_demangle_missing(void);

#endif
