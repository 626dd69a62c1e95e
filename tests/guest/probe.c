/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is there a PMU to test with?  Counts a loop whose instructions are known,
 * in user mode, and prints what libpfm4 takes the core for, the count, and
 * how far two counts of loops N turns apart differ from what they must.
 */
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* 4 instructions a turn. */
static void turns(uint64_t n)
{
	__asm__ volatile("1: nop\n\tnop\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(n)::"cc");
}

static uint64_t count(int fd, uint64_t n)
{
	uint64_t value = 0;

	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	turns(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	return read(fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static void print_cores(void)
{
	pfm_pmu_info_t info = { .size = sizeof(info) };

	if (pfm_initialize() != PFM_SUCCESS)
		return;
	for (int i = 0; i < PFM_PMU_MAX; i++)
		if (pfm_get_pmu_info((pfm_pmu_t)i, &info) == PFM_SUCCESS && info.is_present &&
		    info.type == PFM_PMU_TYPE_CORE)
			printf("core %s\n", info.name);
}

int main(void)
{
	static const char *const names[] = { "cycles", "instructions" };

	print_cores();
	for (uint64_t event = 0; event < 2; event++) {
		struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
			                        .size = sizeof(attr),
			                        .config = event,
			                        .disabled = 1,
			                        .exclude_kernel = 1 };
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

		if (fd < 0) {
			perror(names[event]);
			return 1;
		}
		printf("%s %jd\n", names[event], (intmax_t)(count(fd, 1100000) - count(fd, 100000)));
		close(fd);
	}
	return 0;
}
