/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

/* Bits of branch_sample_type that the system's header may be too old for. */
enum { BRANCH_HW_INDEX = 1 << 17, BRANCH_COUNTERS = 1 << 19 };
#define READ_LOST (1u << 4) /* PERF_FORMAT_LOST, since Linux 6.0 */

/* A branch on record: source, target, flags. */
enum { BRANCH_BYTES = 24 };

/* Room for n elements of a record; a record can't hold more than its bytes. */
#define ROOM(c, vec, n, size) ((n) <= cur_left(c) / (size) && vec_reserve((vec), (n) ? (n) : 1) == 0)

static int member_event(const struct pd_reader *r, const struct pd_ev *ev, uint64_t id, size_t k)
{
	if (ev->pub.attr.read_format & PERF_FORMAT_ID)
		return pd_events_find(r, id);
	/* Without ids the values stand in the group's order, leader first. */
	return (size_t)ev->pub.leader + k < r->events.n ? ev->pub.leader + (int)k : -1;
}

/* A group read tells who leads whom, where the header doesn't. */
static void learn_group(struct pd_reader *r, const struct pd_value *v, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		if (v[k].event < 0 || v[0].event < 0)
			continue;
		if (r->events.v[v[k].event]->pub.leader == v[k].event)
			r->events.v[v[k].event]->pub.leader = v[0].event;
	}
}

static bool read_group(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev, struct pd_sample *s)
{
	uint64_t format = ev->pub.attr.read_format, n = cur_u64(c);

	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		s->time_enabled_ns = cur_u64(c);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		s->time_running_ns = cur_u64(c);
	if (c->bad || !ROOM(c, &r->values, n, 8))
		return false;
	for (size_t k = 0; k < n; k++) {
		struct pd_value *v = &r->values.v[k];

		v->value = cur_u64(c);
		v->id = format & PERF_FORMAT_ID ? cur_u64(c) : 0;
		v->lost = format & READ_LOST ? cur_u64(c) : 0;
		v->event = member_event(r, ev, v->id, k);
	}
	s->values = r->values.v;
	s->n_values = n;
	if (!c->bad && !r->groups_told && format & PERF_FORMAT_ID)
		learn_group(r, s->values, n);
	return !c->bad;
}

static bool read_single(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev,
                        struct pd_record *rec)
{
	uint64_t format = ev->pub.attr.read_format;
	struct pd_sample *s = &rec->sample;
	struct pd_value *v;

	if (vec_reserve(&r->values, 1) < 0)
		return false;
	v = r->values.v;
	v->value = cur_u64(c);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		s->time_enabled_ns = cur_u64(c);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		s->time_running_ns = cur_u64(c);
	v->id = format & PERF_FORMAT_ID ? cur_u64(c) : s->id;
	v->lost = format & READ_LOST ? cur_u64(c) : 0;
	v->event = rec->event;
	s->values = v;
	s->n_values = 1;
	return !c->bad;
}

bool pd_decode_read(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev, struct pd_record *rec)
{
	if (ev->pub.attr.read_format & PERF_FORMAT_GROUP)
		return read_group(r, c, ev, &rec->sample);
	return read_single(r, c, ev, rec);
}

static bool take_callchain(struct pd_reader *r, struct pd_cursor *c, struct pd_sample *s)
{
	uint64_t n = cur_u64(c);

	if (c->bad || !ROOM(c, &r->chain, n, 8))
		return false;
	for (size_t k = 0; k < n; k++)
		r->chain.v[k] = cur_u64(c);
	s->callchain = r->chain.v;
	s->n_callchain = n;
	return true;
}

/* The flags are bit-fields: a big-endian machine starts them at the top. */
static void take_branch_flags(struct pd_branch *b, uint64_t flags, bool big_endian)
{
	b->mispredicted = (big_endian ? flags >> 63 : flags) & 1;
	b->predicted = (big_endian ? flags >> 62 : flags >> 1) & 1;
	b->cycles = (uint16_t)(big_endian ? flags >> 44 : flags >> 4);
}

static bool take_branches(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev,
                          struct pd_sample *s)
{
	uint64_t type = ev->pub.attr.branch_sample_type, n = cur_u64(c);
	const uint8_t *from;

