/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated PMU: the emulator with our plugin runs the program and reports over a socket. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/path.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/launch.h"
#include "profiler/pmu/period.h"
#include "profiler/pmu/pmu.h"
#include "profiler/pmu/sim_setup.h"
#include "profiler/pmu/sink.h"
#include "profiler/sim/events.h"
#include "profiler/sim/wire.h"

enum {
	SOCKET_BYTES = 8 << 20,
	/* Programs begin to count descriptors from 0 and seldom come this far. */
	CHILD_FD = 1019,
	MAX_ARGS = 16,
	/* Between two looks at the socket: to wake up for each message costs more than to read it. */
	PAUSE_MS = 4,
};

struct run {
	char cpudesc[192], cpuid[96]; /* the sink opens its file later, and reads them then */
	const struct record_opts *opts;
	struct program program;
	struct sim_setup setup;
	char qemu[PATH_MAX], plugin_arg[2 * PATH_MAX + 64];
	int fd, child_fd; /* our end of the socket; its number in the program */
	struct launch child;
	struct sink *sink;
	struct timespec begun;
};

static const char *arch_name(const struct program *p)
{
	return p->isa == PROGRAM_AARCH64 ? "aarch64" : "x86_64";
}

static int find_emulator(struct run *r)
{
	char name[32], plugin[PATH_MAX];
	size_t n;
	int err;

	snprintf(name, sizeof(name), "qemu-%s", arch_name(&r->program));
	if (!program_search(name, r->qemu))
		return sp_fail(SP_ENOTSUP,
		               "%s: not found, and the simulated PMU runs programs with it; install the "
		               "package qemu-user",
		               name);
	err = path_find("skidsim.so", plugin, sizeof(plugin));
	if (err < 0)
		return err;
	/* A comma ends the plugin's path unless it is doubled. */
	n = 0;
	for (const char *s = plugin; *s; s++) {
		if (*s == ',')
			r->plugin_arg[n++] = ',';
		r->plugin_arg[n++] = *s;
	}
	snprintf(r->plugin_arg + n, sizeof(r->plugin_arg) - n, ",fd=%d", r->child_fd);
	return 0;
}

/* As high as allowed, so that the program's own descriptors are numbered as ever. */
static int choose_fd(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > CHILD_FD)
		return CHILD_FD;
	return (int)limit.rlim_cur - 1;
}

/* What is given is done, but its price is said. */
static void judge_periods(const struct sim_group *g)
{
	for (uint32_t i = 0; i < g->n_sampled; i++)
		period_judge(g->period[i]);
}

static int prepare(struct run *r)
{
	const struct record_opts *o = r->opts;
	int err;

	err = program_find(o->argc, o->argv, &r->program);
	if (err < 0)
		return err;
	if (program_gains_rights(r->program.path))
		sp_warn("%s runs with your rights, not with those its file gives (set-user-ID): the emulator "
		        "has none to give",
		        r->program.path);
	r->child_fd = choose_fd();
	err = find_emulator(r);
	return err < 0 ? err : sim_setup_make(o, r->program.isa, &r->setup);
}

static int make_sink(struct run *r)
{
	struct sink_config c = { .output = r->opts->output,
		                 .group = &r->setup.group,
		                 .branches = r->setup.branches > 0,
		                 .counting = r->opts->counting,
		                 .calls = r->opts->calls,
		                 .bursts = r->setup.bursts_hz > 0,
		                 .cpudesc = r->cpudesc,
		                 .cpuid = r->cpuid,
		                 .arch = arch_name(&r->program),
		                 .argc = r->opts->argc,
		                 .argv = r->opts->argv };

	snprintf(r->cpudesc, sizeof(r->cpudesc), "simulated core %s (skidsim)", r->setup.name);
	/* perf annotate insists on vendor, family, model and stepping. */
	snprintf(r->cpuid, sizeof(r->cpuid), "skidsim,0,0,0,%s", r->setup.core[0].name);
	return sink_new(&c, &r->sink);
}

