/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/sim/guest.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_SEGMENTS = 64, PAGE = 4096 };

static uint64_t page_of(uint64_t x)
{
	return x & ~(uint64_t)(PAGE - 1);
}

static uint64_t pages_of(uint64_t bytes)
{
	return page_of(bytes + PAGE - 1);
}

/* ---- the list of mappings ---- */

static uint64_t end_of(const struct guest_map *m)
{
	return m->ip + m->len_bytes;
}

/* Index of the first mapping that ends behind ip. */
static size_t index_at(const struct guest *g, uint64_t ip)
{
	size_t lo = 0, hi = g->maps.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (end_of(&g->maps.v[mid]) <= ip)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void remove_at(struct guest *g, size_t i)
{
	free(g->maps.v[i].path);
	g->maps.n--;
	memmove(&g->maps.v[i], &g->maps.v[i + 1], (g->maps.n - i) * sizeof(*g->maps.v));
}

/* m->path is copied.  Without memory the mapping is one without a file. */
static void insert_at(struct guest *g, size_t i, const struct guest_map *m)
{
	struct guest_map copy = *m;

	copy.path = strdup(m->path);
	if (!copy.path || vec_push(&g->maps, copy) < 0) {
		free(copy.path);
		return;
	}
	memmove(&g->maps.v[i + 1], &g->maps.v[i], (g->maps.n - 1 - i) * sizeof(*g->maps.v));
	g->maps.v[i] = copy;
}

/* A mapping over ip becomes two. */
static void split(struct guest *g, uint64_t ip)
{
	size_t i = index_at(g, ip);
	struct guest_map behind;

	if (i == g->maps.n || g->maps.v[i].ip >= ip)
		return;
	behind = g->maps.v[i];
	behind.len_bytes = end_of(&behind) - ip;
	behind.pgoff_bytes += ip - behind.ip;
	behind.ip = ip;
	g->maps.v[i].len_bytes -= behind.len_bytes;
	insert_at(g, i + 1, &behind);
}

/* What is there already goes. */
static void cut(struct guest *g, uint64_t ip, uint64_t len_bytes)
{
	uint64_t end = ip + len_bytes < ip ? UINT64_MAX : ip + len_bytes;
	size_t i;

	split(g, ip);
	split(g, end);
	for (i = index_at(g, ip); i < g->maps.n && g->maps.v[i].ip < end;)
		remove_at(g, i);
}

static void put(struct guest *g, const struct guest_map *m)
{
	cut(g, m->ip, m->len_bytes);
	insert_at(g, index_at(g, m->ip), m);
}

const struct guest_map *guest_find(const struct guest *g, uint64_t ip)
{
	size_t i = index_at(g, ip);

	return i < g->maps.n && g->maps.v[i].ip <= ip ? &g->maps.v[i] : NULL;
}

/* ---- what the emulator has mapped ---- */

/* The mappings of one file, from its first segment to the end of its last. */
struct file_run {
	char path[PATH_MAX];
	uint64_t bias, end; /* host addresses; bias: what linked addresses are moved by */
	bool host_code;
	Elf64_Phdr ph[MAX_SEGMENTS];
	unsigned n_ph;
};

static void end_run(struct guest *g, const struct file_run *r)
{
	if (r->host_code || r->bias < g->base)
		return;
	for (unsigned i = 0; i < r->n_ph; i++) {
		const Elf64_Phdr *ph = &r->ph[i];
		uint64_t from = page_of(ph->p_vaddr);
		const struct guest_map m = { .ip = r->bias - g->base + from,
			                     .len_bytes = pages_of(ph->p_vaddr + ph->p_filesz) - from,
			                     .pgoff_bytes = page_of(ph->p_offset),
			                     .prot = PROT_READ | PROT_EXEC,
			                     .flags = MAP_PRIVATE,
			                     .path = (char *)r->path };

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		put(g, &m);
	}
}

static void read_headers(int fd, struct file_run *r)
{
	Elf64_Ehdr eh;
	size_t n;

	if (pread(fd, &eh, sizeof(eh), 0) != (ssize_t)sizeof(eh) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_phentsize != sizeof(r->ph[0]) || eh.e_phnum > MAX_SEGMENTS)
		return;
	n = eh.e_phnum * sizeof(r->ph[0]);
	if (pread(fd, r->ph, n, (off_t)eh.e_phoff) == (ssize_t)n)
		r->n_ph = eh.e_phnum;
}

/*
 * A mapping that begins a file.  How far the file's segments go its headers
 * say: offsets don't, as linkers may have several segments begin in one page of the file.
 */
static void begin_run(struct file_run *r, const char *path, uint64_t start)
{
	bool found = false;
	int fd;

	*r = (struct file_run){ .end = start };
	snprintf(r->path, sizeof(r->path), "%s", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	read_headers(fd, r);
	close(fd);
	for (unsigned i = 0; i < r->n_ph; i++) {
		if (r->ph[i].p_type != PT_LOAD)
			continue;
		if (!found)
			r->bias = start - page_of(r->ph[i].p_vaddr);
		found = true;
		r->end = r->bias + pages_of(r->ph[i].p_vaddr + r->ph[i].p_memsz);
	}
}

void guest_scan(struct guest *g)
{
	struct file_run *run = calloc(1, sizeof(*run));
	char line[PATH_MAX + 128];
	int saved = errno;
	FILE *f = run ? fopen("/proc/self/maps", "re") : NULL;

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long start, end;
		char perms[5], path[PATH_MAX] = "";

		/* Anonymous pages (bss) may lie between those of a file. */
		if (sscanf(line, "%llx-%llx %4s %*x %*s %*s %4095[^\n]", &start, &end, perms, path) < 4 ||
		    path[0] != '/')
			continue;
		if (strcmp(path, run->path) != 0 || start >= run->end) {
			end_run(g, run);
			begin_run(run, path, start);
		}
		run->host_code |= perms[2] == 'x';
	}
	if (run)
		end_run(g, run);
	if (f)
		fclose(f);
	free(run);
	errno = saved;
}

/* ---- what the guest does ---- */

static void name_file(int fd, char *out, size_t size)
{
	char link[64];
	int saved = errno;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, size - 1);
	out[n < 0 ? 0 : n] = '\0';
	errno = saved;
}

