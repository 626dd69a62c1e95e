/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/features.h"
#include "profiler/perfdata/reader_int.h"

/* A length, then that many bytes, of which the text ends at the first NUL. NULL = no memory or no text. */
static char *take_text(struct pd_cursor *c)
{
	uint32_t len = cur_u32(c);
	const uint8_t *p = cur_bytes(c, len);

	return p ? strndup((const char *)p, len) : NULL;
}

static void set_text(const char **field, struct pd_cursor *c)
{
	char *text = take_text(c);

	if (!text)
		return;
	free((char *)*field);
	*field = text;
}

/* argc, then the words; joined as one would type them, if none needs quotes. */
static int take_cmdline(struct pd_reader *r, struct pd_cursor *c)
{
	uint32_t n = cur_u32(c);
	size_t at = 0, cap = cur_left(c) + 1;
	char *line = malloc(cap);

	if (!line)
		return sp_fail(SP_ENOMEM, "%s: out of memory for the command line", r->in.path);
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		uint32_t len = cur_u32(c);
		const uint8_t *p = cur_bytes(c, len);
		size_t used = p ? strnlen((const char *)p, len) : 0;

		/* Each word brought 4 bytes of length with it: the blank has room. */
		if (p && at)
			line[at++] = ' ';
		if (p)
			memcpy(line + at, p, used);
		at += used;
	}
	line[at] = 0;
	free((char *)r->hdr.cmdline);
	r->hdr.cmdline = line;
	return 0;
}

static size_t path_hash(const char *path)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3ull;
	return (size_t)(h ^ h >> 32);
}

static struct pd_path_slot *path_slot(struct pd_path_slot *slots, size_t cap, const char *path)
{
	size_t i = path_hash(path) & (cap - 1);

	while (slots[i].path && strcmp(slots[i].path, path))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int paths_grow(struct pd_reader *r)
{
	size_t cap = r->paths_cap ? r->paths_cap * 2 : 64;
	struct pd_path_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return sp_fail(SP_ENOMEM, "%s: out of memory for %zu build ids", r->in.path, r->n_paths);
	for (size_t i = 0; i < r->paths_cap; i++) {
		if (r->paths[i].path)
			*path_slot(slots, cap, r->paths[i].path) = r->paths[i];
	}
	free(r->paths);
	r->paths = slots;
	r->paths_cap = cap;
	return 0;
}

int pd_build_id_add(struct pd_reader *r, const char *path, const uint8_t *id, size_t n, bool from_table)
{
	struct pd_path_slot *s;

	if (!n || n > PD_BUILD_ID_MAX)
		return 0;
	if (r->n_paths * 2 >= r->paths_cap && paths_grow(r) < 0)
		return -SP_ENOMEM;
	s = path_slot(r->paths, r->paths_cap, path);
	if (s->path && s->from_table && !from_table)
		return 0;
	if (!s->path) {
		s->path = strdup(path);
		if (!s->path)
			return sp_fail(SP_ENOMEM, "%s: out of memory for a build id", r->in.path);
		r->n_paths++;
	}
	memcpy(s->id, id, n);
	s->n = (uint8_t)n;
	s->from_table = from_table;
	return 0;
}

size_t pd_build_id(const struct pd_reader *r, const char *path, const uint8_t **id)
{
	const struct pd_path_slot *s = r->paths_cap ? path_slot(r->paths, r->paths_cap, path) : NULL;

	if (!s || !s->path)
		return 0;
	*id = s->id;
	return s->n;
}

/* Behind the header: pid, 24 bytes that hold the id (and its size, where misc says so), the path. */
int pd_build_id_record(struct pd_reader *r, struct pd_cursor c, uint16_t misc)
{
	const uint8_t *id;
	const char *path;
	size_t n = PD_BUILD_ID_MAX;

	cur_u32(&c);
	id = cur_bytes(&c, 24);
	path = cur_text(&c);
	if (c.bad)
		return 0;
	if (misc & PD_MISC_BUILD_ID_SIZE)
		n = id[PD_BUILD_ID_MAX];
	return pd_build_id_add(r, path, id, n, true);
}

static int take_build_ids(struct pd_reader *r, struct pd_cursor *c)
{
	while (cur_left(c) >= sizeof(struct perf_event_header)) {
		struct pd_cursor rec = { c->p, c->end, c->swap, false };
		uint16_t misc = pd_u16(c->p + 4, c->swap), size = pd_u16(c->p + 6, c->swap);

		if (size < sizeof(struct perf_event_header) || !cur_bytes(c, size))
			break;
		rec.p += sizeof(struct perf_event_header);
		rec.end = c->p;
		if (pd_build_id_record(r, rec, misc) < 0)
			return -SP_ENOMEM;
	}
	return 0;
}

int pd_feature(struct pd_reader *r, unsigned feature, struct pd_cursor c)
{
	switch (feature) {
	case PD_FEAT_BUILD_ID:
		return take_build_ids(r, &c);
	case PD_FEAT_HOSTNAME:
		set_text(&r->hdr.hostname, &c);
		break;
	case PD_FEAT_OSRELEASE:
		set_text(&r->hdr.os_release, &c);
		break;
	case PD_FEAT_VERSION:
		set_text(&r->hdr.version, &c);
		break;
	case PD_FEAT_ARCH:
		set_text(&r->hdr.arch, &c);
		break;
	case PD_FEAT_CPUDESC:
		set_text(&r->hdr.cpudesc, &c);
		break;
	case PD_FEAT_CPUID:
		set_text(&r->hdr.cpuid, &c);
		break;
	case PD_FEAT_NRCPUS:
		cur_u32(&c);
		r->hdr.n_cpus_online = cur_u32(&c);
		break;
	case PD_FEAT_CMDLINE:
		return take_cmdline(r, &c);
	case PD_FEAT_EVENT_DESC:
		return pd_events_desc(r, c);
	case PD_FEAT_DIR_FORMAT:
		r->folder_version = cur_u64(&c);
		break;
	case PD_FEAT_GROUP_DESC:
		pd_events_group_desc(r, c);
		break;
	default:
		break;
	}
	return 0;
}

void pd_feature_fini(struct pd_reader *r)
{
	for (size_t i = 0; i < r->paths_cap; i++)
		free(r->paths[i].path);
	free(r->paths);
	free((char *)r->hdr.hostname);
	free((char *)r->hdr.os_release);
	free((char *)r->hdr.version);
	free((char *)r->hdr.arch);
	free((char *)r->hdr.cpudesc);
	free((char *)r->hdr.cpuid);
	free((char *)r->hdr.cmdline);
}
