/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TERM_H
#define SKIDPROF_REPORT_TERM_H

/*
 * Where a report goes: standard output, through a pager and in colour only
 * when that is a terminal.
 */
#include <stdbool.h>
#include <stdio.h>

enum term_color { TERM_COLOR_AUTO, TERM_COLOR_ALWAYS, TERM_COLOR_NEVER };

struct term {
	FILE *f;
	bool color;
	int width;   /* columns of the terminal; 0 = none, lines may be of any length */
	FILE *pager; /* to close; NULL = none */
};

/* "auto", "always", "never": 0 or -SP_EUSAGE. */
int term_color_parse(const char *word, enum term_color *out);

/* A pager ($PAGER, else less -FRX) is started unless !pager. */
void term_open(struct term *t, enum term_color color, bool pager);

/*
 * Lines that begin with "# ", kept until they are whole: on a terminal they go on in the next line where they are wider.
 * begin: a stream to write them to, NULL = out of memory.  end: 0, -SP_ENOMEM or -SP_EIO.
 */
struct term_notes {
	char *text;
	size_t size;
	FILE *f;
};
FILE *term_notes_begin(struct term_notes *n);
int term_notes_end(struct term_notes *n, const struct term *t);

/*
 * Flush and wait for the pager.  A reader that has gone (report | head) is
 * no error; a full disk is: -SP_EIO.
 */
int term_close(struct term *t);

#endif
