/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_PROFILE_H
#define SKIDPROF_REPORT_PROFILE_H

/*
 * The result of a correction, and all a report needs: raw and corrected
 * counts of every instruction and function, with intervals, and the words to
 * say how they are known.  Instructions carry their text and source line, so
 * a report needs neither binaries nor debug information.
 *
 * Counts are events (samples x period), as doubles.  Intervals are 90%
 * credible intervals [lo, hi]; where nothing was corrected lo = hi = NAN.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "correct/known.h"
#include "profiler/base/texts.h"
#include "profiler/perfdata/spe.h"

/*
 * The widest cores of today take in eight instructions a cycle, and none keeps that up.  What is more ran in the shadow of
 * other code: it retired together with it, and that code's instructions are the ones that cycles were sampled at.
 */
enum { PROFILE_MAX_IPC = 8 };

struct profile_count {
	double raw_insn, raw_cyc; /* where the samples were seen */
	double insn;              /* corrected instructions; raw_insn where not corrected */
	double lo, hi;            /* of insn; of raw counts where nothing but chance is wrong with them */
	double cyc;               /* cycles; cycle samples need no correction in a loop */
	double n_samples;         /* of the event that is shown, where they were seen */
};

struct profile_insn {
	uint64_t vaddr;
	uint32_t module;
	uint32_t func;      /* innermost function: profile->funcs */
	uint32_t phys_func; /* physical function: profile->funcs */
	int32_t region;     /* profile->regions, -1 = none */
	uint32_t file;      /* profile->files, 0 = unknown ("") */
	uint32_t line;      /* 0 = unknown */
	uint32_t block;     /* position of its block in the region's draws; UINT32_MAX = none */
	uint32_t open_part; /* its part of the region, from 1, where nothing settles that; 0 = none */
	uint8_t size_bytes;
	uint8_t status; /* enum profile_status of its region: what its own interval makes of it profile_judge() says */
	const char *text; /* disassembly; "" if not decoded */
	const char *
	        why_raw; /* why the part of its region was not corrected that it lies in; NULL = it was, or lies in none */
	struct profile_count count;
};

/* A function's part in the region where it spends most of its time; where instructions are not counted. */
struct profile_part {
	int32_t region;       /* -1 = in none, or nothing is known of it */
	double share, lo, hi; /* of the region's instructions */
	/* Cycles per instruction, over the region's, with a 90% interval; NAN with under five samples, or where the share has none. */
	double cpi, cpi_lo, cpi_hi;
};

/* Of a function of which nothing is known. */
#define PROFILE_NO_PART                        \
	((struct profile_part){ .region = -1,  \
	                        .share = NAN,  \
	                        .lo = NAN,     \
	                        .hi = NAN,     \
	                        .cpi = NAN,    \
	                        .cpi_lo = NAN, \
	                        .cpi_hi = NAN })

/* What a call comes to: instructions and cycles, each with a 90% interval.  NAN = not known. */
struct profile_rate {
	double insn, lo, hi;
	double cyc, cyc_lo, cyc_hi;
};

/*
 * Where instructions were not counted: trips of a loop, or instructions a call of a function, as the bursts that saw it have them.
 * mean 0: no burst saw one begin.
 */
struct profile_spread {
	double mean, lo, hi; /* an interval of 90%: of which moments were seen, and of how fast each was */
	double outside;      /* of the function's calls, the share that came from outside of its region */
	bool unseen;         /* samples show a caller outside of its region, and no burst saw it call */
};

/*
 * How often a physical function was called, or jumped to as the last act of another; NAN where nothing tells: it is
 * inlined only, or its entry is in no region.
 */
struct profile_calls {
	double n, lo, hi;
	struct profile_rate own,
	        rolled;          /* without and with what is inlined into it; callees are not in either */
	uint32_t term0, n_terms; /* profile->terms: how n is summed up; 0 terms = not known */
	struct profile_spread seen;
};

struct profile_func {
	const char *name; /* demangled */
	const char *linkage;
	const char *
	        full; /* told apart from others of its name: with parameters, or its place; NULL = no other has its name */
	const char *aliases; /* other linkage names of its code, a line each; NULL = there are none */
	uint32_t module;
	uint32_t file, line, column; /* of the declaration; 0 = not known */
	bool inlined;                /* it has instructions inlined into others */
	uint8_t status;              /* enum profile_status */
	uint8_t evidence;            /* enum profile_evidence bits */
	double n_samples;            /* instruction samples seen in it */
	const char *why;             /* one sentence behind the status; "" for fixed */
	uint8_t rolled_status;       /* these three of the count that holds inlined callees too */
	uint8_t rolled_evidence;
	const char *rolled_why;
	struct profile_count count; /* own instructions: inlined callees not included */
	struct profile_count
	        rolled; /* physical function: inlined callees included; zero for purely inlined ones */
	struct profile_part part, rolled_part;
	struct profile_calls calls;
	double visits; /* samples of instructions with it on their stack where the one before had not, in their thread */
	double brief;  /* of these, and of the ways from one to the next, those of one sample */
	bool opens;    /* physical: it may call what its code does not name */
	bool uncalled; /* physical: nothing tells what calls it, or all that it and others call each other */
};

