/* What processes that were killed have left. */
#include "cli/doctor/doctor.h"
#include "cli/live/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

void gw_doctor_segments(struct gw_doctor *d)
{
	char folder[4200], path[8400], why[256];
	unsigned left = 0;
	size_t bytes = 0;
	struct dirent *e;
	DIR *list;

	gw_live_folder(folder, sizeof(folder));
	list = opendir(folder);
	while (list && (e = readdir(list))) {
		const char *end = strrchr(e->d_name, '.');
		struct gw_live_file f;

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (!end || strcmp(end, ".gwlive") || !gw_live_open(&f, path, why, sizeof(why)))
			continue;
		if (!gw_live_owned(&f)) {
			left++;
			bytes += f.size;
		}
		gw_live_close(&f);
	}
	if (list)
		closedir(list);
	if (left)
		gw_doctor_say(
			d, "segments", GW_HEALTH_DEGRADED,
			"gpuwatch recover --all makes logs of them and removes them",
			"%u live segments, %zu MiB at most, of processes that were killed, in %s",
			left, bytes >> 20, folder);
}
