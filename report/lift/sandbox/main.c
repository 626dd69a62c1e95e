/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * skidblock: runs blocks of machine code on this processor, each in a child
 * that can do nothing but run it, and says how many cycles one takes.
 *
 * Started by skidprof, which writes struct block_request and reads struct
 * block_reply.  A block is tried, and tried again with what the last try
 * found: the pages it touches, other contents, fewer copies.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/lift/sandbox/layout.h"

enum {
	MOST_TRIES = 3 * MAX_PAGES,
	MOST_MEASURES = 10,
	TIMER_MS = 400,       /* of the child's own time, */
	MOST_WAIT_MS = 10000, /* and of the clock's, on a busy machine */
	WANTED_INSNS = 240,   /* in the shorter run: about half of what an out-of-order core looks at */
	LEAST_COPIES = 4,
	MOST_COPIES = 100,
	FEW_PAGES = 24, /* more than an access to tables by random bytes needs */
};

/* Whole or not at all: 1, 0 at the end of input, -1. */
static int read_all(void *buf, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = read(STDIN_FILENO, (char *)buf + got, n - got);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return r == 0 && got == 0 ? 0 : -1;
		got += (size_t)r;
	}
	return 1;
}

static int write_all(const void *buf, size_t n)
{
	for (size_t put = 0; put < n;) {
		ssize_t r = write(STDOUT_FILENO, (const char *)buf + put, n - put);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return -1;
		put += (size_t)r;
	}
	return 0;
}

static int map_area(uint64_t at, size_t n, int prot)
{
	void *want = (void *)at; // NOLINT(performance-no-int-to-ptr)
	void *p = mmap(want, n, prot, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	// cppcheck-suppress memleak; it stays till the end
	return p == want ? 0 : -1;
}

static int had_its_time(pid_t pid)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 1;
	return t.tv_sec * 1000 + t.tv_nsec / 1000000 >= TIMER_MS;
}

/* Wait for the child, at most TIMER_MS: its wait status, -1 when it had to be killed, -2 on failure. */
static int await(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status, n = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int ms = 0; fd >= 0 && n == 0 && ms < MOST_WAIT_MS && !(ms && had_its_time(pid)); ms += TIMER_MS)
		n = poll(&p, 1, TIMER_MS);
	if (n <= 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -2;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? -2 : n <= 0 ? -1 : status;
}

/* One child: its wait status, as await() has it. */
static int try_once(struct attempt *a)
{
	pid_t pid;

	memset((void *)CONTROL, 0, offsetof(struct control, seen));
	if (emit_runs(a) < 0)
		return -2;
	pid = fork();
	if (pid == 0)
		child_run(a);
	return pid < 0 ? -2 : await(pid);
}

/* Enough instructions for the steady state; whole numbers of turns. */
static uint32_t first_copies(const struct block_request *b)
{
	uint32_t n = (WANTED_INSNS + b->n_insn - 1) / b->n_insn;

	n = n < LEAST_COPIES ? LEAST_COPIES : n > MOST_COPIES ? MOST_COPIES : n;
	return b->n_turns ? (n + b->n_turns - 1) / b->n_turns * b->n_turns : n;
}

/* Is it one more page that the block may have? */
static int add_page(struct attempt *a, uint64_t addr)
{
	uint64_t page = addr & ~(uint64_t)(PAGE - 1);

	if (page < LOWEST_PAGE || page >= HIGHEST_PAGE || a->n_pages == MAX_PAGES)
		return 0;
	for (uint32_t i = 0; i < a->n_pages; i++)
		if (a->pages[i] == page)
			return 0;
	a->pages[a->n_pages++] = page;
	return 1;
}

/* Pages beyond what the cache holds: fewer copies walk less far. */
static void spread_pages(struct attempt *a)
{
	uint32_t turns = a->block->n_turns ? a->block->n_turns : 1, half = a->n_copies / 2 / turns * turns;

	if (a->n_pages > MAX_FRAMES && half >= LEAST_COPIES) {
		a->n_copies = half;
		a->n_pages = 0;
	}
	a->n_frames = a->n_pages < MAX_FRAMES ? a->n_pages : MAX_FRAMES;
}

static int in_code(uint64_t rip)
{
	return rip >= AREA_CODE && rip < AREA_CODE + N_RUNS * CODE_BYTES;
}

/* Begin again with other contents: what it took for a pointer, or for an index, was none. */
static int refill(struct attempt *a)
{
	if (a->fill + 1 == N_FILLS)
		return 0;
	a->fill++;
	a->n_pages = 0;
	a->n_copies = first_copies(a->block);
	return 1;
}

