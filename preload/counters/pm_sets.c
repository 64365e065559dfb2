#include "preload/counters/pm_sets.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum trial { UNTRIED, READY, REFUSED };

enum {
	BLOCK = 1000 << 10, /* libcupti frees larger ones: these come from the heap, too */
	BLOCKS = 7,
	PAGE = 65536, /* the largest that a machine has */
};

static const struct {
	int set;
	const char *name;
	bool idle;
} rows[GW_PM_ROWS] = {
#define METRIC(set, name, field, factor, idle) {set, name, idle},
#define CLOCK(set, name)                       {set, name, false},
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
};

/* Each row is in one set; halving makes at most one of each row. */
static struct set {
	struct gw_pm_set members;
	struct gw_cupti_set cupti;
	enum trial trial;
} sets[GW_PM_SETS];
static unsigned count, turn; /* turn: of the others, the one that last had its turn */
static bool first_had;       /* the last turn was the first set's */

static void add(struct set *s, unsigned row)
{
	s->members.row[s->members.count] = (uint8_t)row;
	s->members.name[s->members.count++] = rows[row].name;
}

void gw_pm_sets_start(void)
{
	memset(sets, 0, sizeof(sets)); /* a forked child's are the parent's: left alone */
	count = turn = 0;
	first_had = false;
	for (unsigned i = 0; i < GW_PM_ROWS; i++) {
		if (rows[i].set < 0 || (unsigned)rows[i].set >= GW_PM_ROWS)
			continue;
		if ((unsigned)rows[i].set >= count)
			count = (unsigned)rows[i].set + 1;
		if (sets[rows[i].set].members.count < GW_SAMPLE_METRICS)
			add(&sets[rows[i].set], i);
	}
}

/* Its second half becomes a set of its own. False when there is nothing to halve. */
static bool halve(struct set *s)
{
	unsigned keep = s->members.count / 2;
	struct set *other = &sets[count];

	if (!keep || count == sizeof(sets) / sizeof(*sets))
		return false;
	for (unsigned i = keep; i < s->members.count; i++)
		add(other, s->members.row[i]);
	s->members.count = keep;
	count++;
	return true;
}

static void try(struct set *s, const char *chip, const uint8_t *availability)
{
	while (s->members.count && s->trial == UNTRIED) {
		CUptiResult r = gw_cupti_set_make(&s->cupti, chip, availability, s->members.name,
						  s->members.count);

		if (r == CUPTI_SUCCESS && s->cupti.passes == 1) {
			s->trial = READY;
			return;
		}
		gw_cupti_set_free(&s->cupti);
		if (!halve(s))
			s->trial = REFUSED;
	}
}

/*
 * Every second turn is the first set's, the others share the rest: traffic and instructions are
 * what most predictions use, and what code analysis derives least.
 */
static unsigned next(void)
{
	first_had = !first_had;
	if (first_had || count < 2)
		return 0;
	turn = turn + 1 < count ? turn + 1 : 1;
	return turn;
}

const struct gw_cupti_set *gw_pm_sets_next(const char *chip, const uint8_t *availability,
					   unsigned *number)
{
	/* Halving may add sets while we look; of two turns one at least goes on to another. */
	for (unsigned looked = 0; looked <= 2 * count; looked++) {
		unsigned at = next();

		try(&sets[at], chip, availability);
		if (sets[at].trial == READY) {
			*number = at;
			return &sets[at].cupti;
		}
	}
	return NULL;
}

/* The one that is worth the most, GW_PM_SETS: none is worth anything. */
static unsigned best(double (*worth)(unsigned number))
{
	unsigned found = GW_PM_SETS;
	double most = 0;

	for (unsigned i = 0; i < count; i++) {
		double w = sets[i].trial == REFUSED ? 0 : worth(i);

		if (w > most) {
			most = w;
			found = i;
		}
	}
	return found;
}

const struct gw_cupti_set *gw_pm_sets_best(const char *chip, const uint8_t *availability,
					   double (*worth)(unsigned number), unsigned *number)
{
	unsigned at;

	while ((at = best(worth)) < GW_PM_SETS) {
		try(&sets[at], chip, availability);
		if (sets[at].trial == READY) {
			*number = at;
			return &sets[at].cupti;
		}
	}
	return NULL;
}

bool gw_pm_sets_worthwhile(double (*worth)(unsigned number))
{
	return best(worth) < GW_PM_SETS;
}

static double any(unsigned number)
{
	(void)number;
	return 1;
}

bool gw_pm_sets_any(void)
{
	return best(any) < GW_PM_SETS;
}

/* What libcupti has freed stays resident where the program has freed large blocks before: the C
 * library then keeps up to 64 MiB free at the end of our thread's heap. Blocks from there. */
static void hand_back(unsigned blocks)
{
	char *block = malloc(BLOCK);
	const uintptr_t page = ((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	if (block)
		madvise((void *)page, BLOCK / PAGE * PAGE - PAGE, MADV_DONTNEED);
	if (blocks > 1)
		hand_back(blocks - 1);
	free(block);
}

void gw_pm_sets_release(void)
{
	for (unsigned i = 0; i < count; i++) {
		if (sets[i].trial != READY)
			continue;
		gw_cupti_set_free(&sets[i].cupti);
		sets[i].trial = UNTRIED;
	}
	hand_back(BLOCKS);
}

const struct gw_pm_set *gw_pm_set(unsigned number)
{
	return &sets[number].members;
}

uint32_t gw_pm_idle(const struct gw_pm_set *members)
{
	uint32_t bits = 0;

	for (unsigned m = 0; m < members->count; m++)
		bits |= (uint32_t)rows[members->row[m]].idle << m;
	return bits;
}
