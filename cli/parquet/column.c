#include "cli/parquet/column.h"

#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/parquet/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	ENTRIES = 1 << 14, /* the most of a dictionary of numbers */
	PATIENCE = 2048,   /* values until a dictionary has to be shorter than half of them */
	BOUND = 64,        /* bytes: a longer least or most text is not named */
};

static bool same_text(const void *arg, uint32_t position)
{
	const void *const *pair = arg;

	return !strcmp(((const struct pq_column *)pair[0])->texts[position].utf8, pair[1]);
}

/* Position of what @p text says. */
static uint32_t by_content(struct pq_column *c, const char *text)
{
	char *utf8 = gw_to_utf8(text);
	size_t length = strlen(utf8);
	uint64_t key = gw_hash(0, utf8, length);
	uint32_t position = gw_index_find(&c->by_text, key, same_text, (const void *[]){c, utf8});

	if (position != GW_INDEX_NONE) {
		free(utf8);
		return position;
	}
	position = (uint32_t)c->text_count;
	GW_GROW(c->texts, &c->text_room, ++c->text_count);
	c->texts[position] = (struct pq_text){utf8, length};
	gw_index_add(&c->by_text, key, position);
	return position;
}

static bool same_place(const void *arg, uint32_t position)
{
	const void *const *pair = arg;

	return ((const struct pq_column *)pair[0])->places[position].text == pair[1];
}

static uint32_t text_position(struct pq_column *c, const char *text)
{
	uint64_t key;
	uint32_t place;

	if (c->last.text == text)
		return c->last.position;
	key = gw_hash_mix((uintptr_t)text);
	place = gw_index_find(&c->by_place, key, same_place, (const void *[]){c, text});
	if (place == GW_INDEX_NONE) {
		place = (uint32_t)c->place_count;
		GW_GROW(c->places, &c->place_room, ++c->place_count);
		c->places[place] = (struct pq_place){text, by_content(c, text)};
		gw_index_add(&c->by_place, key, place);
	}
	c->last = c->places[place];
	return c->last.position;
}

void pq_column_add(struct pq_column *c, const struct parquet_value *v)
{
	uint64_t bits = v->count;
	bool known = v->known;

	if (known && c->type == PARQUET_DOUBLE) {
		memcpy(&bits, &v->real, sizeof(bits));
		known = !isnan(v->real);
	} else if (known && c->type == PARQUET_TEXT) {
		bits = text_position(c, v->text);
	} else {
		known = known && bits <= INT64_MAX;
	}
	c->levels[c->rows++] = known;
	if (known)
		c->values[c->known++] = bits;
}

/* Distinct numbers, by hash. */
struct met {
	uint32_t *slots; /* position + 1; 0: empty */
	uint64_t *entries;
	uint32_t mask, count;
};

static uint32_t *slot_of(const struct met *m, uint64_t value)
{
	uint32_t at = (uint32_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> 32) & m->mask;

	while (m->slots[at] && m->entries[m->slots[at] - 1] != value)
		at = (at + 1) & m->mask;
	return &m->slots[at];
}

static void widen(struct met *m)
{
	free(m->slots);
	m->mask = m->mask * 2 + 1;
	m->slots = gw_alloc((m->mask + 1u) * sizeof(*m->slots));
	for (uint32_t i = 0; i < m->count; i++)
		*slot_of(m, m->entries[i]) = i + 1;
}

/* The values as positions in m->entries; false where too many are different. */
static bool find_entries(const struct pq_column *c, struct met *m, uint32_t *positions)
{
	for (uint32_t i = 0; i < c->known; i++) {
		uint32_t *slot = slot_of(m, c->values[i]);

		if (!*slot) {
			if (m->count == ENTRIES || (i > PATIENCE && m->count > i / 2))
				return false;
			m->entries[m->count++] = c->values[i];
			if (m->count * 2 > m->mask) {
				widen(m);
				slot = slot_of(m, c->values[i]);
			} else {
				*slot = m->count;
			}
		}
		positions[i] = *slot - 1;
	}
	return true;
}

static void put_positions(struct pq_pages *pages, const uint32_t *positions, uint32_t count)
{
	unsigned width = pq_width(pages->entries - 1);

	pages->encoding = PQ_DICTIONARY;
	pq_little(&pages->data, width, 1);
	pq_hybrid(&pages->data, positions, count, width);
}

