/* Buffers for activity records: what libcupti is given, and what becomes of what it gives back.
 * Callbacks of other tools' subscriptions. */
#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/counters/counter_attribution.h"
#include "preload/runtime/clock.h"
#include "preload/cupti/cupti.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/cupti/record_clock.h"
#include "preload/cupti/subscriber.h"
#include "preload/maps/state.h"
#include "tests/test.h"

enum { MOST = 256, BUFFER = 512 << 10 };

struct gw_cupti gw_cupti;
struct gw_options gw_options;
_Atomic uint64_t gw_counters[GW_COUNTERS];
struct gw_hot gw_hot;

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint32_t taken[MOST], taken_count;
static uint8_t *next;

/* What it stands on. */
void gw_degrade(enum gw_degraded code, const char *format, ...)
{
	(void)code;
	(void)format;
}

void gw_record_clock_begin(void)
{
}

void gw_record_clock_look(void)
{
}

uint64_t gw_record_time(uint64_t time)
{
	return time;
}

bool gw_attach_open(void)
{
	return true;
}

static unsigned ours;

void gw_attach_called(const void *info)
{
	(void)info;
	ours++;
}

static CUptiResult CUPTIAPI register_(CUpti_BuffersCallbackRequestFunc r,
				      CUpti_BuffersCallbackCompleteFunc c)
{
	request = r;
	complete = c;
	return CUPTI_SUCCESS;
}

/* One record a buffer. */
static CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	if (*record || valid < sizeof(CUpti_ActivityKernel10))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)buffer;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI dropped(CUcontext context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	*n = 0;
	return CUPTI_SUCCESS;
}

static int start(void **state)
{
	gw_cupti.cuptiActivityRegisterCallbacks = register_;
	gw_cupti.cuptiActivityGetNextRecord = next_record;
	gw_cupti.cuptiActivityGetNumDroppedRecords = dropped;
	gw_cupti.version = 130001;
	taken_count = 0;
	assert_true(gw_activity_reserve());
	assert_int_equal(gw_activity_register(), CUPTI_SUCCESS);
	gw_activity_begin(GW_ATTACH_IDS);
	return 0;
}

static int stop(void **state)
{
	gw_activity_gone();
	return 0;
}

static uint8_t *ask(void)
{
	uint8_t *buffer = NULL;
	size_t size = 0, most = 1;

	request(&buffer, &size, &most);
	assert_int_equal(most, 0);
	assert_int_equal(size, buffer ? BUFFER : 0);
	return buffer;
}

static void fill(uint8_t *buffer, uint32_t correlation)
{
	CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)(void *)buffer;

	memset(k, 0, sizeof(*k));
	k->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	k->correlationId = correlation;
	k->start = 1;
	k->end = 2;
	complete(NULL, 0, buffer, BUFFER, sizeof(*k));
}

static void take(const struct gw_activity *a)
{
	taken[taken_count++ % MOST] = a->correlation;
	if (!next)
		return;
	/* While a buffer is read, libcupti gives back another. */
	fill(next, 1000);
	next = NULL;
}

static const struct gw_activity_sink sink = {.kernel = take};

TEST_WITH(all_buffers_hold_half_a_second_of_a_graph_program, start, stop)
{
	enum { RATE = 1000000 }; /* kernels a second */
	uint8_t *buffer[MOST];
	size_t records = 0;

	for (size_t i = 0; i < MOST; i++) {
		buffer[i] = ask();
		assert_non_null(buffer[i]);
		for (size_t k = 0; k < i; k++)
			assert_true(buffer[i] != buffer[k]);
		records += BUFFER / sizeof(CUpti_ActivityKernel10);
	}
	assert_true(records > RATE / 2);
	assert_null(ask());
	for (uint32_t i = 0; i < MOST; i++)
		fill(buffer[i], i);
	assert_int_equal(gw_activity_take(&sink), MOST);
	for (uint32_t i = 0; i < MOST; i++)
		assert_int_equal(taken[i], i);
	assert_ptr_equal(ask(), buffer[0]);
}

TEST_WITH(a_buffer_without_records_can_be_had_again, start, stop)
{
	uint8_t *buffer = ask();

	complete(NULL, 0, buffer, BUFFER, 0);
	assert_ptr_equal(ask(), buffer);
	assert_int_equal(gw_activity_take(&sink), 0);
}

TEST_WITH(what_comes_while_buffers_are_read_is_of_the_next_batch, start, stop)
{
	uint8_t *first = ask();

	next = first;
	for (int i = 0; i < 70; i++) /* far enough behind it to be looked at after it */
		next = ask();
	fill(first, 1);
	assert_int_equal(gw_activity_take(&sink), 1);
	assert_int_equal(taken[0], 1);
	assert_int_equal(gw_activity_take(&sink), 1);
	assert_int_equal(taken[1], 1000);
}

/* ---- windows ---- */

