/*
 * The private table between the two stand-in libraries: libcupti asks libcuda's exported
 * function standin_private() for it, and leaves its hooks there.
 */
#ifndef GW_TESTS_DRIVER_SI_PRIVATE_H
#define GW_TESTS_DRIVER_SI_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SI_EXPORT __attribute__((visibility("default")))

struct si_dim {
	unsigned x, y, z;
};
struct si_config {
	struct si_dim grid, block, cluster;
	unsigned shared;
	bool cooperative;
};
/* A kernel that ran: what its activity record reports. */
/* Of CUpti_ActivityMemcpyKind. */
enum si_copy { SI_COPY_HTOD = 1, SI_COPY_DTOH = 2, SI_COPY_DTOD = 8, SI_COPY_HTOH = 9 };

struct si_execution {
	const char *name;
	int regs, static_shared, local;
	struct si_config config;
	uint64_t start, end; /* si_now() */
	uint32_t context_id, stream_id, correlation_id, graph_id, device_id;
	uint64_t graph_node_id;
	int64_t grid_id;
	uint32_t channel;
	uint8_t launch_type; /* CUpti_ActivityLaunchType */
	uint8_t copy;        /* enum si_copy; 0: a kernel, or a memset */
	bool set;            /* a memset */
	uint64_t bytes;      /* of a copy or memset */
};
/* An argument of a traced call. */
struct si_arg {
	uint64_t value;
	bool pointer;
};

/* What libcupti wants to hear of. Called with the driver's lock held, but for `api`. */
struct si_cupti_hooks {
	/* A kernel was scheduled; its record is needed. NULL while no activity is enabled. */
	void (*_Atomic kernel)(const struct si_execution *execution);
	/* The same of a copy or memset. */
	void (*_Atomic copy)(const struct si_execution *execution);
	/* A driver call begins (exit false) or ends. */
	void (*api)(uint32_t cbid, const char *symbol, bool exit, const void *params, int *result,
		    uint32_t correlation, uint64_t *correlation_data, void *context,
		    uint32_t context_id);
	/* A module was loaded, by whatever call: the machine code that it is. */
	void (*module)(void *context, uint32_t id, const void *cubin, size_t size);
};

/*
 * As the runtimes up to CUDA 11 load their programs' fat binaries: by a table that
 * cuGetExportTable has under this id, of which no tool can see a call.
 */
#define SI_PRIVATE_LOADS \
	{ \
		"gw-private-load" \
	}
struct si_private_loads {
	size_t size;
	int (*load)(void **module, const void *image); /* CUresult, CUmodule */
};

struct si_private {
	int size;
	void (*hooks_set)(struct si_cupti_hooks *hooks);
	/* Should calls with this callback id be reported? cbid 0: all. */
	void (*watch)(uint32_t cbid, bool on);
	int (*fault)(const char *name);
	void (*trace)(const char *name, const struct si_arg *args, int count, int result);
	uint64_t (*now)(void);
	uint64_t (*env_u64)(const char *name, uint64_t fallback);
	/* CUPTI's ids of driver objects; false for what is no live handle. */
	bool (*context_id)(void *context, uint32_t *id);
	bool (*stream_id)(void *context, void *stream, bool per_thread, uint32_t *id);
	bool (*graph_id)(void *graph, uint32_t *id);
	bool (*exec_id)(void *exec, uint32_t *id);
	bool (*node_id)(void *node, uint64_t *id);
	const char *(*symbol)(uint32_t cbid); /* name of a driver callback id, NULL if unknown */
	/* Name of the kernel a launch call is for, from its callback parameters; else NULL. */
	const char *(*kernel_name)(uint32_t cbid, const void *params);
	/* Waits until everything issued in the calling thread's context is done. */
	void (*wait)(void);
	/* Waits until launch calls that are under way have reported when their kernels run. */
	void (*settle)(void);
};
typedef const struct si_private *standin_private_fn(void);

#endif
