/*
 * Graphs. A CUgraph is a list of nodes in the order they were made; an executable graph is a
 * deep copy of one, its nodes remembering (origin) which node of the source they came from.
 * Lock held in every function here.
 */
#ifndef GW_TESTS_DRIVER_GRAPH_H
#define GW_TESTS_DRIVER_GRAPH_H

#include "si.h"

/* What a kernel node holds: its parameters are copied, as the driver does. */
struct si_kernel_node {
	CUfunction func; /* as given: a CUfunction or NULL */
	CUkernel kern;   /* as given: a CUkernel or NULL */
	CUcontext ctx;   /* it runs in, NULL: that of the launch */
	struct si_kernel *kernel;
	struct si_config config;
	unsigned char *data;
	void *slots[SI_MAX_PARAMS];
	int priority;
};

struct CUgraphNode_st {
	struct si_head head;
	CUgraph graph;
	uint32_t index; /* in its graph; in an executable graph counted over all levels */
	CUgraphNodeType type;
	CUgraphNode *deps;
	size_t dep_count;
	CUgraphNode origin; /* of a copy */
	union {
		struct si_kernel_node kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS set;
		CUDA_HOST_NODE_PARAMS host;
		CUgraph child; /* owned by the node */
		CUevent event;
		struct {
			CUDA_CONDITIONAL_NODE_PARAMS params;
			CUgraph *bodies; /* params.size of them, owned by the node */
		} conditional;
	} u;
	/* of an executable graph's node */
	bool disabled;
	uint32_t branch; /* 0: the launch stream */
	int64_t grid_id;
	uint64_t end; /* in the launch that is being scheduled */
};

struct CUgraph_st {
	struct si_head head;
	uint32_t id, next_index;
	CUgraphNode *nodes;
	size_t count, capacity;
	bool owned; /* belongs to a node, a capture or an executable graph */
};

struct CUgraphExec_st {
	struct si_head head;
	uint32_t id;
	cuuint64_t flags;
	CUcontext ctx;
	CUgraph graph;
	uint32_t branches;
	uint32_t *streams; /* ids of the internal streams, one a branch; [0] in other contexts */
};

uint32_t si_graph_id_next(void);
CUgraph si_graph_new(void);
void si_graph_free(CUgraph graph);
/* A new node at the end of the graph. NULL: out of memory. */
CUgraphNode si_node_new(CUgraph graph, CUgraphNodeType type, const CUgraphNode *deps,
			size_t dep_count);
void si_node_free(CUgraphNode node);
/* Deep copy; node indices and order are kept. */
CUgraph si_graph_copy(CUgraph graph);
bool si_node_payload_copy(CUgraphNode to, const struct CUgraphNode_st *from);
void si_node_payload_free(CUgraphNode node);
CUresult si_deps_check(CUgraph graph, const CUgraphNode *deps, size_t count);
bool si_deps_add(CUgraphNode node, CUgraphNode dep);

/* graph_run.c: numbers and orders the nodes of a fresh executable graph; false: a cycle. */
bool si_exec_prepare(CUgraphExec exec);
/* Runs it on a stream. */
void si_exec_run(CUgraphExec exec, CUstream stream, uint32_t correlation);

/* graph_node.c: payloads from the driver's parameter structs. */
CUresult si_kernel_node_set(struct si_kernel_node *node, CUfunction f, CUkernel kern,
			    const struct si_config *config, void **params, void **extra);
/* Keeps the kernel even where its module was unloaded since, or its handle reused. */
bool si_kernel_node_copy(struct si_kernel_node *to, const struct si_kernel_node *from);
CUresult si_node_set_any(CUgraphNode node, const CUgraphNodeParams *params);
CUresult si_kernel_params_v1(struct si_kernel_node *node, const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUresult si_kernel_params_v2(struct si_kernel_node *node, const CUDA_KERNEL_NODE_PARAMS *p);

#endif
