/*
 * A kernel that ended before the call that launched it returned: its record went to the log as one
 * without a launch, and the launch counts once wherever the process dies.
 */
#include "cli/common/memory.h"
#include "cli/live/file.h"
#include "cli/log/reader.h"
#include "predictor/log/block.h"
#include "predictor/log/live.h"
#include "tests/cli/log_builder.h"
#include "tests/test.h"

enum {
	SIZE = 4 << 20,
	RING_SLOTS = 8,
	BLOCK = 1,     /* of the log, that has the record */
	STARTED = 500, /* ticks */
	CONFIG = 1,
};

static _Alignas(8) unsigned char segment[SIZE];
static unsigned char log_bytes[4096];
static size_t log_size;

static void *at(size_t offset)
{
	return segment + offset;
}

static struct gw_live_head *head(void)
{
	return at(0);
}

/* The words of the ring, and its slots. */
static uint64_t words(void)
{
	return SIZE - 4096;
}

static uint64_t slots(void)
{
	return SIZE - 2048;
}

static struct gw_live_entry *entries(void)
{
	return at(head()->entries.offset);
}

static struct gw_live_event launch(uint64_t ticks, uint16_t kernel)
{
	return (struct gw_live_event){.ticks = ticks,
				      .kernel = kernel,
				      .grid = {2, 1, 1},
				      .block_x = 32,
				      .block_y = 1,
				      .block_z = 1,
				      .digest = 7};
}

static void kernel(size_t offset, uint32_t slot, const char *name)
{
	struct gw_live_kernel *k = at(head()->kernels.offset + offset);

	k->length = 48;
	k->slot = slot;
	strcpy(k->name, name);
}

/* The ring as the thread and the worker left it; the positions are of 32-bit words. */
static void ring(uint32_t committed, uint32_t reserved, uint32_t taken)
{
	uint32_t *word = at(words());

	word[0] = committed;
	word[1] = reserved;
	word[2] = taken;
	word[3] = 77;
}

static void slot(uint32_t position, struct gw_live_event e)
{
	memcpy(at(slots() + position % RING_SLOTS * 64), &e, sizeof(e));
}

/* Records of blocks with a number are packed ones; this one is not packed any further. */
static void make_log(void)
{
	struct lb b = {0};
	struct gw_record_launch l = lb_launch(CONFIG, 1000, 10, 0, 0);
	struct gw_packed_block block = {.magic = GW_PACKED_MAGIC, .number = BLOCK};

	lb_header(&b, 1, 0, "test");
	lb_kernel(&b, 1, "add");
	lb_config(&b, CONFIG, 1, 2, 32);
	l.flags = GW_LAUNCH_NO_CALL;
	lb_add_launch(&b, l);
	block.length = block.raw = (uint32_t)b.block_length;
	log_size = sizeof(block) + b.block_length;
	memcpy(log_bytes + sizeof(block), b.block, b.block_length);
	block.crc = gw_block_checksum(&block, log_bytes + sizeof(block));
	memcpy(log_bytes, &block, sizeof(block));
	lb_free(&b);
}

static int start(void **state)
{
	struct gw_live_head *h = head();

	memset(segment, 0, sizeof(segment));
	*h = (struct gw_live_head){.magic = GW_LIVE_MAGIC,
				   .version = GW_LIVE_VERSION,
				   .size = SIZE,
				   .pid = 1,
				   .boot_id = "b",
				   .tick_khz = 1000000,
				   .rings = 1,
				   .entries_used = 2};
	assert_true(gw_live_layout(h, SIZE) <= words());
	h->ring[0] = (struct gw_live_ring){
		words(), words() + 4, words() + 8, words() + 12, slots(), RING_SLOTS - 1, 1};
	kernel(0, 1, "add");
	kernel(48, 2, "mul");
	entries()[0] = (struct gw_live_entry){
		.ring = GW_LIVE_LONE, .block = BLOCK, .id = CONFIG, .event = {.ticks = STARTED}};
	make_log();
	return 0;
}

