/* Which build of a program runs: what it is deployed as, else the GNU build id of its file. */
#include "cli/agent/store/work.h"

#include "cli/common/target.h"

#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT_MOST = 1 << 17 };

static const char variable[] = "OTEL_RESOURCE_ATTRIBUTES=", version[] = "service.version=";

void agent_build_version(const char *text, char *out)
{
	*out = 0;
	for (size_t length; *text; text += length + (text[length] == ',')) {
		const size_t name = sizeof(version) - 1;

		while (*text == ' ')
			text++;
		length = strcspn(text, ",");
		if (length > name && !strncmp(text, version, name))
			snprintf(out, OWNER_TEXT, "%.*s", (int)(length - name), text + name);
	}
}

static void from_environment(const char *path, char *out)
{
	static char text[ENVIRONMENT_MOST + 1];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		return;
	while (size < ENVIRONMENT_MOST && (n = read(fd, text + size, ENVIRONMENT_MOST - size)) > 0)
		size += (size_t)n;
	text[size] = 0;
	close(fd);
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		if (!strncmp(text + at, variable, sizeof(variable) - 1))
			agent_build_version(text + at + sizeof(variable) - 1, out);
}

static void from_file(const char *path, char *out)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct Elf *elf = fd < 0 ? NULL : gw_target_elf(fd);

	if (elf)
		gw_target_build_id(elf, out, OWNER_TEXT);
	elf_end(elf);
	if (fd >= 0)
		close(fd);
}

void agent_build_of(const char *proc, uint32_t pid, char *out)
{
	char path[4200];

	*out = 0;
	snprintf(path, sizeof(path), "%s/%u/environ", proc, pid);
	from_environment(path, out);
	snprintf(path, sizeof(path), "%s/%u/exe", proc, pid);
	if (!*out)
		from_file(path, out);
}
