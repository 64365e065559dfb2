#include "preload/worker/registry.h"

#include "preload/runtime/clock.h"
#include "preload/analysis/code.h"
#include "preload/analysis/code_pack.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/analysis/digests.h"
#include "preload/maps/idmap.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/launch/modules.h"
#include "preload/join/kernel_names.h"
#include "predictor/learner/predictor.h"
#include "predictor/counters/slow.h"

#include <stdio.h>
#include <string.h>

enum { NODES_KNOWN = 1 << 17, MODULES_MAX = 1 << 16 };
enum { KERNELS_KEPT = 2 * GW_KERNELS_MAX }; /* hooked ones, and as many that no hook saw */

static struct gw_kernel *kernels; /* [KERNELS_KEPT], the same */
static uint32_t kernel_count, unhooked_count, node_count, thread_count, module_count;
static bool config_full;         /* there is no room for more, and never will be */
static uint32_t *kernel_of_slot; /* [GW_KERNELS_MAX] */
static uint32_t *module_ids;     /* [MODULES_MAX], by our number */
static uint32_t *namesake;       /* [KERNELS_KEPT]: the hooked one of a kernel's name before it */
static struct gw_idmap config_map, shape_map, pair_map, kernel_map;
static struct gw_idmap nodes, nodes_before; /* those used lately, and those used before these */
static unsigned reasons_written;

/* What a kernel takes here and in the predictor. */
static size_t kernel_bytes(void)
{
	return sizeof(*kernels) + gw_predictor_kernel_bytes();
}

bool gw_registry_start(void)
{
	kernels = gw_memory_reserve(KERNELS_KEPT * sizeof(*kernels));
	namesake = gw_memory_table(KERNELS_KEPT * sizeof(*namesake));
	kernel_of_slot = gw_memory_table(GW_KERNELS_MAX * sizeof(*kernel_of_slot));
	module_ids = gw_memory_table(MODULES_MAX * sizeof(*module_ids));
	/* A forked child begins with the parent's maps: leave them, start empty ones. */
	config_map = shape_map = pair_map = (struct gw_idmap){.use = GW_MEMORY_configurations};
	kernel_map = (struct gw_idmap){.use = GW_MEMORY_kernels};
	nodes = nodes_before = (struct gw_idmap){.use = GW_MEMORY_graphs};
	gw_stream_ids_start();
	kernel_count = unhooked_count = node_count = thread_count = module_count = 0;
	config_full = false;
	reasons_written = 0;
	gw_device_ids_start();
	gw_hot.shared->kernel_bytes = (uint32_t)kernel_bytes();
	return gw_configs_start() && kernels;
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
	gw_log_write(GW_RECORD_MODULE, &r, sizeof(r), n->path, strlen(n->path) + 1);
}

static void write_modules(void)
{
	for (struct gw_module_note *n = gw_module_notes_take(), *next; n; n = next) {
		next = n->next;
		gw_code_module(n);
		gw_code_pack_add(n);
		/* Where launches go into sums a module is in the log once a kernel in it is. */
		if (!gw_options_sum())
			module_write(n);
	}
}

/* Notes come in any order from threads that load at once; ids of a log must rise. */
static uint32_t module_id(uint32_t number)
{
	if (!number || number >= MODULES_MAX)
		return 0;
	if (!module_ids[number])
		write_modules();
	if (!module_ids[number] && gw_code_note(number))
		module_write(gw_code_note(number));
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
	uint64_t key = gw_idmap_key(gw_kernel_name_hash(name), 0);

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
		uint64_t key = gw_idmap_key(gw_kernel_name_hash(k->name), k->hash);
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

/* The configuration that unpaired launches and records are kept with: of a record neither digest
   nor image is known, of a launch not always its GPU. */
static uint32_t pair_of(uint32_t id, const char *name, const struct gw_config *plain)
{
	uint64_t key = gw_idmap_key(config_key(0, 0, plain), gw_kernel_name_hash(name));
	uint32_t pair = gw_idmap_get(&pair_map, key);

	if (!pair)
		gw_idmap_put(&pair_map, key, id);
	return pair ? pair : id;
}

/* What a configuration takes here and in the predictor; what it takes in maps, these account for.
 */
static size_t config_bytes(void)
{
	return sizeof(struct gw_config_entry) + gw_predictor_config_bytes() +
	       gw_slow_config_bytes();
}

/* The next id, its place in @p map taken for @p key; 0 where there is none, and then on every later
 * call.
 */
static uint32_t config_new(struct gw_idmap *map, uint64_t key)
{
	if (config_full)
		return 0;
	config_full = true;
	if (gw_config_count() + 1 >= GW_CONFIGS_MAX) {
		gw_degrade(
			GW_DEGRADED_TABLE_FULL,
			"more than %d configurations: the launches of later ones are counted only",
			GW_CONFIGS_MAX - 1);
		return 0;
	}
	if (!gw_memory_take(GW_MEMORY_configurations, config_bytes()) ||
	    !gw_idmap_put(map, key, gw_config_count() + 1)) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "no memory for more than %u configurations (GPUWATCH_MEMORY_MAX): the "
			   "launches of later ones are counted only",
			   gw_config_count());
		return 0;
	}
	config_full = false;
	return gw_config_add();
}

