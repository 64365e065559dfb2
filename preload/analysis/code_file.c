#include "preload/analysis/code_file.h"

#include "preload/analysis/code.h"
#include "preload/launch/module_reports.h"
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST GW_TEXT(GW_CODE_FILE_MIB) " MiB"
#define KEPT_MOST GW_TEXT(GW_MODULE_COPIES_MIB) " MiB"

enum { SEGMENTS_MAX = 64, PAGE = 4096 };

bool gw_code_file_bytes(int fd, void *to, size_t size, uint64_t offset)
{
	unsigned char *at = to;

	while (size) {
		ssize_t n = pread(fd, at, size, (off_t)offset);

		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

/* Where in its file the byte lies that is @p from_base bytes behind where the file was loaded. */
static bool offset_of(int fd, uint64_t from_base, uint64_t *offset)
{
	Elf64_Phdr p[SEGMENTS_MAX];
	uint64_t lowest = UINT64_MAX;
	Elf64_Ehdr h;

	if (!gw_code_file_bytes(fd, &h, sizeof(h), 0) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_phentsize != sizeof(*p) || h.e_phnum > SEGMENTS_MAX ||
	    !gw_code_file_bytes(fd, p, h.e_phnum * sizeof(*p), h.e_phoff))
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_vaddr < lowest)
			lowest = p[i].p_vaddr;
	/* The loader's base is the page of the lowest segment. */
	from_base += lowest & ~(uint64_t)(PAGE - 1);
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (p[i].p_type != PT_LOAD || from_base < p[i].p_vaddr ||
		    from_base - p[i].p_vaddr >= p[i].p_filesz)
			continue;
		*offset = p[i].p_offset + (from_base - p[i].p_vaddr);
		return true;
	}
	return false;
}

static const char *read_at(int fd, uint64_t offset, uint64_t size, struct gw_arena *arena,
			   struct gw_bytes *out)
{
	void *to;

	if (size > GW_CODE_FILE_MAX)
		return "its container or file is larger than " FILE_MOST;
	to = gw_arena_array(arena, (size_t)size, 1);
	if (!to)
		return "there is no memory left for it";
	if (!gw_code_file_bytes(fd, to, (size_t)size, offset))
		return "its file could not be read";
	*out = (struct gw_bytes){to, (size_t)size};
	return NULL;
}

static const char *read_open(int fd, const struct gw_module_note *note, struct gw_arena *arena,
			     struct gw_bytes *out)
{
	uint64_t offset;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return "its file is not a regular one";
	if (note->stamp && gw_file_stamp(&st) != note->stamp)
		return "its file has changed since it was loaded";
	if (!note->bytes)
		return read_at(fd, 0, (uint64_t)st.st_size, arena, out);
	if (!offset_of(fd, note->from_base, &offset))
		return "its place in the file could not be found";
	return read_at(fd, offset, note->bytes, arena, out);
}

int gw_code_file_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static const char *read_file(const struct gw_module_note *note, struct gw_arena *arena,
			     struct gw_bytes *out)
{
	const char *why;
	int fd;

	if (!*note->path && !note->bytes)
		return "its module is in no format that is known here";
	if (!*note->path)
		return note->bytes > GW_CODE_FILE_MAX
			       ? "its module is larger than " FILE_MOST " and lies in no file"
			       : KEPT_MOST " of modules that lie in no file were kept already";
	fd = gw_code_file_open(note->path);
	if (fd < 0)
		return "its file could not be opened";
	why = read_open(fd, note, arena, out);
	close(fd);
	return why;
}

struct reading {
	const struct gw_module_note *note;
	struct gw_arena *arena;
	struct gw_bytes *out;
	const char *why;
};

static void read_apart(void *arg)
{
	struct reading *r = arg;

	r->why = read_file(r->note, r->arena, r->out);
}

const char *gw_code_file_read(const struct gw_module_note *note, struct gw_arena *arena,
			      struct gw_bytes *out)
{
	struct reading r = {note, arena, out, NULL};

	if (!gw_sandbox_enter())
		return "the program is in a sandbox, where no file is opened";
	gw_apart(read_apart, &r);
	gw_sandbox_leave();
	return r.why;
}
