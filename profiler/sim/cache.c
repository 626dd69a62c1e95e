/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/base/err.h"

enum { PAGE_SHIFT = 12, BUCKET_SHIFT = 4, STREAM_TRUST = 2, HUGE = 2 << 20, HOST_LINE = 64 };

/* Zeros.  A table that is read all over is read faster from huge pages. */
static void *table_new(size_t n, size_t size)
{
	size_t bytes = (n * size + HUGE - 1) / HUGE * HUGE;
	void *p;

	if (n * size < HUGE)
		return calloc(n, size);
	p = aligned_alloc(HUGE, bytes);
	if (!p)
		return NULL;
	madvise(p, bytes, MADV_HUGEPAGE);
	return memset(p, 0, bytes);
}

static int cache_init(struct sim_cache *c, const struct sim_cache_config *config, uint32_t line_bytes,
                      bool only_tags)
{
	bool ok;

	c->ways = config->ways;
	c->latency_cyc = config->latency_cyc;
	c->n_sets = (uint64_t)config->kb * 1024 / line_bytes / config->ways;
	c->mask = (c->n_sets & (c->n_sets - 1)) || c->n_sets < 2 ? 0 : c->n_sets - 1;
	if (only_tags)
		ok = (c->tag = table_new(c->n_sets * c->ways, sizeof(*c->tag)));
	else
		ok = (c->line = table_new(c->n_sets * c->ways, sizeof(*c->line)));
	return ok ? 0 : sp_fail(SP_ENOMEM, "out of memory for a simulated cache");
}

static int tlb_init(struct sim_cache *c, uint32_t entries)
{
	const struct sim_cache_config as = { entries, entries % 4 ? 1 : 4, 0 };

	/* A "line" of a kilobyte: as many of them as entries. */
	return entries ? cache_init(c, &as, 1024, true) : 0;
}

static void near_init(struct sim_memory *m)
{
	static const struct sim_line empty;

	m->near = m->l1.mask ? m->l1.line : &empty;
	m->near_mask = m->l1.mask;
	m->near_bytes = m->l1.ways * (uint32_t)sizeof(empty);
	m->near_second = m->l1.mask && m->l1.ways > 1 ? sizeof(empty) : 0;
}

int sim_memory_init(struct sim_memory *m, const struct sim_config *config)
{
	int err;

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
	if ((err = cache_init(&m->l1, &config->l1, config->line_bytes, false)) < 0 ||
	    (err = cache_init(&m->l2, &config->l2, config->line_bytes, false)) < 0 ||
	    (err = cache_init(&m->l3, &config->l3, config->line_bytes, true)) < 0 ||
	    (err = tlb_init(&m->tlb, config->tlb_entries)) < 0 ||
	    (err = tlb_init(&m->tlb2, config->tlb2_entries)) < 0)
		sim_memory_fini(m);
	else
		near_init(m);
	return err;
}

void sim_memory_fini(struct sim_memory *m)
{
	free(m->l1.line);
	free(m->l2.line);
	free(m->l3.tag);
	free(m->tlb.tag);
	free(m->tlb2.tag);
	m->l1.line = m->l2.line = NULL;
	m->l3.tag = m->tlb.tag = m->tlb2.tag = NULL;
}

static uint64_t first_of(const struct sim_cache *c, uint64_t index)
{
	return (c->mask ? index & c->mask : index % c->n_sets) * c->ways;
}

