/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

#define TRAIL_BITS                                                                                       \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_IDENTIFIER)

static int n_bits(uint64_t v)
{
	return __builtin_popcountll(v);
}

/* How many of the words that may stand before a sample's time (or its id) do. */
static int words_before(uint64_t type, uint64_t bits)
{
	return n_bits(type & bits);
}

static int sample_time_pos(uint64_t type)
{
	return type & PERF_SAMPLE_TIME
	               ? words_before(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)
	               : -1;
}

static int trail_time_pos(uint64_t type)
{
	return type & PERF_SAMPLE_TIME
	               ? 1 + words_before(type, PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	                                                PERF_SAMPLE_IDENTIFIER)
	               : -1;
}

/* Where ids stand is the same for all events of a file, else no one could tell them apart. */
static void find_id_pos(struct pd_reader *r)
{
	uint64_t type = r->events.v[0]->pub.attr.sample_type;

	r->id_pos = r->id_trail_pos = -1;
	if (type & PERF_SAMPLE_IDENTIFIER) {
		r->id_pos = 0;
		r->id_trail_pos = 1;
	} else if (type & PERF_SAMPLE_ID) {
		r->id_pos = words_before(type, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		                                       PERF_SAMPLE_ADDR);
		r->id_trail_pos = 1 + words_before(type, PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	}
	r->same_type = true;
	for (size_t i = 1; i < r->events.n; i++)
		r->same_type &= r->events.v[i]->pub.attr.sample_type == type;
}

static size_t id_hash(uint64_t id, size_t cap)
{
	return (size_t)((id * 0x9e3779b97f4a7c15ull) >> 20) & (cap - 1);
}

int pd_events_find(const struct pd_reader *r, uint64_t id)
{
	if (!r->ids_cap)
		return -1;
	for (size_t i = id_hash(id, r->ids_cap);; i = (i + 1) & (r->ids_cap - 1)) {
		if (r->ids[i].event < 0 || r->ids[i].id == id)
			return r->ids[i].event;
	}
}

static void id_put(struct pd_id_slot *slots, size_t cap, uint64_t id, int event)
{
	size_t i = id_hash(id, cap);

	while (slots[i].event >= 0 && slots[i].id != id)
		i = (i + 1) & (cap - 1);
	slots[i] = (struct pd_id_slot){ id, event };
}

static int ids_grow(struct pd_reader *r)
{
	size_t cap = r->ids_cap ? r->ids_cap * 2 : 64;
	struct pd_id_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return sp_fail(SP_ENOMEM, "%s: out of memory for %zu event ids", r->in.path, r->n_ids);
	for (size_t i = 0; i < cap; i++)
		slots[i].event = -1;
	for (size_t i = 0; i < r->ids_cap; i++) {
		if (r->ids[i].event >= 0)
			id_put(slots, cap, r->ids[i].id, r->ids[i].event);
	}
	free(r->ids);
	r->ids = slots;
	r->ids_cap = cap;
	return 0;
}

static int add_id(struct pd_reader *r, size_t event, uint64_t id)
{
	struct pd_ev *ev = r->events.v[event];

	if (r->n_ids * 2 >= r->ids_cap && ids_grow(r) < 0)
		return -SP_ENOMEM;
	if (vec_push(&ev->ids, id) < 0)
		return -SP_ENOMEM;
	ev->pub.ids = ev->ids.v;
	ev->pub.n_ids = ev->ids.n;
	if (pd_events_find(r, id) < 0)
		r->n_ids++;
	id_put(r->ids, r->ids_cap, id, (int)event);
	return 0;
}

static int add_event(struct pd_reader *r, const struct perf_event_attr *attr)
{
	struct pd_ev *ev = calloc(1, sizeof(*ev));

	if (!ev || vec_push(&r->events, ev) < 0) {
		free(ev);
		return sp_fail(SP_ENOMEM, "%s: out of memory for %zu events", r->in.path, r->events.n);
	}
	ev->pub.attr = *attr;
	ev->pub.leader = (int)r->events.n - 1;
	ev->time_pos = sample_time_pos(attr->sample_type);
	ev->trail_pos = attr->sample_id_all ? trail_time_pos(attr->sample_type) : -1;
	ev->n_trail = attr->sample_id_all ? n_bits(attr->sample_type & TRAIL_BITS) : 0;
	ev->pub.name = pd_attr_name(attr);
	/* cppcheck-suppress memleak; r->events has it */
	return ev->pub.name ? 0 : -SP_ENOMEM;
}

int pd_events_add(struct pd_reader *r, const struct perf_event_attr *attr, const uint8_t *ids, size_t n_ids)
{
	int rc = add_event(r, attr);

	for (size_t i = 0; rc == 0 && i < n_ids; i++)
		rc = add_id(r, r->events.n - 1, pd_u64(ids + 8 * i, r->swap));
	if (rc == 0)
		find_id_pos(r);
	return rc;
}

int pd_events_rename(struct pd_reader *r, size_t event, const char *name, size_t n)
{
	struct pd_ev *ev = r->events.v[event];
	char *copy = strndup(name, n);

	if (!copy)
		return sp_fail(SP_ENOMEM, "%s: out of memory for an event's name", r->in.path);
	free(ev->pub.name);
	ev->pub.name = copy;
	ev->named = true;
	return 0;
}

/* nr, attr size, then for each event: attr, number of ids, name, ids. */
int pd_events_desc(struct pd_reader *r, struct pd_cursor c)
{
	uint32_t n = cur_u32(&c), attr_size = cur_u32(&c);

	for (uint32_t i = 0; i < n && !c.bad; i++) {
		uint32_t n_ids, len;
		const char *name;
		const uint8_t *ids;
		int event = (int)i;

		cur_bytes(&c, attr_size);
		n_ids = cur_u32(&c);
		len = cur_u32(&c);
		name = (const char *)cur_bytes(&c, len);
		ids = cur_bytes(&c, 8ull * n_ids);
		if (c.bad)
			break;
		if (n_ids)
			event = pd_events_find(r, pd_u64(ids, r->swap));
		if (len && *name && event >= 0 && (size_t)event < r->events.n &&
		    pd_events_rename(r, (size_t)event, name, len) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

/* nr, then for each group: name, index of the leader, number of members. */
void pd_events_group_desc(struct pd_reader *r, struct pd_cursor c)
{
	uint32_t n = cur_u32(&c);

	r->groups_told = true;
	for (size_t i = 0; i < r->events.n; i++)
		r->events.v[i]->pub.leader = (int)i;
	for (uint32_t i = 0; i < n && !c.bad; i++) {
		uint32_t len = cur_u32(&c), leader, members;

		cur_bytes(&c, len);
		leader = cur_u32(&c);
		members = cur_u32(&c);
		for (uint32_t k = 0; !c.bad && k < members && (uint64_t)leader + k < r->events.n; k++)
			r->events.v[leader + k]->pub.leader = (int)leader;
	}
}

/*
 * Without GROUP_DESC: perf leaves only the leader of a group disabled at the
 * start, so an event that reads its group and was enabled follows a leader.
 */
void pd_events_guess_groups(struct pd_reader *r)
{
	int leader = -1;

	for (size_t i = 0; !r->groups_told && i < r->events.n; i++) {
		struct pd_event *e = &r->events.v[i]->pub;

		if (!(e->attr.read_format & PERF_FORMAT_GROUP))
			leader = -1;
		else if (e->attr.disabled)
			leader = (int)i;
		e->leader = leader >= 0 ? leader : (int)i;
	}
}

void pd_events_fini(struct pd_reader *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		free(r->events.v[i]->pub.name);
		vec_fini(&r->events.v[i]->ids);
		free(r->events.v[i]);
	}
	vec_fini(&r->events);
	free(r->ids);
}
