#include "predictor/code/binary/image.h"

#include "predictor/code/binary/elf.h"
#include "predictor/code/binary/image_parts.h"
#include "predictor/code/binary/kernel.h"

#include <ctype.h>
#include <stdio.h>

enum {
	PTX_HEAD = 4096,
	DIGEST_DIGITS = 40, /* of the hexadecimal SHA-1 in front of each cubin in CuPy's cache */
};

bool gw_scan_fault(const struct gw_image_scan *scan, const char *what, const uint8_t *at)
{
	*scan->fault = (struct gw_fault){what, at ? (uint64_t)(at - scan->file.data) : 0};
	return false;
}

static bool grow(struct gw_image_scan *scan)
{
	struct gw_images *list = scan->out;
	size_t room = list->room ? list->room * 2 : 8;
	struct gw_image *larger = gw_arena_array(scan->arena, room, sizeof(*larger));

	if (!larger)
		return false;
	if (list->count)
		memcpy(larger, list->image, list->count * sizeof(*larger));
	list->image = larger;
	list->room = room;
	return true;
}

bool gw_scan_add(struct gw_image_scan *scan, struct gw_image image)
{
	struct gw_images *list = scan->out;

	image.offset = image.stored.size ? (uint64_t)(image.stored.data - scan->file.data) : 0;
	image.container = list->containers;
	image.member = scan->member;
	image.section = scan->section;
	if (list->count == list->room && !grow(scan))
		return gw_scan_fault(scan, "more images than the memory allowed can list",
				     image.stored.data);
	list->image[list->count++] = image;
	return true;
}

bool gw_scan_cubin(struct gw_image_scan *scan, struct gw_bytes part)
{
	struct gw_image image = {
		.kind = GW_IMAGE_CUBIN,
		.arch = gw_cubin_arch(part),
		.stored = part,
		.size = part.size,
	};

	if (!gw_scan_add(scan, image))
		return false;
	scan->out->containers++;
	return true;
}

/* The number behind the directive @p word in the first lines of PTX; NULL when there is none. */
static const char *directive(const char *head, const char *word)
{
	const char *at = strstr(head, word);

	if (!at)
		return NULL;
	at += strlen(word);
	return at + strspn(at, " \t");
}

static bool scan_ptx(struct gw_image_scan *scan, struct gw_bytes part)
{
	struct gw_image image = {.kind = GW_IMAGE_PTX, .stored = part, .size = part.size};
	size_t length = part.size < PTX_HEAD ? part.size : PTX_HEAD;
	char head[PTX_HEAD + 1];
	const char *version, *target;
	unsigned major = 0, minor = 0, arch = 0;
	char suffix = 0;

	memcpy(head, part.data, length);
	head[length] = 0;
	version = directive(head, ".version");
	target = directive(head, ".target");
	if (!version || sscanf(version, "%3u.%3u", &major, &minor) != 2)
		return gw_scan_fault(scan,
				     "neither a fatbin, a cubin, PTX, an ELF file nor an archive",
				     part.data);
	if (target && sscanf(target, "sm_%4u%c", &arch, &suffix) >= 1)
		image.arch = (struct gw_code_arch){
			(uint16_t)arch, suffix == 'a' || suffix == 'f' ? suffix : (char)0};
	image.version_major = (uint16_t)major;
	image.version_minor = (uint16_t)minor;
	if (!gw_scan_add(scan, image))
		return false;
	scan->out->containers++;
	return true;
}

/* Libraries may have a place to begin at, too; what names a loader is a program. */
static bool names_loader(struct gw_bytes part, const Elf64_Ehdr *h)
{
	Elf64_Phdr p;

	for (unsigned i = 0; i < h->e_phnum; i++)
		if (gw_bytes_get(part, h->e_phoff + (uint64_t)i * sizeof(p), &p, sizeof(p)) &&
		    p.p_type == PT_INTERP)
			return true;
	return false;
}

