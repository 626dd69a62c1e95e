/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/awake.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/relax.h"
#include "profiler/pmu/cpus.h"

struct awake {
	_Atomic uint32_t *wanted; /* shared with the process, which waits while it is 0 */
	pid_t pid;
	int64_t cpu; /* -1: on none yet */
};

__attribute__((noreturn)) static void serve(_Atomic uint32_t *wanted, pid_t parent)
{
	const struct sched_param none = { 0 };

	prctl(PR_SET_NAME, "burst-awake");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Without it others would wait for us. */
	if (getppid() != parent || sched_setscheduler(0, SCHED_IDLE, &none) < 0)
		_exit(1);
	close_range(0, ~0u, 0);
	for (;;) {
		while (atomic_load_explicit(wanted, memory_order_relaxed))
			relax();
		syscall(SYS_futex, wanted, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
}

struct awake *awake_start(void)
{
	struct awake *a = calloc(1, sizeof(*a));
	pid_t parent = getpid();

	if (!a)
		return NULL;
	a->cpu = -1;
	a->wanted = mmap(NULL, sizeof(*a->wanted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->wanted == MAP_FAILED) {
		free(a);
		return NULL;
	}
	a->pid = fork();
	if (a->pid == 0)
		serve(a->wanted, parent);
	if (a->pid < 0) {
		munmap(a->wanted, sizeof(*a->wanted));
		free(a);
		return NULL;
	}
	return a;
}

void awake_begin(struct awake *a, uint32_t cpu)
{
	if (!a || (cpu != a->cpu && !cpus_pin(a->pid, (int)cpu)))
		return;
	a->cpu = cpu;
	atomic_store(a->wanted, 1);
	syscall(SYS_futex, a->wanted, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void awake_end(struct awake *a)
{
	if (a)
		atomic_store(a->wanted, 0);
}

pid_t awake_pid(const struct awake *a)
{
	return a ? a->pid : 0;
}

void awake_stop(struct awake *a)
{
	if (!a)
		return;
	kill(a->pid, SIGKILL);
	while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(a->wanted, sizeof(*a->wanted));
	free(a);
}
