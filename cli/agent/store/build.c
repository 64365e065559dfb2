/* SPDX-License-Identifier: Apache-2.0 */
/* Which build of a program runs: what it is deployed as, else the GNU build id of its file. */
#include "cli/agent/store/work.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRONMENT_MOST = 1 << 17, NOTES_MOST = 1 << 14, HEADERS = 64 };

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

static size_t read_at(int fd, void *to, size_t size, uint64_t at)
{
	size_t got = 0;
	ssize_t n;

	while (got < size && (n = pread(fd, (char *)to + got, size - got, (off_t)(at + got))) > 0)
		got += (size_t)n;
	return got;
}

static void from_environment(const char *path, char *out)
{
	static char text[ENVIRONMENT_MOST + 1];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;

	if (fd < 0)
		return;
	size = read_at(fd, text, ENVIRONMENT_MOST, 0);
	text[size] = 0;
	close(fd);
	for (size_t at = 0; at < size; at += strlen(text + at) + 1)
		if (!strncmp(text + at, variable, sizeof(variable) - 1))
			agent_build_version(text + at + sizeof(variable) - 1, out);
}

/* The note of a segment of notes, of any length and content. */
static void from_notes(const unsigned char *notes, size_t size, char *out)
{
	Elf64_Nhdr n;

	for (size_t at = 0; at + sizeof(n) <= size;) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_namesz > size - at)
			return;
		const size_t name = at;

		at += (n.n_namesz + 3u) & ~3u;
		if (at > size || n.n_descsz > size - at)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4)) {
			for (size_t i = 0; i < n.n_descsz && 2 * i + 2 < OWNER_TEXT; i++)
				sprintf(out + 2 * i, "%02x", notes[at + i]);
			return;
		}
		at += (n.n_descsz + 3u) & ~3u;
	}
}

static void from_file(const char *path, char *out)
{
	unsigned char notes[NOTES_MOST];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Phdr p[HEADERS];
	Elf64_Ehdr e;

	if (fd < 0)
		return;
	if (read_at(fd, &e, sizeof(e), 0) == sizeof(e) && !memcmp(e.e_ident, ELFMAG, SELFMAG) &&
	    e.e_ident[EI_CLASS] == ELFCLASS64 && e.e_phentsize == sizeof(*p)) {
		const size_t count = e.e_phnum < HEADERS ? e.e_phnum : HEADERS;
		const size_t got = read_at(fd, p, count * sizeof(*p), e.e_phoff) / sizeof(*p);

		for (size_t i = 0; i < got && !*out; i++)
			if (p[i].p_type == PT_NOTE && p[i].p_filesz <= sizeof(notes))
				from_notes(notes, read_at(fd, notes, p[i].p_filesz, p[i].p_offset),
				           out);
	}
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