static struct sim_line *set_of(const struct sim_cache *c, uint64_t index)
{
	return &c->line[first_of(c, index)];
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

/* Find a line and make it the most recently used; NULL when it is not there. */
static struct sim_line *touch(const struct sim_cache *c, struct sim_line *set, uint64_t tag)
{
	for (uint32_t w = 0; w < c->ways; w++) {
		struct sim_line hit = set[w];

		if (hit.tag != tag)
			continue;
		/* A loop: the few bytes are not worth a call. */
		for (; w > 0; w--)
			set[w] = set[w - 1];
		set[0] = hit;
		return set;
	}
	return NULL;
}

static void fill(const struct sim_cache *c, struct sim_line *set, uint64_t tag, uint64_t ready)
{
	memmove(set + 1, set, (c->ways - 1) * sizeof(*set));
	set[0] = (struct sim_line){ tag, ready };
}

/* Both for a set of tags alone: true when the line was there; it is the most recently used from now on. */
static bool touch_or_fill(const struct sim_cache *c, uint64_t *set, uint64_t tag)
{
	uint32_t w = 0;
	bool hit;

	while (w < c->ways && set[w] != tag)
		w++;
	hit = w < c->ways;
	/* cppcheck takes set for the address of tag. */
	for (w -= !hit; w > 0; w--)
		/* cppcheck-suppress objectIndex */
		set[w] = set[w - 1];
	set[0] = tag;
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

	if (!m->tlb.ways || touch_or_fill(&m->tlb, &m->tlb.tag[first_of(&m->tlb, page)], page + 1))
		return 0;
	if (m->tlb2.ways && touch_or_fill(&m->tlb2, &m->tlb2.tag[first_of(&m->tlb2, page)], page + 1))
		return m->tlb2_cyc;
	return m->walk_cyc;
}

/* The cycle at which a line not in L1 arrives there; it is put into the levels that lacked it. */
static uint64_t fetch(struct sim_memory *m, uint64_t line, uint64_t now, enum sim_level *level)
{
	uint64_t index = physical(m, line), ready;
	struct sim_line *set2 = set_of(&m->l2, index), *hit;

	*level = SIM_IN_L2;
	if ((hit = touch(&m->l2, set2, line + 1))) {
		ready = now + m->l2.latency_cyc;
		return ready > hit->ready ? ready : hit->ready;
	}
	if (touch_or_fill(&m->l3, &m->l3.tag[first_of(&m->l3, index)], line + 1)) {
		*level = SIM_IN_L3;
		ready = now + m->l3.latency_cyc;
	} else {
		*level = SIM_IN_DRAM;
		ready = dram_start(m, now) + m->dram_cyc;
	}
	fill(&m->l2, set2, line + 1, ready);
	return ready;
}

static void prefetch(struct sim_memory *m, const struct sim_stream *s, uint64_t line, uint64_t now)
{
	enum sim_level level;

	for (uint32_t k = 1; k <= m->prefetch_lines; k++) {
		uint64_t next = line + (uint64_t)(int64_t)(s->step * (int32_t)k);
		struct sim_line *set = set_of(&m->l1, next);

		/* As in hardware, a stream ends with its page: the next one lies elsewhere in memory. */
		if (next >> m->page_lines_shift != s->page)
			break;
		if (!touch(&m->l1, set, next + 1))
			fill(&m->l1, set, next + 1, fetch(m, next, now, &level) << 1 | 1);
	}
}

static struct sim_stream *stream_of(struct sim_memory *m, uint64_t page)
{
	struct sim_stream *s;

	for (s = m->stream; s < m->stream + SIM_N_STREAMS; s++)
		if (s->page == page)
			return s;
	s = &m->stream[m->stream_next++ % SIM_N_STREAMS];
	*s = (struct sim_stream){ .page = page };
	return s;
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
	struct sim_line *set1 = set_of(&m->l1, line), *set2 = set_of(&m->l2, index);

	if (touch(&m->l1, set1, line + 1))
		return;
	touch_or_fill(&m->l3, &m->l3.tag[first_of(&m->l3, index)], line + 1);
	if (!touch(&m->l2, set2, line + 1))
		fill(&m->l2, set2, line + 1, 0);
	fill(&m->l1, set1, line + 1, 0);
}

void sim_memory_expect(const struct sim_memory *m, uint64_t vaddr)
{
	uint64_t line = vaddr >> m->line_shift, index = physical(m, line);
	const struct sim_line *set2 = set_of(&m->l2, index);
	const uint64_t *set3 = &m->l3.tag[first_of(&m->l3, index)];

	__builtin_prefetch(set2);
	__builtin_prefetch((const char *)set2 + HOST_LINE);
	__builtin_prefetch(set3);
	__builtin_prefetch((const char *)set3 + HOST_LINE);
}

uint64_t sim_memory_lookup(struct sim_memory *m, uint64_t line, uint64_t now_cyc, enum sim_level *level)
{
	struct sim_line *set = set_of(&m->l1, line), *hit = touch(&m->l1, set, line + 1);
	uint64_t start, ready;
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
	fill(&m->l1, set, line + 1, ready << 1);
	if (m->prefetch_lines)
		train(m, line, start);
	return ready;
}
