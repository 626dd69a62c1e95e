/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Following tasks with software events, which every kernel has; skipped where perf_event_open is forbidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "profiler/base/err.h"
#include "profiler/pmu/cpus.h"
#include "profiler/pmu/tasks.h"

enum { N_PAGES = 200, MAX_SEEN = 16 };

/* Samples, one for each page touched, by task. */
struct seen {
	pid_t tid[MAX_SEEN];
	unsigned n_samples[MAX_SEEN];
	unsigned n, n_forks, n_foreign, n_lost;
	struct tasks *tasks;
};

static unsigned *samples_of(struct seen *s, pid_t tid)
{
	unsigned i = 0;

	while (i < s->n && s->tid[i] != tid)
		i++;
	assert_true(i < MAX_SEEN);
	if (i == s->n)
		s->tid[s->n++] = tid;
	return &s->n_samples[i];
}

/* IDENTIFIER, IP, TID. */
struct sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
};

static int take(void *arg, const struct perf_event_header *rec, const struct tasks_source *from)
{
	struct seen *s = arg;
	const struct sample *sample = (const struct sample *)rec;

	(void)from;
	s->n_forks += rec->type == PERF_RECORD_FORK;
	if (rec->type == PERF_RECORD_LOST)
		s->n_lost += (unsigned)((const uint64_t *)rec)[2];
	if (rec->type != PERF_RECORD_SAMPLE)
		return 0;
	s->n_foreign += tasks_event(s->tasks, sample->id) != 0;
	++*samples_of(s, (pid_t)sample->tid);
	return 0;
}

static struct pe_event page_faults(void)
{
	return (struct pe_event){
		.attr = { .type = PERF_TYPE_SOFTWARE,
		          .size = PERF_ATTR_SIZE_VER7,
		          .config = PERF_COUNT_SW_PAGE_FAULTS,
		          .sample_period = 1,
		          .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		          .sample_id_all = 1,
		          .exclude_kernel = 1,
		          .exclude_hv = 1 },
		.name = "page-faults",
	};
}

static void touch_pages(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, N_PAGES * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	               0);

	madvise(p, N_PAGES * (size_t)page, MADV_NOHUGEPAGE);
	for (long i = 0; p != MAP_FAILED && i < N_PAGES; i++)
		((volatile char *)p)[i * page] = 1;
}

static void *wait_and_touch(void *fd)
{
	char c;

	/* The recorder has had the time to follow us where it must do so by itself. */
	if (read(*(int *)fd, &c, 1) == 1)
		touch_pages();
	return NULL;
}

/* A process that makes a thread and a child, each of which touches pages once it is told to. */
__attribute__((noreturn)) static void family(int begin, int follow)
{
	pthread_t thread;
	char c;

	if (read(begin, &c, 1) != 1)
		_exit(1);
	touch_pages();
	if (fork() == 0) {
		wait_and_touch(&follow);
		_exit(0);
	}
	pthread_create(&thread, NULL, wait_and_touch, &follow);
	pthread_join(thread, NULL);
	wait(NULL);
	_exit(0);
}

static struct tasks *attach(struct seen *seen, struct pe_event *event, pid_t pid, bool follow, bool alone)
{
	struct tasks_config config = {
		.events = event, .n_events = 1, .follow = follow, .alone = alone, .take = take, .arg = seen
	};
	struct tasks *t = NULL;
	int err = tasks_new(&config, &t);

	seen->tasks = t;
	if (err == 0)
		err = tasks_attach(t, pid);
	if (err == -SP_ENOTSUP) {
		print_message("skipped: %s\n", sp_error_text());
		tasks_free(t);
		return NULL;
	}
	assert_int_equal(err, 0);
	assert_int_equal(tasks_enable(t, true), 0);
	return t;
}

/* What never comes ends the test, not a busy machine. */
static bool in_time(const struct timespec *begun)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - begun->tv_sec < 120;
}

static void drain(struct tasks *t)
{
	struct pollfd p = { tasks_fd(t), POLLIN, 0 };

	poll(&p, 1, 20);
	assert_int_equal(tasks_drain(t), 0);
}

