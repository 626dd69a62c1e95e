/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_READER_H
#define SKIDPROF_PERFDATA_READER_H

/*
 * Reads perf.data of any perf version: file or pipe mode, either byte order,
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
	uint64_t dropped_off;   /* ... the first of them at this offset in the file */
	bool unfinished;        /* the recorder did not finish the file (data size 0, no features) */
	const char *trace;      /* "Intel PT": a processor's own trace that is not read; NULL = none */
	struct spe_losses spe;
};

/*
 * Open a file, "-" for standard input.  Refuses, with one clear line
 * (-SP_EFORMAT), what is not a perf.data file, and
 * `perf stat record` files.
 */
int pd_open(const char *path, struct pd_reader **out);
void pd_close(struct pd_reader *r);

size_t pd_n_events(const struct pd_reader *r);
const struct pd_event *pd_event(const struct pd_reader *r, size_t i);
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
