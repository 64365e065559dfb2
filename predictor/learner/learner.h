/*
 * Inside the predictor: its state per configuration and kernel. For predictor.c (times, and when
 * predictions are made), residual.c (configurations without times) and scale.c (a launch's work,
 * and the model's time for it).
 */
#ifndef GW_LEARNER_H
#define GW_LEARNER_H

#include "predictor/learner/overlap.h"
#include "predictor/learner/coverage.h"
#include "predictor/learner/history.h"
#include "predictor/core/index.h"
#include "predictor/learner/krige.h"
#include "predictor/learner/predictor.h"

enum {
	GW_TIMED_MOST = 48, /**< timed configurations of a kernel that others are predicted from */
	GW_COUNTED_MOST = 16,  /**< the same, with counted work */
	GW_LEVEL_KERNELS = 128 /**< latest kernels behind the bias of a class */
};

/** How well a launch's critical path is known, most certain first. */
enum gw_certainty {
	GW_CERTAINTY_EXACT,     /**< settled by the code */
	GW_CERTAINTY_ESTIMATED, /**< data decide it: the number of instructions is known, their path
				   is a guess */
	GW_CERTAINTY_PARTIAL,   /**< not even the number of instructions */
	GW_CERTAINTIES
};

/** What a model's time rests on; each class has its own typical error. */
enum gw_class {
	GW_CLASS_STATIC,
	GW_CLASS_SCALED = GW_CLASS_STATIC + GW_CERTAINTIES,
	GW_CLASS_COUNTED = GW_CLASS_SCALED + GW_CERTAINTIES,
	GW_CLASSES = GW_CLASS_COUNTED + GW_CERTAINTIES
};

/** Distribution of log(time / model's time) among kernels. */
struct gw_level {
	double mean, spread;
};

/** State shared by all configurations, as of one advance. */
struct gw_state {
	uint64_t known;
	struct gw_level level[GW_CLASSES];
	struct gw_coverage coverage;
	double sm_hz; /**< latest SM clock seen, NaN when not known */
};

/** A prediction as published by one advance. */
struct gw_published {
	uint64_t known;
	double seconds, low, high;
	double least;  /**< where there is no prediction: time that it takes at least, s; 0: unknown
			*/
	float center;  /**< log seconds at the reference clock; of own times only */
	float noise;   /**< its standard deviation from own times, in the logarithm */
	uint32_t size; /**< own times it rests on */
	bool there, multimodal;
	bool covers_overlap; /**< the interval covers overlapped launches */
	bool agrees;         /**< nearly all own times agree */
	float scatter;       /**< standard deviation of the logarithm of all kept times */
	uint8_t tier, work, bound;
	uint8_t kind; /**< kind of the width of own times, see coverage.h */
};

/** One amount of work that is known. */
struct gw_part {
	uint8_t field, source;
	float confidence;
	double value;
};

/** The model's time for a configuration. */
struct gw_base {
	uint64_t known;     /**< observations when the last of its inputs came */
	double log_seconds; /**< NaN: unknown */
	float share;        /**< share of it that scales with the SM clock, 0 to 1 */
	float doubt;        /**< standard deviation due to extrapolated work; 0 without any */
	float kept;         /**< the same, by code alone, due to what L2 keeps; 0: nothing */
	float unexplained;  /**< the same for what work does not contain, equal for the whole kernel
			     */
	uint8_t source, bound;
	bool unsure;       /**< some counts are of few samples, or extrapolated */
	uint8_t path;      /**< enum gw_certainty of the critical path */
	uint8_t certainty; /**< the same; EXACT where the path hardly matters */
	/**
	 * No known part of the work takes time: log_seconds is that of an empty kernel. It
	 * transfers times of the kernel's other configurations to this grid and is no prediction by
	 * itself.
	 */
	bool bare;
	/**
	 * Memory contents decide how much of the work there is, and the launch takes at least this,
	 * s; 0: they do not. Like a bare one it transfers times and is no prediction by itself.
	 */
	double least;
};

