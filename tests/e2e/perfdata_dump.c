/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What our reader sees in a recording, for scripts to compare:
 *
 *	perfdata_dump FILE counts     for each event: samples, period, name; then the statistics
 *	perfdata_dump FILE places     for each sample, in order: pid, ip, file it lies in
 *	perfdata_dump FILE samples    for each sample, in order: time, cpu, pid, tid, ip, mode, period, event
 *	perfdata_dump FILE all        each record, in order: its kind, pid, tid, time, and what it says
 *	perfdata_dump FILE read       nothing but reading: records and seconds of CPU time
 *
 * Exit status 1, with the reader's line on stderr, for a file it refuses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profiler/base/err.h"
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/reader.h"

static int places(struct pd_reader *r)
{
	struct pd_record rec;
	struct maps *m;
	int rc = maps_new(&m);

	if (rc < 0)
		return rc;
	while ((rc = pd_next(r, &rec)) == 1) {
		struct maps_place p;

		rc = maps_apply(m, &rec);
		if (rc < 0)
			break;
		if (rec.type == PERF_RECORD_SAMPLE)
			printf("%" PRIu32 " %" PRIx64 " %s\n", rec.pid, rec.sample.ip,
			       maps_find(m, rec.pid, rec.sample.ip, &p) ? maps_file(m, p.file)->path : "-");
	}
	maps_free(m);
	return rc;
}

static int counts(struct pd_reader *r)
{
	const struct pd_stats *s = pd_stats(r);
	uint64_t *n = NULL, *period = NULL;
	struct pd_record rec;
	size_t n_events = 0;
	int rc;

	while ((rc = pd_next(r, &rec)) == 1) {
		/* Events may be added until the first sample. */
		if (!n) {
			n_events = pd_n_events(r);
			n = calloc(n_events + 1, sizeof(*n));
			period = calloc(n_events + 1, sizeof(*period));
		}
		if (n && period && rec.type == PERF_RECORD_SAMPLE && rec.event >= 0 &&
		    (size_t)rec.event < n_events) {
			n[rec.event]++;
			period[rec.event] += rec.sample.period;
		}
	}
	for (size_t i = 0; n && period && i < n_events; i++) {
		if (n[i])
			printf("%" PRIu64 " %" PRIu64 " %s\n", n[i], period[i], pd_event(r, i)->name);
	}
	printf("# records %" PRIu64 " dropped %" PRIu64 " unfinished %d unknown %" PRIu64 "\n", s->n_records,
	       s->dropped_bytes, s->unfinished, s->n_unknown + s->n_unknown_id);
	free(n);
	free(period);
	return rc;
}

static void print_read(const struct pd_reader *r, const struct pd_sample *s)
{
	for (size_t i = 0; i < s->n_values; i++)
		printf(" %s=%" PRIu64,
		       s->values[i].event < 0 ? "?" : pd_event(r, (size_t)s->values[i].event)->name,
		       s->values[i].value);
}

static void print_record(const struct pd_reader *r, const struct pd_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		printf("sample %s %" PRIx64 " %s %" PRIu64,
		       rec->event < 0 ? "?" : pd_event(r, (size_t)rec->event)->name, rec->sample.ip,
		       (rec->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER ? "user"
		                                                                            : "other",
		       rec->sample.period);
		print_read(r, &rec->sample);
		break;
	case PERF_RECORD_READ:
		printf("read");
		print_read(r, &rec->sample);
		break;
	case PERF_RECORD_COMM:
		printf("comm %s%s", rec->comm.name, rec->comm.exec ? " exec" : "");
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		printf("%s %" PRIu32, rec->type == PERF_RECORD_FORK ? "fork" : "exit", rec->task.ppid);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		printf("lost %" PRIu64, rec->lost.n);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		printf(rec->type == PERF_RECORD_THROTTLE ? "throttle" : "unthrottle");
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		printf("mmap %" PRIx64 " %" PRIx64 " %s", rec->mmap.ip, rec->mmap.len_bytes, rec->mmap.path);
		break;
	default:
		printf("type%" PRIu32, rec->type);
	}
}

static int all(struct pd_reader *r)
{
	struct pd_record rec;
	int rc;

	while ((rc = pd_next(r, &rec)) == 1) {
		printf("%" PRIu32 " %" PRIu32 " %" PRIu64 " ", rec.pid, rec.tid, rec.time_ns);
		print_record(r, &rec);
		putchar('\n');
	}
	return rc;
}

static int samples(struct pd_reader *r)
{
	struct pd_record rec;
	int rc;

	while ((rc = pd_next(r, &rec)) == 1)
		if (rec.type == PERF_RECORD_SAMPLE)
			printf("%" PRIu64 " %d %d %d %" PRIx64 " %d %" PRIu64 " %s\n", rec.time_ns,
			       (int)rec.cpu, (int)rec.pid, (int)rec.tid, rec.sample.ip,
			       rec.misc & PERF_RECORD_MISC_CPUMODE_MASK, rec.sample.period,
			       rec.event < 0 ? "?" : pd_event(r, (size_t)rec.event)->name);
	return rc;
}

static int read_only(struct pd_reader *r)
{
	struct timespec a, b;
	struct pd_record rec;
	uint64_t sum = 0;
	int rc;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	while ((rc = pd_next(r, &rec)) == 1)
		sum += rec.sample.ip;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("%" PRIu64 " %.6f %" PRIu64 "\n", pd_stats(r)->n_records,
	       (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9, sum & 1);
	return rc;
}

int main(int argc, char **argv)
{
	struct pd_reader *r = NULL;
	int rc;

	if (argc != 3)
		return 2;
	rc = pd_open(argv[1], &r);
	if (rc == 0)
		rc = !strcmp(argv[2], "places")    ? places(r)
		     : !strcmp(argv[2], "counts")  ? counts(r)
		     : !strcmp(argv[2], "samples") ? samples(r)
		     : !strcmp(argv[2], "all")     ? all(r)
		                                   : read_only(r);
	if (rc < 0)
		fprintf(stderr, "%s\n", sp_error_text());
	pd_close(r);
	return rc < 0;
}
