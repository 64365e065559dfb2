/*
 * Machine code as libcupti reports it when the driver loads a module, whatever way it was asked to:
 * the runtimes up to CUDA 11 load their programs' fat binaries by private tables that no hook sees,
 * and what PTX becomes only the driver knows. Kept for code analysis where the hooks know no
 * better.
 */
#ifndef GW_MODULE_REPORTS_H
#define GW_MODULE_REPORTS_H

#include "preload/launch/modules.h"

/** MiB of all copies of images; in messages, too. */
#define GW_MODULE_COPIES_MIB 64

enum {
	GW_MODULE_COPY_MAX = 16 << 20, /**< bytes of the largest image that is copied */
	GW_MODULE_COPIES_MAX = GW_MODULE_COPIES_MIB << 20,
	GW_MODULE_REPORTS_MAX = 32 << 20, /**< of those of reports, where hooks see modules too */
};

/**
 * Reserve address space for what will be reported; nothing is known yet. False where code is not
 * analysed, or there is none. Before libcupti is attached.
 */
bool gw_module_reports_start(void);

/**
 * The driver has loaded the @p size bytes at @p cubin. In libcupti's callback, on any thread: no
 * lock, no allocation, no system call.
 */
void gw_module_reported(const void *cubin, size_t size);

/**
 * The calling thread is about to have the driver load @p image or the file @p path (the other is
 * NULL), and …
 */
void gw_module_load_begun(const void *image, const char *path);

/**
 * … has done so, or failed to: the machine code that PTX has become meanwhile, NULL where that is
 * not known or it was none. @p library: as a library, which the driver loads when it is used.
 */
const struct gw_module_note *gw_module_load_ended(bool library);

/**
 * A runtime asks for the calls that load libraries, or makes one: it loads all its code so, which
 * hooks see. The driver makes modules of libraries later, on whatever occasion.
 */
void gw_module_libraries(void);

/** Whether there may be modules that no hook sees: none of the above, or such a kernel. */
bool gw_module_reports_wanted(void);

/** A kernel was launched of which no hook saw the module loaded: from now on reports are kept. */
void gw_module_unseen(void);

/**
 * The code of modules that no hook saw loaded, newest first (`next`); number 0, origin DATA. @p
 * all: false where there was no room for some. They stay as long as the process.
 */
const struct gw_module_note *gw_module_reports(bool *all);

/** Take @p bytes of those that all copies of images may have; false: there are not so many left. */
bool gw_module_copy_take(size_t bytes);

/** @p bytes of those taken are free again. */
void gw_module_copy_give(size_t bytes);

/** Bytes taken now. */
uint64_t gw_module_copied(void);

/** A hash of an image's bytes. */
uint64_t gw_module_digest(const void *image, size_t size);

#endif
