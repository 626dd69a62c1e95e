/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/perfdata/writer_int.h"

enum { MISC_COMM_EXEC = 1 << 13, MISC_MMAP_DATA = 1 << 13, MISC_MMAP_BUILD_ID = 1 << 14 };

/* Offsets of the path in records that come ready made. */
enum { MMAP_PATH_AT = 40, MMAP2_FILE_AT = 40, MMAP2_PATH_AT = 72 };

#define READ_LOST       (1u << 4) /* PERF_FORMAT_LOST, since Linux 6.0 */
#define BRANCH_HW_INDEX (1u << 17)

#define CAN_WRITE                                                                                           \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |  \
	 PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | \
	 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

static int copy_events(struct pd_writer *w, const struct pd_writer_info *info)
{
	w->events = calloc(info->n_events + 1, sizeof(*w->events));
	if (!w->events)
		return -SP_ENOMEM;
	for (size_t i = 0; i < info->n_events; i++) {
		const struct pd_writer_event *from = &info->events[i];
		struct pd_writer_event *to = &w->events[i];
		uint64_t *ids = calloc(from->n_ids + 1, sizeof(*ids));

		*to = *from;
		to->ids = ids;
		to->name = strdup(from->name);
		w->n_events++;
		if (!ids || !to->name)
			return -SP_ENOMEM;
		if (from->n_ids)
			memcpy(ids, from->ids, from->n_ids * sizeof(*ids));
	}
	return 0;
}

static int copy_argv(struct pd_writer *w, const struct pd_writer_info *info)
{
	w->argv = calloc((size_t)info->argc + 1, sizeof(*w->argv));
	for (; w->argv && w->argc < info->argc; w->argc++) {
		w->argv[w->argc] = strdup(info->argv[w->argc]);
		if (!w->argv[w->argc])
			return -SP_ENOMEM;
	}
	return w->argv ? 0 : -SP_ENOMEM;
}

static int copy_info(struct pd_writer *w, const struct pd_writer_info *info)
{
	w->compress_level = info->compress_level;
	w->cpudesc = info->cpudesc ? strdup(info->cpudesc) : pd_machine_cpudesc();
	w->cpuid = info->cpuid ? strdup(info->cpuid) : pd_machine_cpuid();
	w->arch = info->arch ? strdup(info->arch) : pd_machine_arch();
	w->rec.p = malloc(PD_RECORD_BYTES);
	w->rec.cap = PD_RECORD_BYTES;
	if (!w->cpudesc || !w->cpuid || !w->arch || !w->rec.p || copy_events(w, info) < 0 ||
	    copy_argv(w, info) < 0)
		return sp_fail(SP_ENOMEM, "out of memory for the recording's header");
	return 0;
}

static void writer_free(struct pd_writer *w)
{
	for (size_t i = 0; i < w->n_events; i++) {
		free((char *)w->events[i].name);
		free((uint64_t *)w->events[i].ids);
	}
	for (int i = 0; i < w->argc; i++)
		free(w->argv[i]);
	free(w->argv);
	free(w->events);
	free(w->cpudesc);
	free(w->cpuid);
	free(w->arch);
	free(w->rec.p);
	file_table_fini(&w->files);
	free(w);
}

