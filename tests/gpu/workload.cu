/*
 * One program, many small deterministic cases; built with the static runtime, the shared
 * runtime and per-thread default streams. `workload CASE` prints one line.
 */
#include "cases.h"

static const struct test_case cases[] = {
#define ENTRY(name) {#name, case_##name},
	CASES(ENTRY)
#undef ENTRY
};

int main(int argc, char **argv)
{
	return run_case(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
