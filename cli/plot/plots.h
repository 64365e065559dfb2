/*
 * The pictures of Konstantinidis 2017 for any kernels and devices. Rates are operations or bytes
 * per second; what is not known is NaN and is left out of the picture.
 */
#ifndef GW_PLOTS_H
#define GW_PLOTS_H

#include "cli/plot/svg.h"

/** The type of a kernel's beneficial operations (Konstantinidis 2017: K_type). */
enum plot_type { PLOT_FP32, PLOT_FP64, PLOT_INT, PLOT_TYPES };

/** A GPU. */
struct plot_device {
	const char *name;
	double bandwidth;        /**< B_mem, B/s */
	double peak[PLOT_TYPES]; /**< T_SP, T_DP, T_int, op/s */
	double spec_bandwidth;   /**< by the data sheet, B/s */
	double spec_peak;        /**< fp32 by lanes and clock, op/s */
};

/** A kernel. */
struct plot_kernel {
	const char *name;
	enum plot_type type;
	double intensity;                /**< O_krn, op/B */
	double ops, loads_stores, other; /**< D_ops, D_ldst, D_other, 0 to 1 */
};

/** A kernel on a device, by the quantitative roofline. */
struct plot_cell {
	double peak;      /**< T_op, op/s */
	double mixed;     /**< E_mix T_op, op/s */
	double adjusted;  /**< T'_op = E_mix E_instr T_op, op/s */
	double predicted; /**< T_predicted, op/s */
	double measured;  /**< operations over measured time, op/s */
};

/** What there is to draw; cells are [kernel * device_count + device]. */
struct plot_data {
	size_t kernel_count, device_count;
	const struct plot_kernel *kernels;
	const struct plot_device *devices;
	const struct plot_cell *cells;
};

/** One bar of the chart of errors. */
struct plot_bar {
	size_t group, series; /**< which group (kernel) and which colour (device) */
	double error;         /**< (predicted - measured) / measured */
};

/** Groups of bars: fig. 5.10 to 5.12. */
struct plot_bars {
	const char *title, *description;
	size_t group_count, series_count, bar_count;
	const char *const *groups;
	const char *const *series;
	const struct plot_bar *bars;
};

/** The coalescing graph of a kernel (Kim 2023, fig. 4.4). */
struct plot_coalescing {
	const char *kernel;
	double lanes[32]; /**< mean lanes of a request by element of the coalescing range */
	double outside;   /**< mean lanes outside of it */
	unsigned bytes;   /**< of an element; 0: of several widths */
	double degree, expectation, sectors; /**< Kim's measures, and sectors per request, exact */
};

/** The locality graph of blocks as its matrix (Kim 2023, 2.1). */
struct plot_sharing {
	const char *kernel;
	size_t blocks;
	const double *shared;     /**< [a * blocks + b]: sectors that both touch */
	const char *const *names; /**< of the blocks, "(3, 0, 0)" */
	double sp_score, degree_of_sharing;
};

/** Kim 2023, figs. 4.4 and 4.5. */
struct svg *plot_coalescing(const struct plot_coalescing *data);
/** Kim 2023, 2.1: the matrix, a square's side by the share of the row's block that is shared. */
struct svg *plot_sharing(const struct plot_sharing *data);

/** Fig. 5.9: the roofs of device @p device and every kernel at its intensity. */
struct svg *plot_roofline(const struct plot_data *data, size_t device);
/** Fig. 3.5: devices as points, kernels as half-lines. */
struct svg *plot_quadrant(const struct plot_data *data);
/** Figs. 4.4, 4.6, 5.4: kernel @p kernel, and on each device its two degradations and what follows.
 */
struct svg *plot_degradation(const struct plot_data *data, size_t kernel);
/** Figs. 4.3, 4.5: densities of instructions. */
struct svg *plot_densities(const struct plot_data *data);
/** Figs. 5.10 to 5.12. */
struct svg *plot_errors(const struct plot_bars *bars);

#endif