/* After a fault: 1 when there is something left to try. */
static int mend(struct attempt *a)
{
	int maps = CONTROL->signal == SIGSEGV && CONTROL->code == SEGV_MAPERR && in_code(CONTROL->rip);

	if (CONTROL->signal == SIGFPE && !a->small_rdx) {
		a->small_rdx = 1;
		return 1;
	}
	if (CONTROL->signal != SIGSEGV && CONTROL->signal != SIGBUS)
		return 0;
	if (a->fill == FILL_RANDOM && a->n_pages == FEW_PAGES)
		return refill(a);
	if (maps && add_page(a, CONTROL->addr)) {
		spread_pages(a);
		return 1;
	}
	return a->n_pages < MAX_PAGES && in_code(CONTROL->rip) && refill(a);
}

static void fault_verdict(int status, struct block_reply *out)
{
	static const struct {
		int signal;
		enum block_verdict verdict;
	} verdicts[] = {
		{ SIGSEGV, BLOCK_FAULT }, { SIGBUS, BLOCK_FAULT },  { SIGILL, BLOCK_TRAP },
		{ SIGTRAP, BLOCK_TRAP },  { SIGFPE, BLOCK_DIVIDE }, { SIGSYS, BLOCK_SYSCALL },
	};

	out->verdict = BLOCK_KILLED;
	out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : CONTROL->signal;
	out->addr = CONTROL->addr;
	if (WIFSIGNALED(status))
		return;
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
		if (verdicts[i].signal == CONTROL->signal)
			out->verdict = verdicts[i].verdict;
	if (CONTROL->signal == 0) {
		/* It ended by itself: before the block by our doing, after that by a call of the system. */
		out->verdict = CONTROL->stage == STAGE_SETUP ? BLOCK_BROKEN : BLOCK_SYSCALL;
		out->err = CONTROL->code;
	}
}

/* One try; 1 when another is worth while. */
static int go_on(struct attempt *a, struct block_reply *out)
{
	const struct control *control = (const struct control *)CONTROL;
	int status = try_once(a);

	if (status == -1) {
		out->verdict = BLOCK_ENDLESS;
		return 0;
	}
	if (status == -2) {
		out->verdict = BLOCK_BROKEN;
		out->err = errno;
		return 0;
	}
	if (WIFEXITED(status) && CONTROL->stage == STAGE_DONE && CONTROL->signal == 0) {
		conclude_times(control, a->n_copies, out);
		conclude_splits(control, a, out);
		return out->verdict == BLOCK_UNSTEADY && ++a->n_unsteady < MOST_MEASURES;
	}
	fault_verdict(status, out);
	if (WIFEXITED(status) && mend(a))
		return 1;
	if (a->n_pages == MAX_PAGES)
		out->verdict = BLOCK_PAGES;
	return 0;
}

static void serve(const struct block_request *b, int frames_fd, struct block_reply *out)
{
	struct attempt a = { .block = b,
		             .n_copies = first_copies(b),
		             .fill = b->vector_bytes ? FILL_NUMBERS : FILL_RANDOM,
		             .frames_fd = frames_fd };

	*out = (struct block_reply){ .magic = BLOCK_MAGIC, .verdict = BLOCK_BROKEN, .err = EINVAL };
	if (!block_request_valid(b))
		return;
	for (int i = 0; i < MOST_TRIES && go_on(&a, out); i++)
		;
	out->n_copies = a.n_copies;
	out->n_pages = a.n_pages;
}

/* Not moved to another core between a block and the chain it is held against. */
static void stay_here(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int open_areas(void)
{
	int fd = memfd_create("frames", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)PAGE * MAX_FRAMES) < 0)
		return -1;
	if (map_area(AREA_CTL, sizeof(struct control), PROT_READ | PROT_WRITE) < 0 ||
	    map_area(AREA_CODE, N_RUNS * CODE_BYTES, PROT_READ | PROT_WRITE) < 0)
		return -1;
	return fd;
}

int main(void)
{
	static struct block_request request;
	struct block_reply reply;
	int fd, got;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	stay_here();
	fd = open_areas();
	if (fd < 0) {
		perror("skidblock: the areas that blocks run in");
		return 1;
	}
	while ((got = read_all(&request, sizeof(request))) > 0) {
		serve(&request, fd, &reply);
		if (write_all(&reply, sizeof(reply)) < 0)
			return 1;
	}
	return got < 0;
}
