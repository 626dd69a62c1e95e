/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small CDCL SAT solver: two watched literals, VSIDS heap, 1-UIP learning, Luby restarts. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

typedef int lit; /* 2*v or 2*v+1 (negated) */
#define NEG(l) ((l) ^ 1)
#define VAR(l) ((l) >> 1)
#define UNDEF  (-1)

typedef struct clause {
	int size;
	bool learnt;
	float act;
	lit lits[];
} clause;

typedef struct {
	clause *c;
	lit blocker;
} watch;
typedef struct {
	watch *a;
	int n, cap;
} watchlist;
typedef struct {
	clause **a;
	int n, cap;
} clausevec;

typedef struct solver {
	int nvars;
	watchlist *watches;
	clausevec orig, learnts;
	signed char *value; /* per literal: 1 true, 0 false, -1 unset */
	signed char *phase;
	int *level;
	clause **reason;
	lit *trail;
	int ntrail, qhead;
	int *lim, nlim;
	double *activity, inc;
	float cla_inc;
	int *heap, *hpos, nheap;
	char *seen;
	lit *learnt;
	long conflicts, decisions, props;
} solver;

static uint32_t rng = 0x2545F491u;
static uint32_t xorshift(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 17;
	rng ^= rng << 5;
	return rng;
}

/* ---- order heap ---- */
static void sift_up(solver *s, int i)
{
	int v = s->heap[i];
	while (i > 0) {
		int p = (i - 1) / 2;
		if (s->activity[s->heap[p]] >= s->activity[v])
			break;
		s->heap[i] = s->heap[p];
		s->hpos[s->heap[i]] = i;
		i = p;
	}
	s->heap[i] = v;
	s->hpos[v] = i;
}

static void sift_down(solver *s, int i)
{
	int v = s->heap[i];
	for (;;) {
		int c = 2 * i + 1;
		if (c >= s->nheap)
			break;
		if (c + 1 < s->nheap && s->activity[s->heap[c + 1]] > s->activity[s->heap[c]])
			c++;
		if (s->activity[s->heap[c]] <= s->activity[v])
			break;
		s->heap[i] = s->heap[c];
		s->hpos[s->heap[i]] = i;
		i = c;
	}
	s->heap[i] = v;
	s->hpos[v] = i;
}

static void heap_insert(solver *s, int v)
{
	if (s->hpos[v] >= 0)
		return;
	s->heap[s->nheap] = v;
	sift_up(s, s->nheap++);
}

static NOINLINE int heap_pop(solver *s)
{
	int v = s->heap[0];
	s->hpos[v] = -1;
	if (--s->nheap > 0) {
		s->heap[0] = s->heap[s->nheap];
		s->hpos[s->heap[0]] = 0;
		sift_down(s, 0);
	}
	return v;
}

static void bump(solver *s, int v)
{
	if ((s->activity[v] += s->inc) > 1e100) {
		for (int i = 0; i < s->nvars; i++)
			s->activity[i] *= 1e-100;
		s->inc *= 1e-100;
	}
	if (s->hpos[v] >= 0)
		sift_up(s, s->hpos[v]);
}

/* ---- clauses ---- */
static void watch_add(watchlist *w, clause *c, lit blocker)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 8;
		w->a = realloc(w->a, sizeof(watch) * (size_t)w->cap);
	}
	w->a[w->n++] = (watch){ c, blocker };
}

static clause *clause_new(solver *s, const lit *l, int n, bool learnt)
{
	clause *c = malloc(sizeof *c + sizeof(lit) * (size_t)n);
	clausevec *v = learnt ? &s->learnts : &s->orig;
	c->size = n;
	c->learnt = learnt;
	c->act = 0;
	memcpy(c->lits, l, sizeof(lit) * (size_t)n);
	watch_add(&s->watches[NEG(l[0])], c, l[1]);
	watch_add(&s->watches[NEG(l[1])], c, l[0]);
	if (v->n == v->cap) {
		v->cap = v->cap ? v->cap * 2 : 64;
		v->a = realloc(v->a, sizeof(clause *) * (size_t)v->cap);
	}
	return v->a[v->n++] = c;
}

static void enqueue(solver *s, lit l, clause *from)
{
	s->value[l] = 1;
	s->value[NEG(l)] = 0;
	s->level[VAR(l)] = s->nlim;
	s->reason[VAR(l)] = from;
	s->trail[s->ntrail++] = l;
}

