#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Exact counts of other tools, each against our own of the same binary; and what is refused: another program, another
# build, numbers that can't be.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static unsigned step(unsigned x)
{
	return x * 2654435761u ^ x >> 7;
}
__attribute__((noinline)) static unsigned other(unsigned x)
{
	return x & 1 ? x * 3 + 1 : x / 2;
}
__attribute__((noinline)) static unsigned choose(unsigned x)
{
	switch (x & 7) {
	case 0: return x + 3;
	case 1: return x ^ 0x55;
	case 2: return x * 7;
	case 3: return x - 9;
	case 4: return x << 1;
	case 5: return ~x;
	default: return x;
	}
}
__attribute__((noinline)) static unsigned depth(unsigned n)
{
	return n < 2 ? 1 : depth(n - 1) + depth(n - 2);
}
int main(int argc, char **argv)
{
	static unsigned (*volatile const way[])(unsigned) = { step, other, choose };
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 200000, x = 1;
	for (unsigned i = 0; i < n; i++)
		x += way[i % 3](x) + (x & 64 ? step(i) : 0);
	printf("%u %u\n", x, depth(18));
	return 0;
}
C
# Relocations are kept for BOLT: the code is the same.
gcc -O2 -g -Wl,-q prog.c -o prog || exit 1
"$SKIDPROF" record --pmu sim -q -o p.data --truth own.cg ./prog >/dev/null || exit 1
"$SKIDPROF" compare -i p.data --truth own.cg --rollup --format json >own.json || exit 1
"$SKIDPROF" compare -i p.data --truth own.cg --by insn --format json >own-insn.json || exit 1
"$SKIDPROF" compare -i p.data --truth own.cg --by line --format json >own-line.json || exit 1

# same KEY FILE NAMES...: rows of these names have the truth of FILE exactly.
same()
{
	python3 - "$@" <<'P'
import json, sys
key, file, *names = sys.argv[1:]
a, b = ({r["name"]: r["truth"] for r in json.load(open(f))[key]} for f in ("out", file))
wrong = [(n, a.get(n), b.get(n)) for n in names if n not in a or a[n] != b.get(n)]
print(*("# %s: %s, not %s" % w for w in wrong), sep="\n", end="\n" if wrong else "")
sys.exit(bool(wrong))
P
}
# all_listed KEY FILE: every row of prog.c that both have is the same, and there are at least 20.  What the dynamic linker
# runs depends on the environment.
all_listed()
{
	python3 - "$@" <<'P'
import json, sys
key, file = sys.argv[1:]
a, b = ({r["name"]: r["truth"] for r in json.load(open(f))[key]} for f in ("out", file))
both = [n for n in a if n in b and a[n] and n.startswith("prog.c:")]
wrong = [(n, a[n], b[n]) for n in both if a[n] != b[n]]
print(*("# %s: %s, not %s" % w for w in wrong[:9]), sep="\n", end="\n" if wrong else "")
sys.exit(len(both) < 20 or bool(wrong))
P
}
# Not main: callgrind counts the stubs of PLT that it calls as its own.
funcs='step other choose depth'

