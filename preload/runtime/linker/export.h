/*
 * Names of libcuda and libcupti, exported so that calls by name come to us and look-ups do not: as
 * an old version of the symbol, hidden, in the first version node of the library (exports.map).
 * glibc binds a reference without a version to the first node's symbol, as old programs need it,
 * but dlsym() passes over every hidden one. So dlsym() answers, whoever asks, as if we were not
 * there, and lookup.c puts our wrapper in the driver's place where the driver's own would be the
 * answer.
 */
#ifndef GW_EXPORT_H
#define GW_EXPORT_H

#define GW_EXPORTED __attribute__((visibility("default")))

/** Export by_name_SYMBOL as SYMBOL; its definition follows. */
#define GW_EXPORT(symbol) \
	GW_EXPORTED __typeof__(symbol) by_name_##symbol; \
	GW_EXPORT_AS(symbol, "GPUWATCH")

/** The same for a function of libcupti: programs refer to it by libcupti's version. */
#define GW_EXPORT_CUPTI(symbol) \
	GW_EXPORT(symbol) \
	GW_EXPORT_AS(symbol, "libcupti.so.11.0") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.1") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.2") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.3") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.4") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.5") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.6") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.7") \
	GW_EXPORT_AS(symbol, "libcupti.so.11.8") \
	GW_EXPORT_AS(symbol, "libcupti.so.12") \
	GW_EXPORT_AS(symbol, "libcupti.so.13") \
	GW_EXPORT_AS(symbol, "libcupti.so.14")

#define GW_EXPORT_AS(symbol, node) __asm__(".symver by_name_" #symbol ", " #symbol "@" node);

/** What stands in for a name. */
struct gw_stand_in {
	void *own;        /**< the function of libcuda or libcupti */
	void *next;       /**< what a call by name reaches after us: its own, or another tool's */
	void *by_name;    /**< the exported wrapper, which goes on to `next` */
	void *by_address; /**< the wrapper that goes on to `own` */
};

#endif
