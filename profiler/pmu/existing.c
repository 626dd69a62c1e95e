/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/existing.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/base/err.h"
#include "profiler/pmu/buildid.h"
#include "profiler/pmu/procfile.h"

enum { WORDS_BYTES = 16384 };

int existing_words(pid_t pid, char ***out)
{
	char path[64], text[WORDS_BYTES];
	size_t n, count = 0;
	char *copy;
	FILE *f;

	*out = NULL;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)procfile_holder_now(pid));
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	if (!n)
		return 0;
	text[n++] = '\0';
	/* What ends with its last word has one end too many now. */
	if (n > 1 && !text[n - 2])
		n--;
	for (size_t i = 0; i < n; i++)
		count += !text[i];
	*out = malloc(count * sizeof(**out) + n);
	if (!*out)
		return 0;
	copy = (char *)(*out + count);
	memcpy(copy, text, n);
	for (size_t i = 0; i < count; i++, copy += strlen(copy) + 1)
		(*out)[i] = copy;
	return (int)count;
}

static int write_name(struct pd_writer *w, pid_t pid, pid_t tid)
{
	char path[64], name[64];
	FILE *f;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(name, sizeof(name), f)) {
		name[strcspn(name, "\n")] = '\0';
		err = pd_write_comm(w, (uint32_t)pid, (uint32_t)tid, 0, name, false);
	}
	fclose(f);
	return err;
}

static int write_names(struct pd_writer *w, pid_t pid)
{
	char path[64];
	struct dirent *d;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return 0;
	while (err == 0 && (d = readdir(dir)))
		if (atoi(d->d_name) > 0)
			err = write_name(w, pid, (pid_t)atoi(d->d_name));
	closedir(dir);
	return err;
}

/* "55d0c0a00000-55d0c0a21000 r-xp 00002000 08:01 1234  /bin/app": only what can be executed. */
static int write_map(struct pd_writer *w, struct elsewhere *e, pid_t pid, const char *line, bool with_ids)
{
	unsigned long long begin, end, off, ino;
	unsigned maj, min;
	char perms[8];
	int at = 0;
	struct pd_mmap m = { .path = "//anon", .prot = PROT_EXEC };

	if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &begin, &end, perms, &off, &maj, &min, &ino,
	           &at) < 7 ||
	    !at || perms[2] != 'x')
		return 0;
	m.ip = begin;
	m.len_bytes = end - begin;
	m.pgoff_bytes = off;
	m.maj = maj;
	m.min = min;
	m.ino = ino;
	m.prot |= (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u);
	m.flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	if (line[at])
		m.path = line + at;
	if (!elsewhere_find(e, (uint32_t)pid, &m) && with_ids && *m.path == '/')
		m.build_id_bytes = buildid_read(m.path, m.build_id, sizeof(m.build_id));
	return pd_write_mmap(w, (uint32_t)pid, (uint32_t)pid, 0, &m);
}

static int write_process(struct pd_writer *w, struct elsewhere *e, pid_t pid, bool with_ids)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	int err = write_names(w, pid);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)procfile_holder_now(pid));
	f = err == 0 ? fopen(path, "re") : NULL;
	if (!f)
		return err;
	while (err == 0 && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		err = write_map(w, e, pid, line, with_ids);
	}
	free(line);
	fclose(f);
	return err;
}

int existing_process(struct pd_writer *w, struct elsewhere *e, pid_t pid)
{
	return write_process(w, e, pid, true);
}

/* Build ids of all that runs would take longer than they are worth: they are read when the file is closed. */
int existing_all(struct pd_writer *w, struct elsewhere *e)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	int err = 0;

	while (dir && err == 0 && (d = readdir(dir)))
		if (atoi(d->d_name) > 0)
			err = write_process(w, e, (pid_t)atoi(d->d_name), false);
	if (dir)
		closedir(dir);
	return err;
}

int existing_kernel(struct pd_writer *w)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long text = 0, end = 0, ip;
	char line[512], name[256];
	struct pd_mmap m = { .path = "[kernel.kallsyms]_text", .prot = PROT_EXEC };

	while (f && fgets(line, sizeof(line), f) && !(text && end)) {
		if (sscanf(line, "%llx %*c %255s", &ip, name) != 2)
			continue;
		if (strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0)
			text = text ? text : ip;
		else if (strcmp(name, "_etext") == 0)
			end = ip;
	}
	if (f)
		fclose(f);
	if (!text || end <= text)
		return 0;
	m.ip = m.pgoff_bytes = text;
	m.len_bytes = end - text;
	return pd_write_mmap(w, UINT32_MAX, 0, 0, &m);
}