/** The class of a base that is known. */
static inline enum gw_class gw_class_of(const struct gw_base *b)
{
	enum gw_class c = b->source == GW_SOURCE_STATIC   ? GW_CLASS_STATIC
			  : b->source == GW_SOURCE_SCALED ? GW_CLASS_SCALED
							  : GW_CLASS_COUNTED;

	return (enum gw_class)(c + b->certainty);
}

/** A kernel: its resources, and its configurations that train others. */
struct gw_kernel_stats {
	uint32_t id;
	struct gw_kernel kernel;             /**< name is "" */
	uint32_t version, work_version;      /**< changes when members' times or counted work do */
	uint32_t any_work_version;           /**< changes when any work of members does */
	uint32_t timed_count, counted_count; /**< ever added; the rings hold the latest */
	uint32_t timed[GW_TIMED_MOST], counted[GW_COUNTED_MOST];
	float level[GW_CLASSES];   /**< mean of log time over model's time, of its configurations */
	float squares[GW_CLASSES]; /**< mean of its square */
	uint16_t level_count[GW_CLASSES];
	struct gw_errors repeats; /**< log ratios of successive times of a configuration */
	uint32_t repeat_count;    /**< how many were counted, at most REPEATS */
};

/** A configuration. */
struct gw_entry {
	struct gw_history history;
	struct gw_overlap overlap;
	struct gw_kernel_stats *family; /**< NULL: not configured */
	struct gw_config config;
	uint32_t next;     /**< in the list of those observed since the last advance */
	uint32_t next_new; /**< in the list of those never timed */
	bool listed, counted_listed;
	bool alone;      /**< it has run alone: its times are of such launches only */
	uint16_t levels; /**< classes whose bias it has trained, one bit each */
	float blocks, threads,
		shared; /**< logarithms: of blocks, threads of a block; see scale.c */
	float waves; /**< log of how many times the grid fills the GPU, less of it below 0; of half
			its threads where that is unknown; see scale.c */
	float own;   /**< logarithm of its own width factor */
	float reported;          /**< center when its kernel's version last changed */
	uint32_t judged, missed; /**< times since the last advance, and outside */
	float error;           /**< sum of how many times too long or too short they were, less 1 */
	float forecast;        /**< usual error of a prediction when its launch runs; 0: none yet */
	uint32_t work_version; /**< changes with its own parts */
	uint16_t part_count;
	struct gw_part *parts; /**< by field; a static row and a more certain one may coexist */
	uint64_t work_known;   /**< observations when parts better than static came */
	struct gw_base base, by_code;   /**< by_code: without any counts */
	uint32_t base_own, base_family; /**< versions that `base` is of; 0: none yet */
	uint32_t by_code_own;           /**< the same of `by_code` */
	uint32_t settled;    /**< version of its own work that its own times use; 0: none */
	float settled_share; /**< as in `base` then */
	uint8_t settled_source, settled_bound; /**< the same */
	uint32_t made_own, made_family,
		made_common;          /**< versions that `now` is of, if never timed */
	struct gw_published fresh;    /**< made on request, … */
	uint64_t fresh_for, fresh_at; /**< … from this many observations, at this publication, … */
	uint32_t fresh_own, fresh_any_work; /**< … of these versions */
	uint32_t predecessor; /**< configuration whose history it may continue; 0: none */
	uint64_t timed_known; /**< number of the first advance with a time of it; 0: none */
	struct gw_published now, before; /**< before: the one that `now` replaced */
};

struct gw_predictor {
	const struct gw_device *device;
	const struct gw_model *model; /**< model to correct; NULL: `bounds` */
	double floor;                 /**< least time of a launch, s; 0 when not known */
	double reference_hz;          /**< reference clock; NaN until one is seen */
	uint32_t max_configs;
	uint64_t observations, published; /**< published: how many the last advance had */
	uint32_t changed;                 /**< head of the list of those observed, 0 = empty */
	uint32_t new_first, new_last;     /**< list of those never timed */
	bool levels_changed;
	struct gw_errors repeats;           /**< of all kernels, the first few of each */
	uint32_t common;                    /**< changes when a bias or width did, noticeably … */
	struct gw_state noted;              /**< … since they were these */
	struct gw_state state, now, before; /**< state: that will be published next */
	struct gw_kernel_stats **families;
	uint32_t family_room, family_count;
	struct gw_index family_of; /**< by the kernel's id */
	struct gw_kernel_stats *level_ring[GW_CLASSES][GW_LEVEL_KERNELS];
	uint32_t level_count[GW_CLASSES];
	struct gw_entry **entries; /**< by configuration, NULL where there is none */
};

