/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/recording/entry.h"

#include <string.h>

#include "correct/model/effort.h"
#include "profiler/binary/module.h"

bool entry_is(const struct recording *r, const struct pd_record *rec)
{
	const struct perf_event_attr *a = &pd_event(r->reader, (size_t)rec->event)->attr;

	return rec->sample.ip >= KERNEL_HALF && a->exclude_kernel && !a->exclude_user;
}

static uint64_t by_chain(const struct pd_sample *s)
{
	bool user = false;

	for (size_t i = 0; i < s->n_callchain; i++) {
		if (user && s->callchain[i] < KERNEL_HALF)
			return s->callchain[i];
		user = s->callchain[i] == (uint64_t)PERF_CONTEXT_USER;
	}
	return 0;
}

static uint64_t by_registers(const struct recording *r, const struct pd_record *rec)
{
	const struct unwind_sample copy = recording_stack(r, rec);
	uint64_t ip;

	return copy.isa != ISA_NONE && unwind_pc(&copy, &ip) ? ip : 0;
}

/*
 * Behind the system call that the code at ip comes to without a branch; ip where it comes to none: a fault, say.  STAYS: what may
 * as well have stayed in a loop, at whose end the call stands, comes to none.
 */
static uint64_t behind_call(struct recording *r, uint32_t pid, uint64_t ip, bool stays)
{
	struct place at = recording_place(r, pid, ip);
	const struct module *m = at.module >= 0 ? r->modules[at.module] : NULL;
	struct insn insn;
	uint64_t passed = 0;

	if (!m || module_state(m) != MODULE_OK ||
	    (!r->decoder && insn_decoder_new(module_isa(m), &r->decoder) < 0))
		return ip;
	for (int i = 0; i < EFFORT_TO_CALL; i++) {
		size_t n = 0;
		const uint8_t *code = module_code(m, at.vaddr + passed, &n);

		if (!code || insn_decode(r->decoder, code, n, at.vaddr + passed, &insn) < 0)
			break;
		passed += insn.size_bytes;
		if (insn.flow == INSN_SYSCALL)
			return ip + passed;
		if (insn.flow != INSN_PLAIN && insn.flow != INSN_COND)
			break;
		if (stays && insn.flow == INSN_COND && insn.target < at.vaddr + passed)
			break;
	}
	return ip;
}

bool entry_cuts(struct recording *r, const struct pd_record *burst)
{
	const struct pd_sample *s = &burst->sample;

	return s->n_branches &&
	       behind_call(r, burst->pid, s->branches[0].to_ip, true) != s->branches[0].to_ip;
}

/*
 * Is ip behind the system call that ends a handler of a signal?  The program goes on where the signal came, and what ran
 * before the call may be that code as well as the handler's, neither of which leads here.
 */
static bool is_signal_return(struct recording *r, uint32_t pid, uint64_t ip)
{
	static const struct {
		enum insn_isa isa;
		size_t n;
		const char *code; /* its number is loaded just before it */
	} forms[] = {
		{ ISA_X86_64, 7, "\xb8\x0f\0\0\0\x0f\x05" },         /* mov $15, %eax; syscall */
		{ ISA_X86_64, 9, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05" }, /* mov $15, %rax; syscall */
		{ ISA_AARCH64, 8, "\x68\x11\x80\xd2\x01\0\0\xd4" },  /* mov x8, 139; svc 0 */
	};
	struct place at = recording_place(r, pid, ip);
	const struct module *m = at.module >= 0 ? r->modules[at.module] : NULL;

	if (!m || module_state(m) != MODULE_OK)
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = 0;
		const uint8_t *code =
		        at.vaddr >= forms[i].n ? module_code(m, at.vaddr - forms[i].n, &n) : NULL;

		if (module_isa(m) == forms[i].isa && code && n >= forms[i].n &&
		    memcmp(code, forms[i].code, forms[i].n) == 0)
			return true;
	}
	return false;
}

static uint64_t by_branches(struct recording *r, const struct pd_record *rec)
{
	const struct pd_sample *s = &rec->sample;

	/* Of branches that are no path the newest may be long ago. */
	for (size_t i = 0; i < s->n_branches; i++) {
		if (s->branches[i].to_ip && s->branches[i].to_ip < KERNEL_HALF)
			return behind_call(r, rec->pid, s->branches[i].to_ip, false);
		/* The entry itself, where the kernel's branches are on record, too. */
		if (s->branches[i].from_ip && s->branches[i].from_ip < KERNEL_HALF)
			return behind_call(r, rec->pid, s->branches[i].from_ip, false);
	}
	return 0;
}

uint64_t entry_user_ip(struct recording *r, const struct pd_record *rec)
{
	uint64_t ip = by_chain(&rec->sample);

	if (!ip)
		ip = by_registers(r, rec);
	if (!ip)
		ip = by_branches(r, rec);
	return ip && !is_signal_return(r, rec->pid, ip) ? ip : 0;
}
