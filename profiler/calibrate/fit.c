/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/fit.h"

#include <math.h>
#include <stdio.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "profiler/base/err.h"
#include "profiler/base/vec.h"
#include "profiler/calibrate/knob.h"

enum {
	PASSES = 3,
	GUESSES = 4,
	MAX_TRIES = 60,
	FEW_TRIES = 8, /* where one takes seconds: walks over what the last cache holds, and twice that */
	MAX_KEY = 48,
};

/* What a weak row says beside a clean one. */
static const double WEAK_WEIGHT = 0.1;
/* A row whose number the model has not, or has and the real core hasn't. */
static const double ABSENT_COST = 1;
/* Beside the number: the whole curve. */
static const double CURVE_WEIGHT = 0.5;
/* What is nearer by less than this, of a distance of 1 = a factor of e, is as near: noise moves nothing. */
static const double LEAST_GAIN = 1e-4;
/* A class that is as near as that is not tied to its ports in another way. */
static const double NEAR_ENOUGH = 0.01;

/* ---- how near two curves are ---- */

static double curve_distance(const struct cliff_curve *a, const struct cliff_curve *b)
{
	double sum = 0;

	for (size_t i = 0; i < a->n; i++)
		sum += fabs(log(a->response[i] / b->response[i]));
	return sum / (double)a->n;
}

/* model / real - 1; 0 when both are nothing. */
static double error_of(const struct cliff_result *real, const struct cliff_result *model)
{
	if (real->verdict == CLIFF_ABSENT && model->verdict == CLIFF_ABSENT)
		return 0;
	if (real->value == model->value)
		return 0;
	if (!(real->value > 0) || !(model->value > 0))
		return isnan(real->value) || isnan(model->value) ? NAN : real->value == 0 ? 1 : -1;
	return model->value / real->value - 1;
}

static double row_weight(const struct fit_row *r)
{
	if (r->real_is.verdict == CLIFF_CLEAN)
		return 1;
	return r->real_is.verdict == CLIFF_WEAK ? WEAK_WEIGHT : 0;
}

struct fit {
	struct cliff_model *m;
	struct fit_row *rows;
	size_t n;
	struct sim_config *config;
};

/* The row's curve on a core, what is inferred from it, and how far both are from the real ones. */
static int row_cost(const struct fit *f, struct fit_row *r, const struct sim_config *config, double *cost)
{
	double e;
	int err;

	r->after = r->real;
	if ((err = cliff_run_model(f->m, config, r->cliff, &r->after)) < 0 ||
	    (err = cliff_infer(r->cliff, &r->after, &r->after_is)) < 0)
		return err;
	e = error_of(&r->real_is, &r->after_is);
	*cost += row_weight(r) * ((isnan(e) ? ABSENT_COST : fabs(log1p(e > -0.99 ? e : -0.99))) +
	                          CURVE_WEIGHT * curve_distance(&r->real, &r->after));
	return 0;
}

