/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/divide/scopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/judge/reasons.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/disjoint.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/vec.h"

enum {
	LABEL_UNKNOWN = -1, /* in code that several parts share */
	PENDING = -2,       /* of_sample of such a sample while its scope is looked for */
};

struct finder {
	const struct flow_graph *g;
	const struct scope_sample *samples;
	const int32_t *way;
	size_t n;
	struct flow_effort *effort;
	struct scopes *out;
	size_t scope_cap;
	double *heat;  /* [n_blocks] of one scope's samples */
	int8_t *label; /* [n] of one scope's samples: part, or one past the last for code in none */
	uint32_t n_threads;
};

/* How the parts of one scope follow each other. */
struct traffic {
	double n[EFFORT_PARTS + 1], switches[EFFORT_PARTS][EFFORT_PARTS];
	double shared[EFFORT_PARTS]; /* samples in shared code between two of one part */
	bool between;                /* code in no part ran between two samples of one part */
	uint32_t group[EFFORT_PARTS];
};

static void add_scope(struct finder *f, const struct scope *scope)
{
	struct scopes *s = f->out;

	vec_room_raw((void **)&s->v, &f->scope_cap, s->n + 1, sizeof(*s->v));
	s->v[s->n++] = *scope;
}

void scopes_fini(struct scopes *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].owned)
			flow_region_free(s->v[i].region);
	free(s->v);
	free(s->of_sample);
	*s = (struct scopes){ 0 };
}

/* ---- labels ---- */

static void heat_of(struct finder *f, size_t scope)
{
	memset(f->heat, 0, f->g->n_blocks * sizeof(*f->heat));
	for (size_t i = 0; i < f->n; i++)
		if (f->out->of_sample[i] == (int32_t)scope)
			f->heat[f->samples[i].block]++;
}

/* The part that shared code was come to from, as far as the branch record shows. */
static int32_t part_before(const struct finder *f, const struct scope_sample *s,
                           const struct flow_regions *parts)
{
	int32_t part = FLOW_SHARED;

	for (uint32_t k = 0; k < s->n_way && part == FLOW_SHARED; k++)
		part = f->way[s->way0 + k] < 0 ? -1 : parts->of_block[f->way[s->way0 + k]];
	return part < 0 ? FLOW_SHARED : part;
}

/* Which part each sample of the scope is in by its own block, and its branch record, alone. */
static void label_own(struct finder *f, size_t scope, const struct flow_regions *parts)
{
	for (size_t i = 0; i < f->n; i++) {
		int32_t part;

		if (f->out->of_sample[i] != (int32_t)scope)
			continue;
		part = parts->of_block[f->samples[i].block];
		if (part == FLOW_SHARED)
			part = part_before(f, &f->samples[i], parts);
		f->label[i] = (int8_t)(part == FLOW_SHARED ? LABEL_UNKNOWN
		                       : part < 0          ? (int32_t)parts->n
		                                           : part);
	}
}

/* A thread's last sample in a known part, whether code in none followed, and how many samples in shared code did. */
struct last_part {
	int8_t part;
	bool outside;
	double shared;
};

static bool holds(const struct flow_region *r, int32_t block)
{
	size_t i = sorted_count(r->n_blocks, k, (int32_t)r->blocks[k] < block);

	return block >= 0 && i < r->n_blocks && (int32_t)r->blocks[i] == block;
}

/* Does the branch record of a sample show code in no part between two visits of one?  Samples may never land there. */
static bool passes_between(const struct finder *f, const struct scope_sample *s, int32_t part,
                           const struct flow_region *r, const struct flow_regions *parts)
{
	bool outside = false;

	for (uint32_t k = 0; k < s->n_way && f->way[s->way0 + k] >= 0; k++) {
		int32_t block = f->way[s->way0 + k], now = parts->of_block[block];

		if (now < 0) {
			outside |= now == -1 && holds(r, block);
			continue;
		}
		if (now == part && outside)
			return true;
		outside = false;
		part = now;
	}
	return false;
}

