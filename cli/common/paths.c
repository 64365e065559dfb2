#include "cli/common/paths.h"

#include "cli/message.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *gw_library_path(char *out, size_t size)
{
	/* GW_LIBRARY_FROM_BIN is the installed place; in the build tree it is always ../lib. */
	static const char *const places[] = {GW_LIBRARY_FROM_BIN, "../lib"};
	static char looked[2 * PATH_MAX + 64];
	char self[PATH_MAX], candidate[PATH_MAX + 128], real[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return "/proc/self/exe, which can't be read";
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/libgpuwatch.so", self, places[i]);
		if (realpath(candidate, real) && (size_t)snprintf(out, size, "%s", real) < size)
			return NULL;
	}
	snprintf(looked, sizeof(looked), "%s/%s%s%s", self, places[0],
		 strcmp(places[0], places[1]) ? " and beside it in " : "",
		 strcmp(places[0], places[1]) ? places[1] : "");
	return looked;
}

bool gw_folder_make(const char *path)
{
	struct stat st;

	if (!mkdir(path, 0777))
		return true;
	if (errno != EEXIST || stat(path, &st))
		gw_error("%s: the folder cannot be made: %s; name one where you may write", path,
			 strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		gw_error("%s: this is a file and no folder; name another", path);
	else
		return true;
	return false;
}
