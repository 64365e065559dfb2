/*
 * Builds logs for tests, by the format's description alone: it shares the record structs with
 * the product, but neither its writer nor its reader.
 */
#ifndef GW_LOG_BUILDER_H
#define GW_LOG_BUILDER_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>

/** A log in memory. Zero-initialised is empty. Free with lb_free. */
struct lb {
	unsigned char *data; /**< whole blocks */
	size_t length;
	unsigned char *block; /**< records of the block being built */
	size_t block_length;
	uint32_t sequence;
	uint64_t records;
	uint64_t later_ns; /**< added to the times of the header, launches and counters */
};

/** Append a record: its struct (head.kind and head.length are filled in) and its tail. */
void lb_record(struct lb *b, unsigned kind, void *record, size_t size, const void *tail,
	       size_t tail_size);
/** Close the block being built; does nothing when it is empty. */
void lb_block(struct lb *b);
/** The same for each record, with what a test mostly wants. */
void lb_header(struct lb *b, uint32_t pid, uint32_t flags, const char *command);
void lb_device(struct lb *b, uint32_t id, const char *name, const char *uuid);
void lb_module(struct lb *b, uint32_t id, const char *path);
void lb_kernel(struct lb *b, uint32_t id, const char *mangled);
void lb_kernel_of(struct lb *b, uint32_t id, const char *mangled, uint32_t module);
void lb_config(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t block_x);
/** The same of a configuration that runs on @p device; @p older: as before it was reported. */
void lb_config_on(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t device,
		  bool older);
/** The same of one whose arguments have @p digest. */
void lb_config_with(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t digest);
void lb_stream(struct lb *b, uint32_t id, uint32_t device);
/** A launch as it should be: call 10 µs before start. predicted NaN: unknown. */
struct gw_record_launch lb_launch(uint32_t config, uint64_t start_ns, uint64_t duration_ns,
				  float predicted, uint32_t known);
void lb_add_launch(struct lb *b, struct gw_record_launch launch);
/** What is known of a configuration's work after @p known observations. */
void lb_work(struct lb *b, uint32_t config, uint64_t known, const struct gw_record_quantity *parts,
	     uint32_t count);
void lb_published(struct lb *b, uint64_t known);
/** The profile of @p device: @p text in pieces of at most @p piece bytes. */
void lb_profile(struct lb *b, uint32_t device, const char *text, size_t piece);
void lb_degraded(struct lb *b, uint32_t code, const char *text);
void lb_counters(struct lb *b, const uint64_t *values, uint32_t count);
void lb_end(struct lb *b);
/** Write the log to @p path; false on failure. */
bool lb_write(struct lb *b, const char *path);
void lb_free(struct lb *b);

#endif
