/* The set as a list; nothing here needs a GPU or its compiler. */
#include "kernels/workloads/workload.h"

const struct wl_info wl_infos[] = {
#define WORKLOAD(name, family, n0, n1, n2, n3, n4, n5, measure, meaning) \
	{#name, #family, {n0, n1, n2, n3, n4, n5}, measure, meaning},
#include "kernels/workloads/workloads.def"
#undef WORKLOAD
};

const unsigned wl_count = sizeof(wl_infos) / sizeof(*wl_infos);

const char *const wl_truth_names[WL_TRUTHS] = {
#define TRUTH(name, unit, meaning) #name,
#include "kernels/workloads/truth.def"
#undef TRUTH
};

bool wl_glob(const char *glob, const char *text)
{
	const char *star = NULL, *resume = NULL;

	while (*text) {
		if (*glob == '*') {
			star = glob++;
			resume = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) { /* let the last star take one character more */
			glob = star + 1;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}
