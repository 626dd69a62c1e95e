/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CALIBRATE_CLIFF_H
#define SKIDPROF_CALIBRATE_CLIFF_H

/*
 * Cliffs: microbenchmarks that each put a growing pressure on one feature of
 * a core, after "Microarchitecture Cliffs", section 4.2.  A cliff is one row of
 * a table; from it, code is emitted for each pressure, the same bytes for the
 * processor and for the simulated core.  What comes back is a curve, pressure
 * against cycles, and from the curve one number is inferred.
 *
 *	cliff_table -> cliff_arena_prepare, cliff_emit -> run -> cliff_curve -> cliff_infer
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cliff_class {
	CLIFF_LATENCY,   /* dependent chains */
	CLIFF_BANDWIDTH, /* independent streams, up to a plateau */
	CLIFF_CAPACITY,  /* a long miss with fillers behind it, or a growing footprint, up to a step */
	CLIFF_SPECIAL,   /* with the feature and without it */
};

/* How snippet and pressure p become the body of a loop. */
enum cliff_shape {
	CLIFF_CHAIN,   /* p times the snippet, always the same registers */
	CLIFF_STREAMS, /* CLIFF_GROUPS times (the snippet for each of p streams) */
	CLIFF_SERIES,  /* p times the snippet, each the next stream */
	CLIFF_MISSES,  /* a miss, p snippets, a miss independent of the first, p snippets */
	CLIFF_CHASE,   /* a pointer chase over p KB, CLIFF_CHASE_LOADS at a time */
	CLIFF_CALLS,   /* p nested calls and returns */
	CLIFF_PATTERN, /* the snippet, which repeats itself after p turns; the setup has p as {n} */
	CLIFF_PAIR,    /* CLIFF_PAIRS times: the base for p = 0, the snippet for p = 1 */
};

enum { CLIFF_GROUPS = 16, CLIFF_CHASE_LOADS = 32, CLIFF_PAIRS = 32, CLIFF_LEARN = 12 };

/* What is inferred from the curve; a is `amount` of the row. */
enum cliff_method {
	CLIFF_SLOPE,      /* trend line; its slope / a */
	CLIFF_RATE,       /* trend line; a / its slope */
	CLIFF_PLATEAU,    /* the plateau that a x pressure / response comes to */
	CLIFF_KNEE,       /* change point; the last pressure before it + a */
	CLIFF_BEND,       /* the same where the slope changes, not only the level */
	CLIFF_FILL,       /* footprint in KB up to which a cache holds everything */
	CLIFF_LEVEL,      /* the level of a flat curve / a */
	CLIFF_DIFFERENCE, /* response with the feature - without it, / a */
	CLIFF_PRESENCE,   /* 1 where response with it <= a x without it, else 0 */
};

/* What the numbers of a range are in: as they are, or percent of a cache's size. */
enum cliff_scale { CLIFF_AS_IT_IS, CLIFF_OF_L1, CLIFF_OF_L2, CLIFF_OF_L3 };

enum {
	CLIFF_NEEDS_FMA = 1 << 0,
	CLIFF_NEEDS_AVX = 1 << 1,
	CLIFF_NEEDS_AES = 1 << 2,
	CLIFF_NEEDS_POPCNT = 1 << 3
};

struct cliff {
	const char *name, *unit;
	uint8_t cls;    /* enum cliff_class */
	uint8_t shape;  /* enum cliff_shape */
	uint8_t method; /* enum cliff_method */
	uint8_t scale;  /* enum cliff_scale */
	uint8_t needs;  /* CLIFF_NEEDS_… */
	bool is_far;    /* r14 and r15 walk over more memory than any cache holds */
	bool is_shared; /* with other users of the machine: never better than weak */
	bool integer;   /* a count of something: its exact value matters */
	uint16_t from, to, step;
	double amount;       /* see enum cliff_method */
	const char *setup;   /* run once, before the loop; may be NULL */
	const char *base;    /* of a pair: without the feature */
	const char *snippet; /* see asm_text; of CLIFF_MISSES: the filler */
	const char
	        *miss; /* of CLIFF_MISSES: the miss and what hangs on it, {w} walks; NULL: "mov {w},[{w}]" */
	const char *behind;     /* a capacity that the fillers use up too, see cliff_attribute; may be NULL */
	uint8_t behind_percent; /* how near its place is the same place */
	const char *params;     /* keys of the core file that it speaks of, separated by blanks; "" = none */
	const char *isolates;
};

