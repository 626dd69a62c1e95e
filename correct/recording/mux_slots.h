/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_MUX_SLOTS_H
#define SKIDPROF_CORRECT_RECORDING_MUX_SLOTS_H

/*
 * How well a total is known that was scaled for the multiplexing slots in which its event rested (eq. 5).  The slots in which
 * the event counted are a sample of all, and tell it by how much they differ.
 */
#include "correct/recording/recording.h"

struct mux_slots;

/* Of an event, -1 = none, for n scopes.  NULL where it never rested. */
struct mux_slots *mux_slots_new(const struct recording *r, int event, size_t n);
void mux_slots_free(struct mux_slots *t);

/* A sample of a thread, in a scope (-1: in none); t NULL: nothing happens. */
void mux_slots_sample(struct mux_slots *t, const struct recording *r, const struct pd_record *rec,
                      uint32_t thread, int32_t scope);

/* Standard deviation of what the event counted in a scope; 0 for NULL.  Once all samples were shown. */
double mux_slots_sd(struct mux_slots *t, size_t scope);

#endif
