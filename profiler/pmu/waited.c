/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/waited.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int open_of(struct waited *w, pid_t tid)
{
	char path[64];

	if (w->tid == tid)
		return w->fd;
	waited_fini(w);
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	w->tid = tid;
	return w->fd;
}

struct turns waited_look(struct waited *w, pid_t tid)
{
	char text[128], *end;
	struct turns t = { 0 };
	int fd = open_of(w, tid);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return t;
	text[n] = '\0';
	/* A thread is held while we read this, and sscanf() takes its time. */
	t.ran_ns = strtoull(text, &end, 10);
	t.waited_ns = strtoull(end, NULL, 10);
	return t;
}

void waited_fini(struct waited *w)
{
	if (w->tid && w->fd >= 0)
		close(w->fd);
	w->tid = 0;
}