/* What an ELF file is, by its header; NULL when it has none. */
static const char *elf_form(struct gw_bytes part)
{
	Elf64_Ehdr h;

	if (!gw_bytes_get(part, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return NULL;
	if (h.e_machine == EM_CUDA)
		return "cubin";
	if (h.e_type == ET_REL)
		return "host object";
	return h.e_type == ET_EXEC || names_loader(part, &h) ? "executable" : "shared library";
}

/* Whether it is an entry of CuPy's cache; then what follows the digest. */
static bool behind_digest(struct gw_bytes file, struct gw_bytes *rest)
{
	const char *form;

	if (file.size < DIGEST_DIGITS)
		return false;
	for (size_t i = 0; i < DIGEST_DIGITS; i++)
		if (!isxdigit(file.data[i]))
			return false;
	gw_bytes_slice(file, DIGEST_DIGITS, file.size - DIGEST_DIGITS, rest);
	form = elf_form(*rest);
	return form && strcmp(form, "cubin") == 0;
}

bool gw_images_open(struct gw_bytes file, struct gw_arena *arena, struct gw_images *out,
		    struct gw_fault *fault)
{
	struct gw_image_scan scan = {.file = file, .arena = arena, .out = out, .fault = fault};
	const char *elf = elf_form(file);
	struct gw_bytes rest;

	*out = (struct gw_images){.form = elf ? elf : "PTX"};
	*fault = (struct gw_fault){0};
	if (!file.size)
		return gw_scan_fault(&scan, "it is empty", NULL);
	if (gw_is_fatbin(file)) {
		out->form = "fatbin";
		return gw_scan_fatbins(&scan, file);
	}
	if (gw_is_archive(file)) {
		out->form = "archive";
		return gw_scan_archive(&scan, file);
	}
	if (behind_digest(file, &rest)) {
		out->form = "CuPy's cached cubin";
		return gw_scan_cubin(&scan, rest);
	}
	if (elf && strcmp(elf, "cubin") == 0)
		return gw_scan_cubin(&scan, file);
	return elf ? gw_scan_host(&scan, file) : scan_ptx(&scan, file);
}

bool gw_image_bytes(const struct gw_image *image, struct gw_arena *arena, struct gw_bytes *out,
		    struct gw_fault *fault)
{
	const char *wrong = gw_unpack(image->compression, image->stored, image->size, arena, out);

	if (wrong) {
		*fault = (struct gw_fault){wrong, image->offset};
		return false;
	}
	if (image->kind == GW_IMAGE_PTX)
		while (out->size && !out->data[out->size - 1])
			out->size--;
	return true;
}

/* Whether code for @p arch runs on a device of compute capability @p device (10 * major + minor):
 * as it is, or, when it is PTX (@p ptx), after compiling. */
static bool runs_on(struct gw_code_arch arch, bool ptx, unsigned device)
{
	if (!arch.number || arch.number > device)
		return false;
	if (arch.suffix == 'a')
		return arch.number == device;
	/* Machine code, and what is for a family, stays within a major version. */
	return (ptx && !arch.suffix) || arch.number / 10 == device / 10;
}

/* How close code is to a device that it runs on: machine code first, then by number, then the
 * more special. */
static unsigned closeness(const struct gw_image *image)
{
	unsigned special = image->arch.suffix == 'a' ? 2 : image->arch.suffix == 'f';

	return (image->kind == GW_IMAGE_CUBIN ? 1u << 24 : 0) | (unsigned)image->arch.number << 4 |
	       special;
}

size_t gw_images_together(const struct gw_images *images, size_t first)
{
	size_t end = first;

	while (end < images->count &&
	       images->image[end].container == images->image[first].container)
		end++;
	return end - first;
}

const struct gw_image *gw_image_choose(const struct gw_image *image, size_t count, unsigned device)
{
	const struct gw_image *best = NULL;

	for (size_t i = 0; i < count; i++) {
		if (image[i].kind == GW_IMAGE_OTHER ||
		    !runs_on(image[i].arch, image[i].kind == GW_IMAGE_PTX, device))
			continue;
		if (!best || closeness(&image[i]) > closeness(best))
			best = &image[i];
	}
	return best;
}

const char *gw_code_arch_text(struct gw_code_arch arch, bool ptx, char out[24])
{
	const char *word = ptx ? "compute" : "sm";

	if (!arch.number)
		snprintf(out, 24, "%s_?", word);
	else
		snprintf(out, 24, "%s_%u%.1s", word, arch.number, &arch.suffix);
	return out;
}
