/*
 * The attributes of .nv.info sections: a row of items, each of a format, an attribute and either
 * a small value or a length and that many bytes.
 */
#ifndef GW_CODE_INFO_H
#define GW_CODE_INFO_H

#include "predictor/code/binary/bytes.h"

/** Attributes that are read here; nvdisasm calls them EIATTR_…. */
enum gw_info_attribute {
	GW_INFO_MAX_THREADS = 0x05, /**< three dimensions */
	GW_INFO_PARAM_CBANK = 0x0a, /**< symbol; offset and size of the parameters, 16 bits each */
	GW_INFO_REQNTID = 0x10,     /**< three dimensions */
	GW_INFO_FRAME_SIZE = 0x11,  /**< symbol, bytes */
	GW_INFO_MIN_STACK_SIZE = 0x12,   /**< symbol, bytes */
	GW_INFO_KPARAM_INFO = 0x17,      /**< index, ordinal and offset, size and more */
	GW_INFO_CBANK_PARAM_SIZE = 0x19, /**< bytes, in the value */
	GW_INFO_MAXREG_COUNT = 0x1b,     /**< in the value */
	GW_INFO_EXIT_OFFSETS = 0x1c,     /**< bytes into the code, as many as there are */
	GW_INFO_CRS_STACK_SIZE = 0x1e,   /**< bytes */
	GW_INFO_REGCOUNT = 0x2f,         /**< symbol, registers */
	GW_INFO_CTA_PER_CLUSTER = 0x3d,  /**< three dimensions */
	GW_INFO_KPARAM_INFO_V2 = 0x45,   /**< like KPARAM_INFO, for large parameters */
	GW_INFO_NUM_BARRIERS = 0x4c,     /**< in the value */
};

/** An item. */
struct gw_info_item {
	uint8_t attribute;
	uint16_t value;          /**< of the small formats */
	struct gw_bytes payload; /**< of the long format */
};

/** Take the next item off @p info; false at its end or where it is cut off. */
bool gw_info_next(struct gw_bytes *info, struct gw_info_item *item);

/** Whether a .nv.compat section says that the code is for one processor only (suffix a). */
bool gw_info_accelerated(struct gw_bytes compat);

#endif
