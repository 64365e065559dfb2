/*
 * One interface for every model, so that all can answer for the same launch on
 * the same work. A model is a pure function: no state, no I/O, no allocation.
 */
#ifndef GW_MODEL_H
#define GW_MODEL_H

#include "predictor/core/device.h"
#include "predictor/core/types.h"

enum {
	GW_TERMS_MAX = 40,    /**< most terms an estimate can show */
	GW_WARNINGS_MAX = 24, /**< most warnings an estimate can carry */
};

/** One step of a model's reasoning, shown to the user. */
struct gw_term {
	const char *name; /**< the paper's symbol or a plain word; static string */
	double value;     /**< NaN when it could not be computed */
	const char *unit; /**< static string */
	bool resource;    /**< true for a time that competes to bind the launch (unit s) */
};

/** A model's answer for a launch. */
struct gw_estimate {
	double seconds;   /**< GPU time; NaN without an answer */
	char reason[120]; /**< why seconds is NaN; empty otherwise */
	enum gw_bound bound;
	const char *binding; /**< name of the resource that binds; NULL when unknown */
	unsigned term_count;
	struct gw_term terms[GW_TERMS_MAX];
	unsigned warning_count;
	const char *warnings[GW_WARNINGS_MAX]; /**< static strings */
};

/** Options that a paper offers its user; zero-initialised means none. */
struct gw_model_options {
	unsigned qrm_factors; /**< fig. 5.10 of Konstantinidis 2017: 0 both, 1 E_mix only, 2 none */
	bool qrm_int_as_add;  /**< 5.2.6 of Konstantinidis 2017: an integer instruction costs an
				 addition */
	bool qrm_utilisation; /**< apply E_util (5.13), which must then be given in qrm_e_util */
	double qrm_e_util;    /**< E_util: measured over predicted time on the reference GPU */
	double utilisation;   /**< of the best used resource, 0 to 1, for a warning; 0: not given */
	double given_ops; /**< user-given operations (Konstantinidis 2017, 6.2); 0 = not given */
	double given_ops_rate; /**< peak of the given operations, op/s (6.2); 0: not given */
	double given_ops_inst; /**< thread instructions that execute them; 0: one each */
	double given_traffic; /**< user-given DRAM bytes (Konstantinidis 2017, 7.2.1); 0 = not given
			       */
	/**
	 * User-given shares of all accesses that hit L1 and L2 (Kleimenov and Popova 2021: l1pct,
	 * l2pct), 0 to 1, given together or one alone; a negative one is not given, nor are both
	 * when both are 0.
	 */
	double l1_hit, l2_hit;
};

/** A model: its name in commands, where it comes from, and what it computes. */
struct gw_model {
	const char *name;   /**< as in --model */
	const char *source; /**< the document it is from */
	const char *summary;
	/**
	 * Estimate a launch. @p options may be NULL. Always fills @p out; a model without an answer
	 * leaves seconds NaN and gives the reason.
	 */
	void (*estimate)(const struct gw_device *device, const struct gw_launch *launch,
			 const struct gw_work *work, const struct gw_model_options *options,
			 struct gw_estimate *out);
};

/** Helpers for models. */
void gw_estimate_clear(struct gw_estimate *e);
void gw_estimate_term(struct gw_estimate *e, const char *name, double value, const char *unit);
void gw_estimate_resource(struct gw_estimate *e, const char *name, double seconds);
void gw_estimate_warn(struct gw_estimate *e, const char *warning);
/** Give up: seconds becomes NaN, and @p missing (a field or parameter name) the reason. */
void gw_estimate_missing(struct gw_estimate *e, const char *missing);

#endif
