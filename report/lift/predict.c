/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every tool on every block, equal blocks once, on all cores. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "report/lift/cache.h"
#include "report/lift/lift.h"

enum { MAX_THREADS = 16 };

struct job {
	size_t tool, block;
};

struct predict {
	struct lift *l;
	bool no_cache;
	size_t *first; /* [n_tools][n_blocks]: the block whose prediction is this one's */
	VEC(struct job) jobs;
	atomic_size_t next, done;
};

/* Blocks are the same to a tool when their bytes are, and their addresses and turns where those count. */
static int compare_blocks(const struct lift *l, const struct tool_ops *ops, size_t a, size_t b)
{
	const struct tool_block *x = &l->blocks[a].code, *y = &l->blocks[b].code;
	int order;

	if (x->n_bytes != y->n_bytes)
		return x->n_bytes < y->n_bytes ? -1 : 1;
	if (ops->by_turns && x->turns != y->turns)
		return x->turns < y->turns ? -1 : 1;
	order = memcmp(x->bytes, y->bytes, x->n_bytes);
	if (order || !ops->by_address)
		return order;
	if (l->blocks[a].module != l->blocks[b].module)
		return l->blocks[a].module < l->blocks[b].module ? -1 : 1;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

struct order_by {
	const struct lift *l;
	const struct tool_ops *ops;
};

static int compare_order(const void *a, const void *b, void *arg)
{
	const struct order_by *by = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	int order = compare_blocks(by->l, by->ops, x, y);

	return order ? order : (x > y) - (x < y);
}

/* One job for each different block. */
static int plan_tool(struct predict *p, size_t tool, size_t *order)
{
	struct lift *l = p->l;
	struct order_by by = { l, l->tools[tool].ops };
	size_t *first = p->first + tool * l->n_blocks;

	for (size_t i = 0; i < l->n_blocks; i++)
		order[i] = i;
	qsort_r(order, l->n_blocks, sizeof(*order), compare_order, &by);
	for (size_t i = 0; i < l->n_blocks; i++) {
		bool same = i && compare_blocks(l, by.ops, order[i - 1], order[i]) == 0;

		first[order[i]] = same ? first[order[i - 1]] : order[i];
		if (!same && vec_push(&p->jobs, (struct job){ tool, order[i] }) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

static void run_job(struct predict *p, const struct job *j)
{
	const struct tool *t = &p->l->tools[j->tool];
	const struct tool_block *b = &p->l->blocks[j->block].code;
	struct tool_prediction *out = &p->l->predictions[j->block * p->l->n_tools + j->tool];
	bool keep = !p->no_cache && !t->ops->by_machine;

	if (keep && cache_get(t, b, &out->cyc))
		return;
	*out = (struct tool_prediction){ 0 };
	t->ops->predict(t, b, out);
	if (keep && out->cyc > 0)
		cache_put(t, b, out->cyc);
}

/* Jobs of tools that measure are left to the main thread, when nothing else runs. */
static bool runs_alone(const struct predict *p, const struct job *j)
{
	return p->l->tools[j->tool].ops->by_machine;
}

static void *work(void *arg)
{
	struct predict *p = arg;

	for (;;) {
		size_t i = atomic_fetch_add(&p->next, 1);

		if (i >= p->jobs.n)
			return NULL;
		if (runs_alone(p, &p->jobs.v[i]))
			continue;
		run_job(p, &p->jobs.v[i]);
		sp_progress("predicting blocks", atomic_fetch_add(&p->done, 1) + 1, p->jobs.n);
	}
}

static void run_all(struct predict *p)
{
	long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t threads[MAX_THREADS];
	long n = 0;

	while (n + 1 < n_cores && n < MAX_THREADS && pthread_create(&threads[n], NULL, work, p) == 0)
		n++;
	work(p);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	for (size_t i = 0; i < p->jobs.n; i++) {
		if (!runs_alone(p, &p->jobs.v[i]))
			continue;
		run_job(p, &p->jobs.v[i]);
		sp_progress("measuring blocks", ++p->done, p->jobs.n);
	}
	sp_progress_end();
}

static void share(struct predict *p)
{
	struct lift *l = p->l;

	for (size_t t = 0; t < l->n_tools; t++) {
		const size_t *first = p->first + t * l->n_blocks;

		if (!l->tools[t].ops->predict)
			continue;
		for (size_t b = 0; b < l->n_blocks; b++)
			l->predictions[b * l->n_tools + t] = l->predictions[first[b] * l->n_tools + t];
	}
}

int lift_predict(struct lift *l, bool no_cache)
{
	struct predict p = { .l = l, .no_cache = no_cache };
	size_t *order = calloc(l->n_blocks + 1, sizeof(*order));
	int err = 0;

	p.first = calloc(l->n_blocks * l->n_tools + 1, sizeof(*p.first));
	l->predictions = calloc(l->n_blocks * l->n_tools + 1, sizeof(*l->predictions));
	if (!order || !p.first || !l->predictions)
		err = sp_fail(SP_ENOMEM, "out of memory for %zu predictions", l->n_blocks * l->n_tools);
	for (size_t t = 0; t < l->n_tools && err == 0; t++)
		if (l->tools[t].ops->predict)
			err = plan_tool(&p, t, order);
	if (err == 0) {
		run_all(&p);
		share(&p);
	}
	vec_fini(&p.jobs);
	free(p.first);
	free(order);
	return err;
}
