/* Modules and the linker. tests/driver/README.md describes the text images they hold. */
#include "si.h"
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC_LINE "gpuwatch-stand-in-module"
enum { DYNAMIC_LIMIT = 49152 }; /* bytes of dynamic shared memory, unless raised */

/* ---- images ---- */

const char *si_intern(const char *name)
{
	static struct interned {
		struct interned *next;
		char text[];
	} * all;
	struct interned *it;
	size_t size = strlen(name) + 1;
	SI_LOCKED();
	for (it = all; it && strcmp(it->text, name) != 0; it = it->next)
		;
	if (!it && (it = malloc(sizeof *it + size))) {
		memcpy(it->text, name, size);
		it->next = all;
		all = it;
	}
	return it ? it->text : NULL;
}

static bool params_parse(struct si_kernel *kernel, char *text)
{
	char *save = NULL;
	for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		long size = strtol(p, NULL, 10);
		if (kernel->params == SI_MAX_PARAMS || size < 1 || size > 4096)
			return false;
		kernel->param_size[kernel->params++] = (uint32_t)size;
	}
	return true;
}

static bool number_parse(const char *text, int *out)
{
	char *end;
	long value = strtol(text, &end, 10);
	*out = (int)value;
	return *text && !*end && value >= 0 && value <= 1 << 24;
}

/* "key=value" of a kernel line. */
static bool attribute_parse(struct si_kernel *kernel, char *word)
{
	char *value = strchr(word, '=');
	if (!value)
		return false;
	*value++ = '\0';
	if (strcmp(word, "regs") == 0)
		return number_parse(value, &kernel->regs);
	if (strcmp(word, "static") == 0)
		return number_parse(value, &kernel->static_shared);
	if (strcmp(word, "local") == 0)
		return number_parse(value, &kernel->local);
	if (strcmp(word, "const") == 0)
		return number_parse(value, &kernel->constant);
	if (strcmp(word, "max") == 0)
		return number_parse(value, &kernel->max_threads);
	if (strcmp(word, "ns") == 0 && *value == '@')
		return number_parse(value + 1, &kernel->ns_param);
	if (strcmp(word, "ns") == 0)
		return (kernel->ns = strtoull(value, NULL, 10)) > 0;
	if (strcmp(word, "block_ns") == 0)
		return (kernel->block_ns = strtod(value, NULL)) >= 0;
	if (strcmp(word, "params") == 0)
		return params_parse(kernel, value);
	if (strcmp(word, "body") == 0)
		return (kernel->body = si_body_find(value, &kernel->body_params)) != NULL;
	return false;
}

static struct si_kernel *kernel_parse(char *line)
{
	struct si_kernel *kernel = calloc(1, sizeof *kernel);
	char *save = NULL, *word = strtok_r(line, " \t", &save);
	bool ok = kernel && word && strcmp(word, "kernel") == 0;
	word = strtok_r(NULL, " \t", &save);
	ok = ok && word;
	if (!ok) {
		free(kernel);
		return NULL;
	}
	kernel->name = si_intern(word);
	kernel->regs = 16;
	kernel->max_threads = 1024;
	kernel->dynamic_limit = DYNAMIC_LIMIT;
	kernel->ns = 1000;
	kernel->ns_param = -1;
	while (ok && (word = strtok_r(NULL, " \t", &save)))
		ok = attribute_parse(kernel, word);
	ok = ok && kernel->name && kernel->ns_param < kernel->params &&
	     kernel->body_params <= kernel->params;
	if (!ok) {
		fprintf(stderr, "stand-in: module image: cannot read \"%s\" of kernel %s\n",
			word ? word : "name", kernel->name ? kernel->name : "?");
		free(kernel);
		return NULL;
	}
	return kernel;
}

/* What stands for a fat binary, a cubin or PTX, which nothing here can run: the text image in the
 * file STANDIN_KERNELS. */
