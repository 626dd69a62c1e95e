/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_CPUS_H
#define SKIDPROF_PMU_CPUS_H

/* Sets of CPUs, as the kernel and people write them: "0-3,8". */
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* -SP_EUSAGE, `option` named, for what is no such list. */
int cpus_parse(const char *option, const char *text, cpu_set_t *out);

/* Those that are online; what sysconf counts where the kernel doesn't list them. */
void cpus_online(cpu_set_t *out);

/* The thread runs on that CPU only from now on; tid 0: the caller.  False where it may not, or is gone. */
bool cpus_pin(pid_t tid, int cpu);

#endif
