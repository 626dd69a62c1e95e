/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/made.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/base/order.h"
#include "profiler/base/pairs.h"
#include "profiler/base/texts.h"
#include "profiler/binary/jitdump.h"
#include "profiler/binary/perf_map.h"

enum { MOST_BYTES = 1 << 30 };

/* A jitdump: bytes are kept, for names and codes are in them. */
struct dump {
	const char *path;    /* as recorded */
	const char **layers; /* [n_layers] module paths */
	uint8_t *bytes;
	struct jitdump jit;
};

struct process {
	uint32_t dump; /* index + 1 into dumps; 0 = none */
	bool names_looked_for;
	const char *names; /* its perf-PID.map; NULL = none */
};

struct made {
	char *symfs;
	bool same_host, same_clock, told_clock;
	struct texts pool;
	struct pairs pids, paths;
	VEC(struct process) processes; /* by pids */
	VEC(struct dump) dumps;        /* by paths, which are the pool's */
	VEC(uint64_t) changes_ns;      /* in order */
};

void made_new(const char *symfs, bool same_host, bool same_clock, struct made **out)
{
	struct made *m = mem_calloc(1, sizeof(*m));

	m->symfs = symfs ? mem_strdup(symfs) : NULL;
	m->same_host = same_host;
	m->same_clock = same_clock;
	*out = m;
}

void made_free(struct made *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->dumps.n; i++) {
		jitdump_fini(&m->dumps.v[i].jit);
		free(m->dumps.v[i].layers);
		free(m->dumps.v[i].bytes);
	}
	vec_fini(&m->dumps);
	vec_fini(&m->changes_ns);
	vec_fini(&m->processes);
	pairs_fini(&m->pids);
	pairs_fini(&m->paths);
	texts_fini(&m->pool);
	free(m->symfs);
	free(m);
}

/* Whose file may be believed: root's, and one's own; root believes anybody's. */
static int open_own(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
	    (st->st_uid == 0 || st->st_uid == geteuid() || geteuid() == 0))
		return fd;
	close(fd);
	return -1;
}

static uint8_t *read_file(const char *path, size_t *n)
{
	struct stat st;
	int fd = open_own(path, &st);
	uint8_t *bytes = NULL;
	ssize_t got = 1;

	*n = 0;
	if (fd < 0)
		return NULL;
	if (st.st_size < MOST_BYTES)
		bytes = mem_malloc((size_t)st.st_size + 1);
	while (bytes && got > 0 && *n < (size_t)st.st_size) {
		got = read(fd, bytes + *n, (size_t)st.st_size - *n);
		*n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	return bytes;
}

/* Layer 0 has the file's own path. */
static void name_layers(struct made *m, struct dump *d)
{
	d->layers = mem_calloc(d->jit.n_layers + 1, sizeof(char *));
	for (uint32_t i = 0; i < d->jit.n_layers; i++)
		d->layers[i] = i ? texts_printf(&m->pool, "%s#%u", d->path, i) : d->path;
}

/* One that can't be read has no codes, and its samples stay without names. */
static void read_dump(struct made *m, struct dump *d)
{
	char *path = mem_printf("%s%s", m->symfs ? m->symfs : "", d->path);
	size_t n;

	d->bytes = read_file(path, &n);
	if (!d->bytes)
		sp_warn("%s: code that was made at run time is in this file, which is not there or not yours",
		        path);
	else if (jitdump_parse(d->bytes, n, path, &d->jit) < 0)
		sp_warn("%s", sp_error_text());
	if (d->jit.dropped_bytes)
		sp_warn("%s: %zu bytes at %zu are no whole record: code behind them is not known", path,
		        d->jit.dropped_bytes, d->jit.dropped_off);
	free(path);
	name_layers(m, d);
}

static void note_changes(struct made *m, const struct jitdump *j)
{
	for (size_t i = 0; i < j->codes.n && j->n_layers > 1; i++)
		vec_add(&m->changes_ns, j->codes.v[i].from_ns);
	if (m->changes_ns.n)
		qsort(m->changes_ns.v, m->changes_ns.n, sizeof(*m->changes_ns.v), order_u64);
}

uint64_t made_changes(const struct made *m, uint64_t time_ns)
{
	size_t lo = sorted_count(m->same_clock ? m->changes_ns.n : 0, k, m->changes_ns.v[k] <= time_ns);

	return lo;
}

void made_map(struct made *m, uint32_t pid, const char *path)
{
	struct process *p;
	struct dump *d;
	const char *kept;
	size_t i;

	if (!jitdump_is_name(path))
		return;
	p = pairs_in(&m->pids, &m->processes, pid, 0);
	kept = texts_add(&m->pool, path, strlen(path));
	i = pairs_must(&m->paths, (uint64_t)(uintptr_t)kept, 0);
	p->dump = (uint32_t)i + 1;
	if (i < m->dumps.n)
		return;
	vec_add(&m->dumps, (struct dump){ .path = kept });
	d = &m->dumps.v[i];
	read_dump(m, d);
	note_changes(m, &d->jit);
}

/* The number that a process which still runs has in its own namespace; 0 = it doesn't run. */
static uint32_t own_number(uint32_t pid)
{
	char path[64], line[256];
	uint32_t number = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;

		if (last)
			number = (uint32_t)strtoul(last, NULL, 10);
	}
	if (f)
		fclose(f);
	return number;
}

static const char *readable(struct made *m, const char *path)
{
	char *whole = mem_printf("%s%s", m->symfs ? m->symfs : "", path);
	struct stat st;
	int fd = open_own(whole, &st);

	free(whole);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}

/* In /tmp of this machine, or of the container that the process runs in. */
static const char *find_names(struct made *m, uint32_t pid)
{
	const char *found = NULL;
	uint32_t number;

	if (!m->symfs && !m->same_host)
		return NULL;
	number = m->symfs ? 0 : own_number(pid);
	if (number)
		found = readable(m, texts_printf(&m->pool, "/proc/%u/root/tmp/perf-%u.map", pid, number));
	return found ? found : readable(m, texts_printf(&m->pool, "/tmp/perf-%u.map", pid));
}

/* The path of the layer whose code at ip is the newest of those that were there by then. */
static const char *find_code(struct made *m, const struct dump *d, uint64_t ip, uint64_t time_ns)
{
	bool timed = m->same_clock && !d->jit.other_clock && time_ns;
	const struct jit_code *found = NULL;
	unsigned several = 0;

	for (uint32_t layer = 0; layer < d->jit.n_layers; layer++) {
		const struct jit_code *code = jitdump_at(&d->jit, layer, ip);

		if (!code || (timed && code->from_ns > time_ns))
			continue;
		several++;
		if (!found || code->from_ns >= found->from_ns)
			found = code;
	}
	if (several > 1 && !timed) {
		if (!m->told_clock)
			sp_warn("%s: code took turns at its addresses, and samples have another clock than "
			        "this file, "
			        "so which one a sample was in is not known: record with perf record -k mono",
			        d->path);
		m->told_clock = true;
		return NULL;
	}
	return found ? d->layers[found->layer] : NULL;
}

const char *made_find(struct made *m, uint32_t pid, uint64_t ip, uint64_t time_ns)
{
	struct process *p = pairs_in(&m->pids, &m->processes, pid, 0);
	const char *found = p->dump ? find_code(m, &m->dumps.v[p->dump - 1], ip, time_ns) : NULL;

	if (found)
		return found;
	if (!p->names_looked_for)
		p->names = find_names(m, pid);
	p->names_looked_for = true;
	return p->names;
}