TEST_WITH(a_window_covers_what_is_called_in_it, start, stop)
{
	uint64_t before = gw_ticks(), in, after;

	gw_activity_begin(GW_ATTACH_WINDOW);
	in = gw_ticks();
	gw_activity_settle();
	after = gw_ticks() + 1;
	assert_false(gw_activity_covers(before - 1, false));
	assert_true(gw_activity_covers(in, false));
	assert_false(gw_activity_covers(after, false));
	gw_activity_end();
	assert_true(gw_activity_covers(in, false));
}

TEST_WITH(a_kernel_that_started_before_the_window_is_of_no_call_in_it, start, stop)
{
	struct gw_activity a = {.start = gw_wall_ns() - 1};

	gw_activity_begin(GW_ATTACH_WINDOW);
	assert_false(gw_activity_of_call(&a, a.start - 1));
	a.start = gw_wall_ns() + 1000;
	assert_true(gw_activity_of_call(&a, a.start));
	assert_false(gw_activity_of_call(&a, a.start + 1000000));
	gw_activity_begin(GW_ATTACH_ORDER);
	assert_true(gw_activity_of_call(&a, a.start + 1));
}

/* Of a stream's kernel the end is its own, however late. */
TEST_WITH(a_kernel_of_a_graph_that_ends_after_the_window_has_overrun, start, stop)
{
	struct gw_activity late = {.start = 1, .end = UINT64_MAX, .graph_node = 7};

	gw_activity_begin(GW_ATTACH_WINDOW);
	assert_false(gw_activity_overran(&late));
	gw_activity_off();
	assert_true(gw_activity_overran(&late));
	late.graph_node = 0;
	assert_false(gw_activity_overran(&late));
}

/* ---- other tools ---- */

/* As libcupti has it: what it calls, and with what. */
struct subscription {
	CUpti_CallbackFunc callback;
	void *userdata;
};

/* A tool that notes what it is called with; in the first call it may be replaced. */
struct noting {
	struct subscription held;
	CUpti_SubscriberHandle handle;
	unsigned calls;
	struct noting *replaced_by;
};

static void called_with(const void *info);

static void CUPTIAPI note(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			  const void *info)
{
	struct noting *t = userdata;

	(void)domain;
	(void)id;
	t->calls++;
	called_with(info);
}

static void come(struct noting *t, uintptr_t handle)
{
	t->held = (struct subscription){note, t};
	t->handle = (CUpti_SubscriberHandle)handle;
	gw_subscriber_comes(&t->held.callback, &t->held.userdata);
	gw_subscriber_came(t->held.userdata, t->handle);
}

static void called_with(const void *info)
{
	struct noting *t = (struct noting *)info;

	if (t && t->replaced_by) {
		gw_subscriber_went(t->handle);
		come(t->replaced_by, 2);
	}
}

static void call(const struct subscription *s, const void *info)
{
	s->callback(s->userdata, CUPTI_CB_DOMAIN_DRIVER_API, 1, info);
}

static int forget_tools(void **state)
{
	gw_subscriber_abandon();
	ours = 0;
	return 0;
}

/* libcupti may have read function and data on another thread before the tool unsubscribed. */
TEST_WITH(a_callback_that_comes_after_its_tool_reaches_no_tool, forget_tools, NULL)
{
	struct noting first = {0}, second = {0};

	come(&first, 1);
	call(&first.held, NULL);
	gw_subscriber_went(first.handle);
	call(&first.held, NULL);
	come(&second, 2);
	call(&first.held, NULL);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 0);
	call(&second.held, NULL);
	assert_int_equal(second.calls, 1);
}

TEST_WITH(a_tool_that_comes_in_a_callback_of_the_one_before_is_another, forget_tools, NULL)
{
	struct noting second = {0}, first = {.replaced_by = &second};

	come(&first, 1);
	call(&first.held, &first);
	call(&first.held, NULL);
	call(&second.held, NULL);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 1);
}

/* However often tools come and go. */
TEST_WITH(a_place_is_free_again_when_its_tool_has_gone, forget_tools, NULL)
{
	struct noting t = {0};

	for (uintptr_t i = 1; i <= 100; i++) {
		come(&t, i);
		assert_ptr_not_equal(t.held.callback, note);
		call(&t.held, NULL);
		gw_subscriber_went(t.handle);
	}
	assert_int_equal(t.calls, 100);
}

TEST_WITH(what_comes_while_lent_is_ours_until_the_tool_goes, forget_tools, NULL)
{
	struct noting first = {0}, second = {0};

	come(&first, 1);
	assert_ptr_equal(gw_subscriber_borrow(), first.handle);
	call(&first.held, NULL);
	gw_subscriber_went(first.handle);
	come(&second, 2);
	call(&second.held, NULL);
	assert_int_equal(ours, 1);
	assert_int_equal(first.calls, 0);
	assert_int_equal(second.calls, 1);
}

TESTS_MAIN()
