/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/term.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "report/number.h"

int term_color_parse(const char *word, enum term_color *out)
{
	static const char *const words[] = { "auto", "always", "never", NULL };
	const char *near = cmd_suggest(word, words);

	for (int i = 0; words[i]; i++) {
		if (strcmp(word, words[i]) == 0) {
			*out = (enum term_color)i;
			return 0;
		}
	}
	return sp_fail(SP_EUSAGE, "--color: '%s' is not auto, always or never%s%s%s", word,
	               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	long n = columns ? strtol(columns, NULL, 10) : 0;
	struct winsize size;

	if (n > 0 && n < 100000)
		return (int)n;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}

/* NO_COLOR: https://no-color.org, any value but the empty one. */
static bool want_color(bool tty)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return tty && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

static void start_pager(struct term *t, enum term_color color)
{
	const char *pager = getenv("PAGER");

	if (!pager)
		pager = "less";
	if (!*pager || strcmp(pager, "cat") == 0)
		return;
	/* Less alone is known to pass colours on. */
	if (color == TERM_COLOR_AUTO && strncmp(pager, "less", 4) != 0)
		t->color = false;
	setenv("LESS", "FRX", 0);
	fflush(stdout);
	t->pager = popen(pager, "w");
	if (!t->pager)
		return;
	/* Leaving the pager early must not kill us before it has put the terminal in order. */
	signal(SIGPIPE, SIG_IGN);
	t->f = t->pager;
}

void term_open(struct term *t, enum term_color color, bool pager)
{
	bool tty = isatty(STDOUT_FILENO);

	*t = (struct term){ .f = stdout };
	t->width = tty ? terminal_width() : 0;
	t->color = color == TERM_COLOR_ALWAYS || (color == TERM_COLOR_AUTO && want_color(tty));
	if (tty && pager)
		start_pager(t, color);
}

FILE *term_notes_begin(struct term_notes *n)
{
	*n = (struct term_notes){ 0 };
	n->f = open_memstream(&n->text, &n->size);
	if (!n->f)
		sp_fail(SP_ENOMEM, "out of memory for the first lines");
	return n->f;
}

/* How much of a text of n bytes goes into this many columns: up to its last space there, if it has one that is not in its margin. */
static size_t fitting(const char *text, size_t n, size_t columns, size_t margin)
{
	size_t at = 0, best = 0;

	for (size_t width = 0; at < n && width <= columns; at++) {
		if (text[at] == ' ' && at > margin)
			best = at;
		width += ((unsigned char)text[at] & 0xc0) != 0x80;
	}
	if (at == n && text_width(text) <= columns)
		return n;
	return best ? best : n;
}

static void print_wrapped(char *line, const struct term *t)
{
	static const char margin[] = "#   ";
	size_t before = 2;

	while (t->width && strncmp(line, "# ", 2) == 0) {
		size_t n = fitting(line, strlen(line), (size_t)t->width, before);

		if (n == strlen(line))
			break;
		before = strlen(margin);
		fprintf(t->f, "%.*s\n", (int)n, line);
		/* The rest goes on behind a margin, which takes the place of what was printed. */
		line += n + 1 - strlen(margin);
		memcpy(line, margin, strlen(margin));
	}
	fprintf(t->f, "%s\n", line);
}

int term_notes_end(struct term_notes *n, const struct term *t)
{
	bool failed = !n->f || fclose(n->f) != 0;
	char *next;

	for (char *line = n->text; line && *line && !failed; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		print_wrapped(line, t);
	}
	free(n->text);
	return failed ? sp_fail(SP_ENOMEM, "out of memory for the first lines") : 0;
}

int term_close(struct term *t)
{
	if (!t->pager)
		return cmd_flush_stdout();
	/* Whoever leaves the pager has seen enough. */
	pclose(t->pager);
	t->pager = NULL;
	signal(SIGPIPE, SIG_DFL);
	return 0;
}
