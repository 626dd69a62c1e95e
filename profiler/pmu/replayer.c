/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profiler/pmu/replayer.h"

#include "profiler/base/err.h"

static const char *const words[RP_N_ENDS] = {
	[RP_END_WHOLE] = "whole",
	[RP_END_TIME] = "time",
	[RP_END_SYSCALL] = "a system call",
	[RP_END_TRAP] = "a trap",
	[RP_END_FAULT] = "a fault",
	[RP_END_VSYSCALL] = "the vsyscall page",
	[RP_END_GONE] = "the end of the process",
	[RP_END_CODE_WRITTEN] = "code that was overwritten",
	[RP_END_PAGES] = "too many pages",
	[RP_END_FAR] = "a segment",
	[RP_END_TRANSACTION] = "a transaction",
	[RP_END_SHADOW_STACK] = "a shadow stack",
	[RP_END_KEYS] = "a protection key",
	[RP_END_SVE] = "scalable vectors",
	[RP_END_SME] = "matrices (SME)",
	[RP_END_TAGS] = "memory tags",
	[RP_END_TILES] = "AMX",
	[RP_END_HALF] = "FP16",
	[RP_END_MUCH_CODE] = "too much code",
	[RP_END_ALIAS] = "memory mapped twice",
	[RP_END_INSTRUCTION] = "an unknown instruction",
};

const char *replayer_end_words(uint32_t end)
{
	return end < RP_N_ENDS ? words[end] : "no reason";
}

#if defined(__x86_64__) || defined(__aarch64__)

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/base/clock.h"
#include "profiler/base/order.h"
#include "profiler/base/path.h"
#include "profiler/pmu/cpus.h"
#include "profiler/pmu/keep_all.h"
#include "profiler/pmu/mapped.h"

enum {
	SHARED_FD = 3,    /* as skidreplay has it */
	MOST_DEATHS = 10, /* then it is no use here */
	MAX_HOT = 2048,   /* pages that may be asked for at once */
	FAR_FIRST = 3,    /* paths that are followed far past their marks, ... */
	FAR_EACH = 8,     /* ... later one of so many, ... */
	FAR_AGAIN = 8,    /* ... and so many after one that came to its marks again */
	CAREFUL = 32,     /* replays to learn from, at first and after one that was lost: few are so */
	MOST_KEPT =
	        8192,   /* pages where all is kept: 3 us each, in a virtual machine, and 30 ms are the most */
	FEW_MORE = 256, /* pages than the last time */
	PASSED = 1,     /* marks, before what ran is told ... */
	PASSED_ALL = 3, /* ... and where all was kept: copying it fills the caches, or empties them */
	MOST_GAP = 16,  /* to a written page from the one before, where those between are kept as well */
	N_SLOTS = 8192,
	MOST_AT_ONCE = 1024, /* the kernel's own limit */
	STACK_PAGES = 4,     /* in use on either side of its pointer, as a rule */
	START_MS = 2000,
	GRACE_MS = 50, /* beyond the time that a replay may take, before it is taken for stuck */
};

/*
 * Pages of the last replays: what several of the last eight wanted the next one is likely to want.
 * In one call with many others a page costs about a third of what it costs by itself: one that is
 * wanted three times in eight is worth it.  What k of eight wanted the next one wants less often than that, as those of
 * many k were chance: how often is counted, from the plain rule on as if so many pages had borne it out.
 */
enum { WANTED_OF_EIGHT = 3, BORNE_OUT = 64 };

/* Where a program may have pages. */
#define LEAST_PAGE 0x10000ull
#define END_PAGES  (1ull << 56)

struct hot {
	uint64_t page;
	uint8_t history; /* the last replay's bit is the highest */
	bool written;    /* by one of them, and wanted for that alone */
};

/* Those of one kind of replays. */
struct hot_pages {
	struct hot v[MAX_HOT];
	size_t n;
	unsigned n_replays; /* of this process, up to 8 */
	/* By how many of the last eight wanted them: pages, and those that the next one did want. */
	unsigned n_seen[9], n_came[9];
	uint16_t slots[N_SLOTS]; /* 1 + index of v */
};

/*
 * What each process has at an address of its own: one that runs the same program touches what the one before did, at the
 * same distance from these.
 */
