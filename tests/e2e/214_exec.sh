#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs begun by exec run under the emulator as well, as the kernel would run them; what can't be is said.
# And however a program ends, what it ran until then is counted.
set -u
. "$TOP/tests/e2e/lib200.sh"

# same NAME COMMAND...: the same output and status natively and under truth, and nothing that it did not count.
same()
{
	local name=$1 want got
	shift
	"$@" >want 2>want.err
	want=$?
	"$SKIDPROF" truth -q -o t.out "$@" >got 2>got.err
	got=$?
	if [ $want -ne $got ] || ! cmp -s want got || ! diff want.err got.err >differs; then
		echo "# status $got, natively $want"
		diff want got | head -5 | sed 's/^/# /'
		head -5 differs | sed 's/^/# /'
		ok 1 "$name"
		return
	fi
	ok 0 "$name"
}
counted() { grep -q "^ob=.*/$1\$" t.out; } # PROGRAM

build show <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		printf("[%s]", argv[i]);
	printf(" %s %s\n", getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "-", getenv("X") ? getenv("X") : "-");
	return 7;
}
C
same 'a shell with a program at its end' sh -c './show a "b c" ""; exit $?'
check 'whose instructions are counted' counted show
same 'a pipeline' sh -c 'echo one | cat | tr o 0'
same 'exec in the shell itself' sh -c 'exec ./show x'
check 'both programs are counted' eval 'counted show && counted dash'
same 'the environment arrives' env X=y LD_LIBRARY_PATH=/nowhere ./show
same 'programs searched for, some in vain' env PATH=/nowhere:.:/bin show z
same 'another name' bash -c 'exec -a "a name" ./show'
printf '#!%s first  second \nrest' "$PWD/show" >script
printf '#!./script arg' >script2
chmod +x script script2
same 'a script' sh -c './script 1 2'
same 'a script run by a script' sh -c './script2 1 2'
printf 'echo a shell reads this' >plain
chmod +x plain
same 'a text without a first line' sh -c './plain'
same 'a file that is not there' sh -c './none; ./show'
same 'a folder' sh -c '. / 2>&1 | cat; / ; true'
ln -s show -- -x
same 'a name like an option' bash -c 'PATH=. exec -- -x'
same 'xargs and env' sh -c 'printf "1 2 3" | xargs -n1 env A=1 ./show'