static CUresult fat_binary_parse(struct si_image *out)
{
	const char *path = getenv("STANDIN_KERNELS");
	char *text = NULL;
	CUresult result = path ? si_image_read(path, &text) : CUDA_ERROR_INVALID_IMAGE;
	if (result == CUDA_SUCCESS)
		result = si_image_parse(text, out);
	free(text);
	return result;
}

/* Images that were unloaded. Their kernels are kept: graphs made from them, and records of their
 * launches, may outlive the module, as they do on the real driver. They stay reachable for the
 * leak checker, and serve the next module of the same text, so that loads do not add up. */
static struct unloaded {
	struct unloaded *next;
	struct si_image image;
} * unloaded;

static bool image_again(const char *text, struct si_image *out)
{
	struct unloaded **link, *found;
	SI_LOCK();
	for (link = &unloaded; *link && strcmp((*link)->image.text, text) != 0;)
		link = &(*link)->next;
	found = *link;
	if (found)
		*link = found->next;
	SI_UNLOCK();
	if (!found)
		return false;
	*out = found->image;
	free(found);
	for (int i = 0; i < out->count; i++)
		if (out->kernels[i]->dynamic_limit != DYNAMIC_LIMIT)
			out->kernels[i]->dynamic_limit = DYNAMIC_LIMIT;
	return true;
}

void si_image_free(struct si_image *image)
{
	struct unloaded *it = image->text ? malloc(sizeof *it) : NULL;
	if (it) {
		SI_LOCK();
		*it = (struct unloaded){unloaded, *image};
		unloaded = it;
		SI_UNLOCK();
	}
	*image = (struct si_image){0};
}

static CUresult lines_parse(char *text, struct si_image *out)
{
	char *save = NULL, *line;
	strtok_r(text, "\r\n", &save);
	while ((line = strtok_r(NULL, "\r\n", &save))) {
		struct si_kernel **grown;
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		grown = realloc(out->kernels, ((size_t)out->count + 1) * sizeof *grown);
		if (!grown)
			return CUDA_ERROR_OUT_OF_MEMORY;
		out->kernels = grown;
		grown[out->count] = kernel_parse(line);
		if (!grown[out->count])
			return CUDA_ERROR_INVALID_IMAGE;
		out->count++;
	}
	return CUDA_SUCCESS;
}

/* What could not be parsed serves no other module. */
static void image_abandon(struct si_image *image)
{
	for (int i = 0; i < image->count; i++)
		free(image->kernels[i]);
	free(image->kernels);
	free(image->text);
	*image = (struct si_image){0};
}

CUresult si_image_parse(const void *text, struct si_image *out)
{
	char *copy;
	CUresult result;
	*out = (struct si_image){0};
	if (memcmp(text, "\x50\xed\x55\xba", 4) == 0 || memcmp(text, ELFMAG, SELFMAG) == 0 ||
	    memcmp(text, "//", 2) == 0 || memcmp(text, ".version", 8) == 0)
		return fat_binary_parse(out);
	if (strncmp(text, MAGIC_LINE, sizeof MAGIC_LINE - 1) != 0)
		return CUDA_ERROR_INVALID_IMAGE;
	if (image_again(text, out))
		return CUDA_SUCCESS;
	copy = strdup(text);
	out->text = strdup(text);
	result = copy && out->text ? lines_parse(copy, out) : CUDA_ERROR_OUT_OF_MEMORY;
	free(copy);
	if (result != CUDA_SUCCESS)
		image_abandon(out);
	return result;
}

