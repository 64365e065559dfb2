/* sass_agree SM LISTING: how far the decoder agrees with a disassembler; 1 when under 99.5%. */
#include "tests/unit/sass/sass_fixture.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct listing listing;
	struct agreement a;

	if (argc != 3) {
		fprintf(stderr, "usage: sass_agree SM LISTING\n");
		return 2;
	}
	listing_read(&listing, argv[2]);
	a = agree(&listing, (unsigned)strtoul(argv[1], NULL, 10));
	printf("sm_%s: %u kernels, %u instructions: class %.3f%%, with width, guard and shape "
	       "%.3f%%, "
	       "registers %.3f%%\n",
	       argv[1], listing.count, a.insns, 100.0 * a.cls / a.insns,
	       100.0 * a.details / a.insns, 100.0 * a.regs / a.compute);
	listing_free(&listing);
	return a.insns == 0 || a.cls < 0.995 * a.insns || a.details < 0.995 * a.insns;
}
