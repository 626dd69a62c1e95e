/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mix (eq. 6): exact totals of every event the group carried.  The difference of group values between two neighbouring samples of
 * a thread is an exact count; where both lie in one region it is that region's, whatever the skid. What is used is the ratio of
 * each event to instructions (eq. 6), and the total of instructions apart, so that an interval lost at the region's edge costs
 * the total but not the mix.
 *
 * Without group values an event that was sampled is counted by its samples, a period each, where its counters had one.
 *
 * Groups that are multiplexed count on where they stopped: an interval of such a group is in two pieces, the rest of one slot and
 * the beginning of the next. It is the region's if both are, as the samples of other groups next to them tell.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/boundary.h"
#include "correct/evidence/evidence.h"
#include "correct/evidence/ratio.h"
#include "correct/evidence/total.h"
#include "correct/infer/cholesky.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "correct/recording/events.h"
#include "correct/recording/mux_slots.h"
#include "correct/skid/dist.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

enum { MAX_AWAY = 3 }; /* samples elsewhere, in what a scope may have called */

/* Where the interval to a group's next sample in a thread begins. */
struct begin {
	bool valid;
	int32_t scope; /* of the sample there */
	int32_t next;  /* of the thread's sample after it; when `rests`, another group's */
	bool rests;
	bool inside; /* the interval before was: the next goes on with its run */
	uint64_t value[EFFORT_EVENTS];
	uint64_t enabled_ns, running_ns;
	double n_samples;
	uint32_t run; /* of intervals, as ratios number them */
};

/* Where a thread is. */
struct task {
	int32_t scope;      /* of its last sample */
	int32_t last_scope; /* the region most lately in, through samples outside any */
	uint32_t n_outside; /* samples outside since then */
	int32_t home; /* scope that it went from, for n_away samples so far, which stand for away_insn */
	uint32_t n_away;
	double away_insn;
	uint32_t counters; /* whose the last sample was */
	bool began;
	uint64_t enabled_ns;
};

struct scope_sums {
	double insn;   /* inside, exact */
	double insn_2; /* of each interval inside, squared */
	double n_intervals;
	double n_excursions,
	        n_outside;     /* runs of samples elsewhere between two inside ones, and samples in them */
	double outside_insn;   /* that those of a few samples stand for, other scopes' too */
	struct ratios *ratios; /* of all its inside intervals */
	double by_samples[EFFORT_EVENTS], n_samples[EFFORT_EVENTS]; /* where there are no group values */
};

struct mix {
	struct evidence_input in;
	int kind[EFFORT_EVENTS];  /* enum mix_kind, with its mask */
	int event[EFFORT_EVENTS]; /* index into the reader's events */
	size_t n_kinds;
	int insn, cyc;            /* index into kind[], -1 = they are not counted */
	bool several;             /* groups count instructions: they take turns, or count at once */
	struct scope_sums **sums; /* [scopes] */
	double counted, sampled;  /* instructions in all intervals, and those that samples stand for */
	double total;             /* of the program's instructions, the part that groups counted; 1 = all */
	struct boundary *boundary;
	struct ratio *ratios; /* [n_kinds][scopes] of all other events; counted_insn 0: not known */
	struct mux_slots *slots[EFFORT_EVENTS]; /* of events that only samples count */
	VEC(struct begin *) begins;
	VEC(struct task) tasks;
};

static int kind_at(const struct mix *m, int event)
{
	for (size_t k = 0; k < m->n_kinds; k++)
		if (m->event[k] == event)
			return (int)k;
	return -1;
}

