#include "cli/live/tables.h"

#include "predictor/log/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool gw_live_map(struct gw_live_file *f, const char *path, char *why, size_t room)
{
	struct stat st;
	/* Whoever may write in a folder of segments may put a link there to what is none. */
	int at = gw_live_open_plain(path, O_NOFOLLOW, &st, why, room);
	void *data;

	f->data = NULL;
	if (at < 0)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, at, 0);
	if (data == MAP_FAILED)
		snprintf(why, room, "%s", st.st_size ? strerror(errno) : "it is no live segment");
	close(at);
	if (data == MAP_FAILED)
		return false;
	if (gw_live_check(f, data, (size_t)st.st_size)) {
		f->user = st.st_uid;
		return true;
	}
	snprintf(why, room, "it is damaged, or no live segment of this version");
	gw_live_unmap(f);
	return false;
}

void gw_live_unmap(struct gw_live_file *f)
{
	if (f->data)
		munmap(f->data, f->size);
	f->data = NULL;
}

bool gw_live_hold_head(struct gw_live_file *f, struct gw_live_head *copy)
{
	memcpy(copy, f->head, sizeof(*copy));
	f->head = copy;
	return copy->magic == GW_LIVE_MAGIC && gw_live_version_read(copy->version) &&
	       gw_live_layout_valid(copy, f->size) && memchr(copy->exe, 0, sizeof(copy->exe)) &&
	       memchr(copy->boot_id, 0, sizeof(copy->boot_id)) &&
	       memchr(copy->log[0], 0, sizeof(copy->log[0])) &&
	       memchr(copy->log[1], 0, sizeof(copy->log[1]));
}

/* The first @p size bytes, and @p more from @p at on. Paired with begin() and end() of the writer
 * (preload/live/live_tables.c). */
