#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The profile in other tools' formats: what each of them holds is what the report says, by function and in all.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
cat >app.cc <<'C'
#include <cstdio>
#include <cstdlib>
namespace ns {
static inline unsigned twist(unsigned x) { x ^= x << 7; x += x >> 3; x *= 2654435761u; return x ^ x >> 11; }
__attribute__((noipa)) unsigned slow(unsigned a, unsigned b) { return a / (b | 1) + a % (b | 3); }
__attribute__((noipa)) unsigned turn(unsigned n) { unsigned s = 1; while (n--) s = twist(s) + slow(s, n); return s; }
}
int main(int, char **argv) { std::printf("%u\n", ns::turn((unsigned)atoi(argv[1]))); }
C
g++ -O2 -g app.cc -o app || exit 1
"$SKIDPROF" record --pmu sim -q -o a.data ./app 200000 >/dev/null || exit 1
"$SKIDPROF" report -q -i a.data --format json >report.json

check 'folded stacks' status 0 "$SKIDPROF" report -i a.data --export folded
cp out folded
check 'are a stack and a whole number a line' sh -c '! grep -qvE "^[^;]+(;[^;]+)* [1-9][0-9]*$" folded'
check 'from main to what is inlined' grep -qE '(^|;)main;ns::turn;ns::twist [0-9]+$' folded
check 'the same of cycles' status 0 "$SKIDPROF" report -i a.data --export folded-cycles
cp out cycles
check 'and of raw counts' status 0 "$SKIDPROF" report -i a.data --raw --export folded
cp out raw
check 'each comes to what the report has, by function and in all' python3 - <<'P'
import json
functions = {f["name"]: f for f in json.load(open("report.json"))["functions"]}
for name, key in ("folded", "fixed"), ("cycles", "cycles"), ("raw", "raw"):
    own = {}
    for line in open(name):
        stack, n = line.rsplit(" ", 1)
        leaf = stack.split(";")[-1]
        own[leaf] = own.get(leaf, 0) + int(n)
    all_of = sum(f[key] for f in functions.values())
    assert abs(sum(own.values()) / all_of - 1) < 1e-4, (name, sum(own.values()), all_of)
    for f in "ns::turn", "ns::twist", "ns::slow":
        assert abs(own.get(f, 0) - functions[f][key]) < 1e-3 * all_of, (name, f)
assert functions["ns::turn"]["fixed"] > 2 * functions["ns::turn"]["raw"]  # there was something to correct
P

check 'the format of callgrind' status 0 "$SKIDPROF" report -i a.data --export callgrind
cp out a.cg
check 'has fixed and raw counts, and cycles, of the right lines' python3 - <<'P'
import json, re
functions = json.load(open("report.json"))["functions"]
sums, lines = [0, 0, 0], {}
for at in re.findall(r"^0x[0-9a-f]+ (\d+) (\d+) (\d+) (\d+)$", open("a.cg").read(), re.M):
    lines[int(at[0])] = lines.get(int(at[0]), 0) + int(at[1])
    sums = [a + int(b) for a, b in zip(sums, at[1:])]
for n, key in zip(sums, ("fixed", "raw", "cycles")):
    assert abs(n / sum(f[key] for f in functions) - 1) < 1e-3, key
twist = sum(f["fixed"] for f in functions if f["name"] == "ns::twist")
assert abs(lines[4] / twist - 1) < 0.01, (lines, twist)
P
if command -v callgrind_annotate >/dev/null; then
	check "callgrind's own tool opens it" status 0 callgrind_annotate --show=Fixed a.cg
	check 'and finds the function in the file' grep -qE 'app.cc:ns::slow' out
else
	echo "ok $((++n_tests)) - callgrind's own tool opens it # SKIP no valgrind"
fi
# Corrected counts are none that were counted exactly.
check 'it is taken for no truth' status 1 "$SKIDPROF" compare -i a.data --truth a.cg
check 'which is said' one_line 'a.cg'