static bool is_provisional(const struct gw_config *c)
{
	return (c->digest & GW_DIGEST_IS_PROVISIONAL) != 0;
}

/* Configuration @p id has a hash and this head. */
static void digest_added(struct gw_config_entry *head, uint32_t id)
{
	struct gw_config_entry *c = gw_config_entry(id);

	head->digests[is_provisional(&c->config)]++;
	if (head == c)
		return;
	c->hashed = head->hashed;
	head->hashed = id;
}

static uint32_t config_id(uint32_t kernel, uint32_t slot, uint32_t device, const char *name,
			  const struct gw_config *c)
{
	uint64_t key = config_key(kernel, device, c), shape;
	uint32_t id = gw_idmap_get(&config_map, key), head;
	struct gw_config plain = *c;
	struct gw_record_config r;

	if (id || !kernel || config_full)
		return id;
	plain.digest = 0;
	shape = config_key(kernel, device, &plain);
	head = gw_idmap_get(&shape_map, shape);
	if (c->digest &&
	    !gw_digests_admit(slot, c->digest,
			      head && gw_config_entry(head)->digests[is_provisional(c)]))
		return config_id(kernel, slot, device, name, &plain);
	id = config_new(&config_map, key);
	if (!id)
		return 0;
	*gw_config_entry(id) = (struct gw_config_entry){.kernel = kernel,
							.slot = slot,
							.device = device,
							.head = head ? head : id,
							.pair = pair_of(id, name, &plain),
							.config = *c,
							.name = name};
	if (!head)
		gw_idmap_put(&shape_map, shape, id);
	if (c->digest)
		digest_added(gw_config_entry(gw_config_entry(id)->head), id);
	r = gw_record_of_config(id, kernel, gw_device_id((int)device - 1), c);
	gw_log_write(GW_RECORD_CONFIG, &r, sizeof(r), NULL, 0);
	return id;
}

bool gw_config_full(void)
{
	return config_full;
}

uint32_t gw_intern_config(uint32_t slot, uint32_t device, const struct gw_config *config)
{
	uint32_t kernel = kernel_id(slot);

	return kernel ? config_id(kernel, slot, device, gw_hot.shared->kernels[slot].name, config)
		      : 0;
}