/* All cliffs of x86-64, in the order in which they are shown. */
const struct cliff *cliff_table(size_t *n);

/* NULL when there is none of that name. */
const struct cliff *cliff_find(const char *name);

/* "latency", "bandwidth", "capacity", "special". */
const char *cliff_class_name(enum cliff_class cls);

/* ---- memory ---- */

/* What the emitted code is called with (rsi); read at its start, chases written back at its end. */
struct cliff_state {
	uint64_t chase[2]; /* r14, r15: where the two chases are, or just two registers */
	uint64_t buffer;   /* r13 and r12: CLIFF_BUFFER_BYTES of written memory */
	double one, zero;  /* xmm0 to xmm15 are one, but xmm14, which is zero */
};

/* The buffer: zeros, but its first word points to itself. */
enum { CLIFF_BUFFER_BYTES = 1 << 18 };

struct cliff_arena {
	struct cliff_state *state;
	uint8_t *map;
	size_t n_bytes;
	uint8_t *buffer, *chase; /* chase: huge pages where the system gives them */
	uint64_t chase_bytes;    /* a power of two, at least CLIFF_CHASE_BYTES and twice the largest cache */
	uint64_t chase_lines; /* of the footprint laid out in it; 0 = none, UINT64_MAX = the two long ones */
	uint64_t seed;        /* of where walks begin */
	bool has_huge_pages;
};

enum { CLIFF_CHASE_BYTES = 256 << 20 };

/*
 * Everything is written once: see trap 1 in skidprof-calibrate(1).
 * l3_kb  the largest cache, 0 = not known: a chase that no cache holds must not fit in it.
 * -SP_ENOMEM, also where so much memory is not free.
 */
int cliff_arena_open(struct cliff_arena *a, uint32_t l3_kb);
void cliff_arena_close(struct cliff_arena *a);

/* Lay out what a cliff needs at a pressure: the pointers of its chase, the state. */
void cliff_arena_prepare(struct cliff_arena *a, const struct cliff *c, uint32_t pressure);

/* ---- code ---- */

/*
 * A function of the C calling convention, position-independent:
 *
 *	void code(uint64_t n_iterations, struct cliff_state *state);
 */
struct cliff_code {
	uint8_t *code; /* caller's room */
	size_t n_bytes, cap;
	size_t loop_off;          /* of the loop's first instruction; it ends with dec and jne */
	uint32_t insns_in_loop;   /* counter and branch included, called functions not */
	double parts;             /* response = cycles of an iteration / parts */
	uint64_t warm_iterations; /* until caches and predictors are in their steady state, at least */
};

enum { CLIFF_CODE_BYTES = 1 << 16 };

/* Returns 0; -SP_EFORMAT: the row can't be assembled; -SP_ENOMEM: no room. */
int cliff_emit(const struct cliff *c, uint32_t pressure, struct cliff_code *out);

/* ---- curves ---- */

enum { CLIFF_MAX_POINTS = 192 };

struct cliff_curve {
	size_t n;
	uint32_t pressure[CLIFF_MAX_POINTS]; /* ascending */
	double response[CLIFF_MAX_POINTS];   /* cycles, see struct cliff_code */
	double spread[CLIFF_MAX_POINTS];     /* half the width of its 95% interval; 0 = exact */
	bool is_disturbed;                   /* part of it was measured beside a neighbour on the core */
};

/* Sizes that percent in ranges are of. */
struct cliff_sizes {
	uint32_t l1_kb, l2_kb, l3_kb;
};

/* The pressures of a cliff, responses zero.  quick: fewer of them. */
void cliff_pressures(const struct cliff *c, const struct cliff_sizes *sizes, bool quick,
                     struct cliff_curve *out);

/*
 * Every pressure around the change point of a curve whose steps are coarser:
 * `out` has only what is new; n = 0 when there is no change point, or nothing is.
 */
void cliff_refine(const struct cliff *c, const struct cliff_curve *coarse, struct cliff_curve *out);

/* Put the points of b among those of a; where both have a pressure, b's. */
void cliff_curve_join(struct cliff_curve *a, const struct cliff_curve *b);

enum cliff_verdict {
	CLIFF_CLEAN,  /* the number can be relied on */
	CLIFF_WEAK,   /* there is something, but its place or size is not certain to 3% */
	CLIFF_ABSENT, /* nothing of the kind is seen on this core in this range */
	CLIFF_NOISY,  /* the measurement would not repeat */
};

