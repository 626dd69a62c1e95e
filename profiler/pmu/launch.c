/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"

static void watched_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
}

/* In the child: everything as we found it, then the program. */
__attribute__((noreturn)) static void become(char *const *argv, int keep_fd, int child_fd, int stdout_fd,
                                             const sigset_t *old, int error_fd)
{
	int error;

	if (dup2(keep_fd, child_fd) < 0 || (stdout_fd >= 0 && dup2(stdout_fd, STDOUT_FILENO) < 0))
		goto fail;
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, old, NULL);
	execv(argv[0], argv);
fail:
	error = errno;
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The pipe closes at the exec; what comes through it is why there was none. */
static int await_exec(int fd, const char *path)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(error))
		return 0;
	errno = error;
	return sp_fail_errno("%s: cannot be started", path);
}

int launch_start(struct launch *l, char *const *argv, int keep_fd, int child_fd, int stdout_fd)
{
	int error_pipe[2], err = 0;
	sigset_t set, old;

	memset(l, 0, sizeof(*l));
	l->signal_fd = -1;
	if (pipe2(error_pipe, O_CLOEXEC) < 0)
		return sp_fail_errno("pipe");
	watched_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* Buffered output of ours must not come out twice. */
	fflush(NULL);
	l->pid = l->signal_fd < 0 ? -1 : fork();
	if (l->pid == 0)
		become(argv, keep_fd, child_fd, stdout_fd, &old, error_pipe[1]);
	if (l->pid < 0)
		err = sp_fail_errno("fork");
	/* A reader of our output that goes away must not kill the recording. */
	signal(SIGPIPE, SIG_IGN);
	close(error_pipe[1]);
	if (err == 0)
		err = await_exec(error_pipe[0], argv[0]);
	close(error_pipe[0]);
	if (err < 0) {
		if (l->pid > 0)
			waitpid(l->pid, NULL, 0);
		l->ended = true;
		launch_fini(l);
	}
	return err;
}

static void note_end(struct launch *l, int flags)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(l->pid, &status, flags);
	while (pid < 0 && errno == EINTR);
	if (pid != l->pid)
		return;
	l->ended = true;
	l->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_signals(struct launch *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int sig = (int)info.ssi_signo;
		bool terminal = info.ssi_code == SI_KERNEL;

		if (sig == SIGCHLD || l->ended)
			continue;
		if ((sig == SIGINT || sig == SIGQUIT || sig == SIGHUP) && terminal)
			continue;
		kill(l->pid, sig);
	}
	if (!l->ended)
		note_end(l, WNOHANG);
}

void launch_wait(struct launch *l)
{
	while (!l->ended) {
		struct timespec second = { .tv_sec = 1 };
		sigset_t set;

		launch_signals(l);
		if (l->ended)
			break;
		watched_signals(&set);
		/* signalfd's signals stay pending for it: only wait here, take them there. */
		if (sigtimedwait(&set, NULL, &second) == SIGTERM)
			kill(l->pid, SIGTERM);
	}
}

void launch_fini(struct launch *l)
{
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	l->signal_fd = -1;
}
