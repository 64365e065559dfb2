/*
 * The arguments of launches: copied by the launching thread, of the first launch of each
 * configuration only (of a graph's kernels when it is instantiated or changed), kept in memory for
 * analysis and never written anywhere. They are the program's data.
 */
#ifndef GW_ARGUMENTS_H
#define GW_ARGUMENTS_H

#include "preload/launch/call.h"

/** Parameters of a kernel whose layout can be kept; more make it unknown. */
enum { GW_LAYOUT_PARAMS = 256 };

/**
 * Worker: the arguments that came with the event at the tail of @p t. Kept for configuration
 * @p config when it has none yet and there is room.
 */
void gw_arguments_arrived(struct gw_thread *t, uint32_t config);

/**
 * The arguments of a graph's kernel node: those of the first node of its kernel @p slot and @p
 * config that had any. Never freed; NULL when they can't be read or there is no room. Any thread,
 * not on the path of a launch: it allocates.
 */
const struct gw_arguments *gw_arguments_of_node(uint32_t slot, const struct gw_config *config,
						const CUDA_KERNEL_NODE_PARAMS *node);

/** Worker: a node of configuration @p config was launched; @p arguments as gw_arguments_of_node
 * gave them. */
void gw_arguments_node(uint32_t config, const struct gw_arguments *arguments);

/** Worker: arguments of a configuration, in the kernel's layout; NULL when there are none. */
const struct gw_arguments *gw_arguments_of(uint32_t config);

/** Keep a layout in the shared tables, never freed; NULL when there is no room. Any thread. */
const struct gw_layout *gw_layout_keep(const struct gw_code_param *param, uint32_t count);

/** Worker: start with none kept. */
void gw_arguments_start(void);

#endif