/* Those of groups; or those that are only sampled, beside instructions and cycles. */
static void find_kinds(struct mix *m, bool grouped)
{
	const struct recording *rec = m->in.rec;
	const struct pd_reader *r = rec->reader;

	m->n_kinds = 0;
	m->insn = m->cyc = -1;
	for (size_t i = 0; i < pd_n_events(r) && m->n_kinds < EFFORT_EVENTS; i++) {
		const struct pd_event *e = pd_event(r, i);
		int kind = mix_kind_of(e->name, e->attr.type, e->attr.config, pd_header(r)->cpuid);

		if (kind == MIX_NONE || (grouped && !(e->attr.read_format & PERF_FORMAT_GROUP)) ||
		    (!grouped && (kind == MIX_INSN || kind == MIX_CYCLES)) ||
		    (i < rec->n_events && rec->events[i].same != (int)i))
			continue;
		if (kind == MIX_INSN && m->insn < 0)
			m->insn = (int)m->n_kinds;
		if (kind == MIX_CYCLES && m->cyc < 0)
			m->cyc = (int)m->n_kinds;
		m->kind[m->n_kinds] = kind;
		m->event[m->n_kinds++] = (int)i;
	}
	if (m->insn >= 0)
		m->several =
		        (size_t)m->event[m->insn] < rec->n_events && rec->events[m->event[m->insn]].several;
}

static int begin(const struct evidence_input *in, void **state)
{
	struct mix *m = mem_calloc(1, sizeof(*m));

	*state = m;
	m->in = *in;
	m->total = 1;
	find_kinds(m, true);
	if (m->insn < 0)
		find_kinds(m, false);
	for (size_t k = 0; m->insn < 0 && k < m->n_kinds; k++)
		m->slots[k] = mux_slots_new(in->rec, m->event[k], in->n);
	m->sums = mem_calloc(in->n + 1, sizeof(*m->sums));
	m->boundary = boundary_new(in->n);
	for (size_t i = 0; i < in->n; i++) {
		m->sums[i] = mem_calloc(1, sizeof(**m->sums));
		m->sums[i]->ratios = ratios_new();
	}
	return 0;
}

static void grow_tasks(struct mix *m, const struct sample_seen *s)
{
	while (m->tasks.n <= s->thread)
		vec_add(&m->tasks, (struct task){ .scope = -1, .last_scope = -1, .home = -1 });
	while (m->begins.n <= s->counters) {
		struct begin *b = mem_calloc(1, sizeof(*b));

		vec_add(&m->begins, b);
		b->scope = b->next = -1;
	}
}

/* What a group's sample says: its events' counts, in the order of its values. */
struct reading {
	size_t n;
	int kind[EFFORT_EVENTS];
	uint64_t value[EFFORT_EVENTS];
	double delta[EFFORT_EVENTS]; /* since the sample before */
	double insn, cyc;            /* delta of instructions, of cycles */
	bool forward;
};

/* false when the group doesn't count instructions. */
static bool read_group(const struct mix *m, const struct pd_sample *s, struct reading *r)
{
	bool counts_insn = false;

	r->n = 0;
	for (size_t i = 0; i < s->n_values && r->n < EFFORT_EVENTS; i++) {
		int k = s->values[i].event < 0 ? -1 : kind_at(m, s->values[i].event);

		if (k < 0)
			continue;
		counts_insn |= k == m->insn;
		r->kind[r->n] = k;
		r->value[r->n++] = s->values[i].value;
	}
	return counts_insn;
}

/* Values that go back are another counter's: a new exec, or another thread's number reused. */
static void compare(const struct mix *m, const struct begin *b, struct reading *r)
{
	r->forward = true;
	r->insn = r->cyc = 0;
	for (size_t i = 0; i < r->n; i++) {
		uint64_t before = b->value[r->kind[i]];

		r->forward = r->forward && r->value[i] >= before;
		r->delta[i] = (double)(r->value[i] - before);
		if (r->kind[i] == m->insn)
			r->insn = r->delta[i];
		if (r->kind[i] == m->cyc)
			r->cyc = r->delta[i];
	}
}

