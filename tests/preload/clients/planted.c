/* SPDX-License-Identifier: Apache-2.0 */
/* Says that it was loaded, by a file that PLANTED names. */
#include <fcntl.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
	const char *path = getenv("PLANTED");

	if (path && open(path, O_WRONLY | O_CREAT, 0600) < 0)
		return;
}
