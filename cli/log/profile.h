/* What a log says of GPUs and work, put together: the embedded profiles, the parts of WORK. */
#ifndef GW_LOG_PROFILE_H
#define GW_LOG_PROFILE_H

#include "cli/log/reader.h"
#include "predictor/profile/profile.h"

/** The profile of one GPU of a log as its pieces come. Zero-initialised is none. */
struct log_profile {
	struct gw_profile *profile; /**< the last whole one; NULL: none */
	char *why;                  /**< why the last to come is not it; NULL otherwise */
	/** The text so far. */
	char *text;
	size_t length, room;
	bool open; /**< pieces have come since log_profile_end */
	bool gap;  /**< and one before them is missing */
};

/** Take a piece, a PROFILE record. */
void log_profile_piece(struct log_profile *p, const struct gw_log_record *record);

/**
 * The pieces of a profile follow each other: another record has come, or the end. True when there
 * is a new profile.
 */
bool log_profile_end(struct log_profile *p);

void log_profile_free(struct log_profile *p);

/** @p count parts of a WORK record in the place of those rows of @p out; rows that this version
 * does not know are left out. */
void log_work_put(const struct gw_record_quantity *parts, size_t count, struct gw_work *out);

/**
 * A work without what is not known of it: most have a fifth of the parts. Not changed once it is
 * made, so that several may hold it.
 */
struct log_work {
	uint32_t holders, count;
	struct gw_record_quantity parts[];
};

/** @p work, packed; for one holder. */
struct log_work *log_work_pack(const struct gw_work *work);
/** One more holder of @p work, which may be NULL: nothing is known. Returns it. */
struct log_work *log_work_hold(struct log_work *work);
/** One less; the last one frees it. */
void log_work_drop(struct log_work *work);
/** Unpacked; of NULL nothing is known. */
void log_work_of(const struct log_work *work, struct gw_work *out);

#endif
