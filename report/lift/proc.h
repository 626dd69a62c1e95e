/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_PROC_H
#define SKIDPROF_REPORT_LIFT_PROC_H

/*
 * A program as a function: words and a text go in, its output comes out.
 * No shell is in between.
 */
#include <stddef.h>

struct proc_result {
	char *out;  /* malloc'd, NUL-terminated: standard output, cut off at PROC_MAX_BYTES */
	char *err;  /* the same of standard error */
	int status; /* as of a shell: 128 + signal; PROC_TIMED_OUT */
};

enum { PROC_MAX_BYTES = 4 << 20, PROC_TIMED_OUT = -1, PROC_SECONDS = 60 };

/*
 * Run argv[0], looked up in PATH, with `input` on standard input.  It is
 * killed with its children after PROC_SECONDS.  proc_fini the result.
 * Returns 0, -SP_ENOENT when there is no such program, -SP_EIO, -SP_ENOMEM.
 */
int proc_run(char *const *argv, const char *input, struct proc_result *r);
void proc_fini(struct proc_result *r);

/* Is it in PATH (or, with a '/', there), and may it be run?  Its path in out if it fits. */
int proc_find(const char *program, char *out, size_t size);

#endif
