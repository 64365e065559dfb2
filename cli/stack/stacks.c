#include "cli/stack/stacks.h"

#include "cli/common/index.h"
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/log/events.h"
#include "cli/stack/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

void log_stacks_object(struct log_stacks *s, const char *path, const char *build_id)
{
	const char *base = base_of(path);

	GW_GROW(s->objects, &s->object_room, s->object_count + 1);
	s->objects[s->object_count++] =
		(struct stack_object){gw_copy(path), gw_copy(build_id),
				      begins(base, "python3") || begins(base, "libpython3")};
}

void log_stacks_frame(struct log_stacks *s, const struct gw_record_frame *r, uint32_t object,
		      const char *file, const char *function)
{
	GW_GROW(s->frames, &s->frame_room, s->frame_count + 1);
	s->frames[s->frame_count++] = (struct stack_frame){.object = object,
							   .line = r->line,
							   .address = r->address,
							   .file = gw_copy(file),
							   .function = gw_copy(function)};
}

void log_stacks_add(struct log_stacks *s, const struct gw_record_stack *r, uint32_t config,
		    uint32_t *frames)
{
	GW_GROW(s->list, &s->room, s->count + 1);
	s->list[s->count++] = (struct log_stack){.config = config,
						 .count = r->count,
						 .python = r->python,
						 .end = r->end,
						 .flags = r->flags,
						 .frames = frames};
}

/* ---- configurations ---- */

struct shape {
	uint32_t kernel;
	struct gw_config config; /* its digest is 0 */
};

static struct shape shape_of(const struct gw_log *log, uint32_t config)
{
	struct shape shape;

	memset(&shape, 0, sizeof(shape));
	shape.kernel = log->configs[config].kernel;
	shape.config = log->configs[config].config;
	shape.config.digest = 0;
	return shape;
}

struct search {
	const struct log_stacks *stacks;
	const struct gw_log *log;
	struct shape shape;
};

static bool same_shape(const void *arg, uint32_t position)
{
	const struct search *s = arg;
	const struct shape other = shape_of(s->log, s->stacks->list[position].config);

	return !memcmp(&other, &s->shape, sizeof(other));
}

void log_stacks_settle(struct log_stacks *s, const struct gw_log *log)
{
	struct gw_index index = {0};

	if (!s->count || s->of_config)
		return;
	s->config_count = log->config_count;
	s->of_config = gw_alloc((s->config_count + 1) * sizeof(*s->of_config));
	for (size_t i = 0; i < s->config_count; i++)
		s->of_config[i] = GW_INDEX_NONE;
	for (uint32_t i = 0; i < s->count; i++) {
		struct search search = {s, log, shape_of(log, s->list[i].config)};
		const uint64_t hash = gw_hash(0, &search.shape, sizeof(search.shape));

		s->of_config[s->list[i].config] = i;
		if (gw_index_find(&index, hash, same_shape, &search) == GW_INDEX_NONE)
			gw_index_add(&index, hash, i);
	}
	for (uint32_t i = 0; i < s->config_count; i++) {
		struct search search = {s, log, shape_of(log, i)};

		if (s->of_config[i] == GW_INDEX_NONE)
			s->of_config[i] = gw_index_find(
				&index, gw_hash(0, &search.shape, sizeof(search.shape)), same_shape,
				&search);
	}
	gw_index_free(&index);
}

void log_stacks_free(struct log_stacks *s)
{
	for (size_t i = 0; i < s->object_count; i++) {
		free(s->objects[i].path);
		free(s->objects[i].build_id);
	}
	for (size_t i = 0; i < s->frame_count; i++) {
		free(s->frames[i].file);
		free(s->frames[i].function);
	}
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].frames);
	free(s->objects);
	free(s->frames);
	free(s->list);
	free(s->of_config);
	*s = (struct log_stacks){0};
}

/* ---- what is shown ---- */

static void look(struct log_stacks *s, struct stack_frame *f)
{
	const struct stack_object *o;

	if (f->object == GW_INDEX_NONE || f->looked)
		return;
	f->looked = true;
	o = &s->objects[f->object];
	free(f->file);
	free(f->function);
	/* The address lies behind the call. */
	symbols_find(o->path, o->build_id, f->address - 1, &f->function, &f->file, &f->line);
}

static size_t choose(const struct log_stacks *s, uint32_t stack, uint32_t out[STACK_SHOWN])
{
	const struct log_stack *k = &s->list[stack];
	size_t count = 0, native = k->count - k->python;

	for (size_t i = 0; i < k->count && count < STACK_SHOWN; i++) {
		const uint32_t frame = k->frames[i];

		if (frame == GW_INDEX_NONE)
			continue;
		if (i < native && k->python && s->frames[frame].object != GW_INDEX_NONE &&
		    s->objects[s->frames[frame].object].interpreter)
			i = native - 1;
		else
			out[count++] = frame;
	}
	return count;
}

