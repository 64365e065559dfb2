/* gpuwatch top where it was built without ncurses. */
#include "cli/message.h"
#include "cli/top/top.h"

int top_live(struct top_view *view, const char *filter)
{
	(void)view;
	(void)filter;
	return gw_error("top: this gpuwatch was built without ncurses: --once prints a snapshot; "
			"install libncurses-dev and build again for the live view");
}
