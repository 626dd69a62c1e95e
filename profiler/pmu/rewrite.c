/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/err.h"
#include "profiler/base/pairs.h"
#include "profiler/base/vec.h"

/* So much a task may have run on other CPUs since its last sample there. */
enum { SLACK_NS = 20000000, RECORD_WORDS = 8192 };

/* Words of a sample, in this order, before PERF_SAMPLE_READ. */
#define BEFORE_TID (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP)
#define BEFORE_READ                                                                            \
	(BEFORE_TID | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

struct task_times {
	uint64_t running_ns; /* on all CPUs, as far as samples told */
};

struct slot {
	uint64_t running_ns; /* of one task on one CPU */
};

struct rewrite {
	const struct pe_event *events;
	size_t n_events, n_slots;
	uint64_t *ids;               /* [n_events][n_slots] */
	uint64_t copy[RECORD_WORDS]; /* a record's size is 16 bits */
	uint64_t type;               /* PERF_SAMPLE_*, the same of all events */
	bool reads;
	size_t tid_at, time_at, read_at; /* word in a sample */
	struct pairs slots, tasks;
	VEC(struct slot) slot;
	VEC(struct task_times) times;
};

int rewrite_new(const struct pe_event *events, size_t n_events, struct rewrite **out)
{
	struct rewrite *r = calloc(1, sizeof(*r));

	if (!r)
		return sp_fail(SP_ENOMEM, "out of memory");
	r->events = events;
	r->n_events = n_events;
	r->type = events[0].attr.sample_type;
	r->reads = (r->type & PERF_SAMPLE_READ) != 0;
	r->n_slots = r->reads ? REWRITE_SLOTS : 1;
	r->tid_at = 1 + (size_t)__builtin_popcountll(r->type & BEFORE_TID);
	r->time_at = r->tid_at + ((r->type & PERF_SAMPLE_TID) != 0);
	r->read_at = 1 + (size_t)__builtin_popcountll(r->type & BEFORE_READ);
	r->ids = calloc(n_events * r->n_slots, sizeof(*r->ids));
	if (!r->ids) {
		free(r);
		return sp_fail(SP_ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n_events * r->n_slots; i++)
		r->ids[i] = i + 1;
	*out = r;
	return 0;
}

void rewrite_free(struct rewrite *r)
{
	if (!r)
		return;
	pairs_fini(&r->slots);
	pairs_fini(&r->tasks);
	vec_fini(&r->slot);
	vec_fini(&r->times);
	free(r->ids);
	free(r);
}

const uint64_t *rewrite_ids(const struct rewrite *r, size_t i, size_t *n)
{
	*n = r->n_slots;
	return r->ids + i * r->n_slots;
}

static uint64_t id_in_file(const struct rewrite *r, long event, size_t slot)
{
	return r->ids[(size_t)event * r->n_slots + (slot < r->n_slots ? slot : r->n_slots - 1)];
}

/* Who ran where: a number of its own, -SP_ENOMEM. */
static long slot_of(struct rewrite *r, uint32_t tid, const struct tasks_source *from)
{
	long i = pairs_number(&r->slots, tid, (uint64_t)from->cpu + 1);

	if (i >= 0 && (size_t)i == r->slot.n && vec_push(&r->slot, (struct slot){ 0 }) < 0)
		return -SP_ENOMEM;
	return i;
}

/*
 * An event that is bound to a task and a CPU is "enabled" while the task runs on any
 * CPU, and so looks as if it had shared its counter with others.  Tell how long it was
 * wanted where it is: running, and of the time in which the task was not counted on any
 * CPU its part.
 */
static int mend_times(struct rewrite *r, uint32_t tid, size_t slot, uint64_t *enabled_ns, uint64_t running_ns)
{
	long i = pairs_number(&r->tasks, tid, 0);
	struct task_times *t;

	if (i < 0 || ((size_t)i == r->times.n && vec_push(&r->times, (struct task_times){ 0 }) < 0))
		return -SP_ENOMEM;
	t = &r->times.v[i];
	t->running_ns += running_ns - r->slot.v[slot].running_ns;
	r->slot.v[slot].running_ns = running_ns;
	if (*enabled_ns < t->running_ns + SLACK_NS + t->running_ns / 64 || !t->running_ns)
		*enabled_ns = running_ns;
	else
		*enabled_ns = (uint64_t)((double)*enabled_ns * (double)running_ns / (double)t->running_ns);
	return 0;
}

static int rewrite_read(struct rewrite *r, const struct tasks *t, const struct tasks_source *from, long event)
{
	uint64_t *words = r->copy;
	uint64_t format = r->events[event].attr.read_format, *v = words + r->read_at;
	uint32_t pid_tid[2];
	bool group = format & PERF_FORMAT_GROUP;
	uint64_t n = group ? v[0] : 1;
	/* One word, the times, then the ids: alone, or each behind its value. */
	uint64_t *id = v + 1 + __builtin_popcountll(format & TIMES) + group;
	long slot;
	int err = 0;

	memcpy(pid_tid, &words[r->tid_at], sizeof(pid_tid));
	slot = slot_of(r, pid_tid[1], from);
	if (slot < 0)
		return (int)slot;
	if (from->inherited && (format & TIMES) == TIMES)
		err = mend_times(r, pid_tid[1], (size_t)slot, &v[1], v[2]);
	for (uint64_t i = 0; i < n && format & PERF_FORMAT_ID; i++, id += 2) {
		long member = tasks_event(t, *id);

		*id = member < 0 ? 0 : id_in_file(r, member, (size_t)slot);
	}
	if (r->type & PERF_SAMPLE_IDENTIFIER)
		words[1] = id_in_file(r, event, (size_t)slot);
	return err;
}

static int rewrite_sample(struct rewrite *r, const struct tasks *t, const struct tasks_source *from,
                          const uint64_t *words, struct rewrite_result *out)
{
	out->event = r->n_events == 1 ? 0 : -1;
	if (r->type & PERF_SAMPLE_IDENTIFIER)
		out->event = tasks_event(t, words[1]);
	if (r->type & PERF_SAMPLE_TIME)
		out->time_ns = words[r->time_at];
	if (out->event < 0)
		return 0;
	out->fine = r->events[out->event].finer;
	if (out->fine)
		out->event = 0;
	if (r->reads)
		return rewrite_read(r, t, from, out->event);
	if (r->type & PERF_SAMPLE_IDENTIFIER)
		r->copy[1] = id_in_file(r, out->event, 0);
	return 0;
}

/* All but samples end with the id of an event; the tracker's speak for the first one. */
static void rewrite_other(struct rewrite *r, const struct tasks *t, const struct perf_event_header *rec)
{
	uint64_t *words = r->copy;
	size_t n = rec->size / sizeof(*words);
	long event = tasks_event(t, words[n - 1]);

	if (event >= 0 && r->events[event].finer)
		event = 0;
	words[n - 1] = id_in_file(r, event < 0 ? 0 : event, 0);
	if (rec->type == PERF_RECORD_LOST)
		words[1] = words[n - 1];
}

int rewrite_record(struct rewrite *r, const struct tasks *t, const struct perf_event_header *rec,
                   const struct tasks_source *from, struct rewrite_result *out)
{
	const uint64_t *words = (const uint64_t *)rec;
	int err = 0;

	*out = (struct rewrite_result){ .rec = rec, .event = -1 };
	if (r->type & PERF_SAMPLE_IDENTIFIER) {
		memcpy(r->copy, rec, rec->size);
		out->rec = (const struct perf_event_header *)r->copy;
	}
	if (rec->type == PERF_RECORD_SAMPLE)
		err = rewrite_sample(r, t, from, words, out);
	else if (r->type & PERF_SAMPLE_IDENTIFIER)
		rewrite_other(r, t, rec);
	if (rec->type == PERF_RECORD_LOST)
		out->n_lost = words[2];
	if (rec->type == PERF_RECORD_LOST_SAMPLES)
		out->n_lost = words[1];
	return err;
}

struct mmap2_body {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t ip, len_bytes, pgoff_bytes;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		} file;
		struct {
			uint8_t n, unused[3], bytes[PD_BUILD_ID_MAX];
		} id;
	};
	uint32_t prot, flags;
	char path[];
};

