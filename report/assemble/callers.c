/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/assemble/callers.h"

#include <string.h>

#include "correct/model/effort.h"
#include "report/profile.h"

enum {
	DEFAULT_MAX_STACK = 127, /* kernel.perf_event_max_stack, as it is shipped */
	LBR_MIN_DEPTH = 8,       /* no processor with a call stack among its branch records has fewer */
};

/* Markers of the kernel's between the parts of a chain: the highest addresses there are. */
#define FIRST_MARKER ((uint64_t)-4095)

static const uint64_t user_copy = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

static const struct perf_event_attr *attr_of(const struct recording *rec, size_t event)
{
	return &pd_event(rec->reader, event)->attr;
}

static bool has_copy(const struct perf_event_attr *a)
{
	return (a->sample_type & user_copy) == user_copy;
}

static bool has_lbr(const struct perf_event_attr *a)
{
	return a->sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       a->branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

bool callers_are_recorded(const struct recording *rec)
{
	return callers_source(rec)[0];
}

const char *callers_source(const struct recording *rec)
{
	const char *source = "";

	for (size_t i = 0; i < pd_n_events(rec->reader); i++) {
		const struct perf_event_attr *a = attr_of(rec, i);

		if ((int)i == rec->burst_event)
			continue;
		if (has_copy(a))
			return CHAINS_COPIES;
		if (has_lbr(a))
			return "branch records";
		if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
			source = "frame pointers";
	}
	return source;
}

bool callers_of_bursts(const struct recording *rec)
{
	const struct perf_event_attr *a =
	        rec->burst_event < 0 ? NULL : attr_of(rec, (size_t)rec->burst_event);

	return a && (has_copy(a) || a->sample_type & PERF_SAMPLE_CALLCHAIN);
}

static bool is_user(const struct pd_record *r)
{
	return (r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
}

/*
 * The kernel's chain; of samples whose user part is told in another way, the
 * kernel's part.  The address that the sample was at begins it, and is left out.
 */
static void add_chain(struct callers *c, const struct pd_record *r, bool no_user)
{
	const uint64_t *chain = r->sample.callchain;
	bool user = false, first = true;

	for (size_t i = 0; i < r->sample.n_callchain && i < EFFORT_FRAMES; i++) {
		bool own = first && chain[i] == r->sample.ip;

		if (no_user && chain[i] == (uint64_t)PERF_CONTEXT_USER)
			return;
		if (chain[i] >= FIRST_MARKER)
			user = chain[i] == (uint64_t)PERF_CONTEXT_USER;
		first = first && chain[i] >= FIRST_MARKER;
		/* Where the frame pointer was none, what it led to is anything: 0, or no address of the user's. */
		if (chain[i] >= FIRST_MARKER || own || !chain[i] ||
		    ((user || is_user(r)) && chain[i] >= KERNEL_HALF))
			continue;
		vec_add(&c->ips, chain[i]);
	}
}

static struct module *find_module(void *arg, uint32_t pid, uint64_t ip, uint64_t *vaddr)
{
	const struct recording *rec = arg;
	struct place at = recording_place(rec, pid, ip);

	*vaddr = at.vaddr;
	return at.module < 0 ? NULL : rec->modules[at.module];
}

/* By a copy of the user's stack. */
static void add_unwound(struct callers *c, struct recording *rec, const struct pd_record *r, bool *whole)
{
	struct unwind_sample in = recording_stack(rec, r);
	size_t n = 0, had = c->ips.n;

	*whole = false;
	if (in.isa == ISA_NONE || r->sample.regs_abi != PERF_SAMPLE_REGS_ABI_64)
		return;
	if (!c->unwind)
		unwind_new(find_module, rec, &c->unwind);
	vec_room(&c->ips, had + EFFORT_FRAMES);
	*whole = unwind_stack(c->unwind, &in, c->ips.v + had, EFFORT_FRAMES, &n);
	/* Where the user's code was is where the sample is, or it was in the kernel on behalf of that. */
	if (n && is_user(r))
		memmove(c->ips.v + had, c->ips.v + had + 1, --n * sizeof(*c->ips.v));
	else if (n)
		c->ips.v[had]++;
	c->ips.n = had + n;
}

/* By calls that are not back yet, the newest first: each record names the call itself. */
static void add_branches(struct callers *c, const struct recording *rec, bool *whole)
{
	size_t n = 0;

	for (size_t i = 0; i < rec->n_calls; i++) {
		if (!rec->apart[i].from_ip)
			continue;
		vec_add(&c->ips, rec->apart[i].from_ip + 1);
		vec_add(&c->entries, rec->apart[i].to_ip);
		n++;
	}
	/* As many as a processor keeps, a power of two, are rarely all. */
	*whole = n < LBR_MIN_DEPTH || (n & (n - 1)) != 0;
}

void callers_of(struct callers *c, struct recording *rec, const struct pd_record *r, bool *whole)
{
	size_t most = attr_of(rec, (size_t)rec->as_recorded)->sample_max_stack;
	bool by_branches = rec->n_calls && r->event != rec->burst_event;

	c->ips.n = c->entries.n = 0;
	*whole = r->sample.n_callchain < (most ? most : DEFAULT_MAX_STACK);
	add_chain(c, r, r->sample.regs_user || by_branches);
	if (r->sample.regs_user)
		add_unwound(c, rec, r, whole);
	else if (by_branches)
		add_branches(c, rec, whole);
}

void callers_fini(struct callers *c)
{
	unwind_free(c->unwind);
	vec_fini(&c->ips);
	vec_fini(&c->entries);
}
