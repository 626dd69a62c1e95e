/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/perfdata/build_id_cache.h"
#include "profiler/perfdata/writer_int.h"

enum { ATTR_ENTRY = PD_ATTR_BYTES + 16 };

static void emit_attr(struct pd_emit *e, const struct perf_event_attr *attr)
{
	union {
		struct perf_event_attr attr;
		uint8_t bytes[sizeof(*attr) > PD_ATTR_BYTES ? sizeof(*attr) : PD_ATTR_BYTES];
	} u = { .bytes = { 0 } };

	u.attr = *attr;
	u.attr.size = PD_ATTR_BYTES;
	emit_bytes(e, u.bytes, PD_ATTR_BYTES);
}

static void emit_feature_text(struct pd_emit *e, const char *text)
{
	size_t n = strlen(text) + 1;

	emit_u32(e, (uint32_t)((n + PD_NAME_ALIGN - 1) / PD_NAME_ALIGN * PD_NAME_ALIGN));
	emit_text(e, text, PD_NAME_ALIGN);
}

static void emit_cmdline(struct pd_emit *e, const struct pd_writer *w)
{
	emit_u32(e, (uint32_t)w->argc);
	for (int i = 0; i < w->argc; i++)
		emit_feature_text(e, w->argv[i]);
}

static void emit_event_desc(struct pd_emit *e, const struct pd_writer *w)
{
	emit_u32(e, (uint32_t)w->n_events);
	emit_u32(e, PD_ATTR_BYTES);
	for (size_t i = 0; i < w->n_events; i++) {
		const struct pd_writer_event *ev = &w->events[i];

		emit_attr(e, &ev->attr);
		emit_u32(e, (uint32_t)ev->n_ids);
		emit_feature_text(e, ev->name);
		emit_bytes(e, ev->ids, ev->n_ids * sizeof(*ev->ids));
	}
}

static uint32_t n_members(const struct pd_writer *w, size_t leader)
{
	uint32_t n = 0;

	for (size_t i = leader; i < w->n_events; i++)
		n += w->events[i].leader == (int)leader;
	return n;
}

/* perf takes a group's members to follow their leader. */
static void emit_group_desc(struct pd_emit *e, const struct pd_writer *w)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w->n_events; i++)
		n += n_members(w, i) > 1;
	emit_u32(e, n);
	for (size_t i = 0; i < w->n_events; i++) {
		if (n_members(w, i) < 2)
			continue;
		emit_feature_text(e, "{anon_group}");
		emit_u32(e, (uint32_t)i);
		emit_u32(e, n_members(w, i));
	}
}

static size_t build_id_of(const struct maps_file *f, uint8_t id[PD_BUILD_ID_MAX], bool *kernel)
{
	*kernel = !strncmp(f->path, "[kernel", 7);
	if (f->build_id_bytes) {
		memcpy(id, f->build_id, f->build_id_bytes);
		return f->build_id_bytes;
	}
	if (*kernel)
		return pd_kernel_build_id(id);
	if (!strcmp(f->path, "[vdso]"))
		return pd_vdso_build_id(id);
	return f->path[0] == '/' && f->path[1] != '/' ? pd_elf_build_id(f->path, id) : 0;
}

/* One entry of the table, which has the shape of a record; false if the file has no build id. */
static bool make_build_id(struct pd_emit *e, const struct maps_file *f)
{
	uint8_t id[24] = { 0 };
	bool kernel;
	size_t n = build_id_of(f, id, &kernel);

	if (!n)
		return false;
	id[PD_BUILD_ID_MAX] = (uint8_t)n;
	emit_begin(e, PD_BUILD_ID,
	           (kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) | PD_MISC_BUILD_ID_SIZE);
	emit_u32(e, UINT32_MAX); /* the host, not a guest */
	emit_bytes(e, id, sizeof(id));
	/* Its map names the first symbol as well; perf looks for the kernel without. */
	emit_text(e, kernel ? "[kernel.kallsyms]" : f->path, PD_NAME_ALIGN);
	emit_end(e);
	return !e->failed;
}

static void emit_build_ids(struct pd_emit *e, struct pd_writer *w)
{
	for (size_t i = 0; i < w->files.v.n; i++) {
		if (make_build_id(&w->rec, &w->files.v.v[i]->pub))
			emit_bytes(e, w->rec.p, w->rec.n);
	}
}

