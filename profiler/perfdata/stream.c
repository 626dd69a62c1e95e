/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <zstd.h>
#include <zstd_errors.h>

#include "profiler/perfdata/reader_int.h"

enum {
	HEADER = sizeof(struct perf_event_header),
	DAMAGED = -1000, /* beside the -SP_E codes, within this file */
};

/*
 * perf compresses the stream of records, not record by record: one zstd
 * stream runs through all COMPRESSED records, and a record may begin in one
 * and end in the next.
 */
struct pd_zstd {
	ZSTD_DCtx *ctx;
	ZSTD_inBuffer in;   /* the payload at hand; it stays in the input window */
	size_t outer_bytes; /* of the COMPRESSED record to step over when done; 0 = none at hand */
	bool more;          /* the decoder has output it found no room for */
	size_t at, n;       /* decompressed and not yet taken: buf[at .. n) */
	uint8_t buf[PD_WINDOW_BYTES];
};

void pd_drop(struct pd_reader *r, struct pd_place at, uint64_t n)
{
	if (!n)
		return;
	pd_parts_dropped(r, at.part);
	if (!r->stats.dropped_bytes)
		r->stats.dropped_off = at.off;
	r->stats.dropped_bytes += n;
}

static struct pd_place here(const struct pd_reader *r)
{
	return (struct pd_place){ r->in.off, r->part };
}

/* All that follows is given up: count it. */
static int give_up(struct pd_reader *r, uint64_t n_before)
{
	size_t have;
	uint64_t missing;

	r->damaged = true;
	pd_drop(r, here(r), n_before);
	if (r->in.seekable) {
		r->stats.cut_off |= r->in.limit > r->in.size_bytes;
		pd_drop(r, here(r), r->in.limit - r->in.off);
		return 0;
	}
	for (;;) {
		int rc = pd_input_fill(&r->in, 1, &have);

		if (rc < 0 || !have)
			return rc;
		pd_drop(r, here(r), have);
		rc = pd_input_skip(&r->in, have, &missing);
		if (rc < 0)
			return rc;
	}
}

static void read_header(const struct pd_reader *r, const uint8_t *p, struct pd_raw *raw)
{
	raw->data = p;
	raw->type = pd_u32(p, r->swap);
	raw->misc = pd_u16(p + 4, r->swap);
	raw->size_bytes = pd_u16(p + 6, r->swap);
}

/* The next record of the file itself, still in the window: 1, 0, error. */
static int outer_next(struct pd_reader *r, struct pd_raw *raw)
{
	size_t have;
	int rc;

	if (r->damaged)
		return 0;
	rc = pd_input_fill(&r->in, PD_MAX_RECORD, &have);
	if (rc < 0)
		return rc;
	if (!have) {
		/* The header promised more than the file has. */
		if (r->in.seekable && r->in.limit > r->in.off)
			r->stats.unfinished = true;
		return give_up(r, 0);
	}
	if (have >= HEADER)
		read_header(r, r->in.buf + r->in.at, raw);
	if (have < HEADER || raw->size_bytes < HEADER || raw->size_bytes > have) {
		r->stats.unfinished |= have < HEADER || raw->size_bytes > have;
		return give_up(r, 0);
	}
	raw->place = here(r);
	return 1;
}

static int step(struct pd_reader *r, uint64_t n)
{
	uint64_t missing;
	int rc = pd_input_skip(&r->in, n, &missing);

	if (rc == 0 && missing) {
		r->stats.unfinished = true;
		r->damaged = true;
		/* Nothing was read of what is missing, and we don't know how much came. */
		pd_drop(r, here(r), missing);
	}
	return rc;
}

int pd_stream_payload(struct pd_reader *r)
{
	uint64_t n = r->aux.left;
	size_t have;
	int rc = pd_input_fill(&r->in, 1, &have);

	if (rc == 0 && have) {
		n = have < n ? have : n;
		rc = pd_aux_feed(r, r->in.buf + r->in.at, (size_t)n);
	}
	r->aux.left -= n;
	return rc < 0 ? rc : step(r, n);
}

/* Bytes of payload that follow a record and are not in its size. */
static uint64_t payload_bytes(const struct pd_reader *r, const struct pd_raw *raw)
{
	if (raw->type == PD_AUXTRACE && raw->size_bytes >= HEADER + 8)
		return pd_u64(raw->data + HEADER, r->swap);
	if (raw->type == PD_TRACING_DATA && raw->size_bytes >= HEADER + 4)
		return pd_u32(raw->data + HEADER, r->swap);
	return 0;
}

/* A record among the decompressed bytes: 1, or 0 if they don't hold a whole one, DAMAGED if they hold nonsense. */
static int inner_next(struct pd_reader *r, struct pd_raw *raw)
{
	struct pd_zstd *z = r->z;

	if (z->n - z->at < HEADER)
		return 0;
	read_header(r, z->buf + z->at, raw);
	if (raw->size_bytes < HEADER)
		return DAMAGED;
	if (raw->size_bytes > z->n - z->at)
		return 0;
	raw->place = here(r);
	z->at += raw->size_bytes;
	return 1;
}

