/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Discrete event simulation of an open queueing network, driven by Brown's
 * calendar queue and again by a 4-ary heap; both must see the same history.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
	double t;
	uint32_t id; /* ties broken by id: total order */
	uint16_t kind, station;
	uint32_t customer;
	struct event *next;
};

static struct event *free_events;

static struct event *event_get(void)
{
	struct event *e = free_events;
	if (!e) {
		enum { CHUNK = 256 };
		e = malloc(CHUNK * sizeof *e);
		for (int i = 0; i < CHUNK - 1; i++)
			e[i].next = &e[i + 1];
		e[CHUNK - 1].next = NULL;
	}
	free_events = e->next;
	return e;
}

static void event_put(struct event *e)
{
	e->next = free_events;
	free_events = e;
}

static inline int earlier(const struct event *a, const struct event *b)
{
	return a->t < b->t || (a->t == b->t && a->id < b->id);
}

/* ------------------------------------------------------ calendar queue */

struct calendar {
	struct event **day;
	unsigned ndays, count, resizes;
	double width, now;
};

static void cal_link(struct calendar *c, struct event *e)
{
	struct event **p = &c->day[(uint64_t)(e->t / c->width) & (c->ndays - 1)];
	while (*p && earlier(*p, e))
		p = &(*p)->next;
	e->next = *p;
	*p = e;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void cal_resize(struct calendar *c, unsigned ndays)
{
	struct event *all = NULL;
	double sample[64], gap = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < c->ndays; i++)
		for (struct event *e = c->day[i], *nx; e; e = nx) {
			nx = e->next;
			if (n < 64)
				sample[n++] = e->t;
			e->next = all;
			all = e;
		}
	if (n > 4) {
		double span;
		qsort(sample, n, sizeof *sample, cmp_double);
		span = sample[n * 3 / 4] - sample[n / 4];
		gap = 2 * span / c->count;
	}
	if (gap > 1e-9)
		c->width = 3 * gap;
	free(c->day);
	c->day = calloc(ndays, sizeof *c->day);
	c->ndays = ndays;
	c->resizes++;
	while (all) {
		struct event *nx = all->next;
		cal_link(c, all);
		all = nx;
	}
}

static void cal_push(void *q, struct event *e)
{
	struct calendar *c = q;
	cal_link(c, e);
	if (++c->count > 2 * c->ndays)
		cal_resize(c, 2 * c->ndays);
}

static struct event *cal_pop(void *q)
{
	struct calendar *c = q;
	struct event *e, **best = NULL;

	if (c->count == 0)
		return NULL;
	uint64_t day = (uint64_t)(c->now / c->width);
	for (unsigned i = 0; i < c->ndays; i++, day++) {
		struct event **p = &c->day[day & (c->ndays - 1)];
		if (*p && (uint64_t)((*p)->t / c->width) == day) {
			best = p;
			break;
		}
	}
	if (!best) /* nothing this year: direct search */
		for (unsigned i = 0; i < c->ndays; i++)
			if (c->day[i] && (!best || earlier(c->day[i], *best)))
				best = &c->day[i];
	e = *best;
	*best = e->next;
	c->now = e->t;
	if (--c->count < c->ndays / 2 && c->ndays > 16)
		cal_resize(c, c->ndays / 2);
	return e;
}

/* ---------------------------------------------------------- 4-ary heap */

struct heap4 {
	struct event **a;
	unsigned n, cap;
};

static void heap_push(void *q, struct event *e)
{
	struct heap4 *h = q;
	unsigned i;
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 64;
		h->a = realloc(h->a, h->cap * sizeof *h->a);
	}
	for (i = h->n++; i > 0 && earlier(e, h->a[(i - 1) / 4]); i = (i - 1) / 4)
		h->a[i] = h->a[(i - 1) / 4];
	h->a[i] = e;
}

static struct event *heap_pop(void *q)
{
	struct heap4 *h = q;
	struct event *top, *last;
	unsigned i = 0;
	if (h->n == 0)
		return NULL;
	top = h->a[0];
	last = h->a[--h->n];
	for (;;) {
		unsigned c = 4 * i + 1, end = c + 4, m = c;
		if (c >= h->n)
			break;
		if (end > h->n)
			end = h->n;
		while (++c < end)
			if (earlier(h->a[c], h->a[m]))
				m = c;
		if (!earlier(h->a[m], last))
			break;
		h->a[i] = h->a[m];
		i = m;
	}
	h->a[i] = last;
	return top;
}

/* ------------------------------------------------------------ the model */

enum { ARRIVE, DEPART, TIMEOUT };
enum { STATIONS = 12, MAXCUST = 1 << 13, RING = 1 << 11 };

struct station {
	unsigned servers, busy, head, tail;
	double mean, busy_time, last;
	uint32_t ring[RING];
	uint64_t served, lost;
};