/* Intervals of one slot, in one stay, are alike more than others: they make one run. */
static void add_inside(const struct mix *m, struct begin *b, const struct sample_seen *s,
                       const struct reading *seen, bool goes_on)
{
	struct scope_sums *r = m->sums[s->scope];

	r->insn += seen->insn;
	r->insn_2 += seen->insn * seen->insn;
	r->n_intervals++;
	if (!goes_on || !m->several)
		b->run = UINT32_MAX;
	ratios_add(r->ratios,
	           &(struct ratio_interval){
	                   .insn = seen->insn, .events = seen->kind, .counts = seen->delta, .n = seen->n },
	           &b->run);
}

static void follow_excursions(struct mix *m, struct task *t, int32_t scope)
{
	if (scope < 0) {
		t->n_outside++;
		return;
	}
	if (t->last_scope == scope && t->n_outside) {
		m->sums[scope]->n_excursions++;
		m->sums[scope]->n_outside += t->n_outside;
	}
	t->last_scope = scope;
	t->n_outside = 0;
}

/* What a scope calls is soon back. */
static void follow_calls(struct mix *m, struct task *t, const struct sample_seen *s)
{
	if (s->scope == t->home) {
		if (t->home >= 0)
			m->sums[t->home]->outside_insn += t->away_insn;
		t->n_away = 0;
		t->away_insn = 0;
		return;
	}
	if (s->record->event == m->in.rec->insn_event)
		t->away_insn += recording_weight(m->in.rec, s->record);
	if (++t->n_away <= MAX_AWAY && t->home >= 0)
		return;
	t->home = s->scope;
	t->n_away = 0;
	t->away_insn = 0;
}

/*
 * The interval from b to here.  Its first piece ran between b's sample and the thread's next, its second between the sample before
 * this one and this: the same two samples, unless the group rested.
 */
static void add_interval(struct mix *m, struct begin *b, const struct task *t, const struct sample_seen *s,
                         const struct reading *seen)
{
	int32_t next = b->rests ? b->next : s->scope, before = b->rests ? t->scope : b->scope;
	bool went_on = b->inside && !b->rests;

	b->inside =
	        b->valid && b->scope == s->scope && next == s->scope && before == s->scope && s->scope >= 0;
	if (b->inside)
		add_inside(m, b, s, seen, went_on);
	/* Before its first sample a thread was elsewhere, and its counters began at 0. */
	if (!b->valid)
		boundary_cross(m->boundary, -1, s->scope, seen->insn, 0);
	else if (!b->rests && b->scope != s->scope)
		boundary_cross(m->boundary, b->scope, s->scope, seen->insn, seen->cyc);
	else if (!b->rests)
		boundary_inside(m->boundary, s->scope, seen->insn, seen->cyc);
	else if (b->scope != s->scope || next != s->scope || before != s->scope)
		boundary_rest(m->boundary, (int32_t[]){ b->scope, next, before, s->scope }, seen->insn,
		              seen->cyc);
}

/* The thread goes from one group's slot to another's. */
static void follow_turns(struct mix *m, const struct task *t, const struct sample_seen *s)
{
	struct begin *last = m->begins.v[t->counters], *b = m->begins.v[s->counters];

	if (!t->began || t->counters == s->counters)
		return;
	if (!last->rests)
		last->next = s->scope;
	last->rests = true;
	/* A group's first slot: it counts from 0, from after the thread's last sample on. */
	if (!b->valid)
		*b = (struct begin){ .valid = true, .rests = true, .scope = t->scope, .next = s->scope };
}

/*
 * A sample that came when the kernel was entered stands for what ran a skid before: where the thread's last one was, as likely as here.
 * insn: of the interval that it ends.
 */
static void follow_late(struct mix *m, const struct task *t, const struct sample_seen *s, double insn)
{
	bool is_insn = s->record->event == m->in.rec->insn_event;

	if (m->in.rec->at_entry && t->began && t->scope != s->scope && s->scope >= 0)
		boundary_late(m->boundary, t->scope, s->scope, insn,
		              is_insn ? recording_weight(m->in.rec, s->record) : 0);
}

