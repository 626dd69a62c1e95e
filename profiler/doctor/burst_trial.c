/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/doctor/burst_trial.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/bursts.h"
#include "profiler/pmu/stepper.h"

/* Some may find the child not yet begun, or asleep where the machine is busy. */
enum { TRY_S = 5, CHILD_S = 30, ANSWER_MS = 3000, BETWEEN_US = 2000 };

__attribute__((noreturn)) static void branch_on(pid_t parent, pid_t tracer)
{
	volatile unsigned x = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (tracer)
		prctl(PR_SET_PTRACER, (unsigned long)tracer, 0, 0, 0);
	alarm(CHILD_S);
	for (;;)
		if (x & 1)
			x = 3 * x + 1;
		else
			x >>= 1;
}

static bool await(const struct stepper *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, ANSWER_MS);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static void try(struct stepper *s, pid_t child, struct burst_trial *out)
{
	static struct burst burst;
	const struct burst_limits limits = bursts_limits(0, NULL);

	time_t until = time(NULL) + TRY_S;

	while (time(NULL) <= until && !out->n_branches && !out->refusal) {
		if (stepper_ask(s, child, child, &limits) < 0 || !await(s) || stepper_answer(s, &burst) <= 0)
			break;
		if (burst.end == BURST_REFUSED)
			out->refusal = burst.error ? burst.error : EPERM;
		else if (burst.n == 0)
			usleep(BETWEEN_US);
		out->n_branches = burst.n;
	}
}

void burst_trial_run(bool own, struct burst_trial *out)
{
	struct stepper s;
	pid_t parent = getpid(), child;

	*out = (struct burst_trial){ 0 };
	if (stepper_start(&s) < 0) {
		snprintf(out->why, sizeof(out->why), "%s", sp_error_text());
		return;
	}
	out->started = true;
	out->replays = s.replays;
	fflush(NULL);
	child = fork();
	if (child == 0)
		branch_on(parent, own ? s.pid : 0);
	if (child > 0) {
		try(&s, child, out);
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	stepper_stop(&s);
}
