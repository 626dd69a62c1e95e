/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "profiler/base/err.h"

enum { PAGE_SHIFT = 12, BUCKET_SHIFT = 4, STREAM_TRUST = 2, HUGE = 2 << 20, HOST_LINE = 64, VECTOR = 16 };

/* Zeros.  A table that is read all over is read faster from huge pages. */
static void *table_new(size_t n, size_t size)
{
	size_t align = n * size < HUGE ? HOST_LINE : HUGE, bytes = (n * size + align - 1) / align * align;
	void *p = aligned_alloc(align, bytes);

	if (!p)
		return NULL;
	if (align == HUGE)
		madvise(p, bytes, MADV_HUGEPAGE);
	return memset(p, 0, bytes);
}

static struct sim_cache form_of(const struct sim_cache_config *config, uint32_t line_bytes)
{
	uint64_t n_sets = (uint64_t)config->kb * 1024 / line_bytes / config->ways;

	return (struct sim_cache){ n_sets, (n_sets & (n_sets - 1)) || n_sets < 2 ? 0 : n_sets - 1,
		                   config->ways, config->latency_cyc };
}

/* ---- lines of a set ---- */

static inline uint32_t *lower_of(const struct sim_lines *l, uint64_t set)
{
	return (uint32_t *)(void *)(l->set + set * l->set_bytes);
}

static inline uint16_t *upper_of(const struct sim_lines *l, uint64_t set)
{
	return (uint16_t *)(lower_of(l, set) + l->room);
}

static inline uint8_t *order_of(const struct sim_lines *l, uint64_t set)
{
	return (uint8_t *)(upper_of(l, set) + l->room);
}

/* Of a line in the first or second level: struct sim_line's. */
static inline uint64_t *ready_of(const struct sim_lines *l, uint64_t set, uint32_t w)
{
	return (uint64_t *)(void *)(order_of(l, set) + l->room) + w;
}

static bool lines_init(struct sim_lines *l, uint64_t n_sets, uint32_t ways, bool arrive)
{
	const size_t each = sizeof(uint32_t) + sizeof(uint16_t) + 1 + (arrive ? sizeof(uint64_t) : 0);

	l->ways = ways;
	l->room = (ways + VECTOR - 1) / VECTOR * VECTOR;
	l->set_bytes = (uint32_t)((l->room * each + HOST_LINE - 1) / HOST_LINE * HOST_LINE);
	if (!ways)
		return true;
	l->set = table_new(n_sets, l->set_bytes);
	for (uint64_t set = 0; l->set && set < n_sets; set++)
		for (uint32_t w = 0; w < ways; w++)
			order_of(l, set)[w] = (uint8_t)w;
	return l->set != NULL;
}

/* Which of a row's numbers are that one: a bit each. */
static inline uint64_t equal(const uint32_t *number, uint32_t n, uint32_t wanted)
{
	uint64_t bits = 0;

#ifdef __SSE2__
	const __m128i all = _mm_set1_epi32((int)wanted), *four = (const __m128i *)number;

	for (uint32_t i = 0; i < n; i += VECTOR, four += 4) {
		__m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(four[0], all), _mm_cmpeq_epi32(four[1], all));
		__m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(four[2], all), _mm_cmpeq_epi32(four[3], all));

		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << i;
	}
#else
	for (uint32_t i = 0; i < n; i++)
		bits |= (uint64_t)(number[i] == wanted) << i;
#endif
	return bits;
}

/* The way of a line, l->ways: it is not there. */
static inline uint32_t find(const struct sim_lines *l, uint64_t set, uint64_t tag)
{
	const uint16_t *upper = upper_of(l, set);

	for (uint64_t bits = equal(lower_of(l, set), l->room, (uint32_t)tag); bits; bits &= bits - 1) {
		uint32_t w = (uint32_t)__builtin_ctzll(bits);

		if (upper[w] == tag >> 32)
			return w;
	}
	return l->ways;
}

static inline uint32_t oldest(const struct sim_lines *l, uint64_t set)
{
	return order_of(l, set)[l->ways - 1];
}

