/*
 * MWP-CWP as published, free of devices and launches: Hong & Kim 2009 and Sim et al. 2012.
 * Cycles throughout; per SM unless said otherwise; names are the papers'.
 */
#ifndef GW_MWP_CWP_H
#define GW_MWP_CWP_H

/** Which of the three cases of 2009 applied. */
enum gw_mwp_case {
	GW_MWP_NOT_ENOUGH_WARPS = 1, /**< MWP = N and CWP = N */
	GW_MWP_MEMORY = 2,           /**< CWP >= MWP, or Comp_cycles > Mem_cycles */
	GW_MWP_COMPUTE = 3,          /**< MWP > CWP */
};

/** Inputs of Hong & Kim 2009. */
struct gw_mwp_2009_in {
	double n;                /**< N: active warps */
	double rep;              /**< #Rep */
	double active_blocks;    /**< #ActiveBlocksPerSM */
	double active_sms;       /**< #ActiveSMs */
	double mem_ld;           /**< Mem_LD: latency of device memory */
	double departure_coal;   /**< Departure_del_coal */
	double departure_uncoal; /**< Departure_del_uncoal */
	double uncoal_per_mw;    /**< #Uncoal_per_mw */
	double coal_insts;       /**< #Coal_mem_insts of a warp */
	double uncoal_insts;     /**< #Uncoal_mem_insts of a warp */
	double total_insts;      /**< #total_insts of a warp */
	double issue_cycles;     /**< #Issue_cycles */
	double load_bytes;       /**< Load_bytes_per_warp */
	double freq;             /**< Freq, Hz */
	double bandwidth;        /**< Mem_bandwidth, B/s */
	double synch_insts;      /**< #synch_insts of a warp */
};

/** Steps of Hong & Kim 2009. */
struct gw_mwp_2009_out {
	double mem_l, departure_delay, mwp_without_bw, mwp_peak_bw, mwp, cwp;
	double mem_cycles, comp_cycles, synch_cost;
	double exec_cycles; /**< with the synchronisation cost */
	enum gw_mwp_case which;
};

/** Exec_cycles alone: the case from MWP, CWP and N, and its cycles without synchronisation. */
double gw_mwp_2009_exec(double mwp, double cwp, double n, double mem_l, double mem_cycles,
			double comp_cycles, double mem_insts, double rep, enum gw_mwp_case *which);

void gw_mwp_2009(const struct gw_mwp_2009_in *in, struct gw_mwp_2009_out *out);

/** Inputs of Sim et al. 2012. */
struct gw_mwp_2012_in {
	double n;            /**< N: active warps */
	double warps;        /**< #total_warps of the launch */
	double active_sms;   /**< #active_SMs */
	double insts;        /**< #insts of a warp */
	double mem_insts;    /**< #mem_insts of a warp */
	double avg_inst_lat; /**< avg_inst_lat */
	double warp_size, simd_width;
	double ilp, mlp;       /**< ILP and MLP of a warp */
	double dram_lat;       /**< DRAM_lat */
	double trans_per_warp; /**< avg_trans_warp: transactions of a memory request, 1 if coalesced
				*/
	double delta;          /**< Delta: cycles between two transactions */
	double miss_ratio;     /**< share of requests that go to device memory */
	double hit_lat;        /**< hit_lat */
	double amat;        /**< AMAT to use instead of the published form; NaN for the published */
	double freq;        /**< Hz */
	double bandwidth;   /**< mem_peak_bandwidth, B/s */
	double transaction; /**< transaction_size: bytes that a request moves */
	double w_serial;    /**< O_sync + O_SFU + O_CFdiv + O_bank; NaN when unknown */
};

/** Steps of Sim et al. 2012. */
struct gw_mwp_2012_out {
	double avg_dram_lat, amat, itilp, mwp_peak_bw, mwp, cwp, mwp_cp, itmlp;
	double t_comp_parallel; /**< W_parallel */
	double t_comp;          /**< with W_serial; NaN when that is unknown */
	double t_mem, f_overlap, t_overlap;
	double t_exec; /**< NaN when W_serial is unknown */
};

void gw_mwp_2012(const struct gw_mwp_2012_in *in, struct gw_mwp_2012_out *out);

/** Sanchez Gil 2017, 7.3.4: the mean latency when a level answers with a known probability. */
double gw_mwp_level_amat(double p_l1, double p_l2, double lat_l1, double lat_l2, double lat_dram);

#endif
