/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "profiler/perfdata/build_id_cache.h"
#include "profiler/perfdata/maps.h"
#include "profiler/perfdata/reader.h"
#include "profiler/pmu/buildid.h"
#include "profiler/pmu/procfile.h"

enum { MOST_FILES = 1024 }; /* each is held open until the end; what is more is not kept */

struct held {
	int fd;
	dev_t dev;
	ino_t ino;
	char *path; /* in its own mounts */
	uint8_t id[PD_BUILD_ID_MAX];
	size_t n_id;
	bool hit;
};

struct elsewhere {
	VEC(struct held) files;
	VEC(bool) marked;     /* files of the maps that were looked at */
	char way[64 + 4096];  /* through /proc, of the file found last */
	char name[64 + 4096]; /* of a file in memory, found last */
	uint64_t n_nameless;  /* mapped, without a build id */
	uint64_t n_more;
	char nameless[256]; /* the first */
};

int elsewhere_new(struct elsewhere **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : sp_fail(SP_ENOMEM, "out of memory");
}

void elsewhere_free(struct elsewhere *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->files.n; i++) {
		close(e->files.v[i].fd);
		free(e->files.v[i].path);
	}
	vec_fini(&e->files);
	vec_fini(&e->marked);
	free(e);
}

static bool find_way(struct elsewhere *e, uint32_t task, const char *path, struct stat *st)
{
	return snprintf(e->way, sizeof(e->way), "/proc/%u/root%s", task, path) < (int)sizeof(e->way) &&
	       stat(e->way, st) == 0;
}

static bool is_deleted(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), n_mark = strlen(mark);

	return path[0] == '/' && n > n_mark && strcmp(path + n - n_mark, mark) == 0;
}

/* A file that has no path any more, or never had one, of a mapping of it; its own program's needs no capability. */
static bool find_deleted(struct elsewhere *e, uint32_t pid, const struct pd_mmap *m, struct stat *st)
{
	char program[4096];
	ssize_t n;

	snprintf(e->way, sizeof(e->way), "/proc/%u/map_files/%jx-%jx", pid, (uintmax_t)m->ip,
	         (uintmax_t)(m->ip + m->len_bytes));
	if (stat(e->way, st) == 0)
		return S_ISREG(st->st_mode);
	snprintf(e->way, sizeof(e->way), "/proc/%u/exe", pid);
	n = readlink(e->way, program, sizeof(program));
	return n > 0 && (size_t)n == strlen(m->path) && memcmp(program, m->path, (size_t)n) == 0 &&
	       stat(e->way, st) == 0 && S_ISREG(st->st_mode);
}

/* "/memfd:NAME (deleted)" is what made code is called, too, which no file has: of a whole binary it is "/memfd/NAME". */
static void name_memory(struct elsewhere *e, struct pd_mmap *m)
{
	static const char memory[] = "/memfd:";
	size_t n = strlen(memory);

	if (strncmp(m->path, memory, n) != 0)
		return;
	snprintf(e->name, sizeof(e->name), "/memfd/%.*s", (int)(strcspn(m->path, " ") - n), m->path + n);
	m->path = e->name;
}

/* Is what the process calls path a file, and not the one that is called so here? */
static bool is_elsewhere(struct elsewhere *e, uint32_t pid, const char *path, struct stat *st)
{
	struct stat here;

	if (path[0] != '/' || path[1] == '/')
		return false;
	if (!find_way(e, pid, path, st)) {
		pid_t holder = procfile_holder_now((pid_t)pid);

		if (holder == (pid_t)pid || !find_way(e, (uint32_t)holder, path, st))
			return false;
	}
	if (!S_ISREG(st->st_mode))
		return false;
	return stat(path, &here) < 0 || here.st_dev != st->st_dev || here.st_ino != st->st_ino;
}

static struct held *find_held(struct elsewhere *e, const struct stat *st, const char *path)
{
	for (size_t i = 0; i < e->files.n; i++) {
		struct held *h = &e->files.v[i];

		if (h->dev == st->st_dev && h->ino == st->st_ino && strcmp(h->path, path) == 0)
			return h;
	}
	return NULL;
}

/* Was the file replaced since it was mapped? */
static bool has_id(int fd, const struct pd_mmap *m)
{
	uint8_t id[PD_BUILD_ID_MAX];
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return buildid_read(path, id, sizeof(id)) == m->build_id_bytes &&
	       memcmp(id, m->build_id, m->build_id_bytes) == 0;
}

