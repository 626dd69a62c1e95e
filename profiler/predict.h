/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PREDICT_H
#define SKIDPROF_PREDICT_H

/*
 * The simulated core as a predictor: how long a loop of straight code takes in
 * the long run, its data in the first-level cache and its branches foreseen.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct predictor;

/*
 * core  a name ("zen5") or the path of a core file; NULL = the default one.
 * Returns 0; -SP_EUSAGE, -SP_EFORMAT with the file named.  x86-64 only.
 */
int predictor_open(const char *core, struct predictor **out);
void predictor_close(struct predictor *p);
const char *predictor_core(const struct predictor *p); /* its name, and which of that name */

/*
 * Cycles a turn of a loop.  Conditional branches in the body are not taken; after its last byte it begins again.
 * Each access finds memory of its own, so none waits for another's store.
 *
 * code  [n_bytes] machine code.
 * Returns 0; -SP_EFORMAT when it is none; -SP_ENOMEM.  May be called by several threads at a time.
 */
int predictor_loop(const struct predictor *p, const uint8_t *code, size_t n_bytes, double *cyc);

#endif
