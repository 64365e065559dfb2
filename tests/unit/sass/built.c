#include "tests/unit/sass/sass_fixture.h"

#include "predictor/code/binary/kernel.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY = 64 << 20 };

static void need(bool there, const char *what, const char *name)
{
	if (there)
		return;
	fprintf(stderr, "no %s of %s\n", what, name);
	exit(2);
}

const struct listing_kernel *built_kernel(const struct listing *listing, const char *name)
{
	const struct listing_kernel *kernel = listing_named(listing, name);

	need(kernel != NULL, "code", name);
	return kernel;
}

void built_begin(struct built *b, const struct listing_kernel *kernel, unsigned sm)
{
	struct gw_fault fault = {0};

	gw_arena_init(&b->arena, MEMORY);
	b->code = listing_code(kernel);
	need(gw_cfg_build(&b->cfg, (struct gw_bytes){b->code, 16 * (size_t)kernel->count}, sm,
			  &b->arena, &fault),
	     fault.what ? fault.what : "graph", kernel->name);
}

void built_schedule(struct built *b, const struct gw_waits *waits)
{
	need(gw_schedule_build(&b->schedule, &b->cfg, waits, &b->arena), "schedule", "it");
}

void built_end(struct built *b)
{
	gw_arena_free(&b->arena);
	free(b->code);
}

void built_file_begin(struct built_file *b, const char *folder, const char *file, const char *name,
		      unsigned sm)
{
	enum { MOST = 1 << 17 };
	struct gw_fault fault = {0};
	struct gw_code_kernel code;
	struct gw_cubin cubin;
	char path[256];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s_sm_%u.cubin", folder, file, sm);
	f = fopen(path, "rb");
	need(f != NULL, "file", path);
	b->file = malloc(MOST);
	need(b->file != NULL, "memory", path);
	size = fread(b->file, 1, MOST, f);
	fclose(f);
	gw_arena_init(&b->arena, MEMORY);
	need(gw_cubin_open((struct gw_bytes){b->file, size}, &b->arena, &cubin, &fault), "cubin",
	     path);
	need(gw_cubin_kernel(&cubin, gw_cubin_find(&cubin, name), &b->arena, &code, &fault),
	     "kernel", name);
	b->kernel = gw_sass_kernel_of(&code);
	need(gw_cfg_build(&b->cfg, code.code, sm, &b->arena, &fault), "graph", name);
}

void built_file_end(struct built_file *b)
{
	gw_arena_free(&b->arena);
	free(b->file);
}

uint32_t built_param_base(unsigned sm)
{
	return sm >= 100 ? 0x380 : sm >= 90 ? 0x210 : 0x160;
}
