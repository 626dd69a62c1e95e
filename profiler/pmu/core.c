/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/core.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/path.h"

/* The plugin gets it in one message, beside the configuration. */
enum { MAX_TEXT_BYTES = WIRE_MAX_BYTES - 4096, MAX_CORES = 64 };

static const char *default_core(enum program_isa isa)
{
	return isa == PROGRAM_AARCH64 ? "cortex-a76" : "zen5";
}

static int is_core(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 5 && strcmp(d->d_name + n - 5, ".core") == 0;
}

/* Names of the core files we come with, for messages; the caller frees each. */
static size_t list_cores(char **names)
{
	char folder[PATH_MAX];
	struct dirent **entries;
	size_t n = 0;
	int found;

	if (path_find("cores", folder, sizeof(folder)) < 0)
		return 0;
	found = scandir(folder, &entries, is_core, alphasort);
	for (int i = 0; i < found; i++) {
		if (n < MAX_CORES && (names[n] = strndup(entries[i]->d_name, strlen(entries[i]->d_name) - 5)))
			n++;
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
	return n;
}

static int unknown_core(const char *word)
{
	char *names[MAX_CORES + 1] = { NULL }, list[512] = "";
	size_t n = list_cores(names), used = 0;
	const char *near = cmd_suggest(word, (const char *const *)names);

	struct stat st;

	for (size_t i = 0; i < n && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", names[i]);
	if (stat(word, &st) == 0)
		sp_fail(SP_EUSAGE,
		        S_ISDIR(st.st_mode)
		                ? "--core: '%s' is a folder: name a core, one of %s, or a core file"
		                : "--core: '%s' is a file's name without a folder: write ./%s",
		        word, S_ISDIR(st.st_mode) ? (n ? list : "none that is installed") : word);
	else if (near)
		sp_fail(SP_EUSAGE, "no core '%s'; did you mean '%s'?", word, near);
	else
		sp_fail(SP_EUSAGE, "no core '%s'; there are %s, or give a file's path", word,
		        n ? list : "none installed");
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	return -SP_EUSAGE;
}

static int find_core(const char *word, struct sim_core *c)
{
	char file[PATH_MAX];
	const char *base;

	if (strchr(word, '/') || (strlen(word) > 5 && strcmp(word + strlen(word) - 5, ".core") == 0)) {
		snprintf(c->path, sizeof(c->path), "%s", word);
	} else {
		snprintf(file, sizeof(file), "cores/%s.core", word);
		if (path_find(file, c->path, sizeof(c->path)) < 0)
			return unknown_core(word);
	}
	base = strrchr(c->path, '/');
	snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(base ? base + 1 : c->path, "."),
	         base ? base + 1 : c->path);
	return 0;
}

static int read_text(struct sim_core *c)
{
	FILE *f;
	struct stat st;
	int err = 0;

	if (stat(c->path, &st) == 0 && S_ISDIR(st.st_mode))
		return sp_fail(SP_EUSAGE, "--core: %s is a folder: name a core file in it", c->path);
	f = fopen(c->path, "re");
	if (!f)
		return sp_fail_errno("%s", c->path);
	c->text = malloc(MAX_TEXT_BYTES + 1);
	if (!c->text)
		err = sp_fail(SP_ENOMEM, "out of memory");
	else
		c->n_bytes = fread(c->text, 1, MAX_TEXT_BYTES + 1, f);
	if (err == 0 && ferror(f))
		err = sp_fail_errno("%s", c->path);
	else if (err == 0 && c->n_bytes > MAX_TEXT_BYTES)
		err = sp_fail(SP_EFORMAT, "%s: longer than %d bytes: not a core file", c->path,
		              MAX_TEXT_BYTES);
	else if (err == 0)
		c->text[c->n_bytes] = '\0';
	fclose(f);
	return err;
}

/* The first word of a line; its length, 0: it has none. */
static size_t first_word(const char **line)
{
	*line += strspn(*line, " \t\r");
	return strcspn(*line, " \t\r\n#");
}

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

static bool has_word(const char *text, const char *word, size_t n)
{
	for (const char *line = text; *line; line = next_line(line)) {
		const char *at = line;

		if (first_word(&at) == n && strncmp(at, word, n) == 0)
			return true;
	}
	return false;
}

/* "like NAME", the first words of the file: where NAME begins, and its length; NULL: it is like no other. */
static const char *look_for_like(const char *text, size_t *n)
{
	for (const char *line = text; *line; line = next_line(line)) {
		const char *at = line;
		size_t len = first_word(&at);

		if (!len)
			continue;
		if (len != 4 || strncmp(at, "like", 4) != 0)
			return NULL;
		at += 4;
		*n = first_word(&at);
		return at;
	}
	return NULL;
}

/* Its own lines, whose numbers stay as they are, then those of the other that it has no word on. */
static int join_text(struct sim_core *c, const struct sim_core *other)
{
	size_t n = c->n_bytes, room = c->n_bytes + other->n_bytes + 3;
	const char *own = c->text;
	char *text = malloc(room);

	if (!text)
		return sp_fail(SP_ENOMEM, "out of memory");
	memcpy(text, own, n);
	text[n++] = '\n';
	for (const char *line = other->text, *next; *line; line = next) {
		const char *at = line;
		size_t len = first_word(&at);

		next = next_line(line);
		if (!len || has_word(own, at, len))
			continue;
		memcpy(text + n, line, (size_t)(next - line));
		n += (size_t)(next - line);
		if (text[n - 1] != '\n')
			text[n++] = '\n';
	}
	text[n] = '\0';
	free(c->text);
	c->text = text;
	c->n_bytes = n;
	return n > MAX_TEXT_BYTES ? sp_fail(SP_EFORMAT, "%s: longer than %d bytes with the core it is like",
	                                    c->path, MAX_TEXT_BYTES)
	                          : 0;
}

/* One that is itself like another is refused: who reads a file should find all of it in two. */
static int make_whole(struct sim_core *c)
{
	struct sim_core other = { 0 };
	size_t n = 0;
	const char *like = look_for_like(c->text, &n);
	char name[sizeof(c->name)], *word;
	int err;

	if (!like)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)n, like);
	err = find_core(name, &other);
	if (err == 0)
		err = read_text(&other);
	if (err == 0 && look_for_like(other.text, &n))
		err = sp_fail(SP_EFORMAT, "that core is like another one itself");
	if (err < 0)
		sp_fail_prefix(err, "%s: like %s", c->path, name);
	/* The line becomes a remark. */
	for (word = c->text + (like - c->text); word > c->text && word[-1] != '\n';)
		word--;
	*word = '#';
	if (err == 0)
		err = join_text(c, &other);
	sim_core_fini(&other);
	return err;
}

