#include "predictor/code/memory/locality.h"

#include <math.h>
#include <string.h>

#define SECTOR ((double)GW_SECTOR_BYTES)
enum { DIMENSIONS = 3 };

struct gw_locality *gw_locality_new(struct gw_arena *arena, struct gw_dim3 grid)
{
	struct gw_locality *l = gw_arena_array(arena, 1, sizeof(*l));

	if (l) {
		l->arena = arena;
		l->grid = grid;
	}
	return l;
}

static bool same_block(struct gw_dim3 a, struct gw_dim3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

static uint32_t find_block(const struct gw_dim3 *blocks, uint32_t count, struct gw_dim3 block)
{
	uint32_t i = 0;

	while (i < count && !same_block(blocks[i], block))
		i++;
	return i;
}

/* Block number @p n of @p grid, counted x first as they are started. */
static struct gw_dim3 block_at(struct gw_dim3 grid, uint64_t n)
{
	return (struct gw_dim3){(uint32_t)(n % grid.x), (uint32_t)(n / grid.x % grid.y),
				(uint32_t)(n / grid.x / grid.y)};
}

struct gw_dim3 gw_locality_middle(struct gw_dim3 grid)
{
	return (struct gw_dim3){(grid.x - 1) / 2, (grid.y - 1) / 2, (grid.z - 1) / 2};
}

/* The neighbour above in dimension @p d, 0 to 2; false when the grid ends there. */
static bool neighbour(struct gw_dim3 grid, struct gw_dim3 block, unsigned d, struct gw_dim3 *out)
{
	*out = block;
	if (d == 0)
		return ++out->x < grid.x;
	if (d == 1)
		return ++out->y < grid.y;
	return ++out->z < grid.z;
}

unsigned gw_locality_choose(struct gw_dim3 grid, unsigned most,
			    struct gw_dim3 out[GW_LOCALITY_BLOCKS])
{
	struct gw_dim3 middle = gw_locality_middle(grid), candidate[DIMENSIONS + 3];
	uint64_t blocks = gw_dim3_count(grid);
	uint64_t next = ((uint64_t)middle.z * grid.y + middle.y) * grid.x + middle.x;
	unsigned count = 0, candidates = 0;

	if (most > GW_LOCALITY_BLOCKS)
		most = GW_LOCALITY_BLOCKS;
	if (blocks <= most)
		next = 0;
	candidate[candidates++] = middle;
	for (unsigned d = 0; d < DIMENSIONS; d++)
		if (neighbour(grid, middle, d, &candidate[candidates]))
			candidates++;
	candidate[candidates++] = (struct gw_dim3){0, 0, 0};
	candidate[candidates++] = (struct gw_dim3){grid.x - 1, grid.y - 1, grid.z - 1};
	for (unsigned i = 0; i < candidates && count < most; i++)
		if (find_block(out, count, candidate[i]) == count)
			out[count++] = candidate[i];
	for (; next < blocks && count < most; next++)
		if (find_block(out, count, block_at(grid, next)) == count)
			out[count++] = block_at(grid, next);
	return count;
}

static struct gw_locality_access *access_of(struct gw_locality *l, uint32_t id, bool store)
{
	uint32_t i = 0;

	while (i < l->access_count && (l->access[i].id != id || l->access[i].store != store))
		i++;
	if (i == GW_LOCALITY_ACCESSES) {
		l->dropped = true;
		return NULL;
	}
	if (i == l->access_count)
		l->access[l->access_count++] =
			(struct gw_locality_access){.id = id, .store = store, .low = UINT64_MAX};
	return &l->access[i];
}

static struct gw_locality_cell *cell_of(struct gw_locality *l, struct gw_dim3 block,
					const struct gw_locality_access *a)
{
	uint32_t slot = find_block(l->block, l->block_count, block);
	struct gw_locality_cell **cell;

	if (slot == GW_LOCALITY_BLOCKS) {
		l->dropped = true;
		return NULL;
	}
	if (slot == l->block_count) {
		l->weight[slot] = 1;
		l->block[l->block_count++] = block;
	}
	cell = &l->cell[slot][a - l->access];
	if (!*cell) {
		*cell = gw_arena_array(l->arena, 1, sizeof(**cell));
		if (*cell)
			gw_distinct_init(&(*cell)->sectors, l->arena, GW_LOCALITY_SECTORS);
		else
			l->refused = true;
	}
	return *cell;
}

/** Sectors of an execution, from which those of the next follow where it is a whole number of them
 * further on. */
struct sectors {
	uint64_t at[GW_REQUEST_PIECES];
	unsigned count;
	uint64_t offset; /* bytes beyond the first execution */
};

static void sectors_at(struct sectors *s, const struct gw_request *r, uint64_t offset)
{
	struct gw_request now = *r;
	uint64_t further = offset - s->offset;

	if (s->count && further % GW_SECTOR_BYTES == 0) {
		for (unsigned i = 0; i < s->count; i++)
			s->at[i] += (uint64_t)((int64_t)further / GW_SECTOR_BYTES);
	} else {
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
			now.address[lane] += offset;
		s->count = gw_request_pieces(&now, GW_SECTOR_BYTES, s->at);
	}
	s->offset = offset;
}

static void widen(struct gw_locality_access *a, const struct sectors *s)
{
	if (s->count) {
		a->low = s->at[0] < a->low ? s->at[0] : a->low;
		a->high = s->at[s->count - 1] > a->high ? s->at[s->count - 1] : a->high;
	}
}

/* One execution. Returns the sectors it needs. */
static unsigned add_one(struct gw_locality_cell *cell, struct gw_locality_access *a,
			const struct sectors *s)
{
	for (unsigned i = 0; i < s->count; i++)
		gw_distinct_add(&cell->sectors, s->at[i]);
	widen(a, s);
	return s->count;
}

void gw_locality_add(struct gw_locality *l, struct gw_dim3 block, uint32_t id, bool store,
		     const struct gw_request *r, double times, int64_t step, double rounds)
{
	struct gw_locality_access *a = access_of(l, id, store);
	struct gw_locality_cell *cell = a ? cell_of(l, block, a) : NULL;
	double follow = step ? fmin(times, GW_LOCALITY_REPEATS) : 1;
	double demanded = 0, half = 0;
	struct sectors now = {.count = 0};

	if (!cell || !r->active || !(times > 0) || !gw_request_valid(r))
		return;
	for (double i = 0; i < follow; i++) {
		if (i == floor(follow / 2))
			half = gw_distinct_count(&cell->sectors);
		sectors_at(&now, r, (uint64_t)((int64_t)i * step));
		demanded += add_one(cell, a, &now);
	}
	/* The iterations not followed ask for as much as the others, and touch new sectors as fast
	 * as the second half of those did. */
	if (step && times > follow) {
		cell->beyond += (gw_distinct_count(&cell->sectors) - half) / ceil(follow / 2) *
				(times - follow);
		sectors_at(&now, r, (uint64_t)(int64_t)(times - 1) * (uint64_t)step);
		widen(a, &now);
	}
	cell->demanded += demanded / follow * times * rounds;
	cell->requests += times * rounds;
	a->requests += times * rounds;
	l->refused |= cell->sectors.refused;
}

void gw_locality_uncounted(struct gw_locality *l, uint32_t id, bool store, double times)
{
	struct gw_locality_access *a = access_of(l, id, store);

	if (a)
		a->uncounted += times;
}

static bool belongs(const struct gw_locality_access *a, enum gw_locality_of of)
{
	return of == GW_LOCALITY_ALL || a->store == (of == GW_LOCALITY_STORES);
}

/* Sizes that footprints are counted in: sectors, granules of device memory, lines. */
enum unit { IN_SECTORS = 0, IN_GRANULES = 1, IN_LINES = 2 /* log2 of the sectors in one */ };

/* A merged set of several cells, for a moment: its memory is an arena of its own. */
struct merged {
	struct gw_arena arena;
	struct gw_distinct set;
	enum unit unit;
	double beyond;
	bool sampled; /* a set that keeps single sectors can't be counted in other units */
};

enum { MERGED_LIMIT = 1 << 16, MERGED_BYTES = 8 << 20 };

static void merged_init(struct merged *m, enum unit unit)
{
	*m = (struct merged){.unit = unit};
	gw_arena_init(&m->arena, MERGED_BYTES);
	gw_distinct_init(&m->set, &m->arena, MERGED_LIMIT);
}

static void merge_cell(struct merged *m, const struct gw_locality_cell *cell)
{
	const struct gw_distinct *from = &cell->sectors;

	m->beyond += cell->beyond;
	if (m->unit == IN_SECTORS) {
		gw_distinct_merge(&m->set, from);
		return;
	}
	m->sampled |= from->level > 0 || from->refused || cell->beyond > 0;
	for (uint32_t i = 0; i < from->size && !m->sampled; i++)
		if (from->slot[i] != UINT64_MAX)
			gw_distinct_add(&m->set, from->slot[i] >> m->unit);
}

static void merge_block(struct merged *m, const struct gw_locality *l, uint32_t slot,
			enum gw_locality_of of, const bool *members)
{
	for (uint32_t i = 0; i < l->access_count; i++)
		if (l->cell[slot][i] && belongs(&l->access[i], of) && (!members || members[i]))
			merge_cell(m, l->cell[slot][i]);
}

static double merged_count(const struct merged *m)
{
	return m->sampled ? NAN : gw_distinct_count(&m->set) + m->beyond;
}

/* What blocks @p first to @p end (places in l->block) touch together. */
static double count_blocks(const struct gw_locality *l, uint32_t first, uint32_t end,
			   enum gw_locality_of of, enum unit unit, double *error)
{
	struct merged m;
	double count;

	merged_init(&m, unit);
	for (uint32_t b = first; b < end; b++)
		merge_block(&m, l, b, of, NULL);
	count = merged_count(&m);
	if (error)
		*error = gw_distinct_error(&m.set);
	gw_arena_free(&m.arena);
	return count;
}

void gw_locality_block(const struct gw_locality *l, uint32_t slot, enum gw_locality_of of,
		       struct gw_footprint *out)
{
	out->sectors = count_blocks(l, slot, slot + 1, of, IN_SECTORS, &out->error);
	out->granules = count_blocks(l, slot, slot + 1, of, IN_GRANULES, NULL);
	out->lines = count_blocks(l, slot, slot + 1, of, IN_LINES, NULL);
}

static bool overlap(const struct gw_locality_access *a, const struct gw_locality_access *b)
{
	return a->low <= b->high && b->low <= a->high;
}

/* Mark the instructions whose ranges overlap, directly or through others, with that of @p first. */
static void group_of(const struct gw_locality *l, uint32_t first, bool *members,
		     struct gw_locality_access *range)
{
	bool grown = true;

	*range = l->access[first];
	while (grown) {
		grown = false;
		for (uint32_t i = 0; i < l->access_count; i++) {
			const struct gw_locality_access *a = &l->access[i];

			if (members[i] || !(a->requests > 0) || !overlap(range, a))
				continue;
			members[i] = grown = true;
			range->low = a->low < range->low ? a->low : range->low;
			range->high = a->high > range->high ? a->high : range->high;
		}
	}
}

/** A question about a part of the grid, answered from the middle block and its neighbours. */
struct question {
	const struct gw_locality *l;
	enum gw_locality_of of;
	enum unit unit;
	double extent[DIMENSIONS]; /* blocks along each dimension */
};

/* 1 + (n_d - 1) fresh_d of a group, from the middle block and its neighbour in dimension @p d. */
static double growth(const struct question *q, const struct merged *middle, unsigned d,
		     const bool *members)
{
	const struct gw_locality *l = q->l;
	struct gw_dim3 beside;
	struct merged next;
	double fresh = NAN;
	uint32_t slot;

	if (!neighbour(l->grid, gw_locality_middle(l->grid), d, &beside))
		return 1;
	slot = find_block(l->block, l->block_count, beside);
	merged_init(&next, q->unit);
	if (slot < l->block_count) {
		merge_block(&next, l, slot, q->of, members);
		fresh = gw_distinct_count(&next.set) > 0
				? 1 - gw_distinct_common(&middle->set, &next.set) /
						  gw_distinct_count(&next.set)
				: 0;
	}
	gw_arena_free(&next.arena);
	return 1 + (q->extent[d] - 1) * fresh;
}

static double group_count(const struct question *q, const bool *members,
			  const struct gw_locality_access *range, double *error)
{
	const struct gw_locality *l = q->l;
	uint32_t slot = find_block(l->block, l->block_count, gw_locality_middle(l->grid));
	struct merged middle;
	double count;

	if (slot == l->block_count)
		return NAN;
	merged_init(&middle, q->unit);
	merge_block(&middle, l, slot, q->of, members);
	count = merged_count(&middle);
	*error = fmax(*error, gw_distinct_error(&middle.set));
	for (unsigned d = 0; d < DIMENSIONS && count > 0; d++)
		count *= growth(q, &middle, d, members);
	gw_arena_free(&middle.arena);
	/* The corners, which show where the range begins and ends, come after the neighbours. */
	if (isnan(count) || l->block_count < DIMENSIONS + 3)
		return count;
	return fmin(count, (double)((range->high >> q->unit) - (range->low >> q->unit)) + 1);
}

static double extrapolate(const struct question *q, double *error)
{
	const struct gw_locality *l = q->l;
	bool done[GW_LOCALITY_ACCESSES] = {false};
	double sum = 0;

	for (uint32_t i = 0; i < l->access_count; i++) {
		bool members[GW_LOCALITY_ACCESSES] = {false};
		struct gw_locality_access range;

		if (done[i] || !(l->access[i].requests > 0))
			continue;
		group_of(l, i, members, &range);
		for (uint32_t j = 0; j < l->access_count; j++)
			done[j] |= members[j];
		sum += group_count(q, members, &range, error);
	}
	return sum;
}

static bool all_known(const struct gw_locality *l, enum gw_locality_of of)
{
	for (uint32_t i = 0; i < l->access_count; i++)
		if (l->access[i].uncounted > 0 && !l->counted_alone && belongs(&l->access[i], of))
			return false;
	return !l->refused && !l->dropped;
}

static bool every_block(const struct gw_locality *l)
{
	return l->block_count == gw_dim3_count(l->grid);
}

/* The whole grid's count in one unit. */
static double grid_count(const struct gw_locality *l, enum gw_locality_of of, enum unit unit,
			 double *error)
{
	struct question q = {l, of, unit, {l->grid.x, l->grid.y, l->grid.z}};

	*error = 0;
	if (!all_known(l, of))
		return NAN;
	return every_block(l) ? count_blocks(l, 0, l->block_count, of, unit, error)
			      : extrapolate(&q, error);
}

void gw_locality_grid(const struct gw_locality *l, enum gw_locality_of of,
		      struct gw_locality_grid *out)
{
	double ignored;

	out->counted = every_block(l);
	out->footprint.sectors = grid_count(l, of, IN_SECTORS, &out->footprint.error);
	out->footprint.granules = grid_count(l, of, IN_GRANULES, &ignored);
	out->footprint.lines = grid_count(l, of, IN_LINES, &ignored);
}

/* From the rows of the matrix: SpScore and degree of sharing. */
static void graph_scores(struct gw_block_graph *g)
{
	uint32_t edges = 0, sharing = 0;
	double others = (double)g->blocks * (g->blocks - 1);

	for (uint32_t a = 0; a < g->blocks; a++) {
		uint32_t with = 0;

		for (uint32_t b = 0; b < g->blocks; b++)
			with += a != b && g->shared[a * g->blocks + b] > 0;
		edges += with;
		sharing += with > 0;
	}
	g->sp_score = others > 0 ? 1 - edges / others : NAN;
	g->degree_of_sharing = (double)sharing / g->blocks;
}

bool gw_locality_graph(const struct gw_locality *l, struct gw_block_graph *out)
{
	static const struct gw_block_graph none;
	struct gw_distinct *set;

	*out = none;
	out->blocks = l->block_count;
	set = gw_arena_array(l->arena, l->block_count, sizeof(*set));
	out->shared = gw_arena_array(l->arena, (size_t)l->block_count * l->block_count,
				     sizeof(*out->shared));
	if (!l->block_count || !set || !out->shared)
		return false;
	for (uint32_t a = 0; a < out->blocks; a++) {
		gw_distinct_init(&set[a], l->arena, GW_LOCALITY_SECTORS);
		for (uint32_t i = 0; i < l->access_count; i++)
			if (l->cell[a][i])
				gw_distinct_merge(&set[a], &l->cell[a][i]->sectors);
		if (set[a].refused)
			return false;
		out->error = fmax(out->error, gw_distinct_error(&set[a]));
		for (uint32_t b = 0; b <= a; b++)
			out->shared[a * out->blocks + b] = out->shared[b * out->blocks + a] =
				gw_distinct_common(&set[a], &set[b]);
	}
	graph_scores(out);
	return true;
}

/* Sectors that blocks @p first to @p end (places in l->block) load together. */
static double loaded(const struct gw_locality *l, uint32_t first, uint32_t end)
{
	return count_blocks(l, first, end, GW_LOCALITY_LOADS, IN_SECTORS, NULL);
}

void gw_locality_l1(const struct gw_locality *l, struct gw_locality_hits *out)
{
	uint32_t corner = find_block(l->block, l->block_count, (struct gw_dim3){0, 0, 0});
	double all = 0;

	*out = (struct gw_locality_hits){0};
	for (uint32_t b = 0; b < l->block_count; b++)
		all += l->weight[b];
	for (uint32_t b = 0; b < l->block_count; b++) {
		double share = l->weight[b] / all;

		out->distinct += loaded(l, b, b + 1) * share;
		for (uint32_t i = 0; i < l->access_count; i++)
			if (l->cell[b][i] && !l->access[i].store)
				out->demanded += l->cell[b][i]->demanded * share;
	}
	/* The grid's corners, which gw_locality_choose() has in a row. */
	if (corner + 1 < l->block_count)
		out->common =
			fmin(loaded(l, corner, corner + 1) + loaded(l, corner + 1, corner + 2) -
				     loaded(l, corner, corner + 2),
			     out->distinct);
	out->rate = 1 - out->distinct / out->demanded;
	if (!all_known(l, GW_LOCALITY_LOADS) || !(out->demanded > 0))
		out->rate = NAN;
	else
		out->rate = fmax(out->rate, 0);
}

/* What @p blocks blocks that follow each other load, in @p unit: whole rows of the grid and planes
 * of rows, as blocks are started x first. */
static double round_count(const struct gw_locality *l, double blocks, enum unit unit)
{
	double x = fmin(l->grid.x, blocks), y = fmin(l->grid.y, fmax(blocks / x, 1));
	double z = fmin(l->grid.z, fmax(blocks / x / y, 1)), ignored = 0;
	struct question q = {l, GW_LOCALITY_LOADS, unit, {x, y, z}};

	return extrapolate(&q, &ignored);
}

void gw_locality_dram(const struct gw_locality *l, double resident, double l2_bytes,
		      struct gw_locality_dram *out)
{
	double rounds = fmax((double)gw_dim3_count(l->grid) / resident, 1), again, lost, e;
	double loads = grid_count(l, GW_LOCALITY_LOADS, IN_SECTORS, &e);
	double stores = grid_count(l, GW_LOCALITY_STORES, IN_SECTORS, &e);
	double all = grid_count(l, GW_LOCALITY_ALL, IN_SECTORS, &e);
	double first = grid_count(l, GW_LOCALITY_LOADS, IN_GRANULES, &e);
	enum unit unit = IN_GRANULES;

	if (isnan(first)) {
		unit = IN_SECTORS;
		first = loads;
	}
	out->grain = fmax(first * (1U << unit) / loads, 1);
	again = rounds > 1 ? fmax(rounds * round_count(l, resident, unit) - first, 0) : 0;
	out->footprint = all * SECTOR;
	out->fits = out->footprint <= l2_bytes;
	lost = out->fits ? 0 : 1 - l2_bytes / out->footprint;
	out->read = (first + again * lost) * SECTOR * (1U << unit);
	out->stored = (all - loads) * SECTOR;
	/* As much that was written before has to go. */
	out->write = out->fits ? 0 : stores * SECTOR;
	if (isnan(stores) || isnan(l2_bytes))
		out->write = NAN;
	if (isnan(all))
		out->read = NAN;
}
