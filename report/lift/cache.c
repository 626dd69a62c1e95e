/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/cache.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/tidy.h"

enum { MAX_FILE_BYTES = 1 << 16 };

/* All that a prediction depends on, as the head of its file. */
static char *key_text(const struct tool *t, const struct tool_block *b)
{
	char *text;
	int n;

	if (asprintf(&text,
	             "skidprof lift 1\ntool %s\nversion %s\nisa %s\naddress 0x%" PRIx64
	             "\nturns %u\nbytes %*s\ncycles ",
	             t->name, t->version, b->isa == ISA_AARCH64 ? "aarch64" : "x86-64",
	             t->ops->by_address ? b->vaddr : 0, t->ops->by_turns ? b->turns : 0,
	             (int)(2 * b->n_bytes), "") < 0)
		return NULL;
	n = (int)(strstr(text, "\nbytes ") + strlen("\nbytes ") - text);
	for (size_t i = 0; i < b->n_bytes; i++) {
		static const char digits[] = "0123456789abcdef";

		text[n + 2 * (int)i] = digits[b->bytes[i] >> 4];
		text[n + 2 * (int)i + 1] = digits[b->bytes[i] & 15];
	}
	return text;
}

char *cache_text(const struct tool *t, const struct tool_block *b, double cyc)
{
	char *key = key_text(t, b), *text = NULL;

	if (key && asprintf(&text, "%s%.17g\n", key, cyc) < 0)
		text = NULL;
	free(key);
	return text;
}

bool cache_parse(const char *text, const struct tool *t, const struct tool_block *b, double *cyc)
{
	char *key = key_text(t, b), *end;
	size_t n = key ? strlen(key) : 0;
	double x;
	bool ours = key && strncmp(text, key, n) == 0;

	free(key);
	if (!ours)
		return false;
	x = strtod(text + n, &end);
	if (end == text + n || strcmp(end, "\n") != 0 || !(x > 0) || !isfinite(x))
		return false;
	*cyc = x;
	return true;
}

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return h;
}

/* The folder, made where it is missing when `make`. */
static bool folder(char out[PATH_MAX], bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	if (cache && cache[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/skidprof/lift", cache);
	else if (home && home[0] == '/')
		n = snprintf(out, PATH_MAX, "%s/.cache/skidprof/lift", home);
	else
		return false;
	if (n < 0 || n >= PATH_MAX)
		return false;
	for (char *s = out + 1; make && (s = strchr(s, '/')); s++) {
		*s = '\0';
		if (mkdir(out, 0777) < 0 && errno != EEXIST)
			return false;
		*s = '/';
	}
	return !make || mkdir(out, 0777) == 0 || errno == EEXIST;
}

static bool path_of(const struct tool *t, const struct tool_block *b, bool make, char out[PATH_MAX])
{
	char dir[PATH_MAX], *key;
	int n;

	if (!folder(dir, make))
		return false;
	key = key_text(t, b);
	if (!key)
		return false;
	n = snprintf(out, PATH_MAX, "%s/%016" PRIx64, dir, hash(key));
	free(key);
	return n > 0 && n < PATH_MAX;
}

bool cache_get(const struct tool *t, const struct tool_block *b, double *cyc)
{
	char path[PATH_MAX], *text;
	bool found = false;
	FILE *f;
	size_t n;

	if (!path_of(t, b, false, path) || !(f = fopen(path, "re")))
		return false;
	text = malloc(MAX_FILE_BYTES);
	if (text) {
		n = fread(text, 1, MAX_FILE_BYTES - 1, f);
		text[n] = '\0';
		found = cache_parse(text, t, b, cyc);
	}
	free(text);
	fclose(f);
	return found;
}

void cache_put(const struct tool *t, const struct tool_block *b, double cyc)
{
	char path[PATH_MAX], beside[PATH_MAX + 16], *text = cache_text(t, b, cyc);
	bool written;
	FILE *f;
	int fd, tidy;

	if (!text || strlen(text) >= MAX_FILE_BYTES || !path_of(t, b, true, path)) {
		free(text);
		return;
	}
	snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
	fd = mkstemp(beside);
	tidy = fd < 0 ? -1 : tidy_path(beside);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	written = f && fputs(text, f) >= 0;
	if (f && fclose(f) != 0)
		written = false;
	if (fd >= 0 && (!written || rename(beside, path) < 0))
		unlink(beside);
	tidy_path_done(tidy);
	free(text);
}