enum { MISC_MMAP_DATA = 1 << 13, MISC_MMAP_BUILD_ID = 1 << 14 };

/* The words that stand behind a record that is no sample; the one with the time is so many from the end. */
static size_t trailer_bytes(uint64_t type, size_t *time_from_end)
{
	static const uint64_t words[] = { PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
		                          PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER };
	size_t n = 0;

	*time_from_end = 0;
	for (size_t i = sizeof(words) / sizeof(words[0]); i-- > 0;) {
		n += (type & words[i]) != 0;
		if (words[i] == PERF_SAMPLE_TIME && type & words[i])
			*time_from_end = 8 * n;
	}
	return 8 * n;
}

bool rewrite_mmap(const struct pe_event *events, const struct perf_event_header *rec, struct pd_mmap *out,
                  uint32_t *pid, uint32_t *tid, uint64_t *time_ns)
{
	const struct mmap2_body *m = (const struct mmap2_body *)rec;
	size_t time_from_end, trailer = trailer_bytes(events[0].attr.sample_type, &time_from_end);

	if (rec->type != PERF_RECORD_MMAP2 || rec->misc & MISC_MMAP_DATA ||
	    rec->size < sizeof(*m) + trailer + 1 || !memchr(m->path, 0, rec->size - sizeof(*m) - trailer))
		return false;
	*out = (struct pd_mmap){ .ip = m->ip,
		                 .len_bytes = m->len_bytes,
		                 .pgoff_bytes = m->pgoff_bytes,
		                 .prot = m->prot,
		                 .flags = m->flags,
		                 .path = m->path };
	if (rec->misc & MISC_MMAP_BUILD_ID && m->id.n <= PD_BUILD_ID_MAX) {
		out->build_id_bytes = m->id.n;
		memcpy(out->build_id, m->id.bytes, m->id.n);
	} else {
		out->maj = m->file.maj;
		out->min = m->file.min;
		out->ino = m->file.ino;
		out->ino_generation = m->file.ino_generation;
	}
	*pid = m->pid;
	*tid = m->tid;
	*time_ns = 0;
	if (time_from_end)
		memcpy(time_ns, (const char *)rec + rec->size - time_from_end, sizeof(*time_ns));
	return true;
}
