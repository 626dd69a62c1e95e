/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_BASE_LOG_H
#define SKIDPROF_BASE_LOG_H

/*
 * What is said to the user on stderr beside errors: warnings, notes (-v) and
 * one progress line for work that takes over two seconds.  -q silences all
 * but errors.  Thread-safe.
 */
#include <stdint.h>

/* -1 quiet, 0 normal, 1 and up for each -v. */
void sp_log_level_set(int level);
int sp_log_level(void);

/* "skidprof: warning: ...": something the user must know to trust the result. */
void sp_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shown unless -q: what was decided and why. */
void sp_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Shown from -v on. */
void sp_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What makes a word of a message many: "s", but for one. */
static inline const char *sp_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/*
 * Progress of one job.  Nothing is shown in the first two seconds of the first job, and only
 * on a terminal; the line is erased by _end.  done and total in any unit;
 * total 0 when it isn't known.
 */
void sp_progress(const char *what, uint64_t done, uint64_t total);
void sp_progress_end(void);

#endif
