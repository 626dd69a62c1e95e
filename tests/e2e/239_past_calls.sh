#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bursts go past system calls, which the thread makes itself: the program notices nothing, whatever it calls.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ -e "$BUILD/skidreplay" ] && "$SKIDPROF" record -q --pmu clock -o probe.data true 2>probe.err || {
	echo "no replayer or no clock events here: $(head -1 probe.err 2>/dev/null)"
	exit 77
}
status() # STATUS COMMAND...
{
	"${@:2}"
	[ $? -eq "$1" ]
}
record() # NAME COMMAND...
{
	timeout 300 "$SKIDPROF" record -v --pmu clock --bursts 300 --burst-budget 1000% -o "$1.data" "${@:2}" >"$1.out" 2>"$1.err"
	local status=$?
	grep -hE 'bursts of|went past' "$1.err" | sed 's/^/# /'
	return $status
}
passed()
{
	local n
	n=$(sed -n 's/.*went past \([0-9]*\) system.*/\1/p' "$1.err")
	[ "${n:-0}" -gt 0 ]
}

# Short calls, calls that sleep until another process answers, and one that ends it.
build pingpong <<'END1' || exit 1
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned long work(unsigned long x, int n)
{
	while (n--)
		x = x & 8 ? x * 3 + 1 : x * 5 + 7;
	return x;
}
int main(void)
{
	int to[2], from[2], status;
	unsigned long sum = 1;
	char c;
	if (pipe(to) || pipe(from))
		return 1;
	if (!fork()) {
		unsigned long x = 1;
		while (read(to[0], &c, 1) == 1 && c != 7) {
			x = work(x + (unsigned char)c, 2000);
			c = (char)(x >> 60);
			if (write(from[1], &c, 1) != 1)
				_exit(9);
		}
		_exit(3);
	}
	for (int i = 0; i < 60000; i++) {
		c = (char)(i % 5);
		sum = work(sum, 1500);
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			return 4;
		sum += (unsigned char)c;
	}
	c = 7;
	if (write(to[1], &c, 1) != 1 || wait(&status) < 0)
		return 4;
	printf("%lu %d\n", sum, WEXITSTATUS(status));
	return 5;
}
END1
./pingpong >want
check 'two processes that wait for each other end as they do' status 5 record pingpong ./pingpong
check 'and say the same' cmp want pingpong.out
check 'and their calls were gone past' passed pingpong

# Signals all the time, in calls and outside; a signal that ends a call early (EINTR) is counted by the program.
build signals <<'END1' || exit 1
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t n;
static void on_alarm(int s)
{
	n += s > 0;
}
int main(void)
{
	struct sigaction a = { .sa_handler = on_alarm };
	struct itimerval t = { { 0, 1500 }, { 0, 1500 } }, off = { { 0 } };
	unsigned long x = 1, early = 0, other = 0;
	char got[8];
	int p[2];
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	while (n < 1000) {
		for (int i = 0; i < 3000; i++)
			x = x & 8 ? x * 3 + 1 : x * 5 + 7;
		if (getppid() == 0)
			return 1;
		if (n % 50 == 49) {
			/* Nothing is ever written: only a signal ends it. */
			if (pipe(p))
				return 1;
			if (read(p[0], got, sizeof(got)) < 0 && errno == EINTR)
				early++;
			else
				other++;
			close(p[0]);
			close(p[1]);
			while (n % 50 == 49)
				x++;
		}
	}
	setitimer(ITIMER_REAL, &off, NULL);
	printf("%s %lu\n", early >= 10 ? "early" : "never", other);
	return x == 0;
}
END1
check 'signals come as they do' status 0 record signals ./signals
check 'and end calls that they end' test "$(cat signals.out)" = 'early 0'
check 'beside calls that were gone past' passed signals

# Threads that end while others are in calls, by the end of the process; locks that are fought for.
build threads -pthread <<'END1' || exit 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;
static void *work(void *arg)
{
	unsigned long x = (unsigned long)(size_t)arg;
	for (;;) {
		for (int i = 0; i < 500; i++)
			x = x & 8 ? x * 3 + 1 : x * 5 + 7;
		pthread_mutex_lock(&lock);
		sum += x & 1;
		pthread_mutex_unlock(&lock);
		if (getppid() == 0)
			return NULL;
	}
}
int main(int argc, char **argv)
{
	pthread_t t;
	for (size_t i = 0; i < 4; i++)
		pthread_create(&t, NULL, work, (void *)i);
	usleep(argc > 1 ? (useconds_t)atoi(argv[1]) : 100000);
	_exit(6);
}
END1
# Where a thread that was killed in a stop is not waited for, its process never ends.
for i in 1 2 3 4 5 6; do
	record threads ./threads 150000
	[ $? -eq 6 ] || break
done
check 'a process that ends in the midst of its threads'\'' calls is done' test $i -eq 6 -a -e threads.data

# The recorder is killed: what it traced goes on.
"$SKIDPROF" record -q --pmu clock --bursts 500 --burst-budget 1000% -o killed.data ./pingpong >killed.out 2>/dev/null &
recorder=$!
sleep 0.5
kill -9 $recorder
wait $recorder 2>/dev/null
for _ in $(seq 600); do
	[ -s killed.out ] && break
	sleep 0.1
done
check 'a recorder that is killed leaves the program as it is' cmp want killed.out
exit 0
