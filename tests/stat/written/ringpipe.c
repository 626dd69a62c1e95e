/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ringpipe - telemetry pipeline: a producer thread packs sensor frames
 * (delta + zigzag varint + CRC-32), a consumer unpacks, filters and ranks them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline)) /* keep the stages apart in profiles */

#define CHANNELS 6
#define SAMPLES  128
#define FRAMES   1700
#define SLOTS    32

struct frame {
	uint32_t seq;
	int32_t s[CHANNELS][SAMPLES];
};

struct packet {
	uint32_t len, crc;
	uint8_t data[CHANNELS * SAMPLES * 5 + 16];
};

/* ---- bounded ring ---- */

struct ring {
	struct packet slot[SLOTS];
	unsigned head, tail;
	int closed;
	pthread_mutex_t mu;
	pthread_cond_t not_empty, not_full;
};

static struct packet *ring_reserve(struct ring *r)
{
	pthread_mutex_lock(&r->mu);
	while (r->head - r->tail == SLOTS)
		pthread_cond_wait(&r->not_full, &r->mu);
	pthread_mutex_unlock(&r->mu);
	return &r->slot[r->head % SLOTS];
}

static void ring_commit(struct ring *r)
{
	pthread_mutex_lock(&r->mu);
	r->head++;
	pthread_cond_signal(&r->not_empty);
	pthread_mutex_unlock(&r->mu);
}

static const struct packet *ring_peek(struct ring *r)
{
	const struct packet *p = NULL;
	pthread_mutex_lock(&r->mu);
	while (r->head == r->tail && !r->closed)
		pthread_cond_wait(&r->not_empty, &r->mu);
	if (r->head != r->tail)
		p = &r->slot[r->tail % SLOTS];
	pthread_mutex_unlock(&r->mu);
	return p;
}

static void ring_release(struct ring *r)
{
	pthread_mutex_lock(&r->mu);
	r->tail++;
	pthread_cond_signal(&r->not_full);
	pthread_mutex_unlock(&r->mu);
}

static void ring_close(struct ring *r)
{
	pthread_mutex_lock(&r->mu);
	r->closed = 1;
	pthread_cond_broadcast(&r->not_empty);
	pthread_mutex_unlock(&r->mu);
}

/* ---- wire format ---- */

static uint32_t crc_table[256];

static void crc_setup(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
		crc_table[i] = c;
	}
}

static NOINLINE uint32_t crc32(const uint8_t *p, size_t n)
{
	uint32_t c = 0xFFFFFFFFu;
	while (n--)
		c = crc_table[(c ^ *p++) & 255] ^ (c >> 8);
	return ~c;
}

