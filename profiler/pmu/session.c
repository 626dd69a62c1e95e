/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profiler/base/clock.h"
#include "profiler/base/cmd.h"
#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/base/vec.h"
#include "profiler/pmu/cpus.h"
#include "profiler/pmu/elsewhere.h"
#include "profiler/pmu/existing.h"
#include "profiler/pmu/finer.h"
#include "profiler/pmu/launch.h"
#include "profiler/pmu/program.h"
#include "profiler/pmu/rewrite.h"

/* What is in the rings or not yet on disk is what a killed recorder loses: a second and no more. */
enum { TICK_MS = 250, FLUSH_MS = 500, MAX_TASKS = 1 << 22 };

/* Whether threads end young should be known before much of a short program is over. */
enum { EARLY_S = 1, EARLY_TICK_MS = 20 };

static const struct session_hooks no_hooks = { .fd = -1 };

struct session {
	const struct session_config *config;
	const struct session_hooks *hooks;
	const struct record_opts *opts;
	struct session_summary *sum;
	struct pd_writer *w;
	struct rewrite *rewrite;
	struct elsewhere *elsewhere;
	struct tasks *tasks;
	struct finer *finer; /* NULL: no clock that tasks inherit */
	struct launch child;
	char path[PATH_MAX]; /* of the program */
	cpu_set_t cpus;
	VEC(pid_t) targets;
	uint64_t begun_ns, flushed_ns;
	bool enabled, written; /* written: since the last round */
	bool failed;           /* so will whatever else is tried */
	bool full;             /* --max-size was reached: nothing more is written */
};

struct pd_writer *session_writer(const struct session *s)
{
	return s->w;
}

uint64_t session_id(const struct session *s, size_t i)
{
	size_t n;

	return s->rewrite ? rewrite_ids(s->rewrite, i, &n)[0] : 0;
}

uint64_t session_time_ns(const struct session *s)
{
	return s->finer ? finer_time_ns(s->finer) : 0;
}

/* A map of a file that is elsewhere is written as what was found. */
static int write_record(struct session *s, const struct perf_event_header *rec)
{
	struct pd_mmap m;
	uint32_t pid, tid;
	uint64_t time_ns;

	if (rec->type == PERF_RECORD_MMAP2 &&
	    rewrite_mmap(s->config->events, rec, &m, &pid, &tid, &time_ns) &&
	    elsewhere_find(s->elsewhere, pid, &m))
		return pd_write_mmap(s->w, pid, tid, time_ns, &m);
	return pd_write_raw(s->w, rec);
}

/* In samples as they are in the file: of the first event, by our own clock, which is the kernel's. */
static int write_lost(struct session *s, uint64_t n)
{
	return n && !s->full ? pd_write_lost(s->w, session_id(s, 0), n, clock_ns(CLOCK_MONOTONIC)) : 0;
}

static int take(void *arg, const struct perf_event_header *rec, const struct tasks_source *from)
{
	struct session *s = arg;
	struct rewrite_result found = { .rec = rec, .event = -1 };
	bool drop = false, keep = true;
	int err = 0;

	if (s->failed)
		return 0;
	if (s->finer)
		err = finer_task(s->finer, rec);
	if (err == 0)
		err = rewrite_record(s->rewrite, s->tasks, rec, from, &found);
	if (err == 0 && s->finer && found.n_lost) {
		found.n_lost = finer_lost(s->finer, found.n_lost);
		err = write_lost(s, found.n_lost);
		drop = true;
	}
	if (err == 0 && s->finer && found.event >= 0)
		keep = finer_sample(s->finer, &found, from);
	if (err == 0 && s->hooks->record)
		err = s->hooks->record(s->hooks->arg, found.rec, found.event, found.fine, from, &drop);
	drop |= !keep;
	s->sum->n_lost += found.n_lost;
	s->sum->n_throttled += rec->type == PERF_RECORD_THROTTLE;
	if (err < 0 || drop || s->full || (rec->type == PERF_RECORD_SAMPLE && found.event < 0))
		return err;
	if (found.event >= 0) {
		s->sum->n_samples[found.event]++;
		pd_writer_note_time(s->w, found.time_ns);
	}
	s->written = true;
	err = write_record(s, found.rec);
	s->full = s->opts->max_bytes && pd_writer_bytes(s->w) >= s->opts->max_bytes;
	return err;
}

static size_t n_file_events(const struct session_config *c)
{
	return c->file_events ? c->n_file_events : c->n_events;
}

