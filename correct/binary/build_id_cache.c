/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/binary/build_id_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

char *build_id_cache_find(const uint8_t *id, size_t n)
{
	char hex[2 * 64 + 1] = "", *dir = folder(), *found = NULL;

	for (size_t i = 1; i < n && i < sizeof(hex) / 2; i++)
		snprintf(hex + 2 * (i - 1), 3, "%02x", id[i]);
	for (size_t i = 0; dir && n > 1 && !found && i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (asprintf(&found, layouts[i], dir, id[0], hex) < 0)
			found = NULL;
		if (found && access(found, R_OK) != 0) {
			free(found);
			found = NULL;
		}
	}
	free(dir);
	return found;
}
