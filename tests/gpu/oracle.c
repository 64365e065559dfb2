/*
 * The independent witness: CUPTI kernel activity in a process without gpuwatch, loaded by
 * the driver through CUDA_INJECTION64_PATH. It shares no line with gpuwatch.
 *
 *   GPU_ORACLE_DIR    writes <dir>/<pid>.tsv at exit, a line for each kernel, configuration
 *                     and "in a graph or not": K graph count grid block cluster
 *                     dynamic-shared name; then C lines with totals. Records with impossible
 *                     times count like others, and the first have a line of their own:
 *                     I start end completed graph-node name, times in ns.
 *   GPU_ORACLE_TABLE  0: records are walked and counted only, which makes it the plain CUPTI
 *                     baseline of tests/bench/gpu_overhead; C lines alone are written
 *   GPU_ORACLE_CUPTI  libcupti to open, default libcupti.so.13 then .12
 */
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFER = 4 << 20,
	BUFFERS = 16, /* more than CUPTI was seen to hold at once; beyond it records are dropped */
	KEYS = 1 << 15,
	SHOWN = 16, /* records with impossible times */
	DEVICES = 16,
};

#define CUPTI_FUNCTIONS(F) \
	F(cuptiActivityRegisterCallbacks) \
	F(cuptiActivityEnable) \
	F(cuptiActivityFlushAll) \
	F(cuptiActivityGetNextRecord) \
	F(cuptiActivityGetNumDroppedRecords) \
	F(cuptiGetVersion)

static struct {
#define POINTER(name) __typeof__(&name) name;
	CUPTI_FUNCTIONS(POINTER)
#undef POINTER
} cupti;

struct key {
	const char *name;
	int32_t grid[3], block[3], shared;
	uint32_t cluster[3];
	int graph;
	uint64_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(8) uint8_t pool[BUFFERS][BUFFER];
static uint8_t taken[BUFFERS];
static struct key keys[KEYS];
static uint64_t records, invalid, dropped, no_room, on_device[DEVICES];
static struct shown {
	uint64_t start, end, completed, node;
	char *name;
} shown[SHOWN];
static int tabulate;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = NULL;
	*size = 0;
	*max_records = 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUFFERS; i++)
		if (!taken[i]) {
			taken[i] = 1;
			*buffer = pool[i];
			*size = BUFFER;
			break;
		}
	pthread_mutex_unlock(&lock);
}

static int same(const struct key *k, const struct key *wanted)
{
	return !strcmp(k->name, wanted->name) && k->graph == wanted->graph &&
	       k->shared == wanted->shared && !memcmp(k->grid, wanted->grid, sizeof k->grid) &&
	       !memcmp(k->block, wanted->block, sizeof k->block) &&
	       !memcmp(k->cluster, wanted->cluster, sizeof k->cluster);
}

