/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"

static void watched_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
}

/* In the child: everything as we found it, then the program, once we are told to. */
__attribute__((noreturn)) static void become(const struct launch_program *p, const sigset_t *old, int go_fd,
                                             int error_fd)
{
	int error;
	char go;
	ssize_t n;

	do
		n = read(go_fd, &go, 1);
	while (n < 0 && errno == EINTR);
	/* The recorder gave it up, or was killed. */
	if (n != 1)
		_exit(127);
	if ((p->keep_fd >= 0 && dup2(p->keep_fd, p->child_fd) < 0) ||
	    (p->stdout_fd >= 0 && dup2(p->stdout_fd, STDOUT_FILENO) < 0))
		goto fail;
	/* Fails where there is no Yama, which then needn't be asked. */
	if (p->tracer)
		prctl(PR_SET_PTRACER, (unsigned long)p->tracer, 0, 0, 0);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, old, NULL);
	execv(p->path, p->argv);
fail:
	error = errno;
	if (write(error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The pipe closes at the exec; what comes through it is why there was none. */
static int await_exec(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

static int watch_signals(struct launch *l, sigset_t *old)
{
	sigset_t set;

	memset(l, 0, sizeof(*l));
	l->go_fd = l->error_fd = -1;
	watched_signals(&set);
	sigprocmask(SIG_BLOCK, &set, old);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* A reader of our output that goes away must not kill the recording. */
	signal(SIGPIPE, SIG_IGN);
	return l->signal_fd < 0 ? sp_fail_errno("signals") : 0;
}

int launch_nothing(struct launch *l)
{
	sigset_t old;

	return watch_signals(l, &old);
}

int launch_hold(struct launch *l, const struct launch_program *p)
{
	int error_pipe[2] = { -1, -1 }, go_pipe[2] = { -1, -1 };
	sigset_t old;
	int err = watch_signals(l, &old);

	if (err < 0)
		return err;
	if (pipe2(error_pipe, O_CLOEXEC) < 0 || pipe2(go_pipe, O_CLOEXEC) < 0) {
		err = sp_fail_errno("pipe");
		close(error_pipe[0]);
		close(error_pipe[1]);
		launch_fini(l);
		return err;
	}
	/* Buffered output of ours must not come out twice. */
	fflush(NULL);
	l->pid = fork();
	if (l->pid == 0) {
		close(go_pipe[1]);
		become(p, &old, go_pipe[0], error_pipe[1]);
	}
	if (l->pid < 0) {
		err = sp_fail_errno("fork");
		l->pid = 0;
	}
	close(go_pipe[0]);
	close(error_pipe[1]);
	l->path = p->path;
	l->go_fd = go_pipe[1];
	l->error_fd = error_pipe[0];
	if (err < 0)
		launch_fini(l);
	return err;
}

int launch_go(struct launch *l)
{
	int error = write(l->go_fd, "g", 1) == 1 ? await_exec(l->error_fd) : errno;

	close(l->go_fd);
	l->go_fd = -1;
	if (error == 0)
		return 0;
	waitpid(l->pid, NULL, 0);
	l->ended = true;
	errno = error;
	return sp_fail_errno("%s: cannot be started", l->path);
}

int launch_start(struct launch *l, const struct launch_program *p)
{
	int err = launch_hold(l, p);

	if (err < 0)
		return err;
	err = launch_go(l);
	if (err < 0)
		launch_fini(l);
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
	l->killed_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	l->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void launch_signals(struct launch *l)
{
	struct signalfd_siginfo info;

	while (read(l->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int sig = (int)info.ssi_signo;
		bool terminal = info.ssi_code == SI_KERNEL;

		if (l->pid == 0)
			l->interrupted |= sig != SIGCHLD;
		if (l->pid == 0)
			continue;
		if (sig == SIGCHLD || l->ended)
			continue;
		if ((sig == SIGINT || sig == SIGQUIT || sig == SIGHUP) && terminal)
			continue;
		kill(l->pid, sig);
	}
	if (l->pid && !l->ended)
		note_end(l, WNOHANG);
}

void launch_say_killed(const struct launch *l, const char *program, const char *output)
{
	if (!l->killed_by || l->killed_by == SIGINT)
		return;
	if (output)
		sp_note("%s: killed by signal %d (%s); what was recorded is in %s", program, l->killed_by,
		        strsignal(l->killed_by), output);
	else
		sp_note("%s: killed by signal %d (%s)", program, l->killed_by, strsignal(l->killed_by));
}

void launch_end(struct launch *l)
{
	launch_signals(l);
	if (!l->pid || l->ended)
		return;
	kill(l->pid, SIGTERM);
	launch_wait(l);
	if (l->killed_by == SIGTERM)
		l->status = l->killed_by = 0;
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
	bool held = l->go_fd >= 0;

	if (l->go_fd >= 0)
		close(l->go_fd);
	if (held && l->pid > 0 && !l->ended)
		waitpid(l->pid, NULL, 0);
	if (l->error_fd >= 0)
		close(l->error_fd);
	if (l->signal_fd >= 0)
		close(l->signal_fd);
	l->signal_fd = l->go_fd = l->error_fd = -1;
}
