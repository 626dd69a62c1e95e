/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TOP_TOP_H
#define SKIDPROF_REPORT_TOP_TOP_H

/*
 * A profile to walk through on a terminal: a list of functions, and behind
 * each its source and assembly, its callers and callees, and why its numbers
 * are what they are.  Here is what is shown and where one is; screen.c draws
 * it.  Texts are those of the commands that write reports.
 */
#include "correct/correct.h"
#include "report/assemble/listing.h"
#include "report/report.h"
#include "report/source.h"

enum top_kind {
	TOP_FUNCTIONS,
	TOP_CHILDREN,
	TOP_CALLERS,
	TOP_CALLEES,
	TOP_ANNOTATE,
	TOP_WHY,
	TOP_ABOUT,
	TOP_HELP
};

/* What is shown: lines of text, of which the first may be a heading that stays, and others rows to choose from. */
struct top_page {
	enum top_kind kind;
	long func; /* whose page it is; -1 = none's */
	char *text;
	const char **lines; /* [n_lines] */
	size_t n_lines;
	size_t n_heading; /* lines that stay; behind them: */
	size_t n_rows;    /* functions to choose from, 0 = plain text */
	long *funcs;      /* [n_rows] -1 = none */
	size_t at;        /* the row chosen */
	size_t first;     /* the line that is uppermost, behind the heading */
	size_t left;      /* columns that are scrolled away */
};

enum { TOP_MAX_PAGES = 64, TOP_FIND_MAX = 128 };

struct top {
	const struct profile *p;
	struct listing_modules modules;
	struct sources *sources;
	struct report_opts opts; /* of the lists */
	int width, height;       /* of the terminal */
	struct top_page pages[TOP_MAX_PAGES];
	size_t n_pages; /* the last is shown; 0 = leave */
	char message[160];
	bool finding; /* a word is being typed */
	char find[TOP_FIND_MAX];
	size_t n_find;
};

/* Keys that are no characters. */
enum top_key {
	TOP_UP = 0x1000,
	TOP_DOWN,
	TOP_LEFT,
	TOP_RIGHT,
	TOP_PAGE_UP,
	TOP_PAGE_DOWN,
	TOP_HOME,
	TOP_END,
	TOP_ENTER,
	TOP_BACK,
	TOP_RESIZED, /* width and height are other ones */
};

/* All else of t is set by the caller.  Returns 0, or what failed. */
int top_open(struct top *t, int width, int height);
void top_close(struct top *t);

/* One key: returns 0, -SP_ENOMEM.  What a key can't do is said in t->message. */
int top_press(struct top *t, int key);

const struct top_page *top_page(const struct top *t);

/* "FUNCTIONS", "annotate fib": what the page is. */
void top_title(const struct top *t, char *out, size_t size);

/* Lines of the page that fit below its heading. */
size_t top_room(const struct top *t);

/* screen.c: the whole walk on this terminal.  0, or what failed. */
int top_run(struct top *t);

#endif