static inline void make_newest(const struct sim_lines *l, uint64_t set, uint32_t w)
{
	uint8_t *order = order_of(l, set);

#ifdef __SSE2__
	const __m128i all = _mm_set1_epi8((char)w);
	__m128i *at = (__m128i *)order, before = all;

	/* All up to w go one back, in as many steps as vectors; before: who comes to the front of the next. */
	for (;; at++) {
		static const uint8_t moves[2 * VECTOR] = { 255, 255, 255, 255, 255, 255, 255, 255,
			                                   255, 255, 255, 255, 255, 255, 255, 255 };
		__m128i old = _mm_load_si128(at), back;
		uint32_t here = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(old, all)), n;
		__m128i moved;

		back = _mm_or_si128(_mm_slli_si128(old, 1), _mm_srli_si128(before, VECTOR - 1));
		if (!here && (uint8_t *)(at + 1) < order + l->room) {
			_mm_store_si128(at, back);
			before = old;
			continue;
		}
		n = (uint32_t)__builtin_ctz(here) + 1;
		moved = _mm_loadu_si128((const __m128i *)(moves + VECTOR - n));
		_mm_store_si128(at, _mm_or_si128(_mm_and_si128(moved, back), _mm_andnot_si128(moved, old)));
		return;
	}
#else
	memmove(order + 1, order, (size_t)((uint8_t *)memchr(order, (int)w, l->ways) - order));
	order[0] = (uint8_t)w;
#endif
}

/* In place of who was there. */
static inline void put(const struct sim_lines *l, uint64_t set, uint32_t w, uint64_t tag)
{
	lower_of(l, set)[w] = (uint32_t)tag;
	upper_of(l, set)[w] = (uint16_t)(tag >> 32);
	make_newest(l, set, w);
}

/* ---- the levels ---- */

static bool tlb_init(struct sim_tlb *t, uint32_t entries)
{
	const struct sim_cache_config as = { entries, entries % 4 ? 1 : 4, 0 };

	if (!entries)
		return true;
	/* A "line" of a kilobyte: as many of them as entries. */
	t->form = form_of(&as, 1024);
	return (t->page = table_new(t->form.n_sets * t->form.ways, sizeof(*t->page))) != NULL;
}

static bool newest_init(struct sim_memory *m)
{
	static const struct sim_line empty[1][2];

	m->newest = table_new(m->l1.n_sets, sizeof(*m->newest));
	m->near = m->l1.mask ? (const struct sim_line(*)[2])m->newest : empty;
	m->near_mask = m->l1.mask;
	return m->newest != NULL;
}

int sim_memory_init(struct sim_memory *m, const struct sim_config *config)
{
	memset(m, 0, sizeof(*m));
	m->line_shift = (uint32_t)__builtin_ctz(config->line_bytes);
	m->page_lines_shift = PAGE_SHIFT - m->line_shift;
	m->page_shift = (uint32_t)__builtin_ctz(config->page_kb) + 10;
	m->tlb2_cyc = config->tlb2_cyc;
	m->walk_cyc = config->walk_cyc;
	m->dram_cyc = config->dram_cyc;
	m->dram_gap_cyc = config->dram_gap_cyc;
	m->mshrs = config->mshrs;
	m->prefetch_lines = config->prefetch_lines;
	m->stream_last = m->stream;
	m->l1 = form_of(&config->l1, config->line_bytes);
	m->l2 = form_of(&config->l2, config->line_bytes);
	m->l3 = form_of(&config->l3, config->line_bytes);
	if (newest_init(m) &&
	    lines_init(&m->older, m->l1.n_sets, m->l1.ways > 2 ? m->l1.ways - 2 : 0, true) &&
	    lines_init(&m->second, m->l2.n_sets, m->l2.ways, true) &&
	    lines_init(&m->third, m->l3.n_sets, m->l3.ways, false) &&
	    tlb_init(&m->tlb, config->tlb_entries) && tlb_init(&m->tlb2, config->tlb2_entries))
		return 0;
	sim_memory_fini(m);
	return sp_fail(SP_ENOMEM, "out of memory for a simulated cache");
}

void sim_memory_fini(struct sim_memory *m)
{
	free(m->newest);
	free(m->older.set);
	free(m->second.set);
	free(m->third.set);
	free(m->tlb.page);
	free(m->tlb2.page);
	m->newest = NULL;
	m->older.set = m->second.set = m->third.set = NULL;
	m->tlb.page = m->tlb2.page = NULL;
}

static uint64_t set_of(const struct sim_cache *c, uint64_t index)
{
	return c->mask ? index & c->mask : index % c->n_sets;
}

/*
 * The outer caches are indexed by physical address, and pages lie at random
 * in memory: mix the page number, keep the line's place in the page.
 */
static uint64_t physical(const struct sim_memory *m, uint64_t line)
{
	uint32_t shift = m->page_shift - m->line_shift;
	uint64_t page = line >> shift;
	uint64_t frame = (page * 0x9e3779b97f4a7c15u) >> 24;

	return frame << shift | (line & ((1u << shift) - 1));
}

