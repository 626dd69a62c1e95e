/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded: the time of day jumps by up to an hour, forth and back, each time
 * it is asked for. A machine's own clock is not ours to set in a test.
 */
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

static time_t jump(void)
{
	static unsigned n;

	return (time_t)((__atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) * 2654435761U >> 8) % 7201) - 3600;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int err;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	err = real(id, ts);
	if (err == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += jump();
	return err;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
