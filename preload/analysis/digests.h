/*
 * Which kernels' configurations include an argument hash (predictor/code/digest.h). The layout of
 * the hash is derived when a kernel's code is read and published to the launch path, in place of
 * the provisional one that the kernel had at first sight (predictor/code/digest_provisional.h);
 * either is withdrawn where hashes hardly repeat. From one by the code go words that no launch
 * analysed so far uses, such as what a program has not set, and those that differ each time, if
 * others are left: a step counter. Sizes that do are hashed by magnitude first. Worker only, but
 * for gw_digests_plan() and gw_digests_ran().
 */
#ifndef GW_DIGESTS_H
#define GW_DIGESTS_H

#include "preload/maps/state.h"

enum {
	/**
	 * For each so many further configurations that hashes add to a grid, at least as many
	 * launches must return to an earlier one, else the layout is withdrawn: a step counter
	 * never returns. Less than the configurations of a kernel that others are
	 * predicted from (GW_TIMED_MOST), so that those from before are still among them.
	 */
	GW_DIGESTS_AT_A_TIME = 32,
	/** The same of provisional ones. So many configurations of one launch make words leave the
	 * layout that no launch uses. */
	GW_DIGESTS_UNREAD = 8,
	GW_DIGESTS_ONCE = 128,  /**< of these so many may have been launched but once */
	GW_DIGESTS_MOST = 1024, /**< of a kernel in all, however they repeat: 1 MiB of learner */
	GW_DIGESTS_PROVISIONAL = 64, /**< the same of those with a provisional hash */
};

/** Start without any layout. */
void gw_digests_start(void);

/** The code of kernel @p slot is known: derive its layout, if that was not tried before. One
 * thread at a time, any. */
void gw_digests_plan(uint32_t slot, const struct gw_ir_program *program);

/** A launch of kernel @p slot did in each block of @p program what @p ran says; NULL: not known.
 * Any thread. */
void gw_digests_ran(uint32_t slot, const struct gw_ir_program *program,
		    const struct gw_eval_block *ran);

/** The same was analysed, and the worker has the result. */
void gw_digests_analysed(uint32_t slot);

/**
 * Whether launches of kernel @p slot with @p arguments have the hash @p digest (0: none), as far as
 * its code says. False while the code is not known.
 */
bool gw_digests_fit(uint32_t slot, const struct gw_arguments *arguments, uint32_t digest);

/** Whether launches of kernel @p slot with @p a and with @p b have the same hash, as far as its
 * code says. False while the code is not known. */
bool gw_digests_alike(uint32_t slot, const struct gw_arguments *a, const struct gw_arguments *b);

/**
 * Whether kernel @p slot may get a configuration with the argument hash @p digest. @p further:
 * there is one of the same shape with another hash, of the same kind (provisional or not). If not,
 * that kind's layout is withdrawn, and the launch counts as one without a hash.
 */
bool gw_digests_admit(uint32_t slot, uint32_t digest, bool further);

/** A launch of kernel @p slot had the hash @p digest, which is neither new nor that of the launch
 * before. */
void gw_digests_returned(uint32_t slot, uint32_t digest);

/** A configuration of kernel @p slot that hash @p digest has added to a shape was launched again
 * for the first time. */
void gw_digests_again(uint32_t slot, uint32_t digest);

#endif
