/* aarch64; arch.h says what each of these promises, and includes this file. */
#ifndef GW_ARCH_AARCH64_H
#define GW_ARCH_AARCH64_H

#include <elf.h>

/* A load and a store that an exception between them makes start again; one instruction where the
 * CPU has LSE atomics (Grace has). */
static inline void gw_bump(_Atomic uint64_t *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static inline __attribute__((always_inline)) bool gw_own_exchange(uint32_t *word, uint32_t from,
								  uint32_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* The virtual count, that Linux lets user code read. No barrier before it, as there is none on
 * x86-64: a time of a call may be early by what the CPU runs ahead. */
static inline uint64_t gw_ticks(void)
{
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline void gw_float_defaults(void)
{
	__asm__ volatile("msr fpcr, xzr");
}

static inline void gw_prefetch_to_write(const void *address)
{
	__builtin_prefetch(address, 1, 3);
}

static inline bool gw_binds_address(uint32_t type)
{
	return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64 || type == R_AARCH64_JUMP_SLOT;
}

static inline long gw_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

enum { GW_UNWIND_REGISTERS = 33, GW_UNWIND_SP = 31, GW_UNWIND_PC = 30 };
/* x19 to x29, the address that x30 returns to, sp */
#define GW_UNWIND_KNOWN (0x7ffu << 19 | 1u << 30 | 1u << 31)
#define GW_UNWIND_FROM_HERE(registers) \
	__asm__ volatile("stp x19, x20, [%0, 152]\n\t" \
			 "stp x21, x22, [%0, 168]\n\t" \
			 "stp x23, x24, [%0, 184]\n\t" \
			 "stp x25, x26, [%0, 200]\n\t" \
			 "stp x27, x28, [%0, 216]\n\t" \
			 "mov x1, sp\n\t" \
			 "str x1, [%0, 248]\n\t" \
			 "adr x1, 0f\n" \
			 "0:\tstp x29, x1, [%0, 232]" \
			 : \
			 : "r"(registers) \
			 : "x1", "memory")

/* The upper bits may be a signature. */
static inline uint64_t gw_unwind_address(uint64_t word)
{
	return word & UINT64_C(0xffffffffffff);
}

/* hint 34: bti c. */
#define GW_ASM_BEGIN(name) \
	".text\n" \
	".globl " name "\n" \
	".type " name ", %function\n" name ":\n" \
	"	.cfi_startproc\n" \
	"	hint 34\n"
#define GW_ASM_END(name) \
	"	.cfi_endproc\n" \
	".size " name ", .-" name "\n"
/* A frame of ten words: x29, x30, then the eight argument registers. */
#define GW_ASM_SAVE \
	"	stp x29, x30, [sp, -96]!\n" \
	"	.cfi_def_cfa_offset 96\n" \
	"	.cfi_offset 29, -96\n" \
	"	.cfi_offset 30, -88\n" \
	"	mov x29, sp\n" \
	"	stp x0, x1, [sp, 16]\n" \
	"	stp x2, x3, [sp, 32]\n" \
	"	stp x4, x5, [sp, 48]\n" \
	"	stp x6, x7, [sp, 64]\n" \
	"	str x8, [sp, 80]\n"
#define GW_ASM_LEAVE \
	"	ldp x29, x30, [sp], 96\n" \
	"	.cfi_def_cfa_offset 0\n" \
	"	.cfi_restore 29\n" \
	"	.cfi_restore 30\n"
#define GW_ASM_RESTORE \
	"	ldp x0, x1, [sp, 16]\n" \
	"	ldp x2, x3, [sp, 32]\n" \
	"	ldp x4, x5, [sp, 48]\n" \
	"	ldp x6, x7, [sp, 64]\n" \
	"	ldr x8, [sp, 80]\n" GW_ASM_LEAVE
#define GW_ASM_LOAD(variable) \
	"	adrp x16, " variable "\n" \
	"	ldr x16, [x16, :lo12:" variable "]\n"

/* One instruction a line. */
/* clang-format off */
/* x1 says whether x0 is the answer. */
#define GW_ASM_LOOKUP(name, filter, next, last) \
	__asm__(GW_ASM_BEGIN(name) \
		GW_ASM_SAVE \
		"	mov " last ", x30\n" \
		"	bl " filter "\n" \
		"	cbnz x1, 1f\n" \
		"	.cfi_remember_state\n" \
		GW_ASM_RESTORE \
		GW_ASM_LOAD(next) \
		"	br x16\n" \
		"	.cfi_restore_state\n" \
		"1:\n" \
		GW_ASM_LEAVE \
		"	ret\n" \
		GW_ASM_END(name))
#define GW_ASM_LOOKUP2(name, filter, next) GW_ASM_LOOKUP(name, filter, next, "x2")
#define GW_ASM_LOOKUP3(name, filter, next) GW_ASM_LOOKUP(name, filter, next, "x3")

#define GW_ASM_PASS_ON(name, first, second, seen, next, raw) \
	__asm__(GW_ASM_BEGIN(name) \
		"	cmp w0, #" first "\n" \
		"	b.eq 1f\n" \
		"	cmp w0, #" second "\n" \
		"	b.eq 1f\n" \
		"0:\n" \
		GW_ASM_LOAD(next) \
		"	cbz x16, 2f\n" \
		"	br x16\n" \
		"1:\n" \
		GW_ASM_SAVE \
		"	bl " seen "\n" \
		GW_ASM_RESTORE \
		"	b 0b\n" \
		"2:	b " raw "\n" \
		GW_ASM_END(name))
/* clang-format on */

#endif
