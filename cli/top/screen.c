#include "cli/top/screen.h"

#include "cli/top/cells.h"
#include "cli/top/collect.h"

#include <errno.h>
#include <ncursesw/curses.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const int leaving[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int fatal[] = {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS};

static bool open_now, coloured;
static volatile sig_atomic_t left;
static struct termios found; /* as the terminal was */
static char reset[256];      /* what shows the screen that was there before */
static sigset_t waiting;     /* signals are taken while it waits for a key, and only there */

static void leave(int number)
{
	left = number;
}

/* We are broken: nothing but what a signal handler may do. */
static void restore(int number)
{
	ssize_t n = write(STDOUT_FILENO, reset, strlen(reset));

	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &found);
	signal(number, SIG_DFL);
	raise(number);
}

/* A capability without the pauses that terminals of old want. */
static void add_capability(const char *name)
{
	const char *text = tigetstr(name);
	size_t n = strlen(reset);

	for (; text && text != (const char *)-1 && *text && n + 1 < sizeof(reset); text++) {
		const char *end = !strncmp(text, "$<", 2) ? strchr(text, '>') : NULL;

		if (end)
			text = end;
		else
			reset[n++] = *text;
	}
	reset[n] = 0;
}

static void take_signals(void)
{
	struct sigaction ask = {.sa_handler = leave}, broken = {.sa_handler = restore};
	sigset_t held;

	sigemptyset(&held);
	for (unsigned i = 0; i < sizeof(leaving) / sizeof(*leaving); i++) {
		sigaction(leaving[i], &ask, NULL);
		sigaddset(&held, leaving[i]);
	}
	for (unsigned i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		sigaction(fatal[i], &broken, NULL);
	/* ncurses has handlers of its own for these, which draw. */
	sigaddset(&held, SIGTSTP);
	sigaddset(&held, SIGWINCH);
	sigprocmask(SIG_BLOCK, &held, &waiting);
	for (unsigned i = 0; i < sizeof(leaving) / sizeof(*leaving); i++)
		sigdelset(&waiting, leaving[i]);
	sigdelset(&waiting, SIGTSTP);
	sigdelset(&waiting, SIGWINCH);
}

static void take_colours(void)
{
	const char *no_color = getenv("NO_COLOR");

	if ((no_color && *no_color) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	init_pair(1, COLOR_GREEN, -1);
	init_pair(2, COLOR_YELLOW, -1);
	init_pair(3, COLOR_RED, -1);
	coloured = true;
}

bool top_screen_open(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &found)) {
		gw_error("top: standard input and output are no terminal; --once prints a "
			 "snapshot");
		return false;
	}
	if (!term || !*term || !strcmp(term, "dumb") || !newterm(NULL, stdout, stdin)) {
		gw_error("top: a terminal of type \"%s\" has no screen to draw on; set TERM, or "
			 "print a snapshot with --once",
			 term ? term : "");
		return false;
	}
	/* Until a screen has been left once, ncurses 6.4 writes at each move of the cursor. */
	endwin();
	open_now = true;
	atexit(top_screen_close);
	add_capability("sgr0");
	add_capability("cnorm");
	add_capability("rmkx");
	add_capability("rmcup");
	take_signals();
	take_colours();
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	typeahead(-1);
	return true;
}

void top_screen_close(void)
{
	if (open_now)
		endwin();
	open_now = false;
}

/* Where there is input all the time ppoll() lets no signal in. */
static void let_signals_in(void)
{
	sigset_t held;

	sigprocmask(SIG_SETMASK, &waiting, &held);
	sigprocmask(SIG_SETMASK, &held, NULL);
}

int top_screen_key(uint64_t until_ns)
{
	/* Input that gives no key: the first may be a part of one, or what SIGCONT undid. */
	enum { EMPTY_MOST = 100 };

	for (unsigned empty = 0; empty < EMPTY_MOST; empty++) {
		struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
		const uint64_t now = top_now(), rest = until_ns > now ? until_ns - now : 0;
		const struct timespec t = {(time_t)(rest / 1000000000), (long)(rest % 1000000000)};
		const int key = getch();
		int ready;

		if (key != ERR)
			return key;
		ready = ppoll(&in, 1, &t, &waiting);
		if (ready > 0)
			let_signals_in();
		if (left || (ready < 0 && errno != EINTR) ||
		    (ready > 0 && in.revents & (POLLHUP | POLLERR | POLLNVAL)))
			return TOP_KEY_END;
		/* After SIGWINCH and SIGCONT the next getch() says what is to be done. */
		if (!ready)
			return TOP_KEY_NONE;
	}
	return TOP_KEY_END;
}

unsigned top_screen_rows(void)
{
	return (unsigned)(LINES > 0 ? LINES : 0);
}

unsigned top_screen_columns(void)
{
	return (unsigned)(COLS > 0 ? COLS : 0);
}

void top_screen_clear(void)
{
	erase();
}

void top_screen_show(void)
{
	refresh();
}

static chtype attribute(enum gw_ink ink)
{
	switch (ink) {
	case GW_INK_BOLD:
		return A_BOLD;
	case GW_INK_DIM:
		return A_DIM;
	case GW_INK_GOOD:
		return coloured ? COLOR_PAIR(1) : A_NORMAL;
	case GW_INK_WARN:
		return coloured ? COLOR_PAIR(2) : A_BOLD;
	case GW_INK_BAD:
		return coloured ? COLOR_PAIR(3) : A_BOLD;
	default:
		return A_NORMAL;
	}
}

/* Whole cells cost a tenth of what characters do. Returns how many are such, from @p text on. */
static unsigned put_ascii(unsigned row, unsigned column, attr_t ink, const char *text,
			  unsigned most)
{
	chtype cell[512];
	unsigned count = 0;

	while (count < most && count < sizeof(cell) / sizeof(*cell) && text[count] >= ' ' &&
	       text[count] <= '~') {
		cell[count] = (chtype)text[count] | ink;
		count++;
	}
	if (count)
		mvaddchnstr((int)row, (int)column, cell, (int)count);
	return count;
}

/* Characters up to the next that is ASCII. Returns how many bytes; 0: that was all there is room
 * for. */
static size_t put_others(unsigned row, unsigned column, enum gw_ink ink, const char *text,
			 unsigned most)
{
	const size_t all = top_clip(text, most);
	size_t count = 0;

	while (count < all && !(text[count] >= ' ' && text[count] <= '~'))
		count++;
	attrset((int)attribute(ink));
	mvaddnstr((int)row, (int)column, text, (int)count);
	attrset(A_NORMAL);
	return count < all ? count : 0;
}

void top_screen_put(unsigned row, unsigned column, enum gw_ink ink, const char *text)
{
	const unsigned columns = top_screen_columns();

	if (row >= top_screen_rows())
		return;
	while (column < columns && *text) {
		size_t count = put_ascii(row, column, attribute(ink), text, columns - column);

		if (count) {
			column += (unsigned)count;
		} else {
			count = put_others(row, column, ink, text, columns - column);
			if (!count)
				return;
			column = (unsigned)getcurx(stdscr);
		}
		text += count;
	}
}

void top_screen_reverse(unsigned row, unsigned column, unsigned count)
{
	if (row < top_screen_rows() && column < top_screen_columns())
		mvchgat((int)row, (int)column, (int)count, A_REVERSE, 0, NULL);
}
