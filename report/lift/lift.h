/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_LIFT_H
#define SKIDPROF_REPORT_LIFT_LIFT_H

/*
 * Block predictions lifted to whole kernels, after [HARNESS]:
 *
 *	lifted(K) = sum over blocks b of K:  n_b * prediction(b)
 *
 * A kernel is one function's own code; n_b are exact executions (truth) or
 * corrected ones with an interval (a profile).  It is held against the
 * cycles measured in that code.  A tool that fails on a block that ran is
 * out for that kernel.
 *
 * A profile of bursts knows the n_b of a kernel up to one factor.  What can
 * be lifted from it is a quotient:
 *
 *	lifted CPI(K) = sum n_b prediction(b) / sum n_b |b|
 */
#include "report/lift/tool.h"
#include "report/match/join.h"

struct lift_block {
	uint32_t kernel; /* index into lift->kernels */
	uint32_t n_insn;
	struct tool_block code; /* bytes in the module */
	uint32_t module;        /* index into lift->modules */
	double n;               /* executions; in lift->relative in a unit of the kernel's own */
	double lo, hi;          /* 90% interval of n; NAN: exact, or raw counts */
	double cyc;             /* cycles seen in it; NAN = not known */
	bool divides;           /* it has an integer division, whose time is its operands' */
	uint64_t undecoded;     /* address of the first instruction capstone can't decode; 0 = none */
};

/* A tool and a kernel. */
struct lift_sum {
	double cyc;                 /* lifted(K); NAN when the tool is out */
	double lo, hi;              /* NAN: no interval */
	double cpi, cpi_lo, cpi_hi; /* lifted CPI(K); the same */
	double error;               /* cyc / measured - 1; NAN when either is not known */
	size_t n_failed;
	size_t first_failed; /* index into lift->blocks */
};

enum lift_measure { MEASURED_NOT, MEASURED_PROFILE, MEASURED_TIMED };

struct lift_kernel {
	const char *name;
	uint32_t module;
	uint64_t vaddr, end_vaddr;
	size_t block0, n_blocks; /* lift->blocks[block0 ..], in address order */
	double calls;            /* executions of its first block; NAN in lift->relative */
	double insn;             /* instructions executed; the same */
	double cyc;              /* measured; NAN = not known */
	double known;            /* share of its time in code whose executions are known of each other */
	enum lift_measure measured;
	const char *why_not; /* with --measure: why it was not timed; NULL if it was */
	double n_load,
	        n_miss; /* loads, and those that missed the simulated first-level cache; NAN = not known */
	uint8_t status; /* enum profile_status; fixed for exact counts */
	struct lift_sum *sums; /* [lift->n_tools] */
};

/* Less of a kernel's time in one region than this, and bursts do not tell its mixture. */
#define LIFT_MIN_KNOWN 0.98

/* Half an interval wider than this share of what is lifted, and the kernel is weak. */
#define LIFT_WEAK_HALF_WIDTH 0.10

/* More misses than this share of the loads, and a kernel is not one to judge block predictors by [HARNESS]. */
#define LIFT_MAX_MISS 0.15

/* False where misses are not known. */
static inline bool lift_misses(const struct lift_kernel *k)
{
	return k->n_miss > LIFT_MAX_MISS * k->n_load;
}

/* Is this a kernel to judge predictors by?  Its executions can be believed, and its data are near. */
static inline bool lift_judges(const struct lift_kernel *k)
{
	return !lift_misses(k) && k->status != PROFILE_UNRELIABLE;
}

/* A tool over all kernels that count. */
struct lift_score {
	size_t n_kernels;                   /* that it predicted and were measured, resident ones */
	size_t n_out;                       /* it failed on a block of */
	double mean, median, q1, q3, worst; /* of |error|; NAN when n_kernels is 0 */
	double tau;                         /* Kendall's, of predicted and measured; NAN under 2 kernels */
	double coverage; /* share of the executed blocks' cycles or instructions it could predict */
};

struct lift {
	struct profile *profile; /* NULL for exact counts alone */
	struct truth *truth;     /* NULL for a profile alone */
	struct module **modules;
	size_t n_modules;
	/* [n_modules] profile->modules of each, -1 = not in the profile. */
	int32_t *profile_module;
	bool exact;    /* executions are exact, from truth */
	bool relative; /* they are known of each other only: there is a CPI, but no count of cycles */
	struct lift_kernel *kernels; /* most cycles (or instructions) first */
	size_t n_kernels;
	struct lift_block *blocks;
	size_t n_blocks;
	struct tool_target target;
	char cpu[TOOL_NAME_MAX];
	char cpudesc[128]; /* the core in its own words */
	struct tool *tools;
	size_t n_tools;
	struct tool_prediction *predictions; /* [n_blocks][n_tools] */
	struct lift_score *scores;           /* [n_tools] */
	char **argv;                         /* the program, NULL if not given: NULL-terminated */
};

static inline const struct tool_prediction *lift_prediction(const struct lift *l, size_t block, size_t tool)
{
	return &l->predictions[block * l->n_tools + tool];
}

struct lift_opts {
	struct correct_opts correct;
	bool input_given;
	const char *truth;
	const char *const *kernels; /* names or globs */
	size_t n_kernels;
	const char *const *tools;
	size_t n_tools;
	const char *cpu;  /* LLVM's name; NULL = by the recording */
	const char *core; /* the simulator's; NULL = by the cpu */
	double min_share;
	bool measure, no_cache;
	char **argv;
};

/* The whole: counts, blocks, predictions, sums and scores.  lift_free it, also after an error. */
int lift_run(const struct lift_opts *o, struct lift *l);
void lift_free(struct lift *l);

/* ---- the steps, in this order ---- */

/* Executions of single instructions, from a profile or exact. */
struct lift_insn {
	uint32_t module;
	uint8_t status; /* enum profile_status */
	uint64_t vaddr;
	double n;
	double n_load, n_miss; /* 0 where no caches were simulated */
};

struct lift_counts {
	struct lift_insn *v; /* sorted by (module, vaddr) */
	size_t n;
};

/* In lift->relative: leaves each function the counts of the region that has most of its time. */
int lift_keep_regions(const struct lift *l, struct lift_counts *c);
/* Reads the files; opens the modules. */
int lift_read(const struct lift_opts *o, struct lift *l, struct lift_counts *out);
/* Chooses kernels and cuts them into blocks. */
int lift_cut(const struct lift_opts *o, const struct lift_counts *c, struct lift *l);
/* What the code runs on. */
int lift_find_target(const struct lift_opts *o, struct lift *l);
/* Times the kernels in runs of the program, in place of the profile's cycles. */
int lift_measure(struct lift *l);
/* Fills in predictions, on both cores. */
int lift_predict(struct lift *l, bool no_cache);
/* Lifts, then errors and scores. */
int lift_sum_up(struct lift *l);

/* Instructions that a kernel's blocks executed, in the unit of their executions. */
double lift_insns(const struct lift *l, const struct lift_kernel *k);

/* -SP_EDOUBT, worded, when a kernel's executions are not reliable. */
int lift_verdict(const struct lift *l);

/* The instructions of profile->insns in [vaddr, end) of a module of ours: first and how many. */
size_t lift_profile_insns(const struct lift *l, uint32_t module, uint64_t vaddr, uint64_t end_vaddr,
                          size_t *first);

#endif
