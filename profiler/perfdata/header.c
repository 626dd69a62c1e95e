/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <endian.h>

#include "profiler/perfdata/features.h"
#include "profiler/perfdata/reader_int.h"

struct section {
	uint64_t off, bytes;
};

/* The file's header, in native order. */
struct file_header {
	uint64_t header_bytes, attr_bytes;
	struct section attrs, data;
	uint64_t features[PD_N_FEATURES / 64];
};

static int not_perf(const struct pd_reader *r, const uint8_t *p, size_t n)
{
	const char *path = r->in.path;

	if (n == 0)
		return sp_fail(SP_EFORMAT, "%s: is empty; the recording did not start, or wrote elsewhere",
		               path);
	if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b)
		return sp_fail(SP_EFORMAT, "%s: is compressed by gzip; unpack it with gunzip first", path);
	if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
		return sp_fail(SP_EFORMAT, "%s: is compressed by zstd; unpack it with unzstd first", path);
	if (n >= 6 && !memcmp(p,
	                      "\xfd"
	                      "7zXZ",
	                      6))
		return sp_fail(SP_EFORMAT, "%s: is compressed by xz; unpack it with unxz first", path);
	if (n >= 11 && !memcmp(p, "# callgrind", 11))
		return sp_fail(
		        SP_EFORMAT,
		        "%s: has counts, as \"skidprof truth\" and callgrind write them, and no recording; "
		        "\"skidprof report -i RECORDING --truth FILE\" shows them beside one",
		        path);
	return sp_fail(SP_EFORMAT,
	               "%s: is not a perf.data file (its first bytes are not PERFILE2); give one that "
	               "\"skidprof record\" or \"perf record\" wrote",
	               path);
}

static int take_magic(struct pd_reader *r, const uint8_t *p, size_t n)
{
	uint64_t magic = n >= PD_PIPE_HEADER_BYTES ? pd_u64(p, false) : 0;

	r->swap = magic == __builtin_bswap64(PD_MAGIC) || magic == __builtin_bswap64(PD_MAGIC_V1);
	if (!r->swap && magic != PD_MAGIC && magic != PD_MAGIC_V1)
		return not_perf(r, p, n);
	r->hdr.swapped = r->swap;
	r->big_endian = r->swap != (__BYTE_ORDER == __BIG_ENDIAN);
	return 0;
}

static bool has_feature(const struct file_header *h, unsigned f)
{
	return h->features[f / 64] >> (f % 64) & 1;
}

/*
 * The bits are an array of longs.  A 32-bit machine of the other byte order
 * swaps them by fours; every perf sets HOSTNAME, which tells the two apart.
 */
static void take_feature_bits(struct file_header *h, const uint8_t *p, bool swap)
{
	for (size_t i = 0; i < PD_N_FEATURES / 64; i++)
		h->features[i] = pd_u64(p + 8 * i, swap);
	if (!swap || has_feature(h, PD_FEAT_HOSTNAME))
		return;
	for (size_t i = 0; i < PD_N_FEATURES / 64; i++)
		h->features[i] = pd_u32(p + 8 * i, true) | (uint64_t)pd_u32(p + 8 * i + 4, true) << 32;
}

static int take_header(struct pd_reader *r, struct file_header *h)
{
	uint8_t buf[PD_HEADER_BYTES] = { 0 };
	struct pd_cursor c = pd_cursor_at(r, buf + 8, sizeof(buf) - 8);
	size_t have;
	int rc = pd_input_pread(&r->in, 0, buf, sizeof(buf), &have);

	if (rc < 0)
		return rc;
	h->header_bytes = cur_u64(&c);
	h->attr_bytes = cur_u64(&c);
	h->attrs.off = cur_u64(&c);
	h->attrs.bytes = cur_u64(&c);
	h->data.off = cur_u64(&c);
	h->data.bytes = cur_u64(&c);
	if (h->header_bytes >= PD_HEADER_BYTES)
		take_feature_bits(h, buf + PD_HEADER_BYTES - PD_N_FEATURES / 8, r->swap);
	if (have < PD_HEADER_BYTES - PD_N_FEATURES / 8)
		return sp_fail(SP_EFORMAT, "%s: ends within its header (%zu bytes); record it again",
		               r->in.path, have);
	return 0;
}

/* Read a section whole; *bytes is what of it is there. */
static int load(struct pd_reader *r, struct section s, uint8_t **out, size_t *bytes)
{
	uint64_t there = s.off < r->in.size_bytes ? r->in.size_bytes - s.off : 0;
	size_t want = (size_t)(s.bytes < there ? s.bytes : there);
	uint8_t *buf;
	int rc;

	*out = NULL;
	*bytes = 0;
	if (want > PD_FEATURE_BYTES)
		return sp_fail(SP_EFORMAT,
		               "%s: a section of %zu bytes at %ju can't be right; record it again",
		               r->in.path, want, (uintmax_t)s.off);
	buf = malloc(want ? want : 1);
	if (!buf)
		return sp_fail(SP_ENOMEM, "%s: out of memory for %zu bytes", r->in.path, want);
	rc = pd_input_pread(&r->in, s.off, buf, want, bytes);
	if (rc < 0) {
		free(buf);
		return rc;
	}
	*out = buf;
	return 0;
}

