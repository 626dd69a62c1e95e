/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_TESTS_PERFDATA_BYTES_H
#define SKIDPROF_TESTS_PERFDATA_BYTES_H

/*
 * perf.data files made by hand, byte by byte, of either byte order: not by
 * our writer, which would share our reader's mistakes.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bytes {
	uint8_t p[1 << 18];
	size_t n;
	bool big;      /* byte order of the file */
	size_t rec_at; /* of the record being made */
};

static inline void put(struct bytes *b, uint64_t v, size_t width)
{
	for (size_t i = 0; i < width; i++)
		b->p[b->n + i] = (uint8_t)(v >> 8 * (b->big ? width - 1 - i : i));
	b->n += width;
}

static inline void put_at(struct bytes *b, size_t at, uint64_t v, size_t width)
{
	size_t n = b->n;

	b->n = at;
	put(b, v, width);
	b->n = n;
}

static inline void u16(struct bytes *b, uint16_t v)
{
	put(b, v, 2);
}

static inline void u32(struct bytes *b, uint32_t v)
{
	put(b, v, 4);
}

static inline void u64(struct bytes *b, uint64_t v)
{
	put(b, v, 8);
}

static inline void zeros(struct bytes *b, size_t n)
{
	memset(b->p + b->n, 0, n);
	b->n += n;
}

/* A text with its NUL, padded to 8 bytes as records are. */
static inline void text8(struct bytes *b, const char *s)
{
	size_t n = strlen(s) + 1;

	memcpy(b->p + b->n, s, n);
	b->n += n;
	zeros(b, (8 - n % 8) % 8);
}

static inline void rec(struct bytes *b, uint32_t type, uint16_t misc)
{
	b->rec_at = b->n;
	u32(b, type);
	u16(b, misc);
	u16(b, 0);
}

static inline void rec_end(struct bytes *b)
{
	put_at(b, b->rec_at + 6, b->n - b->rec_at, 2);
}

/* What of an attr the tests use. */
struct attr {
	uint32_t type, bytes; /* bytes: its size on disk; 0 = 112 */
	uint64_t config, period, sample_type, read_format, branch_type, regs_user, regs_intr;
	bool sample_id_all, exclude_kernel, disabled;
	uint64_t ids[2];
	size_t n_ids;
};

/* Bit-fields fill a word from its lowest bit on a little-endian machine, from its highest on the others. */
static inline uint64_t flag(const struct bytes *b, int bit, bool on)
{
	return on ? 1ull << (b->big ? 63 - bit : bit) : 0;
}

static inline void put_attr(struct bytes *b, const struct attr *a)
{
	size_t start = b->n, bytes = a->bytes ? a->bytes : 112;

	memset(b->p + start, 0, bytes < 256 ? 256 : bytes);
	u32(b, a->type);
	u32(b, (uint32_t)bytes);
	u64(b, a->config);
	u64(b, a->period);
	u64(b, a->sample_type);
	u64(b, a->read_format);
	/* bit 0 disabled, 5 exclude_kernel, 18 sample_id_all: linux/perf_event.h */
	u64(b, flag(b, 0, a->disabled) | flag(b, 5, a->exclude_kernel) | flag(b, 18, a->sample_id_all));
	b->n = start + 72;
	u64(b, a->branch_type);
	u64(b, a->regs_user);
	b->n = start + 96;
	u64(b, a->regs_intr);
	/* A tail from the future is not zero. */
	if (bytes > 136)
		memset(b->p + start + 136, 0xee, bytes - 136);
	b->n = start + bytes;
}

/*
 * A file's header, attrs and ids; the records follow.  The data's size is put
 * in by file_end().
 */
static inline void file_begin(struct bytes *b, const struct attr *a, size_t n)
{
	size_t bytes = a[0].bytes ? a[0].bytes : 112, entry = bytes + 16, ids_at = 104 + n * entry,
	       data_at = ids_at;

	for (size_t i = 0; i < n; i++)
		data_at += 8 * a[i].n_ids;
	b->n = 0;
	/* "PERFILE2" is the machine's own word: another order shows it reversed. */
	u64(b, 0x32454c4946524550ull);
	u64(b, 104);
	u64(b, entry);
	u64(b, 104);
	u64(b, n * entry);
	u64(b, data_at);
	u64(b, 0);
	zeros(b, 16 + 32);
	for (size_t i = 0; i < n; i++) {
		put_attr(b, &a[i]);
		u64(b, ids_at);
		u64(b, 8 * a[i].n_ids);
		ids_at += 8 * a[i].n_ids;
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < a[i].n_ids; k++)
			u64(b, a[i].ids[k]);
	}
}

static inline size_t data_at(const struct bytes *b)
{
	size_t v = 0;

	for (int i = 0; i < 8; i++)
		v |= (size_t)b->p[40 + i] << 8 * (b->big ? 7 - i : i);
	return v;
}

static inline void file_end(struct bytes *b)
{
	put_at(b, 48, b->n - data_at(b), 8);
}

/* The HOSTNAME feature, behind the data: its bit, its place, its text padded to 64. */
static inline void file_hostname(struct bytes *b, const char *name)
{
	size_t table = b->n;

	put_at(b, 72, 1u << 3, 8);
	u64(b, table + 16);
	u64(b, 68);
	u32(b, 64);
	zeros(b, 64);
	memcpy(b->p + table + 20, name, strlen(name));
}

static inline void pipe_begin(struct bytes *b)
{
	b->n = 0;
	u64(b, 0x32454c4946524550ull);
	u64(b, 16);
}

/* The first n bytes as a file without a name; its path in out. */
static inline int as_file(const struct bytes *b, size_t n, char out[32])
{
	int fd = memfd_create("perfdata", 0);

	if (fd < 0 || pwrite(fd, b->p, n, 0) != (ssize_t)n)
		abort();
	snprintf(out, 32, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