static void put_texts(struct pq_column *c, struct pq_pages *pages, uint32_t *positions)
{
	for (size_t i = 0; i < c->text_count; i++) {
		pq_little(&pages->dictionary, c->texts[i].length, 4);
		pq_put(&pages->dictionary, c->texts[i].utf8, c->texts[i].length);
	}
	for (uint32_t i = 0; i < c->known; i++)
		positions[i] = (uint32_t)c->values[i];
	pages->entries = (uint32_t)c->text_count;
	put_positions(pages, positions, c->known);
}

static void put_numbers(const struct pq_column *c, struct pq_pages *pages, uint32_t *positions)
{
	struct met met = {.slots = gw_alloc(256 * sizeof(uint32_t)),
			  .entries = gw_alloc(ENTRIES * sizeof(uint64_t)),
			  .mask = 255};

	if (c->type != PARQUET_TIME && find_entries(c, &met, positions)) {
		pages->entries = met.count;
		pq_plain(&pages->dictionary, met.entries, met.count);
		put_positions(pages, positions, c->known);
	} else {
		pages->encoding = PQ_PLAIN;
		pq_plain(&pages->data, c->values, c->known);
	}
	free(met.slots);
	free(met.entries);
}

static int order(const struct pq_text *a, const struct pq_text *b)
{
	int way = memcmp(a->utf8, b->utf8, a->length < b->length ? a->length : b->length);

	return way ? way : (a->length > b->length) - (a->length < b->length);
}

static void bound_texts(const struct pq_column *c, struct pq_pages *pages)
{
	const struct pq_text *least = c->texts, *most = c->texts;

	for (size_t i = 1; i < c->text_count; i++) {
		least = order(&c->texts[i], least) < 0 ? &c->texts[i] : least;
		most = order(&c->texts[i], most) > 0 ? &c->texts[i] : most;
	}
	pages->bounded = least->length <= BOUND && most->length <= BOUND;
	if (!pages->bounded)
		return;
	pq_put(&pages->least, least->utf8, least->length);
	pq_put(&pages->most, most->utf8, most->length);
}

static double as_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static void bound_doubles(const struct pq_column *c, struct pq_pages *pages)
{
	double least = INFINITY, most = -INFINITY;
	uint64_t bits;

	for (uint32_t i = 0; i < c->known; i++) {
		double value = as_double(c->values[i]);

		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	/* The format wants zeros that enclose both of them. */
	least = least == 0 ? -0.0 : least;
	most = most == 0 ? 0.0 : most;
	pages->bounded = true;
	memcpy(&bits, &least, sizeof(bits));
	pq_little(&pages->least, bits, 8);
	memcpy(&bits, &most, sizeof(bits));
	pq_little(&pages->most, bits, 8);
}

static void bound_counts(const struct pq_column *c, struct pq_pages *pages)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < c->known; i++) {
		least = c->values[i] < least ? c->values[i] : least;
		most = c->values[i] > most ? c->values[i] : most;
	}
	pages->bounded = true;
	pq_little(&pages->least, least, 8);
	pq_little(&pages->most, most, 8);
}

static void empty(struct pq_column *c)
{
	for (size_t i = 0; i < c->text_count; i++)
		free(c->texts[i].utf8);
	c->text_count = c->place_count = 0;
	c->rows = c->known = 0;
	c->last = (struct pq_place){0};
	gw_index_free(&c->by_text);
	gw_index_free(&c->by_place);
	c->by_text = c->by_place = (struct gw_index){0};
}

void pq_column_pages(struct pq_column *c, struct pq_pages *pages)
{
	uint32_t *positions = gw_alloc_raw(PARQUET_GROUP * sizeof(*positions));
	size_t levels;

	pq_little(&pages->data, 0, 4);
	pq_hybrid(&pages->data, c->levels, c->rows, 1);
	levels = pages->data.length - 4;
	for (unsigned i = 0; i < 4; i++)
		pages->data.data[i] = (unsigned char)(levels >> 8 * i);
	if (!c->known) {
		pages->encoding = PQ_PLAIN;
	} else if (c->type == PARQUET_TEXT) {
		put_texts(c, pages, positions);
		bound_texts(c, pages);
	} else {
		put_numbers(c, pages, positions);
		c->type == PARQUET_DOUBLE ? bound_doubles(c, pages) : bound_counts(c, pages);
	}
	free(positions);
	empty(c);
}

void pq_column_free(struct pq_column *c)
{
	empty(c);
	free(c->texts);
	free(c->places);
}