	if (type & BRANCH_HW_INDEX)
		cur_u64(c);
	if (c->bad || !ROOM(c, &r->branches, n, BRANCH_BYTES))
		return false;
	/* Most of a file is this: its bytes are known to be there. */
	from = cur_bytes(c, BRANCH_BYTES * n);
	for (size_t k = 0; k < n; k++, from += BRANCH_BYTES) {
		struct pd_branch *b = &r->branches.v[k];

		b->from_ip = pd_u64(from, c->swap);
		b->to_ip = pd_u64(from + 8, c->swap);
		take_branch_flags(b, pd_u64(from + 16, c->swap), r->big_endian);
	}
	if (type & BRANCH_COUNTERS)
		cur_bytes(c, 8 * n);
	s->branches = r->branches.v;
	s->n_branches = n;
	return !c->bad;
}

/* Registers follow their ABI word, unless it says there are none. */
static void skip_regs(struct pd_cursor *c, uint64_t mask)
{
	if (cur_u64(c))
		cur_bytes(c, 8ull * (unsigned)__builtin_popcountll(mask));
}

static bool take_regs(struct pd_reader *r, struct pd_cursor *c, uint64_t mask, struct pd_sample *s)
{
	size_t n = (size_t)__builtin_popcountll(mask);

	s->regs_abi = cur_u64(c);
	if (!s->regs_abi)
		return !c->bad;
	if (c->bad || !ROOM(c, &r->regs, n, 8))
		return false;
	for (size_t k = 0; k < n; k++)
		r->regs.v[k] = cur_u64(c);
	s->regs_user = r->regs.v;
	s->n_regs_user = n;
	s->regs_mask = mask;
	return true;
}

static bool take_stack(struct pd_cursor *c, struct pd_sample *s)
{
	uint64_t bytes = cur_u64(c), used;

	if (!bytes)
		return !c->bad;
	s->stack_user = cur_bytes(c, bytes);
	used = cur_u64(c);
	if (c->bad)
		return false;
	s->stack_user_bytes = used < bytes ? used : bytes;
	return true;
}

/* What stands behind the user's stack is of no use to us, but must fit into the record. */
static void skip_rest(struct pd_cursor *c, const struct perf_event_attr *a)
{
	static const uint64_t words[] = {
		PERF_SAMPLE_PHYS_ADDR,
		PERF_SAMPLE_CGROUP,
		PERF_SAMPLE_DATA_PAGE_SIZE,
		PERF_SAMPLE_CODE_PAGE_SIZE,
	};
	uint64_t type = a->sample_type;

	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		cur_u64(c);
	if (type & PERF_SAMPLE_DATA_SRC)
		cur_u64(c);
	if (type & PERF_SAMPLE_TRANSACTION)
		cur_u64(c);
	if (type & PERF_SAMPLE_REGS_INTR)
		skip_regs(c, a->sample_regs_intr);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (type & words[i])
			cur_u64(c);
	}
	if (type & PERF_SAMPLE_AUX)
		cur_bytes(c, cur_u64(c));
}

static void take_fixed(struct pd_cursor *c, uint64_t type, struct pd_record *rec)
{
	struct pd_sample *s = &rec->sample;

	if (type & PERF_SAMPLE_IDENTIFIER)
		s->id = cur_u64(c);
	if (type & PERF_SAMPLE_IP)
		s->ip = cur_u64(c);
	if (type & PERF_SAMPLE_TID) {
		rec->pid = cur_u32(c);
		rec->tid = cur_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		rec->time_ns = cur_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = cur_u64(c);
	if (type & PERF_SAMPLE_ID)
		s->id = cur_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		s->stream_id = cur_u64(c);
	if (type & PERF_SAMPLE_CPU) {
		rec->cpu = cur_u32(c);
		cur_u32(c);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = cur_u64(c);
}

bool pd_decode_sample(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev, struct pd_record *rec)
{
	const struct perf_event_attr *a = &ev->pub.attr;
	uint64_t type = a->sample_type;

	take_fixed(c, type, rec);
	/* A fixed period is not repeated in every sample. */
	if (!(type & PERF_SAMPLE_PERIOD) && !a->freq)
		rec->sample.period = a->sample_period;
	if (type & PERF_SAMPLE_READ && !pd_decode_read(r, c, ev, rec))
		return false;
	if (type & PERF_SAMPLE_CALLCHAIN && !take_callchain(r, c, &rec->sample))
		return false;
	if (type & PERF_SAMPLE_RAW)
		cur_bytes(c, cur_u32(c));
	if (type & PERF_SAMPLE_BRANCH_STACK && !take_branches(r, c, ev, &rec->sample))
		return false;
	if (type & PERF_SAMPLE_REGS_USER && !take_regs(r, c, a->sample_regs_user, &rec->sample))
		return false;
	if (type & PERF_SAMPLE_STACK_USER && !take_stack(c, &rec->sample))
		return false;
	skip_rest(c, a);
	return !c->bad;
}
