/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/pmu/buildid.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/elsewhere.h"
#include "profiler/pmu/message.h"
#include "profiler/pmu/procfile.h"

enum {
	/*
	 * perf takes a counter's value in a sample minus the one before with the same id for the
	 * sample's own count, so threads must not share ids.  A file must announce its ids at its
	 * beginning: so many threads have their own, later ones share the last.
	 */
	MAX_ID_THREADS = 64,
	MAX_EVENTS = WIRE_MAX_EVENTS + 1, /* the group, and bursts */
	ROUND_SAMPLES = 4096,
	OTHER_CPU = 16, /* of the second kind of core, as if there were so many of the first */
};

struct thread {
	uint32_t pid, tid;
	uint32_t slot;
	uint64_t waited_ns; /* its own clock stands still while others run */
};

struct sink {
	struct sink_config config;
	struct pd_writer *w;
	struct elsewhere *elsewhere;
	uint64_t ids[MAX_EVENTS][MAX_ID_THREADS];
	VEC(struct thread) threads; /* sorted by tid */
	uint32_t n_slots;
	uint64_t last_ns;  /* of the last record written ... */
	uint32_t last_tid; /* ... and whose it is */
	uint32_t since_round;
	VEC(struct image) images; /* of processes that run, or ended without a word */
	struct image_files files; /* what the tally's counts are of */
	struct tally tally;
	VEC(uint32_t) alive; /* processes that began and have not said goodbye */
	struct sink_summary sum;
	uint32_t main_pid; /* of the program itself; 0 = has not begun */
	uint32_t exec_pid; /* has just become another program; 0 = none */
	char exec_names[1024], sum_why[128], refusal[512];
	int err; /* of the first write that failed; writing stops there */
	char err_text[512];
};

int sink_new(const struct sink_config *config, struct sink **out)
{
	struct sink *s;
	uint64_t id = 1;
	int err;

	/* The file is opened when the program has begun; that it can be should be known before. */
	err = pd_writer_check(config->output);
	if (err < 0)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return sp_fail(SP_ENOMEM, "out of memory");
	err = elsewhere_new(&s->elsewhere);
	if (err < 0) {
		free(s);
		return err;
	}
	s->config = *config;
	s->tally.calls_wanted = config->calls;
	for (uint32_t e = 0; e < MAX_EVENTS; e++)
		for (uint32_t t = 0; t < MAX_ID_THREADS; t++)
			s->ids[e][t] = id++;
	*out = s;
	return 0;
}

void sink_free(struct sink *s)
{
	if (!s)
		return;
	vec_fini(&s->threads);
	vec_fini(&s->alive);
	for (size_t i = 0; i < s->images.n; i++)
		image_close(&s->images.v[i]);
	vec_fini(&s->images);
	for (size_t i = 0; i < s->files.n; i++)
		free(s->files.v[i]);
	vec_fini(&s->files);
	tally_fini(&s->tally);
	elsewhere_free(s->elsewhere);
	free(s);
}

/* Keep the first error, and its words, for the end. */
static void note_error(struct sink *s, int err)
{
	if (err >= 0 || s->err < 0)
		return;
	s->err = err;
	snprintf(s->err_text, sizeof(s->err_text), "%s", sp_error_text());
}

static void add_bursts(struct sink *s, struct pd_writer_event *e)
{
	uint32_t event = s->config.group->n;

	sim_group_attr(s->config.group, 0, false, &e->attr);
	bursts_attr(&e->attr);
	e->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	e->attr.sample_max_stack = WIRE_MAX_CHAIN + 2;
	s->sum.period[event] = e->attr.sample_period;
	e->name = "bursts";
	e->ids = s->ids[event];
	e->n_ids = MAX_ID_THREADS;
	e->leader = (int)event;
}

static bool counts_kernel(const struct sim_group *g)
{
	bool any = false;

	for (uint32_t i = 0; i < g->n; i++)
		any |= g->kernel[i];
	return any;
}

