/*
 * Kernels of a cubin: their code, what they need, how their parameters lie. Opening a cubin finds
 * its kernels; what is known of one is read when it is asked for.
 */
#ifndef GW_CODE_KERNEL_H
#define GW_CODE_KERNEL_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/elf.h"
#include "predictor/code/binary/image.h"

/** A parameter, from the cubin, the PTX or the driver; they stand in the order of their
 * declaration. */
struct gw_code_param {
	uint32_t offset; /**< bytes from the first parameter's begin */
	uint32_t size;   /**< bytes */
};

/** Banks of constant memory that a kernel can address. */
enum { GW_CODE_BANKS = 5 };

/** A number of a kernel that the cubin lacks. */
#define GW_CODE_UNKNOWN UINT32_MAX

/** A kernel in the list of its cubin: where its parts lie. */
struct gw_cubin_kernel {
	const char *name;             /**< mangled, in the cubin's bytes */
	uint32_t symbol;              /**< its number in the table of symbols */
	uint32_t text;                /**< section of its code */
	uint32_t info;                /**< section of its attributes (.nv.info.NAME); 0 = none */
	uint32_t shared;              /**< section of its static shared memory; 0 = none */
	uint32_t bank[GW_CODE_BANKS]; /**< its sections of constants; 0 = none */
	uint32_t relocations;         /**< section of its code's relocations; 0 = none */
	uint32_t registers, frame, min_stack;    /**< as struct gw_code_kernel has them */
	uint32_t first_function, function_count; /**< in the cubin's list of functions */
};

/** An open cubin; refers to the bytes it was opened on. */
struct gw_cubin {
	struct gw_elf elf;
	struct gw_elf_symbols symbols;
	struct gw_code_arch arch;
	bool old;                       /**< its header is of the form before CUDA 13 */
	bool linked;                    /**< false: relocatable, still to be linked (nvcc -rdc) */
	struct gw_cubin_kernel *kernel; /**< in the order of their symbols */
	uint32_t count;
	uint32_t *function;           /**< symbols of the functions in kernels' code, by kernel */
	uint32_t bank[GW_CODE_BANKS]; /**< sections of constants that all kernels share */
	uint32_t addresses;           /**< section of the relocations of bank 4; 0 = none */
	struct gw_code_relocation *outside; /**< words of constant bank 4 that get addresses of what
					       is in no cubin: functions of the driver's */
	uint32_t outside_count;
};

/** A function inside a kernel's code: the kernel itself or one that was not inlined. */
struct gw_code_function {
	const char *name;
	uint64_t offset, size; /**< bytes, in the kernel's code */
};

/** A place in a kernel's code that refers to a symbol and that a linker or loader fills in. */
struct gw_code_relocation {
	uint64_t offset;    /**< byte of the code */
	uint32_t type;      /**< number of R_CUDA_… */
	const char *symbol; /**< what it refers to; "" when that has no name */
	int64_t addend;
};

/** A kernel's data in a cubin. Numbers it lacks are GW_CODE_UNKNOWN. */
struct gw_code_kernel {
	const char *name; /**< mangled */
	struct gw_code_arch arch;
	struct gw_bytes code;     /**< machine code, not relocated */
	uint32_t registers;       /**< per thread */
	uint32_t static_shared;   /**< bytes per block, as the driver reports it: its own alone */
	uint32_t reserved_shared; /**< bytes that the system has in front of them */
	uint32_t frame;           /**< local memory of its own frame, bytes per thread */
	uint32_t min_stack;       /**< with the frames of what it calls, where that is known */
	uint32_t crs_stack;       /**< call-return stack, bytes; old processors */
	uint32_t barriers;        /**< named barriers used */
	uint32_t param_base;      /**< place of the parameters in constant bank 0, bytes */
	uint32_t param_size;      /**< bytes of all */
	struct gw_code_param *param;  /**< in the order of declaration */
	uint32_t param_count;         /**< GW_CODE_UNKNOWN when their layout is unknown */
	uint32_t max_threads[3];      /**< launch bounds; their product counts; else unknown */
	uint32_t required_threads[3]; /**< the only shape of a block allowed; else unknown */
	uint32_t max_registers;       /**< what the compiler was allowed */
	uint32_t cluster[3];          /**< compiled-in shape of a cluster, blocks; else unknown */
	struct gw_bytes bank[GW_CODE_BANKS]; /**< initial constants, its own or the cubin's shared;
						bank 0 ends with the parameters */
	uint32_t *exits;                     /**< where its code ends a thread: bytes into it */
	uint32_t exit_count;
	struct gw_code_function *function; /**< by rising offset */
	uint32_t function_count;
	struct gw_code_relocation *relocation;
	uint32_t relocation_count;
	const struct gw_code_relocation *outside; /**< the cubin's */
	uint32_t outside_count;
};

/** Open @p cubin: find its kernels. False with the fault; the arena holds the list. */
bool gw_cubin_open(struct gw_bytes cubin, struct gw_arena *arena, struct gw_cubin *out,
		   struct gw_fault *fault);

/** Number of the kernel of this (mangled) name; cubin->count when there is none. */
uint32_t gw_cubin_find(const struct gw_cubin *cubin, const char *name);

/** What is known of kernel @p index, which must be below cubin->count. False with the fault. */
bool gw_cubin_kernel(const struct gw_cubin *cubin, uint32_t index, struct gw_arena *arena,
		     struct gw_code_kernel *out, struct gw_fault *fault);

/** The architecture a cubin is for, by its header and notes; number 0 when it doesn't say. */
struct gw_code_arch gw_cubin_arch(struct gw_bytes cubin);

#endif
