#include "preload/stack/stack_log.h"

#include "predictor/core/hash.h"
#include "preload/launch/stacks.h"
#include "preload/live/log.h"
#include "preload/maps/idmap.h"
#include "preload/runtime/sandbox.h"
#include "preload/stack/loaded.h"
#include "preload/stack/unwind.h"

#include <string.h>

enum {
	A_ROUND = 32,     /* stacks unwound in one */
	NATIVE = 64,      /* frames of one */
	FRAMES = 1 << 16, /* in the log */
	TAIL = GW_STACK_FILE + GW_STACK_FUNCTION,
};

static uint32_t (*config_of)(uint32_t kernel, uint32_t device, const struct gw_config *shape);
static struct gw_idmap frames = {.use = GW_MEMORY_configurations};  /* ids by hash */
static struct gw_idmap written = {.use = GW_MEMORY_configurations}; /* configurations */
static uint32_t frame_count;

void gw_stacks_log_start(uint32_t (*config)(uint32_t kernel, uint32_t device,
					    const struct gw_config *shape))
{
	config_of = config;
	/* A forked child's are the parent's, which may be half changed: left behind. */
	frames = written = (struct gw_idmap){.use = GW_MEMORY_configurations};
	frame_count = 0;
	gw_loaded_start();
	gw_unwind_forget();
	gw_stacks_start();
}

/* The id of the frame with this hash, where @p r and @p tail are written at first sight; 0: none is
 * left. */
static uint32_t frame_id(uint64_t hash, struct gw_record_frame *r, const char *tail, size_t length)
{
	uint32_t id = gw_idmap_get(&frames, hash | 1);

	if (id || frame_count == FRAMES || !gw_idmap_put(&frames, hash | 1, frame_count + 1))
		return id;
	r->id = ++frame_count;
	gw_log_write(GW_RECORD_FRAME, r, sizeof(*r), tail, length);
	return r->id;
}

static uint32_t native_id(struct gw_loaded *o, uint64_t address)
{
	struct gw_record_frame r = {.object = gw_loaded_id(o), .address = address - o->bias};

	return r.object ? frame_id(gw_idmap_key(r.object, r.address), &r, "\0", 2) : 0;
}

static uint32_t python_id(const struct gw_stack *s, const struct gw_python_frame *f)
{
	struct gw_record_frame r = {.line = f->line};
	const char *file = s->text + f->file, *function = s->text + f->function;
	size_t one = strlen(file) + 1, other = strlen(function) + 1;
	char tail[4 * TAIL];

	if (one + other > sizeof(tail))
		return 0;
	memcpy(tail, file, one);
	memcpy(tail + one, function, other);
	return frame_id(gw_hash(gw_hash_mix(f->line + 1u), tail, one + other), &r, tail,
			one + other);
}

static uint32_t add_native(struct gw_stack *s, struct gw_record_stack *r, uint32_t *id)
{
	struct gw_unwind u = {.stack = s->copy, .bytes = s->bytes};
	uint64_t address[NATIVE];
	uint32_t count = 0, used = 0;
	bool outside = false;

	memcpy(u.registers, s->registers, sizeof(u.registers));
	if (gw_sandbox_enter()) {
		r->end = gw_unwind(&u, address, NATIVE, &count);
		gw_sandbox_leave();
	} else {
		r->end = GW_STACK_END_NO_RULE;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct gw_loaded *o = gw_loaded_find(address[i] - 1);

		/* Our own functions came between. */
		outside |= o && !o->ours;
		if (outside && o && (id[used] = native_id(o, address[i])))
			used++;
	}
	return used;
}

static bool has_stack(uint32_t config)
{
	return gw_idmap_get(&written, gw_idmap_key(config, 0)) != 0;
}

static void write_stack(struct gw_stack *s)
{
	struct {
		struct gw_record_stack head;
		uint32_t id[NATIVE + GW_STACK_PYTHON];
	} r = {.head = {.config = 0}};
	uint32_t config = config_of(s->kernel, s->device, &s->config);

	if (!config || has_stack(config))
		return;
	gw_idmap_put(&written, gw_idmap_key(config, 0), 1);
	r.head.config = config;
	r.head.count = add_native(s, &r.head, r.id);
	for (uint32_t i = 0; i < s->python; i++) {
		uint32_t id = python_id(s, &s->frame[i]);

		if (id) {
			r.id[r.head.count++] = id;
			r.head.python++;
		}
	}
	r.head.flags =
		(s->captured ? GW_STACK_CAPTURED : 0) | (s->python_cut ? GW_STACK_PYTHON_CUT : 0);
	gw_log_write(GW_RECORD_STACK, &r.head, sizeof(r.head), r.id, r.head.count * sizeof(*r.id));
}

bool gw_stack_lacks(uint32_t config)
{
	return gw_stacks_behind() && !has_stack(config);
}

void gw_stacks_log(uint64_t now_ns)
{
	struct gw_stack *s = gw_stack_next();

	if (s && gw_loaded_look())
		gw_unwind_forget();
	for (unsigned i = 0; s && i < A_ROUND; i++, s = gw_stack_next()) {
		write_stack(s);
		gw_stack_done(s);
	}
	gw_stacks_tend(now_ns);
}