/* A line comes to the first level, or from way w of its older ones; the second newest becomes one of these there. */
static void come(struct sim_memory *m, uint64_t set, uint32_t w, struct sim_line line)
{
	struct sim_line *newest = m->newest[set];

	if (m->older.ways) {
		put(&m->older, set, w, newest[1].tag);
		*ready_of(&m->older, set, w) = newest[1].ready;
	}
	if (m->l1.ways > 1)
		newest[1] = newest[0];
	newest[0] = line;
}

/* Find a line in the first level and make it the newest; NULL when it is not there. */
static struct sim_line *touch(struct sim_memory *m, uint64_t set, uint64_t tag)
{
	struct sim_line *newest = m->newest[set], hit = newest[1];
	uint32_t w;

	if (newest[0].tag == tag)
		return newest;
	if (hit.tag == tag) {
		newest[1] = newest[0];
		newest[0] = hit;
		return newest;
	}
	w = m->older.ways ? find(&m->older, set, tag) : 0;
	if (w == m->older.ways)
		return NULL;
	come(m, set, w, (struct sim_line){ tag, *ready_of(&m->older, set, w) });
	return newest;
}

static void fill(struct sim_memory *m, uint64_t set, uint64_t tag, uint64_t ready)
{
	come(m, set, m->older.ways ? oldest(&m->older, set) : 0, (struct sim_line){ tag, ready });
}

/* The same in the third level, where no arrival is kept: true when it was there. */
static bool touch_third(struct sim_memory *m, uint64_t index, uint64_t tag)
{
	uint64_t set = set_of(&m->l3, index);
	uint32_t w = find(&m->third, set, tag);

	if (w < m->third.ways)
		make_newest(&m->third, set, w);
	else
		put(&m->third, set, oldest(&m->third, set), tag);
	return w < m->third.ways;
}

/* The same of a page. */
static bool translates(const struct sim_tlb *t, uint64_t page)
{
	uint64_t *set = &t->page[set_of(&t->form, page) * t->form.ways];
	uint32_t w = 0;
	bool hit;

	while (w < t->form.ways && set[w] != page + 1)
		w++;
	hit = w < t->form.ways;
	for (w -= !hit; w > 0; w--)
		set[w] = set[w - 1];
	set[0] = page + 1;
	return hit;
}

/* Memory hands out one line every dram_gap_cyc: take the first free slot. */
static uint64_t dram_start(struct sim_memory *m, uint64_t now)
{
	uint64_t slot;

	if (!m->dram_gap_cyc)
		return now;
	slot = now / m->dram_gap_cyc;
	while (m->dram[slot % SIM_CALENDAR] == slot + 1)
		slot++;
	m->dram[slot % SIM_CALENDAR] = slot + 1;
	return slot * m->dram_gap_cyc > now ? slot * m->dram_gap_cyc : now;
}

static bool miss_room(const struct sim_memory *m, uint64_t bucket)
{
	uint64_t e = m->miss[bucket % SIM_CALENDAR];

	return e >> 16 != bucket + 1 || (e & 0xffff) < m->mshrs;
}

/* A miss register is held from the miss until its line arrives. */
static uint64_t miss_start(const struct sim_memory *m, uint64_t now)
{
	uint64_t bucket = now >> BUCKET_SHIFT;

	if (miss_room(m, bucket))
		return now;
	while (!miss_room(m, bucket))
		bucket++;
	return bucket << BUCKET_SHIFT;
}

static void miss_hold(struct sim_memory *m, uint64_t from, uint64_t to)
{
	for (uint64_t b = from >> BUCKET_SHIFT; b < to >> BUCKET_SHIFT; b++) {
		uint64_t *e = &m->miss[b % SIM_CALENDAR];

		*e = *e >> 16 == b + 1 ? *e + 1 : (b + 1) << 16 | 1;
	}
}

/* Cycles until the page of an address is known. */
static uint64_t translate(const struct sim_memory *m, uint64_t line)
{
	uint64_t page = line >> (m->page_shift - m->line_shift);

	if (!m->tlb.form.ways || translates(&m->tlb, page))
		return 0;
	if (m->tlb2.form.ways && translates(&m->tlb2, page))
		return m->tlb2_cyc;
	return m->walk_cyc;
}

