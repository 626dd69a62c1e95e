/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/waited.h"

#include <stdlib.h>

struct turns waited_look(struct procfile *kept, pid_t tid)
{
	char text[128], *end;
	struct turns t;

	procfile_read(kept, tid, "schedstat", text, sizeof(text));
	/* A thread is held while we read this, and sscanf() takes its time. */
	t.ran_ns = strtoull(text, &end, 10);
	t.waited_ns = strtoull(end, NULL, 10);
	return t;
}