check "pprof's format" status 0 "$SKIDPROF" report -i a.data --export pprof
cp out a.pb
check 'has the same stacks, with all three counts' python3 - <<'P'
def fields(b):
    def varint(i):
        x = shift = 0
        while True:
            x |= (b[i] & 127) << shift
            shift += 7
            i += 1
            if b[i - 1] < 128:
                return x, i
    i = 0
    while i < len(b):
        key, i = varint(i)
        n, i = varint(i)
        if key & 7 == 2:
            yield key >> 3, b[i:i + n]
            i += n
        else:
            assert key & 7 == 0
            yield key >> 3, n
def packed(b):
    out, x, shift = [], 0, 0
    for c in b:
        x |= (c & 127) << shift
        shift += 7
        if c < 128:
            out.append(x)
            x = shift = 0
    return out
profile = list(fields(open("a.pb", "rb").read()))
text = [v.decode() for k, v in profile if k == 6]
assert text[0] == ""
types = [tuple(text[v] for _, v in fields(m)) for k, m in profile if k == 1]
assert types == [("instructions", "count"), ("instructions_raw", "count"), ("cycles", "count")], types
name = {dict(fields(m))[1]: text[dict(fields(m))[2]] for k, m in profile if k == 5}
line = {dict(fields(m))[1]: dict(fields(dict(fields(m))[4]))[1] for k, m in profile if k == 4}
stacks = {}
for k, m in profile:
    if k == 2:
        m = dict(fields(m))
        stack = ";".join(name[line[i]] for i in reversed(packed(m[1])))
        stacks[stack] = [a + b for a, b in zip(stacks.get(stack, [0, 0, 0]), packed(m[2]))]
for file, n in ("folded", 0), ("raw", 1), ("cycles", 2):
    if file == "raw":  # not corrected, it has the stacks of another run of the correction: none
        continue
    want = {}
    for row in open(file):
        stack, count = row.rsplit(" ", 1)
        want[stack] = want.get(stack, 0) + int(count)
    assert want == {s: c[n] for s, c in stacks.items() if c[n]}, file
P
if command -v go >/dev/null && go tool pprof -top a.pb >pprof.out 2>pprof.err; then
	check 'as pprof finds' grep -qE '^ *[0-9]+ .* ns::slow$' pprof.out
else
	echo "ok $((++n_tests)) - as pprof finds # SKIP no pprof"
fi

# Time alone: cycles.
if "$SKIDPROF" record -q --pmu clock --bursts 0 -o c.data ./app 20000000 >/dev/null 2>&1; then
	check 'without instructions' status 0 "$SKIDPROF" report -q -i c.data --export folded
	check 'stacks are of time' grep -qE 'ns::slow [0-9]+$' out
fi

check 'a word that is none' status 2 "$SKIDPROF" report -i a.data --export foldd
check 'is named, with the next one' one_line "did you mean 'folded'?"
check 'with a page' status 2 "$SKIDPROF" report -i a.data --export folded --html x.html
check 'with another table' status 2 "$SKIDPROF" report -i a.data --export folded --lines
check 'bytes' status 2 script -qec "'$SKIDPROF' report -i a.data --export pprof" /dev/null
check 'are not for a terminal' grep -q "write it to a file" out

# Names are what a program's author wrote, and a terminal obeys some bytes.
strip -g -o bare app && objcopy --redefine-sym "_ZN2ns4turnEj=tu;rn$(printf '\033')[31m" bare
check 'a hostile name: it is recorded' status 0 "$SKIDPROF" record --pmu sim -q -o bare.data ./bare 20000
"$SKIDPROF" report -i bare.data --export folded >out 2>err
check 'as one frame, without the byte' grep -qE '(^|;)tu:rn \[31m(;[^;]*)* [0-9]+$' out
check 'as is any other' sh -c '! LC_ALL=C grep -q "[[:cntrl:]]" out'
finish