CUresult si_image_read(const char *path, char **out)
{
	FILE *file = fopen(path, "r");
	size_t capacity = 1 << 20, used;
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	*out = calloc(1, capacity);
	used = *out ? fread(*out, 1, capacity - 1, file) : 0;
	fclose(file);
	return used ? CUDA_SUCCESS : *out ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- modules ---- */

static CUmodule modules;
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

CUmodule si_module_new(CUcontext ctx, const struct si_image *image, CUlibrary library)
{
	CUmodule module = si_object_new(SI_MODULE, sizeof *module);
	if (!module)
		return NULL;
	module->ctx = ctx;
	module->image = *image;
	module->library = library;
	module->functions = calloc((size_t)image->count + 1, sizeof *module->functions);
	for (int i = 0; module->functions && i < image->count; i++) {
		CUfunction f = si_object_new(SI_FUNC, sizeof *f);
		module->functions[i] = f;
		if (!f)
			break;
		f->kernel = image->kernels[i];
		f->module = module;
		f->block = (struct si_dim){1, 1, 1};
	}
	pthread_mutex_lock(&modules_lock);
	module->next = modules;
	modules = module;
	pthread_mutex_unlock(&modules_lock);
	return module;
}

static void unlink_module(CUmodule module)
{
	CUmodule *link = &modules;
	pthread_mutex_lock(&modules_lock);
	while (*link && *link != module)
		link = &(*link)->next;
	if (*link)
		*link = module->next;
	pthread_mutex_unlock(&modules_lock);
}

void si_module_free(CUmodule module)
{
	unlink_module(module);
	for (int i = module->image.count - 1; module->functions && i >= 0; i--)
		if (module->functions[i])
			si_object_free(module->functions[i]);
	free(module->functions);
	if (!module->library)
		si_image_free(&module->image);
	si_object_free(module);
}

void si_modules_drop(CUcontext ctx)
{
	for (CUmodule m = modules, next; m; m = next) {
		next = m->next;
		if (m->ctx != ctx)
			continue;
		if (m->library)
			m->library->module = NULL;
		si_module_free(m);
	}
}

/* How long the cubin at `image` is: to the end of its table of sections. 0: it is none. */
static size_t cubin_size(const void *image)
{
	Elf64_Ehdr e;
	if (memcmp(image, ELFMAG, SELFMAG) != 0)
		return 0;
	memcpy(&e, image, sizeof e);
	return e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
}

/* What libcupti reports of a module: the cubin, or what STANDIN_CUBIN says that the driver made of
 * the image. */
static void report(CUmodule module, const void *image)
{
	static _Atomic uint32_t last;
	struct si_cupti_hooks *hooks = atomic_load(&si_cupti);
	const char *path = getenv("STANDIN_CUBIN");
	size_t size = cubin_size(image);
	char *made = NULL;
	if (!hooks || !hooks->module)
		return;
	if (!size && path && si_image_read(path, &made) == CUDA_SUCCESS)
		size = cubin_size(image = made);
	if (size)
		hooks->module(module->ctx, atomic_fetch_add(&last, 1) + 1, image, size);
	free(made);
}

CUresult si_cuModuleLoadData(CUmodule *module, const void *image)
{
	struct si_image parsed;
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	SI_TRY(si_image_parse(image, &parsed));
	*module = si_module_new(ctx, &parsed, NULL);
	if (!*module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	report(*module, image);
	return CUDA_SUCCESS;
}

static int load_unseen(void **module, const void *image)
{
	return (int)si_cuModuleLoadData((CUmodule *)module, image);
}

const void *si_private_table(const CUuuid *id)
{
	static const struct si_private_loads table = {sizeof table, load_unseen};
	static const char wanted[sizeof id->bytes] = SI_PRIVATE_LOADS;
	return memcmp(id->bytes, wanted, sizeof wanted) == 0 ? &table : NULL;
}

CUresult si_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
			       CUjit_option *options, void **optionValues)
{
	if (numOptions && (!options || !optionValues))
		return CUDA_ERROR_INVALID_VALUE;
	return si_cuModuleLoadData(module, image);
}

CUresult si_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return si_cuModuleLoadData(module, fatCubin);
}

CUresult si_cuModuleLoad(CUmodule *module, const char *fname)
{
	char *text = NULL;
	CUcontext ctx;
	CUresult result;
	SI_TRY(si_current(&ctx));
	if (!module || !fname)
		return CUDA_ERROR_INVALID_VALUE;
	result = si_image_read(fname, &text);
	if (result == CUDA_SUCCESS)
		result = si_cuModuleLoadData(module, text);
	free(text);
	return result;
}