static void drain_to_the_end(struct tasks *t, pid_t pid)
{
	struct timespec begun;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	while (waitpid(pid, NULL, WNOHANG) == 0 && in_time(&begun))
		drain(t);
	assert_int_equal(tasks_drain(t), 0);
}

static void record_family(struct seen *seen, bool follow, bool alone, bool *skipped)
{
	int begin[2], second[2];
	struct pe_event event = page_faults();
	struct tasks_stats stats;
	struct timespec begun;
	struct tasks *t;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	assert_int_equal(pipe(begin), 0);
	assert_int_equal(pipe(second), 0);
	pid = fork();
	if (pid == 0)
		family(begin[0], second[0]);
	t = attach(seen, &event, pid, follow, alone);
	*skipped = t == NULL;
	assert_int_equal(write(begin[1], "x", 1), 1);
	for (int i = 0; t && (seen->n_forks < 2 || i < 3) && in_time(&begun); i++)
		drain(t);
	assert_int_equal(write(second[1], "xy", 2), 2);
	if (t) {
		assert_true(tasks_alive(t));
		drain_to_the_end(t, pid);
		assert_false(tasks_alive(t));
		assert_int_equal(tasks_stop(t, &stats), 0);
		assert_int_equal(stats.n_missed + stats.n_refused, 0);
	}
	tasks_free(t);
	for (int i = 0; i < 2; i++) {
		close(begin[i]);
		close(second[i]);
	}
}

/* 200 pages each, and some faults more for stacks and what fork leaves behind. */
static void expect_all_three(const struct seen *seen)
{
	unsigned n_full = 0;

	for (unsigned i = 0; i < seen->n; i++)
		n_full += seen->n_samples[i] >= N_PAGES && seen->n_samples[i] < 2 * N_PAGES;
	assert_int_equal(n_full, 3);
	assert_int_equal(seen->n, 3);
	assert_int_equal(seen->n_forks, 2);
	assert_int_equal(seen->n_foreign, 0);
}

static void inherited_tasks_are_sampled(void **state)
{
	struct seen seen = { 0 };
	bool skipped;

	(void)state;
	record_family(&seen, false, false, &skipped);
	if (skipped)
		skip();
	expect_all_three(&seen);
}

static void followed_tasks_are_sampled_the_same(void **state)
{
	struct seen seen = { 0 };
	bool skipped;

	(void)state;
	record_family(&seen, true, false, &skipped);
	if (skipped)
		skip();
	expect_all_three(&seen);
}

static void a_thread_alone_is_sampled_alone(void **state)
{
	struct seen seen = { 0 };
	bool skipped;

	(void)state;
	record_family(&seen, false, true, &skipped);
	if (skipped)
		skip();
	assert_int_equal(seen.n, 1);
	assert_true(seen.n_samples[0] >= N_PAGES);
}

/*
 * 20000 faults, one sample each, into a ring of 2 pages that nobody reads meanwhile: what the ring held
 * and what was lost make up for all of them, told by a record or, as the task is gone, worked out.
 */
static void what_a_full_ring_lost_is_known(void **state)
{
	enum { N_ROUNDS = 100 };
	struct seen seen = { 0 };
	struct pe_event event = page_faults();
	struct tasks_config config = {
		.events = &event, .n_events = 1, .follow = true, .ring_pages = 2, .take = take, .arg = &seen
	};
	struct tasks_stats stats;
	struct tasks *t = NULL;
	int begin[2], err;
	pid_t pid;
	char c;

	(void)state;
	event.attr.sample_type |= PERF_SAMPLE_READ;
	event.attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
	                         PERF_FORMAT_TOTAL_TIME_RUNNING;
	assert_int_equal(pipe(begin), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = read(begin[0], &c, 1) == 1 ? 0 : N_ROUNDS; i < N_ROUNDS; i++)
			touch_pages();
		_exit(0);
	}
	assert_int_equal(tasks_new(&config, &t), 0);
	seen.tasks = t;
	err = tasks_attach(t, pid);
	if (err == 0)
		assert_int_equal(tasks_enable(t, true), 0);
	assert_int_equal(write(begin[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (err == 0)
		assert_int_equal(tasks_stop(t, &stats), 0);
	tasks_free(t);
	if (err == -SP_ENOTSUP)
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(seen.n, 1);
	assert_true(seen.n_samples[0] < 500);
	assert_true(seen.n_samples[0] + stats.n_untold + seen.n_lost >= N_ROUNDS * N_PAGES);
	/* A sanitizer has a byte of its own for each 8: an eighth more pages. */
	assert_true(seen.n_samples[0] + stats.n_untold + seen.n_lost < N_ROUNDS * N_PAGES * 5 / 4);
}

static void use_cpu_ms(long ms)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < ms);
}