void guest_mmap(struct guest *g, uint64_t ip, const uint64_t arg[6], guest_map_fn *fn, void *user)
{
	char path[PATH_MAX] = "//anon";
	struct guest_map m = { .ip = ip,
		               .len_bytes = pages_of(arg[1]),
		               .prot = (uint32_t)arg[2],
		               .flags = (uint32_t)arg[3],
		               .path = path };
	bool file = !(m.flags & MAP_ANONYMOUS);

	if (file) {
		name_file((int)arg[4], path, sizeof(path));
		m.pgoff_bytes = arg[5];
	}
	if (file || m.prot & PROT_EXEC)
		put(g, &m);
	else
		cut(g, m.ip, m.len_bytes);
	if (m.prot & PROT_EXEC)
		fn(user, &m);
}

void guest_munmap(struct guest *g, uint64_t ip, uint64_t len_bytes)
{
	/* Refused by the kernel, and nothing goes. */
	if (ip % PAGE || !len_bytes || pages_of(len_bytes) < len_bytes)
		return;
	cut(g, ip, pages_of(len_bytes));
}

void guest_mremap(struct guest *g, uint64_t ip, uint64_t len_bytes, uint64_t new_ip, uint64_t new_len_bytes,
                  guest_map_fn *fn, void *user)
{
	const struct guest_map *at = guest_find(g, ip);
	struct guest_map m = { .path = NULL };

	if (at) {
		m = *at;
		m.pgoff_bytes += ip - m.ip;
		m.ip = new_ip;
		m.len_bytes = pages_of(new_len_bytes);
		m.path = strdup(at->path);
	}
	cut(g, ip, pages_of(len_bytes));
	if (m.path)
		put(g, &m);
	else
		cut(g, new_ip, pages_of(new_len_bytes));
	if (m.path && m.prot & PROT_EXEC)
		fn(user, &m);
	free(m.path);
}

/* Memory without a file between `from` and `to` that may now be executed. */
static void anonymous_code(struct guest *g, uint64_t from, uint64_t to, uint32_t prot, guest_map_fn *fn,
                           void *user)
{
	struct guest_map m = { .ip = from,
		               .len_bytes = to - from,
		               .prot = prot,
		               .flags = MAP_PRIVATE | MAP_ANONYMOUS,
		               .path = (char *)"//anon" };

	if (from >= to)
		return;
	insert_at(g, index_at(g, from), &m);
	fn(user, &m);
}

void guest_mprotect(struct guest *g, uint64_t ip, uint64_t len_bytes, uint32_t prot, guest_map_fn *fn,
                    void *user)
{
	uint64_t end = ip + pages_of(len_bytes);

	split(g, ip);
	split(g, end);
	while (ip < end) {
		size_t i = index_at(g, ip);
		struct guest_map *m = i < g->maps.n && g->maps.v[i].ip < end ? &g->maps.v[i] : NULL;
		bool begins = m && prot & PROT_EXEC && !(m->prot & PROT_EXEC);

		if (!m || m->ip > ip) {
			uint64_t to = m ? m->ip : end;

			if (prot & PROT_EXEC)
				anonymous_code(g, ip, to, prot, fn, user);
			ip = to;
			continue;
		}
		m->prot = prot;
		if (begins)
			fn(user, m);
		ip = end_of(m);
	}
}

void guest_string(const struct guest *g, uint64_t ip, char *out, size_t size)
{
	const char *s = (const char *)(uintptr_t)(ip + g->base);
	size_t n = 0;

	while (ip && n + 1 < size && s[n]) {
		out[n] = s[n];
		n++;
	}
	out[n] = '\0';
}
