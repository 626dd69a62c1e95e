/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/mapped.h"

#include <inttypes.h>
#include <stdio.h>

#include "profiler/base/clock.h"

/*
 * Mappings that are new are noticed at once; one that lost a right, or took the place of another, when they are
 * read again.  That takes at most one part in so many of the time: a program of fifty mappings has them
 * read for each burst, and of one of a thousand they are some 30 ms old at most.
 */
enum { KEEP_TIMES = 20 };

static bool parse(const char *line, struct mapping *out)
{
	char perms[5];
	uint64_t major, minor;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx64 ":%" SCNx64 " %" SCNu64,
	           &out->begin, &out->end, perms, &out->off, &major, &minor, &out->ino) != 7)
		return false;
	out->dev = major << 32 | minor;
	out->read = perms[0] == 'r';
	out->write = perms[1] == 'w';
	out->run = perms[2] == 'x';
	out->shared = perms[3] == 's';
	return true;
}

/* One that has ended by now has no mappings to be read: those of before tell all that is known of it. */
static void look(struct mapped *m, pid_t pid)
{
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	char path[64], line[512];
	struct mapped now = { .pid = pid };
	FILE *maps;

	/* Another's mappings tell nothing. */
	if (m->pid != pid)
		m->pid = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		struct mapping one;

		if (parse(line, &one) && vec_push(&now.v, one) < 0)
			break;
	}
	if (maps)
		fclose(maps);
	if (now.v.n == 0) {
		vec_fini(&now.v);
		return;
	}
	vec_fini(&m->v);
	*m = now;
	m->keep_until = clock_ns(CLOCK_MONOTONIC) + KEEP_TIMES * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
}

static const struct mapping *mapping_at(const struct mapped *m, uint64_t at)
{
	size_t lo = 0, hi = m->v.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v.v[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->v.n && m->v.v[lo].begin <= at ? &m->v.v[lo] : NULL;
}

/* Branches up to where page i was touched as it may not be.  One that is gone by now was there when it was read. */
static uint32_t allowed(const struct mapped *m, const struct rp_reply *r, uint32_t i)
{
	const struct mapping *at = mapping_at(m, r->pages[i]);

	if (!at)
		return UINT32_MAX;
	if (r->run[i] ? !at->run : !at->read)
		return r->used_after[i];
	return r->written[i] && !at->write ? r->written_after[i] : UINT32_MAX;
}

static uint32_t check_protection(const struct mapped *m, const struct rp_reply *r)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < r->n_pages; i++) {
		uint32_t n = allowed(m, r, i);

		least = n < least ? n : least;
	}
	return least;
}

static bool is_known(const struct mapped *m, const struct rp_reply *r)
{
	for (uint32_t i = 0; i < r->n_pages; i++)
		if (!mapping_at(m, r->pages[i]))
			return false;
	return true;
}

static bool is_same(const struct mapping *a, uint64_t a_at, const struct mapping *b, uint64_t b_at)
{
	return a->ino == b->ino && a->dev == b->dev &&
	       a->off + (a_at - a->begin) == b->off + (b_at - b->begin);
}

/* From when on page i, which was written, was used elsewhere. */
static uint32_t used_elsewhere(const struct mapped *m, const struct rp_reply *r, uint32_t i,
                               const struct mapping *at)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; k < r->n_pages; k++) {
		const struct mapping *other = mapping_at(m, r->pages[k]);
		uint32_t n = r->used_after[k] > r->written_after[i] ? r->used_after[k] : r->written_after[i];

		if (k != i && other && (other->shared || other->ino) && n < least &&
		    is_same(at, r->pages[i], other, r->pages[k]))
			least = n;
	}
	return least;
}

static uint32_t check_aliases(const struct mapped *m, const struct rp_reply *r)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 0; i < r->n_pages; i++) {
		const struct mapping *at = r->written[i] ? mapping_at(m, r->pages[i]) : NULL;
		uint32_t n = at && at->shared ? used_elsewhere(m, r, i, at) : UINT32_MAX;

		least = n < least ? n : least;
	}
	return least;
}

uint32_t mapped_check(struct mapped *m, pid_t pid, const struct rp_reply *reply, uint32_t *end)
{
	uint32_t n = reply->n_branches, by_protection, by_alias;
	bool fresh = m->pid != pid || clock_ns(CLOCK_MONOTONIC) >= m->keep_until || !is_known(m, reply);

	if (fresh)
		look(m, pid);
	if (!m->pid) {
		*end = RP_END_GONE;
		return 0;
	}
	by_protection = check_protection(m, reply);
	if (by_protection < n && !fresh) {
		look(m, pid);
		by_protection = check_protection(m, reply);
	}
	by_alias = check_aliases(m, reply);
	if (by_protection >= n && by_alias >= n)
		return n;
	*end = by_alias < by_protection ? RP_END_ALIAS : RP_END_FAULT;
	return by_alias < by_protection ? by_alias : by_protection;
}

void mapped_fini(struct mapped *m)
{
	vec_fini(&m->v);
	m->pid = 0;
}
