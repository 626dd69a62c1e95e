/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

enum { HEADER = sizeof(struct perf_event_header) };

/* Flags of misc whose names depend on the record's type. */
enum { MISC_COMM_EXEC = 1 << 13, MISC_MMAP_DATA = 1 << 13, MISC_MMAP_BUILD_ID = 1 << 14 };

static uint64_t word(const struct pd_reader *r, const struct pd_raw *raw, size_t off)
{
	return pd_u64(raw->data + off, r->swap);
}

static bool word_fits(const struct pd_raw *raw, int pos)
{
	return pos >= 0 && HEADER + 8 * ((size_t)pos + 1) <= raw->size_bytes;
}

/* Index of the event by the id in the record; -1 = it has an id that we don't know. */
static int find_event(const struct pd_reader *r, const struct pd_raw *raw)
{
	bool sample = raw->type == PERF_RECORD_SAMPLE;
	int pos = sample ? r->id_pos : r->id_trail_pos, event;
	uint64_t id;

	if (!r->events.n)
		return -1;
	if (r->events.n == 1)
		return 0;
	if (!sample && !r->events.v[0]->pub.attr.sample_id_all)
		return 0;
	if (sample ? !word_fits(raw, pos) : !word_fits(raw, pos - 1))
		return 0;
	id = sample ? word(r, raw, HEADER + 8 * (size_t)pos)
	            : word(r, raw, raw->size_bytes - 8 * (size_t)pos);
	event = id ? pd_events_find(r, id) : 0;
	/* Before Linux 2.6.38 nothing but samples had ids. */
	if (event < 0 && !r->events.v[0]->pub.attr.sample_id_all)
		return 0;
	return event;
}

uint64_t pd_decode_time(const struct pd_reader *r, const struct pd_raw *raw)
{
	int event = find_event(r, raw);
	const struct pd_ev *ev;

	if (event < 0 && !(r->events.n && r->same_type))
		return 0;
	ev = r->events.v[event < 0 ? 0 : event];
	if (raw->type == PERF_RECORD_SAMPLE)
		return word_fits(raw, ev->time_pos) ? word(r, raw, HEADER + 8 * (size_t)ev->time_pos) : 0;
	return word_fits(raw, ev->trail_pos - 1) ? word(r, raw, raw->size_bytes - 8 * (size_t)ev->trail_pos)
	                                         : 0;
}

/* The words that sample_id_all puts behind every record but samples; c is cut short by them. */
static void take_trailer(const struct pd_ev *ev, struct pd_cursor *c, struct pd_record *rec)
{
	uint64_t type = ev->pub.attr.sample_type;
	struct pd_cursor t = *c;
	size_t bytes = 8 * (size_t)ev->n_trail;

	if (cur_left(c) < bytes) {
		c->bad = true;
		return;
	}
	c->end -= bytes;
	t.p = c->end;
	if (!bytes)
		return;
	if (type & PERF_SAMPLE_TID) {
		rec->pid = cur_u32(&t);
		rec->tid = cur_u32(&t);
	}
	if (type & PERF_SAMPLE_TIME)
		rec->time_ns = cur_u64(&t);
	if (type & PERF_SAMPLE_ID)
		cur_u64(&t);
	if (type & PERF_SAMPLE_STREAM_ID)
		cur_u64(&t);
	if (type & PERF_SAMPLE_CPU)
		rec->cpu = cur_u32(&t);
}

static void take_mmap2_file(struct pd_cursor *c, struct pd_record *rec)
{
	struct pd_mmap *m = &rec->mmap;

	if (rec->misc & MISC_MMAP_BUILD_ID) {
		const uint8_t *p = cur_bytes(c, 24);

		if (p && p[0] <= PD_BUILD_ID_MAX) {
			m->build_id_bytes = p[0];
			memcpy(m->build_id, p + 4, p[0]);
		}
	} else {
		m->maj = cur_u32(c);
		m->min = cur_u32(c);
		m->ino = cur_u64(c);
		m->ino_generation = cur_u64(c);
	}
	m->prot = cur_u32(c);
	m->flags = cur_u32(c);
}

static void take_mmap(struct pd_reader *r, struct pd_cursor *c, struct pd_record *rec)
{
	struct pd_mmap *m = &rec->mmap;

	rec->pid = cur_u32(c);
	rec->tid = cur_u32(c);
	m->ip = cur_u64(c);
	m->len_bytes = cur_u64(c);
	m->pgoff_bytes = cur_u64(c);
	if (rec->type == PERF_RECORD_MMAP2)
		take_mmap2_file(c, rec);
	m->path = cur_text(c);
	m->data = rec->misc & MISC_MMAP_DATA;
	/* No memory for a build id is no reason to stop: the map itself is whole. */
	if (!c->bad && m->build_id_bytes)
		pd_build_id_add(r, m->path, m->build_id, m->build_id_bytes, false);
}

static void take_task(struct pd_cursor *c, struct pd_record *rec)
{
	rec->pid = cur_u32(c);
	rec->task.ppid = cur_u32(c);
	rec->tid = cur_u32(c);
	rec->task.ptid = cur_u32(c);
	/* Old kernels give the time here and nowhere else. */
	if (cur_left(c) >= 8) {
		uint64_t t = cur_u64(c);

		if (!rec->time_ns)
			rec->time_ns = t;
	}
}

/* Its time and the id of its event stand in the record itself, whatever is behind it. */
static void take_throttle(const struct pd_reader *r, struct pd_cursor *c, struct pd_record *rec)
{
	uint64_t time_ns = cur_u64(c), id = cur_u64(c);
	int event = id && r->events.n > 1 ? pd_events_find(r, id) : -1;

	rec->throttle.stream_id = cur_u64(c);
	rec->event = event >= 0 ? event : rec->event;
	rec->time_ns = rec->time_ns ? rec->time_ns : time_ns;
}

static void take_body(struct pd_reader *r, struct pd_cursor *c, struct pd_record *rec)
{
	switch (rec->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mmap(r, c, rec);
		break;
	case PERF_RECORD_COMM:
		rec->pid = cur_u32(c);
		rec->tid = cur_u32(c);
		rec->comm.name = cur_text(c);
		rec->comm.exec = rec->misc & MISC_COMM_EXEC;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(c, rec);
		break;
	case PERF_RECORD_LOST:
		rec->lost.id = cur_u64(c);
		rec->lost.n = cur_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		rec->lost.n = cur_u64(c);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		take_throttle(r, c, rec);
		break;
	case PERF_RECORD_READ:
		rec->pid = cur_u32(c);
		rec->tid = cur_u32(c);
		if (rec->event >= 0 && !pd_decode_read(r, c, r->events.v[rec->event], rec))
			c->bad = true;
		break;
	default:
		break;
	}
}

bool pd_decode(struct pd_reader *r, const struct pd_raw *raw, struct pd_record *rec)
{
	struct pd_cursor c = pd_cursor_at(r, raw->data + HEADER, raw->size_bytes - HEADER);
	const struct pd_ev *ev = NULL;

	memset(rec, 0, sizeof(*rec));
	rec->type = raw->type;
	rec->misc = raw->misc;
	rec->off = raw->place.off;
	rec->event = find_event(r, raw);
	if (rec->event >= 0 || (r->events.n && r->same_type))
		ev = r->events.v[rec->event < 0 ? 0 : rec->event];
	if (raw->type == PERF_RECORD_SAMPLE)
		return ev && pd_decode_sample(r, &c, ev, rec);
	if (ev)
		take_trailer(ev, &c, rec);
	if (!c.bad)
		take_body(r, &c, rec);
	return !c.bad;
}
