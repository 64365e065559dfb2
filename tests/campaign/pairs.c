/*
 * diff_pairs LOG PAIRS BLOCKS LENGTH SLOWER SEED: pairs of runs drawn from one recorded run,
 * compared as gpuwatch diff does.
 *
 * A run is drawn by a block bootstrap: the recording is cut into BLOCKS parts of equal length, the
 * same parts for all rows, and a run is LENGTH times as many parts drawn with replacement. So what
 * kernels of one moment have in common, and what neighbours in time have, is in the drawn runs,
 * too. A row's place in the recording stands for its time: rows are launched all along.
 *
 * First PAIRS pairs without a change: in how many does diff report one. Then as many in which one
 * row, each in turn, takes SLOWER times as long: in how many is that row reported as slower. Rows
 * with fewer than FEWEST times are left out. Prints a line of figures: pairs, rows, pairs with a
 * false alarm, slower rows found, their number, other rows reported in those pairs.
 */
#include "cli/common/memory.h"
#include "cli/diff/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 40, BLOCKS_MAX = 4096 };

static uint64_t drawn;

/* SplitMix64. */
static uint64_t draw(uint64_t below)
{
	uint64_t z = drawn += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % below;
}

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(gw_alloc(size), text, size);
}

/** How runs are drawn. */
struct drawing {
	uint32_t blocks, length;
	float slower;
};

/* The times of @p from in the parts @p part, each taking @p factor times as long. */
static void draw_side(struct diff_side *to, const struct diff_side *from, const uint32_t *part,
		      const struct drawing *d, float factor)
{
	size_t most = (from->count / d->blocks + 1) * d->blocks * d->length;

	to->times = gw_alloc(most * sizeof(*to->times));
	for (uint32_t b = 0; b < d->blocks * d->length; b++) {
		size_t first = from->count * part[b] / d->blocks;
		size_t end = from->count * (part[b] + (size_t)1) / d->blocks;

		for (size_t i = first; i < end; i++)
			to->times[to->count++] = from->times[i] * factor;
	}
	for (size_t i = 0; i < to->count; i++)
		to->total += (double)to->times[i];
	to->launches = to->measured = to->count;
}

/* Whether the row @p slow (-1: none) is reported as slower; @p others: other rows reported. */
static bool pair(const struct diff *recorded, const struct drawing *drawing, long slow,
		 unsigned *others)
{
	const struct diff_rule rule = {.rate = 0.05, .fail = 0, .share = 0};
	static uint32_t part[RUNS][BLOCKS_MAX];
	struct diff d = {.rows = gw_alloc(recorded->count * sizeof(*d.rows)),
			 .count = recorded->count};
	bool found = false;

	for (unsigned run = 0; run < RUNS; run++)
		for (uint32_t b = 0; b < drawing->blocks * drawing->length; b++)
			part[run][b] = (uint32_t)draw(drawing->blocks);
	for (size_t i = 0; i < d.count; i++) {
		const struct diff_row *from = &recorded->rows[i];
		struct diff_row *to = &d.rows[i];

		to->mangled = copy_text(from->mangled);
		to->kernel = from->kernel;
		to->config = from->config;
		/* Known again after the rows were sorted. */
		to->config.digest = (uint32_t)i + 1;
		draw_side(&to->side[BASE], &from->side[BASE], part[BASE], drawing, 1);
		draw_side(&to->side[OTHER], &from->side[BASE], part[OTHER], drawing,
			  (long)i == slow ? drawing->slower : 1);
		d.run[BASE].total += to->side[BASE].total;
		d.run[OTHER].total += to->side[OTHER].total;
	}
	diff_compare(&d, &rule);
	*others = 0;
	for (size_t i = 0; i < d.count; i++) {
		const struct diff_row *r = &d.rows[i];

		if ((long)r->config.digest == slow + 1)
			found = r->verdict == DIFF_SLOWER;
		else
			*others += r->verdict == DIFF_SLOWER || r->verdict == DIFF_FASTER;
	}
	diff_free(&d);
	return found;
}

/* Rows that are launched all along the recording, and often enough to be drawn from. */
static void keep_rows(struct diff *d)
{
	size_t to = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct diff_row swap = d->rows[to];

		if (d->rows[i].side[BASE].count < FEWEST)
			continue;
		d->rows[to++] = d->rows[i];
		d->rows[i] = swap;
	}
	d->count = to;
}

int main(int argc, char **argv)
{
	struct diff recorded = {0};
	uint64_t pairs, alarms = 0, found = 0, others = 0;
	struct drawing drawing;
	unsigned reported;

	if (argc != 7)
		return fputs("usage: diff_pairs LOG PAIRS BLOCKS LENGTH SLOWER SEED\n", stderr), 2;
	pairs = strtoull(argv[2], NULL, 10);
	drawing.blocks = (uint32_t)strtoul(argv[3], NULL, 10);
	drawing.length = (uint32_t)strtoul(argv[4], NULL, 10);
	drawing.slower = strtof(argv[5], NULL);
	drawn = strtoull(argv[6], NULL, 10);
	if (!pairs || drawing.blocks < 2 || drawing.blocks > BLOCKS_MAX || !drawing.length ||
	    drawing.length > BLOCKS_MAX / drawing.blocks || !(drawing.slower > 0))
		return fputs("diff_pairs: an argument is out of range\n", stderr), 2;
	if (diff_read(&recorded, BASE, argv[1]))
		return 2;
	keep_rows(&recorded);
	if (!recorded.count)
		return fputs("diff_pairs: no row of the log has enough times\n", stderr), 2;
	for (uint64_t i = 0; i < pairs; i++) {
		pair(&recorded, &drawing, -1, &reported);
		alarms += reported != 0;
	}
	for (uint64_t i = 0; i < pairs; i++) {
		found += pair(&recorded, &drawing, (long)(i % recorded.count), &reported);
		others += reported;
	}
	printf("%" PRIu64 " %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", pairs,
	       recorded.count, alarms, found, pairs, others);
	return 0;
}