struct layout {
	char program[256];
	uint64_t program_at, heap_at, heap_end, stack_at, stack_end;
	uint64_t mapped_end; /* of the dynamic linker, which is mapped first, at the top */
};

struct wanted {
	uint64_t pages[RP_N_FRAMES];
	size_t n;
};

struct replayer {
	char path[PATH_MAX];
	struct rp_shared *shared;
	int shared_fd, fd;
	pid_t pid; /* 0 = not running */
	unsigned n_deaths;
	pid_t mem_pid; /* whose memory it can read, 0 = nobody's */
	int cpu;
	struct hot_pages touched; /* by those that run while the thread waits */
	struct hot_pages kept;    /* for those that run when it has gone on */
	struct wanted next;       /* of touched: by the next one of those */
	/* For the others: to be kept while the thread waits, and read when it has gone on; n_careful more keep all. */
	struct wanted planned, later;
	unsigned n_careful;
	struct keep_all all;     /* that may be written is kept */
	size_t n_populated;      /* frames */
	unsigned n_paths, n_far; /* to marks; those to come that are followed far past them */
	struct layout layout;    /* of the process that they are of */
	uint64_t begun_clock, begun_ns;
	struct mapped mapped;
};

static void __attribute__((noreturn)) become(const struct replayer *r, int fd)
{
	char *argv[] = { (char *)"skidreplay", NULL };

	/* The socket may have the number that the memory gets. */
	if (dup2(fd, STDIN_FILENO) >= 0 &&
	    (r->shared_fd == SHARED_FD ? fcntl(SHARED_FD, F_SETFD, 0) : dup2(r->shared_fd, SHARED_FD)) >= 0)
		execv(r->path, argv);
	_exit(127);
}

static int launch(struct replayer *r)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return sp_fail_errno("socketpair");
	r->pid = fork();
	if (r->pid == 0)
		become(r, pair[1]);
	close(pair[1]);
	r->fd = pair[0];
	r->mem_pid = 0;
	r->cpu = -1;
	if (r->pid < 0) {
		r->pid = 0;
		close(r->fd);
		return sp_fail_errno("fork");
	}
	return 0;
}

static void end(struct replayer *r)
{
	if (!r->pid)
		return;
	close(r->fd);
	kill(r->pid, SIGKILL);
	while (waitpid(r->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	r->pid = 0;
}

/* One byte, and a descriptor where one is to be handed over. */
static bool tell(struct replayer *r, char byte, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(r->fd, &m, MSG_NOSIGNAL) == 1;
}

static bool await(struct replayer *r, uint64_t ms)
{
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	uint64_t until = clock_ns(CLOCK_MONOTONIC) + ms * 1000000u;
	char byte;
	int got;

	do {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		got = poll(&p, 1, now < until ? (int)((until - now) / 1000000u) + 1 : 0);
	} while (got < 0 && errno == EINTR);
	return got > 0 && recv(r->fd, &byte, 1, MSG_DONTWAIT) == 1;
}

/* It may die of what an unknown program holds, or lose its way: the next one starts anew. */
static const struct rp_reply *run_once(struct replayer *r, uint64_t held_ns)
{
	if (tell(r, 'r', -1) && await(r, held_ns / 1000000u + GRACE_MS) &&
	    r->shared->reply.n_branches <= RP_MAX_BRANCHES && r->shared->reply.n_runs <= RP_MAX_RUNS &&
	    r->shared->reply.n_pages <= RP_N_FRAMES && r->shared->reply.end < RP_N_ENDS)
		return &r->shared->reply;
	end(r);
	r->n_deaths++;
	return NULL;
}

/* No registers lead nowhere: an end at once, by a fault. */
static int try_out(struct replayer *r)
{
	const struct rp_reply *reply;

	memset(&r->shared->request, 0, sizeof(r->shared->request));
	r->shared->request.n_branches = 1;
	r->shared->request.deadline = UINT64_MAX;
	reply = run_once(r, START_MS * 1000000u);
	return reply && reply->end == RP_END_FAULT
	               ? 0
	               : sp_fail(SP_ENOTSUP, "%s can't be set up here (seccomp?)", r->path);
}

int replayer_start(struct replayer **out)
{
	struct replayer *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return sp_fail(SP_ENOMEM, "out of memory");
	r->begun_clock = rp_clock();
	r->begun_ns = clock_ns(CLOCK_MONOTONIC);
	r->shared_fd = memfd_create("replay", MFD_CLOEXEC);
	err = path_find("skidreplay", r->path, sizeof(r->path));
	if (err == 0 && (r->shared_fd < 0 || ftruncate(r->shared_fd, sizeof(*r->shared)) < 0))
		err = sp_fail_errno("memfd_create");
	if (err == 0) {
		r->shared =
		        mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE, MAP_SHARED, r->shared_fd, 0);
		err = r->shared == MAP_FAILED ? sp_fail_errno("mmap") : launch(r);
		/* While a thread waits a page that is touched first is dear. */
		if (err == 0)
			madvise(r->shared,
			        offsetof(struct rp_shared, frames) + (size_t)RP_OFTEN_FRAMES * RP_PAGE,
			        MADV_POPULATE_WRITE);
	}
	if (err == 0)
		err = try_out(r);
	if (err < 0)
		replayer_stop(r);
	else
		*out = r;
	return err;
}

void replayer_stop(struct replayer *r)
{
	if (!r)
		return;
	end(r);
	if (r->shared && r->shared != MAP_FAILED)
		munmap(r->shared, sizeof(*r->shared));
	if (r->shared_fd >= 0)
		close(r->shared_fd);
	mapped_fini(&r->mapped);
	free(r);
}

struct rp_request *replayer_request(struct replayer *r)
{
	return &r->shared->request;
}

#if defined(__x86_64__)

static void take_general(struct rp_registers *out, const struct user_regs_struct *u)
{
	const uint64_t gpr[RP_N_GPRS] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
		                          u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };

	memcpy(out->gpr, gpr, sizeof(gpr));
	out->ip = u->rip;
	out->flags = u->eflags;
	out->fs_base = u->fs_base;
	out->gs_base = u->gs_base;
}