/* The plugin checks the whole file; only few keys concern us. */
/* 1 if the text has such a line, 0 if not. */
static int look_for_key(const struct sim_core *c, const char *key, uint32_t max, uint32_t *out)
{
	size_t n = strlen(key);

	for (const char *line = c->text; line; line = strchr(line, '\n')) {
		unsigned long value;
		char *end;

		line += *line == '\n';
		line += strspn(line, " \t");
		if (strncmp(line, key, n) != 0 || !strchr(" \t", line[n]) || !line[n])
			continue;
		value = strtoul(line + n, &end, 10);
		if (end == line + n || value > max)
			return sp_fail(SP_EFORMAT, "%s: '%s' is not a number up to %u", c->path, key, max);
		*out = (uint32_t)value;
		return 1;
	}
	return 0;
}

static int read_key(const struct sim_core *c, const char *key, uint32_t max, uint32_t *out)
{
	int found = look_for_key(c, key, max, out);

	if (found == 0)
		return sp_fail(SP_EFORMAT, "%s: has no line '%s': not a core file", c->path, key);
	return found < 0 ? found : 0;
}

int sim_core_load(const char *word, enum program_isa isa, struct sim_core *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	err = find_core(word ? word : default_core(isa), out);
	if (err == 0)
		err = read_text(out);
	if (err == 0)
		err = make_whole(out);
	if (err == 0)
		err = read_key(out, "n_counters", WIRE_MAX_EVENTS, &out->counters.n_programmable);
	if (err == 0)
		err = read_key(out, "n_fixed", 2, &out->counters.n_fixed);
	if (err == 0)
		err = read_key(out, "branch_records", WIRE_MAX_BRANCHES, &out->counters.branch_records);
	/* Most have no such line. */
	if (err == 0)
		err = look_for_key(out, "branch_cycles", 1, &out->counters.branch_cycles);
	if (err >= 0)
		err = look_for_key(out, "precise_max", 3, &out->counters.precise_max);
	if (err >= 0)
		err = look_for_key(out, "precise_by_dispatch", 1, &out->counters.precise_by_dispatch);
	if (err >= 0)
		err = look_for_key(out, "syscall_cyc", UINT32_MAX, &out->counters.syscall_cyc);
	if (err < 0)
		sim_core_fini(out);
	return err < 0 ? err : 0;
}

void sim_core_fini(struct sim_core *c)
{
	free(c->text);
	c->text = NULL;
}