/*
 * Blocks, and the ways between them, of functions that have a part in a region; of a region those that carry its
 * flow.  How often a way was taken is a sum of executions of blocks, as far as those settle it.
 */
struct profile_term {
	uint32_t block; /* profile->blocks */
	float weight;
};

struct profile_block {
	uint64_t vaddr, end_vaddr;
	uint32_t module;
	uint32_t func;        /* physical: profile->funcs; UINT32_MAX = none of its code is in the profile */
	uint32_t insn;        /* profile->insns of its first instruction; UINT32_MAX = not there */
	uint32_t trips;       /* innermost loop: profile->trips; UINT32_MAX = none */
	uint32_t out0, n_out; /* profile->ways */
};

struct profile_way {
	uint32_t from, to; /* profile->blocks */
	bool taken;        /* a jump, or a branch that was taken; else the next instruction, or over a call */
	bool known;        /* its flow is the sum of the terms, which may be none */
	uint32_t term0, n_terms; /* profile->terms */
};

/*
 * A natural loop.  Its trip count is how often its header ran each time that the loop was entered: an interval of the mean,
 * not of single trips.
 */
struct profile_trips {
	uint32_t header;       /* profile->blocks */
	uint32_t block0, n_in; /* profile->trips_blocks */
	uint32_t parent;       /* the loop around it, UINT32_MAX = none */
	uint32_t depth;        /* 1 = outermost of its function */
	double iterations;     /* executions of the header; NAN = not known */
	double iterations_lo, iterations_hi;
	double entries; /* NAN where nothing tells them: an outermost loop is entered too seldom */
	double mean, lo, hi;
	uint32_t term0, n_terms; /* of entries */
	bool hardly_seen;        /* so few bursts went into it or out of it that they don't tell entries */
	bool counted;            /* the code itself tells how often it turns (eq. 8) */
	struct profile_spread seen;
};

struct profile_module {
	const char *path, *build_id; /* "" if none */
	const char *trouble;         /* "" if it could be read and matched */
	const char *lacks;           /* debug information that is not there; "" or NULL = none */
};

/* A file whose code the recording had mapped, sampled or not. */
struct profile_mapped {
	const char *path, *build_id; /* as recorded, "" if it was not */
	int32_t module;              /* -1 = without samples, or not usable */
};

struct profile_region {
	const char *
	        name; /* "dot (kernel.c:17)": the function and line of its header, of several the first one */
	uint32_t module;
	uint64_t vaddr;                             /* header */
	uint32_t n_blocks, n_edges, n_free, n_rank; /* free flows; how many of them equations settle */
	uint32_t n_unseen; /* more of them, of code without samples: it is taken not to have run */
	double raw_insn, insn, cyc, n_samples;
	double called_insn;  /* of other code that it calls: stacks show it, and it is not counted in insn */
	double untaken_insn; /* by branch records, on ways that no burst took; 0 where it is little */
	double total_sd;     /* of insn, as a share of it, for visits shorter than the time between samples */
	double skid_periods; /* S over the mean loop period in cycles */
	uint8_t status, evidence;
	bool contradicted; /* it misses a total by more than chance, or paths lead out of it */
	bool misled;   /* much of it runs just behind system calls: what events don't settle is not known */
	bool averaged; /* not solved: executions are averages along branch records (eq. 9) */
	const char *why;
	struct profile_equation *equations;
	size_t n_equations;
	uint32_t n_parts; /* that have equations */
	/* Posterior draws of block executions, [n_draws][n_blocks] row-major, for any sum one wants an interval of. */
	float *draws;
	size_t n_draws;
	/* [n_blocks] of these executions so many are raw counts of a part that was not solved; NULL = none. */
	float *doubt;
};