build execs -D_GNU_SOURCE <<'C'
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <pthread.h>
#include <unistd.h>
extern char **environ;
static char *words[] = { "show", "by", "exec", NULL };
static void *by_thread(void *p) { (void)p; execv("./show", words); return NULL; }
int main(int argc, char **argv)
{
	pthread_t t;
	pid_t pid;
	int fd, status = 0;

	if (!strcmp(argv[1], "vfork")) {
		if (!(pid = vfork())) { execv("./show", words); _exit(1); }
	} else if (!strcmp(argv[1], "spawn")) {
		posix_spawnp(&pid, "./show", NULL, NULL, words, environ);
	} else if (!strcmp(argv[1], "fexecve")) {
		if (!(pid = fork())) { fd = open("show", O_RDONLY | O_CLOEXEC); fexecve(fd, words, environ); _exit(1); }
	} else if (!strcmp(argv[1], "at")) {
		if (!(pid = fork())) { fd = open("..", O_PATH); char name[4096]; snprintf(name, sizeof(name), "%s/show", argv[2]); execveat(fd, name, words, environ, 0); _exit(1); }
	} else if (!strcmp(argv[1], "memfd")) {
		if (!(pid = fork())) {
			char buf[1 << 16]; int in = open("show", O_RDONLY); ssize_t n; fd = memfd_create("m", 0);
			while ((n = read(in, buf, sizeof(buf))) > 0) if (write(fd, buf, n) != n) _exit(1);
			fexecve(fd, words, environ); _exit(1);
		}
	} else { /* thread: the one that executes becomes the process */
		pthread_create(&t, NULL, by_thread, NULL); pthread_join(t, NULL); return 1;
	}
	waitpid(pid, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
C
for how in vfork spawn fexecve thread; do
	same "exec by $how" ./execs $how
	check "$how: counted" eval 'counted show && counted execs'
done
same 'exec by a folder' ./execs at "$(basename "$PWD")"
check 'by a folder: counted' counted show
"$SKIDPROF" truth -o t.out ./execs memfd >got 2>err
check 'a file without a name runs' grep -q '^\[show\]\[by\]\[exec\]' got
check 'and is said not to be recorded' grep -q 'not recorded: a file without a name (1 in all; the first because [a-z]' err

# Everything that was executed is in one recording, name by name, and its sum is the exact count.
"$SKIDPROF" record -q --pmu sim -c 1009 -o f.data --truth f.out sh -c './show; ls / | sort >/dev/null' >/dev/null 2>err
names=$(perf script -i f.data -F comm 2>/dev/null | tr -d ' ' | sort -u | tr '\n' ' ')
echo "#$names"
check 'samples have the names of the programs' test "$names" = 'ls sh show sort '
check 'their sum is near the exact count' near "$(total f.data instructions)" "$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' f.out)" 3

# ---- ends of all kinds ----
build ends <<'C'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static __attribute__((noipa)) unsigned work(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(int argc, char **argv)
{
	volatile unsigned s = work(20000000);
	switch (argv[1][0]) {
	case 's': *(volatile int *)0 = 1; break;
	case 'd': s = s / (unsigned)(argc - 2); break;
	case 'a': abort();
	case 'k': raise(SIGKILL); break;
	case 't': raise(SIGTERM); break;
	case 'e': _exit(3);
	case 'w': write(1, "now", 3); for (;;) pause();
	case 'l': write(1, "now", 3); for (;;) s += work(1000000);
	}
	return 0;
}
C
for how in s d a k t e; do
	rm -f t.out
	./ends $how >/dev/null 2>&1
	want=$?
	"$SKIDPROF" truth -q -o t.out ./ends $how >/dev/null 2>&1
	got=$?
	n=$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' t.out)
	[ $got = $want ]
	ok $? "end '$how': the status is the program's, $want"
	# four instructions or five a turn, as compiled; natively the same binary
	check "end '$how': the loop is counted" test "${n:-0}" -ge 80000000 -a "${n:-0}" -lt 160000000
done
for whom in skidprof 'the program'; do
	rm -f got t.out
	"$SKIDPROF" truth -q -o t.out ./ends w >got 2>err &
	pid=$!
	wait_until test -s got
	[ "$whom" = skidprof ] || pid=$(pgrep -P $pid | head -1)
	kill -TERM "$pid"
	wait
	n=$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' t.out)
	check "SIGTERM to $whom while it waits: counted" test "${n:-0}" -ge 80000000
done
rm -f got
"$SKIDPROF" truth -q -o t.out ./ends l >got 2>err &
wait_until test -s got
pid=$!
kill -KILL "$(pgrep -P $pid)"
wait $pid
ok $(($? != 137)) 'SIGKILL to a program at work: the status is its'
n=$(sed -n 's/^totals: *\([0-9]*\).*/\1/p' t.out)
check 'and its counts are there' test "${n:-0}" -ge 80000000

# ---- nothing is overwritten by nothing; limits ----
echo precious >old.out
"$SKIDPROF" truth -o old.out ./none 2>err
check 'a program that is not there: the file of before stays' test "$(cat old.out)" = precious
(ulimit -v 4000000; "$SKIDPROF" truth -q -o v.out ./ends e >/dev/null 2>err)
ok $(($? != 3)) 'with little address space a smaller memory of counts serves'
check 'and the counts are the same' eval '"$SKIDPROF" truth -q -o w.out ./ends e; cmp <(grep totals v.out) <(grep totals w.out)'
(ulimit -f 1000; "$SKIDPROF" truth -o f.out ./ends e >/dev/null 2>err)
ok $(($? != 1)) 'a limit on the size of files is an error'
check 'that names it' grep -q 'ulimit -f' err
(ulimit -n 20; "$SKIDPROF" truth -q -o n.out sh -c './show; ./show' >/dev/null 2>err)
ok $(($? != 7)) 'few descriptors are enough'
exit 0
