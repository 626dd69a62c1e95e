/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/lift/measure.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/base/log.h"
#include "profiler/base/vec.h"
#include "report/lift/hook.h"

#ifdef __x86_64__

/* Memory of ours in a process: room for so many areas. */
struct room {
	uint64_t at;
	size_t n_used;
};

struct process {
	pid_t pid;
	int mem;          /* /proc/PID/mem, -1 = not open */
	uint64_t start;   /* where a breakpoint waits for the program's first instruction; 0 = none */
	uint8_t replaced; /* what it took the place of */
	uint64_t *areas;  /* [n] of each function, 0 = not in this program; NULL = no hooks */
	VEC(struct room) rooms;
};

struct run {
	struct measure *m;
	size_t n;
	VEC(struct process) processes;
	pid_t first;
	int status; /* of the first process */
	bool threads, done;
};

static bool peek(const struct process *p, uint64_t at, void *out, size_t n)
{
	return pread(p->mem, out, n, (off_t)at) == (ssize_t)n;
}

static bool poke(const struct process *p, uint64_t at, const void *bytes, size_t n)
{
	return pwrite(p->mem, bytes, n, (off_t)at) == (ssize_t)n;
}

static struct process *find_process(struct run *r, pid_t pid)
{
	for (size_t i = 0; i < r->processes.n; i++)
		if (r->processes.v[i].pid == pid)
			return &r->processes.v[i];
	return NULL;
}

static struct process *add_process(struct run *r, pid_t pid)
{
	struct process *p;
	char path[64];

	if (vec_push(&r->processes, (struct process){ .pid = pid }) < 0)
		return NULL;
	p = &r->processes.v[r->processes.n - 1];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	p->mem = open(path, O_RDWR | O_CLOEXEC);
	return p;
}

static void process_fini(struct process *p)
{
	if (p->mem >= 0)
		close(p->mem);
	free(p->areas);
	vec_fini(&p->rooms);
}

static void drop_process(struct run *r, struct process *p)
{
	process_fini(p);
	*p = r->processes.v[--r->processes.n];
}

/* The program's (not the dynamic linker's) first instruction: libraries are mapped by then. */
static uint64_t find_entry(pid_t pid)
{
	char path[64];
	Elf64_auxv_t aux;
	uint64_t entry = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	while (f && fread(&aux, sizeof(aux), 1, f) == 1 && aux.a_type != AT_NULL)
		if (aux.a_type == AT_ENTRY)
			entry = aux.a_un.a_val;
	if (f)
		fclose(f);
	return entry;
}

static void wait_for_start(struct process *p)
{
	static const uint8_t trap = 0xcc;

	p->start = find_entry(p->pid);
	if (p->start && (!peek(p, p->start, &p->replaced, 1) || !poke(p, p->start, &trap, 1)))
		p->start = 0;
}

/* One system call in the stopped process, where it stands. */
static uint64_t call_mmap(const struct process *p, uint64_t hint, size_t n)
{
	static const uint8_t syscall_insn[] = { 0x0f, 0x05 };
	uint8_t before[sizeof(syscall_insn)];
	struct user_regs_struct saved, regs;
	int status = 0;

	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &saved) < 0 || !peek(p, saved.rip, before, sizeof(before)) ||
	    !poke(p, saved.rip, syscall_insn, sizeof(syscall_insn)))
		return 0;
	regs = saved;
	regs.rax = SYS_mmap;
	regs.rdi = hint;
	regs.rsi = n;
	regs.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
	regs.r10 = MAP_PRIVATE | MAP_ANONYMOUS;
	regs.r8 = (uint64_t)-1;
	regs.r9 = 0;
	regs.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, p->pid, NULL, &regs);
	ptrace(PTRACE_SINGLESTEP, p->pid, NULL, NULL);
	while (waitpid(p->pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, p->pid, NULL, &regs) < 0)
		return 0;
	poke(p, saved.rip, before, sizeof(before));
	ptrace(PTRACE_SETREGS, p->pid, NULL, &saved);
	return (int64_t)regs.rax < 0 && (int64_t)regs.rax > -4096 ? 0 : regs.rax;
}