static void count_kernel(const CUpti_ActivityKernel9 *r)
{
	uint32_t cx = r->clusterX ? r->clusterX : 1, cy = r->clusterY ? r->clusterY : 1,
		 cz = r->clusterZ ? r->clusterZ : 1;
	struct key wanted = {
		.name = r->name ? r->name : "(no name)",
		.grid = {r->gridX, r->gridY, r->gridZ},
		.block = {r->blockX, r->blockY, r->blockZ},
		.cluster = {cx, cy, cz},
		.shared = r->dynamicSharedMemory,
		.graph = r->graphNodeId != 0,
	};
	uint64_t hash = 14695981039346656037u;
	struct key *k;

	for (const char *c = wanted.name; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211u;
	for (const int32_t *v = wanted.grid; v < wanted.grid + 3; v++)
		hash = (hash ^ (uint32_t)*v) * 1099511628211u;
	hash ^= hash >> 32;
	for (unsigned probe = 0; probe < KEYS; probe++) {
		k = &keys[(hash + probe) % KEYS];
		if (!k->name) {
			*k = wanted;
			k->name = strdup(wanted.name);
		}
		if (k->name && same(k, &wanted)) {
			k->count++;
			return;
		}
	}
	no_room++;
}

/* No kernel ends before, or as, it starts, and none starts at 0. */
static void check_times(const CUpti_ActivityKernel9 *r)
{
	if (r->start && r->end > r->start)
		return;
	if (invalid < SHOWN)
		shown[invalid] = (struct shown){r->start, r->end, r->completed, r->graphNodeId,
						strdup(r->name ? r->name : "(no name)")};
	invalid++;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	CUpti_Activity *record = NULL;
	size_t lost = 0;

	(void)size;
	pthread_mutex_lock(&lock);
	while (buffer && valid &&
	       cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		const CUpti_ActivityKernel9 *kernel = (const void *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		records++;
		check_times(kernel);
		on_device[kernel->deviceId % DEVICES]++;
		if (tabulate)
			count_kernel(kernel);
	}
	if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS)
		dropped += lost;
	for (int i = 0; i < BUFFERS; i++)
		if (buffer == pool[i])
			taken[i] = 0;
	pthread_mutex_unlock(&lock);
}

static void write_table(void)
{
	char path[4096];
	uint32_t version = 0;
	FILE *out;

	snprintf(path, sizeof path, "%s/%ld.tsv", getenv("GPU_ORACLE_DIR"), (long)getpid());
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		return;
	}
	for (const struct key *k = keys; k < keys + KEYS; k++)
		if (k->name)
			fprintf(out, "K\t%d\t%llu\t%d,%d,%d\t%d,%d,%d\t%u,%u,%u\t%d\t%s\n",
				k->graph, (unsigned long long)k->count, k->grid[0], k->grid[1],
				k->grid[2], k->block[0], k->block[1], k->block[2], k->cluster[0],
				k->cluster[1], k->cluster[2], k->shared, k->name);
	for (const struct shown *i = shown; i < shown + SHOWN && i->name; i++)
		fprintf(out, "I\t%llu\t%llu\t%llu\t%llu\t%s\n", (unsigned long long)i->start,
			(unsigned long long)i->end, (unsigned long long)i->completed,
			(unsigned long long)i->node, i->name);
	for (int i = 0; i < DEVICES; i++)
		if (on_device[i])
			fprintf(out, "C\tdevice_%d\t%llu\n", i, (unsigned long long)on_device[i]);
	cupti.cuptiGetVersion(&version);
	fprintf(out,
		"C\trecords\t%llu\nC\tinvalid\t%llu\nC\tdropped\t%llu\nC\tno_room\t%llu\n"
		"C\tcupti\t%u\n",
		(unsigned long long)records, (unsigned long long)invalid,
		(unsigned long long)dropped, (unsigned long long)no_room, version);
	fclose(out);
}

static void finish(void)
{
	cupti.cuptiActivityFlushAll(1);
	if (getenv("GPU_ORACLE_DIR"))
		write_table();
}

static int resolve(void *library)
{
#define RESOLVE(name) \
	*(void **)&cupti.name = dlsym(library, #name); \
	if (!cupti.name) \
		return 0;
	CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
	return 1;
}

/* The driver calls this within cuInit. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	const char *named = getenv("GPU_ORACLE_CUPTI"), *table = getenv("GPU_ORACLE_TABLE");
	void *library = named ? dlopen(named, RTLD_NOW) : NULL;

	if (!library)
		library = dlopen("libcupti.so.13", RTLD_NOW);
	if (!library)
		library = dlopen("libcupti.so.12", RTLD_NOW);
	if (!library || !resolve(library)) {
		fprintf(stderr, "oracle: no usable libcupti: %s\n",
			library ? "too old" : dlerror());
		return 0;
	}
	tabulate = !table || strcmp(table, "0");
	if (cupti.cuptiActivityRegisterCallbacks(request, completed) != CUPTI_SUCCESS ||
	    cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
		fprintf(stderr, "oracle: kernel activity can't be enabled\n");
		return 0;
	}
	atexit(finish); /* after the driver's own: runs before them */
	return 1;
}
