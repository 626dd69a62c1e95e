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

/* A run of neighbouring mappings of one file. */
struct file_run {
	uint64_t start, end; /* host addresses */
	bool host_code;
	char path[PATH_MAX];
};

static void report_segments(const struct guest *g, const struct file_run *r, const Elf64_Ehdr *eh,
                            const Elf64_Phdr *ph, guest_map_fn *fn, void *user)
{
	uint64_t bias = 0, start = r->start - g->base;
	bool found = false;

	for (unsigned i = 0; i < eh->e_phnum && i < MAX_SEGMENTS; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (!found)
			bias = start - (ph[i].p_vaddr & ~(uint64_t)(PAGE - 1));
		found = true;
		if (!(ph[i].p_flags & PF_X))
			continue;
		uint64_t from = ph[i].p_vaddr & ~(uint64_t)(PAGE - 1);
		uint64_t to = (ph[i].p_vaddr + ph[i].p_filesz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		struct guest_map m = { .ip = bias + from,
			               .len_bytes = to - from,
			               .pgoff_bytes = ph[i].p_offset & ~(uint64_t)(PAGE - 1),
			               .prot = PROT_READ | PROT_EXEC,
			               .flags = MAP_PRIVATE,
			               .path = (char *)r->path };
		fn(user, &m);
	}
}

static void report_run(const struct guest *g, const struct file_run *r, guest_map_fn *fn, void *user)
{
	Elf64_Phdr ph[MAX_SEGMENTS];
	Elf64_Ehdr eh;
	size_t n;
	int fd;

	if (r->host_code || r->path[0] != '/' || r->start < g->base ||
	    (fd = open(r->path, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	if (pread(fd, &eh, sizeof(eh), 0) == (ssize_t)sizeof(eh) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	    eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_phentsize == sizeof(*ph) &&
	    eh.e_phnum <= MAX_SEGMENTS) {
		n = eh.e_phnum * sizeof(*ph);
		if (pread(fd, ph, n, (off_t)eh.e_phoff) == (ssize_t)n)
			report_segments(g, r, &eh, ph, fn, user);
	}
	close(fd);
}

void guest_scan(struct guest *g, guest_map_fn *fn, void *user)
{
	struct file_run run = { 0 };
	char line[PATH_MAX + 128];
	int saved = errno;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long long start, end, off;
		char perms[5], path[PATH_MAX] = "";

		if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %4095[^\n]", &start, &end, perms, &off, path) <
		    4)
			continue;
		/* The first segment starts the file; anonymous pages between (bss) do not end the run. */
		if (path[0] != '/')
			continue;
		if (strcmp(path, run.path) || !off) {
			report_run(g, &run, fn, user);
			run = (struct file_run){ .start = start };
			memcpy(run.path, path, sizeof(path));
		}
		run.end = end;
		run.host_code |= perms[2] == 'x';
	}
	report_run(g, &run, fn, user);
	if (f)
		fclose(f);
	errno = saved;
}

void guest_mmap(struct guest *g, uint64_t ip, const uint64_t arg[6], guest_map_fn *fn, void *user)
{
	struct guest_map m = {
		.ip = ip, .len_bytes = arg[1], .prot = (uint32_t)arg[2], .flags = (uint32_t)arg[3]
	};
	char link[64], path[PATH_MAX] = "//anon";
	int saved = errno;
	ssize_t n;

	if (!(m.flags & MAP_ANONYMOUS)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)arg[4]);
		n = readlink(link, path, sizeof(path) - 1);
		path[n < 0 ? 0 : n] = '\0';
		m.pgoff_bytes = arg[5];
	}
	errno = saved;
	m.path = path;
	if (m.prot & PROT_EXEC)
		fn(user, &m);
	if (!(m.flags & MAP_ANONYMOUS) && (m.path = strdup(path)) && vec_push(&g->maps, m) < 0)
		free(m.path);
}

void guest_mprotect(struct guest *g, uint64_t ip, uint64_t len_bytes, uint32_t prot, guest_map_fn *fn,
                    void *user)
{
	if (!(prot & PROT_EXEC))
		return;
	/* Newest first: a mapping over another one hides it. */
	for (size_t i = g->maps.n; i-- > 0;) {
		struct guest_map m = g->maps.v[i];

		if (ip < m.ip || ip >= m.ip + m.len_bytes)
			continue;
		if (m.prot & PROT_EXEC)
			return;
		m.pgoff_bytes += ip - m.ip;
		m.len_bytes -= ip - m.ip;
		m.ip = ip;
		if (m.len_bytes > len_bytes)
			m.len_bytes = len_bytes;
		m.prot = prot;
		fn(user, &m);
		return;
	}
	fn(user, &(struct guest_map){ .ip = ip,
	                              .len_bytes = len_bytes,
	                              .prot = prot,
	                              .flags = MAP_PRIVATE | MAP_ANONYMOUS,
	                              .path = (char *)"//anon" });
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
