/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_READER_INT_H
#define SKIDPROF_PERFDATA_READER_INT_H

/*
 * The parts of the reader, from the bytes up: input (a window over a file),
 * stream (records one by one, decompressed), order (records by time), decode
 * (a record's fields), auxtrace (samples that stand as packets), events and
 * features (what the header says).
 */
#include "profiler/base/vec.h"
#include "profiler/perfdata/cursor.h"
#include "profiler/perfdata/maps_int.h"
#include "profiler/perfdata/reader.h"
#include "profiler/perfdata/spe.h"

enum {
	PD_MAX_RECORD = 65535,       /* its size is 16 bits wide */
	PD_WINDOW_BYTES = 256 << 10, /* read at once; a whole record always fits */
	/* Held back for ordering at most; past it the older half goes out, whatever the marks say. */
	PD_ORDER_BYTES = 64 << 20,
	PD_FEATURE_BYTES = 64 << 20, /* a longer feature section is nonsense */
};

/* Bytes of a file or pipe, read once from front to back. */
struct pd_input {
	int fd;
	char *path;
	bool seekable, eof;
	uint64_t size_bytes; /* of the file; UINT64_MAX where that is not known */
	uint64_t limit;      /* offset of the first byte not to read */
	uint64_t off;        /* offset of buf[at] */
	uint8_t *buf;
	size_t at, n;
};

int pd_input_open(struct pd_input *in, const char *path);
void pd_input_close(struct pd_input *in);
/* Have want bytes at buf + at; *have may be less at the end.  want <= PD_WINDOW_BYTES. */
int pd_input_fill(struct pd_input *in, size_t want, size_t *have);
/* Go on n bytes; *missing tells how many of them aren't there. */
int pd_input_skip(struct pd_input *in, uint64_t n, uint64_t *missing);
int pd_input_seek(struct pd_input *in, uint64_t off);
/* Up to n bytes at off, *have of them there; seekable inputs only. */
int pd_input_pread(const struct pd_input *in, uint64_t off, void *buf, size_t n, size_t *have);

/* Where a record stands. */
struct pd_place {
	uint64_t off;
	size_t part; /* of a folder; 0 in a single file */
};

/* A record as it stands in the file. */
struct pd_raw {
	const uint8_t *data; /* with its header; 8-byte alignment is not promised */
	uint32_t type, size_bytes;
	uint16_t misc;
	struct pd_place place;
};

struct pd_chunk;

struct pd_held {
	uint64_t time_ns;
	struct pd_chunk *chunk;
	uint8_t *rec; /* its place, then the record */
};

/* Records waiting until no older one can come. */
struct pd_order {
	VEC(struct pd_held) q; /* [head, ready) may go out, [ready, n) must wait */
	size_t head, ready;
	struct pd_held *merge; /* room for sorting */
	size_t merge_cap;
	uint64_t max_ns, flush_ns; /* newest so far; newest at the last round mark */
	bool sorted;               /* [head, n) is in order already */
	struct pd_chunk *filling, *spare, *out;
	size_t held_bytes;
};

void pd_order_fini(struct pd_order *o);
void pd_order_reset(struct pd_order *o);
int pd_order_push(struct pd_order *o, const struct pd_raw *raw, uint64_t time_ns);
/* A FINISHED_ROUND: what was there at the one before may go. */
int pd_order_round(struct pd_order *o);
/* The older half may go: the bound on memory is reached. */
int pd_order_half(struct pd_order *o);
/* All may go: the file is at its end. */
int pd_order_all(struct pd_order *o);
/* The next record that may go; it lives until the next call. */
bool pd_order_pop(struct pd_order *o, bool swap, struct pd_raw *raw);

/* Of one event, since the file's beginning: see pd_lost_samples(). */
struct pd_event_losses {
	uint64_t n_samples, n_others; /* others: what the kernel tells besides, as maps and names */
	uint64_t n_told; /* records of either kind that it lost, by what perf asked for at the end */
};

struct pd_ev {
	struct pd_event pub;
	VEC(uint64_t) ids;
	int time_pos;  /* of a sample's time, in words after the header; -1 = none */
	int trail_pos; /* of any other record's time, in words from its end; -1 = none */
	int n_trail;   /* words of the sample_id_all trailer */
	bool named;    /* by the file, not by us */
	struct pd_event_losses losses;
};

