/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/tables.h"

#include "preload/clock.h"
#include "preload/code.h"
#include "preload/degrade.h"
#include "preload/digests.h"
#include "preload/idmap.h"
#include "preload/log.h"
#include "preload/modules.h"
#include "preload/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NODES_MAX = 1 << 20, DEVICES_MAX = 64, MODULES_MAX = 1 << 16, STREAM_DEVICES = 1 << 20 };
enum { KERNELS_KEPT = 2 * GW_KERNELS_MAX }; /* hooked ones, and as many that no hook saw */

static struct gw_config_entry *configs; /* [GW_CONFIGS_MAX], touched as used */
static struct gw_kernel *kernels;       /* [KERNELS_KEPT], the same */
static uint32_t config_count, kernel_count, stream_count, node_count, device_count, thread_count,
        module_count;
static uint32_t kernel_of_slot[GW_KERNELS_MAX];
static uint32_t stream_generation[GW_STREAMS_MAX], stream_ids[GW_STREAMS_MAX];
static uint32_t device_ids[DEVICES_MAX], module_ids[MODULES_MAX]; /* by our number */
static uint32_t capabilities[DEVICES_MAX];
static int8_t stream_devices[STREAM_DEVICES]; /* by id in the log: ordinal + 1, 0 = not known */
static uint32_t namesake[KERNELS_KEPT];       /* by kernel: the hooked one of its name before it */
static struct gw_idmap config_map, shape_map, pair_map, kernel_map, stream_map, node_map;
static unsigned reasons_written;
static bool driver_gone, stand_in;

static bool driver_is_stand_in(void)
{
	static const char name[] = "gpuwatch stand-in";
	char found[64] = "";

	return gw_driver.cuDeviceGetName &&
	       gw_driver.cuDeviceGetName(found, sizeof(found) - 1, 0) == CUDA_SUCCESS &&
	       !strncmp(found, name, sizeof(name) - 1);
}

static void *reserve(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	            -1, 0);
}

bool gw_tables_start(void)
{
	configs = reserve(GW_CONFIGS_MAX * sizeof(*configs));
	kernels = reserve(KERNELS_KEPT * sizeof(*kernels));
	/* A forked child begins with the parent's maps: leave them, start empty ones. */
	memset(&config_map, 0, sizeof(config_map));
	memset(&shape_map, 0, sizeof(shape_map));
	memset(&pair_map, 0, sizeof(pair_map));
	memset(&kernel_map, 0, sizeof(kernel_map));
	memset(&stream_map, 0, sizeof(stream_map));
	memset(&node_map, 0, sizeof(node_map));
	memset(kernel_of_slot, 0, sizeof(kernel_of_slot));
	memset(stream_generation, 0, sizeof(stream_generation));
	memset(device_ids, 0, sizeof(device_ids));
	memset(capabilities, 0, sizeof(capabilities));
	memset(module_ids, 0, sizeof(module_ids));
	memset(stream_devices, 0,
	       stream_count < STREAM_DEVICES ? stream_count + 1 : STREAM_DEVICES);
	config_count = kernel_count = stream_count = node_count = device_count = thread_count =
	        module_count = 0;
	reasons_written = 0;
	driver_gone = false;
	stand_in = driver_is_stand_in();
	return configs != MAP_FAILED && kernels != MAP_FAILED;
}

