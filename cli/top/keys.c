#include "cli/top/live.h"
#include "cli/top/screen.h"

#include <ncursesw/curses.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE = 27, BACKSPACE = 127 };

void top_screen_choose(struct top_screen *s)
{
	free(s->rows);
	s->view->choice.filter = *s->filter ? &s->regex : NULL;
	/* While the first is marked only those that the screen has room for are looked at. */
	s->ordered = s->selected ? SIZE_MAX : top_screen_rows();
	s->count = top_choose(s->view->model, &s->view->choice, s->ordered, &s->rows);
	/* The first line is that of the first kernel until the user marks another. */
	for (size_t i = 0; s->selected && i < s->count; i++)
		if (s->rows[i] == s->row) {
			s->selected = i;
			break;
		}
	if (s->selected >= s->count)
		s->selected = s->count ? s->count - 1 : 0;
	/* On its page a kernel stays though the filter or the order leaves it elsewhere. */
	if (s->page != TOP_PAGE_KERNEL)
		s->row = s->count ? s->rows[s->selected] : NULL;
}

bool top_screen_filter(struct top_screen *s, const char *text)
{
	regex_t regex;

	if (*text && regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | REG_ICASE))
		return false;
	if (*s->filter)
		regfree(&s->regex);
	if (*text)
		s->regex = regex;
	snprintf(s->filter, sizeof(s->filter), "%s", text);
	return true;
}

static void edit(struct top_screen *s, int key)
{
	size_t n = strlen(s->edit);

	switch (key) {
	case ESCAPE:
		s->editing = false;
		return;
	case '\n':
	case '\r':
	case KEY_ENTER:
		s->editing = false;
		if (!top_screen_filter(s, s->edit))
			s->message = "that is no regular expression; the filter is as before";
		s->selected = s->first = 0;
		top_screen_choose(s);
		return;
	case BACKSPACE:
	case '\b':
	case KEY_BACKSPACE:
		while (n && (s->edit[n - 1] & 0xc0) == 0x80)
			s->edit[--n] = 0;
		if (n)
			s->edit[n - 1] = 0;
		return;
	default:
		if (key >= ' ' && key < 256 && n + 1 < sizeof(s->edit))
			s->edit[n] = (char)key;
	}
}

static void mark(struct top_screen *s, long by)
{
	const long last = s->count ? (long)s->count - 1 : 0, to = (long)s->selected + by;

	if (s->ordered < s->count)
		top_order(s->rows, s->count, &s->view->choice, s->count);
	s->ordered = SIZE_MAX;
	s->selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
	s->row = s->count ? s->rows[s->selected] : NULL;
}

static void sort_by(struct top_screen *s, int by)
{
	struct top_choice *c = &s->view->choice;

	c->sort = (enum top_sort)(((int)c->sort + by + TOP_SORTS) % TOP_SORTS);
	s->selected = s->first = 0;
	top_screen_choose(s);
}

static void every(struct top_screen *s, double factor)
{
	double seconds = s->view->interval_s * factor;

	s->view->interval_s = seconds < 0.1 ? 0.1 : seconds > 3600 ? 3600 : seconds;
}

static void back(struct top_screen *s)
{
	s->page = TOP_PAGE_LIST;
	top_screen_choose(s);
}

/* Keys of the list. */
static void on_list(struct top_screen *s, int key)
{
	const long page = (long)(s->room ? s->room : 1);

	switch (key) {
	case KEY_UP:
	case 'k':
		mark(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		mark(s, 1);
		break;
	case KEY_PPAGE:
		mark(s, -page);
		break;
	case KEY_NPAGE:
		mark(s, page);
		break;
	case KEY_HOME:
		mark(s, -(long)s->count);
		break;
	case KEY_END:
		mark(s, (long)s->count);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
		s->page = s->row ? TOP_PAGE_KERNEL : s->page;
		break;
	case 's':
	case 'S':
		sort_by(s, key == 's' ? 1 : -1);
		break;
	case 'r':
		s->view->choice.reverse = !s->view->choice.reverse;
		sort_by(s, 0);
		break;
	case '/':
		s->editing = true;
		memset(s->edit, 0, sizeof(s->edit));
		break;
	default:
		break;
	}
}

void top_screen_do(struct top_screen *s, int key)
{
	s->message = NULL;
	if (key == KEY_RESIZE) {
		top_screen_choose(s);
		return;
	}
	if (s->editing) {
		edit(s, key);
		return;
	}
	switch (key) {
	case 'q':
	case 'Q':
		s->ended = true;
		break;
	case ESCAPE:
	case KEY_LEFT:
	case KEY_BACKSPACE:
		back(s);
		break;
	case '?':
	case 'h':
		s->page = TOP_PAGE_HELP;
		break;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		break;
	case '+':
		every(s, 0.5);
		break;
	case '-':
		every(s, 2);
		break;
	default:
		if (s->page == TOP_PAGE_LIST)
			on_list(s, key);
		else if (s->page == TOP_PAGE_HELP)
			back(s);
		else if (key == '\n' || key == '\r' || key == KEY_ENTER)
			back(s);
	}
}
