/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on the machine's instructions, registers and relocations; a header a machine. Each
 * defines:
 *
 * gw_bump(counter, n)              Adds to a counter that one thread writes. No signal handler of
 * that thread comes between its load and its store. Orders nothing. gw_own_exchange(word, from, to)
 * Writes `to` where `from` stands and returns true, else false. For a word that its owner alone
 * writes: no signal handler of the thread comes between. Another thread that loads the word with
 * acquire sees what was stored before (release). gw_ticks()                       A counter of
 * constant rate, the same on every core, that user code reads without a system call. Its rate is
 * measured (clock.h), not assumed: GHz on x86-64, 31.25 MHz to 1 GHz on aarch64.
 * gw_prefetch_to_write(address)    Asks for the cache line, to be written. Never faults.
 * gw_binds_address(type)           Whether a relocation of this type makes a word the address of
 * its symbol. gw_raw_call(number, a .. f)      A system call with up to six arguments; the kernel's
 * own result, -errno on failure. Calls nothing: safe in a child of vfork() and before relocation.
 *
 * and, for functions that a C compiler can't be made to emit, statements of assembly at file scope:
 *
 * GW_ASM_LOOKUP2(name, filter, next)   An exported function of two (three) arguments that calls
 * `filter` with them and GW_ASM_LOOKUP3(name, filter, next)   the caller's return address. The
 * filter returns two words: with the second not 0 the first is the answer; else the function jumps
 * to where the variable `next` points, its arguments and return address as they came.
 * GW_ASM_PASS_ON(name, first, second, seen, next, raw)
 *                                      A function of any number of integer arguments that jumps to
 * where the variable `next` points, or to `raw` while that is NULL, with all argument registers and
 *                                      the stack as they came. Where its first argument is one of
 * the two constants (texts of numbers below 4096), `seen` is called before, with the same
 * arguments.
 */
#ifndef GW_ARCH_H
#define GW_ARCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_TEXT(x)  GW_TEXT_(x)
#define GW_TEXT_(x) #x

#if defined(__x86_64__)
#include "preload/runtime/arch/x86_64.h"
#elif defined(__aarch64__)
#include "preload/runtime/arch/aarch64.h"
#else
#error "libgpuwatch.so is for x86-64 and aarch64: another machine needs its header in preload/runtime/arch"
#endif

#endif
