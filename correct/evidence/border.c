/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Borders (eq. 15): a skid moves samples of instructions over the borders of a loop, no farther than S at each visit.  What was
 * sampled in it, with all that it calls, is what it ran where its visits are long.  How many those are, samples one after the other
 * tell.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "correct/evidence/evidence.h"
#include "correct/known.h"
#include "correct/model/effort.h"
#include "correct/model/model.h"
#include "profiler/base/mem.h"
#include "profiler/base/vec.h"

/* The samples of a scope, one after the other: places of instructions. */
struct steps {
	VEC(uint32_t) insns;
};

struct border {
	struct evidence_input in;
	struct steps *scopes; /* [in.n] */
};

/* What was sampled in a part of a scope. */
struct part {
	double insn, cyc;
};

/* Of one scope. */
struct finder {
	const struct problem *p;
	const struct steps *steps;
	struct flow_effort effort;
	struct part all;
	uint8_t *in;       /* [I] of the part at hand */
	double *heat;      /* [graph n_blocks] */
	VEC(double) known; /* what was sampled in each loop that was looked at */
	struct equations *out;
};

static int begin(const struct evidence_input *in, void **state)
{
	struct border *b = mem_calloc(1, sizeof(*b));

	b->in = *in;
	b->scopes = mem_calloc(in->n + 1, sizeof(*b->scopes));
	*state = b;
	return 0;
}

static void end(void *state)
{
	struct border *b = state;

	for (size_t i = 0; i < b->in.n; i++)
		vec_fini(&b->scopes[i].insns);
	free(b->scopes);
	free(b);
}

static void sample(void *state, const struct sample_seen *s)
{
	struct border *b = state;
	const struct recording *rec = b->in.rec;

	/* Counts between samples of cycles lie in the wrong place, and there may be millions of samples. */
	if (rec->relative || rec->insn_counted)
		return;
	if (s->scope >= 0 && (s->record->event == rec->insn_event || s->record->event == rec->cyc_event) &&
	    b->scopes[s->scope].insns.n < EFFORT_PLACED)
		vec_add(&b->scopes[s->scope].insns, s->insn);
}

/*
 * r[k] is what is left of what a sample tells of the one k steps on, whether that is inside: of visits that are as long as chance has
 * it r[2] is the square of r[1], and more where the program goes through stages, or visits too short to be seen are among them: then
 * nobody knows how many there are.
 */
static double count_visits(const struct finder *f)
{
	const uint32_t *at = f->steps->insns.v;
	const size_t n = f->steps->insns.n;
	double crossed[3] = { 0 }, inside = 0, both, r[3];

	for (size_t i = 0; i < n; i++) {
		inside += f->in[at[i]];
		for (size_t k = 1; k < 3 && k <= i; k++)
			crossed[k] += f->in[at[i]] != f->in[at[i - k]];
	}
	inside /= fmax((double)n, 1);
	both = inside * (1 - inside);
	/* By two standard deviations less, r[1] is none by chance. */
	r[1] = 1 - (crossed[1] + 2 * sqrt(crossed[1])) / (double)n / 2 / both;
	r[2] = 1 - crossed[2] / (double)n / 2 / both;
	return r[1] > 0 && r[1] * r[1] > model->most * r[2] ? fmax(-log(r[1]) * both * (double)n, 1)
	                                                    : INFINITY;
}

/* eq. 15, where the pace before a crossing is not known: no faster than the faster side, and half of that is open. */
static double noise_of(const struct finder *f, const struct part *part)
{
	const struct problem *p = f->p;
	double rest_insn = f->all.insn - part->insn,
	       rest_cyc = fmax(f->all.cyc - part->cyc, p->cyc_per_sample);
	double pace = fmax(part->insn / fmax(part->cyc, p->cyc_per_sample), rest_insn / rest_cyc);
	double carried = skid_dist_mean(&p->skid) * pace * count_visits(f);

	return hypot(model->guess * carried * (p->skid_known ? 1 : model->unknown_skid),
	             sqrt(part->insn * rest_insn / f->all.insn * p->insn_per_sample));
}

