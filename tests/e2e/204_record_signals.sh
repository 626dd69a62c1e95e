#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Signals pass through, and a recording survives whatever is killed.
set -u
. "$TOP/tests/e2e/lib200.sh"

build spin <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t stop, times;
static void on(int s) { stop = s; times++; }
static __attribute__((noipa)) unsigned turn(unsigned x) { for (int i = 0; i < 1000; i++) x = x * 5 + 1; return x; }
int main(int argc, char **argv)
{
	unsigned x = 1;
	long left = argc > 1 ? atol(argv[1]) : -1;
	signal(SIGINT, on);
	signal(SIGTERM, on); /* before our number is told, which others wait for */
	printf("%d\n", getpid());
	fflush(stdout);
	while (!stop && left--) x = turn(x);
	if (stop) usleep(300000); /* a second one would come now */
	printf("stopped %d, %d times\n", (int)stop, (int)times);
	return stop ? 40 + stop : x == 0;
}
C
# What is killed has run for a while: samples of its loop are in the file, whose head takes 35,000 bytes.
sampled() { wait_until test -s "$1.out" && wait_until larger "$1.data" 300000; }
readable() { perf report -i "$1" --stdio 2>perf.err | grep -q turn; }

"$SKIDPROF" record --pmu sim -o term.data ./spin >term.out 2>term.err & rec=$!
sampled term
kill -TERM $rec
wait $rec
ok $((! ($? == 55))) 'SIGTERM to the recorder reaches the program, whose status comes back'
check 'the program ended in its own way' grep -q 'stopped 15, 1 times' term.out
check 'its recording is whole' readable term.data
grep -q 'samples' term.err
ok $? 'the summary is printed after SIGTERM'

# As a terminal does it: SIGINT to the whole group, once.
setsid bash -c 'trap - INT; exec "$SKIDPROF" record --pmu sim -o int.data ./spin' >int.out 2>int.err & rec=$!
sampled int
kill -INT $rec
wait $rec
ok $((! ($? == 42))) 'SIGINT ends the recording cleanly'
check 'its recording is readable' readable int.data

# on_terminal SECONDS WORD...: skidprof there, with Ctrl-C so long after the program told its number
on_terminal()
{
	python3 - "$@" <<'P'
import os, pty, re, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(os.environ["SKIDPROF"], ["skidprof"] + sys.argv[2:])
out = b""
# The program tells its number when it is ready for signals; the recorder speaks of other things.
while not re.search(rb"^\d+\r$", out, re.M):
    out += os.read(fd, 4096)
time.sleep(float(sys.argv[1]))
os.write(fd, b"\x03")
try:
    while True:
        data = os.read(fd, 4096)
        if not data: break
        out += data
except OSError:
    pass
print(out.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
}
# Ctrl-C on a terminal reaches program and recorder; the program must not get it twice.
on_terminal 2 record -o pty.data ./spin >pty.out 2>&1
ok $((! ($? == 42))) 'Ctrl-C on a terminal ends the recording cleanly'
check 'the program got it once' grep -q 'stopped 2, 1 times' pty.out
check 'the summary follows' grep -q 'samples' pty.out
# What takes long says that it goes on, in lines of its own: the terminal is the program's.
on_terminal 4.5 record --pmu sim -o slow.data ./spin >slow.out 2>&1
ok $((! ($? == 42))) 'Ctrl-C on a terminal ends a simulation cleanly'
check 'that it runs on was said' grep -q '^skidprof: the program runs on, emulated' slow.out
check 'and how far it was' grep -qE '^skidprof: [0-9]+ seconds, [0-9]+ samples so far' slow.out
check 'in no line that is drawn over' sh -c '! grep -q "$(printf "\033")" slow.out'
check 'that recording is readable' readable pty.data

"$SKIDPROF" record --pmu sim -o kill.data ./spin >kill.out 2>kill.err & rec=$!
sampled kill
kill -KILL "$(head -1 kill.out)"
wait $rec
ok $((! ($? == 137))) 'a program killed by SIGKILL gives 137'
check 'and is said to have been' grep -q '/spin: killed by signal 9 (Killed); what was recorded is in kill.data' kill.err
check 'what had arrived is written' readable kill.data

# What the processor has and the emulator has not ends the program: the cause is said, and what to build.
if [ "$(uname -m)" = x86_64 ]; then
	echo 'int main(void) { asm volatile("vpxorq %%zmm0, %%zmm0, %%zmm0" ::: "memory"); return 0; }' | gcc -x c -o wide - || exit 1
	"$SKIDPROF" truth -o wide.truth ./wide >wide.out 2>wide.err
	ok $((! ($? == 132))) 'an instruction of AVX-512 ends an emulated program'
	check 'and what to build is said' grep -q 'the emulator has AVX2, but no AVX-512.*-march=x86-64-v3' wide.err
	"$SKIDPROF" truth -o shell.truth sh -c './wide; exit $?' >wide.out 2>wide.err
	check 'also in what a shell started' grep -q 'no AVX-512.*-march=x86-64-v3' wide.err
	"$SKIDPROF" truth -o ill.truth sh -c 'kill -KILL $$' >wide.out 2>wide.err
	check 'but not where another signal did' sh -c '! grep -q AVX wide.err'
fi

build crash <<'C'
static __attribute__((noipa)) unsigned turn(unsigned x) { for (int i = 0; i < 1000; i++) x = x * 5 + 1; return x; }
int main(void) { unsigned x = 1; for (int i = 0; i < 300; i++) x = turn(x); return (int)*(volatile unsigned *)(unsigned long)(x != 0); }
C
"$SKIDPROF" record --pmu sim -o crash.data ./crash >/dev/null 2>crash.err
ok $((! ($? == 139))) 'a segmentation fault gives 139'
check 'it is said, and when it may be the emulator'\''s' grep -q 'segmentation fault.*QEMU' crash.err
check 'what ran before it is written' readable crash.data

# Enough work to outlive its recorder for a while, and an end of its own.
"$SKIDPROF" record --pmu sim -o nine.data ./spin 20000 >nine.out 2>nine.err & rec=$!
sampled nine
pid=$(head -1 nine.out)
kill -KILL $rec
wait $rec 2>/dev/null >&2
check 'kill -9 of the recorder leaves a file that perf report reads' readable nine.data
check 'kill -9 of the recorder leaves a file with samples' test "$(perf script -i nine.data 2>/dev/null | wc -l)" -gt 100
check 'no stray process is left' wait_until ended "$pid"
kill -KILL "$pid" 2>/dev/null
exit 0
