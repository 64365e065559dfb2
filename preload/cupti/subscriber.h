/*
 * Other tools' subscriptions to CUPTI. torch.profiler keeps its subscription until exit, although
 * it only waits for contexts between profiles, and libcupti before CUDA 13.3 has room for one. So a
 * tool's callbacks come through a relay of ours, and while it asks for none of API calls we may ask
 * for ours under its subscription.
 */
#ifndef GW_SUBSCRIBER_H
#define GW_SUBSCRIBER_H

#include "preload/cupti/cupti.h"
#include <stdbool.h>

/**
 * A tool is about to subscribe: put the relay in the place of its function and data. Without
 * room they stay, and nothing is known of that subscription. Any thread.
 */
void gw_subscriber_comes(CUpti_CallbackFunc *callback, void **userdata);

/** What came of it; @p userdata as the call before left it, @p handle NULL where it failed. */
void gw_subscriber_came(void *userdata, CUpti_SubscriberHandle handle);

/** It has unsubscribed; NULL: all have. */
void gw_subscriber_went(CUpti_SubscriberHandle handle);

/** It switched callbacks: one of @p domain, or @p id 0 all; @p domain 0: of all. */
void gw_subscriber_switched(CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
			    CUpti_CallbackId id, bool on);

/** Whether any tool has callbacks of API calls: it measures. */
bool gw_subscriber_busy(void);

/**
 * A subscription that may carry our driver-API callbacks (they go to gw_attach_called, and not to
 * the tool) until gw_subscriber_return; NULL when there is none. Switch them off before it is
 * returned. Worker only.
 */
CUpti_SubscriberHandle gw_subscriber_borrow(void);
void gw_subscriber_return(void);

/** In a forked child: forget the parent's. */
void gw_subscriber_abandon(void);

#endif
