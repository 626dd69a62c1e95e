/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/build_id_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/tidy.h"

/* Since perf 4.9 a folder that holds the file as "elf"; before, a link to the file itself. */
static const char *const layouts[] = { "%s/.build-id/%02x/%s/elf", "%s/.build-id/%02x/%s" };

static char *folder(void)
{
	const char *dir = getenv("PERF_BUILDID_DIR"), *home = getenv("HOME");
	char *path = NULL;

	if (dir && *dir)
		return asprintf(&path, "%s", dir) < 0 ? NULL : path;
	return !home || asprintf(&path, "%s/.debug", home) < 0 ? NULL : path;
}

/* Of bytes first and on, in hexadecimal. */
static void to_hex(const uint8_t *id, size_t n, size_t first, char *out, size_t size)
{
	*out = '\0';
	for (size_t i = first; i < n && i < size / 2; i++)
		snprintf(out + 2 * (i - first), 3, "%02x", id[i]);
}

/* The first of these files, of a build id, that can be read. */
static char *find(const char *const *files, size_t n_files, const uint8_t *id, size_t n)
{
	char hex[2 * 64 + 1], *dir = folder(), *found = NULL;

	to_hex(id, n, 1, hex, sizeof(hex));
	for (size_t i = 0; dir && n > 1 && !found && i < n_files; i++) {
		if (asprintf(&found, files[i], dir, id[0], hex) < 0) /* NOLINT: formats of this file */
			found = NULL;
		if (found && access(found, R_OK) != 0) {
			free(found);
			found = NULL;
		}
	}
	free(dir);
	return found;
}

char *build_id_cache_find(const uint8_t *id, size_t n)
{
	return find(layouts, sizeof(layouts) / sizeof(layouts[0]), id, n);
}

char *build_id_cache_kallsyms(const uint8_t *id, size_t n)
{
	static const char *const kallsyms[] = { "%s/.build-id/%02x/%s/kallsyms" };

	return find(kallsyms, 1, id, n);
}

/* All folders of path up to its last slash. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int made;

		*slash = '\0';
		made = mkdir(path, 0777);
		if (made < 0 && errno != EEXIST)
			return sp_fail_errno("%s", path);
		*slash = '/';
	}
	return 0;
}

static int copy_bytes(int from, int to, const char *path)
{
	char buf[1 << 16];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(from, buf, sizeof(buf), at)) > 0) {
		for (ssize_t done = 0, k; done < n; done += k) {
			k = write(to, buf + done, (size_t)(n - done));
			if (k < 0)
				return sp_fail_errno("%s", path);
		}
		at += n;
	}
	return n < 0 ? sp_fail_errno("%s: its original can't be read", path) : 0;
}

/* Whole or not at all: a reader may come at any time. */
static int copy_file(int fd, const char *path)
{
	char *part = NULL;
	int out, err, tidy;

	if (asprintf(&part, "%s.XXXXXX", path) < 0)
		return sp_fail(SP_ENOMEM, "out of memory");
	out = mkostemp(part, O_CLOEXEC);
	if (out < 0) {
		err = sp_fail_errno("%s", part);
		free(part);
		return err;
	}
	tidy = tidy_path(part);
	fchmod(out, 0644);
	err = copy_bytes(fd, out, path);
	if (close(out) < 0 && err == 0)
		err = sp_fail_errno("%s", path);
	if (err == 0 && rename(part, path) < 0)
		err = sp_fail_errno("%s", path);
	if (err < 0)
		unlink(part);
	tidy_path_done(tidy);
	free(part);
	return err;
}

/* DIR/PATH/ID/elf, and DIR/.build-id/ID's first byte/the rest, a link to its folder. */
static int add(const char *dir, int fd, const char *path, const char *hex)
{
	char *file = NULL, *link = NULL, *target = NULL;
	int err = 0;

	if (asprintf(&file, "%s%s/%s/elf", dir, path, hex) < 0)
		file = NULL;
	if (asprintf(&link, "%s/.build-id/%.2s/%s", dir, hex, hex + 2) < 0)
		link = NULL;
	if (asprintf(&target, "../..%s/%s", path, hex) < 0)
		target = NULL;
	if (!file || !link || !target)
		err = sp_fail(SP_ENOMEM, "out of memory");
	if (err == 0)
		err = make_folders(file);
	if (err == 0)
		err = copy_file(fd, file);
	if (err == 0)
		err = make_folders(link);
	if (err == 0 && symlink(target, link) < 0 && errno != EEXIST)
		err = sp_fail_errno("%s", link);
	free(file);
	free(link);
	free(target);
	return err;
}

int build_id_cache_add(int fd, const char *path, const uint8_t *id, size_t n)
{
	char hex[2 * 64 + 1], *found = build_id_cache_find(id, n), *dir;
	int err;

	if (found) {
		free(found);
		return 0;
	}
	if (path[0] != '/' || strstr(path, "/../") || n < 2)
		return sp_fail(SP_EDOMAIN, "%s: not a path of a file with a build id", path);
	dir = folder();
	if (!dir)
		return sp_fail(SP_ENOENT, "there is no home folder to keep %s in (HOME, PERF_BUILDID_DIR)",
		               path);
	to_hex(id, n, 0, hex, sizeof(hex));
	err = add(dir, fd, path, hex);
	free(dir);
	return err;
}
