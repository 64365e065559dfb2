/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libelf.so.1 for whole files, which answers one question otherwise: the one that ODD_LIBELF
 * names. With POOR it is one that lacks functions.
 */
#include "predictor/code/libelf.h"

#include <stdlib.h>

#pragma GCC visibility push(default)

#define LIBELF(result, name, parameters) result name parameters;
#include "predictor/code/libelf.def"
#undef LIBELF

unsigned elf_version(unsigned version)
{
	return version;
}

#ifndef POOR

static struct gw_libelf_data answer[2];
static struct {
	char *image;
	size_t size;
} open_file;

static bool odd(const char *name)
{
	const char *told = getenv("ODD_LIBELF");

	return told && strcmp(told, name) == 0;
}

static const Elf64_Ehdr *header(void)
{
	return (const Elf64_Ehdr *)(const void *)open_file.image;
}

void *elf_memory(char *image, size_t size)
{
	open_file.image = image;
	open_file.size = size;
	return odd("elf_memory") ? NULL : &open_file;
}

int elf_end(void *elf)
{
	(void)elf;
	return 0;
}

int elf_getshdrnum(void *elf, size_t *count)
{
	(void)elf;
	*count = header()->e_shnum + odd("elf_getshdrnum");
	return 0;
}

int elf_getshdrstrndx(void *elf, size_t *index)
{
	(void)elf;
	*index = header()->e_shstrndx - odd("elf_getshdrstrndx");
	return 0;
}

void *elf_getscn(void *elf, size_t index)
{
	(void)elf;
	return odd("elf_getscn") && index == 3
	               ? NULL
	               : open_file.image + header()->e_shoff + index * sizeof(Elf64_Shdr);
}

Elf64_Ehdr *gelf_getehdr(void *elf, Elf64_Ehdr *out)
{
	(void)elf;
	memcpy(out, open_file.image, sizeof(*out));
	out->e_flags += odd("gelf_getehdr");
	return out;
}

Elf64_Shdr *gelf_getshdr(void *section, Elf64_Shdr *out)
{
	memcpy(out, section, sizeof(*out));
	return odd("gelf_getshdr") ? NULL : out;
}

static struct gw_libelf_data *data(struct gw_libelf_data *out, const char *section)
{
	Elf64_Shdr s;

	memcpy(&s, section, sizeof(s));
	*out = (struct gw_libelf_data){.d_buf = open_file.image + s.sh_offset, .d_size = s.sh_size};
	return out;
}

struct gw_libelf_data *elf_rawdata(void *section, struct gw_libelf_data *before)
{
	static char elsewhere[64];

	(void)before;
	data(&answer[0], section);
	if (odd("elf_rawdata elsewhere"))
		answer[0].d_buf = elsewhere;
	if (odd("elf_rawdata longer"))
		answer[0].d_size++;
	return odd("elf_rawdata") ? NULL : &answer[0];
}

struct gw_libelf_data *elf_getdata(void *section, struct gw_libelf_data *before)
{
	(void)before;
	return odd("elf_getdata") ? NULL : data(&answer[1], section);
}

Elf64_Sym *gelf_getsymshndx(struct gw_libelf_data *symbols, struct gw_libelf_data *sections,
                            int index, Elf64_Sym *out, Elf64_Word *section)
{
	(void)sections;
	memcpy(out, (char *)symbols->d_buf + (size_t)index * sizeof(*out), sizeof(*out));
	*section = 0;
	return odd("gelf_getsymshndx") && index == 2 ? NULL : out;
}

const char *elf_errmsg(int error)
{
	(void)error;
	return odd("gelf_getehdr") ? NULL : "odd";
}

#endif
