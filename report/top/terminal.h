/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_TOP_TERMINAL_H
#define SKIDPROF_REPORT_TOP_TERMINAL_H

/* Is there a terminal to draw on?  By itself, as what terminfo declares has names that others have, too. */

/* 0, or -SP_ENOTSUP, worded, with what does without one. */
int terminal_check(void);

/* -SP_ENOTSUP, worded: "top draws on a terminal, and " why. */
int terminal_none(const char *why);

#endif
