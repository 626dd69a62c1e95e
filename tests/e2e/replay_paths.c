/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_paths STOPS BRANCHES SEED PROGRAM...: runs the program, stops its threads at random moments, asks the replayer
 * which branches the thread would take from there, and then steps the thread through them: the processor's own word.
 * Prints how many stops there were, how many agreed, and why replays ended early.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/replayer.h"
#include "profiler/pmu/step.h"

#if defined(__x86_64__)
#define REGS_IP(u) ((u)->rip)
#else
#define REGS_IP(u) ((u)->pc)
#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif
#endif

enum { MAX_STEPS = 200000, MAX_THREADS = 256, HELD_MS = 10000, LIMIT_S = 240 };

struct stepped {
	uint32_t n;
	uint64_t n_steps;
	uint64_t at; /* where it stands */
	bool cut;    /* a signal, or what can't be stepped over */
	struct rp_branch v[RP_MAX_BRANCHES];
};

/* Code that waits for the clock takes another way when it is stepped, ten thousand times slower. */
static uint64_t vdso, vdso_end;

static struct tally {
	unsigned stops, agreed, differ, asleep, timed;
	unsigned long branches, compared, insns, missed, pages;
	unsigned ends[RP_N_ENDS];
	double replay_s, step_s;
} tally;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool get_regs(pid_t tid, struct user_regs_struct *u)
{
	struct iovec v = { u, sizeof(*u) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &v) == 0;
}

/* Stopped by us while it ran, and not in a system call. */
static bool is_running(pid_t tid)
{
#if defined(__x86_64__)
	struct user_regs_struct u;

	return get_regs(tid, &u) && (long)u.orig_rax < 0;
#else
	int number = -1;
	struct iovec v = { &number, sizeof(number) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &v) == 0 && number == -1;
#endif
}

static bool is_trap(pid_t tid, int status)
{
	siginfo_t info;

	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && !(status >> 16) &&
	       ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_code == TRAP_TRACE;
}

/* As long as the replay was, by the processor's trap flag.  *signal: to be delivered. */
static void step(struct step_decoder *d, pid_t tid, const struct rp_reply *r, struct stepped *out,
                 int *signal)
{
	struct user_regs_struct u;
	int status;

	memset(out, 0, offsetof(struct stepped, v));
	*signal = 0;
	if (!get_regs(tid, &u))
		return;
	out->at = REGS_IP(&u);
	while (out->n < r->n_branches && out->n_steps < MAX_STEPS) {
		uint8_t code[STEP_MAX_INSN_BYTES];
		struct iovec mine = { code, sizeof(code) }, theirs = { (void *)out->at, sizeof(code) };
		ssize_t n = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);
		struct step_insn insn;

		if (n <= 0) {
			theirs.iov_len = mine.iov_len = 4096 - out->at % 4096;
			n = process_vm_readv(tid, &mine, 1, &theirs, 1, 0);
		}
		insn = step_decode(d, code, n > 0 ? (size_t)n : 0, out->at);
		/* pushf and the like are stepped over here: the trap flag they see is mended by nobody, but no harm is done. */
		out->cut = true;
		if (insn.kind == STEP_NEVER || ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL) < 0)
			return;
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return;
		if (!is_trap(tid, status)) {
			*signal = status >> 16 ? 0 : WSTOPSIG(status);
			return;
		}
		if (!get_regs(tid, &u))
			return;
		out->cut = false;
		out->n_steps++;
		if (step_judge(insn, out->at, REGS_IP(&u)) == STEP_SEEN_TAKEN)
			out->v[out->n++] = (struct rp_branch){ out->at, REGS_IP(&u) };
		out->at = REGS_IP(&u);
	}
	/* A string instruction may have any number of turns. */
	out->cut = out->n_steps == MAX_STEPS;
}

static void compare(const struct rp_reply *r, const struct stepped *s)
{
	uint32_t n = s->n < r->n_branches ? s->n : r->n_branches;

	tally.stops++;
	tally.ends[r->end]++;
	tally.branches += r->n_branches;
	tally.compared += n;
	tally.insns += r->n_insns;
	tally.missed += r->n_missed;
	tally.pages += r->n_pages;
	for (uint32_t i = 0; i < n; i++)
		if (s->v[i].from_ip != r->branches[i].from_ip || s->v[i].to_ip != r->branches[i].to_ip) {
			if (s->v[i].from_ip >= vdso && s->v[i].from_ip < vdso_end) {
				tally.timed++;
				return;
			}
			tally.differ++;
			printf("# branch %u of %u: stepped %#jx -> %#jx, replayed %#jx -> %#jx, behind "
			       "%#jx\n",
			       i, r->n_branches, (uintmax_t)s->v[i].from_ip, (uintmax_t)s->v[i].to_ip,
			       (uintmax_t)r->branches[i].from_ip, (uintmax_t)r->branches[i].to_ip,
			       (uintmax_t)(i ? s->v[i - 1].to_ip : r->regs.ip));
			return;
		}
	/* What stepping could not follow is no difference. */
	if (s->n < r->n_branches && !s->cut) {
		tally.differ++;
		printf("# stepping saw only %u of %u\n", s->n, r->n_branches);
		return;
	}
	tally.agreed++;
	if (rp_end_is_ours(r->end) || r->end == RP_END_FAULT)
		printf("# %s at %#jx (%#jx) after %u branches\n", replayer_end_words(r->end),
		       (uintmax_t)r->at_ip, (uintmax_t)r->fault_at, r->n_branches);
}

