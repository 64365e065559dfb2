/* Within the sums of a node (node.h): what came of each process since the snapshot before. */
#ifndef GW_AGENT_PART_H
#define GW_AGENT_PART_H

#include "cli/agent/node.h"
#include "predictor/log/record.h"

enum {
	AGENT_SLOW = 8,    /* room for causes of slow launches in the segment */
	AGENT_AT_WORK = 5, /* per cent of a GPU that other processes have where one is at work */
};

/* What a configuration had when it was read last. */
struct agent_past {
	struct agent_sum sum; /* gpu_ns is not used */
	double ratio;         /* sum of measured / predicted */
	double compared;      /* launches in it */
	uint64_t key;         /* for health; 0: not made yet */
	uint64_t first_ns;    /* when it was measured first; 0: not yet */
	uint64_t interval;    /* of health, that the following is of */
	double judged;        /* launches that health was given in it */
};

/* A process, from when it is first seen until the model lets go of it. */
struct agent_seen {
	char *id; /* of its segment */
	bool touched;
	bool elsewhere;     /* in another PID namespace: nothing of it can be read */
	uint64_t began;     /* field 22 of its stat; 0: unknown */
	uint64_t looked_ns; /* when its control group was read */
	struct agent_owner owner;
	char build[OWNER_TEXT];                 /* of the program; "" when not known */
	struct agent_gpu *gpu[GW_LIVE_DEVICES]; /* by its own numbers; NULL: not seen, or refused */
	struct {
		double busy_ns, idle_ns[GW_IDLE_CAUSES], lost_ns[AGENT_SLOW];
	} device[GW_LIVE_DEVICES];
	uint64_t counter[128];
	struct agent_past *past;
	size_t pasts, past_room;
	struct gw_live_graph_time *graph; /* by entry */
	size_t graph_room;
};

void agent_seen_begin(struct agent_node *node);
struct agent_seen *agent_seen_of(struct agent_node *node, const struct top_process *process,
				 uint64_t now_ns);
void agent_seen_device(struct agent_node *node, struct agent_seen *seen, uint32_t ordinal,
		       const struct gw_live_device *now, struct agent_gpu *gpu, bool timed);
void agent_seen_counters(struct agent_node *node, struct agent_seen *seen,
			 const struct gw_live_totals *now, bool runs);
void agent_seen_configs(struct agent_node *node, struct agent_seen *seen,
			const struct top_process *process, uint64_t now_ns);
void agent_seen_graphs(struct agent_node *node, struct agent_seen *seen,
		       const struct top_process *process);
void agent_seen_end(struct agent_node *node);
void agent_seen_free(struct agent_node *node);

/* What @p name is called, AGENT_NAME bytes: it drives no terminal, and one that is cut ends with
 * its @p hash, so that two of them stay two. */
void agent_kernel_name(char *out, const char *name, uint64_t hash);

/* Launches of @p kernel, and GPU time that @p owner had. */
void agent_gpu_launched(struct agent_gpu *gpu, const char *kernel, unsigned bound,
			const struct agent_sum *delta);
void agent_gpu_worked_for(struct agent_gpu *gpu, const struct agent_owner *owner, double gpu_ns,
			  uint64_t now_ns);

/* Whether it is what a GPU can have done between two snapshots. */
bool agent_sum_plausible(const struct agent_sum *delta);

#endif
