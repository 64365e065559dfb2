/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/names.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"

#include <stdlib.h>
#include <string.h>

static bool same_name(const void *arg, uint32_t position)
{
	const void *const *pair = arg;
	const struct gw_log_model *m = pair[0];

	return !strcmp(m->names[position].mangled, pair[1]);
}

uint32_t log_name_of(struct gw_log_model *m, const char *mangled)
{
	const void *pair[] = {m, mangled};
	uint64_t key = gw_hash(0, mangled, strlen(mangled));
	uint32_t position = gw_index_find(&m->name_index, key, same_name, pair);

	if (position != GW_INDEX_NONE)
		return position;
	position = (uint32_t)m->name_count;
	m->names = gw_grow(m->names, &m->name_room, ++m->name_count, sizeof(*m->names));
	m->names[position] =
	        (struct gw_name){gw_copy(mangled), NULL}; /* log_names_demangle fills it in */
	gw_index_add(&m->name_index, key, position);
	return position;
}

void log_names_demangle(struct gw_log_model *m, size_t first)
{
	size_t count = m->name_count - first;
	const char **mangled = gw_alloc(count * sizeof(*mangled));
	char **plain = gw_alloc(count * sizeof(*plain));

	for (size_t i = 0; i < count; i++)
		mangled[i] = m->names[first + i].mangled;
	gw_demangle_many(mangled, plain, count);
	for (size_t i = 0; i < count; i++)
		m->names[first + i].plain = plain[i];
	free(mangled);
	free(plain);
}