/* As perf names it, of all processes. */
static int map_kernel(struct pd_writer *w)
{
	const struct pd_mmap kernel = { .ip = WIRE_KERNEL_IP,
		                        .len_bytes = (uint64_t)WIRE_KERNEL_CALL_BYTES * WIRE_KERNEL_CALLS,
		                        .pgoff_bytes = WIRE_KERNEL_IP,
		                        .prot = PROT_READ | PROT_EXEC,
		                        .path = "[kernel.kallsyms]_text" };

	return pd_write_mmap(w, UINT32_MAX, 0, 0, &kernel);
}

static int open_file(struct sink *s)
{
	const struct sim_group *g = s->config.group;
	int err;
	struct pd_writer_event events[MAX_EVENTS] = { 0 };
	char names[MAX_EVENTS][40];
	struct pd_writer_info info = { .cpudesc = s->config.cpudesc,
		                       .cpuid = s->config.cpuid,
		                       .arch = s->config.arch,
		                       .argc = s->config.argc,
		                       .argv = s->config.argv,
		                       .events = events,
		                       .n_events = g->n };

	for (uint32_t i = 0; i < g->n; i++) {
		sim_group_attr(g, i, s->config.branches, &events[i].attr);
		s->sum.period[i] = g->period[i];
		events[i].name = sim_group_full_name(g, i, names[i], sizeof(names[i]));
		events[i].ids = s->ids[i];
		events[i].n_ids = MAX_ID_THREADS;
		events[i].leader = (int)sim_group_first(g, i);
	}
	if (s->config.bursts)
		add_bursts(s, &events[info.n_events++]);
	err = pd_writer_open(s->config.output, &info, &s->w);
	return err < 0 || !counts_kernel(g) ? err : map_kernel(s->w);
}

