/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels' launches are told apart by a digest of their scalar arguments
 * (predictor/code/digest.h): the plan is made when a kernel's code is read, published to the
 * launch path, and taken back where its digests hardly repeat. Worker only.
 */
#ifndef GW_DIGESTS_H
#define GW_DIGESTS_H

#include "preload/maps/state.h"

enum {
	/**
	 * So many further configurations that digests make of grids that had one, and at least as
	 * many returns to one that was there before, or the kernel is told apart no more: a step
	 * counter never returns. Less than the configurations of a kernel that others are
	 * predicted from (GW_TIMED_MOST), so that those from before are still among them.
	 */
	GW_DIGESTS_AT_A_TIME = 32,
	GW_DIGESTS_MOST = 1024, /**< of a kernel in all, however they repeat: 1 MiB of learner */
};

/** Start with no plan decided. */
void gw_digests_start(void);

/** The code of kernel @p slot is known: make its plan, if that was not tried before. */
void gw_digests_plan(uint32_t slot, const struct gw_ir_program *program);

/** The digest of a launch of kernel @p slot with @p arguments; 0 where there is no plan. */
uint32_t gw_digests_of(uint32_t slot, const struct gw_arguments *arguments);

/**
 * Whether a configuration with a digest may be made for kernel @p slot. @p further: one of the
 * same grid and so on, with another digest, is there. Where not, the plan is taken back, and the
 * launch counts as one without a digest.
 */
bool gw_digests_admit(uint32_t slot, bool further);

/** A launch of kernel @p slot had a digest that is not new, nor its last one's. */
void gw_digests_returned(uint32_t slot);

#endif
