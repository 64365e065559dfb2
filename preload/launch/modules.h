/* Loaded code: numbered, measured, and copied for code analysis unless it is on disk. */
#ifndef GW_MODULES_H
#define GW_MODULES_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A module or library that was loaded; made by a hook, read by the worker, never freed. */
struct gw_module_note {
	struct gw_module_note *next;
	uint32_t number; /**< from 1, in order of loading; one that is loaded again has it again */
	enum gw_module_origin origin;
	uint64_t ticks;    /**< when */
	uint64_t bytes;    /**< size of the image, 0 when not known */
	uint64_t digest;   /**< of the whole image, 0 when not known */
	uint64_t identity; /**< from gw_module_identity() */
	uint64_t stamp; /**< of its file when it was loaded (gw_file_stamp()), 0 when not known */
	uint64_t from_base; /**< with a path and bytes: where the image lies, from where the file
			       was loaded */
	void *image;        /**< our copy, NULL when it is on disk or too large */
	size_t packed; /**< bytes at `image` where it was packed (analysis/code_pack.h); 0: it has
			  all `bytes` */
	const struct gw_module_note *compiled; /**< the machine code that the driver made of it,
						  NULL when that is not known (module_reports.h) */
	char path[]; /**< file it came from or lies in; empty when neither is known */
};

/**
 * A module of @p context, or a library, of none (NULL), was loaded as @p handle: from @p image or
 * from file @p path; either may be NULL.
 */
void gw_module_loaded(void *handle, void *context, enum gw_module_origin origin, const void *image,
		      const char *path);

/** @p handle is about to be unloaded: it and its functions are forgotten. */
void gw_module_gone(void *handle);

/** @p image was made by the driver's linker; a load of it has origin LINKED. */
void gw_module_linked(const void *image);

/** A function or kernel of @p owner was looked up: its handle may have been reused. */
void gw_function_found(void *handle, void *owner);

/** @p module is what library @p library is in @p context: the same code, gone with either. */
void gw_module_of_library(void *module, void *library, void *context);

/** Whose the functions of module @p handle are: the library it is of, else itself. */
uintptr_t gw_module_owner(uintptr_t handle);

/** Number of a loaded module or library, 0 when it isn't known. */
uint32_t gw_module_number(uintptr_t handle);

/**
 * The same number for every load of the same code, another for other code; 0 when module @p number
 * isn't known, or its format. Distinguishes kernels of one name. Code in a file is identified by
 * the file's stamp and the place in it, other code by its bytes, above 16 MiB by its size and first
 * bytes only.
 */
uint64_t gw_module_identity(uint32_t number);

/** What changes when a file is written or replaced, of what stat() said of it; never 0. */
struct stat;
uint64_t gw_file_stamp(const struct stat *file);

/** The module that lies in a file, or has a copy, of this identity and size; NULL: none. */
const struct gw_module_note *gw_module_copy_of(uint64_t digest, size_t bytes);

/** The notes made since the last call, oldest first; the worker calls this. */
struct gw_module_note *gw_module_notes_take(void);

/**
 * Size in bytes of the image at @p image (ELF, fatbin or its wrapper, PTX text), read from its
 * own headers as the driver reads them; 0 when it is none of these. @p start receives
 * where its bytes begin (a wrapper points to them).
 */
size_t gw_image_size(const void *image, const void **start);

#endif
