/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the coalescing test and their runner share. */
#ifndef GW_COALESCING_KERNELS_CUH
#define GW_COALESCING_KERNELS_CUH

#define TREE_ORDER 256

/** A node of the B+ tree; of a leaf, `child` are the values. */
struct tree_node {
	int keys[TREE_ORDER + 1];
	int child[TREE_ORDER + 1];
};

#endif
