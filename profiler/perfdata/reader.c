/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/features.h"
#include "profiler/perfdata/reader_int.h"

enum {
	HEADER = sizeof(struct perf_event_header),
	KERNEL_TYPES = 22, /* PERF_RECORD_MMAP .. PERF_RECORD_CALLCHAIN_DEFERRED */
	USER_TYPES = 64,
	MISC_LOST_SAMPLES_BPF = 1 << 15, /* perf's, since 6.3 */
};

static bool stat_record(uint32_t type)
{
	return type == PD_STAT_CONFIG || type == PD_STAT || type == PD_STAT_ROUND;
}

/* The attr, as long as it says it is, then ids to the record's end. */
static int take_attr_record(struct pd_reader *r, struct pd_cursor c)
{
	uint32_t bytes = cur_left(&c) >= 8 ? pd_u32(c.p + 4, r->swap) : 0;
	struct perf_event_attr attr;
	const uint8_t *p;
	int rc;

	if (bytes < PERF_ATTR_SIZE_VER0)
		bytes = PERF_ATTR_SIZE_VER0;
	p = cur_bytes(&c, bytes);
	if (!p)
		return 0;
	pd_attr_decode(&attr, p, bytes, r->swap);
	rc = pd_events_add(r, &attr, c.p, cur_left(&c) / 8);
	if (rc == 0)
		pd_events_guess_groups(r);
	return rc;
}

/* A type, an id, then what is new: only names are of use here. */
static int take_update(struct pd_reader *r, struct pd_cursor c)
{
	enum { NAME = 2 };
	uint64_t what = cur_u64(&c);
	int event = pd_events_find(r, cur_u64(&c));

	if (c.bad || what != NAME || event < 0 || !cur_left(&c) || !*c.p)
		return 0;
	return pd_events_rename(r, (size_t)event, (const char *)c.p, cur_left(&c));
}

static int take_user_record(struct pd_reader *r, const struct pd_raw *raw)
{
	struct pd_cursor c = pd_cursor_at(r, raw->data + HEADER, raw->size_bytes - HEADER);
	uint64_t feature;

	if (stat_record(raw->type))
		return sp_fail(SP_EFORMAT,
		               "%s: was made by \"perf stat record\" and has no samples; use \"perf record\" "
		               "or \"skidprof record\"",
		               r->in.path);
	if (raw->type > PD_COMPRESSED2)
		r->stats.n_unknown++;
	if (raw->type == PD_AUXTRACE)
		return pd_aux_begin(r, c);
	/* It says how to read all that follows.  perf writes it first; behind what was read otherwise it is damage. */
	if (raw->type == PD_AUXTRACE_INFO && r->record_no > r->n_leading) {
		pd_drop(r, raw->place, raw->size_bytes);
		return 0;
	}
	/* On a second pass the header's records are known already. */
	if (r->record_no <= r->meta_done)
		return 0;
	r->meta_done = r->record_no;
	switch (raw->type) {
	case PD_HEADER_ATTR:
		return r->hdr.pipe ? take_attr_record(r, c) : 0;
	case PD_EVENT_UPDATE:
		return take_update(r, c);
	case PD_HEADER_FEATURE:
		feature = cur_u64(&c);
		return c.bad || feature >= PD_N_FEATURES ? 0 : pd_feature(r, (unsigned)feature, c);
	case PD_BUILD_ID:
		return pd_build_id_record(r, c, raw->misc);
	case PD_AUXTRACE_INFO:
		return pd_aux_info(r, c);
	case PD_TIME_CONV:
		pd_aux_time_conv(r, c);
		return 0;
	default:
		return 0;
	}
}

static void count_lost_samples(struct pd_reader *r, const struct pd_record *rec, struct pd_event_losses *of)
{
	if (rec->misc & MISC_LOST_SAMPLES_BPF)
		return;
	if (of && !rec->time_ns)
		of->n_told += rec->lost.n;
	else
		r->stats.n_lost_samples += rec->lost.n;
}