static int open_file(struct session *s)
{
	const struct session_config *c = s->config;
	const struct pe_event *events = c->file_events ? c->file_events : c->events;
	size_t n_events = n_file_events(c);
	struct pd_writer_event *out = calloc(n_events, sizeof(*out));
	struct pd_writer_info info = { .argc = s->opts->argc,
		                       .argv = s->opts->argv,
		                       .events = out,
		                       .n_events = n_events,
		                       .compress_level = s->opts->compress_level };
	char **words = NULL;
	int err;

	if (!out)
		return sp_fail(SP_ENOMEM, "out of memory");
	/* One process that runs already is what its own command line says. */
	if (s->targets.n == 1) {
		info.argc = existing_words(task_process(s->targets.v[0]), &words);
		info.argv = words;
	}
	for (size_t i = 0; i < n_events; i++) {
		out[i] = (struct pd_writer_event){ .attr = events[i].attr,
			                           .name = events[i].name,
			                           .leader = (int)events[i].leader };
		/* Counters that are threads' end with them: whoever reads the file should know. */
		out[i].attr.inherit = !s->opts->whole_system && !s->opts->tids;
		out[i].ids = rewrite_ids(s->rewrite, i, &out[i].n_ids);
		/* Who reads the file learns of maps and tasks by the first event, as it would have been without a tracker. */
		if (i == 0)
			out[i].attr.mmap = out[i].attr.mmap2 = out[i].attr.comm = out[i].attr.comm_exec =
			        out[i].attr.task = 1;
	}
	err = pd_writer_open(s->opts->output, &info, &s->w);
	free(words);
	free(out);
	return err;
}

/* "12,34" of -p or -t: looked for before an older recording is put aside. */
static int parse_targets(struct session *s, const char *option, const char *text)
{
	char *copy = strdup(text), *save = NULL, path[32];
	unsigned long long n = 0;
	int err = copy ? 0 : sp_fail(SP_ENOMEM, "out of memory");

	for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word && err == 0;
	     word = strtok_r(NULL, ",", &save)) {
		err = cmd_parse_u64(option, word, 1, MAX_TASKS, &n);
		snprintf(path, sizeof(path), "/proc/%llu", err == 0 ? n : 0);
		if (err == 0 && access(path, F_OK) < 0)
			err = sp_fail(SP_ENOENT, "%s: there is no %s %llu", option,
			              strcmp(option, "-p") == 0 ? "process" : "thread", n);
		if (err == 0)
			err = vec_push(&s->targets, (pid_t)n);
	}
	free(copy);
	if (err == 0 && s->targets.n == 0)
		err = sp_fail(SP_EUSAGE, "%s: no number named", option);
	return err;
}

static int open_tasks(struct session *s)
{
	struct tasks_config c = { .events = s->config->events,
		                  .n_events = s->config->n_events,
		                  .cpus = s->opts->cpus ? &s->cpus : NULL,
		                  .whole_system = s->opts->whole_system,
		                  .alone = s->opts->tids != NULL,
		                  .take = take,
		                  .arg = s };

	return tasks_new(&c, &s->tasks);
}

static bool samples_kernel(const struct session *s)
{
	for (size_t i = 0; i < s->config->n_events; i++)
		if (!s->config->events[i].attr.exclude_kernel)
			return true;
	return false;
}

/* Events open now have trackers running: what maps or forks from here on is told twice rather than never. */
static int write_existing(struct session *s)
{
	int err = samples_kernel(s) ? existing_kernel(s->w) : 0;

	if (err == 0 && s->opts->whole_system)
		err = existing_all(s->w, s->elsewhere);
	for (size_t i = 0; i < s->targets.n && err == 0; i++)
		err = existing_process(s->w, s->elsewhere, task_process(s->targets.v[i]));
	return err;
}

static int hold_program(struct session *s)
{
	struct launch_program p = { .path = s->path,
		                    .argv = s->opts->argv,
		                    .keep_fd = -1,
		                    .stdout_fd = strcmp(s->opts->output, "-") == 0 ? STDERR_FILENO : -1,
		                    .tracer = s->hooks->tracer };

	int err;

	if (!s->opts->argc)
		return launch_nothing(&s->child);
	err = program_locate(s->opts->argv[0], s->path);
	return err < 0 ? err : launch_hold(&s->child, &p);
}

