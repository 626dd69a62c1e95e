/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_PROCFILE_H
#define SKIDPROF_PMU_PROCFILE_H

/*
 * A file of /proc/TID that is read often: it is kept open, for to find and to
 * open it takes several times as long as to read it.
 */
#include <stdbool.h>
#include <sys/types.h>

enum { PROCFILE_NAME_MAX = 16 }; /* of a task's name, with its end */

struct procfile {
	pid_t tid; /* 0 = none yet */
	int fd;
};

/* Its text, as it is now, into out[n], ended by 0; empty where it can't be read.  One thread after another is fine. */
void procfile_read(struct procfile *f, pid_t tid, const char *name, char *out, size_t n);

/*
 * Of its "stat", read into text[n], what follows its name: the state, which is field 3, and the others behind it, with one space
 * between.  NULL where it can't be read.
 */
const char *procfile_state(struct procfile *f, pid_t tid, char *text, size_t n);

/* Also one that is not there, or stays a zombie until its parent asks for it.  stat: its file of that name. */
bool procfile_has_ended(struct procfile *stat, pid_t tid);

/* Who traces a thread: its number, and its name into name; 0 and "" where nobody does, or it is not to be seen from here. */
pid_t procfile_tracer(pid_t tid, char name[PROCFILE_NAME_MAX]);

/*
 * Whose memory, mappings and root a process has: its own number, or where its first thread has ended and others run on, that of
 * one of these, for nothing of the process can be read by its own number then.  stat: the first thread's.
 */
pid_t procfile_holder(struct procfile *stat, pid_t pid);

/* The same for one that is asked about once. */
pid_t procfile_holder_now(pid_t pid);

/* Its descriptor, -1 where it can't be opened; borrowed. */
int procfile_open(struct procfile *f, pid_t tid, const char *name);

void procfile_fini(struct procfile *f);

#endif
