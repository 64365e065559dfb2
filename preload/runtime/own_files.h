/*
 * Threads of ours with a table of files of their own. A program may count on the lowest number that
 * it has free, after it closed 0, say: a file that is open for a moment in the program's table
 * takes that number, and one that is open for longer may be closed, or replaced by the program's.
 */
#ifndef GW_OWN_FILES_H
#define GW_OWN_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Make @p thread, to be joined or detached, which calls @p run with @p arg, all signals blocked.
 * Its stack and state are not those that the program's threads have by default: that stack may be
 * too small for our work, and such a thread detached.
 */
bool gw_thread_make(pthread_t *thread, void *(*run)(void *), void *arg);

/**
 * Give the calling thread, one of ours that calls neither driver nor libcupti, an empty table of
 * files of its own; false, with errno set: there is none, as in a sandbox. @p slowly: on kernels
 * before 5.9, which lack close_range(), at the cost of a close() of each number that there may be.
 */
bool gw_own_files(bool slowly);

/** Whether the calling thread has one. */
bool gw_has_own_files(void);

/**
 * Call @p work with @p arg on a thread that has one, and return when it has returned: on a thread
 * made for that, or on this one where it has one already. Where no such thread can be made, it is
 * done here, in the program's table. Neither a signal nor a cancellation
 * interrupts it. @p work is called in any case, and asks for itself whether a sandbox allows it.
 */
void gw_apart(void (*work)(void *arg), void *arg);

/**
 * Read the start of the file @p path into @p text, @p size − 1 bytes at most, and put a 0 behind.
 * Returns the number of bytes read, 0 where the file is empty or can't be read. Not in a sandbox.
 * Who reads several does so in one gw_apart().
 */
size_t gw_small_file(const char *path, char *text, size_t size);

/** Put the path of the program's file into @p path, and a 0 behind, as far as @p size bytes hold
 * it; its length, 0 where /proc does not say. Opens nothing; not in a sandbox. */
size_t gw_program_path(char *path, size_t size);

/**
 * Field @p number (proc(5) counts from 1; at least 3, the state) of @p stat, the text of
 * /proc/PID/stat. It ends at the next blank; NULL where there is none. The name, field 2, may hold
 * blanks and parentheses.
 */
const char *gw_stat_field(const char *stat, unsigned number);

#endif