struct profile_event {
	const char *name;
	uint64_t period; /* 0 = only counted, or in frequency mode */
	bool freq;
	bool aside; /* perf's dummy: nobody asked for it, and it samples nothing */
	uint64_t n_samples;
	double total; /* of group values, else of periods */
	bool multiplexed;
	double rested; /* share of the time without a counter, that its total was scaled for (eq. 5); 0 where others count the same in its turns */
	double throttled; /* share of the time that its counter was stopped for its rate, that its total was scaled for (eq. 5) */
	double unsampled; /* share of what its counters counted that no sample stands for; 0 where it is not known, or small */
	double ended;  /* the same, of tasks that ended between two samples (eq. 5); 0 where small */
	double hidden; /* the same, for samples that come about as fast as they skid (eq. 5), where the file has no counts; 0 where small */
};

/*
 * A call stack that was seen: a function below the frame of its caller, or of the function that it is inlined in.  Counts are
 * of samples with this very stack.
 */
struct profile_frame {
	uint32_t parent;          /* profile->frames; UINT32_MAX of the root, which has no function */
	uint32_t func, phys_func; /* phys_func: that its code is in */
	double raw_insn, raw_cyc;
	bool open; /* its caller is missing, and not known: parent is the next one out that is there */
	double doubt; /* the chance that its caller, which was lost, is not the one that other stacks had; 0 = it was not lost */
};

/*
 * By paths: a physical function below its caller, once whatever it calls itself through.  Instructions are weights of
 * this function's only: of all its contexts, those with it left open included.
 */
enum { CONTEXT_PARTS = 16 };

struct profile_context {
	uint32_t parent; /* profile->contexts, before this one; UINT32_MAX: what called it is not known */
	uint32_t func;
	double insn, without[CONTEXT_PARTS]; /* without: by all paths but a sixteenth of them */
};

/* On stacks func may be missing between two: one that the caller called jumped to the callee, and who did nothing tells. */
struct profile_hidden {
	uint32_t func, caller, callee;
};

/*
 * One physical function calls another, by the code.  The calls are a sum of executions of blocks, where the flow tells them.
 */
struct profile_call {
	uint32_t caller, callee; /* profile->funcs */
	bool taken;              /* a region's flow goes over it */
	bool unseen;             /* it is in code that no sample is near */
	bool known;              /* and tells how often, as the sum of these terms: */
	uint32_t term0, n_terms; /* profile->terms */
	double n, lo, hi;        /* calls; NAN = not known */
	double context_sd;       /* noise of n, as a share of it, when contexts were weighed by it */
	double share; /* of the callee's calls by others that are this caller's; 0 of itself, and where nothing tells */
	bool guessed; /* share: the code has the call, and nothing tells how often this or any other of the callee is made */
};

/* Exact counts of calls: of one physical function by another, with all that was called, once where it calls itself. */
struct profile_counted {
	uint32_t caller, callee; /* profile->funcs; caller UINT32_MAX: a thread begins there */
	double n, insn;
};

/* What was sampled over the time of the recording, in steps of one length; by region, the first ones and all else. */
enum { PROFILE_TIME_REGIONS = 8 };

struct profile_step {
	double insn, cyc;
	double regions[PROFILE_TIME_REGIONS +
	               1]; /* instructions, or where they are not counted cycles; the last: none of them */
};

/* A thread under one of its names, and what was sampled of it: as seen, for skid does not lead from one thread to another. */
struct profile_task {
	uint32_t pid, tid;
	const char *comm;    /* ":TID" = not recorded */
	const char *process; /* the same; ":PID", for any thread of it, where that was not recorded */
	double insn, cyc;    /* events, cycles as in profile_count */
	double n_samples;    /* of both */
};

/* A kind of cores of a processor that has several, as its PMU is called, and what samples on it stand for. */
struct profile_core {
	const char *name;
	double insn, cyc;
};

