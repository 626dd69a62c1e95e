/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

/* Whose samples those are that were packets (auxtrace.c), and what the kernel says of those that are lost. */
enum {
	HEADER = sizeof(struct perf_event_header),
	SWITCH_OUT = 1 << 13, /* in misc */
	CPUS_MAX = 1 << 16,   /* a number past it is none; Linux has a sixteenth of that at most */
};

int pd_aux_lost(struct pd_reader *r, const struct pd_raw *raw)
{
	struct pd_cursor c = pd_cursor_at(r, raw->data + HEADER, raw->size_bytes - HEADER);
	uint64_t off = cur_u64(&c), n = cur_u64(&c), flags = cur_u64(&c);
	struct pd_record rec;

	if (c.bad || !pd_decode(r, raw, &rec)) {
		pd_drop(r, raw->place, raw->size_bytes);
		return 0;
	}
	r->stats.spe.n_full += (flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) != 0;
	r->stats.spe.n_collided += (flags & PERF_AUX_FLAG_COLLISION) != 0;
	if (!(flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)))
		return 0;
	return vec_push(&r->aux.cuts, (struct pd_aux_cut){ (int32_t)rec.cpu, (int32_t)rec.tid, off + n });
}

static int runs(struct pd_aux *aux, uint32_t cpu, uint32_t pid, uint32_t tid)
{
	while (aux->on_cpu.n <= cpu && cpu < CPUS_MAX)
		if (vec_push(&aux->on_cpu, (struct pd_aux_task){ -1, -1 }) < 0)
			return -SP_ENOMEM;
	if (cpu < CPUS_MAX)
		aux->on_cpu.v[cpu] = (struct pd_aux_task){ (int32_t)pid, (int32_t)tid };
	return 0;
}

/* A record that one task is taken off its CPU names the next, if it was told of all tasks there. */
static int switched(struct pd_reader *r, const struct pd_raw *raw, const struct pd_record *rec)
{
	struct pd_cursor c = pd_cursor_at(r, raw->data + HEADER, raw->size_bytes - HEADER);
	uint32_t pid, tid;

	if (!(raw->misc & SWITCH_OUT))
		return runs(&r->aux, rec->cpu, rec->pid, rec->tid);
	if (raw->type == PERF_RECORD_SWITCH)
		return 0;
	pid = cur_u32(&c);
	tid = cur_u32(&c);
	return c.bad ? 0 : runs(&r->aux, rec->cpu, pid, tid);
}

int pd_aux_follow(struct pd_reader *r, const struct pd_raw *raw, const struct pd_record *rec)
{
	struct pd_cursor c = pd_cursor_at(r, raw->data + HEADER, raw->size_bytes - HEADER);
	uint32_t pid, tid;

	switch (raw->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return switched(r, raw, rec);
	case PERF_RECORD_ITRACE_START:
		pid = cur_u32(&c);
		tid = cur_u32(&c);
		return c.bad ? 0 : runs(&r->aux, rec->cpu, pid, tid);
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
		if (!rec->pid || (uintptr_t)u32_table_find(&r->aux.pid_of, rec->tid) == rec->pid)
			return 0;
		return u32_table_put(&r->aux.pid_of, rec->tid, (void *)(uintptr_t)rec->pid);
	default:
		return 0;
	}
}

/* The thread of a sample, and its process: that of the same number where nothing tells. */
static struct pd_aux_task task_of(const struct pd_aux *aux, const struct pd_aux_sample *s)
{
	struct pd_aux_task t = { -1, s->tid };

	if (t.tid < 0)
		return s->cpu >= 0 && (size_t)s->cpu < aux->on_cpu.n ? aux->on_cpu.v[s->cpu] : t;
	t.pid = (int32_t)(uintptr_t)u32_table_find(&aux->pid_of, (uint32_t)t.tid);
	if (!t.pid)
		t.pid = t.tid;
	return t;
}

void pd_aux_decode(const struct pd_reader *r, const struct pd_raw *raw, struct pd_record *rec)
{
	struct pd_aux_sample s;
	struct pd_aux_task task;

	memcpy(&s, raw->data, sizeof(s));
	task = task_of(&r->aux, &s);
	*rec = (struct pd_record){
		.type = PERF_RECORD_SAMPLE,
		.misc = s.el ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.off = raw->place.off,
		.event = s.event,
		.pid = (uint32_t)task.pid,
		.tid = (uint32_t)task.tid,
		.cpu = (uint32_t)s.cpu,
		.time_ns = s.time_ns,
	};
	rec->sample.ip = s.ip;
	if (s.event >= 0) {
		const struct pd_event *e = &r->events.v[s.event]->pub;

		rec->sample.id = e->n_ids ? e->ids[0] : 0;
		rec->sample.period = e->attr.sample_period;
	}
}

void pd_aux_reset(struct pd_reader *r)
{
	r->aux.queues.n = r->aux.cuts.n = r->aux.on_cpu.n = 0;
	u32_table_fini(&r->aux.pid_of, NULL);
	r->aux.pid_of = (struct u32_table){ 0 };
	r->aux.at = -1;
}

void pd_aux_fini(struct pd_reader *r)
{
	vec_fini(&r->aux.pmus);
	vec_fini(&r->aux.queues);
	vec_fini(&r->aux.cuts);
	vec_fini(&r->aux.on_cpu);
	u32_table_fini(&r->aux.pid_of, NULL);
}
