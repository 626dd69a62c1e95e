/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_A64_OPS_H
#define SKIDPROF_REPLAY_A64_OPS_H

/* Instructions of aarch64 that are done in C, on the registers in the context. */
#include <stdbool.h>
#include <stdint.h>

#include "profiler/replay/a64/decode.h"

/* A new replay: the thread was stopped, which ends what was exclusive. */
void a64_ops_begin(void);

/* Do the instruction i, which stands at ip.  As machine_do() (machine.h). */
int a64_op(const struct a64_insn *i, uint64_t ip, uint64_t *next, bool *taken);

#endif
