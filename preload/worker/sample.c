#include "preload/worker/parts.h"

#include "preload/worker/slow_episodes.h"

enum {
	EACH = 1,  /* a second: the first that was measured in it */
	SLOW = 10, /* the same, of slow episodes */
};
static const uint64_t SECOND = 1000000000;

static struct {
	uint64_t since;
	unsigned left, left_slow;
} sample;

void gw_sample_start(void)
{
	sample.since = 0;
	sample.left = EACH;
	sample.left_slow = SLOW;
}

void gw_sample_tick(uint64_t now_ns)
{
	if (now_ns - sample.since < SECOND)
		return;
	sample.since = now_ns;
	sample.left = EACH;
	sample.left_slow = SLOW;
}

bool gw_sample_takes(const struct gw_record_launch *r)
{
	if (!(r->flags & GW_LAUNCH_MEASURED))
		return false;
	if (sample.left_slow && gw_episodes_open(r->config)) {
		sample.left_slow--;
		return true;
	}
	if (!sample.left)
		return false;
	sample.left--;
	return true;
}