/* Index where tid is or belongs. */
static size_t thread_index(const struct sink *s, uint32_t tid)
{
	size_t lo = 0, hi = s->threads.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (s->threads.v[mid].tid < tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* NULL: it is not known. */
static struct thread *thread_find(struct sink *s, uint32_t tid)
{
	size_t i = thread_index(s, tid);

	return i < s->threads.n && s->threads.v[i].tid == tid ? &s->threads.v[i] : NULL;
}

static struct thread *thread_get(struct sink *s, const struct wire_head *head)
{
	struct thread t = { .pid = head->pid, .tid = head->tid }, *found = thread_find(s, head->tid);
	size_t i;

	if (found)
		return found;
	i = thread_index(s, head->tid);
	t.slot = s->n_slots < MAX_ID_THREADS ? s->n_slots++ : MAX_ID_THREADS - 1;
	if (vec_push(&s->threads, t) < 0)
		return NULL;
	memmove(&s->threads.v[i + 1], &s->threads.v[i], (s->threads.n - 1 - i) * sizeof(t));
	s->threads.v[i] = t;
	return &s->threads.v[i];
}

static void thread_forget(struct sink *s, uint32_t tid)
{
	struct thread *t = thread_find(s, tid);

	if (!t)
		return;
	s->threads.n--;
	memmove(t, t + 1, (size_t)(s->threads.v + s->threads.n - t) * sizeof(*t));
}

static int write_sample(struct sink *s, const struct thread *t, const struct wire_sample *m, uint64_t time_ns)
{
	const uint64_t *values = (const uint64_t *)(m + 1);
	const struct wire_branch *branches = (const struct wire_branch *)(values + m->n_values);
	struct pd_value v[WIRE_MAX_EVENTS] = { 0 };
	struct pd_branch b[WIRE_MAX_BURST];
	/* As the kernel has it: whose addresses they are, the sample's own, then where calls return to. */
	uint64_t chain[WIRE_MAX_CHAIN + 2] = { (uint64_t)PERF_CONTEXT_USER, m->ip };
	struct pd_record rec = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER };
	bool is_burst = m->event == s->config.group->n;
	uint32_t event = m->event, first = is_burst ? event : sim_group_first(s->config.group, event);

	for (uint32_t i = 0; i < m->n_values; i++)
		v[i] = (struct pd_value){ .id = s->ids[first + i][t->slot],
			                  .value = values[i],
			                  .event = (int)(first + i) };
	for (uint32_t i = 0; i < m->n_branches; i++)
		b[i] = (struct pd_branch){ .from_ip = branches[i].from_ip,
			                   .to_ip = branches[i].to_ip,
			                   .cycles = branches[i].cycles > UINT16_MAX
			                                     ? UINT16_MAX
			                                     : (uint16_t)branches[i].cycles,
			                   .mispredicted = branches[i].mispredicted,
			                   .predicted = !is_burst && !branches[i].mispredicted };
	rec.event = (int)event;
	rec.cpu = !is_burst && s->config.group->kind[event] ? OTHER_CPU : 0;
	rec.pid = m->head.pid;
	rec.tid = m->head.tid;
	rec.time_ns = time_ns;
	rec.sample = (struct pd_sample){ .ip = m->ip,
		                         .id = s->ids[event][t->slot],
		                         .period = is_burst ? s->sum.period[event] : m->period,
		                         .time_enabled_ns = m->enabled_ns,
		                         .time_running_ns = m->running_ns,
		                         .values = v,
		                         .n_values = m->n_values,
		                         .branches = b,
		                         .n_branches = m->n_branches,
		                         .callchain = chain,
		                         .n_callchain = m->n_chain + 2 };
	memcpy(chain + 2, branches + m->n_branches, m->n_chain * sizeof(*chain));
	s->sum.n_samples[event]++;
	s->sum.n_burst_branches += is_burst ? m->n_branches : 0;
	s->since_round++;
	return pd_write_sample(s->w, &rec);
}

static void fill_mmap(const struct wire_map *m, struct pd_mmap *out)
{
	*out = (struct pd_mmap){ .ip = m->ip,
		                 .len_bytes = m->len_bytes,
		                 .pgoff_bytes = m->pgoff_bytes,
		                 .prot = m->prot,
		                 .flags = m->flags,
		                 .path = m->path };
}

static int write_map(struct sink *s, const struct wire_map *m, uint64_t time_ns)
{
	struct pd_mmap mmap;

	fill_mmap(m, &mmap);
	if (!elsewhere_find(s->elsewhere, m->head.pid, &mmap) && m->path[0] == '/')
		mmap.build_id_bytes = buildid_read(m->path, mmap.build_id, sizeof(mmap.build_id));
	return pd_write_mmap(s->w, m->head.pid, m->head.tid, time_ns, &mmap);
}

static int write_throttle(struct sink *s, const struct thread *t, const struct wire_throttle *m,
                          uint64_t time_ns)
{
	s->sum.n_throttled += m->on;
	return pd_write_throttle(s->w, m->on, m->head.pid, m->head.tid, s->ids[m->event][t->slot], time_ns);
}

/* The first name after exec says that there was one, so that readers forget the maps of before. */
static int write_comm(struct sink *s, const struct wire_text *m, uint64_t time_ns)
{
	bool exec = s->exec_pid == m->head.pid;

	if (exec)
		s->exec_pid = 0;
	return pd_write_comm(s->w, m->head.pid, m->head.tid, time_ns, m->text, exec);
}

/*
 * In the file time never goes back.  A thread that comes later than others did has waited for as long, and its clock goes on from
 * there: what lies between two of its samples is what it ran.
 */
static uint64_t time_of(struct sink *s, struct thread *thread, const struct wire_head *head)
{
	uint64_t t = head->time_ns + (thread ? thread->waited_ns : 0);

	if (t < s->last_ns) {
		if (thread && s->last_tid != head->tid)
			thread->waited_ns += s->last_ns - t;
		t = s->last_ns;
	}
	s->last_ns = t;
	s->last_tid = head->tid;
	return t;
}

static int write_message(struct sink *s, const struct wire_head *head)
{
	const struct wire_task *task = (const struct wire_task *)head;
	struct thread *thread = head->kind == WIRE_EXIT ? thread_find(s, head->tid) : thread_get(s, head);
	uint64_t t = time_of(s, thread, head);

	if (head->kind != WIRE_EXIT && !thread)
		return -SP_ENOMEM;
	switch (head->kind) {
	case WIRE_MAP:
		return write_map(s, (const struct wire_map *)head, t);
	case WIRE_COMM:
		return write_comm(s, (const struct wire_text *)head, t);
	case WIRE_TASK:
		return pd_write_task(s->w, PERF_RECORD_FORK, head->pid, head->tid, task->ppid, task->ptid, t);
	case WIRE_EXIT:
		thread_forget(s, head->tid);
		return pd_write_task(s->w, PERF_RECORD_EXIT, head->pid, head->tid, head->pid, head->tid, t);
	case WIRE_SAMPLE:
		return write_sample(s, thread, (const struct wire_sample *)head, t);
	case WIRE_THROTTLE:
		return write_throttle(s, thread, (const struct wire_throttle *)head, t);
	default:
		return 0;
	}
}

static void to_file(struct sink *s, const struct wire_head *head)
{
	if (!s->config.output || s->err < 0)
		return;
	if (!s->w)
		note_error(s, open_file(s));
	note_error(s, s->err < 0 ? 0 : write_message(s, head));
	if (s->err == 0 && s->since_round >= ROUND_SAMPLES) {
		note_error(s, pd_write_round(s->w));
		s->since_round = 0;
	}
}

/* What a process has counted is whole now. */
static int end_image(struct sink *s, size_t i)
{
	int err = image_add(&s->images.v[i], &s->files, &s->tally);

	image_close(&s->images.v[i]);
	s->images.v[i] = s->images.v[--s->images.n];
	return err;
}

static int end_images_of(struct sink *s, uint32_t pid)
{
	int err = 0;

	for (size_t i = s->images.n; i-- > 0 && err == 0;)
		if (s->images.v[i].pid == pid)
			err = end_image(s, i);
	return err;
}

static int begin_image(struct sink *s, uint32_t pid, int fd)
{
	struct image image;
	int err;

	if (!s->config.counting)
		return 0;
	if (fd < 0) {
		s->sum.n_uncounted++;
		return 0;
	}
	err = image_open(pid, fd, &image);
	if (err == 0 && vec_push(&s->images, image) < 0) {
		image_close(&image);
		err = sp_fail(SP_ENOMEM, "out of memory");
	}
	return err;
}

/* Another program in the same process: its other threads have gone with the one before; where it was one of them, all. */
static void forget_other_threads(struct sink *s, const struct wire_head *head, bool all)
{
	size_t n = 0;

	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].pid != head->pid || (s->threads.v[i].tid == head->tid && !all))
			s->threads.v[n++] = s->threads.v[i];
	s->threads.n = n;
}