/* Count samples in each part, and how often the next known one of the thread is in another. */
static void count_traffic(struct finder *f, size_t scope, const struct flow_regions *parts, struct traffic *t)
{
	const struct flow_region *region = f->out->v[scope].region;
	const size_t n_parts = parts->n;
	struct last_part *last = mem_calloc(f->n_threads + 1, sizeof(*last));

	for (uint32_t th = 0; th < f->n_threads; th++)
		last[th].part = LABEL_UNKNOWN;
	for (size_t i = 0; i < f->n; i++) {
		struct last_part *prev = &last[f->samples[i].thread];
		int8_t now = f->label[i];

		if (f->out->of_sample[i] != (int32_t)scope) {
			*prev = (struct last_part){ .part = LABEL_UNKNOWN };
			continue;
		}
		if (now == LABEL_UNKNOWN) {
			prev->shared++;
			continue;
		}
		t->n[now]++;
		if ((size_t)now == n_parts) {
			prev->outside = true;
			prev->shared = 0;
			continue;
		}
		if (prev->part == LABEL_UNKNOWN || prev->part == now)
			t->shared[now] += prev->shared;
		if (prev->part != LABEL_UNKNOWN && prev->part != now)
			t->switches[prev->part][now]++;
		t->between = t->between || (prev->part == now && prev->outside) ||
		             passes_between(f, &f->samples[i], now, region, parts);
		*prev = (struct last_part){ .part = now };
	}
	free(last);
}

/* Parts that alternate fast are one. */
static void merge_parts(struct traffic *t, size_t n_parts)
{
	for (uint32_t a = 0; a < n_parts; a++)
		t->group[a] = a;
	for (uint32_t a = 0; a < n_parts; a++)
		for (uint32_t b = 0; b < a; b++) {
			double both = t->switches[a][b] + t->switches[b][a], rarer = fmin(t->n[a], t->n[b]);

			if (both > 2 && both / 2 > model->switching * rarer)
				disjoint_unite(t->group, a, b);
		}
}

/* ---- splitting ---- */

