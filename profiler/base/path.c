/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/base/err.h"

/* From the folder of the executable: the build tree first, then an installed PREFIX/bin. */
static const char *const places[] = {
	"%s/%s",
	"%s/../profiler/sim/%s",
	"%s/../report/lift/%s",
	"%s/../lib/skidprof/%s",
	"%s/../share/skidprof/%s",
};

int path_find(const char *name, char *out, size_t size)
{
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (n < 0)
		return sp_fail_errno("/proc/self/exe");
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char candidate[2 * PATH_MAX];

		/* The formats stand in the table above; none comes from outside. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(candidate, sizeof(candidate), places[i], exe, name);
#pragma GCC diagnostic pop
		if (access(candidate, R_OK) == 0 && strlen(candidate) < size) {
			memcpy(out, candidate, strlen(candidate) + 1);
			return 0;
		}
	}
	return sp_fail(SP_ENOENT,
	               "%s: not found beside %s nor in ../lib/skidprof or "
	               "../share/skidprof; run 'make' or reinstall skidprof",
	               name, exe);
}

int path_check_output(const char *path, const char *option)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char folder[PATH_MAX];
	struct stat st;

	if (!path || strcmp(path, "-") == 0)
		return 0;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return sp_fail(SP_EIO, "%s: is a folder; name a file with %s", path, option);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return access(path, W_OK) < 0 ? sp_fail_errno("%s", path) : 0;
	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (access(folder, W_OK | X_OK) < 0)
		return sp_fail_errno("%s: cannot be written; choose another place with %s", path, option);
	return 0;
}

int path_check_file(const char *path, const char *option)
{
	if (path && strcmp(path, "-") == 0)
		return sp_fail(SP_EUSAGE, "%s -: standard output has other text already; name a file",
		               option);
	return path_check_output(path, option);
}

const char *path_words(const char *path)
{
	return strcmp(path, "-") ? path : "standard output";
}

size_t path_fold(const char *path, char *out)
{
	size_t n = 0, floor;

	if (*path == '/')
		out[n++] = '/';
	floor = n;
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && !strncmp(path, "..", 2)) {
			while (n > floor && out[n - 1] != '/')
				n--;
			if (n > floor)
				n--;
		} else if (len && !(len == 1 && *path == '.')) {
			if (n && out[n - 1] != '/')
				out[n++] = '/';
			memmove(out + n, path, len);
			n += len;
		}
		path += len + (path[len] == '/');
	}
	return n;
}