/* Version, kind (zstd), level, ratio so far, and room for what one record unpacks to. */
static void emit_compressed(struct pd_emit *e, const struct pd_writer *w)
{
	const uint32_t words[] = { 1, 1, w->compress_level, pd_output_ratio(&w->out), 2 * PD_COMPRESS_BYTES };

	emit_bytes(e, words, sizeof(words));
}

static void emit_feature(struct pd_emit *e, struct pd_writer *w, unsigned feature)
{
	struct utsname u = { 0 };

	uname(&u);
	switch (feature) {
	case PD_FEAT_BUILD_ID:
		emit_build_ids(e, w);
		break;
	case PD_FEAT_HOSTNAME:
		emit_feature_text(e, u.nodename);
		break;
	case PD_FEAT_OSRELEASE:
		emit_feature_text(e, u.release);
		break;
	case PD_FEAT_VERSION:
		emit_feature_text(e, "skidprof " SKIDPROF_VERSION);
		break;
	case PD_FEAT_ARCH:
		emit_feature_text(e, w->arch);
		break;
	case PD_FEAT_NRCPUS:
		emit_u32(e, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
		emit_u32(e, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
		break;
	case PD_FEAT_CPUDESC:
		emit_feature_text(e, w->cpudesc);
		break;
	case PD_FEAT_CPUID:
		emit_feature_text(e, w->cpuid);
		break;
	case PD_FEAT_CMDLINE:
		emit_cmdline(e, w);
		break;
	case PD_FEAT_EVENT_DESC:
		emit_event_desc(e, w);
		break;
	case PD_FEAT_GROUP_DESC:
		emit_group_desc(e, w);
		break;
	case PD_FEAT_SAMPLE_TIME:
		emit_u64(e, w->first_ns);
		emit_u64(e, w->last_ns);
		break;
	case PD_FEAT_COMPRESSED:
		emit_compressed(e, w);
		break;
	default:
		break;
	}
}

static const unsigned features[] = {
	PD_FEAT_BUILD_ID,   PD_FEAT_HOSTNAME,    PD_FEAT_OSRELEASE,  PD_FEAT_VERSION, PD_FEAT_ARCH,
	PD_FEAT_NRCPUS,     PD_FEAT_CPUDESC,     PD_FEAT_CPUID,      PD_FEAT_CMDLINE, PD_FEAT_EVENT_DESC,
	PD_FEAT_GROUP_DESC, PD_FEAT_SAMPLE_TIME, PD_FEAT_COMPRESSED,
};

enum { N_FEATURES = sizeof(features) / sizeof(features[0]) };

static bool wanted(const struct pd_writer *w, unsigned feature)
{
	switch (feature) {
	case PD_FEAT_SAMPLE_TIME:
		return w->last_ns != 0;
	case PD_FEAT_COMPRESSED:
		return w->out.z != NULL;
	case PD_FEAT_GROUP_DESC:
		for (size_t i = 0; i < w->n_events; i++) {
			if (w->events[i].leader != (int)i)
				return true;
		}
		return false;
	case PD_FEAT_CPUDESC:
		return *w->cpudesc;
	case PD_FEAT_CPUID:
		return *w->cpuid;
	case PD_FEAT_CMDLINE:
		return w->argc > 0;
	default:
		return true;
	}
}

/* The file's header, the events' ids, the attrs that point at them. */
static int file_head(struct pd_writer *w)
{
	struct pd_emit e = { .growable = true };
	uint64_t ids_at = PD_HEADER_BYTES, n_ids = 0, attrs_at, data_at;
	int rc;

	for (size_t i = 0; i < w->n_events; i++)
		n_ids += w->events[i].n_ids;
	attrs_at = ids_at + 8 * n_ids;
	data_at = attrs_at + w->n_events * ATTR_ENTRY;
	emit_u64(&e, PD_MAGIC);
	emit_u64(&e, PD_HEADER_BYTES);
	emit_u64(&e, ATTR_ENTRY);
	emit_u64(&e, attrs_at);
	emit_u64(&e, w->n_events * ATTR_ENTRY);
	emit_u64(&e, data_at);
	emit_u64(&e, 0);                         /* the data's size: output.c keeps it right */
	emit_bytes(&e, NULL, 16);                /* event types: none since 2012 */
	emit_bytes(&e, NULL, PD_N_FEATURES / 8); /* set at the end */
	for (size_t i = 0; i < w->n_events; i++)
		emit_bytes(&e, w->events[i].ids, 8 * w->events[i].n_ids);
	for (size_t i = 0; i < w->n_events; i++) {
		emit_attr(&e, &w->events[i].attr);
		emit_u64(&e, ids_at);
		emit_u64(&e, 8 * w->events[i].n_ids);
		ids_at += 8 * w->events[i].n_ids;
	}
	rc = e.failed ? -SP_ENOMEM : pd_output_head(&w->out, e.p, e.n);
	free(e.p);
	return rc;
}

static int attr_record(struct pd_writer *w, const struct pd_writer_event *ev)
{
	emit_begin(&w->rec, PD_HEADER_ATTR, 0);
	emit_attr(&w->rec, &ev->attr);
	emit_bytes(&w->rec, ev->ids, 8 * ev->n_ids);
	emit_end(&w->rec);
	if (w->rec.failed)
		return sp_fail(SP_EDOMAIN, "%s: event %s has too many ids (%zu) for a pipe; write to a file",
		               w->out.path, ev->name, ev->n_ids);
	return pd_output_plain(&w->out, w->rec.p, w->rec.n);
}

/* One that does not fit into a record is left out: a pipe has no other place for it. */
static int feature_record(struct pd_writer *w, unsigned feature)
{
	emit_begin(&w->rec, PD_HEADER_FEATURE, 0);
	emit_u64(&w->rec, feature);
	emit_feature(&w->rec, w, feature);
	emit_end(&w->rec);
	return w->rec.failed ? 0 : pd_output_plain(&w->out, w->rec.p, w->rec.n);
}

static int pipe_head(struct pd_writer *w)
{
	const uint64_t head[] = { PD_MAGIC, PD_PIPE_HEADER_BYTES };
	int rc = pd_output_head(&w->out, head, sizeof(head));

	for (size_t i = 0; rc == 0 && i < w->n_events; i++)
		rc = attr_record(w, &w->events[i]);
	return rc;
}

/*
 * The features come as records before all others, in a file too: the table
 * at its end is missing when the recorder is killed, and without knowing the
 * compression no perf could read the rest.
 */
int pd_writer_head(struct pd_writer *w)
{
	int rc = w->out.pipe ? pipe_head(w) : file_head(w);

	for (size_t i = 0; rc == 0 && i < N_FEATURES; i++) {
		/* What is known at the end only can't stand here. */
		if (features[i] != PD_FEAT_BUILD_ID && wanted(w, features[i]))
			rc = feature_record(w, features[i]);
	}
	return rc < 0 ? rc : pd_output_flush(&w->out);
}

static int pipe_tail(struct pd_writer *w)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->files.v.n; i++) {
		if (make_build_id(&w->rec, &w->files.v.v[i]->pub))
			rc = pd_output_plain(&w->out, w->rec.p, w->rec.n);
	}
	return rc < 0 ? rc : pd_output_flush(&w->out);
}

