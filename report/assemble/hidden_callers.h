/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ASSEMBLE_HIDDEN_CALLERS_H
#define SKIDPROF_REPORT_ASSEMBLE_HIDDEN_CALLERS_H

/*
 * Stacks by frame pointers lack the caller of code that has set up no frame:
 * of a leaf, of a prologue's first instructions, of anything compiled without.  The
 * frame pointer is that caller's still, and what stands there is where that
 * one returns to.  The call before that place names it, where it is direct;
 * where the thread begins, what other samples' stacks have below the same place.
 *
 * Stacks by branch records lack calls that were made just before the interrupt, those of functions that end in a jump,
 * and now and then one among the others.  Each record names the function that was called: where that is not the one that
 * the next place in is in, it called that; or an exception has left it.
 */
#include "correct/recording/recording.h"

struct hidden_callers;

/* Where a call was made, and where it went; entry.module -1 = not recorded. */
struct stack_call {
	struct place at, entry;
};

/* A place of a stack.  open: somebody between it and the next one out is missing, and not known. */
struct stack_place {
	struct place at;
	bool open;
};

/* rec is borrowed. */
void hidden_callers_new(const struct recording *rec, struct hidden_callers **out);
void hidden_callers_free(struct hidden_callers *h);

/*
 * calls: [n] the sample's place, then those of calls outwards, each inside the call.  *out: the same with hidden callers among them,
 * *n_out: until the next call.
 */
void hidden_callers_find(struct hidden_callers *h, const struct stack_call *calls, size_t n,
                         struct stack_place **out, size_t *n_out);

/* Were callers left open that stacks which came later may tell?  Asked once, after all stacks. */
bool hidden_callers_again(struct hidden_callers *h);

#endif
