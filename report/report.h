/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_REPORT_H
#define SKIDPROF_REPORT_REPORT_H

/*
 * A profile as something to read.  A view (functions, regions, lines,
 * instructions, or one function explained) is a table; every report begins
 * with where the numbers come from.
 */
#include "report/profile.h"
#include "report/table.h"
#include "report/term.h"

enum report_show { REPORT_BOTH, REPORT_FIXED, REPORT_RAW };
enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV };
enum report_view {
	REPORT_FUNCTIONS,
	REPORT_REGIONS,
	REPORT_LINES,
	REPORT_INSNS,
	REPORT_CALLS,
	REPORT_TRIPS,
	REPORT_CHILDREN,
	REPORT_CALLERS,
	REPORT_CALLEES,
	REPORT_WHY,
	REPORT_PROCESSES, /* from here on nothing is corrected */
	REPORT_THREADS,
	REPORT_EVENTS
};
enum report_sort {
	SORT_SHARE,
	SORT_RAW,
	SORT_FIXED,
	SORT_CYCLES,
	SORT_IPC,
	SORT_CHANGE,
	SORT_STATUS,
	SORT_NAME,
	SORT_CALLS,
	SORT_PID
};

struct report_opts {
	enum report_show show;
	enum report_format format;
	enum report_view view;
	enum report_sort sort;
	size_t limit;         /* rows of text; 0 = all */
	double min_share;     /* rows of less are left out, whatever the format */
	const char *function; /* only functions that match; NULL = all */
	const char *why;      /* REPORT_WHY, _CALLERS, _CALLEES: which function */
	bool rollup;          /* inlined functions in the physical one that holds them */
};

#define REPORT_OPTS_DEFAULT \
	{                   \
		.limit = 40 \
	}

/* Words of --format and --sort: 0 or -SP_EUSAGE with a suggestion. */
int report_format_parse(const char *word, enum report_format *out);
int report_sort_parse(const char *word, enum report_sort *out);

/* Write the report.  -SP_ENOENT when no function matches, with the nearest name. */
int report_print(const struct profile *p, const struct report_opts *o, const struct term *term);

/*
 * -SP_EDOUBT, worded, when functions of at least 1% are unreliable (the
 * profile's `worst`), else 0.
 */
int report_verdict(const struct profile *p);
/* How many functions of at least 1% are unreliable, and the largest of them; function: of that name only, NULL = all. */
size_t report_unreliable(const struct profile *p, const char *function, const struct profile_func **largest);
/* Where only functions of one name are shown. */
int report_verdict_of(const struct profile *p, const char *function);

/* ---- shared by the views ---- */

/* What a profile holds and the user wants to see: bits of column.need. */
enum report_have {
	HAVE_INSN = 1 << 0,
	HAVE_CYC = 1 << 1,
	HAVE_RAW = 1 << 2,     /* raw counts are wanted */
	HAVE_FIXED = 1 << 3,   /* corrected ones are */
	HAVE_MODULES = 1 << 4, /* more than one module is shown */
	HAVE_SAMPLES = 1 << 5, /* no instructions: samples stand in for them */
	HAVE_PARTS = 1 << 7,   /* instructions as shares of a region only */
	HAVE_CALLS = 1 << 8,   /* of some function it is known how often it was called */
	HAVE_OTHER = 1 << 6,   /* neither instructions nor cycles: meta.cyc_event is some other event */
};

unsigned report_have(const struct profile *p, const struct report_opts *o);

/*
 * What was counted.  A file with neither event has the one it has in place
 * of cycles: it is shown under its own name.
 */
bool report_has_insn(const struct profile *p);
bool report_has_cyc(const struct profile *p);
bool report_has_other(const struct profile *p);
/* By time, without a PMU: there are no other events and no branch records then. */
bool report_by_clock(const struct profile_meta *m);

/* Instructions per cycle; NAN where cycles are not counted, or under five samples of them, or over 16. */
double report_ipc(const struct profile *p, double insn, double cyc);

/* Why there is none, though both were counted; NULL where there is one, or nothing to make it of. */
const char *report_no_ipc(const struct profile *p, double insn, double cyc);

/* Samples of a function's own or rolled count: of instructions, else of what there is. */
double report_samples(const struct profile *p, const struct profile_count *c);

/* Half of the 90% interval that chance gives a count of n_samples, as a share of it. */
double report_chance(double n_samples);
/* A count of an event is scaled for the time it had no counter, and chance leaves more than 5% of its samples to either side. */
bool report_is_rough(const struct profile_event *e, double n_samples);
/* A count of the events that are shown, marked where it is rough. */
struct cell report_events(const struct profile *p, double count, double n_samples);

/* "flow,mix": what a count rests on; "" for nothing. */
enum { KNOWN_MAX = 72 };
void report_known(uint8_t evidence, char out[KNOWN_MAX]);
/* The same in the words of text: "flow,totals". */
void report_evidence(uint8_t evidence, char out[KNOWN_MAX]);

/*
 * A pattern with *, ? or [ is a glob for the name or the linkage name; any
 * other is the name itself, with or without parameters and scope.
 */