static NOINLINE clause *propagate(solver *s)
{
	while (s->qhead < s->ntrail) {
		lit p = s->trail[s->qhead++], np = NEG(p);
		watchlist *w = &s->watches[p];
		int i = 0, j = 0;
		s->props++;
		while (i < w->n) {
			watch cur = w->a[i++];
			clause *c = cur.c;
			if (s->value[cur.blocker] == 1) {
				w->a[j++] = cur;
				continue;
			}
			if (c->lits[0] == np) {
				c->lits[0] = c->lits[1];
				c->lits[1] = np;
			}
			lit first = c->lits[0];
			if (s->value[first] == 1) {
				w->a[j++] = (watch){ c, first };
				continue;
			}
			int k = 2;
			while (k < c->size && s->value[c->lits[k]] == 0)
				k++;
			if (k < c->size) {
				c->lits[1] = c->lits[k];
				c->lits[k] = np;
				watch_add(&s->watches[NEG(c->lits[1])], c, first);
				continue;
			}
			w->a[j++] = (watch){ c, first };
			if (s->value[first] == 0) {
				while (i < w->n)
					w->a[j++] = w->a[i++];
				w->n = j;
				s->qhead = s->ntrail;
				return c;
			}
			enqueue(s, first, c);
		}
		w->n = j;
	}
	return NULL;
}

static void backtrack(solver *s, int lvl)
{
	if (s->nlim <= lvl)
		return;
	for (int i = s->ntrail - 1; i >= s->lim[lvl]; i--) {
		lit l = s->trail[i];
		s->phase[VAR(l)] = (signed char)(l & 1);
		s->value[l] = s->value[NEG(l)] = -1;
		heap_insert(s, VAR(l));
	}
	s->ntrail = s->qhead = s->lim[lvl];
	s->nlim = lvl;
}

/* A literal is redundant if its whole reason is already in the clause. */
static bool redundant(const solver *s, lit l)
{
	const clause *r = s->reason[VAR(l)];
	if (!r)
		return false;
	for (int i = 0; i < r->size; i++) {
		int v = VAR(r->lits[i]);
		if (v != VAR(l) && !s->seen[v] && s->level[v] > 0)
			return false;
	}
	return true;
}

static NOINLINE int analyze(solver *s, clause *confl, int *back)
{
	int n = 1, open = 0, idx = s->ntrail - 1;
	lit p = UNDEF;
	do {
		if (confl->learnt && (confl->act += s->cla_inc) > 1e20f) {
			for (int i = 0; i < s->learnts.n; i++)
				s->learnts.a[i]->act *= 1e-20f;
			s->cla_inc *= 1e-20f;
		}
		for (int i = 0; i < confl->size; i++) {
			lit q = confl->lits[i];
			if (q == p || s->seen[VAR(q)] || s->level[VAR(q)] == 0)
				continue;
			s->seen[VAR(q)] = 1;
			bump(s, VAR(q));
			if (s->level[VAR(q)] == s->nlim)
				open++;
			else
				s->learnt[n++] = q;
		}
		while (!s->seen[VAR(s->trail[idx])])
			idx--;
		p = s->trail[idx--];
		confl = s->reason[VAR(p)];
		s->seen[VAR(p)] = 0;
	} while (--open > 0);
	s->learnt[0] = NEG(p);

	int m = 1, all = n;
	lit *drop = malloc(sizeof(lit) * (size_t)all);
	memcpy(drop, s->learnt, sizeof(lit) * (size_t)all);
	for (int i = 1; i < n; i++)
		if (!redundant(s, s->learnt[i]))
			s->learnt[m++] = s->learnt[i];
	for (int i = 1; i < all; i++)
		s->seen[VAR(drop[i])] = 0;
	free(drop);

	*back = 0;
	for (int i = 1; i < m; i++)
		if (s->level[VAR(s->learnt[i])] > *back) {
			*back = s->level[VAR(s->learnt[i])];
			lit t = s->learnt[1];
			s->learnt[1] = s->learnt[i];
			s->learnt[i] = t;
		}
	return m;
}

static int by_activity(const void *a, const void *b)
{
	const clause *x = *(clause *const *)a, *y = *(clause *const *)b;
	return x->act != y->act ? (x->act > y->act) - (x->act < y->act) : y->size - x->size;
}

static NOINLINE void reduce_db(solver *s)
{
	int keep = 0;
	qsort(s->learnts.a, (size_t)s->learnts.n, sizeof(clause *), by_activity);
	for (int i = 0; i < s->learnts.n; i++) {
		clause *c = s->learnts.a[i];
		bool locked = s->value[c->lits[0]] == 1 && s->reason[VAR(c->lits[0])] == c;
		if (locked || c->size == 2 || i >= s->learnts.n / 2)
			s->learnts.a[keep++] = c;
		else
			c->size = -c->size; /* dead: unlink below */
	}
	for (int l = 0; l < 2 * s->nvars; l++) {
		watchlist *w = &s->watches[l];
		int j = 0;
		for (int i = 0; i < w->n; i++)
			if (w->a[i].c->size > 0)
				w->a[j++] = w->a[i];
			else if (w->a[i].c->lits[0] == NEG(l))
				w->a[i].c->lits[0] = UNDEF;
			else if (w->a[i].c->lits[0] == UNDEF)
				free(w->a[i].c);
			else
				w->a[i].c->lits[0] = UNDEF;
		w->n = j;
	}
	s->learnts.n = keep;
}

