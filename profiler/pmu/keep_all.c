/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/keep_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PATHS = 8,
	LOST = 3, /* of them: a third and more, of which nothing may be said in the end (model.def: timed_missed) */
	MORE = 2,      /* done than before, or it is not worth its price */
	AT_ONCE = 512, /* entries of /proc/PID/pagemap in one call */
};

/* Of mappings that are looked at while the thread stands still, some 4 ms: sanitizers and virtual machines map terabytes. */
static const uint64_t most_looked_at = 1ull << 30;

/* In memory, or swapped out, by the kernel's documentation. */
static const uint64_t is_there = 3ull << 62;

static unsigned count(uint8_t bits)
{
	return (unsigned)__builtin_popcount(bits);
}

void keep_all_learn(struct keep_all *k, bool done, bool lost)
{
	k->done = (uint8_t)(k->done >> 1 | (done ? 0x80 : 0));
	k->lost = (uint8_t)(k->lost >> 1 | (lost ? 0x80 : 0));
	if (!k->on && !k->refused && count(k->lost) >= LOST)
		*k = (struct keep_all){ .on = true, .done = k->done, .before = (uint8_t)count(k->done) };
	else if (k->on && k->n < PATHS && ++k->n == PATHS && (int)count(k->done) < k->before + MORE)
		*k = (struct keep_all){ .refused = true };
}

/* Those of one mapping that are there.  False: there is no room for all. */
static bool add(struct kept_pages *p, int fd, uint64_t at, uint64_t end)
{
	uint64_t entries[AT_ONCE];

	while (at < end) {
		uint64_t left = (end - at) / RP_PAGE;
		ssize_t got = pread(fd, entries, (left < AT_ONCE ? left : AT_ONCE) * sizeof(*entries),
		                    (off_t)(at / RP_PAGE * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			return false;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++, at += RP_PAGE) {
			if (!(entries[i] & is_there))
				continue;
			if (p->n == p->most)
				return false;
			p->v[p->n++] = at;
		}
	}
	return true;
}

/* Of no file, and nobody else's: what is not there is zero.  A mapping larger than *left bytes is left out, as if it were not known. */
static bool add_mapping(struct kept_pages *p, int fd, const char *line, uint64_t *left)
{
	unsigned long begin, end, inode;
	char perms[5];

	if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &begin, &end, perms, &inode) != 4 || perms[1] != 'w')
		return true;
	if (end - begin > *left)
		return true;
	*left -= end - begin;
	if (!add(p, fd, begin, end))
		return false;
	if (perms[3] == 'p' && !inode && p->n_fresh < p->most_fresh)
		p->fresh[p->n_fresh++] = (struct rp_range){ begin, end };
	return true;
}

bool keep_all_find(pid_t pid, struct kept_pages *out)
{
	char path[64], line[512];
	uint64_t left = most_looked_at;
	bool all = true;
	FILE *maps;
	int fd;

	out->n = out->n_fresh = 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (fd >= 0 && maps && all && fgets(line, sizeof(line), maps))
		all = add_mapping(out, fd, line, &left);
	if (maps)
		fclose(maps);
	if (fd >= 0)
		close(fd);
	return all && out->n > 0;
}
