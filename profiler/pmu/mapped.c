/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/mapped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "profiler/base/clock.h"
#include "profiler/base/order.h"

/*
 * Where all are read: mappings that are new are noticed at once; one that lost a right, or took the place of another, when
 * they are read again.  That takes at most one part in so many of the time, for it is time of a CPU that the program, or its
 * neighbour on the same core, may want: of a program of fifty mappings they are some 15 ms old at most.
 */
enum { KEEP_TIMES = 100 };

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
		struct mapping one = { .round = 0 };

		if (parse(line, &one) && vec_push(&now.v, one) < 0)
			break;
	}
	if (maps)
		fclose(maps);
	if (now.v.n == 0) {
		vec_fini(&now.v);
		return;
	}
	free(m->v.v);
	m->v = now.v;
	m->pid = pid;
	m->keep_until = clock_ns(CLOCK_MONOTONIC) + KEEP_TIMES * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before);
}

static const struct mapping *mapping_at(const struct mapped *m, uint64_t at)
{
	size_t n = sorted_count(m->v.n, k, m->v.v[k].end <= at);

	return n < m->v.n && m->v.v[n].begin <= at ? &m->v.v[n] : NULL;
}

/* linux/fs.h has it from 6.11 on: the one mapping at an address, where the whole text takes a hundred times as long. */
struct query {
	uint64_t size, flags, at;
	uint64_t begin, end, rights, page_bytes, off, ino;
	uint32_t major, minor, name_bytes, build_id_bytes;
	uint64_t name, build_id;
};

#define QUERY _IOWR('f', 17, struct query)
enum { QUERY_READ = 1, QUERY_WRITE = 2, QUERY_RUN = 4, QUERY_SHARED = 8 };

/* In place of those that it overlaps. */
static int put(struct mapped *m, const struct mapping *now)
{
	size_t from = 0, to;

	if (vec_reserve(&m->v, m->v.n + 1) < 0)
		return -SP_ENOMEM;
	while (from < m->v.n && m->v.v[from].end <= now->begin)
		from++;
	for (to = from; to < m->v.n && m->v.v[to].begin < now->end; to++)
		;
	memmove(&m->v.v[from + 1], &m->v.v[to], (m->v.n - to) * sizeof(*now));
	m->v.v[from] = *now;
	m->v.n += 1 - (to - from);
	return 0;
}

/* Those of all pages that were touched, as they are now.  False with errno where they can't be had. */
static bool ask(struct mapped *m, int fd, const struct rp_reply *r)
{
	for (uint32_t i = 0; i < r->n_pages; i++) {
		const struct mapping *known = mapping_at(m, r->pages[i]);
		struct query q = { .size = sizeof(q), .at = r->pages[i] };

		if (known && known->round == m->round)
			continue;
		if (ioctl(fd, QUERY, &q) == 0) {
			const struct mapping now = { .begin = q.begin,
				                     .end = q.end,
				                     .off = q.off,
				                     .dev = (uint64_t)q.major << 32 | q.minor,
				                     .ino = q.ino,
				                     .read = q.rights & QUERY_READ,
				                     .write = q.rights & QUERY_WRITE,
				                     .run = q.rights & QUERY_RUN,
				                     .shared = q.rights & QUERY_SHARED,
				                     .round = m->round };

			if (put(m, &now) < 0)
				return false;
		} else if (errno != ENOENT) {
			return false;
		}
	}
	return true;
}

/* The file is of the program that the process ran when it was opened. */
static bool ask_anew(struct mapped *m, pid_t pid, const struct rp_reply *r)
{
	bool told = false;

	m->round++;
	for (int i = 0; i < 2 && !told; i++) {
		int fd = procfile_open(&m->maps, pid, "maps");

		told = fd >= 0 && ask(m, fd, r);
		if (!told)
			procfile_fini(&m->maps);
	}
	return told;
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
	bool fresh = m->pid == pid && ask_anew(m, pid, reply);

	if (!fresh && (m->pid != pid || clock_ns(CLOCK_MONOTONIC) >= m->keep_until || !is_known(m, reply))) {
		look(m, pid);
		fresh = true;
	}
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
	procfile_fini(&m->maps);
	m->pid = 0;
}
