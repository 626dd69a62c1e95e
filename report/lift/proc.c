/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/tidy.h"
#include "profiler/base/vec.h"

extern char **environ;

enum { END_IN, END_OUT, END_ERR, N_ENDS };

struct text {
	VEC(char) v;
	bool cut;
};

/* Our ends of the three pipes, and what has come out so far. */
struct talk {
	int fd[N_ENDS];
	const char *input;
	size_t n_input, n_written;
	struct text text[N_ENDS];
};

int proc_find(const char *program, char *out, size_t size)
{
	const char *path = getenv("PATH"), *end;

	if (strchr(program, '/')) {
		if (strlen(program) >= size || access(program, X_OK) < 0)
			return -SP_ENOENT;
		memcpy(out, program, strlen(program) + 1);
		return 0;
	}
	for (path = path ? path : "/usr/bin:/bin"; *path; path = *end ? end + 1 : end) {
		end = path + strcspn(path, ":");
		if ((size_t)snprintf(out, size, "%.*s/%s", (int)(end - path), path, program) < size &&
		    access(out, X_OK) == 0)
			return 0;
	}
	return -SP_ENOENT;
}

static void close_end(struct talk *t, int end)
{
	if (t->fd[end] >= 0)
		close(t->fd[end]);
	t->fd[end] = -1;
}

/* A program that doesn't read all of its input is no error. */
static void feed(struct talk *t)
{
	ssize_t n = write(t->fd[END_IN], t->input + t->n_written, t->n_input - t->n_written);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		t->n_written += (size_t)n;
	if (n <= 0 || t->n_written == t->n_input)
		close_end(t, END_IN);
}

static int drain(struct talk *t, int end)
{
	char buf[16384];
	ssize_t n = read(t->fd[end], buf, sizeof(buf));
	struct text *text = &t->text[end];

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_end(t, end);
		return 0;
	}
	if (text->v.n + (size_t)n > PROC_MAX_BYTES) /* read on, so that the program ends */
		return 0;
	if (vec_reserve(&text->v, text->v.n + (size_t)n + 1) < 0)
		return -SP_ENOMEM;
	memcpy(text->v.v + text->v.n, buf, (size_t)n);
	text->v.n += (size_t)n;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Until both outputs are closed.  1: out of time. */
static int converse(struct talk *t)
{
	int64_t end_ms = now_ms() + PROC_SECONDS * 1000;

	while (t->fd[END_OUT] >= 0 || t->fd[END_ERR] >= 0) {
		struct pollfd fds[N_ENDS];
		int64_t left_ms = end_ms - now_ms();
		int err = 0;

		for (int i = 0; i < N_ENDS; i++)
			fds[i] = (struct pollfd){ t->fd[i], i == END_IN ? POLLOUT : POLLIN, 0 };
		if (left_ms <= 0)
			return 1;
		if (poll(fds, N_ENDS, (int)left_ms) < 0 && errno != EINTR)
			return sp_fail_errno("poll");
		if (t->fd[END_IN] >= 0 && fds[END_IN].revents)
			feed(t);
		for (int i = END_OUT; i < N_ENDS && err == 0; i++)
			if (t->fd[i] >= 0 && fds[i].revents)
				err = drain(t, i);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Pipes that the program's children don't inherit; ours don't block. */
static int open_pipes(int theirs[N_ENDS], struct talk *t)
{
	for (int i = 0; i < N_ENDS; i++) {
		int pair[2], ours = i == END_IN;

		if (pipe2(pair, O_CLOEXEC) < 0)
			return sp_fail_errno("pipe");
		t->fd[i] = pair[ours];
		theirs[i] = pair[!ours];
		fcntl(t->fd[i], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

/* In a process group of its own, so that what it starts can be ended with it. */
static int start(char *const *argv, const int theirs[N_ENDS], pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	for (int i = 0; i < N_ENDS; i++)
		posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	err = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (err == 0)
		return 0;
	errno = err;
	return err == ENOENT ? sp_fail(SP_ENOENT, "%s: there is no such program", argv[0])
	                     : sp_fail_errno("%s", argv[0]);
}

static int reap(pid_t pid, bool kill_it)
{
	int status = 0;

	if (kill_it)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (kill_it)
		return PROC_TIMED_OUT;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static char *take_text(struct text *t)
{
	if (vec_push(&t->v, '\0') < 0)
		return NULL;
	return t->v.v;
}

int proc_run(char *const *argv, const char *input, struct proc_result *r)
{
	struct talk t = { .fd = { -1, -1, -1 }, .input = input, .n_input = strlen(input) };
	int theirs[N_ENDS] = { -1, -1, -1 };
	sigset_t pipe_set, old;
	pid_t pid;
	int err;

	*r = (struct proc_result){ 0 };
	/* Writing to a program that has gone must not end us. */
	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &old);
	err = open_pipes(theirs, &t);
	if (err == 0)
		err = start(argv, theirs, &pid);
	for (int i = 0; i < N_ENDS; i++)
		if (theirs[i] >= 0)
			close(theirs[i]);
	if (err == 0) {
		int tidy = tidy_group(pid);

		err = converse(&t);
		r->status = reap(pid, err != 0);
		tidy_group_done(tidy);
		if (err >= 0) {
			r->out = take_text(&t.text[END_OUT]);
			r->err = take_text(&t.text[END_ERR]);
			err = r->out && r->err ? 0 : -SP_ENOMEM;
		}
	}
	for (int i = 0; i < N_ENDS; i++) {
		close_end(&t, i);
		if (!r->out || !r->err)
			vec_fini(&t.text[i].v);
	}
	while (sigtimedwait(&pipe_set, NULL, &(struct timespec){ 0 }) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err < 0)
		*r = (struct proc_result){ 0 };
	return err;
}

void proc_fini(struct proc_result *r)
{
	free(r->out);
	free(r->err);
	*r = (struct proc_result){ 0 };
}