/* A process that takes 400 ms until it becomes another program: what is told is what that ran, as a budget is a share of. */
static void time_is_told_from_exec_on(void **state)
{
	enum { BEFORE_MS = 400 };
	struct seen seen = { 0 };
	struct pe_event clock = page_faults();
	struct tasks_config config = { .events = &clock, .n_events = 1, .take = take, .arg = &seen };
	struct tasks_stats stats = { 0 };
	struct tasks *t = NULL;
	struct rusage all;
	uint64_t told, all_ns;
	int begin[2], err;
	pid_t pid;
	char c;

	(void)state;
	clock.attr.config = PERF_COUNT_SW_TASK_CLOCK;
	clock.attr.sample_period = 1000000;
	clock.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	assert_int_equal(pipe(begin), 0);
	pid = fork();
	if (pid == 0) {
		if (read(begin[0], &c, 1) == 1) {
			use_cpu_ms(BEFORE_MS);
			execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done",
			      NULL);
		}
		_exit(1);
	}
	assert_int_equal(tasks_new(&config, &t), 0);
	seen.tasks = t;
	err = tasks_add_child(t, pid, false);
	assert_int_equal(write(begin[1], "x", 1), 1);
	assert_int_equal(wait4(pid, NULL, 0, &all), pid);
	close(begin[0]);
	close(begin[1]);
	told = tasks_time_ns(t);
	if (err == 0)
		assert_int_equal(tasks_stop(t, &stats), 0);
	tasks_free(t);
	if (err == -SP_ENOTSUP)
		skip();
	assert_int_equal(err, 0);
	all_ns = (uint64_t)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000000000 +
	         (uint64_t)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1000;
	assert_true(told > 0);
	assert_int_equal(told, stats.time_ns);
	/* The events' time runs on while an interrupt, or the host, has the CPU, and the other clock's does not. */
	assert_true(told + BEFORE_MS / 2 * UINT64_C(1000000) < all_ns);
}

static void a_process_that_is_not_there_is_an_error(void **state)
{
	struct seen seen = { 0 };
	struct pe_event event = page_faults();
	struct tasks_config config = { .events = &event, .n_events = 1, .take = take, .arg = &seen };
	struct tasks *t = NULL;

	(void)state;
	assert_int_equal(tasks_new(&config, &t), 0);
	assert_int_equal(tasks_attach(t, 0x3ffffffe), -SP_ENOENT);
	assert_non_null(strstr(sp_error_text(), "no process"));
	tasks_free(t);
}

static void lists_of_cpus_are_read(void **state)
{
	static const char *const bad[] = { "", "a", "1-", "3-1", "0,,2", "0-1024", "1 2", "-1" };
	cpu_set_t set;

	(void)state;
	assert_int_equal(cpus_parse("-C", "0-2,7", &set), 0);
	assert_int_equal(CPU_COUNT(&set), 4);
	assert_true(CPU_ISSET(7, &set));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpus_parse("-C", bad[i], &set), -SP_EUSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inherited_tasks_are_sampled),
		cmocka_unit_test(followed_tasks_are_sampled_the_same),
		cmocka_unit_test(a_thread_alone_is_sampled_alone),
		cmocka_unit_test(what_a_full_ring_lost_is_known),
		cmocka_unit_test(time_is_told_from_exec_on),
		cmocka_unit_test(a_process_that_is_not_there_is_an_error),
		cmocka_unit_test(lists_of_cpus_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