static void count(struct pd_reader *r, const struct pd_record *rec)
{
	struct pd_event_losses *of = rec->event >= 0 ? &r->events.v[rec->event]->losses : NULL;

	switch (rec->type) {
	case PERF_RECORD_SAMPLE:
		r->stats.n_samples++;
		r->stats.n_unknown_id += rec->event < 0;
		if (of)
			of->n_samples++;
		return;
	case PERF_RECORD_LOST:
		r->stats.n_lost += rec->lost.n;
		return;
	case PERF_RECORD_LOST_SAMPLES:
		count_lost_samples(r, rec, of);
		return;
	case PERF_RECORD_THROTTLE:
		r->stats.n_throttle++;
		break;
	default:
		break;
	}
	/* What perf says of tasks that ran before it has no time: it never was in a buffer. */
	if (of && rec->time_ns)
		of->n_others++;
}

static double share_of_samples(const struct pd_event_losses *of)
{
	uint64_t all = of->n_samples + of->n_others;

	return all ? (double)of->n_samples / (double)all : 1;
}

double pd_lost_samples(const struct pd_reader *r)
{
	struct pd_event_losses all = { 0 };
	double samples = 0;

	for (size_t i = 0; i < r->events.n; i++) {
		const struct pd_event_losses *of = &r->events.v[i]->losses;

		samples += (double)of->n_told * share_of_samples(of);
		all.n_samples += of->n_samples;
		all.n_others += of->n_others;
		all.n_told += of->n_told;
	}
	if (!all.n_told)
		samples = (double)r->stats.n_lost * share_of_samples(&all);
	return samples + (double)r->stats.n_lost_samples;
}

/* Decode for the caller: 1, 0 for a record that has to be left out, or an error. */
static int deliver(struct pd_reader *r, const struct pd_raw *raw, struct pd_record *rec)
{
	if (raw->type == PD_AUX_SAMPLE) {
		pd_aux_decode(r, raw, rec);
		r->stats.spe.n_no_thread += rec->tid == UINT32_MAX;
		count(r, rec);
		return 1;
	}
	if (raw->type == 0 || raw->type > KERNEL_TYPES) {
		r->stats.n_unknown++;
		return 0;
	}
	if (pd_decode(r, raw, rec)) {
		int rc = r->aux.spe ? pd_aux_follow(r, raw, rec) : 0;

		count(r, rec);
		return rc < 0 ? rc : 1;
	}
	if (raw->type == PERF_RECORD_SAMPLE && rec->event < 0)
		r->stats.n_unknown_id++;
	else
		pd_drop(r, raw->place, raw->size_bytes);
	return 0;
}

/* Behind a push: not more may wait than memory was set aside for. */
static int bounded(struct pd_reader *r, int rc)
{
	return rc == 0 && r->order.held_bytes > PD_ORDER_BYTES ? pd_order_half(&r->order) : rc;
}

/* Take one record from the file: 1 = it is the next for the caller, 0 = go on. */
static int advance(struct pd_reader *r, struct pd_record *rec)
{
	struct pd_raw raw;
	uint64_t time_ns;
	int rc;

	if (r->aux.left)
		return bounded(r, pd_stream_payload(r));
	pd_parts_choose(r);
	rc = pd_stream_next(r, &raw);
	if (rc < 0)
		return rc;
	if (rc == 0) {
		r->drained = pd_parts_end(r);
		return r->drained ? pd_order_all(&r->order) : 0;
	}
	r->stats.n_records++;
	r->record_no++;
	/* What a processor wrote by itself comes many rounds late, and a round of one of perf's threads is no other's. */
	if (raw.type == PD_FINISHED_ROUND)
		return r->aux.spe || r->parts.n ? 0 : pd_order_round(&r->order);
	if (raw.type >= USER_TYPES)
		return take_user_record(r, &raw);
	if (raw.type == PERF_RECORD_AUX && r->aux.spe)
		return pd_aux_lost(r, &raw);
	time_ns = pd_decode_time(r, &raw);
	/* What has no time was there before all that has: perf writes such records for what it found running. */
	if (time_ns == 0 || time_ns == UINT64_MAX)
		return deliver(r, &raw, rec);
	pd_parts_note(r, time_ns);
	return bounded(r, pd_order_push(&r->order, &raw, time_ns));
}