/** The entry of a configuration, NULL when there is none. */
struct gw_entry *gw_learner_entry(const struct gw_predictor *p, uint32_t config);

/** The published prediction of an entry that a launch with @p known may use. */
const struct gw_published *gw_published_at(const struct gw_entry *e, uint64_t known);

/** Shared state as of @p known; the initial one where that is no longer kept. */
void gw_state_at(const struct gw_predictor *p, uint64_t known, struct gw_state *out);

/** Factor of a time whose @p share scales with the clock, at @p sm_hz relative to the reference. */
double gw_clock_factor(const struct gw_predictor *p, double share, double sm_hz);

/* own_width.c */

/** Learn from a time of @p e, not yet in its history, how much its kernel's repeated times differ.
 */
void gw_own_repeat(struct gw_predictor *p, struct gw_entry *e, double seconds);

/** Learn that the last predictions of @p e missed by @p error, in log time. */
void gw_own_forecast(struct gw_entry *e, double error);

/**
 * The spread of the times of @p e summarised by @p s, in log time; of up to four times: how far
 * repeated times of its kernel differ.
 */
double gw_own_spread(const struct gw_predictor *p, const struct gw_entry *e,
		     const struct gw_history_summary *s);

/** Half the width of the interval of @p now, in log time; its kind, size and noise are set. */
double gw_own_half(const struct gw_predictor *p, const struct gw_entry *e,
		   const struct gw_published *now, bool multimodal);

/**
 * The range of times that an interval has to hold besides, where times differ and the latest say
 * too little of the next: that of the whole run. False where it is not so.
 */
bool gw_own_range(const struct gw_entry *e, const struct gw_history_summary *s, double *least,
		  double *most);

/* scale.c */

/** A configuration's place among its kernel's. */
struct gw_place gw_place_of(const struct gw_entry *e);
/** Store it. */
void gw_scale_place(const struct gw_predictor *p, struct gw_entry *e);

/** Keep @p work as the parts of @p e. */
void gw_scale_keep(struct gw_predictor *p, uint32_t config, struct gw_entry *e,
		   const struct gw_work *work);

/** The model's time of @p e from the work known after @p known observations. */
struct gw_base gw_scale_base(const struct gw_predictor *p, struct gw_entry *e, uint64_t known);

/** The model's time of @p e from static work alone. */
struct gw_base gw_scale_by_code(const struct gw_predictor *p, struct gw_entry *e);

/* base.c */

/**
 * The model's time for @p work as the work of @p e; @p b gets how that work is known. log_seconds
 * is NaN where nothing of the work is known.
 */
struct gw_base gw_base_of(const struct gw_predictor *p, const struct gw_entry *e,
			  const struct gw_work *work, struct gw_base b);

/** The same in seconds, by the model alone; NaN without an answer. */
double gw_base_seconds(const struct gw_predictor *p, const struct gw_entry *e,
		       const struct gw_work *work);

/* residual.c */

/** Initial biases. */
void gw_residual_start(struct gw_state *s);

/**
 * Predict @p e from other configurations of its kernel and the model, from the first @p known
 * observations. out->there is false when there is no prediction; out->tier is its basis.
 */
void gw_residual_predict(const struct gw_predictor *p, struct gw_entry *e, uint64_t known,
			 struct gw_published *out);

/** A configuration has times of its own, or better ones: update its kernel. */
void gw_residual_timed(struct gw_predictor *p, uint32_t config, struct gw_entry *e, double center);

/** Recompute biases of classes whose kernels changed. */
void gw_residual_levels(struct gw_predictor *p);

#endif