/* A table of where each feature is, then the features. */
static int file_tail(struct pd_writer *w)
{
	uint64_t bits[PD_N_FEATURES / 64] = { 0 }, table[2 * N_FEATURES], at;
	struct pd_emit e = { .growable = true };
	size_t n = 0, bytes[N_FEATURES];
	int rc;

	for (size_t i = 0; i < N_FEATURES; i++) {
		size_t before = e.n;

		if (!wanted(w, features[i]))
			continue;
		emit_feature(&e, w, features[i]);
		bits[features[i] / 64] |= 1ull << (features[i] % 64);
		bytes[n++] = e.n - before;
	}
	at = w->out.data_off + w->out.data_bytes + 16 * n;
	for (size_t i = 0; i < n; i++) {
		table[2 * i] = at;
		table[2 * i + 1] = bytes[i];
		at += bytes[i];
	}
	rc = e.failed ? -SP_ENOMEM : 0;
	emit_bytes(&e, NULL, 16 * n);
	if (rc == 0 && !e.failed) {
		memmove(e.p + 16 * n, e.p, e.n - 16 * n);
		memcpy(e.p, table, 16 * n);
		rc = pd_output_tail(&w->out, e.p, e.n, bits);
	}
	free(e.p);
	return e.failed ? -SP_ENOMEM : rc;
}

int pd_writer_tail(struct pd_writer *w)
{
	return w->out.pipe ? pipe_tail(w) : file_tail(w);
}