const char *cliff_verdict_name(enum cliff_verdict v);

struct cliff_result {
	double value, lo, hi; /* with its 95% interval; NAN when absent */
	enum cliff_verdict verdict;
	double before,
	        after; /* of a change point: response at its foot and behind it; of a pair: without and with */
};

/*
 * Trap 8: one filler does not tell which of two structures was full.  A
 * change point within c->behind_percent of that of the row c->behind is that
 * row's, and c's becomes absent.
 */
void cliff_attribute(const struct cliff *c, const struct cliff_result *behind, struct cliff_result *r);

/* Only the curve decides: real and model curves are treated alike.  -SP_EDOMAIN: too few points; -SP_ENOMEM. */
int cliff_infer(const struct cliff *c, const struct cliff_curve *curve, struct cliff_result *out);

/*
 * Several sweeps of one cliff, each inferred by itself, beside what all of
 * them together say: widens r's interval to what they differ by, and its
 * verdict with it.
 */
void cliff_agree(const struct cliff_result *sweeps, size_t n, struct cliff_result *r);

/* ---- the processor ---- */

struct cliff_native; /* executable memory, arena, clock; one at a time */

/*
 * Returns 0; -SP_ENOTSUP on a machine without cliffs (not x86-64) or where
 * the system allows no code made at run time; -SP_ENOMEM; -SP_EIO.
 */
int cliff_native_open(struct cliff_native **out);
void cliff_native_close(struct cliff_native *n);

struct cliff_arena *cliff_native_arena(struct cliff_native *n);
void cliff_native_sizes(const struct cliff_native *n, struct cliff_sizes *out);
double cliff_native_core_ghz(const struct cliff_native *n);
double cliff_native_tsc_ghz(const struct cliff_native *n);

/* Why cycles are not counted by the processor's counter; NULL when they are. */
const char *cliff_native_no_pmu(const struct cliff_native *n);

/* Why this processor has no such cliff, NULL when it can run it. */
const char *cliff_native_lacks(const struct cliff *c);

/*
 * Where curves are measured: measure the responses of one whose pressures are
 * given, once.  Returns 0; 1: what was measured so far, of whatever cliff, was
 * measured beside a neighbour on the core, and is void; errors of cliff_emit.
 */
struct cliff_bench {
	int (*run)(void *user, const struct cliff *c, struct cliff_curve *curve);
	void *user;
	struct cliff_sizes sizes;
};

void cliff_native_bench(struct cliff_native *n, struct cliff_bench *out);

/* How long, over all, neighbours on the core (see sentinel.h) are waited for; then what is shared is measured as it is. */
void cliff_native_patience(struct cliff_native *n, double seconds);

/* What was seen of them. */
struct cliff_company {
	uint32_t
	        window; /* instructions that fit into the core, roughly; 0: it can't be told who else is there */
	double share; /* of the time, somebody was */
	double waited_s;
	uint64_t n_looks, n_again; /* n_again: runs that were taken again */
	unsigned n_void;           /* how often everything was measured anew */
};

void cliff_native_company(const struct cliff_native *n, struct cliff_company *out);

enum { CLIFF_MAX_SWEEPS = 5 };

/* Measurements of one cliff at several times; all zero at first. */
struct cliff_sweeps {
	size_t n, n_tried; /* sweeps that are there; that were begun */
	bool is_disturbed; /* no sweep was undisturbed: there is but one, and what it says is not to be used */
	bool is_lost;      /* the change point was elsewhere than where it was looked for: never clean */
	struct cliff_curve sweep[CLIFF_MAX_SWEEPS];
	struct cliff_result alone[CLIFF_MAX_SWEEPS]; /* what each says by itself */
	struct cliff_curve again;                    /* the pressures of every further sweep */
	struct cliff_curve curve;                    /* each point's median over them */
	struct cliff_result result; /* of that curve, with what they differ by in its interval */
};

/*
 * One sweep more: over the cliff's pressures, the first time also those around
 * a change point.  Let time pass between two of them: what neighbours on the
 * machine do lasts for seconds.  A sweep that was disturbed is not kept beside
 * others.  Returns what the bench does.
 */
int cliff_sweep(const struct cliff_bench *b, const struct cliff *c, bool quick, struct cliff_sweeps *s);

/* No further sweep is needed, or none would help. */
bool cliff_sweeps_settled(const struct cliff *c, const struct cliff_sweeps *s, bool quick);

#endif