/* Code of 32 bits has another selector, and other instructions. */
enum { CODE_64 = 0x33 };

#ifndef NT_X86_SHSTK
#define NT_X86_SHSTK 0x204
#endif

static bool has_shadow_stack(pid_t tid)
{
	uint64_t pointer;
	struct iovec v = { &pointer, sizeof(pointer) };

	return ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_SHSTK, &v) == 0;
}

bool replayer_take_registers(struct replayer *r, pid_t tid)
{
	struct user_regs_struct u;
	struct iovec general = { &u, sizeof(u) };
	struct iovec vectors = { r->shared->request.vectors, sizeof(r->shared->request.vectors) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &general) < 0 || u.cs != CODE_64 ||
	    ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &vectors) < 0)
		return false;
	take_general(&r->shared->request.regs, &u);
	r->shared->request.flags = has_shadow_stack(tid) ? RP_SHADOW_STACK_ON : 0;
	return true;
}

enum { RUN_FLAGS = 0 };

bool replayer_take_registers_behind_call(struct replayer *r, pid_t tid)
{
	return replayer_take_registers(r, tid);
}

#else

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif

/* For the registers behind a call. */
enum { RUN_FLAGS = RP_WANT_STATE };

bool replayer_take_registers(struct replayer *r, pid_t tid)
{
	struct rp_request *q = &r->shared->request;
	struct user_regs_struct u;
	struct iovec general = { &u, sizeof(u) }, vectors = { q->vectors, sizeof(q->vectors) };
	struct iovec thread = { &q->regs.thread, sizeof(q->regs.thread) };

	/* Code of 32 bits has fewer registers. */
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &general) < 0 || general.iov_len < sizeof(u) ||
	    ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &vectors) < 0 ||
	    ptrace(PTRACE_GETREGSET, tid, (void *)NT_ARM_TLS, &thread) < 0)
		return false;
	memcpy(q->regs.gpr, u.regs, sizeof(q->regs.gpr));
	q->regs.sp = u.sp;
	q->regs.ip = u.pc;
	q->regs.flags = u.pstate;
	q->flags = 0;
	return true;
}

/* At a stop for a system call the kernel shows in x7 which of its ends it is; what the thread has there the replay tells. */
bool replayer_take_registers_behind_call(struct replayer *r, pid_t tid)
{
	enum { SPOILT = 7 };
	uint64_t own = r->shared->reply.regs.gpr[SPOILT];

	if (!replayer_take_registers(r, tid))
		return false;
	r->shared->request.regs.gpr[SPOILT] = own;
	return true;
}

