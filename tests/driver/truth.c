/*
 * What really ran, counted by the device itself and by nothing that a tool under test could
 * reach: one row for each kernel, configuration and stream. STANDIN_COUNT=file writes it as
 * JSON at exit (%p in the name is the process id); standin_count_write() writes it at once.
 */
#include "si.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row {
	const char *name;
	struct si_config config;
	uint32_t context_id, stream_id;
	bool graph;
	uint64_t count;
};
static struct row *rows;
static size_t row_count, row_capacity; /* capacity: a power of two, at most half filled */
bool si_truth_on;
static _Atomic uint64_t kernels;

static size_t slot_of(const struct si_execution *x, size_t capacity)
{
	const struct si_config *c = &x->config;
	uint64_t h = (uint64_t)(uintptr_t)x->name;
	h = h * 31 + c->grid.x;
	h = h * 31 + c->grid.y;
	h = h * 31 + c->grid.z;
	h = h * 31 + c->block.x;
	h = h * 31 + c->block.y;
	h = h * 31 + c->shared;
	h = h * 31 + x->stream_id;
	return (size_t)((h * 0x9e3779b97f4a7c15u) >> 32) & (capacity - 1);
}

static bool same_dim(struct si_dim a, struct si_dim b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool same(const struct row *r, const struct si_execution *x)
{
	return r->name == x->name && r->stream_id == x->stream_id &&
	       r->context_id == x->context_id && r->graph == (x->graph_id != 0) &&
	       same_dim(r->config.grid, x->config.grid) &&
	       same_dim(r->config.block, x->config.block) &&
	       same_dim(r->config.cluster, x->config.cluster) &&
	       r->config.shared == x->config.shared;
}

static struct row *row_find(struct row *table, size_t capacity, const struct si_execution *x)
{
	size_t i = slot_of(x, capacity);
	while (table[i].name && !same(&table[i], x))
		i = (i + 1) & (capacity - 1);
	return &table[i];
}

static bool grow(void)
{
	size_t capacity = row_capacity ? row_capacity * 2 : 1024;
	struct row *table = calloc(capacity, sizeof *table);
	if (!table)
		return false;
	for (size_t i = 0; i < row_capacity; i++) {
		struct si_execution x = {.name = rows[i].name,
					 .config = rows[i].config,
					 .context_id = rows[i].context_id,
					 .stream_id = rows[i].stream_id,
					 .graph_id = rows[i].graph};
		if (rows[i].name)
			*row_find(table, capacity, &x) = rows[i];
	}
	free(rows);
	rows = table;
	row_capacity = capacity;
	return true;
}

void si_truth_add(const struct si_execution *x)
{
	struct row *row;
	if (row_count * 2 >= row_capacity && !grow())
		return;
	row = row_find(rows, row_capacity, x);
	if (!row->name) {
		*row = (struct row){x->name,      x->config,        x->context_id,
				    x->stream_id, x->graph_id != 0, 0};
		row_count++;
	}
	row->count++;
	atomic_fetch_add(&kernels, 1);
}

/* How many kernels have been counted. */
SI_EXPORT uint64_t standin_kernels(void);
SI_EXPORT uint64_t standin_kernels(void)
{
	return atomic_load(&kernels);
}

void si_truth_forget(void)
{
	if (rows)
		memset(rows, 0, row_capacity * sizeof *rows);
	row_count = 0;
	atomic_store(&kernels, 0);
}

static void write_row(FILE *file, const struct row *r, bool first)
{
	fprintf(file,
		"%s\n{\"name\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], "
		"\"cluster\": [%u, %u, %u], \"dynamic_shared\": %u, \"context\": %u, "
		"\"stream\": %u, \"graph\": %s, \"count\": %llu}",
		first ? "" : ",", r->name, r->config.grid.x, r->config.grid.y, r->config.grid.z,
		r->config.block.x, r->config.block.y, r->config.block.z, r->config.cluster.x,
		r->config.cluster.y, r->config.cluster.z, r->config.shared, r->context_id,
		r->stream_id, r->graph ? "true" : "false", (unsigned long long)r->count);
}

/* Writes the counts so far to `path`; 0, or -1 where it cannot be written. */
SI_EXPORT int standin_count_write(const char *path);
SI_EXPORT int standin_count_write(const char *path)
{
	FILE *file = fopen(path, "w");
	bool first = true;
	uint64_t total = 0;
	if (!file)
		return -1;
	fprintf(file, "{\"source\": \"gpuwatch stand-in\", \"pid\": %d, \"kernels\": [",
		(int)getpid());
	SI_LOCK();
	for (size_t i = 0; i < row_capacity; i++) {
		if (!rows[i].name)
			continue;
		write_row(file, &rows[i], first);
		total += rows[i].count;
		first = false;
	}
	SI_UNLOCK();
	fprintf(file, "\n], \"total\": %llu}\n", (unsigned long long)total);
	return fclose(file) == 0 ? 0 : -1;
}

void si_truth_start(void)
{
	const char *path = getenv("STANDIN_COUNT");
	si_truth_on = path && *path;
}

__attribute__((destructor)) static void finish(void)
{
	const char *path = getenv("STANDIN_COUNT"), *mark;
	char name[4096];
	if (!si_truth_on || !path || !atomic_load(&si_initialized) || atomic_load(&si_forked))
		return;
	mark = strstr(path, "%p");
	if (mark)
		snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - path), path, (int)getpid(),
			 mark + 2);
	else
		snprintf(name, sizeof name, "%s", path);
	if (standin_count_write(name) != 0)
		fprintf(stderr, "stand-in: STANDIN_COUNT: cannot write %s: %m\n", name);
}
