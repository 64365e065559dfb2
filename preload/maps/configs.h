/*
 * The configurations that have been launched, by their id in the log, and what each room knows of
 * them. The registry makes the entries. Worker only.
 */
#ifndef GW_CONFIGS_H
#define GW_CONFIGS_H

#include "preload/maps/state.h"

enum { GW_CONFIGS_MAX = 1 << 18 };
_Static_assert(GW_CONFIGS_MAX <= 1 << 24, "gw_cell_config has 24 bits for an id");

/** A configuration of a kernel. */
struct gw_config_entry {
	uint32_t kernel; /**< id of the kernel */
	uint32_t slot;   /**< slot of the kernel as the hooks know it, 0 = never hooked */
	uint32_t device; /**< it runs on, from gw_slot_device() */
	uint32_t head;   /**< the first configuration that differs in its argument hash at most */
	uint32_t pair;   /**< the first that differs in its argument hash and its kernel's image at
			    most */
	uint32_t latest; /**< of a head: the one with a hash that was launched last */
	uint32_t digests[2]; /**< of a head: how many configurations have a hash; a provisional one
			      */
	uint32_t hashed;     /**< the next one of this head with a hash; 0: none */
	struct gw_config config;
	const char *name;   /**< the kernel's */
	uint64_t signature; /**< join.c's own: of the fields that a record has; 0: not made yet */
	uint64_t launches, total_ns, measured; /**< for the summary */
	/** Of a pair: launches written without their record, less records written without their
	 * launch; in streams, in graphs. Records lack the argument hash and the image. Entry 0:
	 * launches of unknown kernels. */
	int32_t unpaired[2];
	uint32_t lone_block; /**< of the log, that has the last record of no launch */
	uint64_t lone_ns;    /**< when that record's kernel started; 0: not known */
	const struct gw_arguments *arguments; /**< of its first launch, NULL when not known */
	uint32_t counted;               /**< counter_attribution.c's own: which metric sets are */
	uint8_t analysis, analysis_end; /**< analyze.c's own; the latter an enum gw_analysis_end */
	bool analysis_said;             /**< the same: the log has an ANALYSIS record of it */
	bool analysis_elsewhere;        /**< the same: its arguments point outside device memory */
	const char *analysis_why;       /**< the same: that record's text */
};

/** Reserve the table, empty; false when there is no memory. */
bool gw_configs_start(void);

/** The next id, its entry cleared. The caller stays below GW_CONFIGS_MAX. */
uint32_t gw_config_add(void);

/** The entry of an id from 1 to gw_config_count(). */
struct gw_config_entry *gw_config_entry(uint32_t id);
uint32_t gw_config_count(void);

#endif