/* One entry: the attr, of whatever size, then the section of its ids. */
static int take_attr(struct pd_reader *r, const uint8_t *entry, size_t bytes)
{
	size_t room = bytes - sizeof(struct section);
	uint32_t own = pd_u32(entry + 4, r->swap);
	struct section s = { pd_u64(entry + room, r->swap), pd_u64(entry + room + 8, r->swap) };
	struct perf_event_attr attr;
	uint8_t *ids = NULL;
	size_t n = 0;
	int rc;

	pd_attr_decode(&attr, entry, own >= PERF_ATTR_SIZE_VER0 && own < room ? own : room, r->swap);
	rc = load(r, s, &ids, &n);
	if (rc == 0)
		rc = pd_events_add(r, &attr, ids, n / 8);
	free(ids);
	return rc;
}

static int take_attrs(struct pd_reader *r, const struct file_header *h)
{
	uint8_t *buf = NULL;
	size_t n = 0;
	int rc = 0;

	if (h->attr_bytes < PERF_ATTR_SIZE_VER0 + sizeof(struct section) || h->attr_bytes > PD_MAX_RECORD)
		return sp_fail(SP_EFORMAT, "%s: its header is damaged (event size %ju); record it again",
		               r->in.path, (uintmax_t)h->attr_bytes);
	rc = load(r, h->attrs, &buf, &n);
	for (size_t off = 0; rc == 0 && n - off >= h->attr_bytes; off += h->attr_bytes)
		rc = take_attr(r, buf + off, h->attr_bytes);
	free(buf);
	if (rc == 0 && !r->events.n)
		return sp_fail(SP_EFORMAT, "%s: no event stands in its header; record it again", r->in.path);
	return rc;
}

/* The table behind the data has a section for each bit that is set. */
static int take_features(struct pd_reader *r, const struct file_header *h)
{
	uint64_t off = h->data.off + h->data.bytes;
	int rc = 0;

	for (unsigned f = 0; f < PD_N_FEATURES && rc == 0; f++) {
		uint8_t entry[sizeof(struct section)], *buf;
		size_t have;

		if (!has_feature(h, f))
			continue;
		rc = pd_input_pread(&r->in, off, entry, sizeof(entry), &have);
		if (rc < 0)
			return rc;
		if (have < sizeof(entry)) {
			r->stats.unfinished = true;
			return 0;
		}
		off += sizeof(entry);
		rc = load(r, (struct section){ pd_u64(entry, r->swap), pd_u64(entry + 8, r->swap) }, &buf,
		          &have);
		if (rc == -SP_EFORMAT) { /* one that can't be right costs that feature only */
			rc = 0;
			continue;
		}
		if (rc == 0)
			rc = pd_feature(r, f, pd_cursor_at(r, buf, have));
		if (rc == 0)
			free(buf);
	}
	return rc;
}

static bool no_features(const struct file_header *h)
{
	uint64_t any = 0;

	for (size_t i = 0; i < PD_N_FEATURES / 64; i++)
		any |= h->features[i];
	return !any;
}

/*
 * A recorder that was killed leaves size 0 (perf) or a size that is behind
 * and no features (ours): all to the file's end is records then.
 */
static int take_sections(struct pd_reader *r, struct file_header *h)
{
	uint64_t end;
	int rc;
	bool open_end = !h->data.bytes || no_features(h);

	if (__builtin_add_overflow(h->data.off, h->data.bytes, &end) || h->data.off < PD_PIPE_HEADER_BYTES)
		return sp_fail(SP_EFORMAT,
		               "%s: its header is damaged (data at %ju, %ju bytes); record it again",
		               r->in.path, (uintmax_t)h->data.off, (uintmax_t)h->data.bytes);
	if (has_feature(h, PD_FEAT_STAT))
		return sp_fail(SP_EFORMAT,
		               "%s: was made by \"perf stat record\" and has no samples; use \"perf record\" "
		               "or \"skidprof record\"",
		               r->in.path);
	r->data_off = h->data.off;
	r->stats.unfinished = open_end;
	r->in.limit = open_end ? r->in.size_bytes : end;
	if (r->in.limit < h->data.off)
		r->in.limit = h->data.off;
	rc = open_end ? 0 : take_features(r, h);
	r->in_folder |= has_feature(h, PD_FEAT_DIR_FORMAT);
	return rc == 0 && r->in_folder ? pd_parts_open(r) : rc;
}

int pd_header_read(struct pd_reader *r)
{
	struct file_header h = { 0 };
	size_t have;
	int rc = pd_input_fill(&r->in, PD_PIPE_HEADER_BYTES, &have);
	const uint8_t *p = r->in.buf + r->in.at;

	if (rc == 0)
		rc = take_magic(r, p, have);
	if (rc < 0)
		return rc;
	h.header_bytes = pd_u64(p + 8, r->swap);
	if (h.header_bytes == PD_PIPE_HEADER_BYTES) {
		uint64_t missing;

		r->hdr.pipe = true;
		r->data_off = PD_PIPE_HEADER_BYTES;
		return pd_input_skip(&r->in, PD_PIPE_HEADER_BYTES, &missing);
	}
	if (!r->in.seekable)
		return sp_fail(SP_ENOTSUP,
		               "%s: is a pipe, but what comes is a perf.data file, whose parts are read out "
		               "of order; give the file's name with -i",
		               r->in.path);
	rc = take_header(r, &h);
	if (rc == 0)
		rc = take_attrs(r, &h);
	if (rc == 0)
		rc = take_sections(r, &h);
	return rc < 0 ? rc : pd_input_seek(&r->in, r->data_off);
}
