/* Stands where libgpuwatch.so is installed, for tests of the command alone. */
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
	if (getenv("GW_STUB_CRASH"))
		abort();
}
