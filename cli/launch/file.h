/*
 * Described launches: what `gpuwatch predict --launch` reads. The format is JSON, described in
 * docs/user/launch.md. The reader is bounded and refuses what it does not understand: every
 * error names file, line, and for an unknown key the nearest known ones.
 */
#ifndef GW_LAUNCH_FILE_H
#define GW_LAUNCH_FILE_H

#include "cli/common/json_file.h"
#include "predictor/core/device.h"
#include "predictor/models/model.h"

/* "intervals" of a described launch, and what interval analysis (Koppelman) says of them. */

enum { LAUNCH_INTERVALS = 64 }; /**< most intervals of one launch */

/** An interval as the file describes it; what it does not say is NaN. */
struct launch_interval {
	const char *name;  /**< never NULL */
	double latency;    /**< L_iota, cycles: given, or found from the code */
	double data_bytes; /**< d_iota: bytes a thread moves across the chip's boundary */
	double l2_bytes;   /**< bytes a thread moves between SM and L2 */
	double fp_insts;   /**< n_IF of a thread */
	double ldst_insts; /**< n_IM of a thread */
	double times;      /**< N: executions over all threads */
	double active;     /**< P: threads active */
};

/** What the analysis says; NaN where an input is unknown. */
struct interval_answer {
	double dram, l2, dispatch; /**< threads that saturate each; infinite when it is not used */
	const char *scarcest;      /**< the one with the least; NULL when none is known */
	double saturating;         /**< and its threads */
	double per_sm;             /**< the same on one SM */
	double seconds;            /**< t(N, P) */
};

/** Analyse @p interval on @p device. */
void interval_analyse(const struct launch_interval *interval, const struct gw_device *device,
		      struct interval_answer *out);

enum {
	LAUNCH_FILE_LAUNCHES = 4096, /**< most launches in one file */
	LAUNCH_FILE_MEASURED = 64,   /**< most measured times of one launch */
};

/** A time that was measured, to show a prediction's error. */
struct launch_measured {
	const char *device; /**< as the file names it */
	double seconds;     /**< > 0 */
};

/** One described launch. Strings belong to the file. */
struct launch_case {
	const char *label;       /**< what to call it, never NULL */
	struct gw_kernel kernel; /**< numbers not given are UINT32_MAX */
	struct gw_config config; /**< 1 x 1 x 1 where not given: see has_config */
	bool has_config;         /**< grid and block are given */
	bool from_graph;
	struct gw_work work;
	struct gw_model_options options;
	const char *field_source[GW_WORK_FIELDS]; /**< where the file says a value is from; NULL: it
						     doesn't */
	unsigned interval_count;
	struct launch_interval *intervals;
	unsigned measured_count;
	struct launch_measured *measured;
};

/** A file of described launches. */
struct launch_file {
	struct json_file json; /**< owns the strings */
	const char *title;     /**< NULL when the file gives none */
	const char *source;    /**< document the numbers are from; NULL when the file gives none */
	size_t count;
	struct launch_case *launches;
};

/**
 * Read @p path ("-": standard input). On failure returns false with one message in @p error
 * ("file:line: what is wrong; remedy") and an empty file. The caller ends with launch_file_free.
 */
bool launch_file_read(struct launch_file *file, const char *path, char *error, size_t error_size);

/** The same from memory; @p name stands for the file in messages. */
bool launch_file_parse(struct launch_file *file, const char *text, size_t length, const char *name,
		       char *error, size_t error_size);

void launch_file_free(struct launch_file *file);

/** The launch to hand to a model: points into @p item, which must stay where it is. */
struct gw_launch launch_case_launch(const struct launch_case *item);

#endif
