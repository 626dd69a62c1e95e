/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terminal of top, by ncurses. */
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "profiler/base/err.h"
#include "report/top/terminal.h"
#include "report/top/top.h"

/* Narrower or lower than this there is nothing to see. */
enum { MIN_WIDTH = 20, MIN_HEIGHT = 4, ESCAPE_MS = 50 };

/* Names and sources are anybody's bytes: what can't be shown is a question mark, and nothing reaches the terminal as a command. */
static void draw_line(int y, const char *text, size_t left, attr_t attr)
{
	mbstate_t state = { 0 };
	size_t n = strlen(text), column = 0, width = (size_t)COLS;

	attrset(attr);
	move(y, 0);
	while (n && column < left + width) {
		wchar_t c;
		size_t used = mbrtowc(&c, text, n, &state);
		int cells;

		if (used == (size_t)-1 || used == (size_t)-2 || used == 0) {
			state = (mbstate_t){ 0 };
			used = 1;
			c = '?';
		}
		if (!iswprint((wint_t)c))
			c = '?';
		cells = wcwidth(c);
		if (column >= left && column + (size_t)(cells > 0 ? cells : 0) <= left + width)
			addnwstr(&c, 1);
		column += (size_t)(cells > 0 ? cells : 0);
		text += used;
		n -= used;
	}
	for (; column < left + width; column++)
		if (column >= left)
			addch(' ');
	attrset(A_NORMAL);
}

static void draw_title(const struct top *t)
{
	const struct top_page *page = top_page(t);
	size_t n = page->n_lines - page->n_heading, last = page->first + top_room(t);
	char name[400], title[500];

	top_title(t, name, sizeof(name));
	if (n)
		snprintf(title, sizeof(title), "skidprof: %s  [%zu-%zu of %zu]", name, page->first + 1,
		         last < n ? last : n, n);
	else
		snprintf(title, sizeof(title), "skidprof: %s", name);
	draw_line(0, title, 0, A_BOLD);
}

static void draw_foot(const struct top *t)
{
	const char *keys =
	        top_page(t)->n_rows
	                ? "? keys  q back  Enter source  c callers  e callees  w why  / find  i  t s r u"
	                : "? keys  q back  c callers  e callees  w why  / find  Left Right PgUp PgDn";
	char line[300];

	if (t->finding)
		snprintf(line, sizeof(line), "/%s", t->find);
	else
		snprintf(line, sizeof(line), "%s", t->message[0] ? t->message : keys);
	draw_line(LINES - 1, line, 0, A_REVERSE);
}

static void draw(const struct top *t)
{
	const struct top_page *page = top_page(t);
	size_t room = top_room(t);
	int y = 1;

	erase();
	draw_title(t);
	for (size_t i = 0; i < page->n_heading; i++)
		draw_line(y++, page->lines[i], page->left, A_UNDERLINE);
	if (!page->n_lines || page->n_lines == page->n_heading)
		draw_line(y, "nothing to show", 0, A_NORMAL);
	for (size_t i = page->first; i < page->n_lines - page->n_heading && i < page->first + room; i++)
		draw_line(y++, page->lines[page->n_heading + i], page->left,
		          page->n_rows && i == page->at ? A_REVERSE : A_NORMAL);
	draw_foot(t);
	refresh();
}

static int translate(int key)
{
	static const int keys[][2] = {
		{ KEY_UP, TOP_UP },          { KEY_DOWN, TOP_DOWN },     { KEY_LEFT, TOP_LEFT },
		{ KEY_RIGHT, TOP_RIGHT },    { KEY_PPAGE, TOP_PAGE_UP }, { KEY_NPAGE, TOP_PAGE_DOWN },
		{ KEY_HOME, TOP_HOME },      { KEY_END, TOP_END },       { KEY_ENTER, TOP_ENTER },
		{ '\n', TOP_ENTER },         { '\r', TOP_ENTER },        { KEY_BACKSPACE, TOP_BACK },
		{ 0x7f, TOP_BACK },          { '\b', TOP_BACK },         { 0x1b, TOP_BACK },
		{ KEY_RESIZE, TOP_RESIZED },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] == key)
			return keys[i][1];
	return key;
}

/* Signals that end a program: the terminal has to be as it was before, so they are noted and wait for top to have left it. */
static const int endings[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
enum { N_ENDINGS = sizeof(endings) / sizeof(endings[0]) };

static volatile sig_atomic_t ending;

static void on_ending(int sig)
{
	ending = sig;
}

/* What they did before.  What was ignored, as by nohup, stays so. */
static void catch_endings(struct sigaction before[N_ENDINGS])
{
	struct sigaction note = { .sa_handler = on_ending };

	ending = 0;
	for (size_t i = 0; i < N_ENDINGS; i++)
		if (sigaction(endings[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(endings[i], &note, NULL);
}

static void release_endings(const struct sigaction before[N_ENDINGS])
{
	for (size_t i = 0; i < N_ENDINGS; i++)
		sigaction(endings[i], &before[i], NULL);
}

/*
 * The next key, or ERR where a signal ends this or the terminal has gone.
 * ncurses goes on waiting after a signal, so the wait is done here.  Between looking for a signal and the wait they are blocked:
 * one that came there would be seen at the next key only.
 */
static int next_key(int fd)
{
	sigset_t block, unblocked;
	int key;

	sigemptyset(&block);
	for (size_t i = 0; i < N_ENDINGS; i++)
		sigaddset(&block, endings[i]);
	sigprocmask(SIG_BLOCK, &block, &unblocked);
	key = getch();
	while (key == ERR && !ending) {
		struct pollfd in = { .fd = fd, .events = POLLIN };
		int n = ppoll(&in, 1, NULL, &unblocked);

		if (ending)
			break;
		key = getch();
		if (n > 0 && key == ERR)
			break;
	}
	sigprocmask(SIG_SETMASK, &unblocked, NULL);
	return ending ? ERR : key;
}

static int walk(struct top *t, int fd)
{
	int err = 0;

	while (err == 0 && t->n_pages) {
		int key;

		draw(t);
		key = next_key(fd);
		if (key == ERR)
			break;
		key = translate(key);
		if (key == TOP_RESIZED) {
			t->width = COLS < MIN_WIDTH ? MIN_WIDTH : COLS;
			t->height = LINES;
		}
		err = top_press(t, key);
	}
	return err;
}

/* Standard input may be the recording: keys come from the terminal itself then. */
static FILE *keyboard(void)
{
	return isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "r");
}

int top_run(struct top *t)
{
	struct sigaction before[N_ENDINGS];
	FILE *in;
	SCREEN *screen;
	int err = terminal_check();

	if (err < 0)
		return err;
	in = keyboard();
	if (!in)
		return terminal_none("there is no keyboard: standard input is none");
	setlocale(LC_CTYPE, "");
	/* ncurses leaves signals alone that something else catches; its own handler would exit with 1. */
	catch_endings(before);
	screen = newterm(NULL, stdout, in);
	if (!screen) {
		release_endings(before);
		if (in != stdin)
			fclose(in);
		return terminal_none("ncurses refuses this one");
	}
	set_term(screen);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	err = LINES < MIN_HEIGHT || COLS < MIN_WIDTH ? terminal_none("this one is too small")
	                                             : top_open(t, COLS, LINES);
	if (err == 0)
		err = walk(t, fileno(in));
	endwin();
	delscreen(screen);
	release_endings(before);
	/* Whoever sent it sees that it was obeyed. */
	if (ending)
		raise(ending);
	if (in != stdin)
		fclose(in);
	return err;
}
