/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export.h"

#include <math.h>

const char *const export_names[EXPORT_COLUMNS] = {
#define COLUMN(name, kind, known, value) #name,
#include "cli/export/row.def"
#undef COLUMN
};

const enum export_kind export_kinds[EXPORT_COLUMNS] = {
#define COLUMN(name, kind, known, value) EXPORT_##kind,
#include "cli/export/row.def"
#undef COLUMN
};

#define SET_COUNT(v, value) (v)->count = (value)
#define SET_TIME(v, value)  (v)->count = (value)
#define SET_REAL(v, value)  (v)->real = (value)
#define SET_TEXT(v, value)  (v)->text = (value)

void export_values(const struct export_row *r, struct export_value values[EXPORT_COLUMNS])
{
	const struct gw_record_launch *l = &r->launch;

#define COLUMN(name, kind, is_known, value)                                                        \
	values[EXPORT_##name] = (struct export_value){.known = (is_known)};                        \
	if (values[EXPORT_##name].known)                                                           \
		SET_##kind(&values[EXPORT_##name], value);
#include "cli/export/row.def"
#undef COLUMN
}
