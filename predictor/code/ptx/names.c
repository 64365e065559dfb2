/* Names and what they stand for, scope by scope. */
#include "predictor/code/ptx/tree.h"
#include "predictor/core/hash.h"

#include <string.h>

enum { BUCKETS = 1 << 14, ARRAY_MAX = 1 << 22 };

/*
 * Another look at a name. What compilers write has a handful of ranges a scope, and names spread
 * over the buckets; a text may be made so that each look-up goes over thousands, which takes no
 * memory.
 */
static bool look(struct gw_ptx_inside *in)
{
	return in->looks < GW_PTX_LOOKS_MAX && ++in->looks;
}

void *gw_ptx_add(struct gw_ptx_inside *in, struct gw_ptx_array *array, size_t size)
{
	if (in->looks == GW_PTX_LOOKS_MAX)
		return NULL;
	if (array->count == array->room) {
		uint32_t room = array->room ? 2 * array->room : 64;
		void *items = room > ARRAY_MAX ? NULL : gw_arena_array(in->arena, room, size);

		if (!items)
			return NULL;
		if (array->count)
			memcpy(items, array->items, array->count * size);
		array->items = items;
		array->room = room;
	}
	return (char *)array->items + array->count++ * size;
}

bool gw_ptx_names_init(struct gw_ptx_inside *in)
{
	in->name_bucket = gw_arena_array(in->arena, BUCKETS, sizeof(uint32_t));
	in->meaning_bucket = gw_arena_array(in->arena, BUCKETS, sizeof(uint32_t));
	if (!in->name_bucket || !in->meaning_bucket)
		return false;
	memset(in->name_bucket, 0xff, BUCKETS * sizeof(uint32_t));
	memset(in->meaning_bucket, 0xff, BUCKETS * sizeof(uint32_t));
	return gw_ptx_scope_open(in, PTX_NONE) != PTX_NONE;
}

static uint32_t hash_text(const char *text, uint32_t length)
{
	return (uint32_t)(gw_hash(0, text, length) % BUCKETS);
}

uint32_t gw_ptx_name(struct gw_ptx_inside *in, const char *text, uint32_t length)
{
	uint32_t *bucket = &in->name_bucket[hash_text(text, length)];
	struct gw_ptx_name *n;

	for (uint32_t i = *bucket; i != PTX_NONE && look(in);
	     i = PTX_AT(name, in->names, i)->next) {
		n = PTX_AT(name, in->names, i);
		if (n->length == length && !memcmp(n->text, text, length))
			return i;
	}
	n = gw_ptx_add(in, &in->names, sizeof(*n));
	if (!n)
		return PTX_NONE;
	n->text = gw_arena_text(in->arena, text, length);
	n->length = length;
	if (!n->text) {
		in->names.count--;
		return PTX_NONE;
	}
	n->next = *bucket;
	*bucket = in->names.count - 1;
	return *bucket;
}

const char *gw_ptx_name_text(const struct gw_ptx_inside *in, uint32_t name)
{
	return PTX_AT(name, in->names, name)->text;
}

uint32_t gw_ptx_scope_open(struct gw_ptx_inside *in, uint32_t parent)
{
	struct gw_ptx_scope *s = gw_ptx_add(in, &in->scopes, sizeof(*s));

	if (!s)
		return PTX_NONE;
	s->parent = parent;
	s->ranges = PTX_NONE;
	return in->scopes.count - 1;
}

static uint32_t *meaning_bucket(struct gw_ptx_inside *in, uint32_t scope, uint32_t name)
{
	return &in->meaning_bucket[gw_hash_mix((uint64_t)scope << 32 | name) % BUCKETS];
}

static struct gw_ptx_meaning *meaning_in(struct gw_ptx_inside *in, uint32_t scope, uint32_t name)
{
	uint32_t i = *meaning_bucket(in, scope, name);

