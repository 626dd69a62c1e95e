/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/procfile.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int procfile_open(struct procfile *f, pid_t tid, const char *name)
{
	char path[64];

	if (f->tid == tid && f->fd >= 0)
		return f->fd;
	procfile_fini(f);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	f->tid = tid;
	return f->fd;
}

void procfile_read(struct procfile *f, pid_t tid, const char *name, char *out, size_t n)
{
	ssize_t got = -1;

	/* Another thread may have the number by now: of the one that had it the file tells nothing any more. */
	for (int i = 0; i < 2 && got < 0; i++) {
		int fd = procfile_open(f, tid, name);

		got = fd < 0 ? -1 : pread(fd, out, n - 1, 0);
		if (got < 0)
			procfile_fini(f);
	}
	out[got > 0 ? got : 0] = '\0';
}

const char *procfile_state(struct procfile *f, pid_t tid, char *text, size_t n)
{
	const char *end;

	procfile_read(f, tid, "stat", text, n);
	/* The name may have spaces in it, and ends at the last parenthesis. */
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] ? end + 2 : NULL;
}

bool procfile_has_ended(struct procfile *stat, pid_t tid)
{
	char text[1024];
	const char *state = procfile_state(stat, tid, text, sizeof(text));

	return !state || *state == 'Z' || *state == 'X';
}

pid_t procfile_tracer(pid_t tid, char name[PROCFILE_NAME_MAX])
{
	static const char field[] = "\nTracerPid:";
	struct procfile f = { 0 };
	char text[2048];
	const char *at;
	pid_t tracer;

	*name = '\0';
	procfile_read(&f, tid, "status", text, sizeof(text));
	procfile_fini(&f);
	at = strstr(text, field);
	tracer = at ? (pid_t)atoi(at + sizeof(field) - 1) : 0;
	if (tracer <= 0)
		return 0;
	procfile_read(&f, tracer, "comm", name, PROCFILE_NAME_MAX);
	procfile_fini(&f);
	name[strcspn(name, "\n")] = '\0';
	/* Who has a terminal's commands for a name gives none. */
	for (char *c = name; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	return tracer;
}

pid_t procfile_holder(struct procfile *stat, pid_t pid)
{
	char path[64];
	struct procfile other = { 0 };
	pid_t holder = pid;
	struct dirent *d;
	DIR *dir;

	if (!procfile_has_ended(stat, pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && holder == pid && (d = readdir(dir))) {
		pid_t tid = (pid_t)atoi(d->d_name);

		if (tid > 0 && tid != pid && !procfile_has_ended(&other, tid))
			holder = tid;
	}
	if (dir)
		closedir(dir);
	procfile_fini(&other);
	return holder;
}

pid_t procfile_holder_now(pid_t pid)
{
	struct procfile stat = { 0 };
	pid_t holder = procfile_holder(&stat, pid);

	procfile_fini(&stat);
	return holder;
}

void procfile_fini(struct procfile *f)
{
	if (f->tid && f->fd >= 0)
		close(f->fd);
	f->tid = 0;
}
