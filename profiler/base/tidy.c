/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/tidy.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PATHS = 128, MOST_GROUPS = 32 };

/* Whoever takes a path out of its place has it alone: the handler, or who says that it is done. */
static _Atomic(char *) paths[MOST_PATHS];
static _Atomic pid_t groups[MOST_GROUPS];
/* Not a child of ours that has not become another program yet. */
static pid_t owner;
static atomic_bool ending;

static void kill_all(void)
{
	for (int i = 0; i < MOST_GROUPS; i++) {
		pid_t group = atomic_exchange(&groups[i], 0);

		if (group > 0)
			kill(-group, SIGKILL);
	}
}

/* Files first: a folder that has some stays. */
static void remove_all(void)
{
	char *taken[MOST_PATHS];

	for (int i = 0; i < MOST_PATHS; i++) {
		taken[i] = atomic_exchange(&paths[i], NULL);
		if (taken[i] && unlink(taken[i]) == 0)
			taken[i] = NULL;
	}
	for (int i = 0; i < MOST_PATHS; i++)
		if (taken[i])
			rmdir(taken[i]);
}

static void on_end(int sig)
{
	const int before = errno;

	if (getpid() == owner) {
		atomic_store(&ending, true);
		kill_all();
		remove_all();
	}
	signal(sig, SIG_DFL);
	/* It comes when we return from this one. */
	raise(sig);
	errno = before;
}

/* Who has asked for another way, or for none, keeps that. */
static void take_signals(void)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction action = { .sa_handler = on_end, .sa_flags = SA_RESTART }, before;

	owner = getpid();
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &action, NULL);
}

/* Another thread is at it: who goes on meanwhile, for its program was killed, would make more that is left. */
static void stop_at_end(void)
{
	while (atomic_load(&ending))
		pause();
}

static void begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, take_signals);
}

int tidy_path(const char *path)
{
	char *copy = strdup(path);

	begin();
	if (atomic_load(&ending) && unlink(path) < 0)
		rmdir(path);
	stop_at_end();
	for (int i = 0; copy && i < MOST_PATHS; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&paths[i], &none, copy))
			return i;
	}
	free(copy);
	return -1;
}

void tidy_path_done(int number)
{
	if (number >= 0)
		free(atomic_exchange(&paths[number], NULL));
}

int tidy_group(pid_t group)
{
	begin();
	if (atomic_load(&ending))
		kill(-group, SIGKILL);
	stop_at_end();
	for (int i = 0; i < MOST_GROUPS; i++) {
		pid_t none = 0;

		if (atomic_compare_exchange_strong(&groups[i], &none, group))
			return i;
	}
	return -1;
}

void tidy_group_done(int number)
{
	stop_at_end();
	if (number >= 0)
		atomic_store(&groups[number], 0);
}
