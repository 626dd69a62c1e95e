/* SPDX-License-Identifier: GPL-3.0-or-later */
/* skidblock, from skidprof's side. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "report/lift/native_block.h"

/* A block's tries take milliseconds each, at worst its timer's; this is for a program gone astray. */
enum { ANSWER_MS = 60000 };

struct native_server {
	char *path;
	pid_t pid; /* 0 = not running */
	int fd;
};

static void __attribute__((noreturn)) become(const char *path, int fd)
{
	char *argv[] = { (char *)"skidblock", NULL };

	if (dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		execv(path, argv);
	_exit(127);
}

static int start(struct native_server *s)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return sp_fail_errno("a socket to %s", s->path);
	s->pid = fork();
	if (s->pid == 0)
		become(s->path, fds[1]);
	close(fds[1]);
	s->fd = fds[0];
	if (s->pid < 0) {
		s->pid = 0;
		close(s->fd);
		return sp_fail_errno("starting %s", s->path);
	}
	return 0;
}

static void stop(struct native_server *s)
{
	if (!s->pid)
		return;
	close(s->fd);
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}

static int send_all(int fd, const void *buf, size_t n)
{
	for (size_t put = 0; put < n;) {
		ssize_t r = send(fd, (const char *)buf + put, n - put, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		put += (size_t)r;
	}
	return 0;
}

static int receive_all(int fd, void *buf, size_t n)
{
	for (size_t got = 0; got < n;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int ready = poll(&p, 1, ANSWER_MS);
		ssize_t r;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return -1;
		r = recv(fd, (char *)buf + got, n - got, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		got += (size_t)r;
	}
	return 0;
}

int native_server_ask(struct native_server *s, const struct block_request *b, struct block_reply *out)
{
	int err = s->pid ? 0 : start(s);

	if (err < 0)
		return err;
	if (send_all(s->fd, b, sizeof(*b)) == 0 && receive_all(s->fd, out, sizeof(*out)) == 0 &&
	    block_reply_valid(out))
		return 0;
	stop(s);
	return sp_fail(SP_EIO, "%s: no answer", s->path);
}

/* One instruction: do children, filter and clock work here? */
static int try_out(struct native_server *s)
{
	static struct block_request r = { .magic = BLOCK_MAGIC,
		                          .n_bytes = 3,
		                          .n_insn = 1,
		                          .vector_bytes = 16,
		                          .code = { 0x48, 0x01, 0xc0 } };
	struct block_reply out;
	int err = native_server_ask(s, &r, &out);

	if (err < 0)
		return sp_fail(SP_ENOTSUP, "native: %s does not run here", s->path);
	if (out.verdict == BLOCK_BROKEN)
		return sp_fail(SP_ENOTSUP, "native: a sandbox for blocks can't be made here: %s",
		               strerror(out.err));
	return 0;
}

int native_server_start(const char *path, struct native_server **out)
{
	struct native_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s || !(s->path = strdup(path))) {
		free(s);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	err = try_out(s);
	/* It waits for nothing yet: whoever waits for any child meanwhile is not to wait for this one. */
	stop(s);
	if (err < 0)
		native_server_stop(s);
	else
		*out = s;
	return err;
}

void native_server_stop(struct native_server *s)
{
	if (!s)
		return;
	stop(s);
	free(s->path);
	free(s);
}

void native_reason(const struct block_reply *r, char *out, size_t size)
{
	static const char *const words[N_BLOCK_VERDICTS] = {
		[BLOCK_TIMED] = "timed",
		[BLOCK_FAULT] = "touches memory that it can't be given",
		[BLOCK_TRAP] = "traps: no straight code of this processor",
		[BLOCK_DIVIDE] = "divides by zero, or the quotient is too large",
		[BLOCK_SYSCALL] = "calls the system",
		[BLOCK_KILLED] = "lost its way",
		[BLOCK_ENDLESS] = "does not end",
		[BLOCK_PAGES] = "touches too many pages",
		[BLOCK_UNSTEADY] = "its times are unsteady",
		[BLOCK_BROKEN] = "the sandbox can't be set up",
	};

	if (r->verdict == BLOCK_FAULT)
		snprintf(out, size, "%s: 0x%llx", words[r->verdict], (unsigned long long)r->addr);
	else if (r->verdict == BLOCK_UNSTEADY)
		snprintf(out, size, "%s: quartiles %.0f%% apart", words[r->verdict], 100 * r->spread);
	else if (r->verdict == BLOCK_BROKEN)
		snprintf(out, size, "%s: %s", words[r->verdict], strerror(r->err));
	else
		snprintf(out, size, "%s", words[r->verdict]);
}
