/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * companion N COMMAND...: run it, and what it starts, with a second event that
 * interrupts every N user cycles and does nothing else.
 *
 * QEMU notices that its instruction counter has overflowed only when
 * something else happens.  With this, that is within N cycles: a known skid
 * of 0..N-1.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_HW_CPU_CYCLES,
		                        .disabled = 1,
		                        .inherit = 1,
		                        .enable_on_exec = 1,
		                        .exclude_kernel = 1 };

	if (argc < 3)
		return 2;
	attr.sample_period = strtoull(argv[1], NULL, 10);
	/* Left open: the event lives as long as the command. */
	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
		perror("companion");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
