#include "cli/spent/tally.h"

#include "cli/common/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct looked_for {
	const struct log_tally *tally;
	const char *name;
};

static bool same(const void *arg, uint32_t at)
{
	const struct looked_for *l = arg;

	return !strcmp(l->tally->rows[at].name, l->name);
}

void log_tally_add(struct log_tally *t, const char *name, uint64_t launches, double total)
{
	const struct looked_for l = {t, name};

	/* A launch mostly comes from where the one before it did. */
	if (!t->count || strcmp(t->rows[t->last].name, name) != 0) {
		const uint64_t key = gw_hash(0, name, strlen(name));

		t->last = gw_index_find(&t->index, key, same, &l);
		if (t->last == GW_INDEX_NONE) {
			t->last = (uint32_t)t->count++;
			GW_GROW(t->rows, &t->room, t->count);
			t->rows[t->last] = (struct log_tally_row){.name = gw_copy(name)};
			gw_index_add(&t->index, key, t->last);
		}
	}
	t->rows[t->last].launches += launches;
	t->rows[t->last].total += total;
}

static int by_total(const void *a, const void *b)
{
	const struct log_tally_row *x = a, *y = b;

	return x->total == y->total ? strcmp(x->name, y->name) : x->total < y->total ? 1 : -1;
}

void log_tally_sort(struct log_tally *t)
{
	qsort(t->rows, t->count, sizeof(*t->rows), by_total);
}

void log_tally_free(struct log_tally *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->rows[i].name);
	free(t->rows);
	gw_index_free(&t->index);
	*t = (struct log_tally){0};
}