static void big_buffers(int fd)
{
	int bytes = SOCKET_BYTES;

	/* Beyond the system's limit only root may go; where that fails, the limit it is. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int send_config(struct run *r, int fd)
{
	struct wire_config *c;
	ssize_t sent;
	size_t n;
	int err;

	err = sim_setup_message(&r->setup, r->opts, &c, &n);
	if (err < 0)
		return err;
	sent = send(fd, c, n, MSG_NOSIGNAL);
	free(c);
	return sent == (ssize_t)n ? 0 : sp_fail_errno("the socket to the emulator");
}

/* A dynamic linker that isn't at its place is looked for where Debian's cross packages have it. */
static const char *sysroot(const struct program *p, char *out, size_t size)
{
	char file[2 * PATH_MAX];

	if (!p->interp[0] || access(p->interp, R_OK) == 0)
		return NULL;
	snprintf(out, size, "/usr/%s-linux-gnu", arch_name(p));
	snprintf(file, sizeof(file), "%s%s", out, p->interp);
	return access(file, R_OK) == 0 ? out : NULL;
}

static int start(struct run *r, int program_fd)
{
	/* Programs built for today's processors find what they need; QARMA pointer signing would only cost time. */
	const char *cpu = r->program.isa == PROGRAM_AARCH64 ? "max,pauth-impdef=on" : "max";
	bool to_stdout = r->opts->output && strcmp(r->opts->output, "-") == 0;
	char root[64], path[PATH_MAX + 2], seed[16];
	const char *prefix = sysroot(&r->program, root, sizeof(root));
	char **argv = calloc((size_t)r->program.argc + MAX_ARGS, sizeof(*argv));
	int n = 0, err;

	if (!argv)
		return sp_fail(SP_ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s%s", r->program.path[0] == '-' ? "./" : "", r->program.path);
	argv[n++] = r->qemu;
	argv[n++] = (char *)"-cpu";
	argv[n++] = (char *)cpu;
	if (prefix) {
		argv[n++] = (char *)"-L";
		argv[n++] = (char *)prefix;
	}
	/* What the kernel would give at random, hash seeds among it: the same seed, the same run. */
	snprintf(seed, sizeof(seed), "%u", (unsigned)(r->opts->seed % UINT32_MAX));
	argv[n++] = (char *)"-seed";
	argv[n++] = seed;
	argv[n++] = (char *)"-plugin";
	argv[n++] = r->plugin_arg;
	argv[n++] = (char *)"-0";
	argv[n++] = r->program.argv[0];
	argv[n++] = path;
	for (int i = 1; i < r->program.argc; i++)
		argv[n++] = r->program.argv[i];
	for (int i = 0; i < n - r->program.argc + 1; i++)
		sp_debug("emulator, word %d: %s", i, argv[i]);
	err = launch_start(&r->child,
	                   &(struct launch_program){ .path = argv[0],
	                                             .argv = argv,
	                                             .keep_fd = program_fd,
	                                             .child_fd = r->child_fd,
	                                             .stdout_fd = to_stdout ? STDERR_FILENO : -1 });
	free(argv);
	return err;
}

/* One message, and the descriptor that came with it: -1 when none did. */
static ssize_t receive(struct run *r, void *buf, size_t size, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec whole = { buf, size };
	struct msghdr m = {
		.msg_iov = &whole, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(r->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}

/* All messages there are.  1 at the end of the stream. */
static int drain(struct run *r)
{
	static _Alignas(8) char buf[WIRE_MAX_BYTES];

	for (;;) {
		int fd, err;
		ssize_t n = receive(r, buf, sizeof(buf), &fd);

		/* One that is killed with messages unread resets it. */
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return 1;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			return sp_fail_errno("the socket from the emulator");
		err = sink_message(r->sink, buf, (size_t)n, fd);
		if (fd >= 0)
			close(fd);
		if (err < 0)
			return err;
	}
}

static double seconds_since(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - begun->tv_sec) + 1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

enum { PATIENCE_S = 2 };

/*
 * Of a program that takes longer than one waits without a word.  The terminal is the program's, which may have written half
 * a line: one that is drawn over and over would be in its way.  So there are whole lines, ever further apart.
 */
static void say_slow(const struct run *r, double now, double *next)
{
	uint64_t n = sink_n_samples(r->sink);

	if (now < *next || !isatty(STDERR_FILENO))
		return;
	if (*next <= PATIENCE_S)
		sp_note("the program runs on, emulated, which takes many times as long, and with floating "
		        "point most; Ctrl-C ends it and keeps what there is");
	else if (r->opts->output)
		sp_note("%.0f seconds, %ju sample%s so far", now, (uintmax_t)n, sp_plural(n));
	else
		sp_note("%.0f seconds so far", now);
	*next *= 2;
}

/*
 * Until the program ends.  Processes it leaves behind are not waited for, as
 * with perf record: what they have sent by then is kept.
 */
static int listen_to_end(struct run *r)
{
	struct pollfd signals = { r->child.signal_fd, POLLIN, 0 };
	bool open = true;
	double ticked = 0, next_note = PATIENCE_S;
	int err = 0;

	while (!r->child.ended && err >= 0) {
		double now;

		if (poll(&signals, 1, open ? PAUSE_MS : 1000) < 0 && errno != EINTR)
			return sp_fail_errno("poll");
		/* The end is noted first: what was sent before it is in the socket by then. */
		launch_signals(&r->child);
		err = open ? drain(r) : 0;
		open = err == 0;
		now = seconds_since(&r->begun);
		say_slow(r, now, &next_note);
		if (now - ticked >= 1) {
			sink_tick(r->sink);
			ticked = now;
		}
	}
	return err < 0 ? err : 0;
}

static void say_source(const struct run *r)
{
	char why[512];

	if (strcmp(r->opts->pmu, "auto") != 0) {
		sp_note("simulated core %s", r->setup.name);
		return;
	}
	snprintf(why, sizeof(why), "%s", pmu_clock.probe(r->opts) < 0 ? sp_error_text() : "");
	sp_note("simulated core %s: %s", r->setup.name, why);
}

static int converse(struct run *r)
{
	int pair[2], err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_fail_errno("socketpair");
	r->fd = pair[0];
	big_buffers(pair[0]);
	big_buffers(pair[1]);
	clock_gettime(CLOCK_MONOTONIC, &r->begun);
	err = send_config(r, pair[0]);
	if (err == 0)
		err = start(r, pair[1]);
	close(pair[1]);
	if (err == 0) {
		err = listen_to_end(r);
		/* Whatever it still sends is dropped there, and it runs on. */
		close(pair[0]);
		launch_wait(&r->child);
		launch_fini(&r->child);
		return err;
	}
	close(pair[0]);
	return err;
}

static const char *counted(uint32_t n, const char *one, const char *many, char out[static 32])
{
	snprintf(out, 32, "%u %s", n, n == 1 ? one : many);
	return out;
}

static void say_warnings(const struct run *r, const struct sink_summary *sum)
{
	char processes[32];

	if (sum->n_lost_execs)
		sp_warn("not recorded: %s (%u in all; the first because %s)%s", sum->lost_execs,
		        sum->n_lost_execs, sum->exec_why,
		        sum->main_exec ? "; the program itself became one of them" : "");
	if (sum->n_alive && r->child.status < 128)
		sp_warn("%s that the program started still run%s; the recording has ended with the program",
		        counted(sum->n_alive, "process", "processes", processes),
		        sum->n_alive == 1 ? "s" : "");
	if (r->child.status == 128 + SIGSEGV)
		sp_warn("the program ended with a segmentation fault%s",
		        strcmp(arch_name(&r->program), "x86_64") == 0
		                ? "; if it has none by itself and handles signals, it is QEMU's "
		                  "where that is older than 8.2 (man skidprof-record, LIMITS)"
		                : "");
	if (r->child.status == 128 + SIGILL && r->program.isa == PROGRAM_X86_64)
		sp_warn("the program ended with an illegal instruction; the emulator has AVX2, but no "
		        "AVX-512 "
		        "nor what is newer: build with -march=x86-64-v3, or -mno-avx512f after "
		        "-march=native");
}

/* In all sets. */
static uint64_t samples_of(const struct run *r, const struct sink_summary *sum, uint32_t event)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < r->setup.group.n; i++)
		n += r->setup.group.event[i] == event ? sum->n_samples[i] : 0;
	return n;
}

static void say_summary(const struct run *r, const struct sink_summary *sum)
{
	char events[2048] = "", processes[32], threads[32];
	uintmax_t rate = r->setup.group.rate_hz;
	uint64_t n = 0;
	size_t used = 0;

	for (uint32_t i = 0; i < r->setup.group.n_sampled; i++) {
		uint64_t n_samples = samples_of(r, sum, r->setup.group.event[i]);

		n += n_samples;
		if (used >= sizeof(events))
			continue;
		used += (size_t)snprintf(events + used, sizeof(events) - used, "%s%ju of %s at %s %ju%s",
		                         i ? ", " : "", (uintmax_t)n_samples,
		                         sim_event_name(r->setup.group.event[i]), rate ? "about" : "period",
		                         rate ? rate : (uintmax_t)sum->period[i], rate ? " Hz" : "");
	}
	sp_note("%ju sample%s (%s); %s, %s; %ju bytes in %s; none lost", (uintmax_t)n, sp_plural(n), events,
	        counted(sum->n_processes, "process", "processes", processes),
	        counted(sum->n_threads, "thread", "threads", threads), (uintmax_t)sum->bytes,
	        path_words(r->opts->output));
	if (sum->n_throttled)
		sp_note("events were throttled %ju time%s: they came more often than %ju times a second "
		        "(--max-rate)",
		        (uintmax_t)sum->n_throttled, sp_plural(sum->n_throttled),
		        (uintmax_t)r->opts->max_rate_hz);
	if (sim_setup_has_turns(&r->setup))
		sp_note("%u sets of events took turns of %g ms", r->setup.group.n_sets,
		        (double)r->opts->rotate_ns / 1e6);
	if (r->setup.bursts_hz > 0) {
		uint64_t n_bursts = sum->n_samples[r->setup.group.n];

		sp_note("%ju burst%s of %.0f branches", (uintmax_t)n_bursts, sp_plural(n_bursts),
		        n_bursts ? (double)sum->n_burst_branches / (double)n_bursts : 0);
	}
	if (n == 0)
		sp_warn("no samples: the program ended before its first period; try a smaller one with -c");
}

static int not_begun(const struct run *r, const struct sink_summary *sum)
{
	if (sum->refusal && *sum->refusal)
		return sp_fail(SP_EFORMAT, "%s: %s", r->setup.core[0].path, sum->refusal);
	if (r->child.status == 128 + SIGINT || r->child.status == 128 + SIGTERM)
		return sp_fail(SP_EIO,
		               "a signal ended the emulator before the program began: nothing was counted");
	return sp_fail(SP_ENOTSUP,
	               "%s ended with status %d before the program began; does it support plugins?", r->qemu,
	               r->child.status);
}

/* It runs a program of its own from end to end. */
static int simulated_probe(const struct record_opts *o)
{
	const char *what = o->pids             ? "-p"
	                   : o->tids           ? "-t"
	                   : o->whole_system   ? "-a"
	                   : o->cpus           ? "-C"
	                   : o->delay_s > 0    ? "-D"
	                   : o->duration_s > 0 ? "--duration"
	                   : o->max_bytes      ? "--max-size"
	                   : o->compress_level ? "-z"
	                   : o->stats          ? "--stats"
	                                       : NULL;

	if (o->timed_hz > 0)
		return sp_fail(SP_EUSAGE,
		               "--timed-bursts: the simulated core counts instructions; leave it out");
	if (what)
		return sp_fail(SP_EUSAGE,
		               "%s: the simulated core runs a whole program of its own, always alike; "
		               "take another source of samples (--pmu)",
		               what);
	return 0;
}

/* A program there must be: what is simulated is a core that it was built for. */
static int simulated_plan(const struct record_opts *opts, struct record_plan *out)
{
	struct run r = { .opts = opts, .fd = -1 };
	size_t used = 0;
	int err = prepare(&r);

	for (uint32_t i = 0; i < r.setup.group.n && err == 0 && used < sizeof(out->events); i++)
		used += (size_t)snprintf(out->events + used, sizeof(out->events) - used, "%s%s%s",
		                         i ? ", " : "", sim_event_name(r.setup.group.event[i]),
		                         i < r.setup.group.n_sampled ? "" : " (counted)");
	out->n_events = r.setup.group.n;
	out->counts = true;
	out->records = r.setup.branches > 0;
	out->tell_cycles = out->records && r.setup.core[0].counters.branch_cycles;
	out->bursts_hz = r.setup.bursts_hz;
	sim_setup_fini(&r.setup);
	program_fini(&r.program);
	return err;
}

static int simulated_run(const struct record_opts *opts, struct record_counts *counts, int *exit_status)
{
	struct run r = { .opts = opts, .fd = -1 };
	struct sink_summary sum = { 0 };
	char processes[32];
	int err, err2;

	if (opts->stacks == STACKS_FP || opts->stacks == STACKS_DWARF)
		return sp_fail(SP_ENOTSUP,
		               "-g %s: the simulated core's samples have no stacks but those of branch "
		               "records (-g lbr); "
		               "without any the code's flow tells who called (report --callers, --children)",
		               opts->stacks == STACKS_FP ? "fp" : "dwarf");
	err = simulated_probe(opts);
	if (err == 0)
		err = prepare(&r);
	if (err == 0)
		err = make_sink(&r);
	if (err < 0)
		goto out;
	if (opts->output) {
		say_source(&r);
		judge_periods(&r.setup.group);
		if (opts->bursts_hz < 0 && r.setup.bursts_hz > 0)
			bursts_say_beside(r.setup.branches > 0);
	}
	err = converse(&r);
	err2 = sink_close(r.sink, opts->counting ? counts : NULL, &sum);
	*exit_status = r.child.status;
	if (err == 0 && sum.n_processes == 0)
		err = not_begun(&r, &sum);
	if (err == 0)
		err = err2;
	if (err < 0)
		goto out;
	launch_say_killed(&r.child, opts->argv[0], opts->output);
	say_warnings(&r, &sum);
	if (opts->output)
		say_summary(&r, &sum);
	else
		sp_note("%ju instructions in %s%s", (uintmax_t)sum.n_insn,
		        counted(sum.n_processes, "process", "processes", processes),
		        r.child.killed_by ? ", until a signal ended it" : "");
out:
	sink_free(r.sink);
	sim_setup_fini(&r.setup);
	program_fini(&r.program);
	return err;
}

const struct pmu_ops pmu_simulated = {
	.name = "sim", .probe = simulated_probe, .plan = simulated_plan, .run = simulated_run
};
