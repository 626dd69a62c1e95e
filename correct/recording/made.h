/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_MADE_H
#define SKIDPROF_CORRECT_RECORDING_MADE_H

/*
 * Code that programs made while they ran: which file has it.  Of a jitdump, which the program maps so that recorders see it,
 * it is the code that was there at a sample's moment; else perf-PID.map in /tmp, by perf's convention, has names.
 */
#include <stdbool.h>
#include <stdint.h>

struct made;

/*
 * symfs      before paths of files, NULL = none: they are looked for there only.
 * same_host  recorded on this machine: a perf-PID.map in /tmp may be the process's.  With symfs it may in any case.
 * same_clock samples have times of CLOCK_MONOTONIC, as jitdumps do.
 */
void made_new(const char *symfs, bool same_host, bool same_clock, struct made **out);
void made_free(struct made *m);

/* A process mapped a file.  Is it a jitdump, it is read. */
void made_map(struct made *m, uint32_t pid, const char *path);

/*
 * The module path, as module_open takes it, of what has the code at ip; NULL where nothing has.  Where codes took turns at an
 * address and the clocks differ, names alone are given.  Borrowed: one pointer for one path.
 */
const char *made_find(struct made *m, uint32_t pid, uint64_t ip, uint64_t time_ns);

/* How many codes were made by then, of dumps in which codes took turns: while it is the same, so is what an address means.  log n. */
uint64_t made_changes(const struct made *m, uint64_t time_ns);

#endif
