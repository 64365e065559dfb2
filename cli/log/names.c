#include "cli/log/names.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"

#include <stdlib.h>

void log_names_demangle(struct gw_name *names, size_t count)
{
	const char **mangled = gw_alloc(count * sizeof(*mangled));
	char **plain = gw_alloc(count * sizeof(*plain));

	for (size_t i = 0; i < count; i++)
		mangled[i] = names[i].mangled;
	gw_demangle_many(mangled, plain, count);
	for (size_t i = 0; i < count; i++)
		names[i].plain = plain[i];
	free(mangled);
	free(plain);
}

void log_names_free(struct gw_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(names[i].mangled);
		free(names[i].plain);
	}
	free(names);
}