static void find_vdso(pid_t pid)
{
	char path[64], line[512];
	unsigned long begin, end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &begin, &end) == 2)
			vdso = begin, vdso_end = end;
	if (f)
		fclose(f);
}

/* All threads of a process, stopped at once: what one of them does is not to be changed by the others meanwhile. */
struct stopped {
	size_t n;
	struct {
		pid_t tid;
		int status, signal;
	} v[MAX_THREADS];
};

static void stop_thread(struct stopped *s, pid_t tid)
{
	int status;

	if (s->n == MAX_THREADS || ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return;
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return;
	s->v[s->n].tid = tid;
	s->v[s->n].status = status;
	s->v[s->n++].signal = status >> 16 ? 0 : WSTOPSIG(status);
}

static void stop_all(struct stopped *s, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	s->n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			stop_thread(s, (pid_t)atoi(e->d_name));
	if (dir)
		closedir(dir);
}

/* True when the replayer was asked. */
static bool both_ways(struct replayer *r, struct step_decoder *d, pid_t pid, pid_t tid, uint32_t n_branches,
                      int *signal)
{
	static struct stepped stepped;
	const struct rp_reply *reply;
	double t;

	replayer_follow(r, -1);
	if (!replayer_take_registers(r, tid))
		return false;
	find_vdso(pid);
	t = now_s();
	reply = replayer_run(r, pid, n_branches, HELD_MS * 1000000ull);
	tally.replay_s += now_s() - t;
	if (!reply) {
		tally.differ++;
		printf("# the replayer is gone\n");
		return false;
	}
	t = now_s();
	step(d, tid, reply, &stepped, signal);
	tally.step_s += now_s() - t;
	compare(reply, &stepped);
	return true;
}

static void look(struct replayer *r, struct step_decoder *d, pid_t pid, uint32_t n_branches)
{
	static struct stopped s;
	bool asked = false;
	size_t k;

	stop_all(&s, pid);
	if (!s.n)
		return;
	k = (size_t)rand() % s.n;
	if (s.v[k].status >> 16 == PTRACE_EVENT_STOP && is_running(s.v[k].tid))
		asked = both_ways(r, d, pid, s.v[k].tid, n_branches, &s.v[k].signal);
	else
		tally.asleep++;
	for (size_t i = 0; i < s.n; i++)
		ptrace(PTRACE_DETACH, s.v[i].tid, NULL, (void *)(long)s.v[i].signal);
	if (asked)
		replayer_learn(r);
}

static pid_t launch(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	struct replayer *r;
	struct step_decoder *d;
	unsigned want;
	uint32_t n_branches;
	pid_t pid = 0;

	if (argc < 5)
		return 2;
	want = (unsigned)atoi(argv[1]);
	n_branches = (uint32_t)atoi(argv[2]);
	srand((unsigned)atoi(argv[3]));
	if (replayer_start(&r) < 0 || step_decoder_new(&d) < 0) {
		fprintf(stderr, "%s\n", sp_error_text());
		return 77;
	}
	/* A program that is found asleep is looked at again: on a busy machine it may take seconds to begin. */
	for (double end_s = now_s() + LIMIT_S; tally.stops < want && now_s() < end_s;) {
		int status;

		if (pid && waitpid(pid, &status, WNOHANG) == pid)
			pid = 0;
		if (!pid) {
			pid = launch(argv + 4);
			usleep(30000);
		}
		usleep((unsigned)rand() % 4000);
		look(r, d, pid, n_branches);
	}
	if (pid)
		kill(pid, SIGKILL);
	printf("stops %u agreed %u timed %u differ %u branches %lu compared %lu insns %lu pages %lu missed "
	       "%lu replay_us %.0f step_us %.0f ends",
	       tally.stops, tally.agreed, tally.timed, tally.differ, tally.branches, tally.compared,
	       tally.insns, tally.pages, tally.missed, tally.stops ? 1e6 * tally.replay_s / tally.stops : 0,
	       tally.stops ? 1e6 * tally.step_s / tally.stops : 0);
	for (uint32_t i = 0; i < RP_N_ENDS; i++)
		if (tally.ends[i])
			printf(" [%s: %u]", replayer_end_words(i), tally.ends[i]);
	printf("\n");
	/* Signals cut stepping short, but not most of the time. */
	return tally.differ != 0 || tally.stops < want || 2 * tally.compared < tally.branches;
}