static uint8_t *put_varint(uint8_t *p, uint32_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

static const uint8_t *get_varint(const uint8_t *p, uint32_t *v)
{
	uint32_t r = 0;
	int shift = 0;
	do {
		r |= (uint32_t)(*p & 0x7f) << shift;
		shift += 7;
	} while (*p++ & 0x80);
	*v = r;
	return p;
}

static uint32_t zig(int32_t v)
{
	return (uint32_t)v << 1 ^ (uint32_t)(v >> 31);
}
static int32_t zag(uint32_t v)
{
	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

static NOINLINE void pack(const struct frame *f, struct packet *p)
{
	uint8_t *q = put_varint(p->data, f->seq);
	for (int c = 0; c < CHANNELS; c++) {
		int32_t prev = 0, slope = 0;
		for (int i = 0; i < SAMPLES; i++) {
			int32_t d = f->s[c][i] - prev;
			q = put_varint(q, zig(d - slope));
			slope = d;
			prev = f->s[c][i];
		}
	}
	p->len = (uint32_t)(q - p->data);
	p->crc = crc32(p->data, p->len);
}

static NOINLINE int unpack(const struct packet *p, struct frame *f)
{
	const uint8_t *q = p->data;
	uint32_t v;
	if (crc32(q, p->len) != p->crc)
		return -1;
	q = get_varint(q, &f->seq);
	for (int c = 0; c < CHANNELS; c++) {
		int32_t prev = 0, slope = 0;
		for (int i = 0; i < SAMPLES; i++) {
			q = get_varint(q, &v);
			slope += zag(v);
			f->s[c][i] = prev += slope;
		}
	}
	return q == p->data + p->len ? 0 : -1;
}

/* ---- producer: a damped oscillator per channel, integer arithmetic ---- */

struct osc {
	int64_t x, v;
	int32_t k;
};

static uint64_t prng = 0xA3EC647659359ACDull;

static int32_t kick(void)
{
	prng ^= prng << 13;
	prng ^= prng >> 7;
	prng ^= prng << 17;
	return (int32_t)(prng >> 40 & 0x3ff) - 512;
}

static NOINLINE void sense(struct osc *o, int32_t *out)
{
	for (int i = 0; i < SAMPLES; i++) {
		o->v += -(o->x * o->k >> 12) - (o->v >> 9) + kick();
		o->x += o->v >> 2;
		out[i] = (int32_t)(o->x >> 4);
	}
}

static void *producer(void *arg)
{
	struct ring *r = arg;
	struct osc osc[CHANNELS];
	static struct frame f;
	for (int c = 0; c < CHANNELS; c++)
		osc[c] = (struct osc){ 1000 * (c + 1), 0, 30 + 40 * c };
	for (uint32_t seq = 0; seq < FRAMES; seq++) {
		f.seq = seq;
		for (int c = 0; c < CHANNELS; c++)
			sense(&osc[c], f.s[c]);
		pack(&f, ring_reserve(r));
		ring_commit(r);
	}
	ring_close(r);
	return NULL;
}

/* ---- consumer: biquad low-pass, running median, peak table ---- */

struct biquad {
	double b0, b1, b2, a1, a2, z1, z2;
};

static double biquad_step(struct biquad *q, double x)
{
	double y = q->b0 * x + q->z1;
	q->z1 = q->b1 * x - q->a1 * y + q->z2;
	q->z2 = q->b2 * x - q->a2 * y;
	return y;
}

static NOINLINE void filter(struct biquad *q, const int32_t *in, int32_t *out)
{
	for (int i = 0; i < SAMPLES; i++)
		out[i] = (int32_t)biquad_step(q, (double)in[i]);
}

struct median {
	int32_t win[15], sorted[15];
	unsigned n, at;
};

static NOINLINE int32_t median_push(struct median *m, int32_t v)
{
	unsigned i;
	if (m->n == 15) {
		int32_t old = m->win[m->at];
		for (i = 0; m->sorted[i] != old; i++)
			;
		memmove(m->sorted + i, m->sorted + i + 1, (14 - i) * sizeof *m->sorted);
		m->n--;
	}
	for (i = m->n; i > 0 && m->sorted[i - 1] > v; i--)
		m->sorted[i] = m->sorted[i - 1];
	m->sorted[i] = v;
	m->n++;
	m->win[m->at] = v;
	m->at = (m->at + 1) % 15;
	return m->sorted[m->n / 2];
}

struct stats {
	struct biquad bq[CHANNELS];
	struct median md[CHANNELS];
	uint64_t hash, frames, bad, peaks;
	uint32_t bins[64];
};

static NOINLINE void find_peaks(struct stats *st, const int32_t *y)
{
	for (int i = 2; i < SAMPLES - 2; i++)
		if (y[i] > y[i - 1] && y[i] >= y[i + 1] && y[i] > y[i - 2] && y[i] >= y[i + 2]) {
			st->peaks++;
			st->bins[(uint32_t)y[i] >> 4 & 63]++;
		}
}

static void *consumer(void *arg)
{
	struct ring *r = arg;
	struct stats *st = calloc(1, sizeof *st);
	static struct frame f;
	static int32_t low[SAMPLES];
	const struct packet *p;

	for (int c = 0; c < CHANNELS; c++)
		st->bq[c] = (struct biquad){ 0.0675, 0.1349, 0.0675, -1.1430, 0.4128, 0, 0 };
	while ((p = ring_peek(r)) != NULL) {
		int rc = unpack(p, &f);
		ring_release(r);
		if (rc || f.seq != st->frames) {
			st->bad++;
			continue;
		}
		st->frames++;
		for (int c = 0; c < CHANNELS; c++) {
			filter(&st->bq[c], f.s[c], low);
			find_peaks(st, low);
			for (int i = c & 3; i < SAMPLES; i += 4)
				st->hash = st->hash * 0x5851F42D4C957F2Dull +
				           (uint32_t)median_push(&st->md[c], f.s[c][i] - low[i]);
		}
	}
	return st;
}

int main(void)
{
	static struct ring r = { .mu = PTHREAD_MUTEX_INITIALIZER,
		                 .not_empty = PTHREAD_COND_INITIALIZER,
		                 .not_full = PTHREAD_COND_INITIALIZER };
	pthread_t a, b;
	void *res;

	crc_setup();
	if (pthread_create(&b, NULL, consumer, &r) || pthread_create(&a, NULL, producer, &r)) {
		perror("pthread_create");
		return 1;
	}
	pthread_join(a, NULL);
	pthread_join(b, &res);
	struct stats *st = res;
	for (int i = 0; i < 64; i++)
		st->hash ^= (uint64_t)st->bins[i] << (i % 32);
	printf("ringpipe frames=%llu bad=%llu peaks=%llu sum=%016llx\n", (unsigned long long)st->frames,
	       (unsigned long long)st->bad, (unsigned long long)st->peaks, (unsigned long long)st->hash);
	int rc = st->frames != FRAMES || st->bad;
	free(st);
	return rc;
}