static uint64_t hash_name(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

static void module_write(const struct gw_module_note *n)
{
	struct gw_record_module r = {
	        .id = n->number < MODULES_MAX ? ++module_count : 0,
	        .origin = n->origin,
	        .bytes = n->bytes,
	        .digest = n->digest,
	        .load_ns = gw_clock_ns(n->ticks),
	};

	if (r.id)
		module_ids[n->number] = r.id;
	gw_code_module(n);
	gw_log_write(GW_RECORD_MODULE, &r, sizeof(r), n->path, strlen(n->path) + 1);
}

static void write_modules(void)
{
	for (struct gw_module_note *n = gw_module_notes_take(); n; n = n->next)
		module_write(n);
}

/* Notes come in any order from threads that load at once; ids of a log must rise. */
static uint32_t module_id(uint32_t number)
{
	if (!number || number >= MODULES_MAX)
		return 0;
	if (!module_ids[number])
		write_modules();
	return module_ids[number];
}

const struct gw_kernel *gw_kernel_of(uint32_t id)
{
	static const struct gw_kernel unknown = {
	        .name = "",
	        .registers = UINT32_MAX,
	        .static_shared = UINT32_MAX,
	        .local = UINT32_MAX,
	        .constant = UINT32_MAX,
	        .max_threads = UINT32_MAX,
	        .binary_version = UINT32_MAX,
	};

	return id && id < KERNELS_KEPT ? &kernels[id] : &unknown;
}

static uint32_t kernel_write(const struct gw_kernel_slot *k)
{
	const struct gw_kernel kernel = {
	        .name = "", /* the slot's may go */
	        .registers = k->registers,
	        .static_shared = k->static_shared,
	        .local = k->local,
	        .constant = k->constant,
	        .max_threads = k->max_threads,
	        .binary_version = k->binary_version,
	};
	struct gw_record_kernel r =
	        gw_record_of_kernel(++kernel_count, module_id(k->module), &kernel);

	if (r.id < KERNELS_KEPT)
		kernels[r.id] = kernel;
	gw_log_write(GW_RECORD_KERNEL, &r, sizeof(r), k->name, strlen(k->name) + 1);
	return r.id;
}

/* By name alone too, for records of kernels that no hook saw. Several may have one name. */
static void kernel_name(uint32_t id, const char *name)
{
	uint64_t key = gw_idmap_key(hash_name(name), 0);

	if (id < KERNELS_KEPT)
		namesake[id] = gw_idmap_get(&kernel_map, key);
	gw_idmap_put(&kernel_map, key, id);
}

static uint32_t kernel_id(uint32_t slot)
{
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[slot];

	if (!slot || !k->name)
		return 0;
	if (!kernel_of_slot[slot]) {
		uint64_t key = gw_idmap_key(hash_name(k->name), k->hash);
		uint32_t id = gw_idmap_get(&kernel_map, key);

		if (!id) {
			id = kernel_write(k);
			gw_idmap_put(&kernel_map, key, id);
			kernel_name(id, k->name);
		}
		kernel_of_slot[slot] = id;
	}
	return kernel_of_slot[slot];
}

static uint64_t config_key(uint32_t kernel, uint32_t device, const struct gw_config *c)
{
	const uint32_t grid[3] = {c->grid.x, c->grid.y, c->grid.z};
	uint64_t a = gw_cell_key(kernel, grid, c->block.x, c->block.y, c->block.z,
	                         c->cluster.x | c->cluster.y << 10 | c->cluster.z << 20,
	                         c->dynamic_shared, c->digest);

	return gw_idmap_key(a, (uint64_t)device << 32 | kernel);
}

static uint64_t pair_key(const char *name, uint32_t device, const struct gw_config *plain)
{
	return gw_idmap_key(config_key(0, device, plain), hash_name(name));
}

/* The configuration that unpaired launches and records are kept with: of a record neither digest
   nor image is known. */
static uint32_t pair_of(uint32_t id, const char *name, uint32_t device,
                        const struct gw_config *plain)
{
	uint64_t key = pair_key(name, device, plain);
	uint32_t pair = gw_idmap_get(&pair_map, key);

	if (!pair && device) /* launches whose GPU the hooks could not tell */
		pair = gw_idmap_get(&pair_map, pair_key(name, 0, plain));
	if (!pair)
		gw_idmap_put(&pair_map, key, id);
	return pair ? pair : id;
}

static uint32_t config_id(uint32_t kernel, uint32_t slot, uint32_t device, const char *name,
                          const struct gw_config *c)
{
	uint64_t key = config_key(kernel, device, c), shape;
	uint32_t id = gw_idmap_get(&config_map, key), head;
	struct gw_config plain = *c;
	struct gw_record_config r;

	if (id || !kernel)
		return id;
	plain.digest = 0;
	shape = config_key(kernel, device, &plain);
	head = gw_idmap_get(&shape_map, shape);
	if (c->digest && !gw_digests_admit(slot, head && gw_config_entry(head)->digests))
		return config_id(kernel, slot, device, name, &plain);
	if (config_count + 1 >= GW_CONFIGS_MAX) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
		           "more than %d configurations: the launches of "
		           "later ones are counted only",
		           GW_CONFIGS_MAX - 1);
		gw_count(GW_COUNTER_table_full, 1);
		return 0;
	}
	id = ++config_count;
	configs[id] = (struct gw_config_entry){.kernel = kernel,
	                                       .slot = slot,
	                                       .device = device,
	                                       .head = head ? head : id,
	                                       .pair = pair_of(id, name, device, &plain),
	                                       .config = *c,
	                                       .name = name};
	gw_idmap_put(&config_map, key, id);
	if (!head)
		gw_idmap_put(&shape_map, shape, id);
	if (c->digest)
		configs[configs[id].head].digests++;
	r = gw_record_of_config(id, kernel, gw_device_id((int)device - 1), c);
	gw_log_write(GW_RECORD_CONFIG, &r, sizeof(r), NULL, 0);
	return id;
}

