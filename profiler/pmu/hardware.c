/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processor's own counters: whether they can be used here. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/pmu.h"

static const char *cause(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return "this machine has no PMU";
	case ENOSYS:
		return "this kernel has no perf_event_open";
	case EACCES:
	case EPERM:
		return "perf_event_open is forbidden (sysctl kernel.perf_event_paranoid, or a container's "
		       "rules)";
	default:
		return strerror(error);
	}
}

static int hardware_probe(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		                        .size = PERF_ATTR_SIZE_VER7,
		                        .config = PERF_COUNT_HW_CPU_CYCLES,
		                        .disabled = 1,
		                        .exclude_kernel = 1,
		                        .exclude_hv = 1 };
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return sp_fail(SP_ENOTSUP, "%s", cause(errno));
	close((int)fd);
	return 0;
}

const struct pmu_ops pmu_hardware = { .name = "hardware", .probe = hardware_probe };
