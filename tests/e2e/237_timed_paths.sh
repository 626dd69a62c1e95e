#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Paths that are timed: what is counted on them is what the processor ran, step by step; and the recording says how many
# instructions the program ran in all.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ -e "$BUILD/skidreplay" ] && "$SKIDPROF" record -q --pmu clock --bursts 0 -o probe.data true 2>probe.err || {
	echo "no replayer or no clock events here: $(head -1 probe.err 2>/dev/null)"
	exit 77
}
mkdir tools
ln -s "$BUILD/skidreplay" tools/
gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -iquote "$TOP" "$TOP/tests/e2e/replay_marks.c" "$BUILD/libskidprof.a" \
	-lcapstone -lgsl -lgslcblas -lelf -ldw -lm -o tools/replay_marks || exit 1
tools/replay_marks 0 9 1 true >probe.out 2>&1
[ $? -ne 77 ] || {
	echo "skip: $(head -1 probe.out)"
	exit 77
}
SEED=${SEED:-$RANDOM}
echo "# SEED=$SEED"

# Calls, indirect ones too, recursion, string instructions, vectors, tables that are written: all in a little memory.
build walk -O2 <<'END' || exit 1
#include <stdlib.h>
#include <string.h>
enum { N = 512 };
static unsigned table[N];
static double weights[N];
__attribute__((noinline)) static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
__attribute__((noinline)) static unsigned mix(unsigned x)
{
	x ^= x >> 13;
	return x * 2654435761u;
}
__attribute__((noinline)) static unsigned fold(unsigned x)
{
	char text[64];
	memset(text, (int)(x & 15) + 'a', sizeof(text) - 1);
	text[x % 63] = 0;
	__asm__ volatile("" : : "r"(text) : "memory");
	return (unsigned)strlen(text) + x;
}
int main(int argc, char **argv)
{
	unsigned (*volatile f[3])(unsigned) = { mix, fold, mix };
	unsigned x = 1;
	for (unsigned long i = 0; i < (argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000000ul); i++) {
		x = f[i % 3](x + (unsigned)i);
		table[x % N] += x;
		weights[x % N] = weights[(x >> 8) % N] * 0.5 + table[i % N];
		if (x % 64 == 0)
			x += fib(8);
	}
	return x == 1;
}
END
# counts FILE WORD: the number behind a word of the last line.
counts()
{
	sed -n "s/.*\b$2 \([0-9]*\).*/\1/p" "$1" | tail -1
}
timeout 100 tools/replay_marks 60 6000 "$SEED" ./walk >walk.out 2>&1
check 'instructions and runs between marks are those that were stepped' test $? -eq 0
tail -3 walk.out | sed 's/^/# /'
check 'nearly all marks are met' test "$(counts walk.out met)" -ge 50
timeout 100 tools/replay_marks 30 6000 "$SEED" "$BUILD/samples/mcf" 1000000 >mcf.out 2>&1
check 'the same of a program of some memory' test $? -eq 0
tail -3 mcf.out | sed 's/^/# /'
check 'marks are met there as well' test "$(counts mcf.out met)" -ge 15

# Its outer loop's state is in memory: registers come to the same again in every second of its stages.
build again -O1 <<'END' || exit 1
static volatile unsigned long turn, sum;
int main(void)
{
	for (;;) {
		unsigned long x = ++turn;
		for (unsigned long i = 0; i < 300; i++)
			x = x * 6364136223846793005u + i;
		sum += x;
		x = 1;
		for (unsigned long i = 0; i < 300; i++)
			x = x * 6364136223846793005u + i;
		sum += x;
	}
}
END
timeout 100 tools/replay_marks 60 6000 "$SEED" ./again >again.out 2>&1
check 'marks that are met twice are passed by' test $? -eq 0
tail -3 again.out | sed 's/^/# /'
check 'and others found in their place' test "$(counts again.out met)" -ge 30 -a "$(counts again.out chosen)" -ge 20

# In all: a chain of dependent instructions has one pace, but what a busy machine does to it.
build chain <<'END' || exit 1
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned long x = 1, n = strtoul(argv[argc - 1], NULL, 0);
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile(".rept 18\n\timul $3, %0, %0\n\t.endr" : "+r"(x));
	return x == 1;
}
END
n=200000000
"$SKIDPROF" record -v --pmu clock --bursts 20 --timed-bursts 12 --burst-budget 1000% -o chain.data ./chain $n >/dev/null 2>chain.err
grep 'timed\|bursts:' chain.err | sed 's/^/# /'
"$SKIDPROF" report --format json -i chain.data >chain.json 2>/dev/null
python3 - $n <<'END' >chain.out
import json, sys
# 18 multiplications, and two or three instructions of the loop.  The 90% interval is 1.64 standard deviations to either
# side, at least: five of them are some three of it.
t = json.load(open("chain.json"))["meta"]["timed"]
lo, hi = 20 * int(sys.argv[1]), 22 * int(sys.argv[1])
print("paths", t["paths"], "without", t["moments_without"], "instructions", t["instructions"], t["lo"], t["hi"], "true", lo, hi)
if t["paths"] < 10:
    print("too few")