uint32_t gw_config_of(uint32_t slot, uint32_t device, const struct gw_config *config)
{
	uint32_t kernel = kernel_id(slot);

	return kernel ? config_id(kernel, slot, device, gw_hot.shared->kernels[slot].name, config)
	              : 0;
}

void gw_config_launched(uint32_t id)
{
	struct gw_config_entry *c = gw_config_entry(id), *head = gw_config_entry(c->head);

	if (c->config.digest && head->latest != id) {
		if (c->launches)
			gw_digests_returned(c->slot);
		head->latest = id;
	}
	c->launches++;
}

/* The only one of the kernels called as @p last is that has so many registers; 0: none, or several.
 */
static uint32_t namesake_with(uint32_t last, uint32_t registers)
{
	enum { NAMESAKES = 16 };
	uint32_t found = 0;

	for (unsigned seen = 0; last && last < KERNELS_KEPT; last = namesake[last], seen++) {
		if (seen == NAMESAKES || (found && kernels[last].registers == registers))
			return 0;
		if (kernels[last].registers == registers)
			found = last;
	}
	return found;
}

/*
 * The kernel of a record that met no launch: by its name and, where several have that, by its
 * registers. Where these don't tell it, it is one of its own: nothing of it is taken for another's.
 */
static uint32_t kernel_of_activity(const struct gw_activity *a)
{
	uint64_t hash = hash_name(a->name), own = gw_idmap_key(hash, UINT64_MAX);
	uint32_t last = gw_idmap_get(&kernel_map, gw_idmap_key(hash, 0)), found;

	if (last && (last >= KERNELS_KEPT || !namesake[last]))
		return last;
	found = namesake_with(last, a->registers);
	if (!found)
		found = gw_idmap_get(&kernel_map, own);
	if (!found) {
		const struct gw_kernel_slot k = {
		        .name = a->name,
		        .registers = a->registers,
		        .static_shared = a->static_shared,
		        .local = a->local,
		        .constant = UINT32_MAX,
		        .max_threads = UINT32_MAX,
		        .binary_version = UINT32_MAX,
		};

		found = kernel_write(&k);
		gw_idmap_put(&kernel_map, own, found);
	}
	return found;
}

uint32_t gw_config_of_activity(const struct gw_activity *a)
{
	uint32_t kernel = kernel_of_activity(a), device = a->device + 1;
	struct gw_config c = {
	        .grid = {a->grid[0], a->grid[1], a->grid[2]},
	        .block = {a->block[0], a->block[1], a->block[2]},
	        .cluster = {a->cluster[0], a->cluster[1], a->cluster[2]},
	        .dynamic_shared = a->dynamic_shared,
	};
	uint32_t id;
	char *name;

	id = gw_idmap_get(&config_map, config_key(kernel, device, &c));
	if (!id) /* of launches whose GPU the hooks could not tell */
		id = gw_idmap_get(&config_map, config_key(kernel, 0, &c));
	if (!id && !gw_idmap_get(&shape_map, config_key(kernel, device, &c)) &&
	    gw_idmap_get(&shape_map, config_key(kernel, 0, &c)))
		device = 0; /* the same of those that all have a digest */
	if (id)
		return id;
	/* libcupti's name may go with the module: keep one of ours, once per configuration. */
	name = strndup(a->name, GW_NAME_MAX);
	return name ? config_id(kernel, 0, device, name, &c) : 0;
}

struct gw_config_entry *gw_config_entry(uint32_t id)
{
	return &configs[id];
}

uint32_t gw_config_count(void)
{
	return config_count;
}

static uint32_t attribute(CUdevice device, CUdevice_attribute which)
{
	int value = 0;

	if (!gw_driver.cuDeviceGetAttribute ||
	    gw_driver.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS || value < 0)
		return 0;
	return (uint32_t)value;
}

