/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_MATCH_JOIN_H
#define SKIDPROF_REPORT_MATCH_JOIN_H

#include "correct/correct.h"
#include "report/profile.h"
#include "report/truth/truth.h"

/* Exact counts of a profile's functions and instructions. */
struct truth_join {
	double *own, *rolled; /* [p->n_funcs] instructions, by the two views of struct profile_func */
	double *per_insn;     /* [p->n_insns] executions; 0 where the truth has none */
	bool *listed;         /* [p->n_insns] the truth has it */
	bool *incomparable;   /* [p->n_modules + 1] modules that can't be compared, as both sides' differ */
	bool *gap;            /* [p->n_funcs] functions that the truth says nothing of */
	struct profile_counted
	        *calls; /* [n_calls] sorted by (callee, caller), one each; none where the truth has none */
	size_t n_calls;
	double unmatched; /* instructions of objects that could not be read */
	double another;   /* instructions of the truth in what is left out */
};

/*
 * truth's instructions go to the functions, inlined ones too, that hold them
 * in the binaries, which are found by build id (report/match/match.h).  Functions of
 * the truth that the profile lacks are added to it with zero counts.
 *
 * path  of the truth, for messages.
 * -SP_ENOENT when the truth is of another program or build.
 */
int match_join(struct profile *p, const struct truth *t, const char *path, const struct module_options *opts,
               struct truth_join *out);
void match_join_fini(struct truth_join *j);

/*
 * Put the exact counts of t, from the file `path`, in the place of the profile's
 * instructions: cycles of one run over instructions of another, of the same
 * program on the same input.  What bursts or corrected counts have against that is
 * p->meta.truth_why, and makes the profile unreliable.
 * A truth by function alone gives physical functions their counts
 * (p->meta.truth_rolled), and nothing else.  Branches and runs of t become
 * counts by instruction.
 * -SP_ENOENT when the truth is of another program or build; -SP_ENOTSUP when t
 * does not have all counts.
 */
int match_apply(struct profile *p, struct truth *t, const char *path, const struct module_options *opts);

/*
 * A profile of exact counts alone: functions, lines and instructions without cycles, read from `path`.  Objects that can't be
 * read have their code in one function a module.  -SP_ENOTSUP when t has no counts by instruction.
 */
int match_profile(const struct truth *t, const char *path, const struct module_options *opts, bool texts,
                  struct profile **out);

#endif