/* Where the file's offset is mapped in the process; 0 if it is not. */
static uint64_t find_mapped(const struct process *p, const char *file, uint64_t off)
{
	char path[64], line[PATH_MAX + 128];
	uint64_t at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)p->pid);
	f = fopen(path, "re");
	while (f && !at && fgets(line, sizeof(line), f)) {
		uint64_t begin, end, pgoff;
		int name = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4c %" SCNx64 " %*s %*u %n", &begin, &end, &pgoff,
		           &name) < 3 ||
		    !name || strcmp(line + name, file) != 0)
			continue;
		if (off >= pgoff && off - pgoff < end - begin)
			at = begin + (off - pgoff);
	}
	if (f)
		fclose(f);
	return at;
}

/* Memory for n areas that a jump from `entry` reaches, on this side of it or that; 0 if there is none. */
static uint64_t map_near(const struct process *p, uint64_t entry, size_t n)
{
	static const int64_t steps_mb[] = { -32, 64, -128, 256, -512, 1024 };

	for (size_t i = 0; i < sizeof(steps_mb) / sizeof(steps_mb[0]); i++) {
		int64_t hint = (int64_t)(entry & ~UINT64_C(0xfff)) + steps_mb[i] * (1 << 20);
		uint64_t at = hint > 0x10000 ? call_mmap(p, (uint64_t)hint, n * sizeof(struct hook_area)) : 0;

		if (at && hook_reaches(entry, at) && hook_reaches(entry, at + n * sizeof(struct hook_area)))
			return at;
	}
	return 0;
}

/* An area for a function, in memory that others had use of, where it is near. */
static uint64_t find_room(struct process *p, uint64_t entry, size_t n)
{
	struct room room = { 0 };

	for (size_t i = 0; i < p->rooms.n; i++) {
		struct room *r = &p->rooms.v[i];
		uint64_t at = r->at + r->n_used * sizeof(struct hook_area);

		if (r->n_used < n && hook_reaches(entry, at)) {
			r->n_used++;
			return at;
		}
	}
	room.at = map_near(p, entry, n);
	room.n_used = 1;
	return room.at && vec_push(&p->rooms, room) == 0 ? room.at : 0;
}

static void hook_one(struct process *p, size_t n, struct measure *m, uint64_t *area)
{
	uint8_t code[HOOK_CODE_BYTES], jump[HOOK_JUMP_BYTES];
	struct hook h = { 0 };
	uint64_t off;

	if (!module_off(m->module, m->vaddr, &off))
		return;
	h.entry = find_mapped(p, module_path(m->module), off);
	if (!h.entry)
		return;
	m->why = hook_plan(m->code.bytes, m->code.n, m->vaddr, &h);
	if (m->why)
		return;
	h.area = find_room(p, h.entry, n);
	if (!h.area) {
		m->why = "there is no room near it for the code that times it";
		return;
	}
	hook_build(&h, code, jump);
	if (poke(p, h.area + offsetof(struct hook_area, code), code, sizeof(code)) &&
	    poke(p, h.entry, jump, sizeof(jump)))
		*area = h.area;
}

/* At the program's first instruction: put in the hooks. */
static void begin_program(struct run *r, struct process *p)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &regs) < 0)
		return;
	poke(p, p->start, &p->replaced, 1);
	regs.rip = p->start;
	ptrace(PTRACE_SETREGS, p->pid, NULL, &regs);
	p->start = 0;
	p->areas = calloc(r->n, sizeof(*p->areas));
	for (size_t i = 0; p->areas && i < r->n; i++)
		hook_one(p, r->n, &r->m[i], &p->areas[i]);
}

/* What the hooks have counted, when the memory is about to go. */
static void collect(struct run *r, const struct process *p)
{
	struct hook_area a;

	for (size_t i = 0; p->areas && i < r->n; i++) {
		if (!p->areas[i] || !peek(p, p->areas[i], &a, offsetof(struct hook_area, depth)))
			continue;
		r->m[i].ticks += (double)a.ticks;
		r->m[i].calls += (double)a.calls;
	}
}

/* A forked child has a copy of all hooks, and of what they counted until now. */
static void adopt(struct run *r, pid_t parent, pid_t pid)
{
	static const uint64_t zero[2];
	struct process *child = add_process(r, pid), *p = find_process(r, parent);

	if (!child || !p || !p->areas || !(child->areas = calloc(r->n, sizeof(*child->areas))))
		return;
	memcpy(child->areas, p->areas, r->n * sizeof(*child->areas));
	for (size_t i = 0; i < r->n; i++)
		if (child->areas[i])
			poke(child, child->areas[i], zero, sizeof(zero));
}

