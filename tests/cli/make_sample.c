/* make_sample NAME FILE [SECONDS]: writes a sample log, its times that much later. */
#include "tests/cli/samples.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct lb b = {0};
	bool good;

	if (argc == 4)
		b.later_ns = strtoull(argv[3], NULL, 10) * 1000000000;
	good = (argc == 3 || argc == 4) && sample_named(&b, argv[1]) && lb_write(&b, argv[2]);

	lb_free(&b);
	if (!good)
		fprintf(stderr, "usage: make_sample "
				"plain|second|killed|idle|stand_in|violations|aggregates|whole_"
				"graphs|clocked|hostile|"
				"markup|crowd|analysed|"
				"unanalysed|unpredicted|modules|at_least|worked|"
				"no_work|no_profile|half_profile FILE [SECONDS]\n");
	return good ? 0 : 2;
}