/* Without group values neighbouring samples of a thread tell where scopes were left, and sums of samples their paces. */
static void follow_samples(struct mix *m, const struct sample_seen *s)
{
	bool is_insn = s->record->event == m->in.rec->insn_event;
	double weight = recording_weight(m->in.rec, s->record);
	struct task *t;

	if (!is_insn && s->record->event != m->in.rec->cyc_event)
		return;
	grow_tasks(m, s);
	t = &m->tasks.v[s->thread];
	boundary_sampled(m->boundary, s->scope, is_insn ? weight : 0, is_insn ? 0 : weight);
	if (t->began && t->scope != s->scope)
		boundary_cross(m->boundary, t->scope, s->scope, 0, 0);
	follow_late(m, t, s, 0);
	t->began = true;
	t->scope = s->scope;
}

static void add_sampled(struct mix *m, const struct sample_seen *s)
{
	int k = s->scope < 0 ? -1 : kind_at(m, s->record->event);

	for (size_t i = 0; i < m->n_kinds; i++)
		mux_slots_sample(m->slots[i], m->in.rec, s->record, s->thread, s->scope);
	if (k < 0)
		return;
	m->sums[s->scope]->by_samples[k] += recording_weight(m->in.rec, s->record);
	m->sums[s->scope]->n_samples[k]++;
}

static void sample(void *state, const struct sample_seen *s)
{
	struct mix *m = state;
	const struct pd_sample *smp = &s->record->sample;
	struct reading seen;
	struct begin *b;
	struct task *t;

	if (s->record->event == m->in.rec->insn_event)
		m->sampled += recording_weight(m->in.rec, s->record);
	if (m->insn < 0) {
		follow_samples(m, s);
		add_sampled(m, s);
	}
	if (m->insn < 0 || !read_group(m, smp, &seen))
		return;
	grow_tasks(m, s);
	t = &m->tasks.v[s->thread];
	b = m->begins.v[s->counters];
	follow_turns(m, t, s);
	follow_excursions(m, t, s->scope);
	follow_calls(m, t, s);
	compare(m, b, &seen);
	m->counted += seen.forward ? seen.insn : 0;
	if (seen.forward) {
		add_interval(m, b, t, s, &seen);
		follow_late(m, t, s, seen.insn);
	}
	b->valid = true;
	b->rests = false;
	b->scope = s->scope;
	b->n_samples++;
	b->enabled_ns = smp->time_enabled_ns;
	b->running_ns = smp->time_running_ns;
	for (size_t i = 0; i < seen.n; i++)
		b->value[seen.kind[i]] = seen.value[i];
	t->began = true;
	t->counters = s->counters;
	t->scope = s->scope;
	if (smp->time_enabled_ns > t->enabled_ns)
		t->enabled_ns = smp->time_enabled_ns;
}

/*
 * Share of inside intervals spent in code outside that no sample fell in.  Where the next sample is inside or outside without
 * regard to where this one was (mixing 1), the region is left and entered again many times between two samples, and its
 * intervals hold as much foreign code as there is; where samples stay inside for long (mixing near 0) they hold next to none.
 */
static double unseen_share(const struct scope_sums *r)
{
	double outside, mixing;

	if (r->n_excursions < 1 || r->n_intervals < 1)
		return 0;
	outside = r->n_outside / (r->n_outside + r->n_intervals + r->n_excursions);
	mixing = r->n_excursions / (r->n_intervals + r->n_excursions) / outside;
	mixing = fmin(1, mixing);
	return outside * mixing * mixing * mixing;
}

/*
 * The part of the time in which instructions were counted: above 1 where several groups counted them at once, below where the
 * kernel had the group rest, 1 where groups took turns.
 */
