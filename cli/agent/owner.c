#include "cli/agent/owner.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CGROUP_MOST = 1 << 14, ENVIRONMENT_MOST = 1 << 17 };

static void put(char *to, const char *from, size_t length)
{
	length = length < OWNER_TEXT - 1 ? length : OWNER_TEXT - 1;
	memcpy(to, from, length);
	to[length] = 0;
}

/* ---- control groups ---- */

/* Digits of a UID, with "-" or, as systemd has it, "_" between its parts. */
static size_t uid_at(const char *s)
{
	static const size_t parts[] = {8, 4, 4, 4, 12};
	size_t at = 0;

	for (size_t p = 0; p < 5; p++) {
		if (p && s[at] != '-' && s[at] != '_')
			return 0;
		at += p ? 1 : 0;
		for (size_t i = 0; i < parts[p]; i++, at++)
			if (!isxdigit((unsigned char)s[at]))
				return 0;
	}
	return at;
}

static void find_pod(const char *line, char *out)
{
	for (const char *s = line; (s = strstr(s, "pod")); s += 3) {
		size_t length = uid_at(s + 3);

		if (!length)
			continue;
		put(out, s + 3, length);
		for (char *c = out; *c; c++)
			if (*c == '_')
				*c = '-';
		return;
	}
}

/* An id is 64 hexadecimal digits; runtimes put them behind their own name. */
static void find_container(const char *line, char *out)
{
	size_t run = 0;

	for (const char *s = line; *s; s++) {
		run = isxdigit((unsigned char)*s) ? run + 1 : 0;
		if (run == 64 && !isxdigit((unsigned char)s[1]))
			put(out, s - 63, 12);
	}
}

void agent_owner_cgroup(const char *text, struct agent_owner *out)
{
	find_pod(text, out->pod_uid);
	find_container(text, out->container_id);
}

/* ---- environments ---- */

static const char *variable(const char *text, size_t size, const char *name, size_t length,
			    size_t *found)
{
	for (size_t at = 0; at < size;) {
		const size_t left = strnlen(text + at, size - at);

		if (left > length && !strncmp(text + at, name, length) &&
		    text[at + length] == '=') {
			*found = left - length - 1;
			return text + at + length + 1;
		}
		at += left + 1;
	}
	return NULL;
}

static void find_variable(const char *text, size_t size, const char *names, char *out)
{
	while (*names && !*out) {
		const size_t length = strcspn(names, "|");
		size_t found;
		const char *value = variable(text, size, names, length, &found);

		/* What torchrun has where no id was given. */
		if (value && !(found == 4 && !memcmp(value, "none", 4)))
			put(out, value, found);
		names += length + (names[length] == '|');
	}
}

void agent_owner_environment(const char *text, size_t size, struct agent_owner *out)
{
#define OWNER(label, variables, meaning) find_variable(text, size, variables, out->label);
#include "cli/agent/owner.def"
#undef OWNER
}

/* ---- a process ---- */

static size_t read_file(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while (got < room && (n = read(fd, text + got, room - got)) > 0)
		got += (size_t)n;
	close(fd);
	return got;
}

bool agent_owner_runs(const char *proc, uint32_t pid, uint64_t start)
{
	char path[4200], text[1024], *at;
	size_t size;

	if (!start)
		return true;
	snprintf(path, sizeof(path), "%s/%u/stat", proc, pid);
	size = read_file(path, text, sizeof(text) - 1);
	text[size] = 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at && strtoull(at, NULL, 10) == start;
}

void agent_owner_look(const char *proc, uint32_t pid, struct agent_owner *out)
{
	char path[4200], text[CGROUP_MOST + 1];
	size_t size;

	snprintf(path, sizeof(path), "%s/%u/cgroup", proc, pid);
	size = read_file(path, text, CGROUP_MOST);
	text[size] = 0;
	if (!size)
		return;
	memset(out->pod_uid, 0, sizeof(out->pod_uid));
	memset(out->container_id, 0, sizeof(out->container_id));
	agent_owner_cgroup(text, out);
}

void agent_owner_of(const char *proc, uint32_t pid, const char *exe, struct agent_owner *out)
{
	static char text[ENVIRONMENT_MOST];
	const char *base = strrchr(exe, '/');
	char path[4200];
	size_t size;

	memset(out, 0, sizeof(*out));
	base = base ? base + 1 : exe;
	put(out->program, base, strlen(base));
	agent_owner_look(proc, pid, out);
	snprintf(path, sizeof(path), "%s/%u/environ", proc, pid);
	size = read_file(path, text, sizeof(text));
	agent_owner_environment(text, size, out);
}