/* Decompress more of the payload at hand: 1, 0 = it is used up, DAMAGED, or an error. */
static int inner_fill(struct pd_reader *r)
{
	struct pd_zstd *z = r->z;
	ZSTD_outBuffer out;
	size_t left;

	memmove(z->buf, z->buf + z->at, z->n - z->at);
	z->n -= z->at;
	z->at = 0;
	if (!z->outer_bytes || (z->in.pos == z->in.size && !z->more))
		return 0;
	out = (ZSTD_outBuffer){ z->buf, sizeof(z->buf), z->n };
	left = ZSTD_decompressStream(z->ctx, &out, &z->in);
	if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
		return sp_fail(SP_ENOMEM, "%s: out of memory for decompression", r->in.path);
	if (ZSTD_isError(left))
		return DAMAGED;
	z->more = out.pos == out.size;
	if (out.pos == z->n && z->in.pos == z->in.size)
		return 0;
	z->n = out.pos;
	return 1;
}

static int zstd_begin(struct pd_reader *r, const struct pd_raw *raw)
{
	uint64_t n = raw->size_bytes - HEADER;
	const uint8_t *p = raw->data + HEADER;

	if (!r->z) {
		r->z = calloc(1, sizeof(*r->z));
		if (r->z)
			r->z->ctx = ZSTD_createDCtx();
		if (!r->z || !r->z->ctx)
			return sp_fail(SP_ENOMEM, "%s: out of memory for decompression", r->in.path);
	}
	/* COMPRESSED2 is padded, and says how many bytes count. */
	if (raw->type == PD_COMPRESSED2) {
		uint64_t told = n >= 8 ? pd_u64(p, r->swap) : 0;

		n = n >= 8 ? n - 8 : 0;
		p += 8;
		if (told < n)
			n = told;
	}
	r->z->in = (ZSTD_inBuffer){ p, n, 0 };
	r->z->outer_bytes = raw->size_bytes;
	return 0;
}

/* The next record out of the COMPRESSED record at hand: 1, 0 = it is used up, DAMAGED, or -SP_ENOMEM. */
static int compressed_next(struct pd_reader *r, struct pd_raw *raw)
{
	for (;;) {
		int rc = inner_next(r, raw);

		if (rc == 0)
			rc = inner_fill(r);
		else
			return rc;
		if (rc <= 0)
			return rc;
	}
}

/* Step over the COMPRESSED record, or over all there is if it was damaged. */
static int compressed_end(struct pd_reader *r, int rc)
{
	size_t n = r->z->outer_bytes;

	r->z->outer_bytes = 0;
	if (rc == -SP_ENOMEM)
		return rc;
	return rc < 0 ? give_up(r, 0) : step(r, n);
}

int pd_stream_next(struct pd_reader *r, struct pd_raw *raw)
{
	int rc;

	for (;;) {
		if (r->z && r->z->outer_bytes) {
			rc = compressed_next(r, raw);
			if (rc > 0)
				return rc;
			rc = compressed_end(r, rc);
			if (rc < 0)
				return rc;
		}
		rc = outer_next(r, raw);
		if (rc <= 0)
			break;
		if (raw->type != PD_COMPRESSED && raw->type != PD_COMPRESSED2) {
			uint64_t payload = payload_bytes(r, raw);

			/* Stepping leaves the window's bytes alone until the next fill. */
			rc = step(r, raw->size_bytes);
			if (raw->type == PD_AUXTRACE && r->aux.spe)
				r->aux.left = payload;
			else if (rc == 0 && payload)
				rc = step(r, payload);
			return rc < 0 ? rc : 1;
		}
		rc = zstd_begin(r, raw);
		if (rc < 0)
			return rc;
	}
	if (rc == 0 && r->z) {
		pd_drop(r, here(r), r->z->n - r->z->at);
		r->z->at = r->z->n = 0;
	}
	return rc;
}

int pd_stream_rewind(struct pd_reader *r)
{
	if (!r->in.seekable)
		return sp_fail(SP_ENOTSUP, "%s: is a pipe and can be read only once; record to a file first",
		               r->in.path);
	r->damaged = false;
	r->aux.left = 0;
	if (r->z) {
		ZSTD_DCtx_reset(r->z->ctx, ZSTD_reset_session_only);
		r->z->at = r->z->n = r->z->outer_bytes = 0;
		r->z->more = false;
	}
	return pd_input_seek(&r->in, r->data_off);
}

void pd_stream_fini(struct pd_reader *r)
{
	if (r->z)
		ZSTD_freeDCtx(r->z->ctx);
	free(r->z);
}
