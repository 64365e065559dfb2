/*
 * gpuwatch export: what a log holds, launch by launch, for another tool. source.c reads logs and
 * calls a format; a format writes through struct export_out.
 */
#ifndef GW_CLI_EXPORT_H
#define GW_CLI_EXPORT_H

#include "cli/log/gaps.h"
#include "cli/log/model.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** A kernel of one log. Texts belong to the model, and are any bytes but NUL. */
struct export_kernel {
	const char *mangled, *plain;
	uint32_t name; /**< position in the model's names; GW_INDEX_NONE: lost */
	uint32_t registers, static_shared, local; /**< UINT32_MAX: unknown */
	uint32_t binary_version;                  /**< 10 * major + minor; UINT32_MAX: unknown */
	bool wanted;                              /**< passes --kernel */
};

/** What a format keeps of a configuration, to write it again. */
struct export_text {
	char *data; /**< NULL: nothing yet; the reading frees it */
	size_t length;
};

enum { EXPORT_TEXTS = 2 };

/** A configuration of one log. */
struct export_config {
	const struct export_kernel *kernel;
	uint32_t kernel_number, number; /**< from 1 in this log; 0: lost */
	bool known;                     /**< false: its record is in a lost part; config is zero */
	struct gw_config config;
	enum gw_bound bound;      /**< as the report has it for this configuration */
	char *line;               /**< that its first launch came from; NULL: no stack */
	uint32_t log, stack;      /**< that stack: positions in the model's files, and in the file's
				     stacks;      stack GW_INDEX_NONE: none */
	struct export_text *text; /**< EXPORT_TEXTS of them, the format's own */
	double *counted;          /**< EXPORT_RATES amounts of a launch; NULL: none was counted */
};

/** The process of one log. */
struct export_process {
	uint32_t number; /**< of the log, from 0 */
	uint32_t pid;
	const char *name; /**< of its command */
	uint64_t start_ns;
};

/** A launch. Valid during the call only, but what it points to lives as long as the log is read. */
struct export_row {
	const struct export_process *process;
	const struct export_config *config;
	const struct gw_gpu *gpu; /**< NULL: unknown */
	uint32_t gpu_number;      /**< position in the model's gpus; GW_INDEX_NONE: unknown */
	uint32_t stream;          /**< CUPTI's number; the log's where that is unknown */
	uint32_t tid, graph;      /**< 0: unknown */
	uint64_t context, node;   /**< 0: unknown */
	bool measured;            /**< its time counts (gw_launch_measured) */
	struct gw_record_launch launch;
};

/** Columns of a row (row.def). */
enum export_column {
#define COLUMN(name, kind, known, value) EXPORT_##name,
#include "cli/export/row.def"
#undef COLUMN
	EXPORT_COLUMNS
};
enum export_kind { EXPORT_COUNT, EXPORT_TIME, EXPORT_REAL, EXPORT_TEXT };
struct export_value {
	bool known;
	uint64_t count; /**< of a COUNT and a TIME */
	double real;
	const char *text;
};
extern const char *const export_names[EXPORT_COLUMNS];
extern const enum export_kind export_kinds[EXPORT_COLUMNS];
void export_values(const struct export_row *row, struct export_value values[EXPORT_COLUMNS]);
/** The columns that a configuration alone decides: from this one up to the next. */
enum { EXPORT_OF_CONFIG = EXPORT_kernel, EXPORT_AFTER_CONFIG = EXPORT_predicted_ns };

/**
 * Rates over time, from what counters say of each configuration: its amounts are spread evenly over
 * the time of each of its launches, and added up in bins. An amount per ns is a rate in the unit.
 */
enum export_rate {
	EXPORT_RATE_DRAM,
	EXPORT_RATE_L2,
	EXPORT_RATE_INSTRUCTIONS,
	EXPORT_RATE_FMA,
	EXPORT_RATE_TENSOR,
	EXPORT_RATES
};
extern const char *const export_rate_units[EXPORT_RATES];
enum { EXPORT_RATE_LABEL = 80 };
/** What a track of it is called, into @p out, which is returned; @p share as in a format's rate. */
const char *export_rate_label(char out[EXPORT_RATE_LABEL], enum export_rate rate, double share);
/** What counters say of a launch, NaN where they say nothing; NULL: nothing at all. free() it. */
double *export_counted(const struct gw_work *work);

struct export;
struct export_format;
struct export_bins;
/** Of a log with so many @p launches between these times, for @p gpus GPUs of the model. */
struct export_bins *export_bins_new(uint64_t first_ns, uint64_t last_ns, uint64_t launches,
				    size_t gpus);
void export_bins_add(struct export_bins *bins, const struct export_row *row);
/** Hand them to @p format, unless it is NULL, and free them. */
void export_bins_end(struct export_bins *bins, struct export *e, const struct export_format *format,
		     const struct export_process *process);