void gw_config_launched(uint32_t id, uint64_t launches)
{
	struct gw_config_entry *c = gw_config_entry(id), *head = gw_config_entry(c->head);

	if (c->config.digest && head->latest != id) {
		if (c->launches)
			gw_digests_returned(c->slot, c->config.digest);
		head->latest = id;
	}
	if (c->launches < 2 && c->launches + launches > 1 && c->config.digest && head != c)
		gw_digests_again(c->slot, c->config.digest);
	c->launches += launches;
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
 * The kernel of a record that matched no launch: by its name and, where several have that, by its
 * registers. Where these don't identify it, it becomes a kernel of its own: nothing of it is taken
 * for another's.
 */
static uint32_t kernel_of_activity(const struct gw_activity *a)
{
	uint64_t hash = gw_kernel_name_hash(a->name), own = gw_idmap_key(hash, UINT64_MAX);
	uint32_t last = gw_idmap_get(&kernel_map, gw_idmap_key(hash, 0)), found;

	if (last && (last >= KERNELS_KEPT || !namesake[last]))
		return last;
	found = namesake_with(last, a->registers);
	if (!found)
		found = gw_idmap_get(&kernel_map, own);
	if (!found && unhooked_count < GW_KERNELS_MAX &&
	    gw_memory_take(GW_MEMORY_kernels, kernel_bytes())) {
		const struct gw_kernel_slot k = {
			.name = a->name,
			.registers = a->registers,
			.static_shared = a->static_shared,
			.local = a->local,
			.constant = UINT32_MAX,
			.max_threads = UINT32_MAX,
			.binary_version = UINT32_MAX,
		};

		/* First: one that is not found again would be written with each of its records. */
		if (!gw_idmap_put(&kernel_map, own, kernel_count + 1)) {
			gw_memory_give(GW_MEMORY_kernels, kernel_bytes());
			return 0;
		}
		unhooked_count++;
		found = kernel_write(&k);
	}
	return found;
}

uint32_t gw_intern_config_of_activity(const struct gw_activity *a)
{
	uint32_t kernel = kernel_of_activity(a), device = a->device + 1;
	struct gw_config c = {
		.grid = {a->grid[0], a->grid[1], a->grid[2]},
		.block = {a->block[0], a->block[1], a->block[2]},
		.cluster = {a->cluster[0], a->cluster[1], a->cluster[2]},
		.dynamic_shared = a->dynamic_shared,
	};
	const struct gw_kernel_name *name;
	uint32_t id;

	id = gw_idmap_get(&config_map, config_key(kernel, device, &c));
	if (!id) /* of launches whose GPU the hooks could not determine */
		id = gw_idmap_get(&config_map, config_key(kernel, 0, &c));
	if (!id && !gw_idmap_get(&shape_map, config_key(kernel, device, &c)) &&
	    gw_idmap_get(&shape_map, config_key(kernel, 0, &c)))
		device = 0; /* the same of those that all have a digest */
	if (id || config_full)
		return id;
	name = gw_kernel_name_keep(a->name);
	return name ? config_id(kernel, 0, device, name->text, &c) : 0;
}

uint32_t gw_intern_thread(struct gw_thread *t)
{
	if (t->logged_serial != t->serial) {
		/* By first launch seen, not by serial: ids of a log must rise. */
		struct gw_record_thread r = {.tid = (uint32_t)t->tid};

		t->logged_serial = t->serial;
		t->id = r.id = thread_count < UINT16_MAX ? ++thread_count : 0;
		if (t->id) {
			gw_log_write(GW_RECORD_THREAD, &r, sizeof(r), NULL, 0);
		} else {
			gw_degrade(GW_DEGRADED_TABLE_FULL,
				   "more than %d threads have launched: the launches of later ones "
				   "name no thread",
				   UINT16_MAX);
			gw_count(GW_COUNTER_threads_unnamed, 1);
		}
	}
	return t->id;
}

/* Where there is no more room, that of those unused for long is taken: a node that is not found
 * again has another id, and a record, each time. */
static void remember_node(uint64_t key, uint32_t id)
{
	struct gw_idmap oldest = nodes_before;

	if (gw_idmap_put(&nodes, key, id))
		return;
	if (oldest.size) {
		nodes_before = nodes;
		nodes = oldest;
	}
	gw_idmap_empty(&nodes);
	gw_idmap_put(&nodes, key, id);
}

/* A node that is unused for long is forgotten: used again, it has another id. */
uint32_t gw_intern_node(uint32_t exec, uint64_t node)
{
	uint64_t key = gw_idmap_key(exec, node);
	uint32_t id = gw_idmap_get(&nodes, key);

	if (id)
		return id;
	if (nodes.used >= NODES_KNOWN) {
		gw_idmap_clear(&nodes_before);
		nodes_before = nodes;
		nodes = (struct gw_idmap){.use = GW_MEMORY_graphs};
	}
	id = gw_idmap_get(&nodes_before, key);
	if (!id && gw_options_sum() && node_count >= GW_NAMED_FIRST)
		return 0;
	if (!id) {
		struct gw_record_node r = {.graph = exec, .node = node};

		r.id = id = ++node_count;
		gw_log_write(GW_RECORD_NODE, &r, sizeof(r), NULL, 0);
	}
	remember_node(key, id);
	return id;
}

void gw_registry_write_news(void)
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
