/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four workers: histogram, parallel reduction, then a mutex/condvar job queue. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NTHREADS 4
#define BINS     256
#define QCAP     64
#define SLICE    160
#ifndef NDATA
#define NDATA 1600000
#endif
#ifndef NJOBS
#define NJOBS 24000
#endif

static uint32_t *data;

typedef struct {
	int id;
	size_t from, to;
	uint64_t hist[BINS];
	double sum, sumsq;
	uint32_t max;
	uint64_t job_sum;
} worker_t;

typedef struct {
	int kind;
	uint32_t arg;
} job_t;

typedef struct {
	job_t ring[QCAP];
	int head, count, closed;
	pthread_mutex_t mu;
	pthread_cond_t not_empty, not_full;
} queue_t;

static queue_t queue = {
	.mu = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER,
};
static pthread_barrier_t barrier;
static pthread_mutex_t total_mu = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total_hist[BINS];

static inline uint32_t mix32(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352dU;
	x ^= x >> 15;
	x *= 0x846ca68bU;
	x ^= x >> 16;
	return x;
}

static __attribute__((noinline)) void generate(uint32_t *d, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		d[i] = mix32((uint32_t)i) & mix32((uint32_t)i + 0x9e3779b9U);
}

static __attribute__((noinline)) void histogram(const uint32_t *d, size_t n, uint64_t *h)
{
	for (size_t i = 0; i < n; i++) {
		h[d[i] & 255]++;
		h[d[i] >> 24]++;
	}
}

static __attribute__((noinline)) void reduce(worker_t *w)
{
	double s = 0, q = 0;
	uint32_t mx = 0;
	for (size_t i = w->from; i < w->to; i++) {
		double v = (double)(data[i] >> 8);
		s += v;
		q += v * v * 1e-6;
		if (data[i] > mx)
			mx = data[i];
	}
	w->sum = s;
	w->sumsq = q;
	w->max = mx;
}

static void merge(const uint64_t *h)
{
	pthread_mutex_lock(&total_mu);
	for (int i = 0; i < BINS; i++)
		total_hist[i] += h[i];
	pthread_mutex_unlock(&total_mu);
}

/* ---- queue ---- */
static void q_put(queue_t *q, job_t j)
{
	pthread_mutex_lock(&q->mu);
	while (q->count == QCAP)
		pthread_cond_wait(&q->not_full, &q->mu);
	q->ring[(q->head + q->count++) % QCAP] = j;
	pthread_cond_signal(&q->not_empty);
	pthread_mutex_unlock(&q->mu);
}

static int q_get(queue_t *q, job_t *j)
{
	pthread_mutex_lock(&q->mu);
	while (q->count == 0 && !q->closed)
		pthread_cond_wait(&q->not_empty, &q->mu);
	if (q->count == 0) {
		pthread_mutex_unlock(&q->mu);
		return 0;
	}
	*j = q->ring[q->head];
	q->head = (q->head + 1) % QCAP;
	q->count--;
	pthread_cond_signal(&q->not_full);
	pthread_mutex_unlock(&q->mu);
	return 1;
}

static void q_close(queue_t *q)
{
	pthread_mutex_lock(&q->mu);
	q->closed = 1;
	pthread_cond_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->mu);
}

/* ---- job bodies ---- */
static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t t = a % b;
		a = b;
		b = t;
	}
	return a;
}

static __attribute__((noinline)) uint64_t job_gcd(uint32_t n)
{
	uint64_t s = 0;
	for (uint32_t i = 1; i < 36; i++)
		s += gcd(n + i, 2310 * i);
	return s;
}

static __attribute__((noinline)) uint64_t job_collatz(uint32_t n)
{
	uint64_t steps = 0;
	for (uint32_t k = 0; k < 6; k++)
		for (uint64_t v = n + k + 1; v != 1; steps++)
			v = v & 1 ? 3 * v + 1 : v / 2;
	return steps;
}

static __attribute__((noinline)) uint64_t job_slice(uint32_t n)
{
	uint64_t h = 0;
	size_t base = mix32(n) % (NDATA - SLICE);
	for (size_t i = 0; i < SLICE; i++)
		h = (h << 5 | h >> 59) ^ data[base + i];
	return h >> 32;
}

static uint64_t do_job(job_t j)
{
	switch (j.kind) {
	case 0:
		return job_gcd(j.arg);
	case 1:
		return job_collatz(j.arg);
	default:
		return job_slice(j.arg);
	}
}

static void *worker(void *arg)
{
	worker_t *w = arg;
	job_t j;

	generate(data, w->from, w->to);
	histogram(data + w->from, w->to - w->from, w->hist);
	merge(w->hist);
	reduce(w);
	pthread_barrier_wait(&barrier);

	if (w->id == 0) { /* producer */
		for (uint32_t i = 0; i < NJOBS; i++)
			q_put(&queue, (job_t){ (int)(i % 3), i });
		q_close(&queue);
	}
	while (q_get(&queue, &j))
		w->job_sum += do_job(j);
	return NULL;
}

int main(void)
{
	static worker_t ws[NTHREADS];
	pthread_t th[NTHREADS];
	double sum = 0, sq = 0;
	uint32_t mx = 0;
	uint64_t jobs = 0, h = 0;

	data = malloc(NDATA * sizeof *data);
	if (!data)
		return 1;
	pthread_barrier_init(&barrier, NULL, NTHREADS);
	for (int i = 0; i < NTHREADS; i++) {
		ws[i].id = i;
		ws[i].from = (size_t)NDATA * i / NTHREADS;
		ws[i].to = (size_t)NDATA * (i + 1) / NTHREADS;
		if (pthread_create(&th[i], NULL, worker, &ws[i])) {
			perror("pthread_create");
			return 1;
		}
	}
	for (int i = 0; i < NTHREADS; i++) {
		pthread_join(th[i], NULL);
		sum += ws[i].sum;
		sq += ws[i].sumsq;
		jobs += ws[i].job_sum;
		if (ws[i].max > mx)
			mx = ws[i].max;
	}
	for (int i = 0; i < BINS; i++)
		h = h * 131 + total_hist[i];
	printf("checksum %016llx %.0f %.0f %u %llu\n", (unsigned long long)h, sum, sq, mx,
	       (unsigned long long)jobs);
	free(data);
	return 0;
}