/* All that is wanted is open, and nothing runs yet that should not. */
static int prepare(struct session *s)
{
	bool later = s->opts->delay_s > 0;
	int err = hold_program(s);

	if (err == 0)
		err = elsewhere_new(&s->elsewhere);
	if (err == 0)
		err = open_tasks(s);
	if (err == 0)
		err = finer_new(s->config->events, s->config->n_events, s->opts->seed, &s->finer);
	if (err == 0 && s->child.pid && !s->opts->whole_system)
		err = tasks_add_child(s->tasks, s->child.pid, later);
	if (err == 0)
		err = rewrite_new(s->config->events, n_file_events(s->config), &s->rewrite);
	if (err == 0)
		err = open_file(s);
	for (size_t i = 0; i < s->targets.n && err == 0; i++)
		err = tasks_attach(s->tasks, s->targets.v[i]);
	if (err == 0)
		err = write_existing(s);
	if (err == 0 && s->config->source)
		sp_note("%s", s->config->source);
	if (err == 0 && s->hooks->begin)
		err = s->hooks->begin(s->hooks->arg, s, s->child.pid);
	return err;
}

static int begin(struct session *s)
{
	bool by_exec = s->child.pid && !s->opts->whole_system;
	int err = 0;

	s->begun_ns = s->flushed_ns = clock_ns(CLOCK_MONOTONIC);
	s->enabled = s->opts->delay_s <= 0;
	if (s->enabled && !by_exec)
		err = tasks_enable(s->tasks, true);
	if (err == 0 && s->child.pid)
		err = launch_go(&s->child);
	if (err == 0 && by_exec && s->enabled && s->hooks->runs)
		s->hooks->runs(s->hooks->arg, tasks_time_ns(s->tasks));
	return err;
}

static int drain(struct session *s)
{
	int err = tasks_drain(s->tasks);

	if (err == 0 && s->written)
		err = pd_write_round(s->w);
	s->written = false;
	return err;
}

/* All threads as one: how long they ran so far, and for how long of that they were sampled. */
static int write_missed(struct session *s, uint64_t all_ns)
{
	/* What samples stand for is in none of it. */
	uint64_t missed_ns = finer_missed_ns(s->finer), sampled_ns = finer_time_ns(s->finer) - missed_ns;
	uint64_t most_ns = all_ns > sampled_ns ? all_ns - sampled_ns : 0;

	if (missed_ns > most_ns)
		missed_ns = most_ns;
	s->sum->missed_ns = missed_ns;
	return pd_write_read(s->w, all_ns, all_ns, all_ns - missed_ns, clock_ns(CLOCK_MONOTONIC));
}

/* What is due by the clock: the delay's end, a file that is up to date, the limits. */
static int keep_time(struct session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	double since_s = 1e-9 * (double)(now - s->begun_ns);
	bool ends = s->opts->duration_s > 0;
	int err = 0;

	if (!s->enabled && since_s >= s->opts->delay_s) {
		err = tasks_enable(s->tasks, true);
		s->enabled = true;
	}
	if (err == 0 && now - s->flushed_ns >= FLUSH_MS * 1000000u) {
		if (s->finer && !s->full && finer_missed_ns(s->finer) != s->sum->missed_ns)
			err = write_missed(s, finer_time_ns(s->finer));
		if (err == 0)
			err = pd_writer_flush(s->w);
		s->flushed_ns = now;
	}
	if (ends && since_s >= s->opts->delay_s + s->opts->duration_s)
		s->sum->ended = "--duration";
	if (s->full)
		s->sum->ended = "--max-size";
	/* A program begun by this one has the terminal for itself. */
	if (!s->child.pid)
		sp_progress(ends ? "recording" : "recording: seconds", (uint64_t)since_s,
		            ends ? (uint64_t)(s->opts->delay_s + s->opts->duration_s) : 0);
	if (err == 0 && s->finer && s->enabled)
		err = finer_look(s->finer, s->tasks, now);
	if (err == 0 && s->hooks->tick)
		err = s->hooks->tick(s->hooks->arg);
	return err;
}

/* Until what is due next, at most a tick. */
static int timeout_ms(const struct session *s)
{
	double since_s = 1e-9 * (double)(clock_ns(CLOCK_MONOTONIC) - s->begun_ns), left_s;
	double ms = s->finer && since_s < EARLY_S ? EARLY_TICK_MS : TICK_MS;

	left_s = s->opts->delay_s - since_s;
	if (!s->enabled && left_s * 1e3 < ms)
		ms = left_s * 1e3;
	left_s = s->opts->delay_s + s->opts->duration_s - since_s;
	if (s->opts->duration_s > 0 && left_s * 1e3 < ms)
		ms = left_s * 1e3;
	return ms < 0 ? 0 : (int)ms + 1;
}

