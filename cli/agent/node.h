/*
 * What the processes of a node did, added up by GPU: totals that never go backwards, whatever
 * processes begin, end or write into their segments. Fed from snapshots of the model of gpuwatch
 * top.
 */
#ifndef GW_AGENT_NODE_H
#define GW_AGENT_NODE_H

#include "cli/agent/owner.h"
#include "cli/agent/pod_list.h"
#include "cli/health/detect.h"
#include "cli/top/model.h"

enum {
	AGENT_GPUS = 64,      /**< GPUs of a node; more are counted as refused */
	AGENT_KERNELS = 1024, /**< kernels of a GPU that are followed; others are in the sum */
	AGENT_SHOWN = 8,      /**< kernels of a GPU with series of their own, at most */
	AGENT_OWNERS = 8,     /**< owners with a series of their own */
	AGENT_ENOUGH = 16, /**< sampled launches of which the mean is one observation of health */
	AGENT_GRAPHS = 2,  /**< graphs of a GPU with series of their own, the first seen */
	AGENT_BUCKETS = 6, /**< upper ends of the histogram of GPU times, without infinity */
	AGENT_BOUNDS = 5,  /**< values of enum gw_bound */
	AGENT_NAME = 136   /**< room for a kernel's name */
};

/** Upper ends of buckets, ns: powers of 4, where no bucket of a sketch straddles one. */
extern const double agent_bucket_ns[AGENT_BUCKETS];

/** Sums of launches. */
struct agent_sum {
	double launches;
	double gpu_ns;      /**< GPU time of all; of those without a time, the mean of the others */
	double measured;    /**< launches with a time */
	double measured_ns; /**< their GPU time */
	double compared_ns; /**< GPU time of those with a prediction */
	double expected_ns; /**< what was predicted of these */
	double bucket[AGENT_BUCKETS]; /**< measured launches up to each end */
	struct gw_sketch time;        /**< their GPU times, ns; its sum and extremes are not used */
};

struct agent_kernel {
	char name[AGENT_NAME]; /**< demangled, cut */
	uint64_t hash;         /**< of the whole name; 0: the place is free */
	double recent_ns;      /**< GPU time, halved every five minutes */
	bool shown;            /**< it has series of its own, from when it got them */
	struct agent_sum sum;  /**< since then */
};

/** GPU time of one owner. */
struct agent_share {
	struct agent_owner owner;
	uint64_t used_ns; /**< when it last had some */
	double gpu_ns;
};

/** Launches of CUDA graphs that are timed whole, of one graph of a program. */
struct agent_graph {
	char program[OWNER_TEXT];
	uint32_t graph; /**< number of it in the process; 0: the place is free, or all others */
	double launches, gpu_ns;
	double compared_ns, expected_ns; /**< of timed ones with a prediction */
};

/** Why clocks are throttled (throttle.def). */
enum agent_throttle {
#define THROTTLE(NAME, name, bits, meaning) AGENT_THROTTLE_##NAME,
#include "cli/agent/throttle.def"
#undef THROTTLE
	AGENT_THROTTLES
};

/** What GPU time was lost to (lost.def). */
enum agent_lost {
#define LOST(NAME, name, meaning) AGENT_LOST_##NAME,
#include "cli/agent/lost.def"
#undef LOST
	AGENT_LOSSES
};

struct agent_gpu {
	char uuid[48]; /**< GPU-..., as NVML has it; "unknown-N" of those without */
	char model[64], pci[24];
	uint32_t ordinal;            /**< in the process that was seen last */
	struct agent_kernel *kernel; /**< [AGENT_KERNELS] */
	struct agent_sum other;      /**< of kernels without series of their own */
	struct agent_sum bound[AGENT_BOUNDS];
	struct agent_sum last[AGENT_BOUNDS]; /**< bound at the interval's start */
	double ratio[AGENT_BOUNDS]; /**< measured / expected in the last interval that compared;
					 NaN: none did */
	double lost_ns[AGENT_LOSSES];
	bool timed; /**< a process timed all of its launches: the following are known, of such */
	double busy_ns, idle_ns[GW_IDLE_CAUSES];
	double communication_ns;   /**< GPU time of kernels of communication libraries */
	double energy_j;           /**< while kernels ran lately and the power was known */
	double energy_expected_ns; /**< predicted time of the kernels that ran meanwhile */
	uint32_t power_mw;         /**< when clocks were sampled; UINT32_MAX: unknown */
	double throttled_ns[AGENT_THROTTLES];
	uint64_t clock_ns; /**< when the following held, CLOCK_REALTIME; 0: unknown */
	uint32_t sm_khz, mem_khz, full_sm_khz, others; /**< others: UINT32_MAX: unknown */
	uint64_t reasons;
	struct agent_share share[AGENT_OWNERS];
	double other_owners_ns;
	struct agent_graph graph[AGENT_GRAPHS + 1]; /**< the last: all others */
	struct health *health;
	uint64_t interval;       /**< number of health's present one */
	uint64_t interval_ns;    /**< when it began */
	bool sampled;            /**< in it a process did not time all of its launches */
	double came, enough;     /**< configurations in it; those with AGENT_ENOUGH launches */
	struct agent_work *work; /**< what ran in this hour (store/work.h); NULL: not kept */
	size_t processes;        /**< that run on it now */
};

struct agent_node {
	struct agent_gpu *gpu[AGENT_GPUS];
	size_t gpus;
	size_t processes;       /**< that run now */
	double processes_begun; /**< ever seen */
	double counter[128];    /**< counters of all processes, ended ones too */
	double own_rest;    /**< CPU time of own threads that no counter has, ns; the most so far */
	double memory;      /**< bytes that gpuwatch holds in those that run now */
	double refused;     /**< pieces that were left out: no room, or no writer writes such */
	uint64_t ticked_ns; /**< last tick of health, CLOCK_REALTIME */
	uint64_t decayed_ns;
	bool works;                 /**< work of GPUs is kept from the next snapshot on */
	const char *proc;           /**< where /proc is */
	struct agent_pod_list pods; /**< which pod has which GPU */
	struct agent_seen **seen;
	size_t seens, seen_room;
};

/** Zeroed, with proc "/proc". */
struct agent_node *agent_node_new(void);
void agent_node_free(struct agent_node *node);

/** Add what came since the last call, by a snapshot of @p model. @p now_ns: CLOCK_REALTIME. */
void agent_node_add(struct agent_node *node, const struct top_model *model, uint64_t now_ns);

#endif