static void add_equation(struct finder *f, const struct part *part, double sd)
{
	const struct problem *p = f->p;
	const double scale = p->total_insn / f->all.insn;
	struct equation *eq;

	eq = equations_add(f->out, p->n_edges);
	for (size_t e = 0; e < p->n_edges; e++) {
		const struct problem_block *to = &p->blocks[p->edges[e].to];

		eq->w[e] = to->n_insn && f->in[to->insn0] ? to->n_insn : 0;
	}
	eq->name = "what was sampled in a loop";
	eq->kind = PROFILE_BY_BORDER;
	eq->value = part->insn * scale;
	eq->sd = sd * scale;
}

static struct part mark(struct finder *f, const struct flow_region *r)
{
	const struct problem *p = f->p;
	struct part part = { 0 };

	memset(f->in, 0, p->n_insns);
	for (size_t i = 0; i < r->n_blocks; i++) {
		long b = problem_block_at(p, r->blocks[i]);

		for (uint32_t k = 0; b >= 0 && k < p->blocks[b].n_insn; k++) {
			const uint32_t at = p->blocks[b].insn0 + k;

			f->in[at] = 1;
			part.insn += p->seen_insn[at];
			part.cyc += p->seen_cyc[at];
		}
	}
	return part;
}

static bool is_known(const struct finder *f, double insn)
{
	for (size_t i = 0; i < f->known.n; i++)
		if (f->known.v[i] == insn)
			return true;
	return false;
}

/* Loops of a region, and those inside them, that say more than what is around them does. */
static void add_parts(struct finder *f, const struct flow_region *region, double around)
{
	const struct problem *p = f->p;
	struct flow_regions *parts = flow_region_parts(p->graph, region, f->heat, model->least, &f->effort);

	for (size_t k = 0; k < parts->n; k++) {
		const struct part part = mark(f, &parts->v[k]);
		double sd;
		bool tells;

		/* Come to once more, through another loop. */
		if (part.insn < model->few * p->insn_per_sample || is_known(f, part.insn))
			continue;
		vec_add(&f->known, part.insn);
		sd = noise_of(f, &part);
		tells = sd < model->guess * fmin(part.insn, around - part.insn);
		if (tells)
			add_equation(f, &part, sd);
		add_parts(f, &parts->v[k], tells ? part.insn : around);
	}
	flow_regions_free(parts);
}

static int equations(void *state, size_t scope, const struct space *space, struct equations *out)
{
	struct border *b = state;
	struct finder f = { .p = b->in.problems[scope], .steps = &b->scopes[scope], .out = out };
	const struct problem *p = f.p;

	(void)space;
	/* Stacks tell the way itself. */
	if (!f.steps->insns.n || p->stacked_insn > 0 || !(p->insn_per_sample > 0) ||
	    !(p->cyc_per_sample > 0) || !p->region || !(skid_dist_mean(&p->skid) > 0))
		return 0;
	f.in = mem_calloc(p->n_insns + 1, 1);
	f.heat = mem_calloc(p->graph->n_blocks + 1, sizeof(*f.heat));
	f.effort.most = EFFORT_PLACED;
	for (size_t k = 0; k < p->n_blocks; k++)
		for (uint32_t i = p->blocks[k].insn0; i < p->blocks[k].insn0 + p->blocks[k].n_insn; i++) {
			f.heat[p->blocks[k].graph_block] += p->seen_insn[i];
			f.all.insn += p->seen_insn[i];
			f.all.cyc += p->seen_cyc[i];
		}
	if (f.all.insn > 0)
		add_parts(&f, p->region, f.all.insn);
	free(f.in);
	vec_fini(&f.known);
	free(f.heat);
	return 0;
}

const struct evidence_ops evidence_border = {
	.name = "border",
	.begin = begin,
	.sample = sample,
	.equations = equations,
	.end = end,
};