uint32_t gw_device_id(int ordinal)
{
	struct gw_record_device r = {.ordinal = (uint32_t)ordinal};
	char tail[256 + 33] = "";
	size_t memory = 0, n;
	CUuuid uuid;

	if (ordinal < 0 || ordinal >= DEVICES_MAX)
		return 0;
	if (device_ids[ordinal] || driver_gone)
		return device_ids[ordinal];
	r.id = device_ids[ordinal] = ++device_count;
	r.compute_capability =
	        10 * attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
	        attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	capabilities[ordinal] = r.compute_capability;
	r.sm_count = attribute(ordinal, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	r.sm_clock_khz = attribute(ordinal, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
	r.mem_clock_khz = attribute(ordinal, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
	r.driver_version = gw_driver_version();
	if (gw_driver.cuDeviceTotalMem_v2 &&
	    gw_driver.cuDeviceTotalMem_v2(&memory, ordinal) == CUDA_SUCCESS)
		r.memory = memory;
	if (gw_driver.cuDeviceGetName)
		gw_driver.cuDeviceGetName(tail, 255, ordinal);
	n = strlen(tail) + 1;
	if (gw_driver.cuDeviceGetUuid && gw_driver.cuDeviceGetUuid(&uuid, ordinal) == CUDA_SUCCESS)
		for (int i = 0; i < 16; i++)
			snprintf(tail + n + 2 * i, 3, "%02x", (unsigned char)uuid.bytes[i]);
	n += strlen(tail + n) + 1;
	gw_log_write(GW_RECORD_DEVICE, &r, sizeof(r), tail, n);
	gw_device_profile_use(r.id, tail);
	return r.id;
}

uint32_t gw_device_capability(int ordinal)
{
	return ordinal >= 0 && ordinal < DEVICES_MAX ? capabilities[ordinal] : 0;
}

bool gw_device_stand_in(void)
{
	return stand_in;
}

uint32_t gw_driver_version(void)
{
	int version = 0;

	if (!gw_driver.cuDriverGetVersion ||
	    gw_driver.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < 0)
		return 0;
	return (uint32_t)version;
}

void gw_tables_driver_gone(void)
{
	driver_gone = true;
}

static uint32_t stream_write(int device, uint64_t context, uint32_t kind, uint32_t cupti_id)
{
	struct gw_record_stream r = {
	        .device = gw_device_id(device),
	        .kind = kind,
	        .cupti_id = cupti_id,
	        .context = context,
	};

	r.id = ++stream_count;
	if (r.id < STREAM_DEVICES)
		stream_devices[r.id] = (int8_t)(r.device ? device + 1 : 0);
	gw_log_write(GW_RECORD_STREAM, &r, sizeof(r), NULL, 0);
	return r.id;
}

int gw_stream_device(uint32_t id)
{
	return id < STREAM_DEVICES ? stream_devices[id] - 1 : -1;
}

uint32_t gw_stream_id(uint32_t slot)
{
	const struct gw_stream_slot *s = &gw_hot.shared->stream_slots[slot];

	if (!slot)
		return 0;
	if (stream_generation[slot] != s->generation) {
		stream_generation[slot] = s->generation;
		stream_ids[slot] = stream_write(s->device, s->context_id, s->kind, s->cupti_stream);
		if (s->cupti_stream)
			gw_idmap_put(&stream_map, gw_idmap_key(s->cupti_context, s->cupti_stream),
			             stream_ids[slot]);
	}
	return stream_ids[slot];
}

uint32_t gw_stream_id_of_activity(const struct gw_activity *a)
{
	uint64_t key = gw_idmap_key(a->context, a->stream);
	uint32_t id = gw_idmap_get(&stream_map, key);

	/* A stream that no hook saw: inside a graph, or the device's own. */
	if (!id) {
		id = stream_write((int)a->device, a->context, GW_STREAM_CREATED, a->stream);
		gw_idmap_put(&stream_map, key, id);
	}
	return id;
}

uint32_t gw_thread_id(struct gw_thread *t)
{
	if (t->logged_serial != t->serial) {
		/* By first launch met, not by serial: ids of a log must rise. */
		struct gw_record_thread r = {.tid = (uint32_t)t->tid};

		t->logged_serial = t->serial;
		t->id = r.id = thread_count < UINT16_MAX ? ++thread_count : 0;
		if (t->id)
			gw_log_write(GW_RECORD_THREAD, &r, sizeof(r), NULL, 0);
	}
	return t->id;
}

uint32_t gw_node_id(uint32_t exec, uint64_t node)
{
	uint64_t key = gw_idmap_key(exec, node);
	uint32_t id = gw_idmap_get(&node_map, key);

	if (!id && node_count < NODES_MAX) {
		struct gw_record_node r = {.graph = exec, .node = node};

		r.id = id = ++node_count;
		gw_log_write(GW_RECORD_NODE, &r, sizeof(r), NULL, 0);
		gw_idmap_put(&node_map, key, id);
	}
	return id;
}

void gw_tables_write_news(void)
{
	struct gw_reason reason;

	write_modules();
	while (gw_degraded_get(reasons_written, &reason)) {
		struct gw_record_degraded r = {.code = reason.code, .ns = reason.ns};

		gw_log_write(GW_RECORD_DEGRADED, &r, sizeof(r), reason.text,
		             strlen(reason.text) + 1);
		reasons_written++;
	}
}
