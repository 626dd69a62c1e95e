/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pressures are tried, and curves put together. */
#include "profiler/calibrate/cliff.h"

#include <string.h>

enum { PAGE_KB = 4 };

static double scale_of(const struct cliff *c, const struct cliff_sizes *s)
{
	switch ((enum cliff_scale)c->scale) {
	case CLIFF_OF_L1:
		return s->l1_kb / 100.0;
	case CLIFF_OF_L2:
		return s->l2_kb / 100.0;
	case CLIFF_OF_L3:
		return s->l3_kb / 100.0;
	case CLIFF_AS_IT_IS:
		break;
	}
	return 1;
}

static bool has_place(const struct cliff *c)
{
	return c->method == CLIFF_KNEE || c->method == CLIFF_BEND || c->method == CLIFF_FILL;
}

void cliff_pressures(const struct cliff *c, const struct cliff_sizes *sizes, bool quick,
                     struct cliff_curve *out)
{
	uint32_t step = quick && c->method == CLIFF_RATE ? c->step * 2u : c->step;
	double scale = scale_of(c, sizes);

	memset(out, 0, sizeof(*out));
	for (uint32_t p = c->from; p <= c->to && out->n < CLIFF_MAX_POINTS; p += step) {
		uint32_t scaled =
		        c->scale == CLIFF_AS_IT_IS ? p : PAGE_KB * (uint32_t)(p * scale / PAGE_KB + 0.5);

		if (!out->n || scaled > out->pressure[out->n - 1])
			out->pressure[out->n++] = scaled;
	}
}

static bool has_pressure(const struct cliff_curve *c, uint32_t p)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->pressure[i] == p)
			return true;
	return false;
}

void cliff_refine(const struct cliff *c, const struct cliff_curve *coarse, struct cliff_curve *out)
{
	struct cliff_result r;
	size_t foot = 0, last = coarse->n - 1;
	uint32_t step, from, to;

	memset(out, 0, sizeof(*out));
	/* Tables of predictors are powers of two: the coarse steps tell which. */
	if (!has_place(c) || c->shape == CLIFF_PATTERN || cliff_infer(c, coarse, &r) < 0 ||
	    r.verdict == CLIFF_ABSENT)
		return;
	while (foot + 1 < last && coarse->pressure[foot + 1] + c->amount <= r.value)
		foot++;
	/* Half a step to either side as well: the change may be placed a little early or late. */
	from = coarse->pressure[foot];
	to = coarse->pressure[foot + 1];
	step = to - from;
	from = foot ? from - step / 2 : from;
	to = foot + 1 < last ? to + step / 2 : to;
	/* Entries one by one; of what fills up slowly, one in a hundred. */
	step = c->method != CLIFF_FILL ? 1 : coarse->pressure[foot] / 100 + 1;
	for (uint32_t p = from; p < to && out->n < CLIFF_MAX_POINTS; p += step)
		if (!has_pressure(coarse, p))
			out->pressure[out->n++] = p;
}

static void set_point(struct cliff_curve *a, const struct cliff_curve *b, size_t from)
{
	size_t i = 0;

	while (i < a->n && a->pressure[i] < b->pressure[from])
		i++;
	if (i == a->n || a->pressure[i] != b->pressure[from]) {
		if (a->n == CLIFF_MAX_POINTS)
			return;
		memmove(a->pressure + i + 1, a->pressure + i, (a->n - i) * sizeof(*a->pressure));
		memmove(a->response + i + 1, a->response + i, (a->n - i) * sizeof(*a->response));
		memmove(a->spread + i + 1, a->spread + i, (a->n - i) * sizeof(*a->spread));
		a->n++;
	}
	a->pressure[i] = b->pressure[from];
	a->response[i] = b->response[from];
	a->spread[i] = b->spread[from];
}

void cliff_curve_join(struct cliff_curve *a, const struct cliff_curve *b)
{
	for (size_t i = 0; i < b->n; i++)
		set_point(a, b, i);
	a->is_disturbed |= b->is_disturbed;
}
