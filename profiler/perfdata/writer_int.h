/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_WRITER_INT_H
#define SKIDPROF_PERFDATA_WRITER_INT_H

/*
 * The parts of the writer: output (bytes to disk, compressed or not), emit
 * (fields into a record), the header with its features, and what is known of
 * this machine and of the files mapped.
 */
#include "profiler/base/vec.h"
#include "profiler/perfdata/features.h"
#include "profiler/perfdata/maps_int.h"
#include "profiler/perfdata/writer.h"

enum {
	PD_OUT_BYTES = 1 << 20,        /* gathered before the file is written to */
	PD_COMPRESS_BYTES = 256 << 10, /* of records that are compressed at a time */
	PD_RECORD_BYTES = 65528,       /* largest multiple of 8 a record's size can say */
	PD_ATTR_BYTES = 128,           /* perf before 6.3 refuses more */
};

/* A growing piece of bytes in native order. */
struct pd_emit {
	uint8_t *p;
	size_t n, cap;
	bool failed; /* it did not fit (or, growable, no memory) */
	bool growable;
};

void emit_bytes(struct pd_emit *e, const void *p, size_t n);
void emit_u32(struct pd_emit *e, uint32_t v);
void emit_u64(struct pd_emit *e, uint64_t v);
/* The text and zeros up to a multiple of align. */
void emit_text(struct pd_emit *e, const char *text, size_t align);
/* Begin a record; emit_end puts its size in, padded to 8 bytes. */
void emit_begin(struct pd_emit *e, uint32_t type, uint16_t misc);
void emit_end(struct pd_emit *e);

struct pd_zout; /* output.c */

struct pd_output {
	int fd;
	char *path;
	bool pipe, failed;
	uint8_t *buf; /* whole records only */
	size_t n;
	uint64_t data_off, data_bytes; /* of the file's records; bytes on disk */
	struct pd_zout *z;             /* NULL = plain */
};

int pd_output_open(struct pd_output *o, const char *path, uint32_t compress_level);
/* Bytes before the first record. */
int pd_output_head(struct pd_output *o, const void *p, size_t n);
int pd_output_record(struct pd_output *o, const void *p, size_t n);
/* The same, never compressed, but behind all that came before: readers look for marks in the open. */
int pd_output_plain(struct pd_output *o, const void *p, size_t n);
/* All to the file, then the data size into its header. */
int pd_output_flush(struct pd_output *o);
/* Bytes of records to a byte of COMPRESSED ones so far, rounded; 1 where nothing is compressed. */
uint32_t pd_output_ratio(const struct pd_output *o);
/* The features behind the records, then their bits into the header. */
int pd_output_tail(struct pd_output *o, const void *p, size_t n, const uint64_t *bits);
/* Frees what o holds in any case. */
int pd_output_close(struct pd_output *o);

struct pd_writer {
	struct pd_output out;
	struct pd_emit rec; /* the record being made */
	struct pd_writer_event *events;
	size_t n_events;
	char *cpudesc, *cpuid, *arch;
	int argc;
	char **argv;
	struct file_table files;    /* mapped executable, for their build ids */
	uint64_t first_ns, last_ns; /* of the samples */
	uint32_t compress_level;
};

/* header.c's counterpart: the file header and attrs, or in pipe mode the records that stand for them. */
int pd_writer_head(struct pd_writer *w);
/* What stands behind the data. */
int pd_writer_tail(struct pd_writer *w);

/* The GNU build id of an ELF file: its size, 0 = none. */
size_t pd_elf_build_id(const char *path, uint8_t id[PD_BUILD_ID_MAX]);

#endif
