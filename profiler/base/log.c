/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/clock.h"

static int log_level;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

/* The progress line: when the first job began, for many short ones take long, too, and when it was last drawn; 0 = none. */
static struct {
	const char *what;
	uint64_t begin_ns, drawn_ns;
	bool shown;
} progress;

enum { PROGRESS_DELAY_NS = 2000000000, PROGRESS_STEP_NS = 200000000 };

void sp_log_level_set(int level)
{
	log_level = level;
}

int sp_log_level(void)
{
	return log_level;
}

static void erase_progress(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
	pthread_mutex_lock(&log_lock);
	erase_progress();
	fputs(prefix, stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	pthread_mutex_unlock(&log_lock);
}

void sp_warn(const char *fmt, ...)
{
	va_list ap;

	if (log_level < 0)
		return;
	va_start(ap, fmt);
	say("skidprof: warning: ", fmt, ap);
	va_end(ap);
}

void sp_note(const char *fmt, ...)
{
	va_list ap;

	if (log_level < 0)
		return;
	va_start(ap, fmt);
	say("skidprof: ", fmt, ap);
	va_end(ap);
}

void sp_debug(const char *fmt, ...)
{
	va_list ap;

	if (log_level < 1)
		return;
	va_start(ap, fmt);
	say("skidprof: ", fmt, ap);
	va_end(ap);
}

void sp_progress(const char *what, uint64_t done, uint64_t total)
{
	uint64_t now;

	if (log_level < 0 || !isatty(STDERR_FILENO))
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&log_lock);
	if (!progress.what || strcmp(progress.what, what) != 0) {
		erase_progress();
		progress.what = what;
		progress.drawn_ns = 0;
		if (!progress.begin_ns)
			progress.begin_ns = now;
	}
	if (now - progress.begin_ns >= PROGRESS_DELAY_NS && now - progress.drawn_ns >= PROGRESS_STEP_NS) {
		if (total)
			fprintf(stderr, "\r\033[K%s: %3.0f%%", what, 100.0 * (double)done / (double)total);
		else
			fprintf(stderr, "\r\033[K%s: %ju", what, (uintmax_t)done);
		fflush(stderr);
		progress.drawn_ns = now;
		progress.shown = true;
	}
	pthread_mutex_unlock(&log_lock);
}

void sp_progress_end(void)
{
	pthread_mutex_lock(&log_lock);
	erase_progress();
	progress.what = NULL;
	pthread_mutex_unlock(&log_lock);
}