static bool speaks_of(const struct cliff *c, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = c->params; (at = strstr(at, key)); at += len)
		if ((at == c->params || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

/* All rows that speak of a key, on a core. */
static int key_cost(const struct fit *f, const char *key, const struct sim_config *config, double *cost)
{
	int err = 0;

	*cost = 0;
	for (size_t i = 0; i < f->n && err == 0; i++)
		if (speaks_of(f->rows[i].cliff, key) && row_weight(&f->rows[i]) > 0)
			err = row_cost(f, &f->rows[i], config, cost);
	return err;
}

/* ---- one knob ---- */

struct search {
	const struct fit *f;
	const char *key;
	const struct knob *knob;
	struct sim_config best;
	double cost;
	int tries, max_tries;
	int64_t tried[MAX_TRIES];
};

/* The core with another value: kept when it is nearer.  1: it was. */
static int try_value(void *user, int64_t v)
{
	struct search *s = user;
	struct sim_config c = s->best;
	double cost;
	int err;

	v = knob_clamp(s->knob, v);
	for (int i = 0; i < s->tries; i++)
		if (s->tried[i] == v)
			return 0;
	if (s->tries == s->max_tries)
		return 0;
	s->tried[s->tries++] = v;
	if (!knob_set(s->knob, &c, v))
		return 0;
	if ((err = key_cost(s->f, s->key, &c, &cost)) < 0)
		return err;
	if (cost >= s->cost - LEAST_GAIN)
		return 0;
	s->cost = cost;
	s->best = c;
	return 1;
}

/* A value; and when it is no better, that value less what the row is then off by. */
static int try_and_correct(struct search *s, const struct fit_row *r, double v)
{
	int tries = s->tries, better = try_value(s, llround(v));

	if (better != 0 || s->tries == tries || !(r->after_is.value > 0))
		return better;
	return try_value(s, llround(v + r->real_is.value - r->after_is.value));
}

/* In proportion to, and at the distance of, what the row's number is off by. */
static int try_guesses(struct search *s)
{
	int err;

	for (size_t i = 0; i < s->f->n; i++) {
		struct fit_row *r = &s->f->rows[i];
		double v = (double)knob_get(s->knob, &s->best), cost = 0, real = r->real_is.value, after;

		if (!speaks_of(r->cliff, s->key) || row_weight(r) <= 0)
			continue;
		if ((err = row_cost(s->f, r, &s->best, &cost)) < 0)
			return err;
		/* What is tried next puts its own there. */
		after = r->after_is.value;
		if (!(real > 0))
			continue;
		/* What is not felt says nothing by its error: try what the row says outright, a rate as cycles. */
		if ((err = try_and_correct(s, r, real)) < 0 || (err = try_and_correct(s, r, v + real)) < 0 ||
		    (err = try_value(s, llround(1 / real))) < 0)
			return err;
		if (!(after > 0))
			continue;
		if ((err = try_value(s, llround(v * real / after))) < 0 ||
		    (err = try_value(s, llround(v * after / real))) < 0 ||
		    (err = try_value(s, llround(v + real - after))) < 0)
			return err;
	}
	return 0;
}

/* Steps that double while they help, in either direction, until none of 1 helps. */
static int walk_downhill(struct search *s)
{
	bool moved = true;

	while (moved && s->tries < s->max_tries) {
		moved = false;
		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t step = sign;
			int better;

			while ((better = try_value(s, knob_get(s->knob, &s->best) + step)) == 1) {
				moved = true;
				step *= 2;
			}
			if (better < 0)
				return better;
		}
	}
	return 0;
}

/* The rows of a key decide what one try of it costs. */
static int tries_of(const struct fit *f, const char *key)
{
	for (size_t i = 0; i < f->n; i++)
		if (speaks_of(f->rows[i].cliff, key) && f->rows[i].cliff->is_shared)
			return FEW_TRIES;
	return MAX_TRIES;
}

static int turn(const struct fit *f, const char *key, const struct knob *knob, bool *moved)
{
	struct search s = {
		.f = f, .key = key, .knob = knob, .best = *f->config, .max_tries = tries_of(f, key)
	};
	int64_t before = knob_get(knob, f->config);
	int err;

	if ((err = key_cost(f, key, f->config, &s.cost)) < 0)
		return err;
	if (knob->kind == KNOB_CHOICE && s.cost < NEAR_ENOUGH)
		return 0;
	s.tried[s.tries++] = before;
	/* A possibility among others is no amount: nothing is off by so and so much of it. */
	for (int i = 0; i < GUESSES && err == 0 && knob->kind != KNOB_CHOICE; i++) {
		double cost = s.cost;

		err = try_guesses(&s);
		if (s.cost == cost)
			break;
	}
	if (err == 0)
		err = knob->kind == KNOB_CHOICE ? knob_try_all(try_value, &s) : walk_downhill(&s);
	if (err < 0)
		return err;
	*moved |= knob_get(knob, &s.best) != before;
	*f->config = s.best;
	return 0;
}

/* ---- all of them ---- */

/* Keys in the order of the table, each once. */
struct keys {
	VEC(char *) v;
};

static int add_keys(struct keys *k, const char *params)
{
	char key[MAX_KEY];
	int used, err;

	for (; sscanf(params, " %47s%n", key, &used) == 1; params += used) {
		bool known = false;
		char *copy;

		for (size_t i = 0; i < k->v.n; i++)
			known |= strcmp(k->v.v[i], key) == 0;
		if (known)
			continue;
		if (!(copy = strdup(key)))
			return sp_fail(SP_ENOMEM, "out of memory for the fit");
		if ((err = vec_push(&k->v, copy)) < 0) {
			free(copy);
			return err;
		}
	}
	return 0;
}

/* A class's latency shows in chains, its ports in streams; a key that is one number shows wherever a row says so. */
static bool is_felt(const struct fit *f, const char *key, const struct knob *knob)
{
	enum cliff_class where = knob->kind == KNOB_LATENCY ? CLIFF_LATENCY : CLIFF_BANDWIDTH;

	for (size_t i = 0; i < f->n; i++)
		if (speaks_of(f->rows[i].cliff, key) && row_weight(&f->rows[i]) > 0 &&
		    (knob->kind == KNOB_FIELD || f->rows[i].cliff->cls == where))
			return true;
	return false;
}

static int pass(const struct fit *f, const struct keys *keys, fit_progress_fn *progress, void *user,
                bool *moved)
{
	struct knob knobs[KNOBS_OF_KEY];
	int err = 0;

	for (size_t k = 0; k < keys->v.n && err == 0; k++) {
		const char *key = keys->v.v[k];
		double cost;
		size_t n;

		if (progress)
			progress(user, key, k, keys->v.n);
		if ((err = key_cost(f, key, f->config, &cost)) < 0)
			return err;
		n = cost > 0 ? knobs_of(key, f->config, knobs) : 0;
		for (size_t i = 0; i < n && err == 0; i++)
			if (is_felt(f, key, &knobs[i]))
				err = turn(f, key, &knobs[i], moved);
	}
	return err;
}

int fit_config(struct cliff_model *m, struct fit_row *rows, size_t n, struct sim_config *config,
               fit_progress_fn *progress, void *user)
{
	struct fit f = { m, rows, n, config };
	struct keys keys = { 0 };
	bool moved = true;
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++)
		err = add_keys(&keys, rows[i].cliff->params);
	for (int p = 0; p < PASSES && moved && err == 0; p++) {
		moved = false;
		err = pass(&f, &keys, progress, user, &moved);
	}
	for (size_t k = 0; k < keys.v.n; k++)
		free(keys.v.v[k]);
	vec_fini(&keys.v);
	return err;
}