struct profile_meta {
	const char *arch;                                       /* "x86_64"; "" = not recorded */
	const char *input, *cmdline, *hostname, *cpudesc, *pmu; /* pmu: "simulated", "hardware", "clock" */
	const char *method;
	const char *
	        model; /* constants that were changed for an experiment (correct/model/model.h); NULL = none */
	uint64_t seed;
	struct profile_event *events;
	size_t n_events;
	struct profile_core *cores; /* [n_cores], none or more than one */
	size_t n_cores;
	int insn_event,
	        cyc_event; /* -1 = not recorded; with neither, cyc_event is what was sampled instead */
	enum profile_skid_source skid_source;
	double skid_p10_cyc, skid_median_cyc, skid_p90_cyc; /* S */
	uint64_t n_skids;                                   /* overshoots it was measured from */
	double lost_share; /* of the samples that the kernel could not write, that totals were scaled for */
	bool shadowed;     /* precise samples of instructions, but not of a precise distribution */
	/* Precise samples are the answer, for they have none; how many there are, and what all stand for; else 0. */
	bool as_sampled;
	double chance_samples, chance_insn;
	uint64_t n_samples, n_lost, n_throttled;
	uint64_t n_unmapped; /* samples outside any known mapping */
	/* Samples of the user's code that came when the program had entered the kernel: shown where it did, or not known where. */
	uint64_t n_entries, n_entries_lost;
	uint64_t dropped_bytes; /* of the file, not read ... */
	uint64_t dropped_off;   /* ... from there on ... */
	const char *dropped_in; /* ... in this one of a folder's files, the first of ... */
	size_t n_dropped_in;    /* ... so many; "" and 0 where the recording is a single file */
	bool cut_off;           /* the file is shorter than its header says */
	bool unfinished;
	const char *trace;     /* of a processor, that is not read: "Intel PT"; NULL = none */
	struct spe_losses spe; /* of packets of Arm's SPE */
	bool branch_records,
	        branch_cycles; /* all branches that were taken, as a path; and the cycles between them */
	const char *branches;  /* "calls only": what those are that make no path; "" = none */
	/*
	 * Instructions were not counted, but bursts tell the way: counts of them mean something
	 * only as shares of a region.  Reports show profile_part.
	 */
	bool relative;
	bool cyc_known;   /* cyc_event counts the core's cycles, whatever its name */
	bool cyc_is_time; /* its samples come evenly in time: cycles, or a clock */
	double pace; /* instructions a cycle in all, where branch records or timed paths told them (eq. 10); 0 = they were counted, or are not known */
	bool pace_timed;       /* timed paths did */
	bool pace_is_a_branch; /* branches were sampled, or taken ones, and pace is instructions for each of them */
	uint64_t n_bursts;
	/* Paths that were timed, moments at which none could be; instructions in all by them, with a 90% interval, 0 = not known. */
	uint64_t n_timed, n_not_timed;
	double timed_insn, timed_lo, timed_hi;
	double timed_cyc;       /* of the same time; 0 = the core's frequency was not measured */
	uint64_t n_chains;      /* samples with a caller in their call stack */
	uint64_t n_chains_cut;  /* samples whose stack ends before the outermost caller */
	uint64_t n_chains_open; /* samples whose stack lacks somebody in its middle */
	uint64_t n_chains_lost; /* samples whose outermost callers are those of other samples */
	uint64_t n_lost_tested,
	        n_lost_wrong; /* whole stacks of bursts for which such were looked for, and found wrongly */
#define CHAINS_COPIES "copies of the stack, unwound"
	const char *chains;   /* how stacks are told: "frame pointers", ...; NULL = there are none */
	double core_hz;       /* cycles are time times this; 0 = they were counted, or not known */
	double cyc_per_event; /* what one of cyc_event stands for in counts of cycles: core_hz / 1e9, else 1 */
	const char *filter;   /* the part of the recording that this is of; NULL = all of it */
	uint64_t
	        n_all_samples; /* of the whole recording, of which a part is shown; bursts and timed paths are none */
	bool one_event;                /* an event was asked for, and is shown as sampled */
	const char *truth;             /* where counts of instructions come from, NULL = this recording */
	bool truth_rolled;             /* they are of physical functions only: reports show those */
	const char *truth_why;         /* what speaks against its being of the same run; "" if nothing */
	bool truth_of_other_arguments; /* and the recording's cycles over its instructions are no IPC */
	bool truth_of_one_task;        /* a process or thread of several: the same is true */
};

struct profile {
	struct profile_meta meta;
	struct profile_module *modules;
	size_t n_modules;
	/* Paths of files that exact counts alone tell of: module n_modules + i of a function is unsampled[i]. */
	const char **unsampled;
	size_t n_unsampled;
	struct profile_mapped *mapped;
	size_t n_mapped;
	const char **files;
	const char **file_dirs; /* that a path in `files` is relative to, where it is; NULL = not known */
	size_t n_files, file_cap;
	struct profile_insn *insns; /* sorted by (module, vaddr): all in regions, all with samples */
	size_t n_insns;
	struct profile_func *funcs;
	size_t n_funcs;
	struct profile_region *regions;
	size_t n_regions;
	struct profile_block *blocks; /* sorted by (module, vaddr) */
	size_t n_blocks;
	struct profile_way *ways; /* sorted by from */
	size_t n_ways;
	struct profile_trips *trips; /* loops around before those inside */
	size_t n_trips;
	uint32_t *trips_blocks;
	struct profile_term *terms;
	size_t n_terms;
	struct profile_frame *frames; /* the root first, callers before callees; none without call stacks */
	size_t n_frames;
	struct profile_context *contexts; /* none without paths of code whose instructions were counted */
	size_t n_contexts;
	struct profile_hidden *hidden; /* sorted */
	size_t n_hidden;
	uint64_t n_context_stacks;  /* paths whose whole stack is known, as bursts' are */
	struct profile_task *tasks; /* by first sample */
	size_t n_tasks;
	struct profile_step *steps; /* with call stacks asked for */
	size_t n_steps;
	uint64_t step_ns;
	struct profile_call *calls; /* sorted by (callee, caller) */
	size_t n_calls;
	struct profile_counted *
	        counted; /* of exact counts (meta.truth) that have calls; sorted by (callee, caller), one each */
	size_t n_counted;
	uint8_t worst;        /* worst status of a function of at least 1%: 3 of exit status */
	struct texts strings; /* owner of all text above */
};

