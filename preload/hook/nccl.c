/*
 * NCCL's profiler plugin interface. At its first communicator NCCL opens the library that
 * NCCL_PROFILER_PLUGIN names, which is the one that is loaded already, and looks for the newest of
 * these structs that it knows. Version 4 is that of NCCL 2.27, version 5 that of 2.28; later ones
 * take it, too. These are the parts in use: collectives alone, which NCCL reports on the thread
 * that launched their kernel. They have no handle, so NCCL reports neither their ends nor what is
 * in them.
 */
#include "preload/launch/collectives.h"
#include "preload/lifecycle.h"
#include "preload/runtime/options.h"

enum { SUCCESS = 0, EVENT_COLLECTIVE = 1 << 1 };

/* The descriptor of an event as far as both versions have it alike. `type` is 8 bits wide in
 * version 4, 64 in version 5: the lowest 8 hold all events that come. */
struct descriptor {
	uint8_t type;
	void *parent;
	int rank;
	struct {
		uint64_t sequence;
		const char *function;
		const void *from;
		void *to;
		size_t count;
		int root;
		const char *datatype;
	} collective;
};

#define FUNCTIONS \
	int (*start)(void *context, void **handle, const struct descriptor *event); \
	int (*stop)(void *handle); \
	int (*record)(void *handle, int state, void *arguments); \
	int (*finalize)(void *context);

struct profiler_v4 {
	const char *name;
	int (*init)(void **context, int *mask, const char *communicator, uint64_t hash, int nodes,
		    int ranks, int rank, void *log);
	FUNCTIONS
};

struct profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t hash, int *mask, const char *communicator, int nodes,
		    int ranks, int rank, void *log);
	FUNCTIONS
};

/* The context is the communicator's id; 0 is one that has no place, whose collectives are counted:
 * NCCL takes it for a context like others. */
static int begin(void **context, int *mask, uint64_t hash, int ranks, int rank)
{
	bool wanted = gw_hooking() && gw_options.mode == GW_MODE_AUDIT && gw_options.nccl;

	*mask = wanted ? EVENT_COLLECTIVE : 0;
	*context = NULL;
	if (wanted)
		*context = (void *)(uintptr_t)gw_communicator_new(hash, (uint32_t)rank,
								  (uint32_t)ranks);
	return SUCCESS;
}

static int init_v4(void **context, int *mask, const char *communicator, uint64_t hash, int nodes,
		   int ranks, int rank, void *log)
{
	(void)communicator;
	(void)nodes;
	(void)log;
	return begin(context, mask, hash, ranks, rank);
}

static int init_v5(void **context, uint64_t hash, int *mask, const char *communicator, int nodes,
		   int ranks, int rank, void *log)
{
	(void)communicator;
	(void)nodes;
	(void)log;
	return begin(context, mask, hash, ranks, rank);
}

static int start(void *context, void **handle, const struct descriptor *event)
{
	*handle = NULL;
	if (event->type == EVENT_COLLECTIVE)
		gw_collective((uint32_t)(uintptr_t)context, event->collective.function,
			      event->collective.datatype, event->collective.sequence,
			      event->collective.count);
	return SUCCESS;
}

static int stop(void *handle)
{
	(void)handle;
	return SUCCESS;
}

static int record(void *handle, int state, void *arguments)
{
	(void)handle;
	(void)state;
	(void)arguments;
	return SUCCESS;
}

#define EXPORTED __attribute__((visibility("default")))

/** What NCCL 2.27 calls. */
EXPORTED extern const struct profiler_v4 ncclProfiler_v4;
const struct profiler_v4 ncclProfiler_v4 = {"gpuwatch", init_v4, start, stop, record, stop};

/** What NCCL 2.28 and later ones call. */
EXPORTED extern const struct profiler_v5 ncclProfiler_v5;
const struct profiler_v5 ncclProfiler_v5 = {"gpuwatch", init_v5, start, stop, record, stop};
