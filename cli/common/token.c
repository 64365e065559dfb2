#include "cli/common/token.h"

#include "cli/common/memory.h"
#include "cli/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

char *gw_token_read(const char *command, const char *path)
{
	char line[1024] = "";
	FILE *in = fopen(path, "re");

	if (!in) {
		gw_error("%s: --token-file=%s: %s%s", command, path, strerror(errno),
			 gw_open_remedy(errno));
		return NULL;
	}
	if (!fgets(line, sizeof(line), in))
		*line = 0;
	fclose(in);
	line[strcspn(line, "\r\n")] = 0;
	if (*line)
		return gw_copy(line);
	gw_error("%s: --token-file=%s: its first line is empty; it must hold the token", command,
		 path);
	return NULL;
}
