/* Any bytes as a file of accesses: refused with a message that names the place, or read into trees
   that are evaluated, written as expressions and counted without harm. */
#include <math.h>
#include <string.h>

#include "cli/inspect/access_file.h"
#include "predictor/code/memory/coalescing.h"
#include "starve.h"

static void check_access(const struct gw_access *access)
{
	static const uint64_t arguments[] = {0, UINT64_MAX, 0x80000000, 7};
	static const struct gw_ir_param params[] = {{.offset = 0, .size = 8},
						    {.offset = 8, .size = 8},
						    {.offset = 16, .size = 4},
						    {.offset = 30, .size = 8}};
	struct gw_access_launch launch = {
		.config = {.grid = {3, 2, 1}, .block = {5, 3, 3}},
		.params = params,
		.param_count = 4,
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)},
		.assume_pointers = access->count % 2};
	struct gw_access_point point = {.block = {2, 1, 0}, .warp = 1, .iteration = {3, 1 << 20}};
	struct gw_coalescing c = {0};
	struct gw_shared_passes passes;
	struct gw_request r;
	uint32_t blame = 0;
	char text[100];

	require(strlen(gw_access_expression(access, text, sizeof(text))) < sizeof(text),
		"too long");
	if (!gw_access_request(access, &launch, &point, &r, &blame)) {
		require(blame < access->count, "a node that is not there is blamed");
		return;
	}
	require(r.active == (1 << 13) - 1, "45 threads: the second warp has 13");
	gw_coalescing_add(&c, &r, 1);
	require(gw_coalescing_degree(&c) > 0 && gw_coalescing_degree(&c) <= 1, "degree");
	require(gw_coalescing_sectors(&c) >= 1 && gw_coalescing_sectors(&c) <= 26, "sectors");
	gw_request_shared(&r, &passes);
	require(passes.wavefronts >= 1 && passes.conflicts < passes.wavefronts, "wavefronts");
}

/* What was written is read again, to the same text. */
static void check_round(const struct access_file *file)
{
	json_t *json = access_file_json(file->access, file->count);
	char *text = json_dumps(json, JSON_COMPACT), error[512];
	struct access_file again;

	require(text != NULL, "not written");
	require(access_file_parse(&again, text, strlen(text), "fuzz", error, sizeof(error)),
		"what was written is not read");
	require(again.count == file->count, "accesses got lost");
	access_file_free(&again);
	free(text);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct access_file file;
	char error[1024] = "";

	if (!access_file_parse(&file, (const char *)data, size, "fuzz", error, sizeof(error))) {
		require(!strncmp(error, "fuzz:", 5), "no place in the message");
		require(!file.count && !file.access && !file.json.root,
			"a refused file left something");
		return 0;
	}
	require(file.count > 0, "a file without accesses was taken");
	for (size_t i = 0; i < file.count && i < 16; i++)
		check_access(&file.access[i]);
	check_round(&file);
	access_file_free(&file);
	return 0;
}