static void begin_exec(struct run *r, pid_t pid)
{
	struct process *p = find_process(r, pid);

	if (p)
		drop_process(r, p);
	p = add_process(r, pid);
	if (p)
		wait_for_start(p);
}

/* The new process may report itself before its parent reports it: it is not known before this. */
static void on_event(struct run *r, pid_t pid, int event)
{
	struct process *p = find_process(r, pid);
	unsigned long child = 0;

	ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child);
	switch (event) {
	case PTRACE_EVENT_EXEC:
		begin_exec(r, pid);
		break;
	case PTRACE_EVENT_FORK:
		adopt(r, pid, (pid_t)child);
		break;
	case PTRACE_EVENT_CLONE:
		r->threads = true;
		break;
	case PTRACE_EVENT_EXIT:
		if (p)
			collect(r, p);
		break;
	default:
		break;
	}
}

/* A stop of a process: how it goes on. */
static void on_stop(struct run *r, pid_t pid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	struct process *p = find_process(r, pid);
	struct user_regs_struct regs;

	if (event) {
		on_event(r, pid, event);
		sig = 0;
	} else if (sig == SIGTRAP && p && p->start && ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0 &&
	           regs.rip == p->start + 1) {
		begin_program(r, p);
		sig = 0;
	} else if (sig == SIGSTOP) {
		sig = 0; /* a new process's first */
	}
	ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)sig);
}

static void child(char **argv)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execvp(argv[0], argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* All on one core: its time stamps and its clock. */
static void stay_here(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	if (cpu >= 0) {
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
}

static int follow(struct run *r)
{
	int status;

	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return errno == ECHILD ? 0 : sp_fail_errno("waitpid");
		if (WIFSTOPPED(status)) {
			on_stop(r, pid, status);
			continue;
		}
		if (pid == r->first)
			r->status = status;
		if (find_process(r, pid))
			drop_process(r, find_process(r, pid));
	}
}

static int start(struct run *r, char **argv)
{
	long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	               PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXIT;
	int status = 0;

	r->first = fork();
	if (r->first < 0)
		return sp_fail_errno("fork");
	if (r->first == 0)
		child(argv);
	while (waitpid(r->first, &status, __WALL) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, r->first, NULL, (void *)options) < 0) {
		kill(r->first, SIGKILL);
		waitpid(r->first, &status, __WALL);
		return sp_fail(SP_ENOTSUP, "--measure: programs can't be traced here (ptrace is forbidden)");
	}
	ptrace(PTRACE_CONT, r->first, NULL, NULL);
	return 0;
}

static int check_end(const struct run *r, char **argv)
{
	if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == 0)
		return 0;
	if (WIFEXITED(r->status) && WEXITSTATUS(r->status) == 127)
		return sp_fail(SP_ENOENT, "--measure: %s: no such program", argv[0]);
	return sp_fail(SP_EIO, "--measure: %s ended with %s %d: its kernels are not measured", argv[0],
	               WIFEXITED(r->status) ? "exit status" : "signal",
	               WIFEXITED(r->status) ? WEXITSTATUS(r->status) : WTERMSIG(r->status));
}

int measure_run(char **argv, struct measure *m, size_t n, bool *threads)
{
	struct run r = { .m = m, .n = n };
	cpu_set_t before;
	bool pinned = sched_getaffinity(0, sizeof(before), &before) == 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		m[i].ticks = m[i].calls = 0;
		m[i].why = "its code was not in the program when that began";
	}
	if (pinned)
		stay_here();
	err = start(&r, argv);
	if (err == 0)
		err = follow(&r);
	if (err == 0)
		err = check_end(&r, argv);
	if (pinned)
		sched_setaffinity(0, sizeof(before), &before);
	for (size_t i = 0; i < r.processes.n; i++)
		process_fini(&r.processes.v[i]);
	vec_fini(&r.processes);
	*threads = r.threads;
	return err;
}

#else

int measure_run(char **argv, struct measure *m, size_t n, bool *threads)
{
	(void)argv;
	(void)m;
	(void)n;
	(void)threads;
	return sp_fail(SP_ENOTSUP,
	               "--measure: this processor's functions can't be timed yet (x86-64 only); a profile's "
	               "cycles can be used");
}

#endif