static size_t sort_unique(uint32_t *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), order_u32);
	for (size_t i = 0; i < n; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

/* One region of all parts of a group, with everything that was in any of them. */
static struct flow_region *join_parts(const struct flow_regions *parts, struct traffic *t, uint32_t group)
{
	struct flow_region *r = mem_calloc(1, sizeof(*r));
	size_t blocks = 0, edges = 0, headers = 0;
	double hottest = -1;

	for (uint32_t i = 0; i < parts->n; i++)
		if (disjoint_root(t->group, i) == group) {
			blocks += parts->v[i].n_blocks;
			edges += parts->v[i].n_edges;
			headers += parts->v[i].n_headers;
		}
	r->blocks = mem_calloc(blocks + 1, sizeof(*r->blocks));
	r->edges = mem_calloc(edges + 1, sizeof(*r->edges));
	r->headers = mem_calloc(headers + 1, sizeof(*r->headers));
	for (uint32_t i = 0; i < parts->n; i++) {
		const struct flow_region *p = &parts->v[i];

		if (disjoint_root(t->group, i) != group)
			continue;
		memcpy(r->blocks + r->n_blocks, p->blocks, p->n_blocks * sizeof(*p->blocks));
		memcpy(r->edges + r->n_edges, p->edges, p->n_edges * sizeof(*p->edges));
		memcpy(r->headers + r->n_headers, p->headers, p->n_headers * sizeof(*p->headers));
		r->n_blocks += p->n_blocks;
		r->n_edges += p->n_edges;
		r->n_headers += p->n_headers;
		if (p->weight > hottest) {
			hottest = p->weight;
			r->header = p->header;
		}
		r->weight += p->weight;
		r->unknown_target |= p->unknown_target;
		r->unknown_weight += p->unknown_weight;
		r->undecoded |= p->undecoded;
		r->undecoded_weight += p->undecoded_weight;
		r->guessed |= p->guessed;
		r->recursive |= p->recursive;
	}
	r->n_blocks = sort_unique(r->blocks, r->n_blocks);
	r->n_edges = sort_unique(r->edges, r->n_edges);
	return r;
}

/* The scope each group becomes; -1 for code in no part, and for groups hardly sampled. */
static void make_scopes(struct finder *f, size_t scope, const struct flow_regions *parts, struct traffic *t,
                        int32_t *scope_of)
{
	for (uint32_t i = 0; i < parts->n; i++)
		scope_of[i] = -1;
	for (uint32_t i = 0; i < parts->n; i++) {
		uint32_t group = disjoint_root(t->group, i);
		struct flow_region *r;
		double own = 0, shared = 0;

		if (scope_of[group] >= 0)
			continue;
		for (uint32_t k = 0; k < parts->n; k++)
			if (disjoint_root(t->group, k) == group) {
				own += t->n[k];
				shared += t->shared[k];
			}
		/* A loop may spend nearly all of its time in what it calls, which others call too. */
		if (own < model->few || own + shared < model->some)
			continue;
		r = join_parts(parts, t, group);
		add_scope(f,
		          &(struct scope){ .parent = f->out->v[scope].parent, .region = r, .owned = true });
		scope_of[group] = (int32_t)f->out->n - 1;
	}
}

/* Samples [begin, end) of a thread in shared code that lie between two scopes. */
struct border {
	uint32_t thread;
	size_t begin, end;
	int32_t before, after;
};

struct claims {
	size_t *since;  /* [threads] first sample of unknown scope + 1, 0 = none */
	int32_t *known; /* [threads] scope of the last known one */
	VEC(struct border) borders;
};

/* Returns how many there were. */
static uint32_t claim(struct finder *f, uint32_t thread, size_t begin, size_t end, int32_t scope)
{
	uint32_t n = 0;

	for (size_t k = begin; k < end; k++)
		if (f->samples[k].thread == thread && f->out->of_sample[k] == PENDING) {
			f->out->of_sample[k] = scope;
			n++;
		}
	return n;
}

/*
 * The program went from one scope to the other at some moment of the run.  Most likely all of it ran where shared code is the
 * larger part of what runs: a long run of such samples is rare where it is small.  Returns how many there were.
 */
static uint32_t settle_borders(struct finder *f, const struct claims *c)
{
	uint32_t n = 0;
	double *all = mem_calloc(2 * f->out->n + 1, sizeof(*all)), *shared;

	shared = all + f->out->n;
	for (size_t i = 0; i < f->n; i++) {
		int32_t scope = f->out->of_sample[i];

		if (scope < 0)
			continue;
		all[scope]++;
		shared[scope] += f->label[i] == LABEL_UNKNOWN;
	}
	for (size_t i = 0; i < c->borders.n; i++) {
		const struct border *b = &c->borders.v[i];
		double before = shared[b->before] * all[b->after], after = shared[b->after] * all[b->before];

		uint32_t n_border = claim(f, b->thread, b->begin, b->end,
		                          before > after   ? b->before
		                          : after > before ? b->after
		                                           : -1);

		f->out->v[b->before].n_border += n_border;
		f->out->v[b->after].n_border += n_border;
		n += n_border;
	}
	free(all);
	return n;
}

/* A known sample after a run of unknown ones settles them, or tells where the border lies. */
static void close_run(struct finder *f, struct claims *c, size_t i, int32_t now)
{
	uint32_t th = f->samples[i].thread;
	size_t begin = c->since[th] ? c->since[th] - 1 : i;
	int32_t before = c->known[th];

	c->since[th] = 0;
	c->known[th] = now;
	if (begin == i)
		return;
	if (before == now)
		claim(f, th, begin, i, now);
	else if (before == -1 && now >= 0)
		f->out->v[now].n_border += claim(f, th, begin, i, now);
	else if (now >= 0) {
		vec_add(&c->borders, (struct border){ th, begin, i, before, now });
		return;
	}
}

/* Returns how many samples lie between two scopes. */
static uint32_t follow_samples(struct finder *f, size_t scope, size_t n_parts, struct traffic *t,
                               const int32_t *scope_of, struct claims *c)
{
	for (size_t i = 0; i < f->n; i++) {
		uint32_t th = f->samples[i].thread;

		if (f->out->of_sample[i] != (int32_t)scope)
			continue;
		if (f->label[i] == LABEL_UNKNOWN) {
			f->out->of_sample[i] = PENDING;
			if (!c->since[th])
				c->since[th] = i + 1;
			continue;
		}
		f->out->of_sample[i] = (uint32_t)f->label[i] < n_parts
		                               ? scope_of[disjoint_root(t->group, (uint32_t)f->label[i])]
		                               : -1;
		close_run(f, c, i, f->out->of_sample[i]);
	}
	/* Those after a thread's last known one go with it. */
	for (uint32_t th = 0; th < f->n_threads; th++)
		if (c->since[th])
			claim(f, th, c->since[th] - 1, f->n, c->known[th]);
	return settle_borders(f, c);
}

/* Samples in shared code belong where the thread's known neighbours on both sides do.  Returns of how many these are two scopes. */
static uint32_t reassign(struct finder *f, size_t scope, size_t n_parts, struct traffic *t,
                         const int32_t *scope_of)
{
	struct claims c = { .since = mem_calloc(f->n_threads + 1, sizeof(*c.since)),
		            .known = mem_calloc(f->n_threads + 1, sizeof(*c.known)) };
	uint32_t n_between;

	memset(c.known, 0xff, (f->n_threads + 1) * sizeof(*c.known));
	n_between = follow_samples(f, scope, n_parts, t, scope_of, &c);
	/* What nobody claimed stays raw. */
	for (size_t i = 0; i < f->n; i++)
		if (f->out->of_sample[i] == PENDING)
			f->out->of_sample[i] = -1;
	free(c.since);
	free(c.known);
	vec_fini(&c.borders);
	return n_between;
}

/*
 * Is there something to gain, and nothing to lose?  Code in no part may only run where the program goes from one part to another:
 * code that also runs between two samples of one part belongs to that part's repetition, however few samples fall into it (what
 * retires fast gets none).
 */
static bool worth_splitting(const struct traffic *t, const struct flow_regions *parts, double n_scope,
                            size_t n_blocks)
{
	double glue = t->n[parts->n], known = glue;

	for (size_t i = 0; i < parts->n; i++)
		known += t->n[i];
	if (known < model->some || glue > model->small * n_scope || t->between)
		return false;
	return parts->n > 1 || parts->v[0].n_blocks < n_blocks;
}

/* Into how many groups the parts fell; code in none of them is not asked. */
static size_t count_groups(struct traffic *t, size_t n_parts)
{
	bool seen[EFFORT_PARTS] = { false };
	size_t n = 0;

	for (uint32_t i = 0; i < n_parts; i++) {
		uint32_t group = disjoint_root(t->group, i);

		n += !seen[group];
		seen[group] = true;
	}
	return n;
}

static double count_lost(const struct finder *f, const int32_t *before, size_t scope)
{
	double n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += before[i] == (int32_t)scope && f->out->of_sample[i] < 0;
	return n;
}

/* Parts become scopes and get their samples, unless too many would be left, or could be of either of two; whether they did. */
static bool make_split(struct finder *f, size_t scope, const struct flow_regions *parts, struct traffic *t,
                       double n_scope)
{
	const size_t n_before = f->out->n, bytes = f->n * sizeof(*f->out->of_sample);
	int32_t scope_of[EFFORT_PARTS], *before = mem_calloc(f->n + 1, sizeof(*before));
	bool split = false;

	memcpy(before, f->out->of_sample, bytes);
	make_scopes(f, scope, parts, t, scope_of);
	/* No part has enough samples for itself: better together than not at all. */
	if (f->out->n > n_before) {
		uint32_t n_between = reassign(f, scope, parts->n, t, scope_of);

		split = count_lost(f, before, scope) + n_between <= reason_limit_partly_outside * n_scope;
	}
	if (!split) {
		memcpy(f->out->of_sample, before, bytes);
		while (f->out->n > n_before)
			flow_region_free(f->out->v[--f->out->n].region);
	}
	free(before);
	return split;
}

/* Split one scope into its parts; whether it was. */
static bool split_scope(struct finder *f, size_t scope)
{
	const struct flow_region *region = f->out->v[scope].region;
	struct flow_regions *parts;
	struct traffic *t = mem_calloc(1, sizeof(*t));
	double n_scope = 0;
	bool split = false;

	heat_of(f, scope);
	for (size_t b = 0; b < f->g->n_blocks; b++)
		n_scope += f->heat[b];
	parts = flow_region_parts(f->g, region, f->heat, model->least, f->effort);
	if (flow_effort_spent(f->effort) || parts->n < 1 || parts->n > EFFORT_PARTS)
		goto out;
	label_own(f, scope, parts);
	count_traffic(f, scope, parts, t);
	merge_parts(t, parts->n);
	if (!worth_splitting(t, parts, n_scope, region->n_blocks))
		goto out;
	if (parts->n > 1 && count_groups(t, parts->n) < 2)
		goto out;
	split = make_split(f, scope, parts, t, n_scope);
out:
	flow_regions_free(parts);
	free(t);
	return split;
}

static void split_all(struct finder *f)
{
	size_t done = 0, end = f->out->n;

	for (int depth = 0; depth < EFFORT_NESTED && done < end; depth++) {
		for (; done < end; done++) {
			if (!split_scope(f, done))
				continue;
			if (f->out->v[done].owned)
				flow_region_free(f->out->v[done].region);
			f->out->v[done].region = NULL;
		}
		end = f->out->n;
	}
}

/* Close the gaps that split scopes left. */
static void compact(struct finder *f, int32_t *number)
{
	struct scopes *s = f->out;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		number[i] = s->v[i].region ? (int32_t)kept : -1;
		if (s->v[i].region)
			s->v[kept++] = s->v[i];
	}
	s->n = kept;
	for (size_t i = 0; i < f->n; i++)
		if (s->of_sample[i] >= 0) {
			s->of_sample[i] = number[s->of_sample[i]];
			s->v[s->of_sample[i]].n_samples++;
		}
}

