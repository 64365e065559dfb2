/*
 * The stand-in driver's inside: handles, the simulated device's clock, and what its files
 * share. Programs never see this; they see libcuda.so.1 and libcupti.so.13.
 *
 * One mutex, si_lock, guards every object. Work is scheduled when it is issued: a kernel's start
 * and end are computed from its stream's timeline, its body runs at once on the calling thread
 * (issue order is always a legal order of execution), and whoever synchronises waits until the
 * clock has passed the end. So no thread is needed to run kernels, and times are deterministic
 * but for the host's own speed.
 */
#ifndef GW_TESTS_DRIVER_SI_H
#define GW_TESTS_DRIVER_SI_H

/* All versions of every function under their exported names, no renaming macros. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <generated_cuda_meta.h>
#if CUDA_VERSION < 13000
#error "the stand-in speaks CUDA 13.0: it needs the headers of CUDA 13.0 or later"
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "si_private.h"

#define SI_DRIVER_VERSION 13000

/* ---- the list of functions ---- */

/* DO(x, a), DO(x, b), … of names a, b, … */
#define M1(DO, x, a)                                     DO(x, a)
#define M2(DO, x, a, ...)                                DO(x, a), M1(DO, x, __VA_ARGS__)
#define M3(DO, x, a, ...)                                DO(x, a), M2(DO, x, __VA_ARGS__)
#define M4(DO, x, a, ...)                                DO(x, a), M3(DO, x, __VA_ARGS__)
#define M5(DO, x, a, ...)                                DO(x, a), M4(DO, x, __VA_ARGS__)
#define M6(DO, x, a, ...)                                DO(x, a), M5(DO, x, __VA_ARGS__)
#define M7(DO, x, a, ...)                                DO(x, a), M6(DO, x, __VA_ARGS__)
#define M8(DO, x, a, ...)                                DO(x, a), M7(DO, x, __VA_ARGS__)
#define M9(DO, x, a, ...)                                DO(x, a), M8(DO, x, __VA_ARGS__)
#define M10(DO, x, a, ...)                               DO(x, a), M9(DO, x, __VA_ARGS__)
#define M11(DO, x, a, ...)                               DO(x, a), M10(DO, x, __VA_ARGS__)
#define SI_PICK(a, b, c, d, e, f, g, h, i, j, k, m, ...) m
#define SI_EACH(DO, x, ...) \
	SI_PICK(__VA_ARGS__, M11, M10, M9, M8, M7, M6, M5, M4, M3, M2, M1, _)(DO, x, __VA_ARGS__)

/* The parameters of function @p sym, whose types are those of CUPTI's struct for callbacks. */
#define SI_PARAMETER(sym, name) __typeof__(((sym##_params *)0)->name) name
#define SI_PARAMETERS(sym, ...) SI_EACH(SI_PARAMETER, sym, __VA_ARGS__)

enum si_id {
#define SI_API_AS(sym, name, since, ...)                    SI_##sym,
#define SI_API_VOID(sym, since)                             SI_##sym,
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, ...) SI_##sym, SI_##ptsym,
#include "api.def"
	SI_COUNT
};

#define SI_API_AS(sym, name, since, ...) CUresult si_##sym(SI_PARAMETERS(sym, __VA_ARGS__));
#define SI_API_VOID(sym, since)          CUresult si_##sym(void);
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, ...) \
	CUresult si_##sym(bool pt, SI_PARAMETERS(sym, __VA_ARGS__));
#include "api.def"

/* One row of the list at run time. */
struct si_row {
	const char *symbol; /* exported name */
	const char *name;   /* what cuGetProcAddress is asked for */
	int since;          /* first version that answers with this symbol */
	bool per_thread;    /* the form for the per-thread default stream */
	void *address;
	uint32_t cbid; /* CUPTI_DRIVER_TRACE_CBID_<symbol> */
};
extern const struct si_row si_rows[SI_COUNT];

/* ---- handles ---- */

/* First word of every live object; a destroyed one has SI_DEAD, and its memory is kept for the
 * next of its type, so that a handle value comes back as it does on the real driver. */
enum si_magic {
	SI_DEAD = 0,
	SI_CTX = 0x51000001,
	SI_STREAM,
	SI_EVENT,
	SI_MODULE,
	SI_FUNC,
	SI_LIBRARY,
	SI_KERN,
	SI_GRAPH,
	SI_NODE,
	SI_EXEC,
	SI_LINK,
	SI_GREEN
};
struct si_head {
	uint32_t magic;
	struct si_head *next_free;
	struct si_head *next_made; /* all ever made: what a program never destroys is no leak */
};
/* An object of `size` bytes, zeroed but for its head; NULL when memory is out. */
void *si_object_new(enum si_magic type, size_t size);
void si_object_free(void *object);
/* Is `handle` a live object of `type`? NULL and the special stream values are not. */
static inline bool si_is(const void *handle, enum si_magic type)
{
	return (uintptr_t)handle > 4096 && ((uintptr_t)handle & 7) == 0 &&
	       ((const struct si_head *)handle)->magic == (uint32_t)type;
}

