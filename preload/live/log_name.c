#include "preload/live/log_name.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gw_log_expand(const char *pattern, char *out, size_t room)
{
	size_t n = 0;

	for (const char *p = pattern; *p; p++) {
		char number[32], host[256] = "";
		const char *add = number;

		snprintf(number, sizeof(number), "%c", *p);
		if (*p == '%' && p[1]) {
			const char *variable, *end;

			switch (*++p) {
			case 'h':
				gethostname(host, sizeof(host) - 1);
				add = host;
				break;
			case 'p':
				snprintf(number, sizeof(number), "%ld", (long)getpid());
				break;
			case 'r':
				add = gw_log_rank();
				add = *add ? add : "0";
				break;
			case 'q':
				variable = p + 2;
				end = p[1] == '{' ? strchr(p, '}') : NULL;
				if (!end || end - variable >= (long)sizeof(host))
					return false;
				memcpy(host, variable, (size_t)(end - variable));
				add = secure_getenv(host);
				add = add ? add : "";
				p = end;
				break;
			case '%':
				snprintf(number, sizeof(number), "%%");
				break;
			default:
				return false;
			}
		}
		if (n + strlen(add) >= room)
			return false;
		memcpy(out + n, add, strlen(add));
		n += strlen(add);
	}
	out[n] = 0;
	return n > 0;
}

const char *gw_log_rank(void)
{
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PMIX_RANK",
						"MV2_COMM_WORLD_RANK",  "SLURM_PROCID", "RANK"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = secure_getenv(variables[i]);

		if (value && *value)
			return value;
	}
	return "";
}

bool gw_log_mode(const char *text, mode_t *mode)
{
	char *end;
	unsigned long value = strtoul(text, &end, 8);

	*mode = 0600;
	if (end == text || *end || value > 0777)
		return false;
	*mode = (mode_t)(0600 | (value & 0666));
	return true;
}

/* A line of /etc/group: name:password:number:members. */
static bool group_line(const char *line, const char *name, gid_t *group)
{
	size_t length = strlen(name);
	const char *number;
	char *end;

	if (strncmp(line, name, length) != 0 || line[length] != ':')
		return false;
	number = strchr(line + length + 1, ':');
	if (!number)
		return false;
	*group = (gid_t)strtoul(number + 1, &end, 10);
	return end != number + 1;
}

/* Read here and not by getgrnam(), which would bring name services into the program. */
static bool group_named(const char *name, gid_t *group)
{
	enum { MOST = 1 << 20 };
	char line[512];
	size_t used = 0, seen = 0;
	int fd = open("/etc/group", O_RDONLY | O_CLOEXEC);
	bool found = false;

	while (fd >= 0 && !found && seen++ < MOST) {
		char c;

		if (read(fd, &c, 1) != 1)
			break;
		if (c != '\n') {
			if (used < sizeof(line) - 1)
				line[used++] = c;
			continue;
		}
		line[used] = 0;
		used = 0;
		found = group_line(line, name, group);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

bool gw_log_group(const char *text, gid_t *group)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end != text && !*end) {
		*group = (gid_t)value;
		return value < UINT32_MAX;
	}
	return group_named(text, group);
}
