/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_CORRECT_RECORDING_FILTER_H
#define SKIDPROF_CORRECT_RECORDING_FILTER_H

/*
 * A part of a recording: samples of some processes, threads or names, of one kind of cores, or of a window of time.  What is left out is as if it
 * had not run: counts that samples carry go on from each one kept to the next one kept, less what was counted between.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pd_reader;
struct pd_record;
struct recording;

enum { FILTER_MAX_IDS = 64 };

struct filter_ids {
	uint32_t v[FILTER_MAX_IDS];
	size_t n; /* 0 = all */
};

struct filter_opts {
	const char *comm; /* names or patterns of threads, ',' between; NULL = all */
	struct filter_ids pids, tids;
	const char *core; /* a kind of cores, as its PMU is called (profile_meta.cores); NULL = all */
	const char *time; /* as given, NULL = all of it */
	double from, to;  /* seconds since the first sample, or shares of the recording */
	bool shares;
};

/* "17,18" */
int filter_parse_ids(const char *option, const char *text, struct filter_ids *out);
/* "2..5", "2,5" (seconds), "..5", "10%..20%" */
int filter_parse_time(const char *text, struct filter_opts *out);
bool filter_is_set(const struct filter_opts *o);
/* "comm 'mix', pid 17, time 2..5 s" */
void filter_words(const struct filter_opts *o, char *out, size_t size);

struct filter;

/* For a window in shares of the recording it is gone through once, and begun anew. */
int filter_new(const struct filter_opts *o, struct pd_reader *r, struct filter **out);
void filter_free(struct filter *f);
/* A pass begins. */
void filter_restart(struct filter *f);
uint64_t filter_n_kept(const struct filter *f);
/* After a pass: how many samples the recording has, bursts and timed paths not among them. */
uint64_t filter_n_samples(const struct filter *f);
/* Of one kind of cores, on which threads are for a part of their time only. */
bool filter_has_core(const struct filter *f);
/* After a pass: the seconds that the recording lasts, where the window begins behind its end; else 0. */
double filter_ended_before(const struct filter *f);

/* Is this sample one of the part?  Then its values become those of the part; `values` is room for as many as it has. */
struct pd_value;
void filter_take(struct filter *f, const struct recording *r, struct pd_record *rec, struct pd_value *values,
                 bool *kept);

/* Is this sample, which is not, of the part's threads? */
bool filter_is_at_other_time(const struct filter *f, const struct recording *r, const struct pd_record *rec);

/* The window of time; NULL, or none that was asked for, is all of it. */
void filter_window(const struct filter *f, uint64_t *from_ns, uint64_t *to_ns);

/*
 * Is this record, no sample, of the part's threads, at whatever time?  Its time is moved to the nearest of the window: what lasts
 * from one record to another lasts as long as it does in there.
 */
bool filter_note(const struct filter *f, const struct recording *r, struct pd_record *rec);

#endif
