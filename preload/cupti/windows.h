/*
 * When kernels are timed, and by what. Mode audit has libcupti's activity records from the first
 * context on, except while another tool has libcupti. Mode watch times in windows that cost no more
 * than the budget: by activity records, which are switched on and off while libcupti stays
 * attached; by pairs of events where there is no libcupti, or where to stay attached would cost
 * more than that.
 */
#ifndef GW_WINDOWS_H
#define GW_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Mode audit, at the first context: attach on the calling thread. @p in_time is asked once that has
 * worked; false: the program has launched meanwhile, so this comes to nothing and libcupti is
 * attached later, with correlation ids.
 */
void gw_windows_first(bool (*in_time)(void));

/** What the counters' thread does. */
enum gw_sampler {
	GW_SAMPLER_NONE,    /**< there is none, nor is there to be one */
	GW_SAMPLER_START,   /**< it is to be started, or is kept out of libcupti */
	GW_SAMPLER_RESTS,   /**< it may be in libcupti, and needs no window */
	GW_SAMPLER_WAITS,   /**< for a window */
	GW_SAMPLER_SAMPLES, /**< in one */
};

/** What windows ask of the rooms above. Worker only. */
struct gw_windows_calls {
	enum gw_sampler (*sampler)(void);
	uint32_t (*waiting)(void); /**< launches that wait for their records */
	void (*opened)(void); /**< launches have records or exact pairs: counters may be sampled */
	void (*ending)(void); /**< they will have none: the counters' thread leaves libcupti */
};

/** The worker starts, or starts anew in a forked child that may not measure (@p forbidden). */
void gw_windows_start(bool forbidden, const struct gw_windows_calls *calls);

/**
 * Once a round of the worker, between the launches and the records: opens a window that is due,
 * where the program launches (@p launches calls since the last round, which filled @p full of
 * a thread's ring, 0 to 1), or ends one. True when all
 * that is needed of the open one has come, or is waited for no longer: then its records are to be
 * taken for the last time, and gw_windows_close called.
 */
bool gw_windows_tick(uint32_t launches, double full);
void gw_windows_close(void);

/** Launches are timed, or are waited for. Worker only. */
bool gw_windows_open(void);

/** The worker rests, or is there again: meanwhile nothing is attached, and nobody waits for it. */
void gw_windows_suspend(bool away);

/** The worker has ended: nothing is attached any more, and nobody waits for it. */
void gw_windows_stop(void);

/**
 * The mode or the budget in gw_options has changed: open, change or end what is open. A forked
 * child that may not measure still does not. Worker only.
 */
void gw_windows_mode(void);

/** How long the worker may sleep at most, ms, when it would sleep @p ms. */
uint64_t gw_windows_pause(uint64_t ms);

/** For how long no window opens or closes, ns, if launches go on. */
uint64_t gw_windows_rest(void);

/** Another tool is about to use libcupti: have us switched off. Waits for the worker, bounded. */
void gw_windows_yield(void);

/** Another tool may have gone: do not come back at once. */
void gw_windows_backoff(void);

#endif