int pd_next(struct pd_reader *r, struct pd_record *rec)
{
	for (;;) {
		struct pd_raw raw;
		int rc;

		if (pd_order_pop(&r->order, r->swap, &raw)) {
			rc = deliver(r, &raw, rec);
			if (rc)
				return rc;
			continue;
		}
		if (r->drained)
			return 0;
		rc = advance(r, rec);
		if (rc)
			return rc;
	}
}

/*
 * In pipe mode attrs and features are records, and our writer puts features
 * so into files as well.  Read those that come first now, so that the caller
 * sees the events.
 */
static int take_leading_records(struct pd_reader *r)
{
	for (;;) {
		struct pd_raw raw;
		size_t have;
		int rc = pd_input_fill(&r->in, HEADER, &have);

		if (rc < 0 || have < HEADER)
			return rc;
		raw.type = pd_u32(r->in.buf + r->in.at, r->swap);
		if (raw.type < USER_TYPES || raw.type == PD_FINISHED_ROUND || raw.type == PD_COMPRESSED ||
		    raw.type == PD_COMPRESSED2 || raw.type == PD_AUXTRACE)
			return 0;
		rc = pd_stream_next(r, &raw);
		if (rc <= 0)
			return rc;
		r->stats.n_records++;
		r->record_no++;
		rc = take_user_record(r, &raw);
		if (rc < 0)
			return rc;
	}
}

int pd_open(const char *path, struct pd_reader **out)
{
	struct pd_reader *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return sp_fail(SP_ENOMEM, "%s: out of memory", path);
	r->in.fd = -1;
	r->n_leading = UINT64_MAX;
	pd_order_reset(&r->order);
	rc = pd_parts_begin(r, path);
	if (rc == 0)
		rc = pd_header_read(r);
	if (rc == 0 && !r->hdr.pipe)
		pd_events_guess_groups(r);
	if (rc == 0)
		rc = take_leading_records(r);
	r->n_leading = r->record_no;
	if (rc < 0) {
		pd_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

int pd_rewind(struct pd_reader *r)
{
	int rc = pd_parts_rewind(r);
	bool unfinished = r->stats.unfinished;

	if (rc < 0)
		return rc;
	pd_order_reset(&r->order);
	pd_aux_reset(r);
	memset(&r->stats, 0, sizeof(r->stats));
	for (size_t i = 0; i < r->events.n; i++)
		r->events.v[i]->losses = (struct pd_event_losses){ 0 };
	r->stats.unfinished = unfinished;
	r->drained = false;
	r->record_no = 0;
	return 0;
}

void pd_close(struct pd_reader *r)
{
	if (!r)
		return;
	pd_order_fini(&r->order);
	pd_aux_fini(r);
	pd_parts_fini(r);
	pd_stream_fini(r);
	pd_events_fini(r);
	pd_feature_fini(r);
	vec_fini(&r->values);
	vec_fini(&r->branches);
	vec_fini(&r->chain);
	vec_fini(&r->regs);
	pd_input_close(&r->in);
	free(r);
}

size_t pd_n_events(const struct pd_reader *r)
{
	return r->events.n;
}

const struct pd_event *pd_event(const struct pd_reader *r, size_t i)
{
	return &r->events.v[i]->pub;
}

const struct pd_header *pd_header(const struct pd_reader *r)
{
	return &r->hdr;
}

const struct pd_stats *pd_stats(const struct pd_reader *r)
{
	return &r->stats;
}
