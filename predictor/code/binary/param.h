/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of a kernel's parameters, from the cubin, the PTX or the driver. */
#ifndef GW_CODE_PARAM_H
#define GW_CODE_PARAM_H

#include <stdint.h>

/** A parameter; parameters stand in the order of their declaration. */
struct gw_code_param {
	uint32_t offset; /**< bytes from the first parameter's begin */
	uint32_t size;   /**< bytes */
};

#endif