static double counted_part(const struct mix *m)
{
	double running = 0, enabled = 0, n = 0, part;

	/* On one kind of cores: where the thread is on another its group rests, and what ran there is none of it. */
	if (m->in.rec->filter && filter_has_core(m->in.rec->filter))
		return 1;
	for (size_t i = 0; i < m->begins.n; i++) {
		const struct begin *b = m->begins.v[i];

		/* A slot ends half an interval after its last sample. */
		running +=
		        (double)b->running_ns * (m->several && b->n_samples > 0 ? 1 + 0.5 / b->n_samples : 1);
		n += b->n_samples;
	}
	for (size_t i = 0; i < m->tasks.n; i++)
		enabled += (double)m->tasks.v[i].enabled_ns;
	if (!(running > 0) || !(enabled > 0))
		return 1;
	part = running / enabled;
	return m->several && fabs(part - 1) < fmax(model->little, 3 * (double)m->begins.n / n) ? 1 : part;
}

static bool by_samples(const struct mix *m, const struct problem *p)
{
	return p->insn_per_sample > 0 && !p->relative && !m->in.rec->insn_counted;
}

static void find_total(const struct mix *m, const struct boundary_sum *boundary, const struct scope_sums *s,
                       struct problem *p)
{
	/* So far these are what its samples stand for. */
	double sampled = p->total_insn;

	total_of(&(struct total_known){ .inside = s->insn,
	                                .boundary = *boundary,
	                                .counted = m->total,
	                                .sampled = sampled,
	                                .period = by_samples(m, p) && sampled > 0 ? p->insn_per_sample : 0,
	                                .lost = m->sampled > 0 ? m->counted / m->total / m->sampled - 1 : 0,
	                                .skid_known = p->skid_known },
	         &p->total_insn, &p->total_sd);
	/* What was not counted is taken to be like the rest, which may be wrong by some percent of it. */
	p->total_sd = hypot(p->total_sd, model->neighbours_off * fmax(1 - m->total, 0) * p->total_insn);
}

/* The part of the time in which crossings were seen: what turns or stops hid has its samples made up for. */
static double seen_part(const struct mix *m)
{
	size_t i = (size_t)m->in.rec->insn_event;

	if (m->insn >= 0)
		return m->total;
	return i < m->in.rec->n_scale && m->in.rec->scale[i] > 0 ? 1 / m->in.rec->scale[i] : 1;
}

/* Samples that the skid hides (eq. 5) are not there, to as much as they are: S is another program's, and the pace of code a mean. */
static void find_sampled_total(const struct mix *m, const struct boundary_sum *boundary, struct problem *p)
{
	/* Where instructions were counted none overflowed. */
	bool carried = by_samples(m, p);

	if (p->relative || !(p->total_insn > 0))
		return;
	p->hidden = skid_dist_hidden(&p->skid, p->total_cyc * p->insn_per_sample / p->total_insn);
	total_of_samples(&(struct total_known){ .boundary = carried ? *boundary : (struct boundary_sum){ 0 },
	                                        .counted = seen_part(m),
	                                        .sampled = p->total_insn,
	                                        .period = p->insn_per_sample,
	                                        .skid_known = p->skid_known },
	                 &p->total_insn, &p->total_sd);
	p->total_sd = hypot(p->total_sd, p->hidden * p->total_insn);
}

static void settle(const struct mix *m, struct boundary_sum *sums)
{
	double skid = m->insn >= 0 && m->cyc < 0 ? NAN
	              : m->in.n                  ? skid_dist_mean(&m->in.problems[0]->skid)
	                                         : 0;
	double *n = mem_calloc(m->in.n + 1, sizeof(*n));
	double groups = fmax(m->total, 1); /* each of them has its own intervals */

	for (size_t r = 0; r < m->in.n; r++) {
		const struct problem *p = m->in.problems[r];

		if (by_samples(m, p))
			n[r] += groups * p->total_insn / p->insn_per_sample;
		if (p->cyc_per_sample > 0)
			n[r] += groups * p->total_cyc / p->cyc_per_sample;
	}
	boundary_settle(m->boundary, skid, n, sums);
	free(n);
}

