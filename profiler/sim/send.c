/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "profiler/base/err.h"

int sender_init(struct sender *s, int fd)
{
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return sp_fail_errno("simulated PMU: the shared clock");
	s->fd = fd;
	s->pid = (uint32_t)getpid();
	s->last_ns = shared;
	return 0;
}

/* The later of the thread's clock and what the tree has seen. */
static uint64_t tick(struct sender *s, uint64_t now_ns)
{
	uint64_t last = __atomic_load_n(s->last_ns, __ATOMIC_RELAXED);

	do {
		if (now_ns < last)
			now_ns = last;
	} while (!__atomic_compare_exchange_n(s->last_ns, &last, now_ns, false, __ATOMIC_RELAXED,
	                                      __ATOMIC_RELAXED));
	return now_ns;
}

void sender_send_fd(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns,
                    struct wire_head *msg, size_t bytes, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
		                .cmsg_level = SOL_SOCKET,
		                .cmsg_type = SCM_RIGHTS } };
	struct iovec whole = { .iov_len = bytes };
	struct msghdr m = { .msg_iov = &whole, .msg_iovlen = 1 };
	ssize_t n;
	int saved = errno;

	if (s->fd < 0)
		return;
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
	}
	*msg = (struct wire_head){ kind, (uint32_t)bytes, s->pid, tid, tick(s, now_ns) };
	whole.iov_base = msg;
	do
		n = sendmsg(s->fd, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* The recorder has gone, or the descriptor is no longer our socket: never write to it again. */
	if (n < 0)
		s->fd = -1;
	errno = saved;
}

void sender_send(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns, struct wire_head *msg,
                 size_t bytes)
{
	sender_send_fd(s, kind, tid, now_ns, msg, bytes, -1);
}

void sender_text(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns, const char *text)
{
	char buf[sizeof(struct wire_text) + 4096];
	struct wire_text *m = (struct wire_text *)buf;
	size_t n = strnlen(text, 4095);

	memcpy(m->text, text, n);
	m->text[n] = '\0';
	sender_send(s, kind, tid, now_ns, &m->head, sizeof(*m) + n + 1);
}

/*
 * Programs that close everything go upwards or by a list they took before:
 * either way a number just below survives.
 */
void sender_guard(struct sender *s, int closing_fd)
{
	int fd, saved = errno;

	if (s->fd < 0 || closing_fd != s->fd)
		return;
	fd = fcntl(s->fd, F_DUPFD_CLOEXEC, s->fd > 103 ? s->fd - 100 : 3);
	s->fd = fd;
	errno = saved;
}
