#include "cli/log/folder.h"

#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_log(const struct dirent *entry)
{
	return strstr(entry->d_name, ".gwl") != NULL;
}

static int each_of(const char *path, gw_log_file_fn *read, void *arg)
{
	struct dirent **entries;
	int count = scandir(path, &entries, is_log, alphasort), good = 0;

	if (count < 0)
		return gw_error("%s: %s%s", path, strerror(errno), gw_open_remedy(errno));
	for (int i = 0; i < count; i++) {
		size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
		char *name = gw_alloc(size);

		snprintf(name, size, "%s/%s", path, entries[i]->d_name);
		good += read(arg, name);
		free(name);
		free(entries[i]);
	}
	free(entries);
	if (!count)
		return gw_error("%s: no log in this folder (*.gwl, *.gwl.zst)", path);
	return good ? GW_EXIT_OK : GW_EXIT_USAGE;
}

int gw_log_each(const char *path, gw_log_file_fn *read, void *arg)
{
	struct stat st;

	if (strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode))
		return each_of(path, read, arg);
	return read(arg, path) ? GW_EXIT_OK : GW_EXIT_USAGE;
}
