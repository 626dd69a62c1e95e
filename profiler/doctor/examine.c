/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/doctor/doctor.h"
#include "profiler/perfdata/writer.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/event_trial.h"
#include "profiler/pmu/host.h"
#include "profiler/pmu/pmu.h"
#include "profiler/pmu/program.h"

#if defined(__aarch64__)
#define OTHER_EMULATOR "qemu-x86_64"
#else
#define OTHER_EMULATOR "qemu-aarch64"
#endif

/* Counts of this many events settle most flows; every processor of the last ten years counts six at once. */
enum { GOOD_EVENTS = 5 };

static struct doctor_check *add(struct doctor *d, const char *name, enum doctor_state state)
{
	struct doctor_check *c = &d->check[d->n < DOCTOR_CHECKS ? d->n++ : DOCTOR_CHECKS - 1];

	*c = (struct doctor_check){ .name = name, .state = state };
	return c;
}

__attribute__((format(printf, 2, 3))) static void found(struct doctor_check *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->found, sizeof(c->found), fmt, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void remedy(struct doctor_check *c, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->remedy, sizeof(c->remedy), fmt, args);
	va_end(args);
}

/* The last error is worded "cause; what to do". */
static void found_error(struct doctor_check *c, const char *otherwise)
{
	const char *text = sp_error_text(), *rest = strstr(text, "; ");

	found(c, "%.*s", rest ? (int)(rest - text) : (int)strlen(text), text);
	remedy(c, "%s", rest ? rest + 2 : otherwise);
}

static void take(char *text, char *out, size_t size)
{
	snprintf(out, size, "%s", text ? text : "");
	free(text);
}

static void see_machine(struct doctor_machine *m)
{
	struct utsname u;

	if (uname(&u) == 0)
		snprintf(m->kernel, sizeof(m->kernel), "%.30s %.90s", u.sysname, u.release);
	take(pd_machine_arch(), m->arch, sizeof(m->arch));
	take(pd_machine_cpudesc(), m->cpu, sizeof(m->cpu));
	m->is_virtual = host_is_virtual();
	m->container = host_container();
	m->user_namespace = host_in_user_namespace();
	m->seccomp = host_seccomp();
	m->paranoid = host_number("/proc/sys/kernel/perf_event_paranoid", -1);
	m->ptrace_scope = host_number("/proc/sys/kernel/yama/ptrace_scope", -1);
	m->kptr_restrict = host_number("/proc/sys/kernel/kptr_restrict", -1);
}

static void see_events(struct doctor *d, const struct event_group *g)
{
	struct doctor_check *c;
	size_t end = event_group_end(g, 0);

	c = add(d, "events", g->n >= GOOD_EVENTS ? DOCTOR_OK : DOCTOR_PARTLY);
	found(c, "%zu are counted at the same time by default", g->n);
	if (c->state == DOCTOR_PARTLY)
		remedy(c,
		       "free counters: as root sysctl kernel.nmi_watchdog=0, and stop other profilers; in a "
		       "virtual machine give it more of the host's");
	c = add(d, "group reads", DOCTOR_OK);
	if (end > 1 && event_trial(g, 0, end, false)) {
		found(c, "a sample carries the counts of all %zu", end);
		return;
	}
	c->state = DOCTOR_MISSING;
	found(c, "events don't count as a group, so that totals of a region are not exact");
	remedy(c, "name fewer events (-e instructions,cycles)");
}

static void see_records(struct doctor *d, const struct record_plan *plan)
{
	struct doctor_check *c = add(d, "branch records", DOCTOR_OK);

	if (plan->records && plan->tell_cycles) {
		found(c, "with each sample, and with cycles");
		return;
	}
	if (plan->records) {
		c->state = DOCTOR_PARTLY;
		found(c, "with each sample, without cycles");
		remedy(c, "nothing to do: bursts, taken beside them, tell more there");
		return;
	}
	c->state = DOCTOR_MISSING;
	found(c, "this processor, kernel or virtual machine has none");
	remedy(c, "bursts take their place; real ones need Intel, AMD Zen 3 and later (Linux 6.1 for Zen 4), "
	          "or Arm "
	          "with BRBE, and in a virtual machine a host that passes them on");
}

