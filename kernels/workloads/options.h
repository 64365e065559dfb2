/* The options of gpuwatch-workloads, and its messages. */
#ifndef GW_WORKLOADS_OPTIONS_H
#define GW_WORKLOADS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WL_WORDS = 64 /**< most times that --only and --size may stand */ };

/** Words of an option that may be repeated, in the order given. */
struct wl_words {
	size_t count;
	const char *word[WL_WORDS];
};

struct wl_options {
	bool list, json, check, cold, interleave, queued, print_args;
	struct wl_words only, size;
	uint64_t repeat, seed; /**< UINT64_MAX: not given */
	uint64_t memory;       /**< bytes */
	double seconds;        /**< 0: not given */
};

/**
 * Read the options of @p argv. Exits: --help by 0, on what is no option or no value of one by 2
 * after a message.
 */
void wl_options_parse(int argc, char **argv, struct wl_options *out);

/** "gpuwatch-workloads: …" and a newline on stderr. Returns 2, the exit status of bad input. */
int wl_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