static int take_hello(struct sink *s, const struct wire_hello *m, int fd)
{
	uint32_t pid = m->head.pid;
	/* Of this process, or of one that ended without a word and had the same number. */
	int err = end_images_of(s, pid);

	if (err == 0)
		err = begin_image(s, pid, fd);
	if (m->by_exec) {
		forget_other_threads(s, &m->head, m->fresh);
		s->exec_pid = pid;
		return err;
	}
	if (!s->main_pid)
		s->main_pid = pid;
	s->sum.n_processes++;
	s->sum.n_threads++;
	return err < 0 ? err : vec_push(&s->alive, pid);
}

static void note_end(struct sink *s, uint32_t pid)
{
	for (size_t i = s->alive.n; i-- > 0;)
		if (s->alive.v[i] == pid)
			s->alive.v[i] = s->alive.v[--s->alive.n];
}

/* text: the path, and behind a line end why it could not be followed. */
static void note_exec(struct sink *s, uint32_t pid, const char *text)
{
	size_t used = strlen(s->exec_names), n = strcspn(text, "\n");
	char path[4096];

	/* fexecve may have none. */
	snprintf(path, sizeof(path), "%.*s", (int)n, text);
	if (!n)
		strcpy(path, "a file without a name");
	if (!*s->sum_why)
		snprintf(s->sum_why, sizeof(s->sum_why), "%s",
		         text[n] && text[n + 1] ? text + n + 1
		         : n                    ? "it could not be followed"
		                                : "the emulator starts programs by their paths");
	n = strlen(path);
	s->sum.main_exec |= pid == s->main_pid;
	s->sum.n_lost_execs++;
	/* Named once each; what doesn't fit is still counted. */
	for (const char *p = s->exec_names; (p = strstr(p, path)); p += n)
		if ((p == s->exec_names || p[-1] == ' ') && (p[n] == ',' || !p[n]))
			return;
	if (used + n + 3 < sizeof(s->exec_names))
		sprintf(s->exec_names + used, "%s%s", used ? ", " : "", path);
}

