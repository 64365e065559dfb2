/*
 * Finds live segments, keeps them mapped, and takes snapshots of them into a model. It writes
 * nothing and asks nothing of the processes.
 */
#ifndef GW_TOP_COLLECT_H
#define GW_TOP_COLLECT_H

#include "cli/options.h"
#include "cli/top/model.h"

struct top_source;

/**
 * Of the folders @p folders; none: where segments are by default (this user's, and those of others
 * that can be read). @p pid: of this process alone; 0: of all.
 */
struct top_source *top_source_new(const struct gw_words *folders, uint32_t pid);
void top_source_free(struct top_source *source);

/** Take a snapshot: all from top_begin() to top_end(). */
void top_collect(struct top_source *source, struct top_model *model);

/** Have the histograms of @p row in a model that is brief; those that can't be read are left out.
 */
void top_source_whole(struct top_source *source, const struct top_row *row);

/**
 * Find and map new segments between two snapshots, so that a process that soon ends is in the next
 * one, too.
 */
void top_source_look(struct top_source *source);

/** Whether a segment's file of this name is known; until the model has let go of it. */
bool top_source_has(const struct top_source *source, const char *name);

/** Segments that went before they could be read. */
uint64_t top_source_missed(const struct top_source *source);

/** Segments that are there and can't be read, and why for one of them ("" for none). */
unsigned top_source_refused(const struct top_source *source, const char **why);

/** Folder number @p at in which segments are looked for; NULL: there are no more. */
const char *top_source_folder(const struct top_source *source, unsigned at);

/** CLOCK_MONOTONIC, ns. */
uint64_t top_now(void);

#endif
