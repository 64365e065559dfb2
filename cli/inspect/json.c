/* Images and kernels as JSON. */
#include "cli/inspect/inspect.h"
#include "cli/inspect/eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"

static json_t *count(uint32_t value)
{
	return value == GW_CODE_UNKNOWN ? json_null() : json_integer(value);
}

/* Three dimensions; null when unknown. */
static json_t *extent(const uint32_t d[3])
{
	if (d[0] == GW_CODE_UNKNOWN)
		return json_null();
	return json_pack("[I, I, I]", (json_int_t)d[0], (json_int_t)d[1], (json_int_t)d[2]);
}

static json_t *parameters(const struct gw_code_kernel *k)
{
	json_t *list;

	if (k->param_count == GW_CODE_UNKNOWN)
		return json_null();
	list = json_array();
	for (uint32_t i = 0; i < k->param_count; i++)
		json_array_append_new(list, json_pack("{s:I, s:I}", "offset",
						      (json_int_t)k->param[i].offset, "size",
						      (json_int_t)k->param[i].size));
	return list;
}

static json_t *functions(const struct gw_code_kernel *k)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < k->function_count; i++)
		json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "name",
						      gw_json_text(k->function[i].name), "offset",
						      (json_int_t)k->function[i].offset, "size",
						      (json_int_t)k->function[i].size));
	return list;
}

static json_t *banks(const struct gw_code_kernel *k)
{
	json_t *object = json_object();
	char name[4];

	for (unsigned i = 0; i < GW_CODE_BANKS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (k->bank[i].size)
			gw_set_count(object, name, k->bank[i].size);
	}
	return object;
}

static json_t *kernel_json(const struct inspect_view *view, size_t index)
{
	const struct gw_code_kernel *k = &view->kernel[index];
	json_t *o = json_object();

	gw_set_text(o, "name", k->name);
	gw_set_text(o, "demangled", view->plain[index]);
	json_object_set_new(o, "registers", count(k->registers));
	json_object_set_new(o, "max_registers", count(k->max_registers));
	json_object_set_new(o, "static_shared", count(k->static_shared));
	json_object_set_new(o, "reserved_shared", count(k->reserved_shared));
	json_object_set_new(o, "frame", count(k->frame));
	json_object_set_new(o, "min_stack", count(k->min_stack));
	json_object_set_new(o, "crs_stack", count(k->crs_stack));
	json_object_set_new(o, "barriers", count(k->barriers));
	json_object_set_new(o, "constant_banks", k->code.size ? banks(k) : json_null());
	json_object_set_new(o, "param_base", count(k->param_base));
	json_object_set_new(o, "param_size", count(k->param_size));
	json_object_set_new(o, "parameters", parameters(k));
	json_object_set_new(o, "max_threads", extent(k->max_threads));
	json_object_set_new(o, "required_threads", extent(k->required_threads));
	json_object_set_new(o, "cluster", extent(k->cluster));
	json_object_set_new(o, "code_bytes",
			    k->code.size ? gw_json_count(k->code.size) : json_null());
	json_object_set_new(o, "functions", functions(k));
	if (view->job->sass && k->code.size)
		json_object_set_new(o, "sass", inspect_sass_json(k, view->job->device));
	return o;
}

static json_t *kernels_json(const struct inspect_view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < view->count; i++)
		json_array_append_new(list, kernel_json(view, i));
	return list;
}

static json_t *ptx_json(const struct inspect_view *view)
{
	char *copy = gw_alloc(view->bytes.size + 1);
	json_t *value;

	if (view->bytes.size)
		memcpy(copy, view->bytes.data, view->bytes.size);
	for (size_t i = 0; i < view->bytes.size; i++)
		if (!((copy[i] >= ' ' && copy[i] <= '~') || copy[i] == '\n' || copy[i] == '\t'))
			copy[i] = '?';
	value = json_string(copy);
	free(copy);
	return value;
}

static const char *kind(const struct gw_image *image)
{
	static const char *const names[] = {"ptx", "cubin", "other"};

	return names[image->kind];
}

static json_t *ptx_version(const struct gw_image *image)
{
	if (image->kind != GW_IMAGE_PTX)
		return json_null();
	return json_sprintf("%u.%u", image->version_major, image->version_minor);
}

json_t *inspect_image_json(const struct inspect_job *job, size_t index, struct inspect_view *view,
			   const char *error)
{
	const struct gw_image *image = &job->images.image[index];
	json_t *o = json_object();
	char code[24];

	gw_set_count(o, "image", index + 1);
	gw_set_text(o, "kind", kind(image));
	gw_set_text(o, "code", inspect_code(image, code));
	json_object_set_new(o, "ptx_version", ptx_version(image));
	gw_set_text(o, "compression", gw_compression_name(image->compression));
	gw_set_count(o, "offset", image->offset);
	gw_set_count(o, "stored_bytes", image->stored.size);
	gw_set_count(o, "bytes", image->size);
	gw_set_count(o, "container", image->container + 1);
	gw_set_text(o, "member", image->member);
	gw_set_text(o, "section", image->section);
	gw_set_text(o, "source", image->name);
	gw_set_text(o, "options", image->options);
	gw_set_bool(o, "debug", image->debug);
	gw_set_text(o, "error", error);
	if (view && image->kind == GW_IMAGE_CUBIN) {
		gw_set_bool(o, "linked", view->cubin.linked);
		json_object_set_new(o, "kernels", kernels_json(view));
	}
	if (view && image->kind == GW_IMAGE_PTX) {
		json_object_set_new(o, "kernels",
				    view->unread.what ? json_null() : kernels_json(view));
		gw_set_text(o, "unread", view->unread.what);
	}
	if (view && job->launch) {
		json_t *launches;

		view->launched = inspect_eval_json(view, &launches);
		json_object_set_new(o, "launches", launches);
	}
	if (view && job->ptx && image->kind == GW_IMAGE_PTX)
		json_object_set_new(o, "ptx", ptx_json(view));
	return o;
}