/* The cycle at which a line not in L1 arrives there; it is put into the levels that lacked it. */
static uint64_t fetch(struct sim_memory *m, uint64_t line, uint64_t now, enum sim_level *level)
{
	uint64_t index = physical(m, line), set = set_of(&m->l2, index), ready;
	uint32_t w = find(&m->second, set, line + 1);

	*level = SIM_IN_L2;
	if (w < m->second.ways) {
		uint64_t there = *ready_of(&m->second, set, w);

		make_newest(&m->second, set, w);
		ready = now + m->l2.latency_cyc;
		return ready > there ? ready : there;
	}
	if (touch_third(m, index, line + 1)) {
		*level = SIM_IN_L3;
		ready = now + m->l3.latency_cyc;
	} else {
		*level = SIM_IN_DRAM;
		ready = dram_start(m, now) + m->dram_cyc;
	}
	w = oldest(&m->second, set);
	put(&m->second, set, w, line + 1);
	*ready_of(&m->second, set, w) = ready;
	return ready;
}

static void prefetch(struct sim_memory *m, const struct sim_stream *s, uint64_t line, uint64_t now)
{
	enum sim_level level;

	for (uint32_t k = 1; k <= m->prefetch_lines; k++) {
		uint64_t next = line + (uint64_t)(int64_t)(s->step * (int32_t)k);
		uint64_t set = set_of(&m->l1, next);

		/* As in hardware, a stream ends with its page: the next one lies elsewhere in memory. */
		if (next >> m->page_lines_shift != s->page)
			break;
		if (!touch(m, set, next + 1))
			fill(m, set, next + 1, fetch(m, next, now, &level) << 1 | 1);
	}
}

static struct sim_stream *stream_of(struct sim_memory *m, uint64_t page)
{
	struct sim_stream *s = m->stream_last;

	if (s->page == page)
		return s;
	for (s = m->stream; s < m->stream + SIM_N_STREAMS; s++)
		if (s->page == page)
			return m->stream_last = s;
	s = &m->stream[m->stream_next++ % SIM_N_STREAMS];
	*s = (struct sim_stream){ .page = page };
	return m->stream_last = s;
}

/* Called for misses and for the first use of a prefetched line. */
static void train(struct sim_memory *m, uint64_t line, uint64_t now)
{
	struct sim_stream *s = stream_of(m, line >> m->page_lines_shift);
	int64_t step = (int64_t)(line - s->last_line);

	if (!s->last_line || step > 4 || step < -4)
		s->hits = 0;
	else if (step && step == s->step)
		s->hits++;
	else if (step)
		s->hits = 1;
	s->step = (int32_t)step;
	s->last_line = line;
	if (s->hits >= STREAM_TRUST && step)
		prefetch(m, s, line, now);
}

void sim_memory_warm(struct sim_memory *m, uint64_t vaddr)
{
	uint64_t line = vaddr >> m->line_shift, index = physical(m, line);
	uint64_t set = set_of(&m->l1, line), set2 = set_of(&m->l2, index);
	uint32_t w;

	if (touch(m, set, line + 1))
		return;
	touch_third(m, index, line + 1);
	w = find(&m->second, set2, line + 1);
	if (w < m->second.ways) {
		make_newest(&m->second, set2, w);
	} else {
		w = oldest(&m->second, set2);
		put(&m->second, set2, w, line + 1);
		*ready_of(&m->second, set2, w) = 0;
	}
	fill(m, set, line + 1, 0);
}

void sim_memory_expect(const struct sim_memory *m, uint64_t vaddr)
{
	uint64_t index = physical(m, vaddr >> m->line_shift);
	const uint8_t *second = m->second.set + set_of(&m->l2, index) * m->second.set_bytes;
	const uint8_t *third = m->third.set + set_of(&m->l3, index) * m->third.set_bytes;

	__builtin_prefetch(second);
	__builtin_prefetch(second + HOST_LINE);
	__builtin_prefetch(third);
	__builtin_prefetch(third + HOST_LINE);
}

uint64_t sim_memory_lookup(struct sim_memory *m, uint64_t line, uint64_t now_cyc, enum sim_level *level)
{
	uint64_t set = set_of(&m->l1, line), start, ready;
	struct sim_line *hit = touch(m, set, line + 1);
	bool fresh;

	if (hit) {
		ready = hit->ready >> 1;
		fresh = hit->ready & 1;
		hit->ready &= ~(uint64_t)1;
		if (fresh && m->prefetch_lines)
			train(m, line, now_cyc);
		/* Still on its way: the first-level cache did not have it. */
		*level = ready > now_cyc ? SIM_IN_L2 : SIM_IN_L1;
		return (ready > now_cyc ? ready : now_cyc) + m->l1.latency_cyc;
	}
	start = miss_start(m, now_cyc + translate(m, line));
	ready = fetch(m, line, start, level);
	miss_hold(m, start, ready);
	fill(m, set, line + 1, ready << 1);
	if (m->prefetch_lines)
		train(m, line, start);
	return ready;
}