CUresult si_cuModuleUnload(CUmodule hmod)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!si_is(hmod, SI_MODULE) || hmod->library)
		return CUDA_ERROR_INVALID_HANDLE;
	si_module_free(hmod);
	return CUDA_SUCCESS;
}

CUresult si_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	SI_TRY(si_ready());
	if (!hfunc || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hmod, SI_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < hmod->image.count; i++)
		if (strcmp(hmod->image.kernels[i]->name, name) == 0) {
			*hfunc = hmod->functions[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult si_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	(void)dptr;
	(void)bytes;
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	return si_is(hmod, SI_MODULE) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
}

CUresult si_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(mod, SI_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	*count = (unsigned)mod->image.count;
	return CUDA_SUCCESS;
}

CUresult si_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
				       CUmodule mod)
{
	if (!functions || !numFunctions)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(mod, SI_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < numFunctions && (int)i < mod->image.count; i++)
		functions[i] = mod->functions[i];
	return CUDA_SUCCESS;
}

CUresult si_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

/* ---- the linker: the result is the inputs' kernels in one image ---- */

struct CUlinkState_st {
	struct si_head head;
	char *text;
	size_t size;
};

CUresult si_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
			    CUlinkState *stateOut)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!stateOut || (numOptions && (!options || !optionValues)))
		return CUDA_ERROR_INVALID_VALUE;
	*stateOut = si_object_new(SI_LINK, sizeof **stateOut);
	return *stateOut ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
			     const char *name, unsigned int numOptions, CUjit_option *options,
			     void **optionValues)
{
	const char *text = data, *end;
	char *grown;
	(void)name;
	(void)numOptions;
	(void)options;
	(void)optionValues;
	if (!si_is(state, SI_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || size < sizeof MAGIC_LINE || (unsigned)type >= CU_JIT_NUM_INPUT_TYPES)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(text, MAGIC_LINE, sizeof MAGIC_LINE - 1) != 0)
		return CUDA_ERROR_INVALID_IMAGE;
	end = memchr(text, '\0', size);
	if (end)
		size = (size_t)(end - text);
	if (state->size > 0) { /* one magic line is enough */
		text += sizeof MAGIC_LINE - 1;
		size -= sizeof MAGIC_LINE - 1;
	}
	grown = realloc(state->text, state->size + size + 2);
	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	state->text = grown;
	memcpy(grown + state->size, text, size);
	state->size += size;
	memcpy(grown + state->size, "\n", 2);
	state->size++;
	return CUDA_SUCCESS;
}

CUresult si_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
			     unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	char *text = NULL;
	CUresult result;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	result = si_image_read(path, &text);
	if (result == CUDA_SUCCESS)
		result = si_cuLinkAddData_v2(state, type, text, strlen(text) + 1, path, numOptions,
					     options, optionValues);
	free(text);
	return result;
}

CUresult si_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	if (!si_is(state, SI_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!cubinOut || !state->text)
		return CUDA_ERROR_INVALID_VALUE;
	*cubinOut = state->text;
	if (sizeOut)
		*sizeOut = state->size + 1;
	return CUDA_SUCCESS;
}

CUresult si_cuLinkDestroy(CUlinkState state)
{
	if (!si_is(state, SI_LINK))
		return CUDA_ERROR_INVALID_HANDLE;
	free(state->text);
	si_object_free(state);
	return CUDA_SUCCESS;
}

CUresult si_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
			 CUlinkState *stateOut)
{
	return si_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult si_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			  const char *name, unsigned int numOptions, CUjit_option *options,
			  void **optionValues)
{
	return si_cuLinkAddData_v2(state, type, data, size, name, numOptions, options,
				   optionValues);
}

CUresult si_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
			  unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	return si_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}
