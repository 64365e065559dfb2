/*
 * The tables of a live segment, also of a process that runs on: each entry is copied while nobody
 * writes it, and checked. What is wrong in it, or was being written when its process died, is left
 * out.
 */
#ifndef GW_LIVE_TABLES_H
#define GW_LIVE_TABLES_H

#include "cli/live/file.h"
#include "predictor/log/live.h"

/**
 * Map the segment at @p path, as it changes; false, and @p why, when it is none. Who may cut the
 * file short may end the command by that, unless it reads within gw_live_guarded() (guard.h): it is
 * the process's own, and its owner's to write.
 */
bool gw_live_map(struct gw_live_file *file, const char *path, char *why, size_t size);
void gw_live_unmap(struct gw_live_file *file);

/**
 * Go by @p copy, which outlives the mapping, as the head from now on, so that whoever writes the
 * file can't move a table under the reader. It does not follow the log's name or counts. False: it
 * holds what gw_live_map() does not let through.
 */
bool gw_live_hold_head(struct gw_live_file *file, struct gw_live_head *copy);

/** Changes whenever entry @p at of the configurations does; 0: nothing was written to it. */
uint32_t gw_live_config_sequence(const struct gw_live_file *file, uint32_t at);
/** The first entry from @p at on whose sequence is 0 or not that of @p known, of @p count; else @p
 * count. */
uint32_t gw_live_config_changed(const struct gw_live_file *file, uint32_t at, const uint32_t *known,
				uint32_t count);

/** Entry @p at, which has been written to, is to be read without its buckets soon. */
void gw_live_config_soon(const struct gw_live_file *file, uint32_t at);

/** So many entries in a row that nothing was written to: the table ends there. */
enum { GW_LIVE_FREE_MOST = 8 };

/** The configuration in entry @p at, below configs.count; false: there is none that can be read. */
bool gw_live_config_at(const struct gw_live_file *file, uint32_t at, struct gw_live_config *out);

/** The same without the buckets of its histograms, which stay what they are in @p out. */
bool gw_live_config_brief(const struct gw_live_file *file, uint32_t at, struct gw_live_config *out);

/** The same as gw_live_config_at(), of a process that is gone: but for its id, kernel, GPU and
 * shape, which never change, it may be half written. */
bool gw_live_config_shape(const struct gw_live_file *file, uint32_t at, struct gw_live_config *out);

/** The name of a cause of idle time, as idle.def has it. */
const char *gw_live_idle_name(enum gw_idle_cause cause);

/** The GPU numbered @p ordinal; false where nothing was measured on it, or it can't be read. */
bool gw_live_device_at(const struct gw_live_file *file, uint32_t ordinal,
		       struct gw_live_device *out);

/** The totals; false: there are none yet. */
bool gw_live_totals_of(const struct gw_live_file *file, struct gw_live_totals *out);

/** Entry @p at of the graphs that are timed whole; false: there is none, or it can't be read. */
bool gw_live_graph_time_at(const struct gw_live_file *file, uint32_t at,
			   struct gw_live_graph_time *out);

/** The mode and budget that the process is in; false: they can't be read. */
bool gw_live_answer_of(const struct gw_live_file *file, struct gw_live_answer *out);
/** "watch", or "watch until 14:05:00, then audit", in local time; returns @p out. */
const char *gw_live_mode_text(const struct gw_live_answer *answer, char *out, size_t size);

/** The stream in slot @p slot; false: none is known. */
bool gw_live_stream_at(const struct gw_live_file *file, uint32_t slot, struct gw_live_stream *out);

/** Print all of them as JSON. */
void gw_live_print(const struct gw_live_file *file, const char *path);

enum { GW_LIVE_SLOTS = 1 << 16 /**< of kernels, as events name them */ };

/** Where kernels are in their table, by slot; 0: nowhere. */
struct gw_live_names {
	uint32_t at[GW_LIVE_SLOTS];
};

/** Find all of them in one pass. */
void gw_live_names_of(const struct gw_live_file *file, struct gw_live_names *out);
/** The name of the kernel in a slot, in memory of ours until the next call, whatever its process
 * makes of it meanwhile; NULL: it is not known. */
const char *gw_live_name(const struct gw_live_file *file, const struct gw_live_names *names,
			 uint32_t slot);

/** The kernel in a slot of a file that does not change; NULL when its name did not get there. */
const struct gw_live_kernel *gw_live_kernel_in(const struct gw_live_file *file, uint32_t slot);

#endif
