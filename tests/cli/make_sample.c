/* SPDX-License-Identifier: Apache-2.0 */
/* make_sample NAME FILE: writes a sample log. */
#include "tests/cli/samples.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct lb b = {0};
	bool good = argc == 3 && sample_named(&b, argv[1]) && lb_write(&b, argv[2]);

	lb_free(&b);
	if (!good)
		fprintf(stderr,
		        "usage: make_sample "
		        "plain|second|stand_in|violations|aggregates|clocked|hostile|studied|"
		        "unstudied|unpredicted|worked|"
		        "no_work|no_profile|half_profile FILE\n");
	return good ? 0 : 2;
}
