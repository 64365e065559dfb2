#include "tests/kernels/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernels.h"

static struct sass_listing listing; /* of all modules */

static const char *tool(const char *variable, const char *name)
{
	const char *given = getenv(variable);

	return given && *given ? given : name;
}

static void append(struct sass_listing *all, struct sass_listing more)
{
	struct sass_kernel *bigger;

	if (!more.count)
		return;
	bigger = realloc(all->kernels, (all->count + more.count) * sizeof(*bigger));
	assert_non_null(bigger);
	memcpy(bigger + all->count, more.kernels, more.count * sizeof(*bigger));
	all->kernels = bigger;
	all->count += more.count;
	free(more.kernels);
}

/* Disassemble one embedded module, in the temporary folder we are in. */
static void disassemble(const struct gw_kernel_image *image)
{
	char command[1024];
	FILE *f = fopen("module.fatbin", "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(image->data, 1, (size_t)(image->end - image->data), f),
			 image->end - image->data);
	assert_int_equal(fclose(f), 0);
	snprintf(command, sizeof(command),
		 "rm -f ./*.cubin && %s -xelf all module.fatbin >cuobjdump.out 2>&1 && "
		 "for f in ./*.cubin; do %s -c \"$f\"; done",
		 tool("CUOBJDUMP", "cuobjdump"), tool("NVDISASM", "nvdisasm"));
	f = popen(command, "r");
	assert_non_null(f);
	append(&listing, sass_read(f));
	assert_int_equal(pclose(f), 0);
}

int embedded_decode(void **state)
{
	(void)state;
	for (const struct gw_kernel_image *i = gw_kernel_images; i->name; i++) {
		struct gw_bytes bytes = {(const uint8_t *)i->data, (size_t)(i->end - i->data)};
		struct sass_listing more;
		const char *why;

		if (!sass_decode(bytes, &more, &why))
			fail_msg("%s: %s", i->name, why);
		append(&listing, more);
	}
	return 0;
}

int embedded_disassemble(void **state)
{
	char folder[] = "/tmp/gpuwatch-sass-XXXXXX";
	char command[sizeof(folder) + 16];

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	for (const struct gw_kernel_image *i = gw_kernel_images; i->name; i++)
		disassemble(i);
	assert_int_equal(chdir("/"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
	return 0;
}

int embedded_forget(void **state)
{
	(void)state;
	sass_free(&listing);
	return 0;
}

const struct sass_listing *embedded_code(void)
{
	return &listing;
}

/* True when a tool runs. */
static bool runs(const char *program)
{
	char command[512];

	snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", program);
	return system(command) == 0;
}

bool embedded_skip(void)
{
	if (gw_kernel_images[0].name)
		return false;
	puts("skipped: built without nvcc, so that there are no kernels");
	return true;
}

bool embedded_tools(void)
{
	if (runs(tool("CUOBJDUMP", "cuobjdump")) && runs(tool("NVDISASM", "nvdisasm")))
		return true;
	puts("cuobjdump or nvdisasm was not found (on the path, or by the variables CUOBJDUMP and "
	     "NVDISASM): the code is read by our own decoder alone");
	return false;
}
