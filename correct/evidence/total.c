/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/evidence/total.h"
#include "correct/model/model.h"

#include <math.h>

struct estimate {
	double insn, var;
};

static struct estimate by_intervals(const struct total_known *k, double n_visits)
{
	const struct boundary_sum *e = &k->boundary;
	double insn = (k->inside + e->insn) / k->counted, interval = n_visits > 0 ? e->insn / n_visits : 0;

	/* A crossing lies anywhere in its interval. */
	return (struct estimate){ insn, e->n_ends * interval * interval / 12 + e->wrong * e->wrong };
}

/* More instructions whose samples the skid carries in than out. */
static double carried_of(const struct total_known *k)
{
	return (k->boundary.in - k->boundary.out) / k->counted;
}

/* eq. 15, but for the noise of periods */
static struct estimate by_samples(const struct total_known *k)
{
	double wrong = k->boundary.unsure / k->counted * (k->skid_known ? 1 : model->unknown_skid) +
	               fabs(k->lost) * k->sampled;

	return (struct estimate){ k->sampled * (1 + k->lost) - carried_of(k), wrong * wrong };
}

void total_of(const struct total_known *k, double *insn, double *sd)
{
	double n_visits = k->boundary.n_ends / 2;
	struct estimate a = by_intervals(k, n_visits), b = by_samples(k);
	double more, mixed = k->boundary.mixed / k->counted;

	/* Of a visit, the number of periods is known up to one, as a fraction of one at either end. */
	b.var += k->period * k->period * (n_visits + 1) / 6;
	*insn = a.insn;
	*sd = hypot(sqrt(a.var), mixed);
	if (!(k->period > 0) || !isfinite(b.insn) || !(a.var + b.var > 0))
		return;
	/* Where they do not agree, one of them is worse than it is taken to be, and nothing tells which: either may be. */
	more = fmax(0, ((a.insn - b.insn) * (a.insn - b.insn) - a.var - b.var) / 2);
	a.var += more;
	b.var += more;
	*insn += a.var / (a.var + b.var) * (b.insn - a.insn);
	*sd = hypot(sqrt(a.var * b.var / (a.var + b.var)), mixed);
}

void total_of_samples(const struct total_known *k, double *insn, double *sd)
{
	struct estimate b = by_samples(k);
	double mixed = k->boundary.mixed / k->counted;

	if (!isfinite(b.insn) || !isfinite(b.var))
		b = (struct estimate){ k->sampled, 0 };
	/* More than there is was not carried in. */
	if (!(b.insn > 0))
		b = (struct estimate){ k->sampled, carried_of(k) * carried_of(k) };
	*insn = b.insn;
	*sd = sqrt(b.var + k->sampled * k->period + mixed * mixed);
}
