/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_CORRECT_H
#define SKIDPROF_CORRECT_CORRECT_H

/*
 * The whole correction: a recording and its binaries go in, a profile comes
 * out.  Every report command calls this one function.
 */
#include <math.h>

#include "correct/binary/module.h"
#include "correct/profile.h"
#include "correct/recording/filter.h"
#include "correct/truth/truth.h"

enum correct_method {
	METHOD_FULL, /* all evidence: the default */
	METHOD_RAW,  /* samples as they are */
};

struct correct_opts {
	const char *input; /* "-" for standard input */
	enum correct_method method;
	uint64_t seed;
	double skid_cyc;           /* --skid; NAN = measure it, or a default by CPU */
	double budget_s;           /* of work on regions (budget.h); default 10 */
	double min_share;          /* regions of less than this share stay raw; default 0.0003 */
	bool stacks;               /* read call stacks, too: profile->frames and calls */
	struct filter_opts filter; /* the part of the recording that is looked at */
	const char
	        *event; /* of its events the one that is shown, as sampled; NULL = instructions and cycles */
	bool texts;     /* fill in disassembly (annotate wants it, report doesn't) */
	struct module_options modules;
};

#define CORRECT_OPTS_DEFAULT                                                                              \
	{                                                                                                 \
		.input = "skidprof.data", .seed = 1, .skid_cyc = NAN, .budget_s = 10, .min_share = 0.0003 \
	}

/* "full", "raw": -1 for another word, with a suggestion worded. */
int correct_method_parse(const char *word);
const char *correct_method_word(enum correct_method m);

/* Returns 0 and the profile, or what failed.  What is doubtful is in the profile, not an error. */
int correct_run(const struct correct_opts *opts, struct profile **out);

/* Exact counts of a profile's functions and instructions. */
struct truth_join {
	double *own, *rolled; /* [p->n_funcs] instructions, by the two views of struct profile_func */
	double *per_insn;     /* [p->n_insns] executions; 0 where the truth has none */
	bool *listed;         /* [p->n_insns] the truth has it */
	bool *incomparable;   /* [p->n_modules + 1] modules that can't be compared, as both sides' differ */
	bool *gap;            /* [p->n_funcs] functions that the truth says nothing of */
	double unmatched;     /* instructions of objects that could not be read */
	double another;       /* instructions of the truth in what is left out */
};

/*
 * truth's instructions go to the functions, inlined ones too, that hold them
 * in the binaries, which are found by build id (correct/compare/match.h).  Functions of
 * the truth that the profile lacks are added to it with zero counts.
 *
 * path  of the truth, for messages.
 * -SP_ENOENT when the truth is of another program or build.
 */
int correct_truth_join(struct profile *p, const struct truth *t, const char *path,
                       const struct module_options *opts, struct truth_join *out);
void correct_truth_join_fini(struct truth_join *j);

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
int correct_truth_apply(struct profile *p, struct truth *t, const char *path,
                        const struct module_options *opts);

/*
 * A profile of exact counts alone: functions, lines and instructions without cycles, read from `path`.  Objects that can't be
 * read have their code in one function a module.  -SP_ENOTSUP when t has no counts by instruction.
 */
int correct_truth_profile(const struct truth *t, const char *path, const struct module_options *opts,
                          bool texts, struct profile **out);

#endif