size_t log_stack_shown(struct log_stacks *s, uint32_t stack, uint32_t out[STACK_SHOWN])
{
	const size_t count = choose(s, stack, out);

	for (size_t i = 0; i < count; i++)
		look(s, &s->frames[out[i]]);
	return count;
}

bool log_stack_same(const struct log_stacks *s, uint32_t one, uint32_t other)
{
	uint32_t a[STACK_SHOWN], b[STACK_SHOWN];
	const size_t count = choose(s, one, a);

	return count == choose(s, other, b) && !memcmp(a, b, count * sizeof(*a));
}

/* The last folder and the name, which tell files like __init__.py apart. */
static const char *short_path(const char *path)
{
	const char *base = base_of(path);

	for (const char *p = base - 1; p > path; p--)
		if (p[-1] == '/')
			return p;
	return path[0] == '/' && base - 1 > path ? path + 1 : path;
}

void log_frame_text(const struct log_stacks *s, uint32_t frame, char *out, size_t room)
{
	const struct stack_frame *f = &s->frames[frame];
	const char *module = f->object == GW_INDEX_NONE ? "" : base_of(s->objects[f->object].path);

	if (*f->file && f->line)
		snprintf(out, room, "%s:%" PRIu32 " %s", short_path(f->file), f->line, f->function);
	else if (f->object == GW_INDEX_NONE)
		snprintf(out, room, "%s %s", short_path(f->file), f->function);
	else if (*f->function)
		snprintf(out, room, "%s %s", module, f->function);
	else
		snprintf(out, room, "%s+0x%" PRIx64, module, f->address);
}

/* Python's own library and what was installed beside it, or code without a file. */
static bool is_installed(const char *file)
{
	return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
	       strstr(file, "/lib/python3") || *file == '<';
}

/* CUDA's libraries, and what its runtime and compiler add to the program. */
static bool is_cuda(const struct log_stacks *s, const struct stack_frame *f)
{
	static const char *const libraries[] = {
		"libcuda",     "libcupti",    "libcublas",   "libcudnn", "libcufft", "libcurand",
		"libcusolver", "libcusparse", "libcutensor", "libnccl",  "libnv"};
	static const char *const names[] = {"cuda",    "__cuda",        "cuLaunch",
					    "cuGraph", "__device_stub", "libcudart_static_"};
	const char *base = base_of(s->objects[f->object].path);

	for (unsigned i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (begins(base, libraries[i]))
			return true;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins(f->function, names[i]))
			return true;
	return false;
}

static uint32_t frame_of_program(const struct log_stacks *s, const uint32_t *frames, size_t count)
{
	uint32_t native = GW_INDEX_NONE, python = GW_INDEX_NONE, cuda = GW_INDEX_NONE;

	for (size_t i = 0; i < count; i++) {
		const struct stack_frame *f = &s->frames[frames[i]];

		if (f->object != GW_INDEX_NONE) {
			if (is_cuda(s, f))
				cuda = frames[i];
			else if (native == GW_INDEX_NONE)
				native = frames[i];
			continue;
		}
		if (!is_installed(f->file))
			return frames[i];
		if (python == GW_INDEX_NONE)
			python = frames[i];
	}
	if (python != GW_INDEX_NONE)
		return python;
	return native != GW_INDEX_NONE ? native : cuda;
}

/* In a table a function has the short name that a kernel has there. */
static void line_text(const struct log_stacks *s, uint32_t frame, char *out, size_t room)
{
	const struct stack_frame *f = &s->frames[frame];
	char *name;

	if (f->object == GW_INDEX_NONE || !*f->function || f->line) {
		log_frame_text(s, frame, out, room);
		return;
	}
	name = gw_kernel_name(f->function);
	snprintf(out, room, "%s %s", base_of(s->objects[f->object].path), name);
	free(name);
}

void log_stack_line(struct log_stacks *s, uint32_t config, char *out, size_t room)
{
	uint32_t shown[STACK_SHOWN], frame = GW_INDEX_NONE;

	if (config < s->config_count && s->of_config[config] != GW_INDEX_NONE)
		frame = frame_of_program(s, shown, log_stack_shown(s, s->of_config[config], shown));
	if (frame == GW_INDEX_NONE)
		snprintf(out, room, "[no stack]");
	else
		line_text(s, frame, out, room);
}
