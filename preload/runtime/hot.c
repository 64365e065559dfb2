/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/runtime/hot.h"

struct gw_hot gw_hot;
