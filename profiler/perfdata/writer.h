/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_WRITER_H
#define SKIDPROF_PERFDATA_WRITER_H

/*
 * Writes a perf.data file that perf from 5.x on reads: attr size 128 or less,
 * IDENTIFIER first in every sample, one group.  The data size in the header
 * is brought up to date as the file grows, so a killed recorder leaves a
 * readable file; the features stand before the records as well as behind
 * them, so that such a file still has names and CPU.  An existing file is
 * kept as FILE.old, as perf does; the new one appears under its name at once.
 */
#include "profiler/perfdata/record.h"

struct pd_writer;

struct pd_writer_event {
	struct perf_event_attr attr; /* sample_type, read_format, period ... as wanted */
	const char *name;
	const uint64_t *ids;
	size_t n_ids;
	int leader; /* index of the group's leader */
};

struct pd_writer_info { /* header features; NULL = taken from this machine */
	const char *cpudesc, *cpuid, *arch;
	int argc; /* command line of the recording */
	char **argv;
	const struct pd_writer_event *events; /* copied */
	size_t n_events;
	uint32_t compress_level; /* zstd level of COMPRESSED records, 0 = none */
};

/*
 * path "-" writes pipe mode to standard output.  -SP_EIO with the path and
 * the remedy when it can't be created.
 */
int pd_writer_open(const char *path, const struct pd_writer_info *info, struct pd_writer **out);

/* Could it be created?  Leaves what is there as it is; NULL is fine.  -SP_EIO, as above. */
int pd_writer_check(const char *path);

/* Append one record.  Each returns 0 or -SP_EIO (disk full: the file so far stays readable). */
int pd_write_mmap(struct pd_writer *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
                  const struct pd_mmap *mmap);
int pd_write_comm(struct pd_writer *w, uint32_t pid, uint32_t tid, uint64_t time_ns, const char *name,
                  bool exec);
/* type: PERF_RECORD_FORK or PERF_RECORD_EXIT. */
int pd_write_task(struct pd_writer *w, uint32_t type, uint32_t pid, uint32_t tid, uint32_t ppid,
                  uint32_t ptid, uint64_t time_ns);
/*
 * rec: event, pid, tid, cpu, time_ns and sample are used, by the event's
 * sample_type; misc 0 = user or kernel mode by the ip.  sample.id 0 = the
 * event's first id.  -SP_ENOTSUP for a sample_type with registers, raw data
 * or what else we can't make.
 */
int pd_write_sample(struct pd_writer *w, const struct pd_record *rec);
/* The event of that id stands still from now (on), or goes on. */
int pd_write_throttle(struct pd_writer *w, bool on, uint32_t pid, uint32_t tid, uint64_t id,
                      uint64_t time_ns);
int pd_write_lost(struct pd_writer *w, uint64_t id, uint64_t n, uint64_t time_ns);
/* What the first event, alone and with both times to read, has counted of all threads; they stand as pid 0. */
int pd_write_read(struct pd_writer *w, uint64_t value, uint64_t enabled_ns, uint64_t running_ns,
                  uint64_t time_ns);
/*
 * A kernel record as the ring buffer gave it (the hardware recorder's way).  The time of a
 * sample is said beside it, since what stands where depends on its event.
 */
void pd_writer_note_time(struct pd_writer *w, uint64_t time_ns);
int pd_write_raw(struct pd_writer *w, const struct perf_event_header *rec);
/* FINISHED_ROUND: all records so far are older than all that follow. */
int pd_write_round(struct pd_writer *w);
/* Bring the data size in the header up to date now. */
int pd_writer_flush(struct pd_writer *w);

uint64_t pd_writer_bytes(const struct pd_writer *w);

/* Write the features (build ids of all files mapped and seen) and close.  Frees w in any case. */
int pd_writer_close(struct pd_writer *w);

/* This machine's processor as a file names it: vendor, family, model, stepping; on Arm the MIDR.  malloc'd; NULL = no memory. */
char *pd_machine_cpuid(void);
/* Likewise its name for people, and the architecture's; "" where this machine doesn't tell. */
char *pd_machine_cpudesc(void);
char *pd_machine_arch(void);

#endif