elif t["instructions"] is None:
    print("not told")
else:
    half = 3.1 * (t["hi"] - t["lo"]) / 2
    f = next(f for f in json.load(open("chain.json"))["functions"] if f["name"] == "main")
    print("main", f["fixed"], f["lo"], f["hi"], "IPC", f["ipc_fixed"])
    half_main = 3.1 * (f["hi"] - f["lo"]) / 2 if f["hi"] else -1
    print("main is", "good" if f["fixed"] - half_main <= hi and f["fixed"] + half_main >= lo else "bad")
    print("good" if t["instructions"] - half <= hi and t["instructions"] + half >= lo and t["hi"] < 2 * t["lo"] else "bad")
END
sed 's/^/# /' chain.out
case $(tail -1 chain.out) in
'too few') echo 'ok - skip: the machine is too busy for ten paths # SKIP' ;;
*) check 'instructions of the whole program are told' test "$(tail -1 chain.out)" = good ;;
esac
! grep -q '^main is' chain.out || check 'and those of its one loop' grep -q '^main is good' chain.out
check 'moments at which paths are timed are no samples' bash -c \
	'grep -q "; $(python3 -c "import json; print(\"{:,}\".format(sum(e[\"samples\"] for e in json.load(open(\"chain.json\"))[\"meta\"][\"events\"] if e[\"name\"] not in (\"bursts\", \"timed-paths\"))))") samples, " <("$SKIDPROF" report -i chain.data 2>/dev/null)'
"$SKIDPROF" report --fixed -i chain.data >chain.txt 2>/dev/null
[ "$(tail -1 chain.out)" = 'too few' ] || check 'the report says so' grep -qE '^# [0-9]+ timed paths: .* instructions in all \(90% interval .*\), IPC [0-9.]+ \(' chain.txt
# Rounds that are all alike, each a little shorter than the time from moment to moment: registers and stack come to the same in
# each, and a path would be short of a whole round.
build rounds <<'END' || exit 1
#include <stdlib.h>
static volatile unsigned long left;
int main(int argc, char **argv)
{
	for (left = strtoul(argv[argc - 1], NULL, 0); left; left--) {
		unsigned long x = 1;
		for (unsigned long i = 0; i < 27000; i++)
			__asm__ volatile(".rept 18\n\timul $3, %0, %0\n\t.endr" : "+r"(x));
	}
	return 0;
}
END
n=4000
"$SKIDPROF" record --pmu clock --timed-bursts 20 --burst-budget 1000% -o rounds.data ./rounds $n >/dev/null 2>rounds.err
"$SKIDPROF" report --format json -i rounds.data 2>/dev/null | python3 -c '
import json, sys
t, true = json.load(sys.stdin)["meta"]["timed"], 27000 * 20.5 * int(sys.argv[1])
print("#", t["paths"], "paths,", t["moments_without"], "moments without; instructions", t["instructions"], "of", true)
sys.exit(t["instructions"] is not None and not 0.5 < t["instructions"] / true < 2)' $n
check 'paths are not timed modulo a round' test $? -eq 0
"$SKIDPROF" record -q --pmu clock -o none.data ./chain 1000000 2>none.err
check 'none are taken where they are not asked for, and the file has no event of theirs' \
	bash -c '"$SKIDPROF" report --format json -i none.data 2>/dev/null | python3 -c "import json,sys; m=json.load(sys.stdin)[\"meta\"]; sys.exit(m[\"timed\"][\"paths\"] or any(\"timed\" in e[\"name\"] for e in m[\"events\"]))"'
"$SKIDPROF" record --timed-bursts 1x -o no.data true >usage.out 2>&1
check 'a rate that is none is refused' test $? -eq 2
check 'with what would be one' grep -q "'1x' is neither 'auto' nor a number" usage.out
"$SKIDPROF" record --pmu clock --timed-bursts auto -o no.data true >/dev/null 2>short.err
check 'a run too short for a path is told so' grep -q 'no path was timed: .* too short for one' short.err
if command -v perf >/dev/null; then
	perf script -i chain.data >/dev/null 2>perf.err
	check 'perf reads the file' test $? -eq 0
	perf report -i chain.data --stdio >perf.txt 2>/dev/null
	check 'and shows the instructions of paths as an event' grep -q "of event 'timed-paths'" perf.txt
fi
exit 0