#define SI_MAX_PARAMS 32
typedef void si_body(const struct si_config *config, void **params);

/* One kernel of a text image. Shared by the functions and kernels made from the image. */
struct si_kernel {
	const char *name; /* interned: CUPTI's records keep pointing at it after an unload */
	int regs, static_shared, local, constant, max_threads;
	int dynamic_limit; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
	uint64_t ns;       /* duration of one launch, whatever its size */
	int ns_param;      /* >= 0: the parameter that holds it instead */
	double block_ns;   /* and for each block of the grid */
	si_body *body;     /* what it does on the CPU, NULL for nothing */
	int body_params;   /* it needs at least these */
	int params;        /* number of parameters */
	uint32_t param_size[SI_MAX_PARAMS];
	_Atomic uint64_t launches; /* seed of the deterministic jitter */
};
struct si_image {
	int count;
	struct si_kernel **kernels;
	char *text; /* it was made from */
};

struct CUmod_st {
	struct si_head head;
	CUcontext ctx;
	struct si_image image;
	CUfunction *functions; /* image.count of them, made at load */
	CUlibrary library;     /* when it is a library's module in one context */
	CUmodule next;         /* of all modules */
};
struct CUfunc_st {
	struct si_head head;
	struct si_kernel *kernel;
	CUmodule module;
	struct si_dim block;       /* cuFuncSetBlockShape */
	unsigned shared;           /* cuFuncSetSharedSize */
	unsigned char params[256]; /* cuParamSet* */
};
struct CUlib_st {
	struct si_head head;
	struct si_image image;
	CUkernel *kernels;
	CUmodule module; /* one device, one module; made when first asked for */
};
struct CUkern_st {
	struct si_head head;
	struct si_kernel *kernel;
	CUlibrary library;
	int index;
};

struct CUctx_st {
	struct si_head head;
	uint32_t id;
	CUdevice device;
	unsigned flags;
	unsigned api_version;
	bool primary;
	CUstream legacy;
	int capturing;         /* streams of this context that are in a capture */
	CUstream streams;      /* list through ->next */
	uint64_t blocking_end; /* latest end of work on streams that wait for the legacy one */
	uint64_t legacy_end;
	uint64_t dropped_end; /* latest end of work on streams destroyed since */
	size_t limits[CU_LIMIT_MAX];
	uint32_t multi; /* CUPTI's number of the stream for launches on several devices, 0: none yet
			 */
	struct CUctx_st *next;
};
struct CUstream_st {
	struct si_head head;
	CUcontext ctx;
	uint32_t id;        /* CUPTI's */
	uint32_t driver_id; /* cuStreamGetId's */
	unsigned flags;
	int priority;
	bool legacy;
	uint64_t owner;   /* thread a per-thread default stream belongs to, else 0 */
	uint64_t end;     /* time at which all work issued so far is done */
	int host_pending; /* host functions not yet returned */
	struct si_capture *capture;
	CUgraphNode *tails; /* capture: the nodes the next one depends on */
	size_t tail_count;
	CUaccessPolicyWindow window;
	struct CUstream_st *next;
};
struct CUevent_st {
	struct si_head head;
	CUcontext ctx;
	unsigned flags;
	bool recorded;
	uint64_t time;
	CUstream stream; /* for pending host functions; never dereferenced after its death */
	struct si_capture *capture; /* recorded in a capture: what a wait on it depends on */
	CUgraphNode *tails;
	size_t tail_count;
	uint64_t capture_id;
};

/* ---- shared state ---- */

extern pthread_mutex_t si_lock;
#define SI_LOCK()   pthread_mutex_lock(&si_lock)
#define SI_UNLOCK() pthread_mutex_unlock(&si_lock)
/* Locks until the block's end. */
#define SI_LOCKED() __attribute__((cleanup(si_unlock), unused)) int locked_ = SI_LOCK()
static inline void si_unlock(int *locked)
{
	(void)locked;
	SI_UNLOCK();
}
/* The calling function answers what @p call fails with. */
#define SI_TRY(call) \
	do { \
		CUresult tried_ = (call); \
		if (tried_ != CUDA_SUCCESS) \
			return tried_; \
	} while (0)

struct si_options {
	uint64_t latency_ns; /* from a launch call to the earliest start of its kernel */
	int jitter_percent;
	uint64_t seed;
};
extern struct si_options si_options;

/* Per thread. */
struct si_thread {
	CUcontext stack[16];
	int depth;
	uint64_t token;          /* unique per thread, never 0 once used */
	uint32_t correlation;    /* given by a callback to the launch below it, else 0 */
	CUstream per_thread;     /* cache of this thread's default stream ... */
	uint32_t per_thread_ctx; /* ... in the context of this id */
	CUstreamCaptureMode mode;
};
extern _Thread_local struct si_thread si_tls;

uint64_t si_now(void); /* ns, CLOCK_REALTIME as it was at the start: steps of it stop no kernel */
void si_wait_until(uint64_t time);
/* What stands in for text the caller wants to parse: a positive integer of the environment. */
uint64_t si_env_u64(const char *name, uint64_t fallback);
uint32_t si_correlation_next(void);