static inline __attribute__((always_inline)) bool copy_parts(const unsigned char *from, void *out,
							     size_t size, size_t at, size_t more)
{
	enum { TRIES = 1000 };
	const uint32_t *sequence = (const void *)from;

	for (int i = 0; i < TRIES; i++) {
		uint32_t before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);

		if (before & 1)
			continue;
		memcpy(out, from, size);
		memcpy((unsigned char *)out + at, from + at, more);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(sequence, __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

static bool copy(const unsigned char *from, void *out, size_t size)
{
	return copy_parts(from, out, size, 0, 0);
}

static const unsigned char *element(const struct gw_live_file *f, const struct gw_live_section *s,
				    uint32_t at)
{
	return f->data + s->offset + (uint64_t)at * s->size;
}

uint32_t gw_live_config_sequence(const struct gw_live_file *f, uint32_t at)
{
	const struct gw_live_config *c;

	if (at >= f->head->configs.count)
		return 0;
	c = (const void *)element(f, &f->head->configs, at);
	return __atomic_load_n(&c->sequence, __ATOMIC_ACQUIRE);
}

uint32_t gw_live_config_changed(const struct gw_live_file *f, uint32_t at, const uint32_t *known,
				uint32_t count)
{
	enum { AHEAD = 16 };
	const struct gw_live_section *s = &f->head->configs;
	const uint32_t end = count < s->count ? count : s->count;
	const unsigned char *from = element(f, s, at);

	for (; at < end; at++, from += s->size) {
		const struct gw_live_config *c = (const void *)from;
		const uint32_t sequence = __atomic_load_n(&c->sequence, __ATOMIC_ACQUIRE);

		/* No two entries share a cache line. */
		if (at + AHEAD < end)
			__builtin_prefetch(from + AHEAD * s->size);
		if (!sequence || sequence != known[at])
			return at;
	}
	return count;
}

void gw_live_config_soon(const struct gw_live_file *f, uint32_t at)
{
	const unsigned char *from = element(f, &f->head->configs, at);

	__builtin_prefetch(from + offsetof(struct gw_live_config, launches));
	__builtin_prefetch(from + offsetof(struct gw_live_config, time.schema));
	__builtin_prefetch(from + offsetof(struct gw_live_config, ratio));
	__builtin_prefetch(from + offsetof(struct gw_live_config, ratio.schema));
}

bool gw_live_config_at(const struct gw_live_file *f, uint32_t at, struct gw_live_config *out)
{
	return at < f->head->configs.count &&
	       copy(element(f, &f->head->configs, at), out, sizeof(*out)) && out->id == at + 1 &&
	       gw_sketch_valid(&out->time) && gw_sketch_valid(&out->ratio);
}

bool gw_live_config_brief(const struct gw_live_file *f, uint32_t at, struct gw_live_config *out)
{
	return at < f->head->configs.count &&
	       copy_parts(element(f, &f->head->configs, at), out,
			  offsetof(struct gw_live_config, time.bucket),
			  offsetof(struct gw_live_config, ratio),
			  offsetof(struct gw_sketch, bucket)) &&
	       out->id == at + 1 && isfinite(out->time.sum) && isfinite(out->ratio.sum);
}

bool gw_live_config_shape(const struct gw_live_file *f, uint32_t at, struct gw_live_config *out)
{
	if (at >= f->head->configs.count)
		return false;
	memcpy(out, element(f, &f->head->configs, at), sizeof(*out));
	return out->id == at + 1;
}

const char *gw_live_idle_name(enum gw_idle_cause cause)
{
	static const char *const names[] = {
#define IDLE(NAME, name, meaning) name,
#include "predictor/log/idle.def"
#undef IDLE
	};

	return names[cause];
}

bool gw_live_device_at(const struct gw_live_file *f, uint32_t ordinal, struct gw_live_device *out)
{
	const struct gw_live_section *s = &f->head->devices;
	const struct gw_live_device *d;

	if (ordinal >= s->count)
		return false;
	d = (const void *)element(f, s, ordinal);
	if (!__atomic_load_n(&d->used, __ATOMIC_RELAXED))
		return false;
	memset(out, 0, sizeof(*out)); /* of an older version, which has less of it */
	return copy(element(f, s, ordinal), out, s->size < sizeof(*out) ? s->size : sizeof(*out)) &&
	       out->used == 1 && memchr(out->name, 0, sizeof(out->name)) &&
	       gw_sketch_valid(&out->gap);
}

bool gw_live_totals_of(const struct gw_live_file *f, struct gw_live_totals *out)
{
	return copy(element(f, &f->head->totals, 0), out, sizeof(*out)) && out->ns &&
	       out->counters <= sizeof(out->counter) / sizeof(*out->counter);
}

bool gw_live_graph_time_at(const struct gw_live_file *f, uint32_t at,
			   struct gw_live_graph_time *out)
{
	const struct gw_live_section *s = &f->head->graph_times;

	memset(out, 0, sizeof(*out)); /* of an older version, which has less of it */
	return at < s->count &&
	       copy(element(f, s, at), out, s->size < sizeof(*out) ? s->size : sizeof(*out)) &&
	       out->graph;
}

bool gw_live_answer_of(const struct gw_live_file *f, struct gw_live_answer *out)
{
	/* Not of a head that is held: that one does not follow. */
	const struct gw_live_head *head = (const void *)f->data;

	return copy((const unsigned char *)&head->answer, out, sizeof(*out)) &&
	       memchr(out->text, 0, sizeof(out->text));
}

const char *gw_live_mode_text(const struct gw_live_answer *a, char *out, size_t size)
{
	const char *mode = gw_mode_name(a->mode), *then = gw_mode_name(a->then);
	const time_t until = (time_t)(a->until_ns / 1000000000);
	struct tm t;
	char at[32] = "";

	if (a->until_ns && localtime_r(&until, &t))
		strftime(at, sizeof(at), "%H:%M:%S", &t);
	if (*at)
		snprintf(out, size, "%s until %s, then %s", mode ? mode : "-", at,
			 then ? then : "-");
	else
		snprintf(out, size, "%s", mode ? mode : "-");
	return out;
}

bool gw_live_stream_at(const struct gw_live_file *f, uint32_t slot, struct gw_live_stream *out)
{
	const struct gw_live_stream *s = (const void *)element(f, &f->head->streams, slot);
	uint32_t id;

	if (!slot || slot >= f->head->streams.count)
		return false;
	/* Pairs with gw_live_stream() of the writer (preload/live/live_tables.c). */
	id = __atomic_load_n(&s->id, __ATOMIC_ACQUIRE);
	*out = *s;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return id && __atomic_load_n(&s->id, __ATOMIC_RELAXED) == id && out->id == id;
}

/* The kernel at @p at of the table, and how long it is; NULL: the table ends. */
static const struct gw_live_kernel *kernel_at(const struct gw_live_file *f, uint64_t at,
					      uint32_t *length)
{
	const struct gw_live_kernel *k = (const void *)(f->data + f->head->kernels.offset + at);

	if (at + sizeof(*k) > GW_LIVE_KERNELS)
		return NULL;
	/* Pairs with the release in gw_live_kernel() of the writer (preload/live/live.c). */
	*length = __atomic_load_n(&k->length, __ATOMIC_ACQUIRE);
	return *length < sizeof(*k) || *length % 8 || *length > GW_LIVE_KERNELS - at ? NULL : k;
}

/* Pairs with the other release there. */
static uint32_t slot_of(const struct gw_live_kernel *k)
{
	return __atomic_load_n(&k->slot, __ATOMIC_ACQUIRE);
}

const struct gw_live_kernel *gw_live_kernel_in(const struct gw_live_file *f, uint32_t slot)
{
	const struct gw_live_kernel *k;
	uint32_t length;

	for (uint64_t at = 0; (k = kernel_at(f, at, &length)); at += length)
		if (slot_of(k) == slot && memchr(k->name, 0, length - sizeof(*k)))
			return k;
	return NULL;
}

void gw_live_names_of(const struct gw_live_file *f, struct gw_live_names *out)
{
	const struct gw_live_kernel *k;
	uint32_t length, slot;

	memset(out, 0, sizeof(*out));
	for (uint64_t at = 0; (k = kernel_at(f, at, &length)); at += length)
		if ((slot = slot_of(k)) < GW_LIVE_SLOTS && !out->at[slot])
			out->at[slot] = (uint32_t)at + 1;
}

const char *gw_live_name(const struct gw_live_file *f, const struct gw_live_names *names,
			 uint32_t slot)
{
	static char name[GW_LIVE_SLOTS];
	const uint32_t at = slot && slot < GW_LIVE_SLOTS ? names->at[slot] : 0;
	const struct gw_live_kernel *k;
	size_t left;

	if (!at)
		return NULL;
	k = (const void *)(f->data + f->head->kernels.offset + at - 1);
	left = GW_LIVE_KERNELS - (at - 1) - sizeof(*k);
	left = left < sizeof(name) ? left : sizeof(name);
	if (!left || !memccpy(name, k->name, 0, left))
		name[left ? left - 1 : 0] = 0;
	return *name ? name : NULL;
}
