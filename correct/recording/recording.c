/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "correct/model/effort.h"
#include "correct/recording/chosen.h"
#include "correct/recording/entry.h"
#include "correct/recording/made.h"
#include "profiler/base/begins.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/mem.h"
#include "profiler/binary/jitdump.h"

/* Modules of files that are not open yet; other values are indices. */
enum { FILE_UNUSABLE = -1, FILE_NEW = -2 };

/* A pipe can't be gone through twice: a file takes its place. */
static int spool_stdin(void)
{
	FILE *f = tmpfile();
	char buf[1 << 16];
	ssize_t n;
	int err = 0;

	if (!f)
		return sp_fail_errno("temporary file for standard input (see TMPDIR)");
	while ((n = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		if (fwrite(buf, 1, (size_t)n, f) != (size_t)n)
			break;
	if (n != 0 || fflush(f) != 0 || dup2(fileno(f), STDIN_FILENO) < 0)
		err = sp_fail_errno("standard input: could not be spooled to a temporary file");
	fclose(f);
	return err;
}

int recording_open(const struct correct_opts *opts, struct recording **out)
{
	struct recording *r = mem_calloc(1, sizeof(*r));
	struct stat st;
	int err;

	r->module_opts = opts->modules;
	r->nowhere[0] = r->nowhere[1] = -1;
	err = strcmp(opts->input, "-") == 0 ? spool_stdin() : 0;
	if (err == 0)
		err = pd_open(opts->input, &r->reader);
	if (err == 0 && strcmp(opts->input, "-") != 0 && stat(opts->input, &st) == 0)
		r->module_opts.recorded = st.st_mtim;
	if (err < 0)
		goto out;
	r->module_opts.os_release = pd_header(r->reader)->os_release;
	r->wanted = opts->event;
	chosen_set(r);
	chosen_learn(r);
	if (filter_is_set(&opts->filter))
		err = filter_new(&opts->filter, r->reader, &r->filter);
	if (err < 0)
		goto out;
	*out = r;
	return 0;
out:
	recording_close(r);
	return err;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_modules; i++)
		module_free(r->modules[i]);
	free(r->modules);
	free(r->files);
	made_free(r->made);
	pairs_fini(&r->made_paths);
	vec_fini(&r->made_modules);
	free(r->events);
	free(r->scale);
	rests_free(r->rests);
	vec_fini(&r->values);
	vec_fini(&r->told);
	pairs_fini(&r->told_by);
	filter_free(r->filter);
	timed_paths_fini(&r->paths);
	vec_fini(&r->core_hz);
	free(r->kernel_symbol);
	insn_decoder_free(r->decoder);
	maps_free(r->maps);
	pd_close(r->reader);
	free(r);
}

static int open_module(struct recording *r, const char *path, const uint8_t *id, size_t id_bytes,
                       int32_t *out)
{
	struct module **grown, *m = NULL;
	int err = module_open(path, id, id_bytes, &r->module_opts, &m);

	if (err < 0)
		return err;
	grown = mem_realloc(r->modules, (r->n_modules + 1) * sizeof(struct module *));
	r->modules = grown;
	r->modules[r->n_modules] = m;
	*out = (int32_t)r->n_modules++;
	return 0;
}

/* Open the module behind a mapped file, once. */
static int open_file(struct recording *r, uint32_t file)
{
	const struct maps_file *f = maps_file(r->maps, file);
	const uint8_t *id = f->build_id;
	size_t id_bytes = f->build_id_bytes;

	if (!id_bytes)
		id_bytes = pd_build_id(r->reader, f->path, &id);
	/* As earlier versions of the recorder called it. */
	if (!id_bytes && strcmp(f->path, "[kernel.kallsyms]") == 0)
		id_bytes = pd_build_id(r->reader, "[kernel.kallsyms]_text", &id);
	return open_module(r, f->path, id, id_bytes, &r->files[file].module);
}

static bool may_be_made(const char *path)
{
	return module_is_memory(path) || strncmp(path, "[anon", 5) == 0 || strcmp(path, "[heap]") == 0 ||
	       strncmp(path, "[stack", 6) == 0 || jitdump_is_name(path);
}

static struct recording_file *file_of(struct recording *r, uint32_t file)
{
	size_t n = maps_n_files(r->maps);
	struct recording_file *grown;

	if (file < r->n_files)
		return &r->files[file];
	grown = mem_realloc(r->files, n * sizeof(*grown));
	r->files = grown;
	for (; r->n_files < n; r->n_files++)
		grown[r->n_files] = (struct recording_file){
			FILE_NEW, may_be_made(maps_file(r->maps, (uint32_t)r->n_files)->path)
		};
	return &grown[file];
}

static int32_t module_of(struct recording *r, uint32_t file)
{
	struct recording_file *f = &r->files[file];

	if (f->module == FILE_NEW && open_file(r, file) < 0)
		f->module = FILE_UNUSABLE;
	return f->module;
}

/* Files of code that programs made are looked for on this machine only where it recorded. */
static void open_made(struct recording *r)
{
	const struct perf_event_attr *attr = pd_n_events(r->reader) ? &pd_event(r->reader, 0)->attr : NULL;
	const char *host = pd_header(r->reader)->hostname;
	struct utsname here;

	if (r->made)
		return;
	made_new(r->module_opts.symfs,
	         !host || !*host || (uname(&here) == 0 && strcmp(here.nodename, host) == 0),
	         attr && attr->use_clockid && attr->clockid == CLOCK_MONOTONIC, &r->made);
}

/* The module of code at ip that no file was mapped for, -1 = none has it. */
static int32_t made_module(struct recording *r, uint32_t pid, uint64_t ip)
{
	const char *path;
	size_t i;

	open_made(r);
	path = made_find(r->made, pid, ip, r->now_ns);
	if (!path)
		return -1;
	i = pairs_must(&r->made_paths, (uint64_t)(uintptr_t)path, 0);
	if (i == r->made_modules.n) {
		int32_t module = -1;

		if (open_module(r, path, NULL, 0, &module) < 0)
			return -1;
		vec_add(&r->made_modules, module);
	}
	return r->made_modules.v[i];
}

struct place recording_place(const struct recording *r, uint32_t pid, uint64_t ip)
{
	/* Opening a module on first sight is caching: nothing else of r changes. */
	struct recording *cache = (struct recording *)r;
	struct place place = { .module = -1, .vaddr = ip };
	const struct recording_file *file;
	struct maps_place at;

	if (!maps_find(r->maps, pid, ip, &at))
		return place;
	file = file_of(cache, at.file);
	if (file->may_be_made)
		place.module = made_module(cache, pid, ip);
	if (place.module >= 0)
		return place;
	place.module = module_of(cache, at.file);
	place.vaddr = at.off;
	if (place.module >= 0 && module_state(r->modules[place.module]) == MODULE_OK &&
	    !module_vaddr(r->modules[place.module], at.off, &place.vaddr))
		place.module = -1;
	return place;
}

/* Where a sample is.  What no mapping in the file holds has taken its time, too: it is in a module that no file is behind. */
static struct place sample_place(struct recording *r, const struct pd_record *rec)
{
	struct place place = { .module = -1, .vaddr = rec->sample.ip };
	int32_t *module = &r->nowhere[pd_is_guests(rec)];

	if (!pd_is_guests(rec))
		place = recording_place(r, rec->pid, rec->sample.ip);
	if (place.module >= 0)
		return place;
	r->n_unmapped++;
	if (*module < 0 && open_module(r, pd_is_guests(rec) ? "[guest]" : "[unmapped]", NULL, 0, module) < 0)
		*module = -1;
	return (struct place){ *module, rec->sample.ip };
}

double recording_weight(const struct recording *r, const struct pd_record *rec)
{
	const struct pd_event *e;

	double scale = (size_t)rec->event < r->n_scale ? r->scale[rec->event] : 1;

	if (rec->sample.period)
		return scale * (double)rec->sample.period;
	e = pd_event(r->reader, (size_t)rec->event);
	return scale * (e->attr.freq ? 1 : (double)e->attr.sample_period);
}

/* Of branches that are no path, no one who follows paths must know. */
static void set_apart(struct recording *r, struct pd_record *rec)
{
	struct pd_sample *s = &rec->sample;
	enum pd_branches kind;

	kind = pd_branches_of(&pd_event(r->reader, (size_t)rec->event)->attr);
	r->n_apart = r->n_calls = 0;
	if (!s->n_branches || kind == PD_BRANCHES_ALL)
		return;
	r->apart = s->branches;
	r->n_apart = s->n_branches;
	r->n_calls = kind == PD_BRANCHES_CALLERS ? s->n_branches : 0;
	s->branches = NULL;
	s->n_branches = 0;
}

/* Events that count the same become one. */
static void unite_events(struct recording *r, struct pd_record *rec)
{
	chosen_learn(r);
	set_apart(r, rec);
	r->as_recorded = rec->event;
	r->group = r->events[rec->event].group;
	rec->event = r->events[rec->event].same;
	if (!r->group)
		return;
	r->values.n = 0;
	vec_room(&r->values, rec->sample.n_values);
	for (size_t i = 0; i < rec->sample.n_values; i++) {
		struct pd_value v = rec->sample.values[i];

		v.event = v.event < 0 ? v.event : r->events[v.event].same;
		r->values.v[r->values.n++] = v;
	}
	rec->sample.values = r->values.v;
}

/* Is the sample one of the part that is looked at?  *kept says; its values are then those of the part. */
static void take_part(struct recording *r, struct pd_record *rec, bool *kept)
{
	*kept = true;
	if (!r->filter)
		return;
	vec_room(&r->values, rec->sample.n_values);
	/* The values may be there already. */
	filter_take(r->filter, r, rec, r->values.v, kept);
}

/* Nothing is to be seen of what was asked for. */
static int check_part(const struct recording *r)
{
	double length;

	if (!r->filter || filter_n_kept(r->filter))
		return 0;
	length = filter_ended_before(r->filter);
	if (length > 0)
		return sp_fail(
		        SP_ENOENT,
		        "--time: the recording ends %.3g s after its first sample, before that window; "
		        "90%%..100%% is the last tenth of it",
		        length);
	return sp_fail(SP_ENOENT,
	               "no sample is of that part of the recording (--comm, --pid, --tid, --time); "
	               "'skidprof report --threads' lists what there is");
}

bool sample_value(const struct pd_sample *s, int event, uint64_t *value)
{
	for (size_t i = 0; i < s->n_values; i++)
		if (event >= 0 && s->values[i].event == event) {
			*value = s->values[i].value;
			return true;
		}
	return false;
}

static uint64_t counters_of(const struct pd_record *rec)
{
	return rec->sample.n_values ? rec->sample.values[0].id : 0;
}

/* What samples of its event and counters stood for before it, in periods or in instructions. */
static uint64_t *told_before(struct recording *r, const struct pd_record *rec)
{
	uint64_t tid = r->insn_counted || recording_is_of_tasks(r) ? rec->tid : 0;

	return pairs_in(&r->told_by, &r->told, (uint64_t)r->as_recorded << 32 | tid, counters_of(rec));
}

/* How far a counter has come since its last sample.  A value that goes back has begun anew. */
static uint64_t counted_since(uint64_t value, uint64_t *last)
{
	uint64_t n = value >= *last ? value - *last : value;

	*last = value;
	return n;
}

/* Counters run over again while an interrupt is on its way: its sample stands for all of that, and not for samples that are lost. */
static void take_periods(struct recording *r, struct pd_record *rec)
{
	const struct perf_event_attr *attr = &pd_event(r->reader, (size_t)r->as_recorded)->attr;
	uint64_t n, *told;

	if (!attr->sample_period || !sample_value(&rec->sample, rec->event, &n))
		return;
	if (!attr->freq && (r->insn_counted || pd_stats(r->reader)->n_lost))
		return;
	told = told_before(r, rec);
	/* The period that a frequency has come to is a guess at what comes, and its sample has what came. */
	if (attr->freq) {
		rec->sample.period = counted_since(n, told);
		return;
	}
	n /= attr->sample_period;
	/* The file begins, or they began anew. */
	if (n <= *told || !*told)
		*told = n ? n - 1 : 0;
	rec->sample.period = (n - *told) * attr->sample_period;
	*told = n;
}

/* The instructions since the last sample of the same counters, as a sample of their own. */
static void show_counted(struct recording *r, const struct pd_record *cycles, struct place place,
                         recording_fn *fn, void *arg)
{
	struct pd_record rec = *cycles;
	uint64_t value;

	if (!r->insn_counted || cycles->event != r->cyc_event ||
	    !sample_value(&cycles->sample, r->insn_event, &value))
		return;
	rec.event = r->as_recorded = r->insn_event;
	rec.sample.period = counted_since(value, told_before(r, cycles));
	/* What stands beside it was shown with the cycles. */
	rec.sample.n_values = rec.sample.n_branches = r->n_apart = 0;
	if (rec.sample.period)
		fn(arg, r, &rec, place);
}

/* Where the kernel was: the map that recorders write names the symbol that its offset is the address of. */
static void learn_kernel(struct recording *r, const struct pd_record *rec)
{
	static const char path[] = "[kernel.kallsyms]";
	size_t n = sizeof(path) - 1;

	if ((rec->type != PERF_RECORD_MMAP && rec->type != PERF_RECORD_MMAP2) || r->kernel_symbol ||
	    rec->pid != UINT32_MAX || strncmp(rec->mmap.path, path, n) != 0 || !rec->mmap.path[n])
		return;
	r->kernel_symbol = mem_strdup(rec->mmap.path + n);
	r->module_opts.kernel_symbol = r->kernel_symbol;
	r->module_opts.kernel_text = rec->mmap.pgoff_bytes;
}

static int restart(struct recording *r)
{
	int err;

	if (r->maps) {
		err = pd_rewind(r->reader);
		if (err < 0)
			return err;
	}
	/* Files keep their numbers: the same records in the same order make the same maps. */
	maps_free(r->maps);
	r->maps = NULL;
	r->n_unmapped = r->n_entries = r->n_entries_lost = 0;
	r->lost_insn = 0;
	if (r->filter)
		filter_restart(r->filter);
	if (r->told.n)
		memset(r->told.v, 0, r->told.n * sizeof(*r->told.v));
	return maps_new(&r->maps);
}

static void set_now(struct recording *r, uint64_t time_ns)
{
	uint64_t n = r->made ? made_changes(r->made, time_ns) : 0;

	r->now_ns = time_ns;
	r->maps_changes += n != r->made_changes;
	r->made_changes = n;
}

static void note_map(struct recording *r, const struct pd_record *rec)
{
	if (jitdump_is_name(rec->mmap.path))
		open_made(r);
	if (r->made)
		made_map(r->made, rec->pid, rec->mmap.path);
}

/* What the user's code was counted for is shown there, as the kernel itself shows a system call's caller. */
static bool show_in_user_code(struct recording *r, struct pd_record *rec)
{
	const uint64_t ip = entry_user_ip(r, rec);

	if (!ip) {
		r->n_entries_lost++;
		r->lost_insn += rec->event == r->insn_event ? recording_weight(r, rec) : 0;
		return false;
	}
	r->n_entries++;
	rec->sample.ip = ip;
	rec->misc = (uint16_t)((rec->misc & ~PERF_RECORD_MISC_CPUMODE_MASK) | PERF_RECORD_MISC_USER);
	return true;
}

static void show_other(struct recording *r, const struct pd_record *rec, recording_note_fn *note, void *arg)
{
	int event = rec->event >= 0 && (size_t)rec->event < r->n_events ? r->events[rec->event].same : -1;
	struct pd_record part = *rec;

	r->noted_ns = rec->time_ns;
	if (note && (!r->filter || filter_note(r->filter, r, &part)))
		note(arg, event, &part);
}

int recording_each_noting(struct recording *r, const char *what, recording_fn *fn, recording_note_fn *note,
                          void *arg)
{
	struct pd_record rec;
	uint64_t n = 0;
	int err = restart(r), got = 0;

	if (err < 0)
		return err;
	while (err >= 0 && (got = pd_next(r->reader, &rec)) > 0) {
		struct place place;
		bool kept = true;

		if (rec.type != PERF_RECORD_SAMPLE) {
			r->maps_changes++;
			learn_kernel(r, &rec);
			err = maps_apply(r->maps, &rec);
			if (err == 0 && (rec.type == PERF_RECORD_MMAP || rec.type == PERF_RECORD_MMAP2))
				note_map(r, &rec);
			if (err == 0)
				show_other(r, &rec, note, arg);
			continue;
		}
		/* In pipe mode the events come with the records. */
		if (n == 0) {
			chosen_set(r);
			err = chosen_check(r);
			if (err < 0)
				break;
		}
		if ((++n & 0xfff) == 0)
			sp_progress(what, n, 0);
		if (rec.event >= 0 && rec.event == r->path_event && !r->wanted) {
			if (!r->paths_known) {
				place = recording_place(r, rec.pid, rec.sample.ip);
				timed_paths_add(&r->paths, &rec.sample, place.module, place.vaddr);
			}
			continue;
		}
		if (rec.event < 0)
			continue;
		set_now(r, rec.time_ns);
		unite_events(r, &rec);
		/* A burst's address is the core's frequency, measured just after it. */
		if (rec.event == r->burst_event && rec.sample.addr && !r->paths_known &&
		    r->core_hz.n < EFFORT_SKIDS)
			vec_add(&r->core_hz, (double)rec.sample.addr);
		take_periods(r, &rec);
		take_part(r, &rec, &kept);
		if (!kept && note && filter_is_at_other_time(r->filter, r, &rec))
			note(arg, rec.event, &rec);
		if (!kept)
			continue;
		r->at_entry = entry_is(r, &rec) && show_in_user_code(r, &rec);
		place = sample_place(r, &rec);
		fn(arg, r, &rec, place);
		show_counted(r, &rec, place, fn, arg);
	}
	sp_progress_end();
	r->paths_known = err >= 0;
	if (err >= 0 && got == 0)
		err = n ? check_part(r) : chosen_check(r);
	return err < 0 ? err : got;
}

int recording_each(struct recording *r, const char *what, recording_fn *fn, void *arg)
{
	return recording_each_noting(r, what, fn, NULL, arg);
}

bool recording_is_of_tasks(const struct recording *r)
{
	for (size_t i = 0; i < pd_n_events(r->reader); i++) {
		const struct perf_event_attr *attr = &pd_event(r->reader, i)->attr;

		if (attr->inherit || attr->enable_on_exec)
			return true;
	}
	return false;
}

size_t recording_counters(const struct recording *r, const struct pd_record *rec, struct pairs *known)
{
	return pairs_must(known, (uint64_t)r->group << 32 | rec->tid, counters_of(rec));
}

static enum insn_isa isa_of(const struct recording *r)
{
	const char *arch = pd_header(r->reader)->arch;

	if (arch && (strcmp(arch, "aarch64") == 0 || strcmp(arch, "arm64") == 0))
		return ISA_AARCH64;
	return !arch || strcmp(arch, "x86_64") == 0 ? ISA_X86_64 : ISA_NONE;
}

struct unwind_sample recording_stack(const struct recording *r, const struct pd_record *rec)
{
	const struct pd_sample *s = &rec->sample;

	return (struct unwind_sample){ .isa = isa_of(r),
		                       .pid = rec->pid,
		                       .mask = s->regs_mask,
		                       .regs = s->regs_user,
		                       .n_regs = s->regs_user ? s->n_regs_user : 0,
		                       .stack = s->stack_user,
		                       .stack_bytes = s->stack_user_bytes };
}
