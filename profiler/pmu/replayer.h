/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_REPLAYER_H
#define SKIDPROF_PMU_REPLAYER_H

/*
 * skidreplay, from the side of whoever has stopped a thread: it is handed the
 * thread's registers and a way to read its memory, and says which branches
 * the thread will take.  Nothing is written to the thread or its process.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profiler/replay/wire.h"

struct replayer;

/* -SP_ENOTSUP where there is none: another machine, a sandbox that can't be set up. */
int replayer_start(struct replayer **out);
void replayer_stop(struct replayer *r);

/* For the request's registers; what is in it is sent by replayer_run(). */
struct rp_request *replayer_request(struct replayer *r);

/*
 * Read the registers of a stopped thread into the request.  False: it is gone, or runs code of 32 bits.
 */
bool replayer_take_registers(struct replayer *r, pid_t tid);

/* ... of one that is stopped behind the system call that the last run came to. */
bool replayer_take_registers_behind_call(struct replayer *r, pid_t tid);

/*
 * Run ahead through n_branches for at most held_ns.  pid: the thread's process.  The reply stays till
 * the next one.  NULL: the replayer is gone; try another thing, and replayer_follow() before the next.
 */
const struct rp_reply *replayer_run(struct replayer *r, pid_t pid, uint32_t n_branches, uint64_t held_ns);

/* Before a thread of that process is stopped that is to be followed when it has been let go: which pages to keep then. */
void replayer_plan(struct replayer *r, pid_t pid);

/* While it is, when its registers were taken: keep the pages, as they are now, that it is likely to write. */
bool replayer_keep(struct replayer *r, pid_t pid);

/* When it has gone on: those that it is likely to read. */
void replayer_keep_later(struct replayer *r);

/*
 * Then, when it has passed the marks: go the same way, n_insns at most.  Pages that were not kept are read as they are by
 * now, so the way may turn out another one: then marks are not met.
 */
const struct rp_reply *replayer_run_to_marks(struct replayer *r, const struct rp_mark *marks,
                                             uint32_t n_marks, uint64_t n_insns, uint64_t may_ns);

/*
 * When the thread has been let go: how many branches of the last reply it would go itself.  Less than all where pages
 * were touched that it may not touch, or that are mapped twice; *end says which.
 */
uint32_t replayer_check(struct replayer *r, pid_t pid, uint32_t *end);

/* When the thread has been let go: which pages to ask for in one call the next time. */
void replayer_learn(struct replayer *r);

/* Marks that the next path passes before what ran is told; two more, and one or the other met twice, are wanted. */
uint32_t replayer_n_passed(const struct replayer *r);

/* 0: it is not running. */
pid_t replayer_pid(const struct replayer *r);

/*
 * Before a thread is stopped: start it again if it died, and keep it on this CPU, ours, which has nothing
 * else to do meanwhile; -1: on any.
 */
void replayer_follow(struct replayer *r, int cpu);

/* Before a thread of that process is stopped: what takes time where the last one was of another, and can be done by then. */
void replayer_open(struct replayer *r, pid_t pid);

/* Why a path ended, in words: "a system call". */
const char *replayer_end_words(uint32_t end);

/* The copy of a page that the reply tells of: page i. */
const uint8_t *replayer_page(const struct replayer *r, uint32_t i);

#endif
