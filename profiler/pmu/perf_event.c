/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/perf_event.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/host.h"

int pe_open(const struct perf_event_attr *attr, const struct pe_place *at)
{
	return (int)syscall(SYS_perf_event_open, attr, at->tid, at->cpu, at->group_fd, PERF_FLAG_FD_CLOEXEC);
}

uint64_t pe_id(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

void pe_raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int pe_paranoid(void)
{
	return host_number("/proc/sys/kernel/perf_event_paranoid", 2);
}

/* ENOENT, ENXIO, ENODEV and EOPNOTSUPP all mean that it isn't there. */
static bool means_absent(int error)
{
	return error == ENOENT || error == ENXIO || error == ENODEV || error == EOPNOTSUPP;
}

static bool is_of_processor(const struct perf_event_attr *attr)
{
	return attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT &&
	       attr->type != PERF_TYPE_BREAKPOINT;
}

static int fail_absent(const struct pe_event *event)
{
	if (!is_of_processor(&event->attr))
		return sp_fail(SP_ENOTSUP, "%s: this kernel has no such event", event->name);
	if (event->attr.sample_type & PERF_SAMPLE_BRANCH_STACK)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: this processor has no branch records, or none for this event; leave out -b "
		        "or give --no-branches",
		        event->name);
	if (pe_probe_hardware() < 0)
		return sp_fail_prefix(-SP_ENOTSUP, "%s", event->name);
	return sp_fail(SP_ENOTSUP,
	               "%s: this processor has no such event; 'skidprof record -e help' lists those "
	               "it has",
	               event->name);
}

/*
 * EACCES comes from the kernel's own rule, EPERM from it or from a container's
 * filter, which knows nothing of events and forbids the call as such.
 */
static int fail_forbidden(int error, const struct pe_event *event, const struct pe_place *at)
{
	int paranoid = pe_paranoid();
	const char *what = at->tid < 0 ? "sampling every task (-a, -C)" : "sampling the kernel (:k)";

	if (host_is_locked_down())
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: the kernel is locked down (confidentiality), which closes its counters to "
		        "everyone; boot with lockdown=integrity or without",
		        event->name);
	if (error == EPERM && host_seccomp() > 0)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: perf_event_open is forbidden by this container's seccomp filter; start it with "
		        "--cap-add PERFMON or --security-opt seccomp=unconfined",
		        event->name);
	/* Levels that some distributions added.  The kernel's code and other tasks need less than 2 anyway. */
	if (paranoid > 2 && at->tid >= 0 && event->attr.exclude_kernel)
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: kernel.perf_event_paranoid is %d, which closes counters to users; as root: "
		        "sysctl kernel.perf_event_paranoid=2",
		        event->name, paranoid);
	if (at->tid >= 0 && event->attr.exclude_kernel)
		return sp_fail(SP_ENOTSUP,
		               "process %d belongs to another user; record as that user or as root",
		               (int)at->tid);
	return sp_fail(SP_ENOTSUP,
	               "%s: %s needs CAP_PERFMON or root, or kernel.perf_event_paranoid at %d (it is %d)",
	               event->name, what, at->tid < 0 ? 0 : 1, paranoid);
}

int pe_fail(int error, const struct pe_event *event, const struct pe_place *at)
{
	if (means_absent(error))
		return fail_absent(event);
	switch (error) {
	case ENOSYS:
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: this kernel has no perf_event_open, or a container's seccomp filter hides it",
		        event->name);
	case EACCES:
	case EPERM:
		return fail_forbidden(error, event, at);
	case EBUSY:
		return sp_fail(SP_ENOTSUP,
		               "%s: the counters are taken, by the NMI watchdog (as root: sysctl "
		               "kernel.nmi_watchdog=0) or another profiler",
		               event->name);
	case ESRCH:
		return sp_fail(SP_ENOENT, "%s: there is no task %d (any more)", event->name, (int)at->tid);
	case EMFILE:
	case ENFILE:
		return sp_fail(SP_EIO,
		               "%s: out of descriptors: every task, event and CPU costs one; raise the limit "
		               "(ulimit -n) or record fewer events",
		               event->name);
	case EINVAL:
		return sp_fail(
		        SP_ENOTSUP,
		        "%s: the kernel refuses it (invalid argument): a modifier this processor doesn't "
		        "have, or more members than its counters",
		        event->name);
	default:
		return sp_fail(SP_ENOTSUP, "%s: %s", event->name, strerror(error));
	}
}

int pe_probe_hardware(void)
{
	static const struct pe_event cycles = { .attr = { .type = PERF_TYPE_HARDWARE,
		                                          .size = PERF_ATTR_SIZE_VER7,
		                                          .config = PERF_COUNT_HW_CPU_CYCLES,
		                                          .disabled = 1,
		                                          .exclude_kernel = 1,
		                                          .exclude_hv = 1 },
		                                .name = "cycles" };
	const struct pe_place us = { .tid = 0, .cpu = -1, .group_fd = -1 };
	int fd = pe_open(&cycles.attr, &us);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (!means_absent(errno))
		return pe_fail(errno, &cycles, &us);
	if (host_is_virtual())
		return sp_fail(SP_ENOTSUP, "this virtual machine has no PMU; turn the "
		                           "virtual PMU on in the host's settings (QEMU: -cpu host,pmu=on)");
	return sp_fail(SP_ENOTSUP, "no PMU: the kernel has no driver for this processor's counters, or the "
	                           "firmware hides them");
}
