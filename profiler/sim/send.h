/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_SIM_SEND_H
#define SKIDPROF_SIM_SEND_H

/*
 * Messages to the recorder (wire.h).  The clock is shared by all processes
 * of the tree: simulated time never goes back from one message to the next.
 * When the recorder has gone, everything is dropped.
 */
#include <stddef.h>

#include "profiler/sim/wire.h"

struct sender {
	int fd; /* -1: gone */
	uint32_t pid;
	uint64_t *last_ns; /* in memory shared with forked children */
};

/* -SP_ENOMEM. */
int sender_init(struct sender *s, int fd);

/* Fill in the head and send.  now_ns: the thread's own clock. */
void sender_send(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns, struct wire_head *msg,
                 size_t bytes);
/* A message with a descriptor, which stays the caller's; -1: none. */
void sender_send_fd(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns,
                    struct wire_head *msg, size_t bytes, int fd);
void sender_text(struct sender *s, enum wire_kind kind, uint32_t tid, uint64_t now_ns, const char *text);

/* The guest is about to close or overwrite this descriptor: if it is ours, keep another. */
void sender_guard(struct sender *s, int closing_fd);

#endif