void scopes_find(const struct flow_graph *g, const struct flow_regions *regions,
                 const struct scope_samples *samples, struct flow_effort *effort, struct scopes *out)
{
	size_t n = samples->n;
	struct finder f = {
		.g = g, .samples = samples->v, .way = samples->way, .n = n, .effort = effort, .out = out
	};
	int32_t *number;

	*out = (struct scopes){ 0 };
	for (size_t r = 0; r < regions->n; r++)
		add_scope(&f,
		          &(struct scope){ .parent = (uint32_t)r, .region = &regions->v[r], .whole = true });
	if (!samples->v)
		return;
	f.heat = mem_calloc(g->n_blocks + 1, sizeof(*f.heat));
	f.label = mem_calloc(n + 1, 1);
	out->of_sample = mem_calloc(n + 1, sizeof(*out->of_sample));
	for (size_t i = 0; i < n; i++) {
		out->of_sample[i] = f.samples[i].block >= 0 ? regions->of_block[f.samples[i].block] : -1;
		if (f.samples[i].thread >= f.n_threads)
			f.n_threads = f.samples[i].thread + 1;
	}
	split_all(&f);
	number = mem_calloc(out->n + 1, sizeof(*number));
	compact(&f, number);
	free(f.heat);
	free(f.label);
	free(number);
}