/* The ratio of each event in each scope. */
static void find_ratios(struct mix *m)
{
	size_t n = m->in.n;

	/* Who goes on to show samples asks again. */
	free(m->ratios);
	m->ratios = mem_calloc(m->n_kinds * n + 1, sizeof(*m->ratios));
	for (size_t k = 0; k < m->n_kinds; k++) {
		/* These are what the others are held against. */
		if (m->kind[k] == MIX_INSN || m->kind[k] == MIX_CYCLES)
			continue;
		for (size_t s = 0; s < n; s++)
			if (m->sums[s]->insn > 0)
				ratios_of(m->sums[s]->ratios, (int)k, m->in.problems[s]->total_insn,
				          &m->ratios[k * n + s]);
	}
}

/* Instructions of the region, better than samples x period: exact but for the intervals at its edge. */
static void finish(void *state)
{
	struct mix *m = state;
	struct boundary_sum *sums = mem_calloc(m->in.n + 1, sizeof(*sums));

	m->total = counted_part(m) * (1 - m->in.rec->insn_stopped);
	settle(m, sums);
	/* What ran after a group's last sample in a thread: half an interval, of such as a moment lies in, which long ones hold more of. */
	for (size_t i = 0; i < m->begins.n; i++) {
		int32_t scope = m->begins.v[i]->scope;
		struct scope_sums *r = scope < 0 ? NULL : m->sums[scope];

		if (!r || r->n_intervals < 1)
			continue;
		sums[scope].insn += r->insn > 0 ? r->insn_2 / r->insn / 2 : 0;
		sums[scope].n_ends++;
	}
	for (size_t r = 0; r < m->in.n; r++) {
		struct scope_sums *s = m->sums[r];

		m->in.problems[r]->n_crossings = sums[r].n_ends;
		if (s->insn > 0)
			find_total(m, &sums[r], s, m->in.problems[r]);
		else
			find_sampled_total(m, &sums[r], m->in.problems[r]);
		m->in.problems[r]->unseen_share = unseen_share(s);
		m->in.problems[r]->outside_insn = s->outside_insn / m->total;
	}
	find_ratios(m);
	free(sums);
}

static void fill_weights(const struct problem *p, int kind, double *w)
{
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_block *to = &p->blocks[p->edges[e].to],
		                           *from = &p->blocks[p->edges[e].from];

		for (uint32_t i = 0; i < to->n_insn; i++)
			w[e] += mix_of_insn(kind, &p->insns[to->insn0 + i]);
		if (from->n_insn)
			w[e] += mix_of_edge(kind, &p->insns[from->insn0 + from->n_insn - 1],
			                    (enum flow_edge_kind)p->edges[e].kind);
	}
}

/* What else a ratio may be wrong by. */
static double ratio_noise(const struct problem *p, const struct ratio *x)
{
	/* Code unseen outside, called there, or another scope's, has another mix: of the order of the ratio's own size. */
	double foreign = (p->unseen_share + p->called_share + p->border_share) * model->guess * x->ratio;
	/* A count is exact to the instruction at either end of each run of intervals. */
	double end = 4 / x->counted_insn * sqrt(p->n_crossings + 2);
	/* No count is taken to be better than that; of a rare event, as the calls of an outer loop, far more. */
	double floor = fmin(model->exact, model->least * x->ratio);

	return sqrt(x->se * x->se + foreign * foreign + end * end + floor * floor);
}

/*
 * By samples: to a part of a period at each crossing (eq. 15), to what the skid hides and slots differ by (eq. 5), and as
 * instructions are known, which skid over the same borders.
 */
static struct ratio ratio_of_samples(const struct mix *m, size_t scope, size_t k)
{
	const struct problem *p = m->in.problems[scope];
	const struct scope_sums *s = m->sums[scope];
	const double n = s->by_samples[k], period = n / fmax(s->n_samples[k], 1);
	double own, hidden, ratio = n / p->total_insn;