static void see_precision(struct doctor *d, const struct event_group *g)
{
	int most = event_group_most_precise(&g->v[0]);
	struct doctor_check *c = add(d, "precise events", most > 0 ? DOCTOR_OK : DOCTOR_MISSING);

	if (most > 0) {
		found(c, "up to precise_ip %d (-e %.60s:%.*s)", most, "instructions", most, "ppp");
		return;
	}
	if (access("/sys/bus/event_source/devices/arm_spe_0", F_OK) == 0) {
		found(c, "Arm's SPE");
		remedy(c, "'perf record -e arm_spe_0// PROGRAM' records it, and skidprof report reads that "
		          "file");
		return;
	}
	found(c, "no PEBS, IBS or SPE for %s", g->v[0].name);
	remedy(c, "not needed: the skid is measured and corrected; in a virtual machine the host must pass "
	          "them on");
}

/* The processor's counters, and what they can. */
static void see_counters(struct doctor *d, const struct record_opts *opts)
{
	static const char *const names[] = { "events", "group reads", "branch records", "precise events" };
	struct record_plan plan = { 0 };
	struct event_group group;
	struct doctor_check *c = add(d, "counters", DOCTOR_OK);
	bool there = pmu_hardware.probe(opts) == 0;

	if (there && event_group_choose("/sys", opts, &group) == 0 && pmu_hardware.plan(opts, &plan) == 0) {
		found(c, "%s", plan.events);
		see_events(d, &group);
		see_records(d, &plan);
		see_precision(d, &group);
		return;
	}
	c->state = DOCTOR_MISSING;
	found_error(c, "the clock takes their place (record --pmu clock)");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		c = add(d, names[i], DOCTOR_MISSING);
		found(c, "needs counters");
	}
}

static void see_clock(struct doctor *d, const struct record_opts *opts)
{
	bool there = pmu_clock.probe(opts) == 0;
	struct doctor_check *c = add(d, "clock", there ? DOCTOR_OK : DOCTOR_MISSING);

	if (there)
		found(c, "cpu-clock can be sampled");
	else
		found_error(c, "the simulated core needs nothing of the kernel (record --pmu sim)");
}

static int open_clock(bool kernel, pid_t tid, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		                        .size = PERF_ATTR_SIZE_VER5,
		                        .config = PERF_COUNT_SW_CPU_CLOCK,
		                        .exclude_kernel = !kernel,
		                        .disabled = 1 };
	const struct pe_place at = { .tid = tid, .cpu = cpu, .group_fd = -1 };
	const struct pe_event event = { .attr = attr, .name = "cpu-clock" };
	int fd = pe_open(&attr, &at);

	if (fd < 0)
		return pe_fail(errno, &event, &at);
	close(fd);
	return 0;
}

/* Levels of perf_event_paranoid, by what they forbid. */
static void see_permissions(struct doctor *d, const struct record_opts *opts)
{
	struct doctor_check *c;

	if (pmu_clock.probe(opts) < 0) {
		found(add(d, "kernel code", DOCTOR_MISSING), "needs the clock");
		found(add(d, "whole system", DOCTOR_MISSING), "needs the clock");
		return;
	}
	c = add(d, "kernel code", open_clock(true, 0, -1) == 0 ? DOCTOR_OK : DOCTOR_MISSING);
	if (c->state == DOCTOR_OK)
		found(c, "may be sampled (-e cpu-clock:uk; with counters -e cycles:uk)");
	else
		found_error(c, "as root: sysctl kernel.perf_event_paranoid=1");
	c = add(d, "whole system", open_clock(false, -1, 0) == 0 ? DOCTOR_OK : DOCTOR_MISSING);
	if (c->state == DOCTOR_OK)
		found(c, "may be sampled (-a)");
	else
		found_error(c, "as root: sysctl kernel.perf_event_paranoid=0");
}

static bool kernel_addresses_shown(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long at = 0;
	char line[256];

	/* The first symbols may well be at 0: per-CPU offsets. */
	for (int i = 0; f && !at && i < 4096 && fgets(line, sizeof(line), f); i++)
		at = strtoull(line, NULL, 16);
	if (f)
		fclose(f);
	return at != 0;
}

static void see_kernel_symbols(struct doctor *d)
{
	bool there = kernel_addresses_shown();
	struct doctor_check *c = add(d, "kernel symbols", there ? DOCTOR_OK : DOCTOR_MISSING);

	if (there) {
		found(c, "/proc/kallsyms shows addresses");
		return;
	}
	found(c, "/proc/kallsyms hides addresses (kernel.kptr_restrict is %d)", d->machine.kptr_restrict);
	remedy(c, "only for samples of kernel code: record as root, or as root sysctl kernel.kptr_restrict=0 "
	          "kernel.perf_event_paranoid=1");
}