/* ---- context.c: what every call begins with ---- */

CUresult si_ready(void);             /* NOT_INITIALIZED before cuInit and in a fork's child */
CUresult si_current(CUcontext *out); /* the current context, or why there is none */
CUcontext si_current_or_null(void);
bool si_device_ok(CUdevice dev);
extern atomic_bool si_initialized;
extern atomic_bool si_forked;
/* Destroys streams, modules, events of a context that goes away. Lock held. */
void si_context_drop(CUcontext ctx);
CUcontext si_context_list(void); /* live contexts through ->next; lock held */

/* ---- stream.c ---- */

/* The stream a handle means in the current context. Lock held. */
CUresult si_stream(CUstream handle, bool pt, CUstream *out);
CUstream si_stream_new(CUcontext ctx, unsigned flags, int priority);
/* Where an item issued now may start, given what the stream must wait for. Lock held. */
uint64_t si_stream_begin(CUstream stream, uint64_t now);
void si_stream_end(CUstream stream, uint64_t end);
/* Waits until the host functions queued on the stream returned. Lock held, let go meanwhile. */
void si_host_drain(CUstream stream);
void si_host_enqueue(CUstream stream, CUhostFn fn, CUstreamCallback callback, void *user,
		     uint64_t due);
/* Waits until everything issued in the context is done. Takes and gives the lock. */
CUresult si_context_wait(CUcontext ctx);
/* The ids the next stream gets. CUPTI's own streams have no CUPTI id. Lock held. */
struct si_stream_ids {
	uint32_t cupti, driver;
};
extern struct si_stream_ids si_stream_ids;
void si_stream_ids_skip(unsigned n);

/* ---- module.c, library.c ---- */

const char *si_intern(const char *name);
CUresult si_image_parse(const void *text, struct si_image *out);
CUresult si_image_read(const char *path, char **out);
/* The private table of this id (si_private.h), NULL where there is none. */
const void *si_private_table(const CUuuid *id);
void si_image_free(struct si_image *image);
CUmodule si_module_new(CUcontext ctx, const struct si_image *image, CUlibrary library);
void si_module_free(CUmodule module);
void si_modules_drop(CUcontext ctx); /* those of a context that goes */
/* The kernel behind a CUfunction or a CUkernel; NULL for neither. */
struct si_kernel *si_kernel_of(CUfunction f);
/* A built-in body and how many parameters it needs; NULL for an unknown name. */
si_body *si_body_find(const char *name, int *params);

/* ---- launch.c ---- */

/* Runs one kernel on a stream: timeline, body, truth, CUPTI. Lock held. `start` is the earliest
 * time; returns its end. */
uint64_t si_execute(struct si_kernel *kernel, const struct si_config *config, void **params,
		    struct si_execution *x, uint64_t start);
int64_t si_grid_id_next(void);
/* Splits a packed `extra` buffer into pointers to the parameters. NULL when there are none. */
void **si_unpack(const struct si_kernel *kernel, void **params, void **extra,
		 void *slots[SI_MAX_PARAMS]);

/* ---- truth.c: what really ran ---- */

extern bool si_truth_on;
void si_truth_add(const struct si_execution *x);
void si_truth_forget(void); /* in a fork's child: its parent's counts are not its own */
void si_truth_start(void);

/* ---- fault.c: failures on demand, the trace ---- */

enum { SI_WATCH_FAULT = 1, SI_WATCH_TRACE = 2, SI_WATCH_CALLBACK = 4, SI_WATCH_SLOW = 8 };
extern _Atomic unsigned char si_watch[SI_COUNT];

struct si_call {
	enum si_id id;
	const void
		*params; /* struct cuX_params of generated_cuda_meta.h; NULL without parameters */
	const struct si_arg *args;
	int arg_count;
	CUresult result;
	uint64_t correlation_data;
	uint32_t correlation;
	bool called_back;
};
bool si_call_enter(struct si_call *call); /* false: the call is answered with call->result */
CUresult si_call_leave(struct si_call *call);
/* The code the next call of `name` must fail with, 0 for none. */
int si_fault(const char *name);
/** As si_fault(), for a function of libcupti or NVML: slow first where STANDIN_SLOW names it. */
int si_tool_fault(const char *name);
void si_fault_start(void);
void si_late_objects(void); /* a kernel runs: what STANDIN_SLOW has exit() destroy is made */
void si_trace_line(const char *name, const struct si_arg *args, int count, int result);

/* ---- graphs: ids by CUPTI's rules; false for what is no live handle ---- */

bool si_graph_id(void *graph, uint32_t *id);
bool si_exec_id(void *exec, uint32_t *id);
bool si_node_id(void *node, uint64_t *id);

/* ---- for libcupti ---- */

extern struct si_cupti_hooks *_Atomic si_cupti;
/* A context was made: from its first use on, CUPTI has a stream of its own in each. Lock held. */
void si_cupti_context(void);

#endif