struct sim {
	void *queue;
	void (*push)(void *, struct event *);
	struct event *(*pop)(void *);
	struct station st[STATIONS];
	double born[MAXCUST];
	uint8_t hops[MAXCUST];
	uint64_t rng, hash, done;
	uint32_t next_id, next_customer;
	double now, total;
};

static double uniform(struct sim *s)
{
	s->rng ^= s->rng >> 12;
	s->rng ^= s->rng << 25;
	s->rng ^= s->rng >> 27;
	return (double)((s->rng * 0x2545F4914F6CDD1Dull) >> 11) * 0x1p-53;
}

static double exponential(struct sim *s, double mean)
{
	return -mean * log(1.0 - uniform(s));
}

/* Two-phase hyperexponential for bursty service. */
static double service(struct sim *s, int k)
{
	double mean = s->st[k].mean;
	return k % 3 ? exponential(s, mean) : exponential(s, uniform(s) < 0.9 ? 0.5 * mean : 5.5 * mean);
}

static void post(struct sim *s, double dt, int kind, int station, uint32_t customer)
{
	struct event *e = event_get();
	e->t = s->now + dt;
	e->id = s->next_id++;
	e->kind = (uint16_t)kind;
	e->station = (uint16_t)station;
	e->customer = customer;
	s->push(s->queue, e);
}

static void account(struct sim *s, struct station *st)
{
	st->busy_time += st->busy * (s->now - st->last);
	st->last = s->now;
}

static void arrive(struct sim *s, int k, uint32_t cust)
{
	struct station *st = &s->st[k];
	account(s, st);
	if (st->busy < st->servers) {
		st->busy++;
		post(s, service(s, k), DEPART, k, cust);
	} else if (st->tail - st->head < RING) {
		st->ring[st->tail++ % RING] = cust;
	} else {
		st->lost++;
	}
}

static void depart(struct sim *s, int k, uint32_t cust)
{
	struct station *st = &s->st[k];
	account(s, st);
	st->served++;
	if (st->head != st->tail)
		post(s, service(s, k), DEPART, k, st->ring[st->head++ % RING]);
	else
		st->busy--;
	if (uniform(s) < 0.3 || ++s->hops[cust % MAXCUST] > 10) {
		s->total += s->now - s->born[cust % MAXCUST];
		s->done++;
	} else {
		int to = (int)(uniform(s) * STATIONS);
		post(s, 0.05 + 0.1 * uniform(s), ARRIVE, to, cust);
	}
}

static void simulate(struct sim *s, uint64_t events)
{
	struct event *e;
	for (int k = 0; k < STATIONS; k++) {
		s->st[k].servers = 2 + (unsigned)k % 3;
		s->st[k].mean = 0.55 * s->st[k].servers;
	}
	post(s, 0, TIMEOUT, 0, 0);
	while (events-- > 0 && (e = s->pop(s->queue)) != NULL) {
		s->now = e->t;
		s->hash = (s->hash ^ e->id ^ ((uint64_t)e->kind << 40)) * 0x100000001b3ull;
		switch (e->kind) {
		case ARRIVE:
			arrive(s, e->station, e->customer);
			break;
		case DEPART:
			depart(s, e->station, e->customer);
			break;
		case TIMEOUT: { /* external arrivals come in small batches */
			int batch = 1 + (int)(uniform(s) * 12);
			while (batch-- > 0) {
				uint32_t c = s->next_customer++;
				s->born[c % MAXCUST] = s->now;
				s->hops[c % MAXCUST] = 0;
				post(s, exponential(s, 60.0), ARRIVE, (int)(c % STATIONS), c);
			}
			post(s, exponential(s, 1.1), TIMEOUT, 0, 0);
		}
		}
		event_put(e);
	}
}

int main(void)
{
	enum { EVENTS = 260000 };
	struct calendar cal = { calloc(16, sizeof(struct event *)), 16, 0, 0, 1.0, 0 };
	struct heap4 heap = { 0 };
	struct sim *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
	uint64_t served = 0, lost = 0;
	double util = 0;

	a->rng = b->rng = 0xD1B54A32D192ED03ull;
	a->queue = &cal, a->push = cal_push, a->pop = cal_pop;
	b->queue = &heap, b->push = heap_push, b->pop = heap_pop;
	simulate(a, EVENTS);
	simulate(b, EVENTS);
	for (int k = 0; k < STATIONS; k++) {
		served += a->st[k].served;
		lost += a->st[k].lost;
		util += a->st[k].busy_time / (a->now * a->st[k].servers) / STATIONS;
	}
	printf("calqueue same=%d done=%llu served=%llu lost=%llu util=%.4f mean=%.4f pending=%u resizes=%u "
	       "sum=%016llx\n",
	       a->hash == b->hash && a->now == b->now, (unsigned long long)a->done,
	       (unsigned long long)served, (unsigned long long)lost, util, a->total / (double)a->done,
	       cal.count, cal.resizes, (unsigned long long)a->hash);
	return a->hash != b->hash;
}