#endif

static uint16_t *slot_of(struct hot_pages *of, uint64_t page)
{
	for (uint64_t h = page / RP_PAGE * 0x9e3779b97f4a7c15u >> 40;; h++) {
		uint16_t *s = &of->slots[h % N_SLOTS];

		if (!*s || of->v[*s - 1].page == page)
			return s;
	}
}

static void note_mapping(struct layout *l, uint64_t begin, uint64_t end, const char *name)
{
	if (!l->program_at) {
		l->program_at = begin;
		snprintf(l->program, sizeof(l->program), "%s", name);
	}
	if (strcmp(name, "[heap]") == 0) {
		l->heap_at = begin;
		l->heap_end = end;
	} else if (strcmp(name, "[stack]") == 0) {
		l->stack_at = begin;
		l->stack_end = end;
	} else if (*name == '/') {
		l->mapped_end = end;
	}
}

/* Where the process has what, and the pages that only it may read. */
static struct layout look_at_maps(struct rp_request *q, pid_t pid)
{
	char path[64], line[512], name[256];
	unsigned long begin, end;
	struct layout l = { .program_at = 0 };
	FILE *maps;

	memset(q->clock_pages, 0, sizeof(q->clock_pages));
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &begin, &end, name) == 3) {
			note_mapping(&l, begin, end, name);
			if (rp_clock_page_named(name) >= 0)
				q->clock_pages[rp_clock_page_named(name)] = (struct rp_range){ begin, end };
		}
	if (maps)
		fclose(maps);
	return l;
}

static void find_slots(struct hot_pages *of)
{
	memset(of->slots, 0, sizeof(of->slots));
	for (size_t i = 0; i < of->n; i++)
		*slot_of(of, of->v[i].page) = (uint16_t)(i + 1);
}

static uint64_t moved(uint64_t page, const struct layout *from, const struct layout *to)
{
	if (page >= from->stack_at)
		return page - from->stack_end + to->stack_end;
	if (page >= from->heap_at && page < from->heap_end)
		return page - from->heap_at + to->heap_at;
	if (page >= from->heap_end && from->heap_end)
		return page - from->mapped_end + to->mapped_end;
	return page - from->program_at + to->program_at;
}

/* Of another program nothing is known.  Two pages may come to be one: then the second is of no use. */
static void move(struct hot_pages *of, const struct layout *from, const struct layout *to)
{
	if (!from->program_at || strcmp(from->program, to->program) != 0)
		of->n = of->n_replays = 0;
	for (size_t i = 0; i < of->n; i++)
		of->v[i].page = moved(of->v[i].page, from, to);
	find_slots(of);
}

static unsigned times_wanted(const struct hot *h)
{
	return (unsigned)__builtin_popcount(h->history);
}

static bool is_likely(const struct hot_pages *of, const struct hot *h)
{
	return h->written || times_wanted(h) * 8 >= of->n_replays * WANTED_OF_EIGHT;
}

/* Cheaper than to wait whether it is wanted.  While there are fewer than eight replays nothing is counted. */
static bool is_worth_it(const struct hot_pages *of, const struct hot *h)
{
	unsigned k = times_wanted(h);

	if (of->n_replays < 8)
		return is_likely(of, h);
	return of->n_came[k] * 8 + k * BORNE_OUT >= (of->n_seen[k] + BORNE_OUT) * WANTED_OF_EIGHT;
}

static void want(struct wanted *w, uint64_t page)
{
	if (w->n < sizeof(w->pages) / sizeof(w->pages[0]))
		w->pages[w->n++] = page;
}

static void want_those(struct wanted *w, const struct hot_pages *of,
                       bool (*these)(const struct hot_pages *of, const struct hot *h))
{
	for (size_t i = 0; i < of->n; i++)
		if (these(of, &of->v[i]))
			want(w, of->v[i].page);
}

/* Neighbours come to lie side by side, to be read in one piece. */
static void sort(struct wanted *w)
{
	qsort(w->pages, w->n, sizeof(w->pages[0]), order_u64);
}

/* While no thread waits. */
static void choose_next(struct replayer *r)
{
	r->next.n = 0;
	want_those(&r->next, &r->touched, is_worth_it);
	sort(&r->next);
}

