/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

/*
 * Samples that stand as packets in what the processor itself wrote: Arm's SPE.  perf puts that memory into AUXTRACE records, a
 * queue for each CPU or thread, whenever it has filled; so they are far older than what stands beside them.  Each becomes a
 * sample, which waits for its turn like all records (order.c), and gets its thread when that has come.
 */
enum {
	AUXTRACE_ARM_SPE = 4, /* the type in AUXTRACE_INFO; perf's enum auxtrace_type */
	INFO_OLD_WORDS =
	        2, /* the PMU's type, whether mmaps are by CPU; since perf 6.13 a version stands first */
};

/* A version 2 or later: words that say how many words follow, so that later ones can be stepped over. */
static int take_cpus(struct pd_reader *r, struct pd_cursor *c, uint64_t n_cpus)
{
	for (uint64_t i = 0; i < n_cpus && !c->bad; i++) {
		struct pd_aux_pmu pmu;
		uint64_t n;

		cur_u64(c); /* a magic number */
		pmu.cpu = (int32_t)cur_u64(c);
		n = cur_u64(c);
		cur_u64(c); /* MIDR */
		pmu.type = cur_u64(c);
		cur_bytes(c, n >= 2 ? 8 * (n - 2) : 0);
		if (!c->bad && vec_push(&r->aux.pmus, pmu) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

static bool is_spe_type(const struct pd_aux *aux, uint64_t type)
{
	for (size_t i = 0; i < aux->pmus.n; i++)
		if (aux->pmus.v[i].type == type)
			return true;
	return type == aux->pmu_type;
}

/* In a pipe their names may not have come. */
static int mark_events(struct pd_reader *r)
{
	static const char name[] = "arm_spe//";

	for (size_t i = 0; i < r->events.n; i++) {
		struct pd_ev *ev = r->events.v[i];

		ev->pub.spe = is_spe_type(&r->aux, ev->pub.attr.type);
		if (ev->pub.spe && !ev->named && pd_events_rename(r, i, name, sizeof(name) - 1) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

/* perf's enum auxtrace_type. */
static const char *trace_name(uint32_t type)
{
	static const char *const names[] = { NULL, "Intel PT",    "Intel BTS",    "Arm CoreSight",
		                             NULL, "s390 CPUMSF", "HiSilicon PTT" };

	return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "another processor's";
}

int pd_aux_info(struct pd_reader *r, struct pd_cursor c)
{
	uint32_t type = cur_u32(&c);
	uint64_t n_cpus = 0;
	int rc;

	cur_u32(&c);
	if (type != AUXTRACE_ARM_SPE)
		r->stats.trace = trace_name(type);
	if (type != AUXTRACE_ARM_SPE || r->aux.spe)
		return 0;
	if (cur_left(&c) > 8 * INFO_OLD_WORDS) {
		uint64_t n;

		cur_u64(&c); /* version */
		n = cur_u64(&c);
		r->aux.pmu_type = cur_u64(&c);
		n_cpus = cur_u64(&c);
		cur_bytes(&c, n > 4 ? 8 * (n - 4) : 0);
	} else {
		r->aux.pmu_type = cur_u64(&c);
	}
	if (c.bad)
		return 0;
	rc = take_cpus(r, &c, n_cpus);
	r->aux.spe = true;
	return rc < 0 ? rc : mark_events(r);
}

void pd_aux_time_conv(struct pd_reader *r, struct pd_cursor c)
{
	struct pd_aux_clock *k = &r->aux.clock;
	const uint8_t *flags;

	*k = (struct pd_aux_clock){ 0 };
	k->shift = cur_u64(&c);
	k->mult = cur_u64(&c);
	k->zero = cur_u64(&c);
	k->known = !c.bad && k->mult && k->shift < 64;
	k->cycles = cur_u64(&c);
	k->mask = cur_u64(&c);
	flags = cur_bytes(&c, 2);
	k->narrow = flags && flags[1];
}

/* What perf_event_open(2) says of time_zero, and of counters narrower than 64 bits. */
static uint64_t time_of(const struct pd_aux_clock *k, uint64_t cyc)
{
	uint64_t rest;

	if (k->narrow)
		cyc = k->cycles + ((cyc - k->cycles) & k->mask);
	rest = cyc & ((1ull << k->shift) - 1);
	return k->zero + (cyc >> k->shift) * k->mult + (rest * k->mult >> k->shift);
}

/* The event that a CPU's packets are samples of. */
static int event_of(const struct pd_reader *r, int32_t cpu)
{
	uint64_t type = r->aux.pmu_type;
	int first = -1;

	for (size_t i = 0; i < r->aux.pmus.n; i++)
		if (r->aux.pmus.v[i].cpu == cpu)
			type = r->aux.pmus.v[i].type;
	for (size_t i = 0; i < r->events.n; i++) {
		const struct pd_event *e = &r->events.v[i]->pub;

		if (e->spe && e->attr.type == type)
			return (int)i;
		first = first < 0 && e->spe ? (int)i : first;
	}
	return first;
}

static struct pd_aux_queue *queue_of(struct pd_reader *r, uint32_t idx, int32_t cpu, int32_t tid)
{
	struct pd_aux_queue q = { .idx = idx, .cpu = cpu, .tid = tid };

	for (size_t i = 0; i < r->aux.queues.n; i++) {
		struct pd_aux_queue *old = &r->aux.queues.v[i];

		if (old->idx == idx && old->cpu == cpu && old->tid == tid)
			return old;
	}
	q.event = event_of(r, cpu);
	return vec_push(&r->aux.queues, q) < 0 ? NULL : &r->aux.queues.v[r->aux.queues.n - 1];
}

/* Where what was read ends. */
static uint64_t end_of(const struct pd_aux_queue *q)
{
	return q->spe.off + q->spe.n_held;
}

/* perf pads what it writes: the next bytes may begin a little before these end. */
static bool goes_on(const struct pd_aux_queue *q, uint64_t off)
{
	return off <= end_of(q) && end_of(q) - off < 8;
}

int pd_aux_begin(struct pd_reader *r, struct pd_cursor c)
{
	struct pd_aux_queue *q;
	uint32_t idx;
	uint64_t off;
	int32_t tid, cpu;

	r->aux.at = -1;
	cur_u64(&c);
	off = cur_u64(&c);
	cur_u64(&c);
	idx = cur_u32(&c);
	tid = (int32_t)cur_u32(&c);
	cpu = (int32_t)cur_u32(&c);
	if (c.bad || !r->aux.spe)
		return 0;
	q = queue_of(r, idx, cpu, tid);
	if (!q)
		return -SP_ENOMEM;
	if (!goes_on(q, off))
		spe_cut(&q->spe, off);
	q->spe.off = off - q->spe.n_held;
	r->aux.at = (int)(q - r->aux.queues.v);
	return 0;
}

static int push(struct pd_reader *r, const struct pd_aux_queue *q, const struct spe_record *rec)
{
	struct pd_aux_sample s = {
		.ip = rec->pc, .cpu = q->cpu, .tid = q->tid, .event = q->event, .el = rec->el
	};
	struct pd_raw raw = { .data = (const uint8_t *)&s,
		              .size_bytes = sizeof(s),
		              .place = { r->in.off, r->part } };
	uint32_t type = PD_AUX_SAMPLE;
	uint16_t size = sizeof(s);

	type = r->swap ? __builtin_bswap32(type) : type;
	size = r->swap ? __builtin_bswap16(size) : size;
	memcpy(s.header, &type, sizeof(type));
	memcpy(s.header + 6, &size, sizeof(size));
	if (rec->has & SPE_CONTEXT)
		s.tid = (int32_t)rec->context;
	/* Without a clock all that is known is that they were taken before they were written. */
	s.time_ns =
	        r->aux.clock.known && q->timestamp ? time_of(&r->aux.clock, q->timestamp) : r->order.max_ns;
	return pd_order_push(&r->order, &raw, s.time_ns);
}

/* Does the kernel say that, within the n bytes to come or with them, a record is lost?  *piece is up to there. */
static bool lost_within(const struct pd_aux *aux, const struct pd_aux_queue *q, size_t n, size_t *piece)
{
	bool lost = false;

	*piece = n;
	for (size_t i = 0; i < aux->cuts.n; i++) {
		const struct pd_aux_cut *k = &aux->cuts.v[i];
		bool here = q->cpu >= 0 ? k->cpu == q->cpu : k->tid == q->tid;

		if (!here || k->off <= end_of(q) || k->off - end_of(q) > *piece)
			continue;
		*piece = (size_t)(k->off - end_of(q));
		lost = true;
	}
	return lost;
}

static int decode(struct pd_reader *r, struct pd_aux_queue *q, const uint8_t *p, const uint8_t *end)
{
	struct spe_record rec;
	int rc = 0;

	while (rc == 0 && spe_next(&q->spe, &p, end, &rec)) {
		if (rec.timestamp)
			q->timestamp = rec.timestamp;
		/* What was thrown away again is no part of what the program did. */
		if (rec.has & SPE_EVENTS && rec.events & SPE_EV_RETIRED)
			rc = push(r, q, &rec);
		else
			r->stats.spe.n_not_retired++;
	}
	return rc;
}

int pd_aux_feed(struct pd_reader *r, const uint8_t *p, size_t n)
{
	struct pd_aux_queue *q = r->aux.at < 0 ? NULL : &r->aux.queues.v[r->aux.at];
	uint64_t damaged, cut;
	int rc = 0;

	if (!q)
		return 0;
	damaged = q->spe.damaged_bytes;
	cut = q->spe.n_cut;
	while (n && rc == 0) {
		size_t piece;
		bool lost = lost_within(&r->aux, q, n, &piece);

		rc = decode(r, q, p, p + piece);
		if (lost)
			spe_cut(&q->spe, end_of(q));
		p += piece;
		n -= piece;
	}
	r->stats.spe.damaged_bytes += q->spe.damaged_bytes - damaged;
	r->stats.spe.n_cut += q->spe.n_cut - cut;
	return rc;
}
