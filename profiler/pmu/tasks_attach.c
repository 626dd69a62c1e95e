/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "profiler/pmu/procfile.h"
#include "profiler/pmu/tasks_int.h"

enum { MAX_SCANS = 32 };

/* A thread that was found running.  Its end in between is no error, nor is that of the first where others run on. */
static int attach_thread(struct tasks *t, pid_t tid, bool with_events)
{
	int err = tasks_open_on_cpus(t, tid, false, false);

	if (err == 0 && t->mode == FOLLOW && with_events)
		err = tasks_open_own(t, tid, false);
	return err;
}

/* Threads that are not known yet: how many, or a failure. */
static int attach_new_threads(struct tasks *t, pid_t pid, pid_t only)
{
	char path[64];
	struct dirent *d;
	int n = 0, err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return sp_fail(SP_ENOENT, "there is no process %d", (int)pid);
	while (err == 0 && (d = readdir(dir))) {
		pid_t tid = (pid_t)atoi(d->d_name);

		if (tid <= 0 || pairs_find(&t->known, (uint64_t)tid, 0) >= 0)
			continue;
		/* Its parent may have been attached when it made it: then its tracker has said so. */
		err = tasks_drain(t);
		if (err < 0 || pairs_find(&t->known, (uint64_t)tid, 0) >= 0)
			continue;
		if (pairs_number(&t->known, (uint64_t)tid, 0) < 0)
			err = -SP_ENOMEM;
		if (err == 0)
			err = attach_thread(t, tid, !t->config.alone || tid == only);
		if (err == -SP_ENOENT && (tid != pid || procfile_holder_now(pid) != pid))
			err = 0;
		n++;
	}
	closedir(dir);
	return err < 0 ? err : n;
}

pid_t task_process(pid_t tid)
{
	char path[64], line[256];
	pid_t pid = tid;
	int n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %d", &n) == 1)
			pid = (pid_t)n;
	if (f)
		fclose(f);
	return pid;
}

int tasks_attach(struct tasks *t, pid_t pid)
{
	pid_t process = task_process(pid);
	int n = 1;

	if (pid != process && !t->config.alone)
		return sp_fail(SP_EUSAGE,
		               "%d is a thread of process %d; give -t %d for the thread or -p %d for all",
		               (int)pid, (int)process, (int)pid, (int)process);
	t->attaching = true;
	for (int scan = 0; n > 0 && scan < MAX_SCANS; scan++)
		n = attach_new_threads(t, process, pid);
	if (n >= 0)
		n = tasks_drain(t);
	t->attaching = false;
	pairs_fini(&t->known);
	return n < 0 ? n : 0;
}