	if (s->n_samples[k] < model->few || p->relative || !(p->total_insn > 0))
		return (struct ratio){ 0 };
	own = hypot(period * sqrt((p->n_crossings + 1) / 6), mux_slots_sd(m->slots[k], scope));
	hidden = skid_dist_hidden(&p->skid, p->total_cyc * period / n);
	return (struct ratio){ .ratio = ratio,
		               .se = hypot(own / p->total_insn,
		                           ratio * hypot(p->total_sd / p->total_insn, hidden)),
		               .counted_insn = p->total_insn };
}

static void total_equation(const struct problem *p, struct equations *out)
{
	struct equation *eq = equations_add(out, p->n_edges);

	fill_weights(p, MIX_INSN, eq->w);
	eq->name = "instructions";
	eq->kind = 0; /* eq. 3, which every method has */
	eq->value = p->total_insn;
	/*
	 * Nothing else tells how many there were, so what is not known of that is left to the end.  Here it
	 * would let the total go to where all that is said a share of it has the least noise, which is 0.
	 */
	eq->sd = model->exact * p->total_insn;
}

/* Ratios `events` of the first n of out's last equations, `own` their noise: what of it is scatter goes together. */
static int tie_noise(const struct ratios *r, const int *events, const double *own, size_t n,
                     struct equations *out)
{
	double *l = mem_calloc(n * n + 1, sizeof(*l));

	ratios_correlate(r, events, n, l);
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < a; b++)
			l[a * n + b] *= own[a] * own[b];
	out->together = l;
	out->first = out->n - n;
	out->n_together = n;
	return cholesky_factor(l, n) < 0 ? sp_fail(SP_EDOMAIN, "ratios: the noise could not be factored") : 0;
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	struct mix *m = state;
	const struct problem *p = m->in.problems[scope];
	const struct scope_sums *r = m->sums[scope];
	double scatter[EFFORT_EVENTS]; /* over all noise */
	int events[EFFORT_EVENTS];
	size_t n = 0;

	total_equation(p, out);
	(void)space;
	for (size_t k = 0; k < m->n_kinds; k++) {
		const struct ratio x =
		        m->insn < 0 ? ratio_of_samples(m, scope, k) : m->ratios[k * m->in.n + scope];
		struct equation *eq;

		if (!(x.counted_insn > 0))
			continue;
		eq = equations_add(out, p->n_edges);
		fill_weights(p, m->kind[k], eq->w);
		if (!equations_any(eq->w, 1, p->n_edges) && x.ratio < model->least) {
			/* None in the region and none counted: nothing to learn. */
			equations_drop(out);
			continue;
		}
		eq->name = pd_event(m->in.rec->reader, (size_t)m->event[k])->name;
		eq->kind = PROFILE_BY_MIX;
		/* As a ratio to instructions: how many there are in all is another matter, known less well. */
		for (size_t e = 0; e < p->n_edges; e++)
			eq->w[e] -= x.ratio * p->blocks[p->edges[e].to].n_insn;
		eq->shown = x.ratio * p->total_insn;
		eq->sd = ratio_noise(p, &x) * p->total_insn;
		events[n] = (int)k;
		scatter[n++] = x.se * p->total_insn / eq->sd;
	}
	return m->insn < 0 ? 0 : tie_noise(r->ratios, events, scatter, n, out);
}

static void end(void *state)
{
	struct mix *m = state;

	if (!m)
		return;
	for (size_t i = 0; i < m->begins.n; i++)
		free(m->begins.v[i]);
	for (size_t i = 0; m->sums && i < m->in.n; i++) {
		if (m->sums[i])
			ratios_free(m->sums[i]->ratios);
		free(m->sums[i]);
	}
	for (size_t k = 0; k < m->n_kinds; k++)
		mux_slots_free(m->slots[k]);
	boundary_free(m->boundary);
	free(m->ratios);
	vec_fini(&m->begins);
	vec_fini(&m->tasks);
	free(m->sums);
	free(m);
}

const struct evidence_ops evidence_mix = {
	.name = "mix",
	.begin = begin,
	.sample = sample,
	.finish = finish,
	.equations = equations,
	.end = end,
};
