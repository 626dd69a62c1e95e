/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * perf record --threads makes a folder: a file "data", with the header and what perf found running, and a file "data.N" for each of its
 * threads, which is records alone.  They are read side by side, always from the one that is furthest behind in time, as one
 * file without marks of rounds would be.  --kcore makes a folder, too, with "data" alone.
 *
 * One part is at hand: its input, decoder and state are in the reader, where all else finds those of a single file.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "profiler/perfdata/reader_int.h"

int pd_parts_begin(struct pd_reader *r, const char *path)
{
	char file[PATH_MAX];
	struct stat st;

	r->in_folder = strcmp(path, "-") && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	if (!r->in_folder)
		return pd_input_open(&r->in, path);
	snprintf(file, sizeof(file), "%s/data", path);
	if (stat(file, &st) < 0 && errno == ENOENT)
		return sp_fail(SP_EFORMAT,
		               "%s: is a folder without a file \"data\", as perf record --threads makes one; "
		               "name a recording",
		               path);
	return pd_input_open(&r->in, file);
}

/* Take the part at hand out of the reader, and put another one in. */
static void switch_to(struct pd_reader *r, size_t part)
{
	struct pd_part *from = &r->parts.v[r->part], *to = &r->parts.v[part];

	if (part == r->part)
		return;
	from->in = r->in;
	from->z = r->z;
	from->damaged = r->damaged;
	from->data_off = r->data_off;
	r->in = to->in;
	r->z = to->z;
	r->damaged = to->damaged;
	r->data_off = to->data_off;
	r->part = part;
}

static int add_part(struct pd_reader *r, const char *path)
{
	struct pd_part part = { .in.fd = -1 };
	int rc = pd_input_open(&part.in, path);

	if (rc < 0 || vec_push(&r->parts, part) < 0) {
		pd_input_close(&part.in);
		return rc < 0 ? rc : -SP_ENOMEM;
	}
	return 0;
}

int pd_parts_open(struct pd_reader *r)
{
	const char *slash = strrchr(r->in.path, '/');
	const int n_folder = slash ? (int)(slash - r->in.path) + 1 : 0;
	char path[PATH_MAX];
	int rc = 0;

	/* Itself, which is at hand. */
	if (vec_push(&r->parts, (struct pd_part){ .in.fd = -1 }) < 0)
		return -SP_ENOMEM;
	for (unsigned k = 0; rc == 0; k++) {
		struct stat st;

		snprintf(path, sizeof(path), "%.*sdata.%u", n_folder, r->in.path, k);
		if (stat(path, &st) < 0)
			break;
		rc = add_part(r, path);
	}
	if (rc == 0 && r->parts.n == 1 && r->folder_version > 0)
		return sp_fail(SP_EFORMAT,
		               "%s: is one part of a folder that perf record --threads made, and the samples "
		               "are in others, data.0 "
		               "and on, which are not beside it; name the folder as perf made it",
		               r->in.path);
	return rc;
}

void pd_parts_choose(struct pd_reader *r)
{
	size_t least = r->part;

	for (size_t k = 0; k < r->parts.n; k++)
		if (!r->parts.v[k].ended &&
		    (r->parts.v[least].ended || r->parts.v[k].last_ns < r->parts.v[least].last_ns))
			least = k;
	if (r->parts.n)
		switch_to(r, least);
}

void pd_parts_note(struct pd_reader *r, uint64_t time_ns)
{
	if (r->parts.n && time_ns > r->parts.v[r->part].last_ns)
		r->parts.v[r->part].last_ns = time_ns;
}

void pd_parts_dropped(struct pd_reader *r, size_t part)
{
	struct pd_part *p = r->parts.n ? &r->parts.v[part] : NULL;

	if (!p || p->dropped)
		return;
	p->dropped = true;
	if (!r->stats.n_dropped_in++)
		r->stats.dropped_in = part == r->part ? r->in.path : p->in.path;
}

bool pd_parts_end(struct pd_reader *r)
{
	if (!r->parts.n)
		return true;
	r->parts.v[r->part].ended = true;
	pd_parts_choose(r);
	return r->parts.v[r->part].ended;
}

int pd_parts_rewind(struct pd_reader *r)
{
	int rc = 0;

	for (size_t k = r->parts.n; k-- > 0 && rc == 0;) {
		switch_to(r, k);
		r->parts.v[k].ended = false;
		r->parts.v[k].last_ns = 0;
		r->parts.v[k].dropped = false;
		rc = pd_stream_rewind(r);
	}
	return r->parts.n ? rc : pd_stream_rewind(r);
}

void pd_parts_fini(struct pd_reader *r)
{
	for (size_t k = 0; k < r->parts.n; k++) {
		switch_to(r, k);
		pd_stream_fini(r);
		pd_input_close(&r->in);
		r->in = (struct pd_input){ .fd = -1 };
		r->z = NULL;
	}
	vec_fini(&r->parts);
}
