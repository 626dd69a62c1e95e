/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_ANNOTATE_H
#define SKIDPROF_REPORT_ANNOTATE_H

/*
 * One physical function as its source lines, with the calls that were put in
 * place below the lines they stand in, and as its instructions.
 */
#include "report/assemble/calls.h"
#include "report/assemble/listing.h"
#include "report/report.h"
#include "report/source.h"

enum { NODE_NONE = UINT32_MAX };

/* The region of an instruction or of all those of a line: none, or there are several. */
enum { ANNO_NO_REGION = -1, ANNO_SEVERAL = -2 };

/* A line of a function, or a function put in place at a line; the first node is the function itself. */
struct anno_node {
	bool is_line;
	const char *name;             /* of a function */
	const char *file;             /* of a line, or the function's first line's; "" = unknown */
	uint32_t line;                /* 0 = unknown; of a function where it is declared */
	uint32_t depth;               /* functions around it */
	uint32_t parent, child, next; /* nodes; lines in order of file and line */
	uint32_t end;                 /* nodes [self, end) are those below it, itself included */
	struct profile_count own;     /* without what was put in place in it */
	struct profile_count count;   /* with all below it */
	int32_t own_region, region;   /* of what ran of own and of count */
	double executed; /* of a line: of its own instruction that ran most, or where it has none that ran of one inlined at it */
	bool runs_own; /* executed is of its own */
	struct profile_worst worst;
	uint8_t status; /* of count */
};

struct annotation {
	const struct profile *p;
	uint32_t func;
	struct listing *listing;
	struct anno_node *nodes; /* each before those below it */
	size_t n_nodes;
	uint32_t *leaf;                     /* [listing->n] the line of each instruction */
	uint32_t *block;                    /* [listing->n] profile->blocks; UINT32_MAX = none */
	double total, total_raw, total_cyc; /* of the function, rolled up */
	double *of_region;                  /* [profile->n_regions] instructions of the function in each */
	size_t n_regions;                   /* where it ran some */
	uint32_t max_depth;                 /* of loops */
};

/* Returns 0, -SP_ENOMEM.  The annotation refers to the modules. */
int annotation_new(const struct profile *p, uint32_t func, struct listing_modules *modules,
                   struct annotation **out);
void annotation_free(struct annotation *a);

/*
 * The share of the function's instructions that a count is.  Where they were not counted, but corrected within regions, it is of
 * those in the same region; NAN where that is none, or several: nothing tells how many one ran beside another.
 */
double annotation_share_insn(const struct annotation *a, const struct profile_count *c, int32_t region);

/* The region of an instruction of the listing that was corrected. */
int32_t annotation_region(const struct annotation *a, size_t insn);

/* The loops an instruction is in, innermost first; how many. */
enum { ANNO_MAX_LOOPS = 16 };
size_t annotation_loops(const struct annotation *a, size_t insn,
                        const struct profile_trips *loops[ANNO_MAX_LOOPS]);

/* The way a conditional branch takes when it is taken; NULL where the profile has none. */
const struct profile_way *annotation_taken(const struct annotation *a, size_t insn);

/*
 * Why cycles that were seen at an instruction are of another one: "" or a word.  Known where samples have no skid that a
 * block could not hold.
 */
void annotation_stall(const struct annotation *a, size_t insn, char *out, size_t size);

/* What is to be known of where the cycles of the function were seen; "" where they are where they belong. */
void annotation_skid(const struct annotation *a, char *out, size_t size);

struct annotate_opts {
	bool source, assembly; /* which parts */
	bool whole;            /* cold lines too */
	bool hot;              /* lines by share, not in order */
	bool raw;              /* raw counts beside the fixed ones */
	uint32_t context;      /* cold lines shown around a hot one */
	double min_share;      /* of a function: less is cold */
	const char *file;      /* with line: only around that line */
	size_t same_end; /* of files that have so many names in common with it at least, as report_same_end() counts */
	uint32_t line;
};

/* Text of one function, below what meta_print says. */
int annotate_text(const struct annotation *a, const struct annotate_opts *o, struct sources *s,
                  const struct term *term);
int annotate_json(const struct annotation *a, const struct annotate_opts *o, struct sources *s, json_t **out);

#endif
