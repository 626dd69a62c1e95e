/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/base/draft.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/base/err.h"
#include "profiler/base/tidy.h"

static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* Messages say the name that the user gave. */
static int write_to(const char *path, const char *name, int (*put)(const void *arg, FILE *f), const void *arg)
{
	FILE *f = fopen(path, "we");
	int err =
	        f ? put(arg, f) : sp_fail_errno("%s: cannot be written; name a file in another place", name);

	if (f && ferror(f) && err == 0)
		err = sp_fail_errno("%s", name);
	if (f && fclose(f) != 0 && err == 0)
		err = sp_fail_errno("%s", name);
	return err;
}

int draft_write(const char *path, int (*put)(const void *arg, FILE *f), const void *arg)
{
	char *draft;
	int err, tidy;

	if (strcmp(path, "-") == 0) {
		err = put(arg, stdout);
		return fflush(stdout) != 0 && err == 0 ? sp_fail_errno("standard output") : err;
	}
	if (is_special(path))
		return write_to(path, path, put, arg);
	if (asprintf(&draft, "%s.part", path) < 0)
		return sp_fail(SP_ENOMEM, "out of memory for a name");
	tidy = tidy_path(draft);
	err = write_to(draft, path, put, arg);
	if (err == 0 && rename(draft, path) < 0)
		err = sp_fail_errno("%s", path);
	if (err < 0)
		remove(draft);
	tidy_path_done(tidy);
	free(draft);
	return err;
}
