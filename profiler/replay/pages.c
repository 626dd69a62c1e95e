/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/replay/pages.h"

#include <string.h>
#include <sys/syscall.h>

#include "profiler/replay/machine.h"
#include "profiler/replay/system.h"

enum { N_SLOTS = 4 * RP_N_FRAMES, AHEAD = 4, OFTEN = 4096 };

struct page {
	uint64_t at;
	bool used, written, code;
	uint16_t used_after, written_after;
};

/* Open addressing; a slot of a replay that is over is empty. */
struct slot {
	uint32_t epoch, frame;
};

static struct pages {
	int fd;
	uint32_t epoch, n, tlb_size;
	struct page v[RP_N_FRAMES]; /* by frame */
	struct slot slots[N_SLOTS];
	uint32_t why;
	uint64_t why_at;
	const volatile uint64_t *clock[RP_N_CLOCK_PAGES][RP_MAX_CLOCK_PAGES];
} pages = { .fd = -1 };

static struct rp_tlb *tlb_of(uint64_t page)
{
	return &RP_CONTEXT->tlb[page / RP_PAGE % pages.tlb_size];
}

static struct slot *slot_of(uint64_t page)
{
	uint64_t hash = page / RP_PAGE * 0x9e3779b97f4a7c15u >> 40;

	for (;; hash++) {
		struct slot *s = &pages.slots[hash % N_SLOTS];

		if (s->epoch != pages.epoch || pages.v[s->frame].at == page)
			return s;
	}
}

static void add(struct slot *s, uint64_t page)
{
	s->epoch = pages.epoch;
	s->frame = pages.n;
	pages.v[pages.n++] = (struct page){ .at = page };
}

void rp_pages_init(void)
{
	rp_populate(pages.v, OFTEN * sizeof(pages.v[0]));
	rp_populate(pages.slots, sizeof(pages.slots));
}

static void open_none(void)
{
	for (uint32_t i = 0; i < pages.tlb_size; i++)
		RP_CONTEXT->tlb[i] = (struct rp_tlb){ .read_tag = RP_NO_TAG, .write_tag = RP_NO_TAG };
}

void rp_pages_begin(const uint64_t *fetched, uint32_t n_fetched, uint32_t tlb_size)
{
	pages.tlb_size = tlb_size;
	open_none();
	pages.epoch++;
	pages.n = 0;
	pages.why = RP_END_FAULT;
	pages.why_at = 0;
	for (uint32_t i = 0; i < n_fetched && i < RP_N_FRAMES; i++) {
		struct slot *s = slot_of(fetched[i]), none;

		/* Told twice, it keeps the second frame out of use. */
		add(s->epoch == pages.epoch ? &none : s, fetched[i]);
	}
}

void rp_pages_source(int fd)
{
	pages.fd = fd;
}

static uint8_t *fail(uint32_t why, uint64_t at)
{
	pages.why = why;
	pages.why_at = at;
	return NULL;
}

uint32_t rp_pages_why(uint64_t *at)
{
	*at = pages.why_at;
	return pages.why;
}

/* Told to be read while the kernel writes it, the copy is taken again. */
static void copy_steady(uint8_t *to, const volatile uint64_t *from)
{
	uint64_t *words = (uint64_t *)(void *)to;
	bool steady;

	do {
		steady = true;
		for (size_t i = 0; i < RP_PAGE / 8; i++)
			words[i] = from[i];
		for (size_t i = 0; i < RP_PAGE / 8; i++)
			steady &= words[i] == from[i];
	} while (!steady);
}

/* The same page of the kernel's as it is mapped here. */
static bool copy_clock(uint8_t *to, uint64_t page)
{
	for (unsigned k = 0; k < RP_N_CLOCK_PAGES; k++) {
		const struct rp_range *theirs = &RP_SHARED->request.clock_pages[k];
		uint64_t i = (page - theirs->begin) / RP_PAGE;

		if (page >= theirs->begin && page < theirs->end && i < RP_MAX_CLOCK_PAGES &&
		    pages.clock[k][i]) {
			copy_steady(to, pages.clock[k][i]);
			return true;
		}
	}
	return false;
}

void rp_pages_clock(unsigned kind, unsigned i, const void *page)
{
	if (kind < RP_N_CLOCK_PAGES && i < RP_MAX_CLOCK_PAGES)
		pages.clock[kind][i] = page;
}

static bool is_here(uint64_t page)
{
	return slot_of(page)->epoch == pages.epoch;
}

/* Never touched before the path began. */
static bool is_fresh(uint64_t page)
{
	const struct rp_request *q = &RP_SHARED->request;

	return rp_is_within(q->fresh, q->n_fresh < RP_MAX_FRESH ? q->n_fresh : RP_MAX_FRESH, page);
}