int pd_writer_open(const char *path, const struct pd_writer_info *info, struct pd_writer **out)
{
	struct pd_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return sp_fail(SP_ENOMEM, "%s: out of memory", path);
	w->out.fd = -1;
	w->first_ns = UINT64_MAX;
	rc = copy_info(w, info);
	if (rc == 0)
		rc = pd_output_open(&w->out, path, info->compress_level);
	if (rc == 0)
		rc = pd_writer_head(w);
	if (rc < 0) {
		w->out.failed = true; /* closing must not word another error */
		pd_output_close(&w->out);
		writer_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

struct task {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static uint64_t id_of(const struct pd_writer *w, int event)
{
	bool known = event >= 0 && (size_t)event < w->n_events && w->events[event].n_ids;

	return known ? w->events[event].ids[0] : 0;
}

/* The words of sample_id_all; the first event speaks for all. */
static void emit_trailer(struct pd_writer *w, struct task t)
{
	const struct perf_event_attr *a = &w->events[0].attr;
	struct pd_emit *e = &w->rec;
	uint64_t type = a->sample_type;

	if (!w->n_events || !a->sample_id_all)
		return;
	if (type & PERF_SAMPLE_TID) {
		emit_u32(e, t.pid);
		emit_u32(e, t.tid);
	}
	if (type & PERF_SAMPLE_TIME)
		emit_u64(e, t.time_ns);
	if (type & PERF_SAMPLE_ID)
		emit_u64(e, id_of(w, 0));
	if (type & PERF_SAMPLE_STREAM_ID)
		emit_u64(e, id_of(w, 0));
	if (type & PERF_SAMPLE_CPU)
		emit_u64(e, 0);
	if (type & PERF_SAMPLE_IDENTIFIER)
		emit_u64(e, id_of(w, 0));
}

static int put_record(struct pd_writer *w)
{
	emit_end(&w->rec);
	if (w->rec.failed)
		return sp_fail(SP_EDOMAIN, "%s: a record longer than %d bytes can't be written", w->out.path,
		               PD_RECORD_BYTES);
	return pd_output_record(&w->out, w->rec.p, w->rec.n);
}

static int note_file(struct pd_writer *w, const char *path, const uint8_t *id, size_t id_bytes)
{
	uint32_t file;

	if (file_intern(&w->files, path, id, id_bytes, &file) < 0)
		return sp_fail(SP_ENOMEM, "%s: out of memory for the files mapped", w->out.path);
	return 0;
}

static void emit_mmap2_file(struct pd_emit *e, const struct pd_mmap *m)
{
	if (m->build_id_bytes) {
		const uint8_t head[4] = { (uint8_t)m->build_id_bytes };

		emit_bytes(e, head, sizeof(head));
		emit_bytes(e, m->build_id, PD_BUILD_ID_MAX);
	} else {
		emit_u32(e, m->maj);
		emit_u32(e, m->min);
		emit_u64(e, m->ino);
		emit_u64(e, m->ino_generation);
	}
	emit_u32(e, m->prot);
	emit_u32(e, m->flags);
}

int pd_write_mmap(struct pd_writer *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
                  const struct pd_mmap *mmap)
{
	uint16_t misc = pid == UINT32_MAX ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	struct pd_emit *e = &w->rec;

	if (mmap->data)
		misc |= MISC_MMAP_DATA;
	else if (note_file(w, mmap->path, mmap->build_id, mmap->build_id_bytes) < 0)
		return -SP_ENOMEM;
	if (mmap->build_id_bytes)
		misc |= MISC_MMAP_BUILD_ID;
	emit_begin(e, PERF_RECORD_MMAP2, misc);
	emit_u32(e, pid);
	emit_u32(e, tid);
	emit_u64(e, mmap->ip);
	emit_u64(e, mmap->len_bytes);
	emit_u64(e, mmap->pgoff_bytes);
	emit_mmap2_file(e, mmap);
	emit_text(e, mmap->path, 8);
	emit_trailer(w, (struct task){ pid, tid, time_ns });
	return put_record(w);
}

int pd_write_comm(struct pd_writer *w, uint32_t pid, uint32_t tid, uint64_t time_ns, const char *name,
                  bool exec)
{
	emit_begin(&w->rec, PERF_RECORD_COMM, exec ? MISC_COMM_EXEC : 0);
	emit_u32(&w->rec, pid);
	emit_u32(&w->rec, tid);
	emit_text(&w->rec, name, 8);
	emit_trailer(w, (struct task){ pid, tid, time_ns });
	return put_record(w);
}

int pd_write_task(struct pd_writer *w, uint32_t type, uint32_t pid, uint32_t tid, uint32_t ppid,
                  uint32_t ptid, uint64_t time_ns)
{
	emit_begin(&w->rec, type, 0);
	emit_u32(&w->rec, pid);
	emit_u32(&w->rec, ppid);
	emit_u32(&w->rec, tid);
	emit_u32(&w->rec, ptid);
	emit_u64(&w->rec, time_ns);
	emit_trailer(w, (struct task){ pid, tid, time_ns });
	return put_record(w);
}

int pd_write_throttle(struct pd_writer *w, bool on, uint32_t pid, uint32_t tid, uint64_t id, uint64_t time_ns)
{
	emit_begin(&w->rec, on ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE, 0);
	emit_u64(&w->rec, time_ns);
	emit_u64(&w->rec, id);
	emit_u64(&w->rec, id);
	emit_trailer(w, (struct task){ pid, tid, time_ns });
	return put_record(w);
}

int pd_write_lost(struct pd_writer *w, uint64_t id, uint64_t n, uint64_t time_ns)
{
	emit_begin(&w->rec, PERF_RECORD_LOST, 0);
	emit_u64(&w->rec, id);
	emit_u64(&w->rec, n);
	emit_trailer(w, (struct task){ 0, 0, time_ns });
	return put_record(w);
}

int pd_write_read(struct pd_writer *w, uint64_t value, uint64_t enabled_ns, uint64_t running_ns,
                  uint64_t time_ns)
{
	emit_begin(&w->rec, PERF_RECORD_READ, 0);
	emit_u32(&w->rec, 0);
	emit_u32(&w->rec, 0);
	emit_u64(&w->rec, value);
	emit_u64(&w->rec, enabled_ns);
	emit_u64(&w->rec, running_ns);
	emit_trailer(w, (struct task){ 0, 0, time_ns });
	return put_record(w);
}

static void emit_value(struct pd_writer *w, const struct pd_value *v, uint64_t format)
{
	struct pd_emit *e = &w->rec;

	if (format & PERF_FORMAT_ID)
		emit_u64(e, v->id ? v->id : id_of(w, v->event));
	if (format & READ_LOST)
		emit_u64(e, v->lost);
}

static void emit_read(struct pd_writer *w, const struct pd_sample *s, uint64_t format)
{
	static const struct pd_value none = { .event = -1 };
	const struct pd_value *v = s->n_values ? s->values : &none;
	bool group = format & PERF_FORMAT_GROUP;
	struct pd_emit *e = &w->rec;

	emit_u64(e, group ? s->n_values : v->value);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		emit_u64(e, s->time_enabled_ns);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		emit_u64(e, s->time_running_ns);
	if (!group) {
		emit_value(w, v, format);
		return;
	}
	for (size_t i = 0; i < s->n_values; i++) {
		emit_u64(e, s->values[i].value);
		emit_value(w, &s->values[i], format);
	}
}

static void emit_branches(struct pd_emit *e, const struct pd_sample *s, uint64_t branch_type)
{
	emit_u64(e, s->n_branches);
	if (branch_type & BRANCH_HW_INDEX)
		emit_u64(e, UINT64_MAX); /* not known */
	for (size_t i = 0; i < s->n_branches; i++) {
		const struct pd_branch *b = &s->branches[i];
		struct perf_branch_entry entry = {
			.from = b->from_ip,
			.to = b->to_ip,
			.mispred = b->mispredicted,
			.predicted = b->predicted,
			.cycles = b->cycles,
		};

		emit_bytes(e, &entry, sizeof(entry));
	}
}

static void emit_fixed(struct pd_emit *e, const struct pd_record *rec, uint64_t type, uint64_t id)
{
	const struct pd_sample *s = &rec->sample;

	if (type & PERF_SAMPLE_IDENTIFIER)
		emit_u64(e, id);
	if (type & PERF_SAMPLE_IP)
		emit_u64(e, s->ip);
	if (type & PERF_SAMPLE_TID) {
		emit_u32(e, rec->pid);
		emit_u32(e, rec->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		emit_u64(e, rec->time_ns);
	if (type & PERF_SAMPLE_ADDR)
		emit_u64(e, s->addr);
	if (type & PERF_SAMPLE_ID)
		emit_u64(e, id);
	if (type & PERF_SAMPLE_STREAM_ID)
		emit_u64(e, s->stream_id);
	if (type & PERF_SAMPLE_CPU)
		emit_u64(e, rec->cpu);
	if (type & PERF_SAMPLE_PERIOD)
		emit_u64(e, s->period);
}

static uint16_t sample_misc(const struct pd_record *rec)
{
	if (rec->misc)
		return rec->misc;
	return rec->sample.ip >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

int pd_write_sample(struct pd_writer *w, const struct pd_record *rec)
{
	const struct pd_sample *s = &rec->sample;
	const struct perf_event_attr *a;
	uint64_t type;

	if (rec->event < 0 || (size_t)rec->event >= w->n_events)
		return sp_fail(SP_EDOMAIN, "%s: a sample of event %d, of which there are %zu", w->out.path,
		               rec->event, w->n_events);
	a = &w->events[rec->event].attr;
	type = a->sample_type;
	if (type & ~(uint64_t)CAN_WRITE)
		return sp_fail(SP_ENOTSUP, "%s: samples of type 0x%jx can't be written, only passed on",
		               w->out.path, (uintmax_t)type);
	emit_begin(&w->rec, PERF_RECORD_SAMPLE, sample_misc(rec));
	emit_fixed(&w->rec, rec, type, s->id ? s->id : id_of(w, rec->event));
	if (type & PERF_SAMPLE_READ)
		emit_read(w, s, a->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		emit_u64(&w->rec, s->n_callchain);
		emit_bytes(&w->rec, s->callchain, 8 * s->n_callchain);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		emit_branches(&w->rec, s, a->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER) {
		emit_u64(&w->rec, s->n_regs_user ? s->regs_abi : PERF_SAMPLE_REGS_ABI_NONE);
		emit_bytes(&w->rec, s->regs_user, 8 * s->n_regs_user);
	}
	if (type & PERF_SAMPLE_STACK_USER) {
		emit_u64(&w->rec, s->stack_user_bytes);
		emit_bytes(&w->rec, s->stack_user, s->stack_user_bytes);
		/* How many of them are the stack's: all.  Of none it isn't said. */
		if (s->stack_user_bytes)
			emit_u64(&w->rec, s->stack_user_bytes);
	}
	pd_writer_note_time(w, rec->time_ns);
	return put_record(w);
}

void pd_writer_note_time(struct pd_writer *w, uint64_t time_ns)
{
	if (time_ns && time_ns < w->first_ns)
		w->first_ns = time_ns;
	if (time_ns > w->last_ns)
		w->last_ns = time_ns;
}

/* Maps that pass through still need their build ids in the header. */
static int note_raw_mmap(struct pd_writer *w, const struct perf_event_header *rec)
{
	size_t at = rec->type == PERF_RECORD_MMAP2 ? MMAP2_PATH_AT : MMAP_PATH_AT;
	const char *path = (const char *)rec + at;
	const uint8_t *id = (const uint8_t *)rec + MMAP2_FILE_AT;

	if (rec->size <= at || rec->misc & MISC_MMAP_DATA || !memchr(path, 0, rec->size - at))
		return 0;
	/* The kernel's build id is that of what was mapped, whatever lies there when the recording ends. */
	if (rec->type == PERF_RECORD_MMAP2 && rec->misc & MISC_MMAP_BUILD_ID && id[0] <= PD_BUILD_ID_MAX)
		return note_file(w, path, id + 4, id[0]);
	return note_file(w, path, NULL, 0);
}

int pd_write_raw(struct pd_writer *w, const struct perf_event_header *rec)
{
	if ((rec->type == PERF_RECORD_MMAP || rec->type == PERF_RECORD_MMAP2) && note_raw_mmap(w, rec) < 0)
		return -SP_ENOMEM;
	return pd_output_record(&w->out, rec, rec->size);
}

int pd_write_round(struct pd_writer *w)
{
	struct perf_event_header h = { .type = PD_FINISHED_ROUND, .size = sizeof(h) };

	return pd_output_plain(&w->out, &h, sizeof(h));
}

int pd_writer_flush(struct pd_writer *w)
{
	return pd_output_flush(&w->out);
}

uint64_t pd_writer_bytes(const struct pd_writer *w)
{
	return w->out.data_off + w->out.data_bytes + w->out.n;
}

int pd_writer_close(struct pd_writer *w)
{
	int rc = pd_output_flush(&w->out), closed;

	if (rc == 0)
		rc = pd_writer_tail(w);
	closed = pd_output_close(&w->out);
	writer_free(w);
	return rc < 0 ? rc : closed;
}