/* ---- what came out ---- */

static int run_rows(struct cliff_model *m, const struct sim_config *config, struct fit_row *rows, size_t n,
                    bool after)
{
	int err;

	for (size_t i = 0; i < n; i++) {
		struct fit_row *r = &rows[i];
		struct cliff_curve *curve = after ? &r->after : &r->before;
		struct cliff_result *is = after ? &r->after_is : &r->before_is;

		*curve = r->real;
		if ((err = cliff_run_model(m, config, r->cliff, curve)) < 0 ||
		    (err = cliff_infer(r->cliff, curve, is)) < 0)
			return err;
		*(after ? &r->err_after : &r->err_before) = error_of(&r->real_is, is);
		r->counts = r->real_is.verdict == CLIFF_CLEAN;
	}
	return 0;
}

int fit_before(struct cliff_model *m, const struct sim_config *config, struct fit_row *rows, size_t n)
{
	return run_rows(m, config, rows, n, false);
}

int fit_after(struct cliff_model *m, const struct sim_config *config, struct fit_row *rows, size_t n)
{
	return run_rows(m, config, rows, n, true);
}

/* A number that the model has not got at all is off by all of it. */
static double error_for_means(const struct fit_row *r, bool after)
{
	double e = after ? r->err_after : r->err_before;

	return isnan(e) ? -1 : e;
}

void fit_summarise(const struct fit_row *rows, size_t n, bool after, struct fit_summary *out)
{
	double *all = calloc(n ? n : 1, sizeof(*all));

	*out = (struct fit_summary){ .worst_name = "" };
	for (size_t i = 0; i < n; i++) {
		double e = error_for_means(&rows[i], after), size = fabs(e);

		if (!rows[i].counts)
			continue;
		if (all)
			all[out->n] = size;
		out->n++;
		out->mean += size;
		out->signed_mean += e;
		if (!rows[i].cliff->integer) {
			out->n_continuous++;
			out->mean_continuous += size;
		}
		if (size >= fabs(out->worst)) {
			out->worst = e;
			out->worst_name = rows[i].cliff->name;
		}
	}
	if (out->n) {
		out->mean /= (double)out->n;
		out->signed_mean /= (double)out->n;
	}
	if (out->n_continuous)
		out->mean_continuous /= (double)out->n_continuous;
	if (all && out->n) {
		gsl_sort(all, 1, out->n);
		out->median = gsl_stats_median_from_sorted_data(all, 1, out->n);
	}
	free(all);
}
