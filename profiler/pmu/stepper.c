/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/stepper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/awake.h"
#include "profiler/pmu/past_call.h"
#include "profiler/pmu/prompt.h"
#include "profiler/pmu/replayer.h"

struct request {
	pid_t pid, tid;
	struct burst_limits limits;
};

static volatile sig_atomic_t wants_end;

static void on_signal(int sig)
{
	(void)sig;
	wants_end = 1;
}

static void take_signals(void)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1 };
	struct sigaction action = { .sa_handler = on_signal }, child = { .sa_handler = past_call_on_child };
	sigset_t blocked;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* It interrupts a wait for the next request: a thread that was left in a system call has come out. */
	sigaction(SIGCHLD, &child, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* Nothing of the recorder's may be kept open by us: its output would not end with it. */
static void close_all_but(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	if (fd > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
	close_range((unsigned)fd + 1, ~0u, 0);
}

/* False where bursts can't be taken.  A replayer there may be or not. */
static bool find_tools(struct burst_tools *tools)
{
	*tools = (struct burst_tools){ 0 };
	if (step_decoder_new(&tools->decoder) < 0)
		return false;
	if (replayer_start(&tools->replayer) < 0)
		tools->replayer = NULL;
	tools->awake = tools->replayer ? awake_start() : NULL;
	burst_tools_begin(tools);
	return true;
}

/* False: it is the end of them.  A signal is. */
static bool await_request(int fd, struct left_threads *left)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	sigset_t none;
	int got;

	sigemptyset(&none);
	do {
		past_call_let_go(left);
		got = wants_end ? -1 : ppoll(&p, 1, NULL, &none);
	} while (got < 0 && errno == EINTR && !wants_end);
	return got > 0;
}

__attribute__((noreturn)) static void serve(int fd, pid_t recorder)
{
	struct burst_tools tools;
	static struct burst burst;
	struct request request;
	char replays;

	setsid();
	/* Not the recorder's name: who kills all of those (pkill skidprof) must not mean us. */
	prctl(PR_SET_NAME, "burst-stepper");
	take_signals();
	prompt_ask();
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() != recorder)
		_exit(0);
	close_all_but(fd);
	if (!find_tools(&tools))
		_exit(1);
	replays = tools.replayer != NULL;
	if (send(fd, &replays, sizeof(replays), MSG_NOSIGNAL) != (ssize_t)sizeof(replays))
		_exit(1);
	/* An end of the stream, or a signal, is the end. */
	while (await_request(fd, &tools.left) &&
	       recv(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request)) {
		size_t n;

		burst_take(&tools, request.pid, request.tid, &request.limits, &wants_end, &burst);
		n = offsetof(struct burst, branches) + burst.n * sizeof(burst.branches[0]) +
		    burst.n_runs * sizeof(burst.runs[0]);
		if (send(fd, &burst, n, MSG_NOSIGNAL) != (ssize_t)n)
			break;
	}
	awake_stop(tools.awake);
	replayer_stop(tools.replayer);
	step_decoder_free(tools.decoder);
	_exit(0);
}

int stepper_start(struct stepper *s)
{
	struct step_decoder *decoder = NULL;
	pid_t recorder = getpid();
	int pair[2], err = step_decoder_new(&decoder);
	char replays = 0;

	*s = (struct stepper){ .fd = -1 };
	if (err < 0)
		return err;
	step_decoder_free(decoder);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_fail_errno("socketpair");
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0)
		serve(pair[1], recorder);
	close(pair[1]);
	s->fd = pair[0];
	if (s->pid < 0)
		err = sp_fail_errno("fork");
	else if (recv(s->fd, &replays, sizeof(replays), 0) != (ssize_t)sizeof(replays))
		err = sp_fail(
		        SP_EIO,
		        "the process that takes bursts did not start: is there too little memory, or a limit "
		        "on the size of files (ulimit -f)? --bursts 0 records without");
	if (err < 0) {
		stepper_stop(s);
		return err;
	}
	s->replays = replays;
	return 0;
}

static int gone(void)
{
	return sp_fail(SP_EIO, "the process that takes bursts has ended: killed?");
}

int stepper_ask(struct stepper *s, pid_t pid, pid_t tid, const struct burst_limits *limits)
{
	struct request request = { .pid = pid, .tid = tid, .limits = *limits };

	if (s->fd < 0 || send(s->fd, &request, sizeof(request), MSG_NOSIGNAL) != (ssize_t)sizeof(request))
		return gone();
	s->asked = true;
	return 0;
}

int stepper_answer(struct stepper *s, struct burst *out)
{
	ssize_t n;

	do
		n = recv(s->fd, out, sizeof(*out), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n < (ssize_t)offsetof(struct burst, branches))
		return gone();
	s->asked = false;
	return 1;
}

void stepper_stop(struct stepper *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	s->pid = 0;
}
