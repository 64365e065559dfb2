/*
 * NVTX of version 3 lives in headers, within each library that uses it. At its first call it opens
 * the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, which puts
 * functions into that copy's tables. Its binary interface is stable; these are the parts in use.
 */
#include "preload/launch/ranges.h"
#include "preload/lifecycle.h"
#include "preload/runtime/options.h"

#include <string.h>

enum { EXPORT_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_UNICODE = 2, MESSAGE_REGISTERED = 3 };
enum { UNTRACKED = -2 }; /* what a push returns where no tool counts levels */

/* nvtxEventAttributes_t of version 2. */
struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const void *registered;
	} message;
};

struct callbacks {
	size_t size;
	int (*table)(int module, void ****table, unsigned *count);
};

/* Handles are ids: NVTX hands them back and never looks into them. */
static void *handle_of(uint32_t id)
{
	return (void *)(uintptr_t)id;
}

static uint32_t id_of(const void *handle)
{
	return (uint32_t)(uintptr_t)handle;
}

static uint32_t name_of(const void *domain, const struct attributes *a)
{
	if (!a || a->size < sizeof(*a))
		return gw_range_name(id_of(domain), NULL);
	switch (a->message_type) {
	case MESSAGE_ASCII:
		return gw_range_name(id_of(domain), a->message.ascii);
	case MESSAGE_UNICODE:
		return gw_range_name_wide(id_of(domain), a->message.unicode);
	case MESSAGE_REGISTERED:
		return id_of(a->message.registered);
	default:
		return gw_range_name(id_of(domain), NULL);
	}
}

static uint64_t start_ex(const struct attributes *a)
{
	return gw_range_start(name_of(NULL, a));
}

static uint64_t start_ascii(const char *message)
{
	return gw_range_start(gw_range_name(0, message));
}

static uint64_t start_wide(const wchar_t *message)
{
	return gw_range_start(gw_range_name_wide(0, message));
}

static void end(uint64_t number)
{
	gw_range_end(number);
}

static int push_ex(const struct attributes *a)
{
	gw_range_push(name_of(NULL, a));
	return UNTRACKED;
}

static int push_ascii(const char *message)
{
	gw_range_push(gw_range_name(0, message));
	return UNTRACKED;
}

static int push_wide(const wchar_t *message)
{
	gw_range_push(gw_range_name_wide(0, message));
	return UNTRACKED;
}

static int pop(void)
{
	gw_range_pop();
	return UNTRACKED;
}

static uint64_t domain_start(const void *domain, const struct attributes *a)
{
	return gw_range_start(name_of(domain, a));
}

static void domain_end(const void *domain, uint64_t number)
{
	(void)domain;
	gw_range_end(number);
}

static int domain_push(const void *domain, const struct attributes *a)
{
	gw_range_push(name_of(domain, a));
	return UNTRACKED;
}

static int domain_pop(const void *domain)
{
	(void)domain;
	return pop();
}

static void *domain_register(const void *domain, const char *text)
{
	return handle_of(gw_range_name(id_of(domain), text));
}

static void *domain_register_wide(const void *domain, const wchar_t *text)
{
	return handle_of(gw_range_name_wide(id_of(domain), text));
}

static void *domain_create(const char *name)
{
	return handle_of(gw_range_name(0, name));
}

static void *domain_create_wide(const wchar_t *name)
{
	return handle_of(gw_range_name_wide(0, name));
}

/* By the numbers that NVTX gives its functions; others stay without effect. */
static void *const core[] = {
	[4] = (void *)start_ex,   [5] = (void *)start_ascii, [6] = (void *)start_wide,
	[7] = (void *)end,        [8] = (void *)push_ex,     [9] = (void *)push_ascii,
	[10] = (void *)push_wide, [11] = (void *)pop,
};
static void *const core2[] = {
	[2] = (void *)domain_start,     [3] = (void *)domain_end,
	[4] = (void *)domain_push,      [5] = (void *)domain_pop,
	[10] = (void *)domain_register, [11] = (void *)domain_register_wide,
	[12] = (void *)domain_create,   [13] = (void *)domain_create_wide,
};

static void fill(const struct callbacks *c, int module, void *const *functions, unsigned count)
{
	void ***table = NULL;
	unsigned there = 0;

	if (!c->table(module, &table, &there) || !table)
		return;
	for (unsigned i = 0; i < count && i < there; i++)
		if (functions[i] && table[i])
			*table[i] = functions[i];
}

/**
 * Called by NVTX, which NVTX_INJECTION64_PATH led here: @p table gives the tables of that copy.
 * Returns 0 where ranges are not recorded; NVTX then does nothing, as without a tool.
 */
__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*table)(uint32_t id));

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(const void *(*table)(uint32_t id))
{
	const struct callbacks *c = table ? table(EXPORT_CALLBACKS) : NULL;

	if (!gw_hooking() || gw_options.mode != GW_MODE_AUDIT || !gw_options.ranges || !c ||
	    c->size < sizeof(*c))
		return 0;
	fill(c, MODULE_CORE, core, sizeof(core) / sizeof(*core));
	fill(c, MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2));
	return 1;
}
