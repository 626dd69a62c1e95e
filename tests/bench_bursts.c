/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bench_bursts N PROGRAM...: N bursts each of 160 and of 1,000 branches, replayed and stepped in turns, of the same run of
 * the program.  Prints the median time that its thread was held, in microseconds: replayed 160, 1,000, stepped 160, 1,000.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/awake.h"
#include "profiler/pmu/burst.h"
#include "profiler/pmu/replayer.h"

enum { N_KINDS = 4, MAX_BURSTS = 10000, LONG_NS = 2000000000, STEPS_PER_BRANCH = 100 };

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static pid_t launch(char **argv)
{
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		/* Where the time is over and we are killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
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
	static const uint32_t lengths[N_KINDS] = { 160, 1000, 160, 1000 };
	static double held_us[N_KINDS][MAX_BURSTS];
	static struct burst b;
	struct burst_tools tools[2] = { 0 };
	size_t n[N_KINDS] = { 0 }, wanted = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	volatile sig_atomic_t stop = 0;
	pid_t pid;

	if (!wanted || wanted > MAX_BURSTS)
		return 2;
	if (step_decoder_new(&tools[1].decoder) < 0 || replayer_start(&tools[0].replayer) < 0) {
		fprintf(stderr, "%s\n", sp_error_text());
		return 77;
	}
	tools[0].decoder = tools[1].decoder;
	tools[0].awake = awake_start();
	pid = launch(argv + 2);
	srand(1);
	for (size_t k = 0; n[0] + n[1] + n[2] + n[3] < N_KINDS * wanted && k < 400 * wanted; k++) {
		/* Not in order: what one replay fetched is at hand for the next. */
		unsigned kind = (unsigned)rand() % N_KINDS;
		const struct burst_limits limits = { .n_branches = lengths[kind],
			                             .n_stepped = lengths[kind],
			                             .n_steps = lengths[kind] * STEPS_PER_BRANCH,
			                             .held_ns = LONG_NS,
			                             .replay_ns = LONG_NS };

		if (n[kind] == wanted)
			continue;
		if (waitpid(pid, NULL, WNOHANG) == pid)
			pid = launch(argv + 2);
		usleep((unsigned)rand() % 3000);
		burst_take(&tools[kind / 2], pid, pid, &limits, &stop, &b);
		if (b.end == BURST_WHOLE && b.n == lengths[kind] && b.replayed == (kind < 2))
			held_us[kind][n[kind]++] = 1e-3 * (double)b.held_ns;
	}
	kill(pid, SIGKILL);
	awake_stop(tools[0].awake);
	replayer_stop(tools[0].replayer);
	for (unsigned kind = 0; kind < N_KINDS; kind++) {
		qsort(held_us[kind], n[kind], sizeof(double), ascending);
		printf("%.0f%c", n[kind] ? held_us[kind][n[kind] / 2] : 0, kind + 1 < N_KINDS ? ' ' : '\n');
	}
	return n[N_KINDS - 1] == 0;
}
