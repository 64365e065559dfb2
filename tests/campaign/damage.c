/*
 * damage_log LOG BYTES COUNT SEED flips|cuts: damages the first whole blocks of a log, as many as
 * BYTES hold, and reads them in memory. COUNT bits are flipped one at a time (0: every one), or the
 * log is cut at COUNT places (0: at every one).
 *
 * After a flip the reader must give what it gives of a log without the block that was hit; all,
 * where the bit does not matter to the records, as in a block's number. After a cut, what it gives
 * of the blocks before the one that was cut. A reading unpacks blocks, which takes half a
 * millisecond each, so of most damages the block and its neighbour alone are read: behind a flip,
 * before a cut. Of each WHOLE_EACHth all of the log is. Prints a line of figures; status 1 where
 * one differs.
 */
#include "cli/log/reader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_MAX = 4096, SHOWN = 5, WHOLE_EACH = 61 };

/** What a reading gave: two readings with equal hashes gave the same records in one order. */
struct reading {
	uint64_t hash, launches;
};

struct block {
	size_t from, to;
	struct reading without; /* of the log without this block */
	struct reading before;  /* of the blocks before it */
	struct reading pair;    /* of this block and the next */
	struct reading next;    /* of the next */
	struct reading last;    /* of the block before it */
};

static unsigned char *bytes, *scratch;
static size_t length;
static struct block block[BLOCKS_MAX];
static size_t blocks;
static struct reading whole;

static bool take(void *arg, const struct gw_log_record *record)
{
	const unsigned char *p = (const unsigned char *)record->head;
	struct reading *r = arg;

	for (size_t i = 0; i < record->head->length; i++)
		r->hash = (r->hash ^ p[i]) * 0x100000001b3ull;
	r->launches += record->head->kind == GW_RECORD_LAUNCH;
	return true;
}

static struct reading read_of(const void *data, size_t size)
{
	struct reading r = {.hash = 0xcbf29ce484222325ull};
	struct gw_log_status status;

	gw_log_read_memory(data, size, take, &r, &status);
	return r;
}

static bool same(const struct reading *a, const struct reading *b)
{
	return a->hash == b->hash && a->launches == b->launches;
}

/* Where the log has to be cut at the least to give more than it does cut @p from; @p most: nowhere.
 */
static size_t next_end(size_t from, size_t most)
{
	struct reading r, now = read_of(bytes, from);
	size_t low = from, high = most;

	r = read_of(bytes, most);
	if (same(&r, &now))
		return most;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		r = read_of(bytes, middle);
		if (same(&r, &now))
			low = middle;
		else
			high = middle;
	}
	return high;
}

/*
 * The file's first blocks, up to @p most bytes; false where there is not one. A block ends where
 * reading up to there first gives more: whatever the format is.
 */
static bool load(const char *path, size_t most)
{
	FILE *file = fopen(path, "rb");
	struct reading all, r;

	bytes = malloc(most);
	scratch = malloc(most);
	if (!file || !bytes || !scratch)
		return false;
	most = fread(bytes, 1, most, file);
	fclose(file);
	all = read_of(bytes, most);
	do {
		block[blocks].from = length;
		length = next_end(length, most);
		block[blocks].to = length;
		r = read_of(bytes, length);
	} while (++blocks < BLOCKS_MAX && !same(&r, &all));
	return all.launches > 0;
}

static size_t next_to(size_t i)
{
	return i + 1 < blocks ? block[i + 1].to : length;
}

static size_t last_from(size_t i)
{
	return i ? block[i - 1].from : 0;
}

/* What must come of each block's loss. False where the reader itself does not add up. */
static bool expect(void)
{
	uint64_t alone = 0;

	whole = read_of(bytes, length);
	for (size_t i = 0; i < blocks; i++) {
		struct block *b = &block[i];

		memcpy(scratch, bytes, b->from);
		memcpy(scratch + b->from, bytes + b->to, length - b->to);
		b->without = read_of(scratch, length - (b->to - b->from));
		b->before = read_of(bytes, b->from);
		b->pair = read_of(bytes + b->from, next_to(i) - b->from);
		b->next = read_of(bytes + b->to, next_to(i) - b->to);
		b->last = read_of(bytes + last_from(i), b->from - last_from(i));
		alone += whole.launches - b->without.launches;
	}
	return alone == whole.launches;
}

static const struct block *block_at(size_t offset)
{
	size_t i = 0;

	while (block[i].to <= offset)
		i++;
	return &block[i];
}

/* Flip the bit, read, flip it back. */
static bool flip_is_right(size_t bit, bool all, uint64_t *harmless)
{
	const struct block *b = block_at(bit / 8);
	size_t from = all ? 0 : b->from, to = all ? length : next_to((size_t)(b - block));
	const struct reading *without = all ? &b->without : &b->next;
	const struct reading *with = all ? &whole : &b->pair;
	struct reading r;

	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	r = read_of(bytes + from, to - from);
	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	*harmless += same(&r, with);
	return same(&r, without) || same(&r, with);
}

static bool cut_is_right(size_t at, bool all)
{
	const struct block *b = block_at(at);
	size_t from = all ? 0 : last_from((size_t)(b - block));
	struct reading r = read_of(bytes + from, at - from);

	return same(&r, all ? &b->before : &b->last);
}

int main(int argc, char **argv)
{
	bool flips = argc == 6 && !strcmp(argv[5], "flips");
	uint64_t count, all, seed, wrong = 0, harmless = 0;

	if (argc != 6 || !load(argv[1], strtoull(argv[2], NULL, 10))) {
		fprintf(stderr, "damage_log: no block to damage\n");
		return 2;
	}
	all = length * (flips ? 8 : 1);
	count = strtoull(argv[3], NULL, 10);
	count = count && count < all ? count : all;
	seed = strtoull(argv[4], NULL, 10);
	if (!expect()) {
		printf("launches of single blocks do not add up to those of the log\n");
		return 1;
	}
	for (uint64_t i = 0; i < count; i++) {
		/* Every one, or as many that lie evenly, moved by the seed. */
		uint64_t at = count == all ? i : (i * all / count + seed * 7919) % all;
		bool all_of_it = i % WHOLE_EACH == 0;
		bool right = flips ? flip_is_right(at, all_of_it, &harmless)
				   : cut_is_right(at, all_of_it);

		if (!right && wrong++ < SHOWN)
			printf("%s %llu is read differently\n", flips ? "bit" : "byte",
			       (unsigned long long)at);
	}
	printf("%llu of %llu %s of %zu bytes, %zu blocks, %llu launches: %llu wrong",
	       (unsigned long long)count, (unsigned long long)all, flips ? "bits" : "cuts", length,
	       blocks, (unsigned long long)whole.launches, (unsigned long long)wrong);
	if (flips)
		printf(", %llu without effect on the records", (unsigned long long)harmless);
	putchar('\n');
	return wrong != 0;
}
