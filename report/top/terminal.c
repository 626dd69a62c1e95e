/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/top/terminal.h"

#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>

#include "profiler/base/err.h"

int terminal_none(const char *why)
{
	return sp_fail(SP_ENOTSUP,
	               "top draws on a terminal, and %s; skidprof report and annotate write anywhere", why);
}

int terminal_check(void)
{
	const char *type = getenv("TERM");
	char why[120];
	int found = 0;

	if (!isatty(STDOUT_FILENO))
		return terminal_none("standard output is none");
	if (!type || !*type)
		return terminal_none("TERM does not say which this is");
	if (setupterm(NULL, STDOUT_FILENO, &found) == OK && cursor_address)
		return 0;
	snprintf(why, sizeof(why), "TERM=%.60s %s", type,
	         found == 1 ? "can't place its cursor" : "is not known here");
	return terminal_none(why);
}