if command -v valgrind >/dev/null; then
	valgrind -q --tool=callgrind --callgrind-out-file=lines.cg ./prog >/dev/null 2>&1
	valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=instr.cg ./prog >/dev/null 2>&1
	valgrind -q --tool=cachegrind --cachegrind-out-file=cache.out ./prog >/dev/null 2>&1
	for f in lines.cg cache.out; do
		check "$f by function" status 0 "$SKIDPROF" compare -i p.data --truth $f --format json
		# shellcheck disable=SC2086 # a list of words
		check "its counts of the program's functions are ours" same functions own.json $funcs
		check "by line" status 0 "$SKIDPROF" compare -i p.data --truth $f --by line --format json
		check "its counts of lines are ours" same lines own-line.json prog.c:5 prog.c:9 prog.c:13 prog.c:25
		check "it has no instructions" status 1 "$SKIDPROF" compare -i p.data --truth $f --by insn
		check "which is said" one_line 'counts by function and line only'
		check "report has cycles beside it" status 0 "$SKIDPROF" report -i p.data --truth $f --format json
		check "with the exact counts" json '[f["fixed"] for f in d["functions"] if f["name"] == "depth"] == [f["truth"] for f in json.load(open("own.json"))["functions"] if f["name"] == "depth"]'
		check "and no lines" status 1 "$SKIDPROF" report -i p.data --truth $f --lines
	done
	check 'it is said what a file is read as' sh -c '"$SKIDPROF" compare -i p.data --truth cache.out | grep -q "^# the truth file is read as cachegrind"'
	check 'and what callgrind does with stubs' sh -c '"$SKIDPROF" compare -i p.data --truth lines.cg | grep -q "skip-plt=no"'
	check 'callgrind by instruction' status 0 "$SKIDPROF" compare -i p.data --truth instr.cg --rollup --format json
	# shellcheck disable=SC2086
	check 'is ours' same functions own.json $funcs
	mkdir -p away && cp prog away/
	valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=away.cg ./away/prog >/dev/null 2>&1
	check 'a copy elsewhere, without build ids' status 0 "$SKIDPROF" compare -i p.data --truth away.cg --rollup --format json
	# shellcheck disable=SC2086
	check 'is the same by its instructions' same functions own.json $funcs
	gcc -O2 prog.c -o away/bare && valgrind -q --tool=callgrind --callgrind-out-file=bare.cg ./away/bare >/dev/null 2>&1
	"$SKIDPROF" record --pmu sim -q -o bare.data ./away/bare >/dev/null
	check 'without lines' status 0 "$SKIDPROF" compare -i bare.data --truth bare.cg --by line
	check 'a warning has their share' has err 'have no source line'
	sed 's/200000/200001/; s/x << 1/(x << 1) + n_other/; s/^__attr/static unsigned n_other = 3;\n&/' prog.c | sed '5,$s/^static unsigned n_other = 3;$//' >away/prog.c
	mkdir -p build2 && mv prog build2/keep && gcc -O1 away/prog.c -o prog &&
		valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=rebuilt.cg ./prog >/dev/null 2>&1
	mv build2/keep prog
	check 'another build at the same path' status 1 "$SKIDPROF" compare -i p.data --truth rebuilt.cg
	check 'is told by its instructions' one_line 'rebuilt.cg: its instructions of'
else
	echo "ok $((n_tests += 1)) - callgrind and cachegrind # SKIP no valgrind"
fi

bolt=$(command -v llvm-bolt || find /usr/lib/llvm-*/bin -name llvm-bolt 2>/dev/null | sort -V | tail -1)
if [ -n "$bolt" ] && "$bolt" prog --instrument -o prog.inst --instrumentation-file="$PWD/prog.fdata" >bolt.log 2>&1; then
	./prog.inst >/dev/null
	check 'branches that BOLT counts on this processor' status 0 "$SKIDPROF" compare -i p.data --truth prog.fdata --by insn --format json
	check 'are the executions of every instruction, to the last' all_listed instructions own-insn.json
	check 'by function' status 0 "$SKIDPROF" compare -i p.data --truth prog.fdata --rollup --format json
	# shellcheck disable=SC2086
	check 'too' same functions own.json $funcs
	check 'and in a report' status 0 "$SKIDPROF" report -i p.data --truth prog.fdata
	sed 's/ 0 \([0-9]*\)$/ 1 \1/' prog.fdata >sampled.fdata
	check 'samples of perf2bolt' status 1 "$SKIDPROF" compare -i p.data --truth sampled.fdata
	check 'are no exact counts' one_line 'mispredictions'
	awk '{ $8 = int($8 * (NR % 7) / 3) + 1 } 1' prog.fdata >odd.fdata
	check 'branches that do not add up' status 1 "$SKIDPROF" compare -i p.data --truth odd.fdata
	check 'are refused' one_line "don't add up"
	check 'lift needs to know the file' status 1 "$SKIDPROF" lift --truth prog.fdata
	check 'and says so' one_line 'give a recording of the program with -i'
else
	echo "ok $((n_tests += 1)) - BOLT's branches # SKIP no llvm-bolt that can instrument here"
fi

qemu=$(command -v "qemu-$(uname -m)")
if [ -n "$qemu" ] && gcc -shared -fPIC -O2 -fvisibility=hidden -I "$TOP" "$TOP/tests/e2e/hotblocks.c" -o hb.so; then
	"$qemu" -plugin ./hb.so -d plugin -D all.txt ./prog >/dev/null
	check "QEMU's hotblocks, all of them" status 0 "$SKIDPROF" compare -i p.data --truth all.txt --by insn --format json
	check 'are the executions of every instruction' all_listed instructions own-insn.json
	"$qemu" -plugin ./hb.so,limit=40 -d plugin -D hot.txt ./prog >/dev/null
	check 'the most frequent' status 0 "$SKIDPROF" compare -i p.data --truth hot.txt --format json
	check 'are not all' json 'd["truth_partial"]'
	check 'report wants all' status 1 "$SKIDPROF" report -i p.data --truth hot.txt
	check 'and says so' one_line 'has not all counts'
