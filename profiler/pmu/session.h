/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_SESSION_H
#define SKIDPROF_PMU_SESSION_H

/*
 * One recording with the kernel's events, from the program's start (or
 * attaching) to the closed file: what -p, -a, -D, --duration and the like
 * mean is here, for every source that uses the kernel's events.  A source
 * says which events, and may look at every record and add some of its own.
 */
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/tasks.h"
#include "profiler/record.h"

struct session;

/* All may be NULL; each returns 0 or negative, which ends the recording. */
struct session_hooks {
	void *arg;
	/* The file is open, the program (pid, else 0) about to run or already running. */
	int (*begin)(void *arg, struct session *s, pid_t pid);
	/* The program of begin() runs now; of that the counters have ns so far, without what led to it, its execve() among that. */
	void (*runs)(void *arg, uint64_t ns);
	/*
	 * A record before it is written; event: of a sample, else -1; fine: at the finer period of the
	 * event that is `finer`; from:
	 * whose ring.  *drop: don't write it.
	 */
	int (*record)(void *arg, const struct perf_event_header *rec, long event, bool fine,
	              const struct tasks_source *from, bool *drop);
	/* After each look at the rings, four times a second at least. */
	int (*tick)(void *arg);
	/* fd, where not -1, is polled: ready is called when it is readable. */
	int fd;
	int (*ready)(void *arg);
	pid_t tracer; /* of the program's threads, 0 = none: launch_program.tracer */
	/* Sampling has stopped, the file is still open: put everything back as it was. */
	void (*end)(void *arg);
};

struct session_config {
	const struct record_opts *opts;
	const struct pe_event *events; /* all of one sample_type; borrowed */
	size_t n_events;
	const struct pe_event *
	        file_events; /* as the file describes them, and behind them events that only it has; NULL = the same */
	size_t n_file_events;              /* of those */
	const struct session_hooks *hooks; /* NULL = none */
	const char
	        *source; /* what is sampled: said once nothing stands against it any more; NULL = nothing */
};

struct session_summary {
	uint64_t *n_samples; /* [n_events], owned */
	uint64_t n_lost, n_throttled, bytes;
	uint64_t
	        missed_ns; /* that threads ran before their first sample of the clock or after their last, and ended */
	double seconds, cpu_s; /* of the recording; of the recorder */
	struct tasks_stats tasks;
	bool left_running; /* the program has ended, and what it started runs on, unrecorded */
	const char *ended; /* why, where not because the program did: NULL, "--duration", "--max-size" */
};

/*
 * -SP_E... when nothing could be recorded, or not all that was asked for.  exit_status and
 * summary are set in any case; session_summary_fini it.
 */
int session_run(const struct session_config *config, struct session_summary *summary, int *exit_status);
void session_summary_fini(struct session_summary *summary);

/* The last line: samples, bytes, and all that was lost or not followed; --stats. */
void session_say(const struct session_config *config, const struct session_summary *summary);

/* For hooks: the file, and the id that event i has in it (0 while it is not open). */
struct pd_writer *session_writer(const struct session *s);
uint64_t session_id(const struct session *s, size_t i);
/* What tasks ran so far, as samples and lives tell; 0 where no clock alone is sampled (finer.h). */
uint64_t session_time_ns(const struct session *s);

#endif
