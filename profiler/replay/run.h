/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPLAY_RUN_H
#define SKIDPROF_REPLAY_RUN_H

/* One replay: the request in the shared memory becomes the reply in it. */
#include <stdbool.h>
#include <stdint.h>

void rp_run_init(uint8_t *code);
void rp_run(void);

/* Is the time up that it may take? */
bool rp_is_late(void);

/* The program's vectors, as XSAVE has them: from the registers, and back, all of them. */
enum { RP_VECTOR_BYTES = 4096 };
void rp_save_vectors(uint8_t area[RP_VECTOR_BYTES]);
void rp_load_vectors(uint8_t area[RP_VECTOR_BYTES]);

/*
 * A signal came while code ran at ip.  True when that was emitted code: it ends, and goes on at
 * *resume.
 */
bool rp_run_interrupted(uint64_t ip, uint64_t *resume);

#endif
