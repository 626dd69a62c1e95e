/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * replay_marks STOPS STEPS SEED PROGRAM...: runs the program, stops it at random moments, has the replayer keep its pages,
 * steps it through STEPS instructions while its registers are noted at five of them, and has the replayer go there: the
 * memory is by then what those steps made of it.  Where it comes to the same registers and stack, the instructions and the
 * runs between the two that it chose must be those that were stepped.  Prints how often that was so.
 */
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/replayer.h"

enum { N_MARKS = 5 };

/* So long is for a replayer that hangs. */
static const uint64_t may_ns = 60000000000u;

static struct {
	unsigned stops, met, chosen, twice, differ, lost, cut;
} tally;

/* What a timer's interrupt tells. */
static bool take_mark(struct replayer *r, pid_t pid, struct rp_mark *out)
{
	struct iovec mine = { out->stack, sizeof(out->stack) }, theirs = { NULL, sizeof(out->stack) };
	ssize_t n;

	if (!replayer_take_registers(r, pid))
		return false;
	out->regs = replayer_request(r)->regs;
	theirs.iov_base = (void *)RP_STACK(&out->regs);
	n = process_vm_readv(pid, &mine, 1, &theirs, 1, 0);
	out->n_stack = n > 0 ? (uint32_t)n : 0;
	return true;
}

/* False: a system call, a signal, or the program's end came before. */
static bool step(pid_t pid, unsigned n)
{
	int status;

	for (unsigned i = 0; i < n; i++) {
		siginfo_t info;

		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, &status, __WALL) != pid ||
		    !WIFSTOPPED(status) || status >> 16 || WSTOPSIG(status) != SIGTRAP ||
		    ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) < 0 || info.si_code != TRAP_TRACE)
			return false;
	}
	return true;
}

static bool is_twice(const struct rp_reply *reply)
{
	for (unsigned k = 0; k < N_MARKS; k++)
		if (reply->mark_met[k] > 1)
			return true;
	return false;
}

static void judge(const struct rp_reply *reply, const uint64_t at[N_MARKS])
{
	uint64_t sum = 0, stepped, went;

	tally.stops++;
	if (!reply || !reply->to_mark) {
		bool twice = reply && is_twice(reply);

		tally.twice += twice;
		tally.lost += !twice;
		printf("# lost: %s after %ju at %#jx\n", reply ? replayer_end_words(reply->end) : "gone",
		       (uintmax_t)(reply ? reply->n_insns : 0), (uintmax_t)(reply ? reply->at_ip : 0));
		return;
	}
	for (uint32_t i = 0; i < reply->n_runs; i++)
		sum += reply->runs[i].n_insns;
	stepped = at[reply->to_mark] - at[reply->from_mark];
	went = reply->mark_insns[reply->to_mark] - reply->mark_insns[reply->from_mark];
	tally.met++;
	tally.chosen += is_twice(reply);
	if (sum == stepped && went == stepped)
		return;
	tally.differ++;
	printf("# from %u to %u: %ju, %ju in runs, where steps were %ju\n", reply->from_mark, reply->to_mark,
	       (uintmax_t)went, (uintmax_t)sum, (uintmax_t)stepped);
}

static void look(struct replayer *r, pid_t pid, unsigned n_steps)
{
	static uint8_t vectors[RP_VECTORS_BYTES];
	struct rp_request *q = replayer_request(r);
	struct rp_registers first;
	struct rp_mark marks[N_MARKS];
	uint64_t at[N_MARKS] = { 0 };
	bool ok = replayer_take_registers(r, pid) && replayer_keep(r, pid);

	first = q->regs;
	memcpy(vectors, q->vectors, sizeof(vectors));

	for (unsigned k = 0; k < N_MARKS && ok; k++) {
		unsigned n = n_steps / N_MARKS + (unsigned)rand() % 16;

		at[k] = n + (k ? at[k - 1] : 0);
		ok = step(pid, n) && take_mark(r, pid, &marks[k]);
		/* As the recorder does once the thread goes on. */
		if (ok && !k)
			replayer_keep_later(r);
	}
	tally.cut += !ok;
	q->regs = first;
	memcpy(q->vectors, vectors, sizeof(vectors));
	if (ok)
		judge(replayer_run_to_marks(r, marks, N_MARKS, 8ull * n_steps, may_ns), at);
}

static pid_t launch(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		execvp(argv[0], argv);
		_exit(127);
	}
	usleep(30000);
	return pid;
}

int main(int argc, char **argv)
{
	unsigned want, n_steps;
	struct replayer *r;
	pid_t pid;

	if (argc < 5)
		return 2;
	want = (unsigned)atoi(argv[1]);
	n_steps = (unsigned)atoi(argv[2]);
	srand((unsigned)atoi(argv[3]));
	if (replayer_start(&r) < 0) {
		fprintf(stderr, "%s\n", sp_error_text());
		return 77;
	}
	pid = launch(argv + 4);
	for (unsigned tries = 0; tally.stops < want && tries < 5 * want; tries++) {
		int status;

		usleep((unsigned)rand() % 4000);
		replayer_follow(r, -1);
		replayer_plan(r, pid);
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
			break;
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
			break;
		look(r, pid, n_steps);
		if (ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0)
			break;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("stops %u met %u chosen %u twice %u differ %u lost %u cut %u\n", tally.stops, tally.met,
	       tally.chosen, tally.twice, tally.differ, tally.lost, tally.cut);
	replayer_stop(r);
	return tally.differ != 0;
}