struct pd_id_slot {
	uint64_t id;
	int event; /* -1 = free */
};

struct pd_path_slot {
	char *path; /* NULL = free */
	uint8_t id[PD_BUILD_ID_MAX];
	uint8_t n;
	bool from_table; /* the header's table outranks what records say */
};

struct pd_zstd; /* stream.c */

enum { PD_AUX_SAMPLE = UINT16_MAX }; /* a type of ours: a sample that was packets, as it waits for its turn */

struct pd_aux_sample {
	uint8_t header[8]; /* in the file's order of bytes, as all that wait have it; the rest in ours */
	uint64_t time_ns, ip;
	int32_t cpu, tid; /* tid -1 = whatever ran on that CPU then */
	int32_t event;
	uint8_t el; /* exception level; 0 = user */
};

struct pd_aux_queue { /* what one CPU, or one thread, wrote */
	uint32_t idx;
	int32_t cpu, tid; /* -1 = any */
	int event;
	uint64_t timestamp; /* the last */
	struct spe_decoder spe;
};

struct pd_aux_pmu {
	int32_t cpu;
	uint64_t type;
};

struct pd_aux_cut { /* what one CPU, or thread, wrote before off has no end */
	int32_t cpu, tid;
	uint64_t off;
};

struct pd_aux_task {
	int32_t pid, tid; /* -1 = not known */
};

struct pd_aux_clock { /* from the processor's timer to perf's time */
	bool known, narrow;
	uint64_t shift, mult, zero, cycles, mask;
};

struct pd_aux {
	bool spe; /* there is such a thing in the file, and it is Arm's SPE */
	uint64_t pmu_type;
	VEC(struct pd_aux_pmu) pmus; /* of single CPUs */
	struct pd_aux_clock clock;
	VEC(struct pd_aux_queue) queues;
	VEC(struct pd_aux_cut) cuts;
	uint64_t left; /* bytes of the AUXTRACE at hand still to be read ... */
	int at;        /* ... for that queue, -1 = none */
	VEC(struct pd_aux_task) on_cpu;
	struct u32_table pid_of; /* by tid */
};

struct pd_part { /* one of several files that are a recording together: what is the reader's while another is at hand */
	struct pd_input in;
	struct pd_zstd *z;
	bool damaged;
	uint64_t data_off;
	bool ended;
	uint64_t last_ns; /* the newest record so far */
	bool dropped;     /* some of it was not read */
};

struct pd_reader {
	struct pd_input in;
	VEC(struct pd_part) parts; /* none: a single file; else in is of parts[part] */
	size_t part;
	bool in_folder;
	uint64_t folder_version; /* 0: all records stand in the file with the header */
	struct pd_header hdr;
	struct pd_stats stats;
	bool swap, big_endian;         /* of the file, seen from here; of the file itself */
	bool drained, damaged;         /* all read; the rest can't be read */
	uint64_t data_off;             /* where records start */
	uint64_t record_no, meta_done; /* so that a second pass takes no attr twice */
	uint64_t n_leading; /* records before the first of the kernel's; UINT64_MAX: still among them */

	VEC(struct pd_ev *) events;
	struct pd_id_slot *ids;
	size_t ids_cap, n_ids;
	int id_pos, id_trail_pos; /* where the id stands, as time_pos and trail_pos */
	bool same_type;           /* all events have one sample_type */
	bool groups_told;         /* by GROUP_DESC */

	struct pd_path_slot *paths;
	size_t paths_cap, n_paths;

	struct pd_zstd *z;
	struct pd_order order;
	struct pd_aux aux;

	VEC(struct pd_value) values;
	VEC(struct pd_branch) branches;
	VEC(uint64_t) chain, regs;
};

static inline struct pd_cursor pd_cursor_at(const struct pd_reader *r, const uint8_t *p, size_t n)
{
	return (struct pd_cursor){ p, p + n, r->swap, false };
}

