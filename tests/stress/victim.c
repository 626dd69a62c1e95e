/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program to be recorded under stress:
 *
 *	victim spin SECONDS          computes for that long (of its own CPU time)
 *	victim forks N WORK          N children, one after the other, each of which computes
 *	victim threads N ROUNDS WORK N threads at a time, ROUNDS times, each of which computes
 *	victim maps N FILE           maps a page of FILE, to execute it, and unmaps it, N times
 *	victim replace OLD NEW       computes, puts NEW in the place of OLD (its own file), computes
 *
 * Ends with 0 when all was done, and says "done".
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LITTLE = 20000 };

__attribute__((noinline)) static unsigned compute(unsigned n)
{
	unsigned x = 1;

	while (n--)
		x = x * 5 + (x >> 3);
	return x;
}

static volatile unsigned result;

static int spin(char **arg)
{
	double seconds = atof(arg[0]);

	while ((double)clock() < seconds * CLOCKS_PER_SEC)
		result = compute(LITTLE);
	return 0;
}

static int forks(char **arg)
{
	for (int left = atoi(arg[0]); left; left--) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			result = compute((unsigned)atoi(arg[1]));
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	return 0;
}

static void *thread(void *arg)
{
	result = compute(*(const unsigned *)arg);
	return NULL;
}

static int threads(char **arg)
{
	int n = atoi(arg[0]), rounds = atoi(arg[1]);
	unsigned work = (unsigned)atoi(arg[2]);
	pthread_t *t = calloc((size_t)n, sizeof(*t));

	for (int r = 0; t && r < rounds; r++) {
		for (int i = 0; i < n; i++)
			if (pthread_create(&t[i], NULL, thread, &work) != 0)
				return 1;
		for (int i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	}
	free(t);
	return t == NULL;
}

static int maps(char **arg)
{
	int left = atoi(arg[0]), fd = open(arg[1], O_RDONLY);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (; left; left--) {
		void *p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			return 1;
		munmap(p, page);
		if (left % 100 == 0)
			result = compute(LITTLE);
	}
	close(fd);
	return 0;
}

static int replace(char **arg)
{
	result = compute(50 * LITTLE);
	if (rename(arg[1], arg[0]) < 0)
		return 1;
	result = compute(50 * LITTLE);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int n_args;
		int (*run)(char **arg);
	} modes[] = {
		{ "spin", 1, spin }, { "forks", 2, forks },     { "threads", 3, threads },
		{ "maps", 2, maps }, { "replace", 2, replace },
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc < 2 || strcmp(argv[1], modes[i].name) != 0 || argc != 2 + modes[i].n_args)
			continue;
		if (modes[i].run(argv + 2) != 0) {
			perror(argv[1]);
			return 1;
		}
		puts("done");
		return 0;
	}
	return 2;
}