/* What a trial that was refused says of the kernel's rule. */
static void found_refusal(struct doctor_check *c, const struct doctor_machine *m, int refusal)
{
	found(c, "refused: %s", strerror(refusal));
	if (m->ptrace_scope > 0) {
		found(c, "refused: kernel.yama.ptrace_scope is %d", m->ptrace_scope);
		remedy(c, m->ptrace_scope < 3
		                  ? "as root: sysctl kernel.yama.ptrace_scope=0, or run skidprof as root"
		                  : "3 stays until the next boot: boot with another value");
	} else if (m->seccomp) {
		remedy(c, "a filter of system calls forbids ptrace: start the container with --cap-add "
		          "SYS_PTRACE");
	} else {
		remedy(c, "another program traces it, or a security module (SELinux, AppArmor) forbids it");
	}
}

static void see_bursts(struct doctor *d)
{
	struct doctor_check *c = add(d, "bursts", DOCTOR_OK);
	struct burst_trial t;

	burst_trial_run(true, &t);
	if (!t.started) {
		c->state = DOCTOR_MISSING;
		found_error(c, "record with --bursts=0");
	} else if (t.refusal) {
		c->state = DOCTOR_MISSING;
		found_refusal(c, &d->machine, t.refusal);
	} else if (!t.n_branches) {
		c->state = DOCTOR_UNKNOWN;
		found(c, "none of a small program came back: is the machine very busy?");
		remedy(c, "try again");
	} else {
		d->bursts = t.replays ? DOCTOR_REPLAYED : DOCTOR_STEPPED;
		found(c, "%s, %u branches of a loop", t.replays ? "replayed" : "stepped", t.n_branches);
	}
	if (d->bursts == DOCTOR_STEPPED) {
		c->state = DOCTOR_PARTLY;
		remedy(c, "%s", bursts_why_stepped());
	}
}

static void see_attaching(struct doctor *d)
{
	struct doctor_check *c = add(d, "running programs", DOCTOR_OK);
	struct burst_trial t;

	if (d->bursts == DOCTOR_NO_BURSTS) {
		c->state = DOCTOR_MISSING;
		found(c, "needs bursts");
		return;
	}
	burst_trial_run(false, &t);
	if (t.refusal) {
		c->state = DOCTOR_MISSING;
		found_refusal(c, &d->machine, t.refusal);
	} else if (!t.n_branches) {
		c->state = DOCTOR_UNKNOWN;
		found(c, "no burst came back");
		remedy(c, "try again");
	} else {
		found(c, "bursts of your own programs that run already (-p) are allowed");
	}
}

/* A program runs under it, counted; nothing is written.  Signals are put back as they were. */
static int try_emulator(struct record_opts *opts)
{
	struct record_counts counts = { 0 };
	int status = 0, level = sp_log_level(), err;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	sp_log_level_set(-1);
	err = record_run(opts, &counts, &status);
	sp_log_level_set(level);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	if (err == 0 && (status != 0 || !counts.n))
		err = sp_fail(SP_ENOTSUP,
		              "%s ended with status %d under the emulator; try another build of it",
		              opts->argv[0], status);
	record_counts_fini(&counts);
	return err;
}

static void see_emulator(struct doctor *d, const struct record_opts *ours)
{
	struct record_plan plan;
	char path[PATH_MAX], other[PATH_MAX];
	char *argv[] = { path, NULL };
	struct record_opts opts = { .pmu = "sim", .counting = true, .seed = 1, .argc = 1, .argv = argv };
	struct doctor_check *c;

	if (pmu_simulated.plan(ours, &plan) < 0) {
		c = add(d, "emulator", DOCTOR_MISSING);
		found_error(c, "only truth and record --pmu sim need it");
	} else if (!program_search("true", path)) {
		c = add(d, "emulator", DOCTOR_UNKNOWN);
		found(c, "there is no program 'true' in PATH to try it with");
	} else if (try_emulator(&opts) < 0) {
		c = add(d, "emulator", DOCTOR_MISSING);
		found_error(c, "only truth and record --pmu sim need it");
	} else {
		c = add(d, "emulator", DOCTOR_OK);
		found(c, "truth and record --pmu sim work; programs of the other architecture: %s",
		      program_search(OTHER_EMULATOR, other) ? "too"
		                                            : "not (" OTHER_EMULATOR " is not there)");
	}
}

