/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/binary/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/base/mem.h"
#include "profiler/base/pairs.h"
#include "profiler/binary/module_impl.h"

/* A module as a process has it. */
struct mapped {
	const struct module *module;
	uint64_t bias; /* run-time address less vaddr */
};

/* What libdwfl knows of a process. */
struct process {
	Dwfl *dwfl;
	struct mapped **mapped; /* [n_mapped], each by itself: libdwfl keeps pointers to them */
	size_t n_mapped, cap;
	bool attached;
};

struct unwind {
	unwind_find *find;
	void *arg;
	Dwfl_Callbacks callbacks;
	struct pairs numbers;          /* (pid, 0) */
	VEC(struct process) processes; /* by numbers */
	/* Of the sample that is being unwound. */
	const struct unwind_sample *s;
	struct process *process;
	uint64_t sp;
	uint64_t *ips;
	size_t n, cap;
	bool beyond; /* the copy of the stack was too short */
	bool stale;  /* other modules are mapped now than libdwfl was told */
};

/* ---- registers ---- */

enum { N_DWARF_REGS = 33, NO_REG = -1 };

/* How perf_regs.h and DWARF number an architecture's registers. */
struct layout {
	int pc, sp;     /* of perf */
	int n;          /* DWARF registers, from 0 */
	bool pc_beside; /* the program counter is none of them */
	int8_t of_dwarf[N_DWARF_REGS];
};

static const struct layout x86_64 = {
	.pc = 8, .sp = 7, .n = 17, .of_dwarf = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 }
};

static const struct layout aarch64 = {
	.pc = 32, .sp = 31, .n = 32, .pc_beside = true, .of_dwarf = { 0,  1,  2,  3,  4,  5,  6,  7,
	                                                              8,  9,  10, 11, 12, 13, 14, 15,
	                                                              16, 17, 18, 19, 20, 21, 22, 23,
	                                                              24, 25, 26, 27, 28, 29, 30, 31 }
};

static const struct layout *layout_of(enum insn_isa isa)
{
	return isa == ISA_X86_64 ? &x86_64 : &aarch64;
}

/* A register by perf's number; false where the sample does not have it. */
static bool reg_of(const struct unwind_sample *s, int number, uint64_t *out)
{
	size_t at = (size_t)__builtin_popcountll(s->mask & ((UINT64_C(1) << number) - 1));

	if (!(s->mask >> number & 1) || at >= s->n_regs)
		return false;
	*out = s->regs[at];
	return true;
}

bool unwind_pc(const struct unwind_sample *s, uint64_t *pc)
{
	return reg_of(s, layout_of(s->isa)->pc, pc);
}

/* ---- what libdwfl asks ---- */