static bool hand_memory(struct replayer *r, pid_t pid)
{
	struct layout layout;
	char path[64];
	bool told;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	told = (!r->mem_pid || tell(r, 'c', -1)) && tell(r, 'm', fd);
	close(fd);
	layout = look_at_maps(&r->shared->request, pid);
	if (strcmp(r->layout.program, layout.program) != 0) {
		r->n_careful = CAREFUL;
		r->all = (struct keep_all){ 0 };
	}
	move(&r->touched, &r->layout, &layout);
	move(&r->kept, &r->layout, &layout);
	choose_next(r);
	r->layout = layout;
	r->mem_pid = pid;
	return told;
}

static uint64_t clock_after(const struct replayer *r, uint64_t held_ns)
{
	uint64_t clock = rp_clock(), ns = clock_ns(CLOCK_MONOTONIC);
	double per_ns = ns > r->begun_ns ? (double)(clock - r->begun_clock) / (double)(ns - r->begun_ns) : 1;

	return clock + (uint64_t)(per_ns * (double)held_ns);
}

/* Pages from `at` on, those that lie one behind the other in one piece.  Returns in how many pieces. */
static size_t pieces(const struct wanted *w, size_t at, struct iovec out[MOST_AT_ONCE])
{
	size_t n = 0;

	for (size_t i = at; i < w->n; i++) {
		if (i > at && w->pages[i] == w->pages[i - 1] + RP_PAGE) {
			out[n - 1].iov_len += RP_PAGE;
			continue;
		}
		if (n == MOST_AT_ONCE)
			break;
		out[n++] = (struct iovec){ (void *)(uintptr_t)w->pages[i],
			                   RP_PAGE }; // NOLINT(performance-no-int-to-ptr)
	}
	return n;
}

/* All in one call, or in as many more as there are pages that can't be had.  Beside those that were fetched before. */
static void fetch_more(struct replayer *r, const struct wanted *w, pid_t pid)
{
	struct rp_request *q = &r->shared->request;
	static struct iovec theirs[MOST_AT_ONCE];
	size_t at = 0;

	while (at < w->n) {
		const struct iovec mine = { r->shared->frames[q->n_fetched], (w->n - at) * RP_PAGE };
		size_t n = pieces(w, at, theirs);
		ssize_t got = process_vm_readv(pid, &mine, 1, theirs, n, 0), all = 0;

		for (size_t i = 0; i < n; i++)
			all += (ssize_t)theirs[i].iov_len;
		for (ssize_t k = 0; k + RP_PAGE <= got; k += RP_PAGE)
			q->fetched[q->n_fetched++] = w->pages[at++];
		/* The one that could not be read. */
		at += got < all;
	}
}

static void fetch(struct replayer *r, const struct wanted *w, pid_t pid)
{
	r->shared->request.n_fetched = r->shared->request.n_fresh = 0;
	fetch_more(r, w, pid);
}

/* What none of the last eight wanted makes room. */
static void age(struct hot_pages *of)
{
	size_t kept = 0;

	for (size_t i = 0; i < of->n; i++) {
		of->v[i].history >>= 1;
		if (of->v[i].history)
			of->v[kept++] = of->v[i];
	}
	of->n = kept;
	find_slots(of);
}

uint32_t replayer_check(struct replayer *r, pid_t pid, uint32_t *end)
{
	return mapped_check(&r->mapped, pid, &r->shared->reply, end);
}

/* How often did those come that so many wanted? */
static void count_chances(struct hot_pages *of, const struct rp_reply *p)
{
	if (of->n_replays < 8)
		return;
	for (size_t i = 0; i < of->n; i++)
		of->n_seen[times_wanted(&of->v[i])]++;
	for (uint32_t i = 0; i < p->n_pages && i < RP_N_FRAMES; i++) {
		uint16_t s = *slot_of(of, p->pages[i]);

		of->n_came[s ? times_wanted(&of->v[s - 1]) : 0]++;
	}
}

static void begin_lesson(struct hot_pages *of)
{
	age(of);
	if (of->n_replays < 8)
		of->n_replays++;
}

static void learn_page(struct hot_pages *of, uint64_t page, bool written)
{
	uint16_t *s = slot_of(of, page);

	if (!*s && of->n == MAX_HOT)
		return;
	if (!*s) {
		of->v[of->n++] = (struct hot){ .page = page };
		*s = (uint16_t)of->n;
	}
	of->v[*s - 1].history |= 0x80;
	of->v[*s - 1].written |= written;
}

