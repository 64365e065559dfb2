/* x86-64; arch.h says what each of these promises, and includes this file. */
#ifndef GW_ARCH_X86_64_H
#define GW_ARCH_X86_64_H

#include <elf.h>

/* One instruction, without the lock that other writers would need. */
static inline void gw_bump(_Atomic uint64_t *c, uint64_t n)
{
	__asm__ volatile("addq %1, %0" : "+m"(*c) : "er"(n));
}

/* Without the lock, too; every store here is a release. */
static inline __attribute__((always_inline)) bool gw_own_exchange(uint32_t *word, uint32_t from,
								  uint32_t to)
{
	/* ThreadSanitizer cannot look into the instruction, which orders as any here does. */
#ifdef __SANITIZE_THREAD__
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
#else
	bool done;

	__asm__ volatile("cmpxchgl %3, %1"
			 : "=@ccz"(done), "+m"(*word), "+a"(from)
			 : "r"(to)
			 : "memory");
	return done;
#endif
}

/* Invariant on every CPU that CUDA 12 runs on. */
static inline uint64_t gw_ticks(void)
{
	return __builtin_ia32_rdtsc();
}

static inline void gw_float_defaults(void)
{
	const uint32_t defaults = 0x1f80;

	__asm__ volatile("fninit\n\tldmxcsr %0" : : "m"(defaults));
}

/* __builtin_prefetch() reads this line to share it unless the compiler may assume a newer CPU. */
static inline void gw_prefetch_to_write(const void *address)
{
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
}

static inline bool gw_binds_address(uint32_t type)
{
	return type == R_X86_64_GLOB_DAT || type == R_X86_64_64 || type == R_X86_64_JUMP_SLOT;
}

static inline long gw_raw_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

enum { GW_UNWIND_REGISTERS = 17, GW_UNWIND_SP = 7, GW_UNWIND_PC = 16 };
/* rbx, rbp, rsp, r12 to r15, rip */
#define GW_UNWIND_KNOWN (1u << 3 | 1u << 6 | 1u << 7 | 15u << 12 | 1u << 16)
#define GW_UNWIND_FROM_HERE(registers) \
	__asm__ volatile("movq %%rbx, 24(%0)\n\t" \
			 "movq %%rbp, 48(%0)\n\t" \
			 "movq %%rsp, 56(%0)\n\t" \
			 "movq %%r12, 96(%0)\n\t" \
			 "movq %%r13, 104(%0)\n\t" \
			 "movq %%r14, 112(%0)\n\t" \
			 "movq %%r15, 120(%0)\n\t" \
			 "leaq 0f(%%rip), %%rax\n" \
			 "0:\tmovq %%rax, 128(%0)" \
			 : \
			 : "r"(registers) \
			 : "rax", "memory")

static inline uint64_t gw_unwind_address(uint64_t word)
{
	return word;
}

/* One instruction a line. */
/* clang-format off */
#define GW_ASM_BEGIN(name) \
	".text\n" \
	".globl " name "\n" \
	".type " name ", @function\n" \
	name ":\n" \
	"	.cfi_startproc\n" \
	"	endbr64\n"
#define GW_ASM_END(name) \
	"	.cfi_endproc\n" \
	".size " name ", .-" name "\n"

/*
 * 24 bytes on the stack keep it aligned; above them is the caller's address, the filter's last
 * argument (in the register @p last). rdx says whether rax is the answer.
 */
#define GW_ASM_LOOKUP(name, filter, next, save, last, restore) \
	__asm__(GW_ASM_BEGIN(name) \
		"	subq $24, %rsp\n" \
		"	.cfi_adjust_cfa_offset 24\n" \
		"	movq %rdi, (%rsp)\n" \
		"	movq %rsi, 8(%rsp)\n" \
		save \
		"	movq 24(%rsp), " last "\n" \
		"	call " filter "\n" \
		"	movq (%rsp), %rdi\n" \
		"	movq 8(%rsp), %rsi\n" \
		"	testq %rdx, %rdx\n" \
		restore \
		"	leaq 24(%rsp), %rsp\n" \
		"	.cfi_adjust_cfa_offset -24\n" \
		"	jne 1f\n" \
		"	movq " next "(%rip), %rax\n" \
		"	jmp *%rax\n" \
		"1:	ret\n" \
		GW_ASM_END(name))
#define GW_ASM_LOOKUP2(name, filter, next) GW_ASM_LOOKUP(name, filter, next, "", "%rdx", "")
#define GW_ASM_LOOKUP3(name, filter, next) \
	GW_ASM_LOOKUP(name, filter, next, "	movq %rdx, 16(%rsp)\n", "%rcx", "	movq 16(%rsp), %rdx\n")

#define GW_ASM_PUSH(r) "	pushq " r "\n	.cfi_adjust_cfa_offset 8\n"
#define GW_ASM_POP(r)  "	popq " r "\n	.cfi_adjust_cfa_offset -8\n"
/* Seven words and the return address: the stack is aligned. rax: how many vector registers are
 * arguments. */
#define GW_ASM_SAVED(call) \
	GW_ASM_PUSH("%rdi") GW_ASM_PUSH("%rsi") GW_ASM_PUSH("%rdx") GW_ASM_PUSH("%rcx") \
	GW_ASM_PUSH("%r8") GW_ASM_PUSH("%r9") GW_ASM_PUSH("%rax") \
	call \
	GW_ASM_POP("%rax") GW_ASM_POP("%r9") GW_ASM_POP("%r8") \
	GW_ASM_POP("%rcx") GW_ASM_POP("%rdx") GW_ASM_POP("%rsi") GW_ASM_POP("%rdi")
#define GW_ASM_PASS_ON(name, first, second, seen, next, raw) \
	__asm__(GW_ASM_BEGIN(name) \
		"	cmpl $" first ", %edi\n" \
		"	je 1f\n" \
		"	cmpl $" second ", %edi\n" \
		"	je 1f\n" \
		"0:\n" \
		"	movq " next "(%rip), %r11\n" \
		"	testq %r11, %r11\n" \
		"	je " raw "\n" \
		"	jmp *%r11\n" \
		"1:\n" \
		GW_ASM_SAVED("	call " seen "\n") \
		"	jmp 0b\n" \
		GW_ASM_END(name))
/* clang-format on */

#endif