/* Call frame information that is only in separate debug files is not worth looking for them: nearly all binaries have it with them. */
static int no_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                        const char *link, GElf_Word crc, char **found)
{
	(void)module;
	(void)user;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	*found = NULL;
	return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *arg)
{
	struct unwind *u = arg;
	uint64_t at = address - u->sp;

	(void)dwfl;
	if (address < u->sp || at > u->s->stack_bytes || u->s->stack_bytes - at < sizeof(*out)) {
		u->beyond = true;
		return false;
	}
	memcpy(out, u->s->stack + at, sizeof(*out));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwind *u = arg;
	const struct layout *l = layout_of(u->s->isa);
	Dwarf_Word regs[N_DWARF_REGS] = { 0 };
	uint64_t pc;

	for (int i = 0; i < l->n; i++)
		reg_of(u->s, l->of_dwarf[i], &regs[i]);
	if (l->pc_beside && unwind_pc(u->s, &pc))
		dwfl_thread_state_register_pc(thread, pc);
	return dwfl_thread_state_registers(thread, 0, (unsigned)l->n, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = { .next_thread = next_thread,
	                                                .get_thread = get_thread,
	                                                .memory_read = read_memory,
	                                                .set_initial_registers = set_registers };

/* ---- processes ---- */

static void forget(struct process *p)
{
	if (p->dwfl)
		dwfl_end(p->dwfl);
	for (size_t i = 0; i < p->n_mapped; i++)
		free(p->mapped[i]);
	free(p->mapped);
	*p = (struct process){ 0 };
}

static struct process *process_of(struct unwind *u, uint32_t pid)
{
	size_t number = pairs_must(&u->numbers, pid, 0);

	while (u->processes.n <= number)
		vec_add(&u->processes, (struct process){ 0 });
	return &u->processes.v[number];
}

static void report(struct process *p, const struct module *m, uint64_t bias)
{
	struct mapped *mapped;
	Dwfl_Module *module;
	void **user;

	vec_room_raw((void **)&p->mapped, &p->cap, p->n_mapped + 1, sizeof(struct mapped *));
	mapped = mem_malloc(sizeof(*mapped));
	/* Where that fails there are still frame pointers. */
	module = dwfl_report_elf(p->dwfl, m->opened, m->opened, -1, bias, true);
	if (!module || !dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL)) {
		free(mapped);
		return;
	}
	*mapped = (struct mapped){ m, bias };
	*user = mapped;
	p->mapped[p->n_mapped++] = mapped;
}

/* libdwfl must know what holds ip before it unwinds a frame there.  False if it takes something else to be there. */
static bool tell(struct unwind *u, uint64_t ip)
{
	uint64_t vaddr = 0;
	const struct module *m = u->find(u->arg, u->s->pid, ip, &vaddr);
	Dwfl_Module *known = dwfl_addrmodule(u->process->dwfl, ip);
	void **user = NULL;

	if (known && dwfl_module_info(known, &user, NULL, NULL, NULL, NULL, NULL, NULL)) {
		const struct mapped *mapped = *user;

		/* Code that is in no file has no frames to tell of, wherever libdwfl takes modules to end. */
		return !m || (mapped && mapped->module == m && mapped->bias == ip - vaddr);
	}
	if (m && module_state(m) == MODULE_OK)
		report(u->process, m, ip - vaddr);
	return true;
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwind *u = arg;
	Dwarf_Addr pc;
	bool exact = false;

	if (!dwfl_frame_pc(frame, &pc, &exact) || !pc || u->n == u->cap)
		return DWARF_CB_ABORT;
	exact = exact || u->n == 0;
	u->ips[u->n] = u->n && exact ? pc + 1 : pc;
	u->n++;
	u->stale = !tell(u, exact ? pc : pc - 1);
	return u->stale ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* libdwfl's state of the process, with the module that the thread is in. */
static bool attach(struct unwind *u, uint64_t pc)
{
	struct process *p = u->process;

	if (!p->dwfl)
		p->dwfl = dwfl_begin(&u->callbacks);
	if (!p->dwfl)
		return false;
	u->stale = !tell(u, pc);
	if (u->stale)
		return false;
	/* It learns the architecture from a module, and so waits for one. */
	if (!p->attached)
		p->attached = dwfl_attach_state(p->dwfl, NULL, (pid_t)u->s->pid, &thread_callbacks, u);
	return p->attached;
}

void unwind_new(unwind_find *find, void *arg, struct unwind **out)
{
	struct unwind *u = mem_calloc(1, sizeof(*u));

	u->find = find;
	u->arg = arg;
	u->callbacks = (Dwfl_Callbacks){ .find_elf = dwfl_build_id_find_elf,
		                         .find_debuginfo = no_debuginfo,
		                         .section_address = dwfl_offline_section_address };
	*out = u;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->processes.n; i++)
		forget(&u->processes.v[i]);
	vec_fini(&u->processes);
	pairs_fini(&u->numbers);
	free(u);
}

bool unwind_stack(struct unwind *u, const struct unwind_sample *s, uint64_t *ips, size_t cap, size_t *n)
{
	const struct layout *l = layout_of(s->isa);
	uint64_t pc = 0;
	bool whole = false;

	u->s = s;
	u->ips = ips;
	u->cap = cap;
	u->process = process_of(u, s->pid);
	*n = 0;
	if (!cap || !unwind_pc(s, &pc) || !reg_of(s, l->sp, &u->sp))
		return false;
	for (int attempt = 0; attempt < 2; attempt++) {
		u->n = 0;
		u->beyond = u->stale = false;
		if (attach(u, pc))
			whole = dwfl_getthread_frames(u->process->dwfl, (pid_t)s->pid, add_frame, u) == 0;
		if (!u->stale)
			break;
		/* Something else was mapped there since. */
		forget(u->process);
	}
	*n = u->n;
	return whole && !u->stale && !u->beyond;
}
