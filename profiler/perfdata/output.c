/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "profiler/base/path.h"
#include "profiler/perfdata/writer_int.h"

enum {
	SIZE_AT = 48, /* of the data's size in the header */
	BITS_AT = PD_HEADER_BYTES - PD_N_FEATURES / 8,
	HEADER = sizeof(struct perf_event_header),
};

struct pd_zout {
	ZSTD_CCtx *ctx;
	uint64_t raw_bytes, packed_bytes; /* so far */
	size_t n;
	uint8_t raw[PD_COMPRESS_BYTES]; /* records waiting to be compressed */
};

/* As perf does: the recording before this one is kept under another name. */
static int keep_old(const char *path)
{
	char old[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	if (snprintf(old, sizeof(old), "%s.old", path) >= (int)sizeof(old))
		return sp_fail(SP_EIO, "%s: the name is too long; choose a shorter one with -o", path);
	if (rename(path, old) < 0)
		return sp_fail_errno("%s: can't be kept as %s; move it away or choose another name with -o",
		                     path, old);
	return 0;
}

static int not_regular(const char *path)
{
	return sp_fail(SP_EIO,
	               "%s: is no regular file; choose another name with -o, or - for standard output", path);
}

int pd_writer_check(const char *path)
{
	struct stat st;
	int err = path_check_output(path, "-o");

	if (err < 0 || !path || strcmp(path, "-") == 0 || stat(path, &st) < 0)
		return err;
	return S_ISREG(st.st_mode) ? 0 : not_regular(path);
}

static int open_fd(struct pd_output *o, const char *path)
{
	struct stat st;
	int rc;

	if (!strcmp(path, "-")) {
		o->pipe = true;
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		rc = keep_old(path);
		if (rc < 0)
			return rc;
		o->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	}
	if (o->fd < 0)
		return sp_fail_errno("%s: can't be created; choose a place you may write to with -o", path);
	if (!o->pipe && (fstat(o->fd, &st) < 0 || !S_ISREG(st.st_mode)))
		return not_regular(path);
	return 0;
}

static int open_zstd(struct pd_output *o, uint32_t level)
{
	if (!level)
		return 0;
	o->z = calloc(1, sizeof(*o->z));
	if (o->z)
		o->z->ctx = ZSTD_createCCtx();
	if (!o->z || !o->z->ctx)
		return sp_fail(SP_ENOMEM, "%s: out of memory for compression", o->path);
	ZSTD_CCtx_setParameter(o->z->ctx, ZSTD_c_compressionLevel, (int)level);
	return 0;
}

int pd_output_open(struct pd_output *o, const char *path, uint32_t compress_level)
{
	int rc;

	o->path = strdup(strcmp(path, "-") ? path : "standard output");
	o->buf = malloc(PD_OUT_BYTES);
	if (!o->path || !o->buf)
		return sp_fail(SP_ENOMEM, "%s: out of memory", path);
	rc = open_fd(o, path);
	return rc < 0 ? rc : open_zstd(o, compress_level);
}

/* Returns how many bytes were written: fewer than n with errno set. */
static size_t write_all(const struct pd_output *o, const uint8_t *p, size_t n, uint64_t off)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = o->pipe ? write(o->fd, p + done, n - done)
		                      : pwrite(o->fd, p + done, n - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = ENOSPC;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int write_failed(struct pd_output *o)
{
	int saved = errno;

	o->failed = true;
	errno = saved;
	if (!o->data_bytes)
		return sp_fail_errno(
		        "%s: nothing could be written; make room or choose another place with -o", o->path);
	return sp_fail_errno(
	        "%s: writing stopped at %ju bytes (what was written can be read); make room or choose "
	        "another place with -o",
	        o->path, (uintmax_t)(o->data_off + o->data_bytes));
}

static int again(const struct pd_output *o)
{
	return sp_fail(SP_EIO, "%s: writing stopped earlier, at %ju bytes", o->path,
	               (uintmax_t)(o->data_off + o->data_bytes));
}

int pd_output_head(struct pd_output *o, const void *p, size_t n)
{
	if (write_all(o, p, n, 0) < n)
		return write_failed(o);
	o->data_off = n;
	return 0;
}

/* The bytes of p[0 .. n) that are whole records. */
static size_t whole_records(const uint8_t *p, size_t n)
{
	size_t at = 0;

	while (n - at >= HEADER) {
		uint16_t size;

		memcpy(&size, p + at + offsetof(struct perf_event_header, size), sizeof(size));
		if (size > n - at)
			break;
		at += size;
	}
	return at;
}

static int put_size(const struct pd_output *o)
{
	uint64_t v = o->data_bytes;

	return o->pipe || pwrite(o->fd, &v, sizeof(v), SIZE_AT) == (ssize_t)sizeof(v) ? 0 : -SP_EIO;
}

/* The size follows the records, never the other way round: a reader finds all it is promised. */
static int write_out(struct pd_output *o)
{
	size_t done = write_all(o, o->buf, o->n, o->data_off + o->data_bytes);
	int saved = errno, rc = 0;

	o->data_bytes += done < o->n ? whole_records(o->buf, done) : done;
	if (put_size(o) < 0)
		rc = -SP_EIO;
	else
		errno = saved;
	if (done < o->n || rc < 0)
		return write_failed(o);
	o->n = 0;
	return 0;
}

static int append(struct pd_output *o, const void *p, size_t n)
{
	int rc = 0;

	if (o->failed)
		return again(o);
	if (PD_OUT_BYTES - o->n < n)
		rc = write_out(o);
	if (rc < 0)
		return rc;
	memcpy(o->buf + o->n, p, n);
	o->n += n;
	return 0;
}

/*
 * What waits becomes COMPRESSED records of one zstd stream.  It is flushed,
 * not ended: perf decompresses record by record and expects the stream to go on.
 */
static int compress_waiting(struct pd_output *o)
{
	uint8_t rec[PD_RECORD_BYTES];
	ZSTD_inBuffer in = { o->z->raw, o->z->n, 0 };
	size_t left;

	o->z->n = 0;
	o->z->raw_bytes += in.size;
	if (!in.size)
		return 0;
	do {
		ZSTD_outBuffer out = { rec + HEADER, sizeof(rec) - HEADER, 0 };
		struct perf_event_header h = { .type = PD_COMPRESSED };
		int rc;

		left = ZSTD_compressStream2(o->z->ctx, &out, &in, ZSTD_e_flush);
		if (ZSTD_isError(left))
			return sp_fail(SP_EIO, "%s: compression failed: %s", o->path,
			               ZSTD_getErrorName(left));
		h.size = (uint16_t)(HEADER + out.pos);
		o->z->packed_bytes += h.size;
		memcpy(rec, &h, sizeof(h));
		rc = out.pos ? append(o, rec, h.size) : 0;
		if (rc < 0)
			return rc;
	} while (left);
	return 0;
}

int pd_output_record(struct pd_output *o, const void *p, size_t n)
{
	int rc = 0;

	if (!o->z)
		return append(o, p, n);
	if (o->failed)
		return again(o);
	if (sizeof(o->z->raw) - o->z->n < n)
		rc = compress_waiting(o);
	memcpy(o->z->raw + o->z->n, p, n);
	o->z->n += n;
	return rc;
}

int pd_output_plain(struct pd_output *o, const void *p, size_t n)
{
	int rc = o->z ? compress_waiting(o) : 0;

	return rc < 0 ? rc : append(o, p, n);
}

int pd_output_flush(struct pd_output *o)
{
	int rc = 0;

	if (o->failed)
		return again(o);
	if (o->z)
		rc = compress_waiting(o);
	return rc < 0 ? rc : write_out(o);
}

uint32_t pd_output_ratio(const struct pd_output *o)
{
	if (!o->z || !o->z->packed_bytes)
		return 1;
	return (uint32_t)((o->z->raw_bytes + o->z->packed_bytes / 2) / o->z->packed_bytes);
}

int pd_output_tail(struct pd_output *o, const void *p, size_t n, const uint64_t *bits)
{
	uint64_t end = o->data_off + o->data_bytes;
	int rc;

	if (write_all(o, p, n, end) == n &&
	    pwrite(o->fd, bits, PD_N_FEATURES / 8, BITS_AT) == PD_N_FEATURES / 8)
		return 0;
	rc = write_failed(o);
	/* Half a table of features would be taken for records; if that fails too, there is no more to do. */
	(void)!ftruncate(o->fd, (off_t)end);
	return rc;
}

int pd_output_close(struct pd_output *o)
{
	int rc = 0;

	if (o->z)
		ZSTD_freeCCtx(o->z->ctx);
	free(o->z);
	/* Some file systems tell only now that there was no room. */
	if (o->fd >= 0 && close(o->fd) < 0 && !o->failed)
		rc = sp_fail_errno("%s: can't be closed", o->path);
	free(o->buf);
	free(o->path);
	return rc;
}