/* Where the last two pages were touched the next ones will be: in one call they cost a third each. */
static uint32_t to_read(uint64_t page)
{
	uint32_t n = 1;

	if (!is_here(page - RP_PAGE) || !is_here(page - 2 * RP_PAGE))
		return 1;
	while (n < AHEAD && pages.n + n < RP_N_FRAMES && !is_here(page + n * RP_PAGE) &&
	       !is_fresh(page + n * RP_PAGE))
		n++;
	return n;
}

static bool fetch(struct slot *s, uint64_t page)
{
	uint32_t n;
	long got;

	if (pages.n >= RP_N_FRAMES)
		return fail(RP_END_PAGES, page) != NULL;
	if (is_fresh(page)) {
		memset(RP_SHARED->frames[pages.n], 0, RP_PAGE);
		add(s, page);
		return true;
	}
	/* Half of all addresses are the kernel's.  Without a descriptor the filter would end us. */
	if ((int64_t)page < 0 || pages.fd < 0)
		return fail(RP_END_FAULT, page) != NULL;
	n = to_read(page);
	got = rp_syscall4(SYS_pread64, pages.fd, (long)RP_SHARED->frames[pages.n], n * RP_PAGE, (long)page);
	if (got < RP_PAGE && !copy_clock(RP_SHARED->frames[pages.n], page))
		return fail(got == 0 ? RP_END_GONE : RP_END_FAULT, page) != NULL;
	RP_SHARED->reply.n_missed++;
	add(s, page);
	for (uint32_t i = 1; i < n && (i + 1) * RP_PAGE <= got; i++)
		add(slot_of(page + i * RP_PAGE), page + i * RP_PAGE);
	return true;
}

static uint16_t branches_so_far(void)
{
	uint32_t n = RP_SHARED->reply.n_branches;

	return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

uint8_t *rp_page(uint64_t page, enum rp_use use)
{
	struct slot *s = slot_of(page);
	struct page *p;

	if (s->epoch != pages.epoch && !fetch(s, page))
		return NULL;
	p = &pages.v[s->frame];
	if (!p->used)
		p->used_after = branches_so_far();
	p->used = true;
	if (use == RP_WRITE && p->code)
		return fail(RP_END_CODE_WRITTEN, page);
	if (use == RP_WRITE && !p->written)
		p->written_after = branches_so_far();
	p->written |= use == RP_WRITE;
	if (use == RP_EXECUTE && !p->code) {
		p->code = true;
		if (tlb_of(page)->write_tag == page)
			tlb_of(page)->write_tag = RP_NO_TAG;
	}
	return RP_SHARED->frames[s->frame];
}

void rp_pages_open(uint64_t page, bool write)
{
	const uint8_t *ours = rp_page(page, write ? RP_WRITE : RP_READ);
	struct rp_tlb *t = tlb_of(page);

	if (!ours)
		return;
	if (t->read_tag != page)
		t->write_tag = RP_NO_TAG;
	t->read_tag = page;
	if (write)
		t->write_tag = page;
	t->delta = (uint64_t)(uintptr_t)ours - page;
	t->host = (uint64_t)(uintptr_t)ours;
}

/* In the one page or in the next. */
static size_t here(uint64_t at, size_t n)
{
	size_t left = RP_PAGE - at % RP_PAGE;

	return n < left ? n : left;
}

size_t rp_read_some(uint64_t at, void *out, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t part = here(at + done, n - done);
		uint64_t off = (at + done) % RP_PAGE;
		const uint8_t *p = rp_page(at + done - off, RP_READ);

		if (!p)
			break;
		memcpy((uint8_t *)out + done, p + off, part);
		done += part;
	}
	return done;
}

size_t rp_write_some(uint64_t at, const void *from, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t part = here(at + done, n - done);
		uint64_t off = (at + done) % RP_PAGE;
		uint8_t *p = rp_page(at + done - off, RP_WRITE);

		if (!p)
			break;
		memcpy(p + off, (const uint8_t *)from + done, part);
		done += part;
	}
	return done;
}

bool rp_read(uint64_t at, void *out, size_t n)
{
	return rp_read_some(at, out, n) == n;
}

bool rp_write(uint64_t at, const void *from, size_t n)
{
	return rp_write_some(at, from, n) == n;
}

void rp_pages_tell(void)
{
	struct rp_reply *r = &RP_SHARED->reply;

	r->n_pages = 0;
	for (uint32_t i = 0; i < pages.n; i++)
		if (pages.v[i].used) {
			r->pages[r->n_pages] = pages.v[i].at;
			r->frames[r->n_pages] = (uint16_t)i;
			r->run[r->n_pages] = pages.v[i].code;
			r->used_after[r->n_pages] = pages.v[i].used_after;
			r->written_after[r->n_pages] = pages.v[i].written_after;
			r->written[r->n_pages++] = pages.v[i].written;
		}
}
