/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/calibrate/watch.h"

#include <math.h>

/* Time between two looks belongs to the later one; a gap in which nobody looked to none. */
static const double LONGEST_GAP_S = 0.01;
/* After such a wait other things are in the caches. */
static const double LONG_WAIT_S = 0.001;
enum { TRIES = 3 };

static enum sentinel_word look(struct watch *w, const struct watch_ops *ops, void *user)
{
	enum sentinel_word word = ops->look(user);
	double now = ops->now_s(user), gap = now - w->last_s;

	if (w->n_looks++ && gap < LONGEST_GAP_S) {
		w->looked_s += gap;
		w->shared_s += word == SENTINEL_SHARED ? gap : 0;
	}
	w->last_s = now;
	return word;
}

/* Until the core is ours or patience ends; what was seen last. */
static enum sentinel_word wait_alone(struct watch *w, const struct watch_ops *ops, void *user)
{
	double begin = ops->now_s(user), waited = 0;
	enum sentinel_word word = SENTINEL_SHARED;

	while (word == SENTINEL_SHARED && waited < w->patience_s) {
		ops->wait(user);
		word = look(w, ops, user);
		waited = ops->now_s(user) - begin;
	}
	w->patience_s = fmax(0, w->patience_s - waited);
	w->waited_s += waited;
	if (waited > LONG_WAIT_S)
		ops->warm(user);
	return word;
}

enum sentinel_word watch_samples(struct watch *w, const struct watch_ops *ops, void *user, size_t from,
                                 size_t to)
{
	enum sentinel_word before = look(w, ops, user), after;
	unsigned tries = 0;
	uint64_t kept = w->n_kept;

	for (size_t i = from; i < to; before = after) {
		bool counts, is_shared;
		double begin;

		if (before == SENTINEL_SHARED && w->patience_s > 0)
			before = wait_alone(w, ops, user);
		begin = w->last_s;
		counts = ops->take(user, i);
		after = look(w, ops, user);
		if (before == SENTINEL_GREW || after == SENTINEL_GREW)
			return SENTINEL_GREW;
		is_shared = before == SENTINEL_SHARED || after == SENTINEL_SHARED;
		if (is_shared && w->patience_s > 0) {
			w->n_again++;
			w->patience_s = fmax(0, w->patience_s - (w->last_s - begin));
		} else if (counts || ++tries > TRIES * (to - from)) {
			w->n_kept += is_shared;
			i++;
		}
	}
	return w->n_kept > kept ? SENTINEL_SHARED : SENTINEL_ALONE;
}

/* ---- a point ---- */

/* One run in so many may have been beside a neighbour: a quantile does not see that few. */
enum { MOST_KEPT = 8 };

static bool spread_is_wide(const struct cliff *c, double response, double spread)
{
	double most = c->method == CLIFF_KNEE ? 0.05 : c->method == CLIFF_FILL ? 0.02 : 0.0025;

	return spread > most * response;
}

int watch_point(struct watch *w, const struct watch_ops *ops, void *user, const struct cliff *c,
                struct runs *r, struct cliff_curve *curve, size_t i)
{
	uint64_t kept = w->n_kept;

	do {
		size_t from = r->n;

		if (watch_samples(w, ops, user, from, from + WATCH_BATCH) == SENTINEL_GREW)
			return 1;
		r->n += WATCH_BATCH;
		if (ops->scale)
			ops->scale(user, from, r->n);
		runs_read(r, runs_quantile(c), &curve->response[i], &curve->spread[i]);
		/* What a row moves by should stay under a percent; but steps are far higher than that. */
	} while (r->n + WATCH_BATCH <= RUNS_MAX && spread_is_wide(c, curve->response[i], curve->spread[i]));
	curve->is_disturbed |= w->n_kept - kept > r->n / MOST_KEPT;
	return 0;
}
