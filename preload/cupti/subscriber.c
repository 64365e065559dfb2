#include "preload/cupti/subscriber.h"

#include "preload/cupti/attach.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
	TOOLS = 8,  /* subscriptions at a time */
	IDS = 2048, /* callbacks of a domain that are distinguished */
};

/* The domains whose callbacks come with API calls. */
enum { DRIVER, RUNTIME, DOMAINS };

/*
 * libcupti may be in the relay on another thread when a tool unsubscribes, and come there with what
 * it read before. So what it hands over is a number that is never given again, and a place whose
 * relay is not empty is given to nobody.
 */
static struct tool {
	_Atomic int used;
	_Atomic uintptr_t number; /* of the subscription; 0: none */
	_Atomic int inside;       /* threads in its relay */
	CUpti_CallbackFunc callback;
	void *userdata;
	_Atomic(CUpti_SubscriberHandle) handle;
	_Atomic int all[DOMAINS];               /* the whole domain is on */
	_Atomic uint64_t on[DOMAINS][IDS / 64]; /* bit per callback that is */
	_Atomic uintptr_t lent; /* number of the subscription that is, or was before */
} tools[TOOLS];
static _Atomic uintptr_t subscriptions; /* the modulus of a number is its place */

static struct tool *place_of(uintptr_t number)
{
	return &tools[number % TOOLS];
}

static bool measures(const struct tool *t)
{
	uint64_t any = 0;

	for (unsigned d = 0; d < DOMAINS; d++) {
		any |= (uint64_t)atomic_load(&t->all[d]);
		for (unsigned i = 0; i < IDS / 64; i++)
			any |= atomic_load_explicit(&t->on[d][i], memory_order_relaxed);
	}
	return any != 0;
}

static void forget(struct tool *t)
{
	atomic_store(&t->number, 0);
	atomic_store(&t->handle, NULL);
	for (unsigned d = 0; d < DOMAINS; d++) {
		atomic_store(&t->all[d], 0);
		for (unsigned i = 0; i < IDS / 64; i++)
			atomic_store(&t->on[d][i], 0);
	}
	atomic_store(&t->used, 0);
}

/*
 * While lent, the tool has none of the driver API: what comes is ours. What comes of a subscription
 * that has ended, or of the parent's in a forked child, is nobody's.
 */
static void CUPTIAPI relay(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			   const void *info)
{
	const uintptr_t number = (uintptr_t)userdata;
	struct tool *t = place_of(number);

	/* The other end of take(): the flag first, then a look at theirs (seq_cst). */
	atomic_fetch_add(&t->inside, 1);
	if (atomic_load(&t->number) == number) {
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API && atomic_load(&t->lent) == number)
			gw_attach_called(info);
		else
			t->callback(t->userdata, domain, id, info);
	}
	atomic_fetch_sub(&t->inside, 1);
}

/* Nobody reads the function and data of a place that is free and whose relay is empty. */
static bool take(struct tool *t)
{
	if (atomic_exchange(&t->used, 1))
		return false;
	if (!atomic_load(&t->inside))
		return true;
	atomic_store(&t->used, 0);
	return false;
}

void gw_subscriber_comes(CUpti_CallbackFunc *callback, void **userdata)
{
	for (uintptr_t i = 0; *callback && i < TOOLS; i++) {
		struct tool *t = &tools[i];
		uintptr_t number;

		if (!take(t))
			continue;
		number = (atomic_fetch_add(&subscriptions, 1) + 1) * TOOLS + i;
		t->callback = *callback;
		t->userdata = *userdata;
		atomic_store(&t->number, number);
		*callback = relay;
		*userdata = (void *)number;
		return;
	}
}

void gw_subscriber_came(void *userdata, CUpti_SubscriberHandle handle)
{
	const uintptr_t number = (uintptr_t)userdata;
	struct tool *t = place_of(number);

	if (!number || atomic_load(&t->number) != number)
		return;
	atomic_store(&t->handle, handle);
	if (!handle)
		forget(t);
}

void gw_subscriber_went(CUpti_SubscriberHandle handle)
{
	for (unsigned i = 0; i < TOOLS; i++) {
		CUpti_SubscriberHandle its = atomic_load(&tools[i].handle);

		if (its && (!handle || its == handle))
			forget(&tools[i]);
	}
}

static void switched(struct tool *t, unsigned d, CUpti_CallbackId id, bool on)
{
	if (!id) {
		atomic_store(&t->all[d], on);
		for (unsigned i = 0; !on && i < IDS / 64; i++)
			atomic_store(&t->on[d][i], 0);
	} else if (id < IDS && on) {
		atomic_fetch_or(&t->on[d][id / 64], UINT64_C(1) << id % 64);
	} else if (id < IDS) {
		atomic_fetch_and(&t->on[d][id / 64], ~(UINT64_C(1) << id % 64));
	} else if (on) {
		atomic_store(&t->all[d], 1); /* never too few */
	}
}

void gw_subscriber_switched(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
			    CUpti_CallbackId id, bool on)
{
	for (unsigned i = 0; i < TOOLS; i++) {
		if (!handle || atomic_load(&tools[i].handle) != handle)
			continue;
		if (!domain || domain == CUPTI_CB_DOMAIN_DRIVER_API)
			switched(&tools[i], DRIVER, id, on);
		if (!domain || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
			switched(&tools[i], RUNTIME, id, on);
	}
}

bool gw_subscriber_busy(void)
{
	for (unsigned i = 0; i < TOOLS; i++)
		if (atomic_load(&tools[i].used) && measures(&tools[i]))
			return true;
	return false;
}

CUpti_SubscriberHandle gw_subscriber_borrow(void)
{
	for (unsigned i = 0; i < TOOLS; i++) {
		/* The number first: what another subscription of this place sees is not its own. */
		const uintptr_t number = atomic_load(&tools[i].number);
		CUpti_SubscriberHandle its = atomic_load(&tools[i].handle);

		if (!number || !its || measures(&tools[i]))
			continue;
		atomic_store(&tools[i].lent, number);
		return its;
	}
	return NULL;
}

void gw_subscriber_return(void)
{
	for (unsigned i = 0; i < TOOLS; i++)
		atomic_store(&tools[i].lent, 0);
}

void gw_subscriber_abandon(void)
{
	memset(tools, 0, sizeof(tools));
}
