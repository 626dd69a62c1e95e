/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/ended.h"

#include <math.h>
#include <stdlib.h>

#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/base/select.h"
#include "profiler/base/vec.h"

/* What of a period a thread misses at its end, in the mean. */
static const double half = 0.5;

struct life {
	uint64_t born_ns, sampled_ns; /* 0: not known; none yet */
};

struct ended {
	struct pairs tids;
	VEC(struct life) lives;
	VEC(double) gaps_ns, unsampled_ns; /* between a thread's samples; how long others lived */
	double read_ns, read_missed_ns;    /* of single threads */
	double all_ns, missed_ns;          /* of all, so far */
};

struct ended *ended_new(void)
{
	return mem_calloc(1, sizeof(struct ended));
}

void ended_free(struct ended *e)
{
	if (!e)
		return;
	pairs_fini(&e->tids);
	vec_fini(&e->lives);
	vec_fini(&e->gaps_ns);
	vec_fini(&e->unsampled_ns);
	free(e);
}

void ended_sample(struct ended *e, uint32_t tid, uint64_t time_ns)
{
	struct life *l = pairs_in(&e->tids, &e->lives, tid, 0);

	if (l->sampled_ns && time_ns > l->sampled_ns)
		vec_add(&e->gaps_ns, (double)(time_ns - l->sampled_ns));
	l->sampled_ns = time_ns ? time_ns : 1;
}

static void take_read(struct ended *e, const struct pd_record *rec, const struct perf_event_attr *attr)
{
	const struct pd_sample *s = &rec->sample;

	if (s->n_values != 1 || attr->type != PERF_TYPE_SOFTWARE)
		return;
	if (!rec->pid) {
		e->all_ns = (double)s->time_enabled_ns;
		e->missed_ns = (double)s->time_enabled_ns - (double)s->time_running_ns;
	} else if (attr->sample_period && !attr->freq) {
		e->read_ns += (double)s->values[0].value;
		e->read_missed_ns += (double)(s->values[0].value % attr->sample_period);
	}
}

void ended_record(struct ended *e, const struct pd_record *rec, const struct perf_event_attr *attr)
{
	struct life *l;

	switch (rec->type) {
	case PERF_RECORD_FORK:
		*pairs_in(&e->tids, &e->lives, rec->tid, 0) = (struct life){ .born_ns = rec->time_ns };
		break;
	case PERF_RECORD_EXIT:
		l = pairs_in(&e->tids, &e->lives, rec->tid, 0);
		if (l->born_ns && !l->sampled_ns && rec->time_ns > l->born_ns)
			vec_add(&e->unsampled_ns, (double)(rec->time_ns - l->born_ns));
		*l = (struct life){ 0 };
		break;
	case PERF_RECORD_READ:
		if (attr)
			take_read(e, rec, attr);
		break;
	default:
		break;
	}
}

double ended_share(struct ended *e, double n_threads, double n_samples, double period_ns)
{
	double missed = half * n_threads, gap_ns = period_ns;

	if (e->all_ns > 0)
		return e->missed_ns / e->all_ns;
	if (e->read_ns > 0 && period_ns > 0)
		return e->read_missed_ns / (e->read_missed_ns + n_samples * period_ns);
	if (!(gap_ns > 0))
		gap_ns = select_middle(e->gaps_ns.v, e->gaps_ns.n);
	for (size_t i = 0; i < e->unsampled_ns.n; i++)
		missed += gap_ns > 0 ? fmin(half, e->unsampled_ns.v[i] / gap_ns) : half;
	return n_samples + missed > 0 ? missed / (n_samples + missed) : 0;
}