static uint64_t rest(void)
{
	struct gw_live_file file;
	struct gw_live_rest rest;

	assert_true(gw_live_check(&file, segment, sizeof(segment)));
	gw_live_add(&file, log_bytes, log_size, &rest);
	free(rest.log);
	return rest.launches;
}

TEST_WITH(a_launch_whose_record_the_log_has_is_not_added, start, NULL)
{
	slot(0, launch(400, 1));
	ring(1, 1, 0);
	assert_int_equal(rest(), 0);
}

TEST_WITH(it_is_where_the_block_of_the_record_is_lost, start, NULL)
{
	struct gw_live_entry *e = entries();

	e->block = BLOCK + 1;
	slot(0, launch(400, 1));
	ring(1, 1, 0);
	assert_int_equal(rest(), 1);
}

TEST_WITH(others_are_added, start, NULL)
{
	slot(0, launch(400, 1));
	slot(1, launch(410, 2)); /* of another kernel */
	slot(2, launch(420, 1)); /* a second one */
	ring(3, 3, 0);
	assert_int_equal(rest(), 2);
}

TEST_WITH(a_launch_called_after_the_kernel_started_is_another, start, NULL)
{
	slot(0, launch(STARTED + 1, 1));
	ring(1, 1, 0);
	assert_int_equal(rest(), 1);
}

/* The record is of the one whose call is still under way. */
TEST_WITH(a_launch_in_flight_takes_the_record_from_none, start, NULL)
{
	slot(0, launch(400, 1));
	ring(0, 1, 0);
	assert_int_equal(rest(), 0);
	slot(1, launch(410, 1)); /* within it, and ended */
	((struct gw_live_event *)at(slots() + 64))->flags = 1 << 4;
	ring(0, 2, 0);
	assert_int_equal(rest(), 1);
}

/* What the slot of a launch that has just begun held before is no launch. */
TEST_WITH(a_slot_that_is_being_filled_takes_no_record, start, NULL)
{
	slot(7, launch(390, 1));
	slot(8, launch(400, 1)); /* committed */
	slot(9, launch(100, 1)); /* a lap ago */
	ring(9, 10, 8);
	assert_int_equal(rest(), 0);
}

TEST_WITH(one_that_waits_for_its_record_is_not_added_either, start, NULL)
{
	struct gw_live_entry *e = entries();

	e[1] = (struct gw_live_entry){
		.ring = 1, .block = GW_LIVE_NO_BLOCK, .event = launch(400, 1)};
	ring(1, 1, 1);
	assert_int_equal(rest(), 0);
}

/* The worker died after the store that joined the two, or before. */
TEST_WITH(a_record_that_has_met_its_launch_stands_for_no_other, start, NULL)
{
	struct gw_live_entry *e = entries();

	e[0].position = 2;
	e[1] = (struct gw_live_entry){.ring = 1, .block = BLOCK, .event = launch(400, 1)};
	slot(0, launch(400, 1));
	slot(1, launch(410, 1));
	ring(2, 2, 0); /* the first is being taken */
	assert_int_equal(rest(), 1);
	ring(2, 2, 1); /* it has been */
	assert_int_equal(rest(), 1);
	e[1].block = GW_LIVE_NO_BLOCK;
	assert_int_equal(rest(), 1);
}

TEST_WITH(rings_in_the_same_place_do_not_count_a_launch_for_each, start, NULL)
{
	enum { MANY = 1 << 15 };
	struct gw_live_ring *g = head()->ring;

	ring(MANY, MANY, 0);
	g[0].slots = SIZE / 4;
	g[0].mask = MANY - 1;
	for (int i = 1; i < GW_LIVE_RINGS; i++)
		g[i] = g[0];
	assert_in_range(rest(), MANY, SIZE / 64);
}

TESTS_MAIN()
