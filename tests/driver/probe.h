/*
 * The conformance probe's parts: the libraries' functions found at run time, and a trace that
 * says the same on every machine: handles are #1, #2 in order of appearance, ids are relative.
 */
#ifndef GW_TESTS_DRIVER_PROBE_H
#define GW_TESTS_DRIVER_PROBE_H

#include <cuda.h>
#include <cupti.h>
#include <stdint.h>

struct probe_api {
#define PROBE_DRIVER(name) __typeof__(name) *name;
#define PROBE_CUPTI(name) __typeof__(name) *name;
#include "probe.def"
};
extern struct probe_api d;
extern void *probe_driver;      /* dlopen's handle of libcuda.so.1 */
extern const void *probe_image; /* the kernels, as cuModuleLoadData takes them */

struct probe_kernels {
	CUmodule module;
	CUfunction empty, one, two, spin;
};

/* "#n" of a handle, "null" for NULL; the text lives until four more were asked for. */
const char *probe_handle(const void *handle);
/* Starts the numbers again: a value may come back as another object's, here or there. */
void probe_forget(void);
/* One line: the call's text, its result, then what `format` adds. */
void probe_line(int result, const char *call, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define TRACE(call, ...) \
	do { /* the call before its outputs are read */ \
		int result_ = (int)d.call; \
		probe_line(result_, #call, __VA_ARGS__); \
	} while (0)

#define PROBE_SECTION(name) void probe_##name(const struct probe_kernels *k);
#include "probe.def"
void probe_errors_early(void);

#endif
