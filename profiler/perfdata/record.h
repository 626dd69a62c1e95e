/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PERFDATA_RECORD_H
#define SKIDPROF_PERFDATA_RECORD_H

/*
 * A record of a perf.data file, decoded: numbers in native order, absent
 * fields zero.  Pointers are borrowed from the reader and live until the next
 * record is read.  Field meanings are those of perf_event_open(2).
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* User-space records that tools, not the kernel, write. */
enum pd_user_type {
	PD_HEADER_ATTR = 64,
	PD_EVENT_TYPE = 65,
	PD_TRACING_DATA = 66,
	PD_BUILD_ID = 67,
	PD_FINISHED_ROUND = 68,
	PD_ID_INDEX = 69,
	PD_AUXTRACE_INFO = 70,
	PD_AUXTRACE = 71,
	PD_AUXTRACE_ERROR = 72,
	PD_THREAD_MAP = 73,
	PD_CPU_MAP = 74,
	PD_STAT_CONFIG = 75,
	PD_STAT = 76,
	PD_STAT_ROUND = 77,
	PD_EVENT_UPDATE = 78,
	PD_TIME_CONV = 79,
	PD_HEADER_FEATURE = 80,
	PD_COMPRESSED = 81,
	PD_FINISHED_INIT = 82,
	PD_COMPRESSED2 = 83,
};

enum { PD_BUILD_ID_MAX = 20 };

struct pd_value { /* one counter of a group read */
	uint64_t id, value, lost;
	int event; /* index of the event it belongs to, -1 = unknown id */
};

struct pd_branch { /* one entry of a branch stack */
	uint64_t from_ip, to_ip;
	uint16_t cycles; /* 0 = not known */
	bool mispredicted, predicted;
};

struct pd_sample {
	uint64_t ip, addr, period, id, stream_id;
	uint64_t time_enabled_ns, time_running_ns; /* of the read; 0 = not recorded */
	const struct pd_value *values;             /* [n_values] group or single read */
	size_t n_values;
	const struct pd_branch *branches; /* [n_branches], newest first */
	size_t n_branches;
	const uint64_t *callchain; /* [n_callchain], PERF_CONTEXT_* markers kept */
	size_t n_callchain;
	/* Of the user's code when it was sampled, by rising bits of regs_mask; NULL = none. */
	const uint64_t *regs_user; /* [n_regs_user] */
	size_t n_regs_user;
	uint64_t regs_mask; /* the event's sample_regs_user */
	uint64_t regs_abi;  /* PERF_SAMPLE_REGS_ABI_* */
	const uint8_t *
	        stack_user; /* [stack_user_bytes] copied from the stack pointer on, in the recorded order of bytes */
	size_t stack_user_bytes;
};

struct pd_mmap {
	uint64_t ip, len_bytes, pgoff_bytes;
	uint32_t maj, min, prot, flags;
	uint64_t ino, ino_generation;
	uint8_t build_id[PD_BUILD_ID_MAX];
	size_t build_id_bytes; /* 0 = none in the record */
	const char *path;
	bool data; /* a mapping without execute permission (MISC_MMAP_DATA) */
};

struct pd_record {
	uint32_t type; /* PERF_RECORD_* or enum pd_user_type */
	uint16_t misc;
	uint64_t off; /* of the record in the file; for error messages */
	int event;    /* index into pd_event(); -1 = not known */
	uint32_t pid, tid, cpu;
	uint64_t time_ns; /* 0 = not recorded */
	union {
		struct pd_sample sample; /* of READ too: its values and times */
		struct pd_mmap mmap;     /* MMAP and MMAP2 */
		struct {
			const char *name;
			bool exec;
		} comm;
		struct { /* FORK and EXIT; pid, tid above are the child's */
			uint32_t ppid, ptid;
		} task;
		struct {
			uint64_t id, n;
		} lost; /* LOST and LOST_SAMPLES */
		struct {
			uint64_t stream_id; /* of the counter that was stopped, or goes on */
		} throttle; /* THROTTLE and UNTHROTTLE; event is the counter's, not the ring's */
	};
};

/* Of code of a virtual machine's guest, whose addresses mean nothing outside it? */
static inline bool pd_is_guests(const struct pd_record *rec)
{
	return (rec->misc & PERF_RECORD_MISC_CPUMODE_MASK) >= PERF_RECORD_MISC_GUEST_KERNEL;
}

#endif