/* Held open, so that it can be kept when its process and its mounts are gone. */
static void hold(struct elsewhere *e, const struct stat *st, const struct pd_mmap *m)
{
	struct held h = { .fd = -1, .dev = st->st_dev, .ino = st->st_ino, .n_id = m->build_id_bytes };

	if (find_held(e, st, m->path))
		return;
	memcpy(h.id, m->build_id, m->build_id_bytes);
	if (e->files.n < MOST_FILES)
		h.fd = open(e->way, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	h.path = h.fd < 0 || !has_id(h.fd, m) ? NULL : strdup(m->path);
	if (h.path && vec_push(&e->files, h) == 0)
		return;
	e->n_more++;
	free(h.path);
	if (h.fd >= 0)
		close(h.fd);
}

bool elsewhere_find(struct elsewhere *e, uint32_t pid, struct pd_mmap *m)
{
	const bool deleted = is_deleted(m->path);
	struct stat st;

	if (deleted ? !find_deleted(e, pid, m, &st) : !is_elsewhere(e, pid, m->path, &st))
		return false;
	if (!m->build_id_bytes)
		m->build_id_bytes = buildid_read(e->way, m->build_id, sizeof(m->build_id));
	if (deleted && !m->build_id_bytes)
		return false;
	if (deleted)
		name_memory(e, m);
	if (m->build_id_bytes) {
		hold(e, &st, m);
		return true;
	}
	if (!e->n_nameless++)
		snprintf(e->nameless, sizeof(e->nameless), "%s of process %u", m->path, pid);
	m->path = e->way;
	return true;
}

/* Each file of the maps once. */
static void mark(struct elsewhere *e, const struct maps *maps, uint32_t pid, uint64_t ip)
{
	struct maps_place at;
	const struct maps_file *f;

	if (!maps_find(maps, pid, ip, &at))
		return;
	while (e->marked.n <= at.file)
		if (vec_push(&e->marked, false) < 0)
			return;
	if (e->marked.v[at.file])
		return;
	e->marked.v[at.file] = true;
	f = maps_file(maps, at.file);
	for (size_t i = 0; i < e->files.n; i++) {
		struct held *h = &e->files.v[i];

		h->hit |= f->build_id_bytes >= h->n_id && memcmp(h->id, f->build_id, h->n_id) == 0 &&
		          strcmp(h->path, f->path) == 0;
	}
}

/* Which of them samples or branches are in: with all of a machine recorded, few of what is mapped. */
static int mark_hit(struct elsewhere *e, struct pd_reader *r, struct maps *maps)
{
	struct pd_record rec;
	int err = 0;

	while (err == 0 && pd_next(r, &rec) == 1) {
		if (rec.type != PERF_RECORD_SAMPLE) {
			err = maps_apply(maps, &rec);
			continue;
		}
		mark(e, maps, rec.pid, rec.sample.ip);
		for (size_t i = 0; i < rec.sample.n_branches; i++)
			mark(e, maps, rec.pid, rec.sample.branches[i].to_ip);
	}
	return err;
}

static int find_hit(struct elsewhere *e, const char *output)
{
	struct pd_reader *r = NULL;
	struct maps *maps = NULL;
	int err = pd_open(output, &r);

	if (err == 0)
		err = maps_new(&maps);
	if (err == 0)
		err = mark_hit(e, r, maps);
	maps_free(maps);
	pd_close(r);
	return err;
}

void elsewhere_keep(struct elsewhere *e, const char *output)
{
	bool all = !output || strcmp(output, "-") == 0;
	size_t n = 0, failed = 0;
	char why[512] = "";

	if (e->files.n && !all && find_hit(e, output) < 0)
		all = true;
	for (size_t i = 0; i < e->files.n; i++) {
		const struct held *h = &e->files.v[i];

		if (!h->hit && !all)
			continue;
		if (build_id_cache_add(h->fd, h->path, h->id, h->n_id) == 0)
			n++;
		else if (!failed++)
			snprintf(why, sizeof(why), "%s", sp_error_text());
	}
	if (n)
		sp_note("%zu binaries that no path leads to, as a container's or deleted ones, are kept in "
		        "perf's cache of build ids",
		        n);
	if (failed)
		sp_warn("%zu binaries that no path leads to, as a container's or deleted ones, could not be "
		        "kept, and "
		        "their code "
		        "can't be read when they are gone: %s",
		        failed, why);
	if (e->n_nameless)
		sp_warn("%s has other mounts than this recorder, as a container's, and no build id: it can "
		        "be read as long as the "
		        "process runs",
		        e->nameless);
	if (e->n_more)
		sp_warn("%ju binaries that no path leads to could not be held open, and are not kept",
		        (uintmax_t)e->n_more);
}