int sink_message(struct sink *s, const void *message, size_t n, int fd)
{
	const struct wire_head *head = message;
	const struct wire_text *text = message;
	int err = 0;

	if (!message_is_whole(message, n, s->config.group, s->config.bursts))
		return sp_fail(SP_EFORMAT,
		               "the plugin sent a message of kind %u that is none; is skidsim.so of "
		               "this version?",
		               n >= sizeof(*head) ? head->kind : 0);
	switch (head->kind) {
	case WIRE_HELLO:
		err = take_hello(s, message, fd);
		break;
	case WIRE_TASK:
		s->sum.n_threads += head->pid == ((const struct wire_task *)message)->ppid;
		break;
	case WIRE_BYE:
		note_end(s, head->pid);
		err = end_images_of(s, head->pid);
		break;
	case WIRE_EXEC:
		note_exec(s, head->pid, text->text);
		note_end(s, head->pid); /* as what we know of it */
		break;
	case WIRE_WARN:
		/* Before the program has begun it is why it doesn't. */
		if (s->sum.n_processes)
			sp_warn("%s", text->text);
		else
			snprintf(s->refusal, sizeof(s->refusal), "%s", text->text);
		break;
	default:
		break;
	}
	if (err == 0)
		to_file(s, head);
	return err;
}

uint64_t sink_n_samples(const struct sink *s)
{
	uint64_t n = 0;

	for (int i = 0; i <= WIRE_MAX_EVENTS; i++)
		n += s->sum.n_samples[i];
	return n;
}

void sink_tick(struct sink *s)
{
	if (!s->config.output || s->err < 0)
		return;
	if (s->w)
		note_error(s, pd_writer_flush(s->w));
}

/* One that has ended stays a zombie until its parent asks for it, which may be never. */
static bool runs(uint32_t pid)
{
	struct procfile stat = { 0 };
	bool run = procfile_holder(&stat, (pid_t)pid) != (pid_t)pid || !procfile_has_ended(&stat, (pid_t)pid);

	procfile_fini(&stat);
	return run;
}

/* Processes that ended without a word are not among them. */
static uint32_t n_alive(const struct sink *s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->alive.n; i++)
		n += runs(s->alive.v[i]);
	return n;
}

/* All that was counted, also by those that were killed or still run. */
static int hand_over_counts(struct sink *s, struct record_counts *counts)
{
	int err = 0;

	while (s->images.n && err == 0)
		err = end_image(s, s->images.n - 1);
	s->sum.n_insn = s->tally.total;
	if (err == 0 && s->sum.n_uncounted)
		err = sp_fail(SP_ENOTSUP,
		              "processes that could not be counted: %u, as limits on their files or memory "
		              "(ulimit) leave no "
		              "room for it; there are no exact counts",
		              s->sum.n_uncounted);
	if (err == 0)
		err = tally_finish(&s->tally, counts);
	counts->files = s->files.v;
	counts->n_files = s->files.n;
	memset(&s->files, 0, sizeof(s->files));
	return err;
}

int sink_close(struct sink *s, struct record_counts *counts, struct sink_summary *summary)
{
	int err = 0;

	if (s->config.output && !s->w && s->err == 0)
		note_error(s, open_file(s));
	if (s->w) {
		s->sum.bytes = pd_writer_bytes(s->w);
		note_error(s, pd_writer_close(s->w));
		s->w = NULL;
		if (s->err == 0)
			elsewhere_keep(s->elsewhere, s->config.output);
	}
	s->sum.n_alive = n_alive(s);
	s->sum.lost_execs = s->exec_names;
	s->sum.exec_why = s->sum_why;
	s->sum.refusal = s->refusal;
	if (counts)
		err = hand_over_counts(s, counts);
	*summary = s->sum;
	return s->err < 0 ? sp_fail((enum sp_error) - s->err, "%s", s->err_text) : err;
}