/* What was written once may be the next time as well; of the others those that are touched often. */
static void learn_kept(struct hot_pages *of, const struct rp_reply *p)
{
	begin_lesson(of);
	for (int written = 1; written >= 0; written--)
		for (uint32_t i = 0; i < p->n_pages && i < RP_N_FRAMES; i++)
			if (p->written[i] == (bool)written)
				learn_page(of, p->pages[i], written);
}

void replayer_learn(struct replayer *r)
{
	const struct rp_reply *p = &r->shared->reply;

	count_chances(&r->touched, p);
	begin_lesson(&r->touched);
	for (uint32_t i = 0; i < p->n_pages && i < RP_N_FRAMES; i++) {
		learn_page(&r->touched, p->pages[i], false);
		if (p->written[i])
			learn_page(&r->kept, p->pages[i], true);
	}
	choose_next(r);
	tell(r, 'p', -1);
}

static const struct rp_reply *run(struct replayer *r, pid_t pid, uint64_t held_ns)
{
	struct rp_request *q = &r->shared->request;
	const struct rp_reply *reply = NULL;

	if (!r->pid)
		return NULL;
	q->deadline = clock_after(r, held_ns);
	/* A descriptor of before an execve reads nothing: then once more. */
	for (int i = 0; i < 2; i++) {
		if (r->mem_pid != pid && !hand_memory(r, pid))
			return NULL;
		fetch(r, &r->next, pid);
		reply = run_once(r, held_ns);
		if (!reply || reply->end != RP_END_GONE)
			break;
		r->mem_pid = -1;
	}
	return reply;
}

const struct rp_reply *replayer_run(struct replayer *r, pid_t pid, uint32_t n_branches, uint64_t held_ns)
{
	r->shared->request.flags &= ~(uint32_t)RP_TO_MARKS;
	r->shared->request.flags |= RUN_FLAGS;
	r->shared->request.n_branches = n_branches;
	return run(r, pid, held_ns);
}

/* A page that is not among the first n, which are sorted.  Told twice it costs a read. */
static void want_more(struct wanted *w, size_t n, uint64_t page)
{
	if (page >= LEAST_PAGE && page < END_PAGES &&
	    !bsearch(&page, w->pages, n, sizeof(*w->pages), order_u64))
		want(w, page);
}

/* The top of the stack, and what registers point to. */
static void want_near(struct wanted *w, const struct rp_registers *regs)
{
	uint64_t stack = RP_STACK(regs) & ~(uint64_t)(RP_PAGE - 1);
	size_t n = w->n;

	for (int i = -STACK_PAGES; i <= STACK_PAGES; i++)
		want_more(w, n, stack + (uint64_t)(int64_t)(i * RP_PAGE));
	for (unsigned i = 0; i < RP_N_GPRS; i++)
		want_more(w, n, regs->gpr[i] & ~(uint64_t)(RP_PAGE - 1));
}

/*
 * Who writes all over some memory writes here and there in it each time: what lies between pages that were written, with
 * no wide gap, is written sooner or later, and one page that was not kept loses the way.
 */
static void want_between(struct wanted *w, const uint64_t *written, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (written[i] - written[i - 1] > (uint64_t)MOST_GAP * RP_PAGE)
			continue;
		for (uint64_t page = written[i - 1] + RP_PAGE; page < written[i]; page += RP_PAGE)
			if (w->n < MAX_HOT)
				want(w, page);
	}
}

/* Of the rest those that are touched often: they may be read when the thread has gone on. */
static void plan_later(struct replayer *r)
{
	r->later.n = 0;
	for (size_t i = 0; i < r->kept.n; i++)
		if (!r->kept.v[i].written && is_likely(&r->kept, &r->kept.v[i]))
			want(&r->later, r->kept.v[i].page);
	for (size_t i = 0; i < r->touched.n; i++)
		if (is_likely(&r->touched, &r->touched.v[i]) && !*slot_of(&r->kept, r->touched.v[i].page))
			want(&r->later, r->touched.v[i].page);
	sort(&r->later);
}