/* 90% of a normal variable lie within so many standard deviations. */
static const double z_of_90 = 1.645;

/* Four samples or fewer are no more than a guess: a relative error of half or more. */
extern const double profile_fewest_samples;

/* Is it the system call by which a thread begins, and below which all is that the thread runs?  Who calls it goes on elsewhere. */
bool profile_begins_thread(const struct profile_func *f);

/* Events that a sample stands for; 0 where there are no samples. */
double profile_mean_period(const struct profile_event *e);

void profile_free(struct profile *p);

/* A copy of text that lives as long as the profile. */
const char *profile_string(struct profile *p, const char *text);

/* One more source file, of a folder that is not known; its number. */
uint32_t profile_add_file(struct profile *p, const char *file);

/*
 * What says how much an instruction or a function matters: instructions, and where none were counted, time, or whatever
 * else was sampled.
 */
double profile_weight(const struct profile *p, const struct profile_count *c);

/* Is that 1% of the total, which an exit status must not pass over?  Nothing is of a total of 0. */
bool profile_matters(const struct profile *p, const struct profile_count *c, double total);

/* "fixed", "raw", "weak", "unreliable". */
const char *profile_status_word(enum profile_status s);

/*
 * The status of a sum of instructions whose regions have the status given: fixed is weak where the interval is wider
 * than 4.2% of the count to either side.  Without an interval (nothing was drawn, or an exact count) it stays.
 */
enum profile_status profile_judge(enum profile_status status, const struct profile_count *count);

/*
 * The status of the regions of several instructions: the worst of them.  But what was corrected is not raw for a little that was
 * not: how unsure that makes the sum its interval says.
 */
struct profile_worst {
	double raw, all; /* weights */
	uint8_t status;
};
void profile_worst_add(struct profile_worst *worst, const struct profile *p, const struct profile_insn *insn);
enum profile_status profile_worst_status(const struct profile_worst *worst);

/* Of an instruction's executions, those that are raw counts of a part of its region that was not solved. */
double profile_doubt(const struct profile *p, const struct profile_insn *insn);

/*
 * The 90% interval of a raw count that nothing but chance is wrong with (Wilson's of its share of the samples); NAN where that
 * is not known.
 */
void profile_chance(const struct profile *p, double insn, double *lo, double *hi);

/*
 * The 90% interval of any sum of instructions: weights by index into
 * p->insns, the draws of different regions taken as independent.  Untouched
 * insns outside regions add their raw count.  Raw counts among the draws may
 * be nothing or twice as many: they widen it by themselves to either side.
 * A sum of raw counts alone has one where they are known to chance.
 */
void profile_interval(const struct profile *p, const uint32_t *insns, size_t n, double *mean, double *lo,
                      double *hi);

/* The same of weights[i] times each; NULL: 1. */
void profile_weighted_interval(const struct profile *p, const uint32_t *insns, const double *weights,
                               size_t n, double *mean, double *lo, double *hi);

/* A sum of instructions' executions, each weights[i] times (NULL: once). */
struct profile_sum {
	const uint32_t *insns;
	const double *weights;
	size_t n;
};

/*
 * The sum, no less than none, with the shortest interval of 90%: for counts that may be close to none.
 */
void profile_count(const struct profile *p, const struct profile_sum *of, double *mean, double *lo,
                   double *hi);

/*
 * One such sum for each of another, as in "instructions a call", with its 90% interval: both are of the same draws.
 * lo = hi = NAN where nothing of either was drawn; hi may be INFINITY.
 */
void profile_ratio(const struct profile *p, const struct profile_sum *num, const struct profile_sum *den,
                   double *mean, double *lo, double *hi);

#endif
