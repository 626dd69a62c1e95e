/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/reader_int.h"

/*
 * perf's rule: at each FINISHED_ROUND all records not newer than the newest
 * one of the round before may go, because every CPU's buffer has been read
 * past that time.  Records that wait are copied into chunks; a chunk is used
 * again when the last of its records has gone.
 */
enum { CHUNK_BYTES = 256 << 10 };

struct pd_chunk {
	struct pd_chunk *next;
	size_t used, n_live;
	_Alignas(8) uint8_t data[CHUNK_BYTES];
};

static void chunk_release(struct pd_order *o, struct pd_chunk *c)
{
	if (--c->n_live || c == o->filling)
		return;
	/* One spare is kept: rounds come and go. */
	if (o->spare) {
		free(c);
		return;
	}
	o->spare = c;
}

static int chunk_room(struct pd_order *o, size_t bytes)
{
	struct pd_chunk *c = o->filling;

	if (c && !c->n_live)
		c->used = 0;
	if (c && CHUNK_BYTES - c->used >= bytes)
		return 0;
	c = o->spare ? o->spare : malloc(sizeof(*c));
	if (!c)
		return sp_fail(SP_ENOMEM, "out of memory for putting records in order");
	o->spare = NULL;
	c->used = c->n_live = 0;
	if (o->filling && !o->filling->n_live)
		free(o->filling);
	o->filling = c;
	return 0;
}

int pd_order_push(struct pd_order *o, const struct pd_raw *raw, uint64_t time_ns)
{
	size_t bytes = (sizeof(raw->place) + raw->size_bytes + 7) & ~(size_t)7;
	uint8_t *p;

	if (chunk_room(o, bytes) < 0)
		return -SP_ENOMEM;
	p = o->filling->data + o->filling->used;
	if (vec_push(&o->q, (struct pd_held){ time_ns, o->filling, p }) < 0)
		return -SP_ENOMEM;
	memcpy(p, &raw->place, sizeof(raw->place));
	memcpy(p + sizeof(raw->place), raw->data, raw->size_bytes);
	o->filling->used += bytes;
	o->filling->n_live++;
	o->held_bytes += bytes + sizeof(struct pd_held);
	if (time_ns < o->max_ns)
		o->sorted = false;
	else
		o->max_ns = time_ns;
	return 0;
}

/* Merge [a, b) and [b, c) of src into dst; equal times stay as they came. */
static void merge_two(const struct pd_held *src, struct pd_held *dst, size_t a, size_t b, size_t c)
{
	size_t i = a, k = b;

	for (size_t out = a; out < c; out++) {
		if (i < b && (k >= c || src[i].time_ns <= src[k].time_ns))
			dst[out] = src[i++];
		else
			dst[out] = src[k++];
	}
}

static size_t run_end(const struct pd_held *v, size_t from, size_t n)
{
	size_t i = from + 1;

	while (i < n && v[i - 1].time_ns <= v[i].time_ns)
		i++;
	return i < n ? i : n;
}

/* Natural merge sort: each CPU's records come as a run that is in order. */
static int sort_waiting(struct pd_order *o)
{
	struct pd_held *src = o->q.v, *dst;
	size_t n = o->q.n;
	bool whole = o->sorted || n < 2;

	if (!whole && vec_reserve_raw((void **)&o->merge, &o->merge_cap, o->q.cap, sizeof(*o->merge)) < 0)
		return -SP_ENOMEM;
	dst = o->merge;
	while (!whole) {
		struct pd_held *t = src;

		for (size_t a = 0; a < n;) {
			size_t b = run_end(src, a, n), c = b < n ? run_end(src, b, n) : n;

			merge_two(src, dst, a, b, c);
			whole = a == 0 && c == n;
			a = c;
		}
		src = dst;
		dst = t;
	}
	if (src != o->q.v)
		memcpy(o->q.v, src, n * sizeof(*src));
	o->sorted = true;
	return 0;
}

/* Before sorting, what has gone out is dropped from the queue's front. */
static int settle(struct pd_order *o)
{
	size_t left = o->q.n - o->head;

	if (o->head)
		memmove(o->q.v, o->q.v + o->head, left * sizeof(*o->q.v));
	o->q.n = left;
	o->head = o->ready = 0;
	return sort_waiting(o);
}

int pd_order_round(struct pd_order *o)
{
	int rc = settle(o);

	if (rc < 0)
		return rc;
	while (o->ready < o->q.n && o->q.v[o->ready].time_ns <= o->flush_ns)
		o->ready++;
	o->flush_ns = o->max_ns;
	return 0;
}

int pd_order_half(struct pd_order *o)
{
	int rc = settle(o);

	o->ready = (o->q.n + 1) / 2;
	return rc;
}

int pd_order_all(struct pd_order *o)
{
	int rc = settle(o);

	o->ready = o->q.n;
	return rc;
}

static void release_out(struct pd_order *o)
{
	if (o->out)
		chunk_release(o, o->out);
	o->out = NULL;
}

bool pd_order_pop(struct pd_order *o, bool swap, struct pd_raw *raw)
{
	const struct pd_held *h;

	release_out(o);
	if (o->head == o->ready)
		return false;
	h = &o->q.v[o->head++];
	o->out = h->chunk;
	memcpy(&raw->place, h->rec, sizeof(raw->place));
	raw->data = h->rec + sizeof(raw->place);
	raw->type = pd_u32(raw->data, swap);
	raw->misc = pd_u16(raw->data + 4, swap);
	raw->size_bytes = pd_u16(raw->data + 6, swap);
	o->held_bytes -= ((sizeof(raw->place) + raw->size_bytes + 7) & ~(size_t)7) + sizeof(*h);
	return true;
}

void pd_order_reset(struct pd_order *o)
{
	release_out(o);
	for (; o->head < o->q.n; o->head++)
		chunk_release(o, o->q.v[o->head].chunk);
	o->q.n = o->head = o->ready = 0;
	o->held_bytes = 0;
	o->max_ns = o->flush_ns = 0;
	o->sorted = true;
}

void pd_order_fini(struct pd_order *o)
{
	pd_order_reset(o);
	free(o->filling);
	free(o->spare);
	free(o->merge);
	vec_fini(&o->q);
}
