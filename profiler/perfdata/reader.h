/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_READER_H
#define SKIDPROF_PERFDATA_READER_H

/*
 * Reads perf.data of any perf version: file, folder or pipe mode, either byte order,
 * compressed or not.  Records come in time order, as far as the file's
 * FINISHED_ROUND marks allow, by perf's own rule.  At most 64 MB of records
 * are held back for that, whether there are marks or not; past it the older
 * half goes out.  So memory never grows with the file.  What Arm's SPE has written as packets comes as samples, each in its turn.  A damaged file is read to its last whole record, and pd_stats says
 * what was left out.
 */
#include "profiler/perfdata/record.h"
#include "profiler/perfdata/spe.h"

struct pd_reader;

struct pd_event {
	struct perf_event_attr attr; /* zero-extended; fields beyond ours dropped */
	char *name;                  /* from EVENT_DESC or the attr; never NULL */
	const uint64_t *ids;
	size_t n_ids;
	int leader; /* index of the group's leader (itself if alone) */
	bool spe;   /* its samples are packets of Arm's SPE */
};

/* What the branches on record are, as the event's branch_sample_type asked for them. */
enum pd_branches {
	PD_BRANCHES_ALL,         /* all that were taken: a path */
	PD_BRANCHES_CONDITIONAL, /* only those, ... */
	PD_BRANCHES_CALLS,
	PD_BRANCHES_RETURNS,
	PD_BRANCHES_CALLERS, /* ... or only calls that are not back yet */
	PD_BRANCHES_SOME,    /* others */
};

/* What the header says; NULL or 0 where it doesn't. */
struct pd_header {
	const char *hostname, *os_release, *version, *arch, *cpudesc, *cpuid, *cmdline;
	uint32_t n_cpus_online;
	bool swapped; /* written on a machine of the other byte order */
	bool pipe;
};

struct pd_stats {
	uint64_t n_records, n_samples;
	uint64_t n_lost;         /* records of any kind that found no room in the buffer, by LOST */
	uint64_t n_lost_samples; /* samples that did not come so far, by LOST_SAMPLES of the kernel */
	uint64_t n_throttle;
	uint64_t n_unknown;     /* records of a type we don't know, skipped */
	uint64_t n_unknown_id;  /* samples whose event could not be told */
	uint64_t dropped_bytes; /* cut off or damaged, not read ... */
	uint64_t dropped_off;   /* ... the first of them at this offset in the file ... */
	const char
	        *dropped_in; /* ... of this path, where the recording is a folder; else NULL; the reader's */
	size_t n_dropped_in; /* so many files of the folder lack some */
	bool cut_off;        /* the file is shorter than its header says: a copy that was cut off */
	bool unfinished;     /* the recorder did not finish the file (data size 0, no features) */
	const char *trace;   /* "Intel PT": a processor's own trace that is not read; NULL = none */
	struct spe_losses spe;
};

/*
 * Open a file, a folder that perf record --threads or --kcore made, "-" for standard input.  Refuses, with one clear line
 * (-SP_EFORMAT), what is not a perf.data file, and
 * `perf stat record` files.
 */
int pd_open(const char *path, struct pd_reader **out);
void pd_close(struct pd_reader *r);

size_t pd_n_events(const struct pd_reader *r);
const struct pd_event *pd_event(const struct pd_reader *r, size_t i);
/* Samples nothing: perf adds it for the records that come with it. */
bool pd_event_is_dummy(const struct pd_event *e);
/* Is it one of software's, or a tracepoint?  The kernel raises it itself, at the instruction it is of: without a skid. */
bool pd_event_is_kernels(const struct pd_event *e);
/* Does the core count it?  The kernel's own events need no counter, but for those in a group whose leader does. */
bool pd_event_has_counter(const struct pd_reader *r, size_t i);
/* "cpu_core" of "cpu_core/cycles/u": its length, 0 where the event is of no PMU that is named. */
size_t pd_event_pmu_length(const struct pd_event *e);
/* Which part of an event's name one may call it by: all, what stands before its modifiers (:u, or behind a slash), or what a PMU has between slashes. */
enum pd_name_part { PD_NAME_WHOLE, PD_NAME_BARE, PD_NAME_IN_PMU, PD_NAME_PARTS };
/* Between names of events that are shown as one; the first of them is what such a name calls. */
#define PD_NAME_AND " + "
bool pd_event_is_named(const struct pd_event *e, const char *name, enum pd_name_part part);
/* A processor with two kinds of cores has a PMU for each, and an event of the same name in both. */
bool pd_on_other_cores(const struct pd_event *a, const struct pd_event *b);
/* Do they count the same, and sample alike? */
bool pd_attrs_same(const struct perf_event_attr *a, const struct perf_event_attr *b);
/* A clock other than the core's cycles. */
bool pd_event_is_clock(const struct pd_event *e);
/* What the branches on an event's records are. */
enum pd_branches pd_branches_of(const struct perf_event_attr *attr);
/* Its samples have branches that make a path. */
bool pd_event_has_paths(const struct pd_event *e);
/* What skidprof record --bursts writes: no kernel has branch stacks for either of these events. */
bool pd_event_is_bursts(const struct pd_event *e);
/* "conditional branches only", "calls only", ...: "" for PD_BRANCHES_ALL. */
const char *pd_branches_word(enum pd_branches kind);
const struct pd_header *pd_header(const struct pd_reader *r);
/* Complete once pd_next has returned 0. */
const struct pd_stats *pd_stats(const struct pd_reader *r);

/*
 * Samples that are not in the file.  LOST counts whatever found no room in the buffer, maps and names of tasks as well: of these as many
 * are samples as of those that did.  perf since 6.1 asks each event at the end how many it lost, and writes LOST_SAMPLES
 * without a time: the same records once more, told by event, and those that no LOST came behind.  Those that the
 * kernel itself writes are of what a processor's own buffer lost.  Samples that a filter of perf record threw away are none.
 */
double pd_lost_samples(const struct pd_reader *r);

/*
 * Build id of a file from the header's table or from MMAP2 records seen so
 * far.  Returns its size in bytes, 0 = none known; id borrowed.
 */
size_t pd_build_id(const struct pd_reader *r, const char *path, const uint8_t **id);

/*
 * The next record in time order.  Returns 1, 0 at the end, or -SP_EIO; damage
 * is no error: what follows it is dropped and counted.  In pipe mode events
 * may still be added until the first sample.
 */
int pd_next(struct pd_reader *r, struct pd_record *rec);

/* Start again at the first record; -SP_ENOTSUP for a pipe that can't seek. */
int pd_rewind(struct pd_reader *r);

#endif
