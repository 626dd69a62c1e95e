/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "profiler/perfdata/reader_int.h"

/* Widths of the attr's fields in order; 1 = the flag bits, which the other byte order lays out from the far end. */
static const uint8_t attr_width[] = { 4, 4, 8, 8, 8, 8, 1, 4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8 };

static void swap_bits(uint8_t *p)
{
	for (int i = 0; i < 8; i++) {
		uint8_t b = p[i], out = 0;

		for (int k = 0; k < 8; k++)
			out |= (uint8_t)(((b >> k) & 1) << (7 - k));
		p[i] = out;
	}
}

static void swap_field(uint8_t *p, size_t width)
{
	for (size_t k = 0; k < width / 2; k++) {
		uint8_t t = p[k];

		p[k] = p[width - 1 - k];
		p[width - 1 - k] = t;
	}
}

void pd_attr_decode(struct perf_event_attr *attr, const uint8_t *p, size_t n, bool swap)
{
	uint8_t bytes[sizeof(*attr)] = { 0 };
	size_t off = 0;

	memcpy(bytes, p, n < sizeof(bytes) ? n : sizeof(bytes));
	for (size_t i = 0; swap && i < sizeof(attr_width); i++) {
		size_t width = attr_width[i] == 1 ? 8 : attr_width[i];

		if (off + width > sizeof(bytes))
			break;
		if (attr_width[i] == 1)
			swap_bits(bytes + off);
		else
			swap_field(bytes + off, width);
		off += width;
	}
	memcpy(attr, bytes, sizeof(bytes));
}

static const char *const hardware[] = {
	"cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
	"branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};

static const char *const software[] = {
	"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

static const char *const cache[] = { "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node" };
static const char *const cache_op[] = { "load", "store", "prefetch" };

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static void base_name(const struct perf_event_attr *a, char *out, size_t size)
{
	uint64_t c = a->config;

	if (a->type == PERF_TYPE_HARDWARE && (uint32_t)c < N_OF(hardware))
		snprintf(out, size, "%s", hardware[(uint32_t)c]);
	else if (a->type == PERF_TYPE_SOFTWARE && c < N_OF(software))
		snprintf(out, size, "%s", software[c]);
	else if (a->type == PERF_TYPE_HW_CACHE && (c & 0xff) < N_OF(cache) &&
	         (c >> 8 & 0xff) < N_OF(cache_op) && (c >> 16 & 0xff) < 2)
		snprintf(out, size, "%s-%s%s", cache[c & 0xff], cache_op[c >> 8 & 0xff],
		         (c >> 16 & 0xff) ? "-misses" : "s");
	else if (a->type == PERF_TYPE_TRACEPOINT)
		snprintf(out, size, "tracepoint %ju", (uintmax_t)c);
	else if (a->type == PERF_TYPE_BREAKPOINT)
		snprintf(out, size, "mem:0x%jx", (uintmax_t)a->bp_addr);
	else if (a->type == PERF_TYPE_RAW)
		snprintf(out, size, "raw 0x%jx", (uintmax_t)c);
	else
		snprintf(out, size, "type %u config 0x%jx", a->type, (uintmax_t)c);
}

char *pd_attr_name(const struct perf_event_attr *a)
{
	char base[64], *name = NULL;
	bool modified = a->exclude_kernel || a->exclude_user || a->precise_ip;

	base_name(a, base, sizeof(base));
	if (asprintf(&name, "%s%s%s%s%.*s", base, modified ? ":" : "",
	             modified && !a->exclude_kernel ? "k" : "", modified && !a->exclude_user ? "u" : "",
	             (int)a->precise_ip, "ppp") < 0) {
		sp_fail(SP_ENOMEM, "out of memory for an event's name");
		return NULL;
	}
	return name;
}