	for (; i != PTX_NONE && look(in); i = PTX_AT(meaning, in->meanings, i)->next) {
		struct gw_ptx_meaning *m = PTX_AT(meaning, in->meanings, i);

		if (m->scope == scope && m->name == name)
			return m;
	}
	return NULL;
}

bool gw_ptx_mean(struct gw_ptx_inside *in, uint32_t scope, uint32_t name, enum gw_ptx_named what,
		 uint32_t index)
{
	struct gw_ptx_meaning *m = meaning_in(in, scope, name);
	uint32_t *bucket = meaning_bucket(in, scope, name);

	if (!m) {
		m = gw_ptx_add(in, &in->meanings, sizeof(*m));
		if (!m)
			return false;
		m->next = *bucket;
		*bucket = in->meanings.count - 1;
	}
	m->scope = scope;
	m->name = name;
	m->what = (uint8_t)what;
	m->index = index;
	return true;
}

uint32_t gw_ptx_register(struct gw_ptx_inside *in, uint32_t first_register, unsigned width)
{
	uint8_t *w = gw_ptx_add(in, &in->widths, sizeof(*w));

	if (!w)
		return PTX_NONE;
	*w = (uint8_t)width;
	return in->widths.count - 1 - first_register;
}

/* The number at the end of a register's name, and where it begins. */
static bool split_number(const struct gw_ptx_name *n, uint32_t *prefix, uint32_t *number)
{
	uint32_t at = n->length;
	uint64_t v = 0, scale = 1;

	while (at && n->text[at - 1] >= '0' && n->text[at - 1] <= '9' && n->length - at < 9) {
		v += scale * (uint64_t)(n->text[--at] - '0');
		scale *= 10;
	}
	*prefix = at;
	*number = (uint32_t)v;
	return at && at < n->length && (n->text[at] != '0' || at + 1 == n->length);
}

static const struct gw_ptx_range *range_in(struct gw_ptx_inside *in, uint32_t scope, uint32_t name)
{
	const struct gw_ptx_name *n = PTX_AT(name, in->names, name);
	uint32_t prefix, number, i = PTX_AT(scope, in->scopes, scope)->ranges;

	if (!split_number(n, &prefix, &number))
		return NULL;
	for (; i != PTX_NONE && look(in); i = PTX_AT(range, in->ranges, i)->next) {
		const struct gw_ptx_range *r = PTX_AT(range, in->ranges, i);
		const struct gw_ptx_name *p = PTX_AT(name, in->names, r->prefix);

		if (p->length == prefix && !memcmp(p->text, n->text, prefix) && number < r->count)
			return r;
	}
	return NULL;
}

const struct gw_ptx_meaning *gw_ptx_meaning(struct gw_ptx_inside *in, uint32_t scope, uint32_t name,
					    uint32_t first_register)
{
	for (; scope != PTX_NONE; scope = PTX_AT(scope, in->scopes, scope)->parent) {
		const struct gw_ptx_meaning *m = meaning_in(in, scope, name);
		const struct gw_ptx_range *r;
		uint32_t reg;

		if (m)
			return m;
		r = range_in(in, scope, name);
		if (!r)
			continue;
		reg = gw_ptx_register(in, first_register, r->width);
		if (reg == PTX_NONE || !gw_ptx_mean(in, scope, name, PTX_NAMED_REGISTER, reg))
			return NULL;
		return meaning_in(in, scope, name);
	}
	return NULL;
}

bool gw_ptx_range_add(struct gw_ptx_inside *in, uint32_t scope, uint32_t prefix, uint32_t count,
		      unsigned width)
{
	struct gw_ptx_range *r = gw_ptx_add(in, &in->ranges, sizeof(*r));
	struct gw_ptx_scope *s = PTX_AT(scope, in->scopes, scope);

	if (!r)
		return false;
	*r = (struct gw_ptx_range){scope, prefix, count, (uint8_t)width, s->ranges};
	s->ranges = in->ranges.count - 1;
	return true;
}
