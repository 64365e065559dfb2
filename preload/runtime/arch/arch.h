/*
 * What depends on the machine: instructions, registers, relocations. One header a machine, each of
 * which defines:
 *
 * gw_bump(counter, n)
 *     Adds @p n to a counter that only the calling thread writes. Atomic with regard to signal
 *     handlers of that thread. Orders nothing.
 *
 * gw_own_exchange(word, from, to)
 *     Stores @p to where @p word equals @p from and returns true, else false. Only the calling
 *     thread writes the word; atomic with regard to its signal handlers. A release: a thread that
 *     loads the new value with acquire sees what was stored before.
 *
 * gw_ticks()
 *     A counter of constant rate, the same on every core, read without a system call. Its rate is
 *     measured (clock.h), not assumed: GHz on x86-64, 31.25 MHz to 1 GHz on aarch64.
 *
 * gw_float_defaults()
 *     Floating-point arithmetic of the calling thread is as that of a new program: rounds to
 *     nearest, and traps nothing.
 *
 * gw_prefetch_to_write(address)
 *     Prefetches the cache line for writing. Never faults.
 *
 * gw_binds_address(type)
 *     Whether a relocation of this type makes a word the address of its symbol.
 *
 * gw_raw_call(number, a, b, c, d, e, f)
 *     A system call; returns the kernel's result, -errno on failure. Calls no function: safe in a
 *     child of vfork() and before relocation.
 *
 * GW_UNWIND_REGISTERS, GW_UNWIND_SP, GW_UNWIND_PC
 *     How many registers unwinding knows, as DWARF numbers them; which of them is the stack
 * pointer, and which holds the address that a function returns to.
 *
 * GW_UNWIND_FROM_HERE(registers)
 *     Stores the stack pointer, the registers that functions preserve, and the address of the
 *     instruction that follows: as GW_UNWIND_PC. Of the others nothing is stored.
 *
 * GW_UNWIND_KNOWN
 *     Which registers that stores, a bit each.
 *
 * gw_unwind_address(word)
 *     The address that a saved return address stands for.
 *
 * and, for functions that a C compiler cannot emit, assembly at file scope:
 *
 * GW_ASM_LOOKUP2(name, filter, next)
 * GW_ASM_LOOKUP3(name, filter, next)
 *     An exported function @p name of two (three) arguments. It calls @p filter with them and the
 *     caller's return address. The filter returns two words: if the second is not 0, the first is
 *     the result; else the function jumps to the address in the variable @p next, with its
 *     arguments and return address unchanged.
 *
 * GW_ASM_PASS_ON(name, first, second, seen, next, raw)
 *     A function @p name of any number of integer arguments. It jumps to the address in the
 *     variable @p next, or to @p raw while that is NULL, with all argument registers and the stack
 *     unchanged. If its first argument is @p first or @p second (texts of numbers below 4096), it
 *     calls @p seen before, with the same arguments.
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