static bool has_debuginfod(void)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
		                                  .find_debuginfo = dwfl_standard_find_debuginfo };
	Dwfl *dwfl = dwfl_begin(&callbacks);
	bool has = dwfl && dwfl_get_debuginfod_client(dwfl);

	dwfl_end(dwfl);
	return has;
}

/* Of libraries; a program's own comes with -g. */
static void see_debug_info(struct doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct doctor_check *c = add(d, "debug info", DOCTOR_OK);
	bool local = access("/usr/lib/debug/.build-id", F_OK) == 0, client = has_debuginfod();

	if (urls && *urls && client) {
		found(c, "asked of %s%s", urls, local ? ", and /usr/lib/debug has some" : "");
		return;
	}
	c->state = local ? DOCTOR_PARTLY : DOCTOR_MISSING;
	found(c, "%s for libraries%s", local ? "/usr/lib/debug has some" : "none is installed",
	      urls && *urls ? ", and the library libdebuginfod, which asks servers, is not there" : "");
	if (urls && *urls)
		remedy(c, "install libdebuginfod1 (or elfutils-debuginfod-client)");
	else
		remedy(c, "compile your own with -g; for libraries export "
		          "DEBUGINFOD_URLS=https://debuginfod.debian.net (or your distribution's server)");
}

/* Words for what record_plan() says. */
static void say_plan(struct doctor *d, double budget)
{
	const struct record_plan *p = &d->plan;
	char bursts[128] = "";

	if (p->bursts_hz > 0 && strcmp(p->source, "sim") == 0)
		snprintf(bursts, sizeof(bursts), ", and bursts");
	else if (p->bursts_hz > 0 && d->bursts == DOCTOR_NO_BURSTS)
		snprintf(bursts, sizeof(bursts), ", and no bursts, as those can't be taken");
	else if (p->bursts_hz > 0)
		snprintf(bursts, sizeof(bursts), ", and bursts, %s, for up to %g%% of its time",
		         d->bursts == DOCTOR_STEPPED ? "stepped" : "replayed", 100 * budget);
	snprintf(d->makes, sizeof(d->makes), "samples of %s (--pmu %s)%s%s", p->events, p->source,
	         p->records ? ", with branch records" : "", bursts);
}

static void judge(struct doctor *d)
{
	const struct record_plan *p = &d->plan;
	bool bursts = p->bursts_hz > 0 && d->bursts != DOCTOR_NO_BURSTS;
	const char *what;

	d->corrected = p->counts || bursts;
	if (strcmp(p->source, "sim") == 0)
		what = "instructions and IPC of each function, on a simulated core: not this processor's "
		       "cycles";
	else if (p->counts && (p->records || bursts))
		what = "instructions of each function, and IPC with them, each with an interval";
	else if (p->counts)
		what = "instructions of functions where totals of other events and the places of samples "
		       "settle "
		       "them; the others are marked weak or unreliable";
	else if (bursts && d->bursts == DOCTOR_REPLAYED)
		what = "each function's share of its loop's instructions ('skidprof truth' counts the "
		       "instructions)";
	else if (bursts)
		what = "each function's share of its loop's instructions, after minutes: stepped bursts are "
		       "few";
	else
		what = "nothing: it shows where time went, as it was sampled";
	snprintf(d->corrects, sizeof(d->corrects), "%s", what);
}

static void see_plan(struct doctor *d, const struct record_opts *opts)
{
	if (record_plan(opts, &d->plan) < 0) {
		d->plan = (struct record_plan){ 0 };
		snprintf(d->why, sizeof(d->why), "%s", sp_error_text());
		snprintf(d->corrects, sizeof(d->corrects), "nothing");
		return;
	}
	say_plan(d, opts->burst_budget);
	judge(d);
}

void doctor_examine(struct doctor *d)
{
	/* A program of this machine's: ourselves. */
	char *argv[] = { (char *)"/proc/self/exe", NULL };
	struct record_opts opts = record_opts_default();

	*d = (struct doctor){ 0 };
	opts.argc = 1;
	opts.argv = argv;
	see_machine(&d->machine);
	see_counters(d, &opts);
	see_clock(d, &opts);
	see_bursts(d);
	see_attaching(d);
	see_permissions(d, &opts);
	see_kernel_symbols(d);
	see_emulator(d, &opts);
	see_debug_info(d);
	see_plan(d, &opts);
}