static bool is_over(const struct session *s)
{
	if (s->sum->ended || s->child.interrupted)
		return true;
	if (s->child.pid)
		return s->child.ended;
	return !s->opts->whole_system && !tasks_alive(s->tasks);
}

static int listen_to_end(struct session *s)
{
	struct pollfd fds[3] = { { s->child.signal_fd, POLLIN, 0 },
		                 { tasks_fd(s->tasks), POLLIN, 0 },
		                 { s->hooks->fd, POLLIN, 0 } };
	int err = 0;

	while (err == 0 && !is_over(s)) {
		if (poll(fds, 3, timeout_ms(s)) < 0 && errno != EINTR)
			return sp_fail_errno("poll");
		launch_signals(&s->child);
		if (s->hooks->fd >= 0 && fds[2].revents)
			err = s->hooks->ready(s->hooks->arg);
		if (err == 0)
			err = drain(s);
		if (err == 0)
			err = keep_time(s);
	}
	sp_progress_end();
	return err;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The first error of all is the one to tell; the program's end is waited for in any case. */
static int finish(struct session *s, int err)
{
	char words[512];
	int err2 = 0;

	snprintf(words, sizeof(words), "%s", err < 0 ? sp_error_text() : "");
	s->failed = err < 0;
	s->sum->seconds = s->begun_ns ? 1e-9 * (double)(clock_ns(CLOCK_MONOTONIC) - s->begun_ns) : 0;
	s->sum->left_running = err == 0 && s->child.pid && s->child.ended && !s->child.interrupted &&
	                       s->child.status < 128 && !s->opts->whole_system && tasks_alive(s->tasks);
	if (s->tasks)
		err2 = tasks_stop(s->tasks, &s->sum->tasks);
	s->sum->n_lost += s->sum->tasks.n_untold;
	if (s->finer && s->w && !s->full && write_missed(s, s->sum->tasks.time_ns) < 0)
		err2 = -SP_EIO;
	/* What no record of the kernel's tells, one of ours does: times are those of the monotonic clock. */
	if (s->sum->tasks.n_untold && s->w && !s->full &&
	    pd_write_lost(s->w, session_id(s, 0), s->sum->tasks.n_untold, clock_ns(CLOCK_MONOTONIC)) < 0)
		err2 = -SP_EIO;
	if (s->hooks->end && s->w)
		s->hooks->end(s->hooks->arg);
	if (s->w) {
		s->sum->bytes = pd_writer_bytes(s->w);
		err2 = pd_writer_close(s->w) < 0 && err2 == 0 ? -SP_EIO : err2;
		s->w = NULL;
		if (err2 == 0 && err == 0)
			elsewhere_keep(s->elsewhere, s->opts->output);
	}
	elsewhere_free(s->elsewhere);
	s->sum->cpu_s = cpu_seconds();
	tasks_free(s->tasks);
	/* What is not recorded any more is not waited for: as perf has it. */
	if (s->sum->ended)
		launch_end(&s->child);
	else if (s->child.pid && s->begun_ns)
		launch_wait(&s->child);
	launch_fini(&s->child);
	return err < 0 ? sp_fail((enum sp_error) - err, "%s", words) : err2;
}

int session_run(const struct session_config *config, struct session_summary *summary, int *exit_status)
{
	struct session s = { .config = config,
		             .hooks = config->hooks ? config->hooks : &no_hooks,
		             .opts = config->opts,
		             .sum = summary,
		             .child = { .signal_fd = -1, .go_fd = -1, .error_fd = -1 } };
	int err = path_check_output(s.opts->output, "-o");

	*summary = (struct session_summary){ .n_samples = calloc(config->n_events, sizeof(uint64_t)) };
	if (!summary->n_samples)
		return sp_fail(SP_ENOMEM, "out of memory");
	if (err == 0 && s.opts->pids)
		err = parse_targets(&s, "-p", s.opts->pids);
	if (err == 0 && s.opts->tids)
		err = parse_targets(&s, "-t", s.opts->tids);
	if (err == 0 && s.opts->cpus)
		err = cpus_parse("-C", s.opts->cpus, &s.cpus);
	if (err == 0)
		err = prepare(&s);
	if (err == 0)
		err = begin(&s);
	if (err == 0)
		err = listen_to_end(&s);
	err = finish(&s, err);
	if (err == 0)
		launch_say_killed(&s.child, s.child.path, s.opts->output);
	*exit_status = s.child.status;
	rewrite_free(s.rewrite);
	finer_free(s.finer);
	vec_fini(&s.targets);
	return err;
}

void session_summary_fini(struct session_summary *summary)
{
	free(summary->n_samples);
	summary->n_samples = NULL;
}