/* A frame that is new costs a fault, which the thread would wait for. */
static void populate(struct replayer *r, size_t n)
{
	if (n <= r->n_populated || n > RP_N_FRAMES)
		return;
	madvise(r->shared->frames, n * RP_PAGE, MADV_POPULATE_WRITE);
	r->n_populated = n;
}

void replayer_plan(struct replayer *r, pid_t pid)
{
	static uint64_t written[MAX_HOT];
	struct wanted *w = &r->planned;
	size_t n;

	replayer_open(r, pid);
	if (r->all.on) {
		populate(r, w->n + FEW_MORE);
		plan_later(r);
		return;
	}
	w->n = 0;
	for (size_t i = 0; i < r->kept.n; i++)
		if (r->kept.v[i].written)
			want(w, r->kept.v[i].page);
	sort(w);
	n = w->n;
	memcpy(written, w->pages, n * sizeof(*written));
	want_between(w, written, n);
	plan_later(r);
	if (r->n_careful > 0) {
		for (size_t i = 0; i < r->later.n; i++)
			want(w, r->later.pages[i]);
		r->later.n = 0;
	}
	sort(w);
}

/* Those that paths before wrote, of mappings that were not looked at.  What is fresh is zero, and not what it becomes later. */
static void want_written(struct replayer *r, const struct kept_pages *p)
{
	size_t n = r->planned.n, left = 0;

	for (size_t i = 0; i < r->kept.n; i++)
		if (r->kept.v[i].written && !rp_is_within(p->fresh, p->n_fresh, r->kept.v[i].page))
			want_more(&r->planned, n, r->kept.v[i].page);
	sort(&r->planned);
	for (size_t i = 0; i < r->later.n; i++)
		if (!rp_is_within(p->fresh, p->n_fresh, r->later.pages[i]))
			r->later.pages[left++] = r->later.pages[i];
	r->later.n = left;
}

/* Which pages there are can't be asked before: the thread may touch more until it stops. */
static bool fetch_all(struct replayer *r, pid_t pid)
{
	struct rp_request *q = &r->shared->request;
	struct kept_pages p = { r->planned.pages, 0, MOST_KEPT, q->fresh, 0, RP_MAX_FRESH };

	if (!keep_all_find(pid, &p)) {
		r->all = (struct keep_all){ .refused = true };
		r->planned.n = 0;
		return false;
	}
	r->planned.n = p.n;
	want_written(r, &p);
	fetch(r, &r->planned, pid);
	q->n_fresh = (uint32_t)p.n_fresh;
	return true;
}

bool replayer_keep(struct replayer *r, pid_t pid)
{
	if (!r->pid || r->mem_pid != pid)
		return false;
	if (r->all.on && fetch_all(r, pid))
		return true;
	want_near(&r->planned, &r->shared->request.regs);
	fetch(r, &r->planned, pid);
	return true;
}

void replayer_keep_later(struct replayer *r)
{
	fetch_more(r, &r->later, r->mem_pid);
}

/* The same memory leads elsewhere: what it was when the thread went on was not kept. */
static bool is_another_way(const struct rp_reply *reply, uint32_t n_marks)
{
	return !reply->mark_met[n_marks - 1] && !reply->to_mark &&
	       (reply->end == RP_END_WHOLE || reply->end == RP_END_FAULT);
}

/* Out of its way a program comes to a call soon, as one that ends it with a message. */
static bool is_astray(const struct rp_reply *reply)
{
	return !reply->to_mark && !reply->mark_met[0] && !rp_end_is_ours(reply->end);
}

/*
 * A program whose rounds are alike comes to the same registers and stack in each: a path of it may be short of whole rounds.  The
 * first ones tell, and some later ones; to go on so far costs three times as much where code is slow.
 */
static bool goes_far(const struct replayer *r)
{
	return r->n_far > 0 || r->n_paths < FAR_FIRST || r->n_paths % FAR_EACH == 0;
}

uint32_t replayer_n_passed(const struct replayer *r)
{
	return r->all.on ? PASSED_ALL : PASSED;
}