/** Where an export goes: a file under a temporary name until it is whole, or stdout. */
struct export_out {
	const char *path;
	char *temporary; /**< NULL: written in place (stdout, a device, a pipe) */
	FILE *file;
	int error; /**< errno of the first failure; 0: none */
	char *buffer;
	size_t used;      /**< bytes of the buffer that are not in the file yet */
	uint64_t emptied; /**< how many times it was emptied */
};

enum { EXPORT_BUFFER = 1 << 18 }; /**< bytes */

/** Open @p path ("-": stdout). False after a message. */
bool export_open(struct export_out *out, const char *path);
void export_write(struct export_out *out, const void *data, size_t size);
/** The same of a string, of @p number as decimal digits, and of @p number as printf's %.9g. */
void export_string(struct export_out *out, const char *text);
void export_count(struct export_out *out, uint64_t number);
void export_real(struct export_out *out, double number);
/** Where @p out is now; what was written from there on, as memory, unless it is too long to keep.
 */
struct export_mark {
	size_t used;
	uint64_t emptied;
};
struct export_mark export_mark(const struct export_out *out);
void export_keep(const struct export_out *out, struct export_mark from, struct export_text *text);
void export_print(struct export_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/** Finish: rename on success, else remove what was written. False after a message. */
bool export_close(struct export_out *out, bool good);
/** @p text between quotes as JSON; bytes that are not UTF-8 become U+FFFD. */
void export_json_text(struct export_out *out, const char *text);

/** State that a format shares with the reading. */
struct export
{
	struct export_out *out;
	struct gw_log_model *model; /**< everything about the logs but the launches */
	double graphs_ns;  /**< GPU time of all graphs that were timed, in the table of graphs */
	uint64_t epoch_ns; /**< start of the earliest log */
	bool matched;      /**< a kernel of the logs is one that the filter lets pass */
	void *state;       /**< the format's own */
};

/** A format. Any function may be NULL. */
struct export_format {
	void (*begin)(struct export *e);
	/** A log begins. Its kernels are not known yet. */
	void (*process)(struct export *e, const struct export_process *process);
	/** Launches of a log come by start time, but for those of which 4096 stand between; those
	 * without a start come when they stand in the log. */
	void (*launch)(struct export *e, const struct export_row *row);
	/** A sum of launches that have no row. */
	void (*sum)(struct export *e, const struct export_config *config, uint32_t gpu,
		    const struct gw_record_aggregate *sum);
	/** No kernel ran on a GPU between kernels of one log. */
	void (*idle)(struct export *e, const struct export_process *process, uint32_t gpu,
		     enum gw_gap why, uint64_t from_ns, uint64_t until_ns);
	void (*clock)(struct export *e, const struct export_process *process, uint32_t gpu,
		      const struct gw_record_clock *clock);
	/** From @p ns on a rate is @p value; at the end of a log, in order. @p share: of the
	 * kernels' time in that log, that whose work was counted. */
	void (*rate)(struct export *e, const struct export_process *process, uint32_t gpu,
		     enum export_rate rate, double share, uint64_t ns, double value);
	/** A copy or memset; those of a GPU nearly in order. */
	void (*copy)(struct export *e, const struct export_process *process, uint32_t gpu,
		     const struct gw_record_copy *copy);
	/** Thread @p tid waited for the GPU. */
	void (*wait)(struct export *e, const struct export_process *process, uint32_t tid,
		     const struct gw_record_wait *wait);
	/** Thread @p tid (0: the process) is in @p depth NVTX ranges from @p ns on, the innermost
	 * of which is @p name, or NULL. */
	void (*range)(struct export *e, const struct export_process *process, uint32_t tid,
		      const char *name, uint32_t depth, uint64_t ns);
	/** Write what is left and free the state, also after a failure. False after a message. */
	bool (*end)(struct export *e);
	bool file;   /**< needs a file: stdout will not do */
	bool binary; /**< no terminal can show it */
};

/** Which launches are exported. */
struct export_filter {
	const regex_t *kernel; /**< demangled name; NULL: all */
};

enum { EXPORT_DEEPEST = 512 /**< ranges of a thread that are handed on; more count as these */ };

/** The ranges that a thread is in, and what the names of the outermost hash to. */
struct export_ranges {
	uint32_t depth, name[64];
};
/** How many of them go on when the thread is in @p depth, the innermost @p name. Each push and pop
 * is recorded, or there was no room for it: one of another name, or a change that leaves the depth,
 * took the innermost one's place. */
uint32_t export_ranges_kept(struct export_ranges *r, uint32_t depth, const char *name);

/** Read @p count logs and hand what @p filter wants to @p format. False after a message. */
bool export_read(struct export *e, const struct export_format *format,
		 const struct export_filter *filter, char **paths, int count);

#define FORMAT(name, summary) extern const struct export_format export_##name;
#include "cli/export/formats.def"
#undef FORMAT

/** Tables that a Parquet file may hold instead of launches (tables.def). */
#define TABLE(name, rows, meaning) extern const struct export_format export_table_##name;
#define COLUMN(name, kind, known, value)
#define TABLE_END(name)
#include "cli/export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

#endif