static long luby(long i)
{
	long k = 1;
	while ((1L << k) - 1 < i)
		k++;
	return (1L << k) - 1 == i ? 1L << (k - 1) : luby(i - (1L << (k - 1)) + 1);
}

static NOINLINE int solve(solver *s, long budget)
{
	long run = 1, left = 64;
	int cap = s->orig.n / 3 + 200;
	for (;;) {
		clause *confl = propagate(s);
		if (confl) {
			int back, n;
			s->conflicts++;
			if (s->nlim == 0)
				return 0;
			if (--budget <= 0)
				return -1;
			n = analyze(s, confl, &back);
			backtrack(s, back);
			enqueue(s, s->learnt[0], n > 1 ? clause_new(s, s->learnt, n, true) : NULL);
			s->inc /= 0.95;
			s->cla_inc /= 0.999f;
			left--;
			continue;
		}
		if (left <= 0) {
			left = 64 * luby(++run);
			backtrack(s, 0);
		}
		if (s->learnts.n > cap + s->ntrail) {
			reduce_db(s);
			cap += cap / 10;
		}
		int v = -1;
		while (s->nheap > 0 && s->value[2 * (v = heap_pop(s))] >= 0)
			v = -1;
		if (v < 0)
			return 1;
		s->decisions++;
		s->lim[s->nlim++] = s->ntrail;
		enqueue(s, 2 * v + s->phase[v], NULL);
	}
}

static solver *solver_new(int n)
{
	solver *s = calloc(1, sizeof *s);
	size_t m = (size_t)n;
	s->nvars = n;
	s->watches = calloc(2 * m, sizeof *s->watches);
	s->value = malloc(2 * m);
	memset(s->value, -1, 2 * m);
	s->phase = calloc(m, 1);
	s->level = calloc(m, sizeof(int));
	s->reason = calloc(m, sizeof(clause *));
	s->trail = calloc(m, sizeof(lit));
	s->lim = calloc(m + 1, sizeof(int));
	s->activity = calloc(m, sizeof(double));
	s->heap = calloc(m, sizeof(int));
	s->hpos = malloc(m * sizeof(int));
	memset(s->hpos, -1, m * sizeof(int));
	s->seen = calloc(m, 1);
	s->learnt = calloc(m + 1, sizeof(lit));
	s->inc = s->cla_inc = 1;
	for (int v = 0; v < n; v++)
		heap_insert(s, v);
	return s;
}

static NOINLINE bool model_ok(const solver *s)
{
	for (int i = 0; i < s->orig.n; i++) {
		const clause *c = s->orig.a[i];
		int k = 0;
		while (k < c->size && s->value[c->lits[k]] != 1)
			k++;
		if (k == c->size)
			return false;
	}
	return true;
}

static void random_3sat(solver *s, int nclauses)
{
	for (int i = 0; i < nclauses; i++) {
		lit l[3];
		for (int k = 0; k < 3; k++) {
again:
			l[k] = (lit)(xorshift() % (uint32_t)(2 * s->nvars));
			for (int j = 0; j < k; j++)
				if (VAR(l[j]) == VAR(l[k]))
					goto again;
		}
		clause_new(s, l, 3, false);
	}
}

static void pigeonhole(solver *s, int holes)
{
	lit l[16];
	for (int p = 0; p <= holes; p++) {
		for (int h = 0; h < holes; h++)
			l[h] = 2 * (p * holes + h);
		clause_new(s, l, holes, false);
	}
	for (int h = 0; h < holes; h++)
		for (int p = 0; p <= holes; p++)
			for (int q = p + 1; q <= holes; q++) {
				l[0] = 2 * (p * holes + h) + 1;
				l[1] = 2 * (q * holes + h) + 1;
				clause_new(s, l, 2, false);
			}
}

int main(void)
{
	uint64_t sum = 0;
	long conflicts = 0;
	int count[3] = { 0 };
	for (int i = 0; i < 8; i++) {
		solver *s;
		if (i == 3) {
			s = solver_new(7 * 8);
			pigeonhole(s, 7);
		} else {
			s = solver_new(120 + 10 * i);
			random_3sat(s, (int)((120 + 10 * i) * 4.2));
		}
		int r = solve(s, 2800);
		if (r == 1 && !model_ok(s)) {
			puts("satcdcl: bad model");
			return 1;
		}
		count[r + 1]++;
		conflicts += s->conflicts;
		sum = sum * 1000003 + (uint64_t)(r + 1) + (uint64_t)s->props * 31 + (uint64_t)s->decisions;
	}
	printf("satcdcl sat=%d unsat=%d open=%d conflicts=%ld sum=%016llx\n", count[2], count[1], count[0],
	       conflicts, (unsigned long long)sum);
	return 0;
}