else
	echo "ok $((n_tests += 1)) - QEMU's hotblocks # SKIP no qemu-$(uname -m)"
fi

# DrCCTProf's form, of our own counts at addresses of another run, each in two contexts.
python3 - >drcct.out <<'P'
import re
base, ours, fn, i = 0x7f901b7fb000, False, "", 0
names = {}
for line in open("own.cg"):
    if line.startswith("ob="):
        ours = line.rstrip().endswith("/prog")
    elif line.startswith("fn="):
        number, name = re.match(r"fn=\((\d+)\) ?(.*)", line).groups()
        fn = names.setdefault(number, name)
    elif line.startswith("0x") and ours and fn in ("step", "other", "choose", "depth", "main"):
        vaddr, n = int(line.split()[0], 16), int(line.split()[2])
        for part in (n - n // 2, n // 2) if n > 1000 else ():
            i += 1
            print('NO. %d PC 0x%016x "x"\n=>EXECUTION TIMES\n%d\n=>BACKTRACE\n#0   0x%016x "x" in %s at [:0]\n'
                  '#1   0x%016x in _start at [:0]\n\n\n' % (i, base + vaddr, part, base + vaddr, fn, base))
P
check "DrCCTProf's list" status 0 "$SKIDPROF" compare -i p.data --truth drcct.out --by insn --format json
check 'is joined by instruction' all_listed instructions own-insn.json
# Few samples of the loader fall where they may, and a function of it may be unreliable: status 3.
read_whole()
{
	"$SKIDPROF" compare -i s.data --truth "$1" --format json >out 2>err || [ $? -eq 3 ]
}
extra=${EXTRA_TRUTH-$TOP/../shared/truth}
for f in "$extra"/drcctprof-real-*soplex20.out; do
	[ -s "$f" ] && [ -x "$BUILD/samples/soplex" ] || continue
	[ -s s.data ] || "$SKIDPROF" record --pmu sim -q -o s.data --truth s.cg "$BUILD/samples/soplex" 20 >/dev/null
	check "a real one, ${f##*/}" read_whole "$f"
	check 'its counts are near ours, which is the same program' json 'd["eps_fixed"] < 0.02 and d["total_truth"] > 2e7'
	check 'another program' status 1 "$SKIDPROF" compare -i p.data --truth "$f"
	check 'is refused' one_line 'no instructions of any file of the recording'
done

# A library that is another build on one side is left out, with a word, and the rest compared.
echo 'unsigned work(unsigned n) { unsigned x = n; for (unsigned i = 0; i < n; i++) x = x * 5 + i; return x; }' >lib.c
printf 'unsigned work(unsigned);\nint main(void) { unsigned x = 1; for (unsigned i = 0; i < 1500000; i++) x = x * 3 ^ i; return work(500000) + x == 7; }\n' >uses.c
mkdir -p one two && gcc -O2 -shared -fPIC lib.c -o one/libwork.so && gcc -O1 -shared -fPIC lib.c -o two/libwork.so &&
	gcc -O2 uses.c -o uses -Lone -lwork || exit 1
LD_LIBRARY_PATH=one "$SKIDPROF" record --pmu sim -q -o uses.data ./uses
LD_LIBRARY_PATH=two "$SKIDPROF" truth -q -o uses.cg ./uses
check 'another build of a library' status 0 "$SKIDPROF" compare -i uses.data --truth uses.cg --format json
check 'is left out, with a word' has err 'left out, on both sides: functions of'
sed 's/work/more/' lib.c >more.c
sed 's/unsigned work(unsigned);/& unsigned more(unsigned);/; s/return /&more(500000) + /' uses.c >both.c
gcc -O2 -shared -fPIC more.c -o one/libmore.so && gcc -O1 -shared -fPIC more.c -o two/libmore.so && gcc -O2 both.c -o both -Lone -lwork -lmore || exit 1
cp out kept
LD_LIBRARY_PATH=one "$SKIDPROF" record --pmu sim -q -o both.data ./both
LD_LIBRARY_PATH=two "$SKIDPROF" truth -q -o both.cg ./both
check 'two such libraries' status 0 "$SKIDPROF" compare -i both.data --truth both.cg --format json
check 'are one line' sh -c '[ "$(grep -c "left out" err)" -eq 1 ] && grep -q "functions of 2 libraries" err'
check 'and named' status 0 "$SKIDPROF" compare -v -i both.data --truth both.cg --format json
check 'with -v' sh -c 'grep -q "functions of .*libwork" err && grep -q "functions of .*libmore" err'
cp kept out
check 'on both sides' json 'd["left_out"] > 100000 and "work" not in [f["name"] for f in d["functions"]] and abs([f["fixed_err"] for f in d["functions"] if f["name"] == "main"][0]) < 0.02'

check 'counts of another program' status 1 "$SKIDPROF" compare -i p.data --truth uses.cg
check 'are refused with both build ids' sh -c "grep -q \"\$(readelf -n uses | sed -n 's/ *Build ID: //p')\" err && grep -q \"\$(readelf -n prog | sed -n 's/ *Build ID: //p')\" err"
check 'by report, too' status 1 "$SKIDPROF" report -i p.data --truth uses.cg
printf 'nothing_of_the_kind 1000\n' >names.txt
check 'and by name' status 1 "$SKIDPROF" compare -i p.data --truth names.txt
check 'with the name' one_line 'nothing_of_the_kind'

# Numbers that can't be.
awk '/^0x/ && !n++ { $3 = "18446744073709551549" } 1' own.cg >wrapped.cg
check 'a count below zero' status 1 "$SKIDPROF" compare -i p.data --truth wrapped.cg
check 'is refused with its line' one_line "line $(grep -n 18446744073709551549 wrapped.cg | cut -d: -f1): 18446744073709551549 is no count"
awk '/^0x/ && !n++ { $3 = "99999999999" } 1' own.cg >above.cg
check 'a count above the total' status 1 "$SKIDPROF" report -i p.data --truth above.cg
check 'is refused' one_line 'more than all together'
sed '/^totals:/d; $d' own.cg >cut.cg
awk '/^0x/ && !n++ { $3++ } 1' own.cg >edited.cg
check 'what does not add up' status 1 "$SKIDPROF" compare -i p.data --truth edited.cg
check 'is refused with what to do' one_line 'make it again'
: >empty.cg
check 'an empty file' status 1 "$SKIDPROF" compare -i p.data --truth empty.cg
check 'is said to be one' one_line 'the file is empty'
cp own.cg 'with a space.cg'
check 'a path with a space' status 0 "$SKIDPROF" compare -i p.data --truth 'with a space.cg'

# Stubs of the linkage table: callgrind adds theirs to their callers', which is no other run.
if command -v valgrind >/dev/null; then
	echo 'unsigned far(unsigned x) { for (int i = 0; i < 12; i++) x = x * 5 + 1; return x; }' >far.c
	echo 'unsigned far(unsigned); int main(void) { unsigned s = 1; for (int i = 0; i < 300000; i++) s = far(s); return s == 7; }' >stubs.c
	gcc -O2 -g -shared -fPIC -o libfar.so far.c && gcc -O2 -g -fplt -o stubs stubs.c -L. -lfar -Wl,-rpath,"$PWD" || exit 1
	"$SKIDPROF" record -q --pmu sim -o stubs.data ./stubs || exit 1
	for how in --dump-instr=yes --dump-instr=no; do
		valgrind -q --tool=callgrind $how --callgrind-out-file=stubs.cg ./stubs >/dev/null 2>&1
		check "$how: a loop through a stub" status 0 "$SKIDPROF" compare -i stubs.data --truth stubs.cg --rollup --limit 0
		check 'is not said to be of another run' sh -c 'grep -q "where they are called" out && ! grep -q "NOT THE SAME RUN" out'
		check 'nor is a report of these counts' status 0 "$SKIDPROF" report -q -i stubs.data --truth stubs.cg --rollup --limit 0 --format json
		check 'in which the stub has samples, and none of its own' json '[(f["raw"] > 1e5, f["fixed"], f["status"]) for f in d["functions"] if f["name"] == "far@plt"] == [(True, 0, "raw")]'
	done
	valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=stubs.cg ./stubs >/dev/null 2>&1
	check 'which' status 0 "$SKIDPROF" report -i stubs.data --truth stubs.cg --rollup --why far@plt
	check 'says why' grep -q 'adds its instructions to those of the code that calls it' out
fi
finish
