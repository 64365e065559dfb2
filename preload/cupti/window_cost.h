/*
 * What windows of mode watch cost the program, as this process shows it: launches per second while
 * a window is open against those before it. And what libcupti costs while it is attached and off,
 * which decides whether it is attached at all: it cannot be detached again. Worker only.
 */
#ifndef GW_WINDOW_COST_H
#define GW_WINDOW_COST_H

#include <stdbool.h>
#include <stdint.h>

/** Start with nothing known. */
void gw_window_cost_start(void);

/**
 * @p launches calls came in a round of the worker that took @p ns; @p open: in a window. @p full:
 * the largest share of a thread's ring that was full, 0 to 1.
 */
void gw_window_cost_round(bool open, uint64_t ns, uint32_t launches, double full);

/** The program launched a kernel (@p nodes: 0), or a graph of @p nodes kernels. */
void gw_window_cost_launch(uint32_t nodes);

/** Whether half of a thread's ring was full in the window: the worker, with records to join, does
 * not keep up, and launches would be lost. */
bool gw_window_cost_behind(void);

/** The window has ended: what it showed counts. */
void gw_window_cost_ended(void);

/** Of the window that ended last: how long the program is to launch without one, ns, whatever the
 * budget; 0 unless the worker fell behind in it. */
uint64_t gw_window_cost_rest(void);

/**
 * Share of the time for which a window is open that the program loses, 0 to 1: the upper bound of
 * what past windows showed, two standard errors above their mean; a half as long as there were few.
 */
double gw_window_cost_share(void);

/**
 * What event pairs have cost since this was last asked, ns, in a window in which the program
 * launched for @p launching ns: twice the time that they took on its threads, or a fixed charge a
 * pair where that is more, and a twentieth of the launching.
 */
uint64_t gw_window_cost_events(uint64_t launching);

/**
 * Share of the time in which the program launches that windows of event pairs may cost, 0 to 1:
 * what the hooks of launch calls leave of @p percent, by the calls of the last ten seconds or so; a
 * sixteenth of it at least.
 */
double gw_window_cost_left(uint32_t percent);

/**
 * From the end of a window that cost @p ns to the next, ns of launching: its share of the time is
 * that of GPUWATCH_BUDGET, or (@p pairs) what gw_window_cost_left() leaves; at random up to a third
 * more.
 */
uint64_t gw_window_cost_pause(uint64_t ns, bool pairs);

/** In a window of event pairs one launch in how many is timed, at most @p most: the fewer launches
 * the program makes, the more of them. */
uint32_t gw_window_cost_rate(uint32_t most);

/** What the window that has ended cost, ns: by event pairs, as the program launched for @p
 * launching ns in it, or by records, as it was open for @p span ns. */
uint64_t gw_window_cost_of(bool by_events, uint64_t span, uint64_t launching);

/** Say in the report that another profiler has libcupti. */
void gw_window_taken(void);

/** One launch in so many has an event pair from now on. */
void gw_window_events_begin(void);

/** Every launch has one, which shows when it ran: gw_hot.exact. */
void gw_window_exact_begin(void);

/** Whether that, which is on, is over now, in a window opened at @p opened: what is read of the
 * pairs comes with further launches. */
bool gw_window_exact_over(uint64_t opened, uint64_t now);

/**
 * Whether libcupti may stay attached: by how much it would have delayed the program in the last ten
 * seconds or so is within half of @p percent of the time. False as long as it has hardly launched.
 */
bool gw_window_cost_stay(uint32_t percent);

/**
 * Whether mode watch attaches libcupti now: where GPUWATCH_WINDOWS asks for it and the budget bears
 * it. Otherwise the report gets the reason. Worker only.
 */
bool gw_window_cost_attach(void);

/*
 * libcupti can crash a program as it instantiates a graph with a conditional node while kernels are
 * recorded (pytorch/pytorch#134308): mode watch has no records from the first such node on.
 */

/** Mode watch is about to have kernels recorded; false: it must not. Worker only, as the next two.
 */
bool gw_window_records_begin(void);

/** Nothing is recorded any more. */
void gw_window_records_end(void);

/** Whether a graph has such a node, for which records were given up: the report gets the reason. */
bool gw_window_conditional(void);

/** A graph is about to have one: waits until nothing is recorded, bounded. Any thread; keeps errno.
 */
void gw_window_conditional_comes(void);

#endif