bool report_matches(const struct profile_func *f, const char *pattern);

/* What text calls a function: its name, and in full where others have the same. */
const char *report_name(const struct profile_func *f);

/* -SP_ENOENT: no function matches, with the nearest name there is. */
int report_no_match(const struct profile *p, const char *pattern);

/* "dir/file.c" -> "file.c". */
const char *report_base(const char *path);

/* The path of a file of the folder `dir` (NULL = not known), without "." and "name/..". */
void report_path(const char *dir, const char *file, char *out, size_t size);

/* How many names two paths have in common at their ends: 2 of "/a/b/c.h" and "b/c.h", 0 of "c.h" and "d.h". */
size_t report_same_end(const char *x, const char *y);

/* "dir/app 3" -> "app 3". */
const char *report_command_base(const char *line);

/* The path of a module, "" for one that isn't in the profile. */
const char *report_module(const struct profile *p, uint32_t module);
const char *report_file(const struct profile *p, uint32_t file);

/* Where the numbers come from: lines with "# " before them, or an object. */
void meta_print(const struct profile *p, FILE *f);
/* The same above a table that has these columns. */
struct meta_columns {
	bool parts; /* shares of a region */
	bool cycles, cpi;
	bool compared; /* with exact counts: what stands there is of those */
};
void meta_print_for(const struct profile *p, const struct meta_columns *columns, FILE *f);
void meta_first_line(const struct profile *p, char *out, size_t size);
/* Files that are gone, changed or lack something, and the remedy. */
void meta_troubles(const struct profile *p, FILE *f);
/* What stands for instructions that were not counted; nothing where they were. */
void meta_not_counted(const struct profile *p, FILE *f);

/* Did correction change nothing at all, where it could have?  Then why, and what to do about it, in a sentence. */
bool meta_nothing_fixed(const struct profile *p, char *out, size_t size);
int meta_json(const struct profile *p, json_t **out);

/*
 * A view: rows made once, sorted and filtered, and their table.  view_free
 * takes the rows; the table borrows from view and profile.
 */
struct view {
	const struct profile *p;
	struct table table;
	void *rows;
	double total;       /* of what shares are of */
	size_t *pick;       /* rows that are shown, where not all are */
	size_t n_small;     /* left out for their share ... */
	double small_share; /* ... which is together */
	double small_time;
	double (*share)(const struct view *v, size_t row);
	double (*time)(const struct view *v,
	               size_t row); /* share of the cycles, where `share` is of instructions; or NULL */
	double (*size)(const struct view *v, size_t row); /* what it is to be shown for; NULL: its share */
	long (*func)(const struct view *v,
	             size_t row); /* p->funcs, -1 = none; NULL where rows are no functions */
};

int view_functions(const struct profile *p, const struct report_opts *o, struct view *out);
int view_regions(const struct profile *p, const struct report_opts *o, struct view *out);
int view_lines(const struct profile *p, const struct report_opts *o, struct view *out);
int view_insns(const struct profile *p, const struct report_opts *o, struct view *out);
int view_calls(const struct profile *p, const struct report_opts *o, struct view *out);
int view_trips(const struct profile *p, const struct report_opts *o, struct view *out);
int view_children(const struct profile *p, const struct report_opts *o, struct view *out);
int view_tasks(const struct profile *p, const struct report_opts *o, struct view *out);
int view_events(const struct profile *p, const struct report_opts *o, struct view *out);
int view_parts(const struct profile *p, const struct report_opts *o, struct view *out);
void view_free(struct view *v);

/*
 * Source lines: indices into p->insns sorted so that a line's lie together,
 * where the line of the i-th ends, and what it is called ("file.c:17").
 * Instructions without a line are one line a function.
 */
enum { PLACE_MAX = 64 };
void lines_sort(const struct profile *p, uint32_t *insns, size_t n);
size_t lines_end(const struct profile *p, const uint32_t *insns, size_t i, size_t n);
void lines_place(const struct profile *p, const struct profile_insn *insn, char out[PLACE_MAX]);

/*
 * The instruction that a loop is named by: its last branch back, whose line is that of the for or while; NULL where the
 * loop's header is not in the profile.
 */
const struct profile_insn *trips_insn(const struct profile *p, const struct profile_trips *t);

/* IPC of what a call of f comes to, one of its two rates; NAN as report_ipc() has it, and where calls are not known. */
double calls_ipc(const struct profile *p, const struct profile_func *f, const struct profile_rate *rate);
/* Its cycles: those that would be of more instructions a cycle than a core keeps up landed elsewhere, or are of another run. */
double calls_cyc(const struct profile *p, const struct profile_func *f, const struct profile_rate *rate);

/* What these views rest on: a line with "# " before it, nothing for others. */
void children_note(const struct profile *p, const struct report_opts *o, FILE *f);

/* Is there a function of that name?  Else -SP_EUSAGE, as report_no_match says it. */
int why_check(const struct profile *p, const char *function);

/* One function explained: text, or an object with the regions it is in. */
int why_print(const struct profile *p, const char *function, const struct term *term);
int why_json(const struct profile *p, const char *function, json_t **out);

#endif