/* parts.c: a folder that perf made. */
/* Open the file, or that of a folder which has the header. */
int pd_parts_begin(struct pd_reader *r, const char *path);
/* Files beside the one that has the header; they are in a folder or its header says so. */
int pd_parts_open(struct pd_reader *r);
/* Which to read on from. */
void pd_parts_choose(struct pd_reader *r);
/* A record of that time was read from the one at hand. */
void pd_parts_note(struct pd_reader *r, uint64_t time_ns);
/* Some of that one was not read. */
void pd_parts_dropped(struct pd_reader *r, size_t part);
/* The one at hand, or the only one, is at its end: were all? */
bool pd_parts_end(struct pd_reader *r);
int pd_parts_rewind(struct pd_reader *r);
void pd_parts_fini(struct pd_reader *r);

/* header.c: the file's header, attrs and feature table. */
int pd_header_read(struct pd_reader *r);

/* stream.c: 1, 0 at the end or at damage, or an error. */
int pd_stream_next(struct pd_reader *r, struct pd_raw *raw);
int pd_stream_rewind(struct pd_reader *r);
/* Some of the bytes behind an AUXTRACE, to pd_aux_feed(). */
int pd_stream_payload(struct pd_reader *r);

/* n bytes from there on are not to be had: count them. */
void pd_drop(struct pd_reader *r, struct pd_place at, uint64_t n);
void pd_stream_fini(struct pd_reader *r);

/* attr.c */
void pd_attr_decode(struct perf_event_attr *attr, const uint8_t *p, size_t n, bool swap);
/* What perf would call the event; NULL = no memory. */
char *pd_attr_name(const struct perf_event_attr *attr);

/* events.c */
int pd_events_add(struct pd_reader *r, const struct perf_event_attr *attr, const uint8_t *ids, size_t n_ids);
int pd_events_find(const struct pd_reader *r, uint64_t id); /* index, -1 = no such id */
int pd_events_rename(struct pd_reader *r, size_t event, const char *name, size_t n);
int pd_events_desc(struct pd_reader *r, struct pd_cursor c);        /* EVENT_DESC */
void pd_events_group_desc(struct pd_reader *r, struct pd_cursor c); /* GROUP_DESC */
void pd_events_guess_groups(struct pd_reader *r);
void pd_events_fini(struct pd_reader *r);

/* feature.c */
int pd_feature(struct pd_reader *r, unsigned feature, struct pd_cursor c);
int pd_build_id_add(struct pd_reader *r, const char *path, const uint8_t *id, size_t n, bool from_table);
int pd_build_id_record(struct pd_reader *r, struct pd_cursor c, uint16_t misc);
void pd_feature_fini(struct pd_reader *r);

/* decode.c: false = the record's fields do not fit into it. */
uint64_t pd_decode_time(const struct pd_reader *r, const struct pd_raw *raw);
bool pd_decode(struct pd_reader *r, const struct pd_raw *raw, struct pd_record *rec);
/* sample.c: c stands behind the header. */
bool pd_decode_sample(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev,
                      struct pd_record *rec);
/* sample.c: the counter values of a READ, in the event's read_format. */
bool pd_decode_read(struct pd_reader *r, struct pd_cursor *c, const struct pd_ev *ev, struct pd_record *rec);

/* auxtrace.c; c stands behind the header. */
int pd_aux_info(struct pd_reader *r, struct pd_cursor c);       /* AUXTRACE_INFO */
void pd_aux_time_conv(struct pd_reader *r, struct pd_cursor c); /* TIME_CONV */
int pd_aux_begin(struct pd_reader *r, struct pd_cursor c);      /* AUXTRACE; its bytes follow */
int pd_aux_feed(struct pd_reader *r, const uint8_t *p, size_t n);

/* auxtrace_task.c.  A record AUX, as it comes in the file: what is lost. */
int pd_aux_lost(struct pd_reader *r, const struct pd_raw *raw);
/* Any other, by time: who runs where. */
int pd_aux_follow(struct pd_reader *r, const struct pd_raw *raw, const struct pd_record *rec);
/* A sample that has waited. */
void pd_aux_decode(const struct pd_reader *r, const struct pd_raw *raw, struct pd_record *rec);
void pd_aux_reset(struct pd_reader *r);
void pd_aux_fini(struct pd_reader *r);

#endif
