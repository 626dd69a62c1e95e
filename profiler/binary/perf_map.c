/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/perf_map.h"

#include "profiler/base/order.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct numbered {
	struct perf_map_entry entry;
	size_t line;
};

bool perf_map_is_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned pid;
	int end = 0;

	return sscanf(name, "perf-%u.map%n", &pid, &end) == 1 && end && !name[end];
}

/* Digits up to a blank, with or without 0x. */
static bool take_hex(const char **p, const char *end, uint64_t *out)
{
	const char *at = *p;
	int digits = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (*out = 0; at < end && isxdigit((unsigned char)*at) && digits < 16; at++, digits++) {
		unsigned char lower = (unsigned char)tolower((unsigned char)*at);

		*out = *out << 4 | (uint64_t)(lower <= '9' ? lower - '0' : lower - 'a' + 10);
	}
	if (!digits || at == end || (*at != ' ' && *at != '\t'))
		return false;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	*p = at;
	return true;
}

static bool take_line(const char *p, const char *end, struct perf_map_entry *out, const char **name,
                      size_t *n_name)
{
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!take_hex(&p, end, &out->vaddr) || !take_hex(&p, end, &out->size_bytes) || p == end ||
	    memchr(p, 0, (size_t)(end - p)))
		return false;
	*name = p;
	*n_name = (size_t)(end - p);
	return out->size_bytes && out->vaddr + out->size_bytes > out->vaddr;
}

static int by_address(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return order_pairs(x->entry.vaddr, x->line, y->entry.vaddr, y->line);
}

/* Of two that overlap the one that was named last stays. */
static void keep_newest(struct numbered *v, size_t n, struct perf_map *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		while (kept && v[kept - 1].entry.vaddr + v[kept - 1].entry.size_bytes > v[i].entry.vaddr &&
		       v[kept - 1].line < v[i].line)
			kept--;
		if (kept && v[kept - 1].entry.vaddr + v[kept - 1].entry.size_bytes > v[i].entry.vaddr)
			continue;
		v[kept++] = v[i];
	}
	for (size_t i = 0; i < kept; i++)
		vec_add(&out->entries, v[i].entry);
}

void perf_map_parse(const char *text, size_t n, struct texts *pool, struct perf_map *out)
{
	VEC(struct numbered) found = { 0 };
	const char *end = text + n;

	memset(out, 0, sizeof(*out));
	for (const char *p = text; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p)), *name;
		struct numbered x = { .line = found.n };
		size_t n_name;

		stop = stop ? stop : end;
		if (take_line(p, stop, &x.entry, &name, &n_name)) {
			x.entry.name = texts_add(pool, name, n_name);
			vec_add(&found, x);
		} else {
			out->n_bad += stop > p;
		}
		p = stop + 1;
	}
	if (found.n)
		qsort(found.v, found.n, sizeof(*found.v), by_address);
	keep_newest(found.v, found.n, out);
	vec_fini(&found);
}

void perf_map_fini(struct perf_map *m)
{
	vec_fini(&m->entries);
}
