/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common/coalescing.h"
#include "cli/inspect/eval.h"

#include <stdio.h>

int inspect_coalescing(const struct inspect_job *job, const char *name,
                       const struct gw_ir_program *program, const struct gw_eval_launch *launch,
                       struct gw_bytes ptx, json_t **json)
{
	struct coalescing_view c;
	const char *why = coalescing_view_begin(&c, name, program, launch, ptx);
	int status = 0;

	if (json)
		*json = why ? json_pack("{s:o}", "why_not", gw_json_text(why))
		            : coalescing_json(&c);
	else if (why)
		printf("    no accesses are told: %s\n", why);
	else
		coalescing_text(&c);
	if (!why && job->plot)
		status = coalescing_plot(&c, job->plot);
	coalescing_view_end(&c);
	return status ? -1 : 0;
}