const struct rp_reply *replayer_run_to_marks(struct replayer *r, const struct rp_mark *marks,
                                             uint32_t n_marks, uint64_t n_insns, uint64_t may_ns)
{
	struct rp_request *q = &r->shared->request;
	const struct rp_reply *reply;

	if (!r->pid || !n_marks || n_marks > RP_MAX_MARKS)
		return NULL;
	q->flags |= RP_TO_MARKS | (goes_far(r) ? RP_PAST_MARKS : 0);
	r->n_paths++;
	q->n_marks = n_marks;
	q->n_passed = replayer_n_passed(r);
	memcpy(q->marks, marks, n_marks * sizeof(*marks));
	q->n_insns = n_insns;
	q->deadline = clock_after(r, may_ns);
	reply = run_once(r, may_ns);
	q->flags &= ~(uint32_t)(RP_TO_MARKS | RP_PAST_MARKS);
	q->n_insns = 0;
	if (reply) {
		if (!reply->to_mark && rp_came_again(reply, q->n_passed, n_marks))
			r->n_far = FAR_AGAIN;
		else if (r->n_far > 0)
			r->n_far--;
		learn_kept(&r->kept, reply);
		keep_all_learn(&r->all, reply->to_mark, is_astray(reply));
		if (is_another_way(reply, n_marks))
			r->n_careful = CAREFUL;
		else if (r->n_careful > 0)
			r->n_careful--;
	}
	/* A descriptor of before an execve reads nothing. */
	if (reply && reply->end == RP_END_GONE)
		r->mem_pid = -1;
	return reply;
}

void replayer_follow(struct replayer *r, int cpu)
{
	/* While no thread waits for it. */
	if (!r->pid && r->n_deaths < MOST_DEATHS && launch(r) == 0)
		try_out(r);
	if (cpu == r->cpu || cpu < 0 || !r->pid)
		return;
	if (cpus_pin(r->pid, cpu))
		r->cpu = cpu;
}

void replayer_open(struct replayer *r, pid_t pid)
{
	if (r->pid && r->mem_pid != pid)
		hand_memory(r, pid);
}

pid_t replayer_pid(const struct replayer *r)
{
	return r->pid;
}

const uint8_t *replayer_page(const struct replayer *r, uint32_t i)
{
	return r->shared->frames[r->shared->reply.frames[i] % RP_N_FRAMES];
}

#else

void replayer_plan(struct replayer *r, pid_t pid)
{
	(void)r;
	(void)pid;
}

int replayer_start(struct replayer **out)
{
	(void)out;
	return sp_fail(SP_ENOTSUP, "threads are replayed on x86-64 and aarch64 only");
}

void replayer_stop(struct replayer *r)
{
	(void)r;
}

struct rp_request *replayer_request(struct replayer *r)
{
	(void)r;
	return NULL;
}

bool replayer_take_registers(struct replayer *r, pid_t tid)
{
	(void)r;
	(void)tid;
	return false;
}

bool replayer_take_registers_behind_call(struct replayer *r, pid_t tid)
{
	(void)r;
	(void)tid;
	return false;
}

uint32_t replayer_n_passed(const struct replayer *r)
{
	(void)r;
	return 0;
}

uint32_t replayer_check(struct replayer *r, pid_t pid, uint32_t *end)
{
	(void)r;
	(void)pid;
	(void)end;
	return UINT32_MAX;
}

void replayer_learn(struct replayer *r)
{
	(void)r;
}

const struct rp_reply *replayer_run(struct replayer *r, pid_t pid, uint32_t n_branches, uint64_t held_ns)
{
	(void)r;
	(void)pid;
	(void)n_branches;
	(void)held_ns;
	return NULL;
}

bool replayer_keep(struct replayer *r, pid_t pid)
{
	(void)r;
	(void)pid;
	return false;
}

void replayer_keep_later(struct replayer *r)
{
	(void)r;
}

const struct rp_reply *replayer_run_to_marks(struct replayer *r, const struct rp_mark *marks,
                                             uint32_t n_marks, uint64_t n_insns, uint64_t may_ns)
{
	(void)r;
	(void)marks;
	(void)n_marks;
	(void)n_insns;
	(void)may_ns;
	return NULL;
}

void replayer_follow(struct replayer *r, int cpu)
{
	(void)r;
	(void)cpu;
}

void replayer_open(struct replayer *r, pid_t pid)
{
	(void)r;
	(void)pid;
}

pid_t replayer_pid(const struct replayer *r)
{
	(void)r;
	return 0;
}

const uint8_t *replayer_page(const struct replayer *r, uint32_t i)
{
	(void)r;
	(void)i;
	return NULL;
}

#endif
