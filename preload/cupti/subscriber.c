/* SPDX-License-Identifier: Apache-2.0 */
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

/* Never freed: libcupti may be in the relay on another thread when a tool unsubscribes. */
static struct tool {
	_Atomic int used;
	CUpti_CallbackFunc callback;
	void *userdata;
	_Atomic(CUpti_SubscriberHandle) handle;
	_Atomic int all[DOMAINS];               /* the whole domain is on */
	_Atomic uint64_t on[DOMAINS][IDS / 64]; /* bit per callback that is */
	_Atomic int lent;
} tools[TOOLS];

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
	for (unsigned d = 0; d < DOMAINS; d++) {
		atomic_store(&t->all[d], 0);
		for (unsigned i = 0; i < IDS / 64; i++)
			atomic_store(&t->on[d][i], 0);
	}
	atomic_store(&t->lent, 0);
	atomic_store(&t->handle, NULL);
	atomic_store(&t->used, 0);
}

/* While lent, the tool has none of the driver API: what comes is ours. */
static void CUPTIAPI relay(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const void *info)
{
	struct tool *t = userdata;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && atomic_load(&t->lent))
		gw_attach_called(info);
	else if (t->callback) /* none in a forked child, where nobody is subscribed any more */
		t->callback(t->userdata, domain, id, info);
}

void gw_subscriber_comes(CUpti_CallbackFunc *callback, void **userdata)
{
	for (unsigned i = 0; *callback && i < TOOLS; i++) {
		struct tool *t = &tools[i];

		if (atomic_exchange(&t->used, 1))
			continue;
		t->callback = *callback;
		t->userdata = *userdata;
		*callback = relay;
		*userdata = t;
		return;
	}
}

void gw_subscriber_came(void *userdata, CUpti_SubscriberHandle handle)
{
	for (unsigned i = 0; i < TOOLS; i++)
		if (userdata == &tools[i]) {
			atomic_store(&tools[i].handle, handle);
			if (!handle)
				forget(&tools[i]);
		}
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
		CUpti_SubscriberHandle its = atomic_load(&tools[i].handle);

		if (!its || measures(&tools[i]))
			continue;
		atomic_store(&tools[i].lent, 1);
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
