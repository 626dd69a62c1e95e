#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Functions of one name are told apart, and the kernel's have theirs, as perf says: raw, and marked; never by another boot's list.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
cat >over.cc <<'C'
#include <cstdio>
#include <cstdlib>
namespace ns {
template <int K> __attribute__((noipa)) unsigned turn(unsigned n) { unsigned s = K; while (n--) s = s * 5 + (s >> K); return s; }
__attribute__((noipa)) unsigned pick(int n) { unsigned s = 1; while (n--) s = s * 3 + (s >> 3); return s; }
__attribute__((noipa)) unsigned pick(unsigned n) { unsigned s = 1; while (n--) s ^= s * 7 + n; return s; }
}
int main(int, char **argv)
{
	unsigned n = atoi(argv[1]);
	std::printf("%u\n", ns::turn<1>(n) + ns::turn<2>(n) + ns::pick((int)n) + ns::pick(n) + ns::pick(n));
}
C
g++ -O2 -g over.cc -o over || exit 1
"$SKIDPROF" record --pmu sim -q -o o.data --truth o.truth ./over 300000 >/dev/null || exit 1
check 'overloads' status 0 "$SKIDPROF" report -i o.data
check 'are told apart' sh -c 'grep -q "ns::pick(int)$" out && grep -q "ns::pick(unsigned int)$" out'
check 'and so are instances of a template' sh -c 'grep -q "turn<1>" out && grep -q "turn<2>" out'
check 'a part of a name' status 1 "$SKIDPROF" report -i o.data --why tur
check 'is told how to be found, and not taken for another word as long' has err "'*tur*' finds 'ns::turn<"
check 'a name without its like has no parameters' sh -c '! grep -q "main(" out'
cat >deep.cc <<'C'
#include <cstdio>
#include <map>
#include <string>
#include <vector>
template <class T> __attribute__((noipa)) unsigned walk(T *, unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main() { std::printf("%u\n", walk((std::map<std::string, std::vector<std::map<std::string, std::string>>> *)0, 300000)); }
C
g++ -O2 -g deep.cc -o deep || exit 1
"$SKIDPROF" record --pmu sim -q -o deep.data ./deep >/dev/null || exit 1
check 'loops' status 0 "$SKIDPROF" report -i deep.data --trips
check 'of functions with long names are called by these, folded' grep -q ' walk<[^ ]*<> > (deep.cc:5)$' out
check 'and as data' status 0 "$SKIDPROF" report -q -i deep.data --trips --format json
check 'in full' json 'd["trips"][0]["loop"].endswith("> (deep.cc:5)")'
check 'a name in full is found by --why' status 0 "$SKIDPROF" report -i o.data --why 'ns::pick(unsigned int)'
check 'alone' test "$(grep -c '^  status: ' out)" -eq 1
check 'as data the name stays, and the full one is beside it' status 0 "$SKIDPROF" report -q -i o.data --format json
check 'both are' json '{(f["name"], f["full_name"]) for f in d["functions"] if f["name"].startswith("ns::pick")} == {("ns::pick", "ns::pick(int)"), ("ns::pick", "ns::pick(unsigned int)")}'
check 'compare tells them apart, too' status 0 "$SKIDPROF" compare -i o.data --truth o.truth
check 'it does' grep -q 'ns::pick(unsigned int)$' out
check 'as data, too' status 0 "$SKIDPROF" compare -q -i o.data --truth o.truth --format json
check 'both names are there' json '{(f["name"], f["full_name"]) for f in d["functions"] if f["name"].startswith("ns::pick")} == {("ns::pick", "ns::pick(int)"), ("ns::pick", "ns::pick(unsigned int)")}'

# D's mangling, of functions as its compilers name them: overloads, an instance of a template, a method that is const; and names that are C's.
cat >d.c <<'C'
#define LOOP(name, k, symbol) \
	__attribute__((noipa)) unsigned name(unsigned n) __asm__(symbol); \
	__attribute__((noipa)) unsigned name(unsigned n) { unsigned s = k; while (n--) s = s * 5 + (s >> k); return s; }
LOOP(a, 1, "_D3app4turnFkZk")
LOOP(b, 2, "_D3app4turnFiZk")
LOOP(c, 3, "_D3app__T4wideTiZQiFiZi")
LOOP(d, 4, "_D3app5Shape4areaMxFZk")
LOOP(e, 5, "_Dmain")
LOOP(f, 6, "_Dmains")
LOOP(g, 7, "_D3app")
int main(void) { return a(30000) + b(30000) + c(30000) + d(30000) + e(30000) + f(30000) + g(30000) == 1; }
C
gcc -O2 d.c -o d || exit 1
"$SKIDPROF" record --pmu sim -q -o d.data ./d >/dev/null || exit 1
check 'functions of D' status 0 "$SKIDPROF" report -i d.data --limit 0
check 'have their names' sh -c 'for n in "app.turn(int)" "app.turn(uint)" "app.wide!(int).wide" app.Shape.area "D main"; do grep -Fq " $n" out || { echo "# no $n"; exit 1; }; done'
check 'and those that only begin like them keep theirs' sh -c 'grep -q " _Dmains$" out && ! grep -q "_D3app[0-9_]" out'
check 'a name of D finds its function' status 0 "$SKIDPROF" report -i d.data --why app.Shape.area

# Local functions without debug information: only where their code lies tells them apart.
cat >spin.h <<'C'
static __attribute__((noipa)) unsigned spin(unsigned n) { unsigned s = K; while (n--) s = s * 5 + (s >> K); return s; }
__attribute__((noipa)) unsigned NAME(unsigned n) { return spin(n) + 1; }
C
printf '#define K 1\n#define NAME first\n#include "spin.h"\n' >first.c
printf '#define K 2\n#define NAME second\n#include "spin.h"\nunsigned first(unsigned);\nint main(void) { unsigned s = 0; for (int i = 0; i < 100; i++) s += first(2000) + second(1000); return s == 1; }\n' >second.c
gcc -O2 first.c second.c -o spin || exit 1
"$SKIDPROF" record --pmu sim -q -o spin.data ./spin >/dev/null || exit 1
check 'local functions of one name' status 0 "$SKIDPROF" report -i spin.data
grep -oE 'spin \[0x[0-9a-f]+\]$' out | sort >names
nm spin | sed -n 's/^0*\([0-9a-f]*\) t spin$/spin [0x\1]/p' | sort >symbols
check 'are told apart by where they are' sh -c '[ "$(wc -l <symbols)" -eq 2 ] && cmp names symbols'
one=$(head -1 names)
for view in --calls --children '--callees main'; do
	# shellcheck disable=SC2086 # words
	check "so with $view" status 0 "$SKIDPROF" report -i spin.data $view
	[ "$view" = '--callees main' ] || check 'both' sh -c 'grep -oE "spin \[0x[0-9a-f]+\]$" out | sort | cmp - names'
done
check 'the name finds one' status 0 "$SKIDPROF" report -i spin.data --why "$one"
check 'alone' test "$(grep -c '^  status: ' out)" -eq 1
check 'and its caller' status 0 "$SKIDPROF" report -i spin.data --callers "$one" --format csv
check 'which is that one'"'"'s' test "$(grep -cE ',(first|second)$' out)" -eq 1
check 'the other' status 0 "$SKIDPROF" report -i spin.data --callers "$(tail -1 names)" --format csv
check 'has another' sh -c 'cut -d, -f1-20 out | grep -cE ",(first|second)$" | grep -qx 1'
check 'and its code' status 0 "$SKIDPROF" annotate -i spin.data "$one"
check 'with that name' has out "$one, in spin"
check 'a page' status 0 "$SKIDPROF" report -i spin.data --html spin.html
check 'has both names, and the code of each' python3 - <<'P'
import json, re
data = json.loads(re.search(r'id="data">(.*?)</script>', open("spin.html", encoding="utf-8").read(), re.S)[1])
names = set(open("names").read().split("\n")) - {""}
for kind, key in ("functions", "full_name"), ("annotations", "full_name"):
    assert names <= {f.get(key) for f in data[kind]}, (kind, names)
assert names <= {f["name"] for f in data["flame"]["functions"]}
P

# Closures: gcc gives their calls neither a name of their own nor a place.  What each ran is told by how often it is called.
cat >closures.cc <<'C'
#include <cstdio>
#include <cstdlib>
template <class F> __attribute__((noipa)) unsigned times(unsigned n, F f) { unsigned s = 0; while (n--) s += f(n); return s; }
int main(int, char **argv)
{
	unsigned n = atoi(argv[1]);
	unsigned s = times(n, [](unsigned i) __attribute__((noinline)) { return i * 3; });
	s += times(3 * n, [](unsigned i) __attribute__((noinline)) { return i ^ 5; });
	std::printf("%u\n", s);
}
C
g++ -O1 -g closures.cc -o closures || exit 1
"$SKIDPROF" record --pmu sim -q -o c.data ./closures 100000 >/dev/null || exit 1
check 'two closures of one function' status 0 "$SKIDPROF" report -q -i c.data --calls --format json
check 'are two rows, each with its place and its calls' json '{f["full_name"]: round(f["calls"] / 1e5) for f in d["calls"] if "lambda" in f["full_name"] and "times" not in f["full_name"]} == {"main::{lambda}::operator() [closures.cc:7]": 1, "main::{lambda}::operator() [closures.cc:8]": 3}'

# Two on one line, of 5 and 20 turns of a loop in each call.
cat >oneline.cc <<'C'
#include <cstdio>
template <class F> __attribute__((noinline)) long apply(F f, long n) { long s = 1; for (long i = 0; i < n; i++) s = f(s, i); return s; }
int main()
{
	auto a = [](long s, long i) { for (int k = 0; k < 5; k++) s = s * 3 + i; return s; }; auto b = [](long s, long i) { for (int k = 0; k < 20; k++) s = (s ^ i) * 7; return s; };
	printf("%ld\n", apply(a, 400000) + apply(b, 200000));
}
C
g++ -O2 -g oneline.cc -o oneline || exit 1
"$SKIDPROF" record --pmu sim -q -o o.data --truth o.truth ./oneline >/dev/null || exit 1
check 'two closures of one line' status 0 "$SKIDPROF" compare -q -i o.data --truth o.truth --format json
check 'are two rows, each with its exact count' json '(lambda v: len(v) == 2 and all(abs(f["fixed"] / f["truth"] - 1) < 0.01 for f in v) and 2 < max(f["truth"] for f in v) / min(f["truth"] for f in v) < 4)([f for f in d["functions"] if "lambda}" in f["name"]])'
check 'told apart' status 0 "$SKIDPROF" compare -q -i o.data --truth o.truth
check 'by their columns' test "$(grep -oE 'main::\{lambda\}::operator\(\) \[oneline.cc:5:[0-9]+\]' out | sort -u | wc -l)" -eq 2

# The kernel: what it does for dd is most of its time.
work=(dd if=/dev/zero of=/dev/null bs=64k count=30000)
if ! "$SKIDPROF" record --pmu hardware -e cpu-clock:uk -c 249989 -q -o k.data "${work[@]}" >/dev/null 2>&1 || ! grep -q '^[0-9a-f]*[1-9a-f][0-9a-f]* T _text' /proc/kallsyms; then
	echo "ok $((++n_tests)) - the kernel's names # SKIP this user may not sample the kernel"
	finish
fi
check 'the kernel' status 0 "$SKIDPROF" report --raw -i k.data --limit 1
check 'has names, marked' grep -qE 'raw +\[kernel.kallsyms\] [a-z_0-9.]+ \[k\]$' out
name=$(sed -n 's/.*\[kernel.kallsyms\] \(.*\) \[k\]$/\1/p' out) share=$(sed -n 's/^ *\([0-9.]*\)%.*\[k\]$/\1/p' out)
perf report -i k.data --stdio --percent-limit 1 >perf.out 2>perf.err
check 'the largest is the one that perf names, with its share' python3 - "$name" "$share" <<'P'
import re, sys
rows = re.findall(r"^ +([0-9.]+)% .*\[k\] (\S+)", open("perf.out").read(), re.M)
assert rows and rows[0][1] == sys.argv[1] and abs(float(rows[0][0]) - float(sys.argv[2])) < 0.1, rows[:2]
P
check 'corrected they are not' status 0 "$SKIDPROF" report -q -i k.data --format json
check 'all of the kernel is raw' json 'all(f["status"] == "raw" and f["lo"] is None for f in d["functions"] if f["module"] == "[kernel.kallsyms]")'
# The list of another boot: the same names, elsewhere.
mkdir -p boot/proc
# What else ran is there, too: its time is more or less than 1% by machine.
# shellcheck disable=SC2046 # words
cp --parents -L $(realpath "$(command -v dd)" $(ldd "$(command -v dd)" | grep -o '/[^ ]*')) boot
sed 's/^ffffffff8/ffffffffa/' /proc/kallsyms >boot/proc/kallsyms
check 'a list of another boot' status 0 "$SKIDPROF" report --raw -i k.data --symfs "$PWD/boot"
check 'names nothing' sh -c '! grep -q "[a-z] \[k\]$" out || grep -q "\[unknown\] \[k\]" out'
check 'and that is said' grep -qE '^# \[kernel.kallsyms\]: the kernel was at 0x[0-9a-f]+ and is at 0x[0-9a-f]+ .*another boot' out
sed 's/^[0-9a-f]* /0000000000000000 /' /proc/kallsyms >boot/proc/kallsyms
check 'a list without addresses' status 0 "$SKIDPROF" report --raw -i k.data --symfs "$PWD/boot"
check 'tells what hides them' grep -q 'kernel.kptr_restrict' out

# A name that is no text is asked for as it is shown.
cat >bytes.c <<'END'
unsigned long odd(unsigned long x);
__attribute__((noinline, noclone)) unsigned long odd(unsigned long x)
{
	for (int i = 0; i < 60; i++)
		x = x * 3 + i;
	return x;
}
int main(void)
{
	unsigned long x = 1;

	for (int i = 0; i < 20000; i++)
		x += odd(x);
	return x == 1;
}
END
gcc -O1 -c bytes.c && objcopy --redefine-sym $'odd=b\xff\n!' bytes.o && gcc bytes.o -o bytes || exit 1
"$SKIDPROF" record --pmu sim -q -o bytes.data ./bytes || exit 1
for name in 'b\xff\x0a!' '*\xff*'; do
	check "--function $name" status 0 "$SKIDPROF" report -q -i bytes.data --function "$name" --format json
	check 'finds it' json '[f["name"] for f in d["functions"]] == ["b\\xff\\x0a!"]'
	check 'so does annotate' status 0 "$SKIDPROF" annotate -q -i bytes.data "$name"
done
check '--why finds it' status 0 "$SKIDPROF" report -q -i bytes.data --why 'b\xff\x0a!'
finish
