#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Source and assembly of a function with what each line ran, held against exact counts and objdump.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
export PAGER=false # would fail if it were started
record_two || exit 1

check 'main is annotated' status 0 "$SKIDPROF" annotate -i two.data main
check 'its source is there' has out 'for (int i = 0; i < n; i++) {'
check 'what is inlined stands in it, by name' has out 'mix, inlined from two.c'
check 'and so does its source' has out 'x *= 0xff51afd7ed558ccdull;'
check 'calls have the name of what they call' has out '-> cheap'
check 'branches have the share that was taken' sh -c 'grep -qE " j[a-z]+ 0x[0-9a-f]+ +taken [0-9.]+%" out'
check 'cold lines are left out' has out '...'
check 'nothing is written beside it' test ! -s err
check 'no colour without a terminal' sh -c '! grep -q "$(printf "\033")" out'
# On a terminal what stands above goes on in the next line, as in every report; words alone may be wider.
cat >narrow.py <<'P'
import fcntl, os, pty, struct, sys, termios
pid, end = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 5000, 60, 0, 0))
    os.environ["PAGER"] = "cat"
    os.execvp(sys.argv[1], sys.argv[1:])
text = b""
try:
    while part := os.read(end, 65536):
        text += part
except OSError:
    pass
notes = [line for line in text.decode().splitlines() if line.startswith("# ")]
sys.exit(not notes or any(len(line) > 60 and max(map(len, line.split())) < 56 for line in notes))
P
check 'on a narrow terminal no line is wider' python3 narrow.py "$SKIDPROF" annotate -i two.data main
check 'colour when asked for' status 0 "$SKIDPROF" annotate -i two.data main --color always
check 'is there' sh -c 'grep -q "$(printf "\033")" out'

check 'JSON is written' status 0 "$SKIDPROF" annotate -i two.data main --format json
check 'it is one function with lines and instructions' json 'd["skidprof"] == 1 and [f["function"] for f in d["functions"]] == ["main"]'
cp out main.json
check 'lines add up to the function' json 'abs(sum(l["fixed"] for l in d["functions"][0]["lines"]) / d["functions"][0]["fixed"] - 1) < 1e-9'
check 'instructions, too' json 'abs(sum(i["fixed"] or 0 for i in d["functions"][0]["instructions"]) / d["functions"][0]["fixed"] - 1) < 1e-9'
check 'the loop turns as often as its header runs' json 'any(abs(l["iterations"] / 2e6 - 1) < 0.02 for l in d["functions"][0]["loops"])'
check 'a branch takes what its target and what follows say' json \
	'all(0 <= i["taken"] <= 1 and i["kind"] == "branch" for i in d["functions"][0]["instructions"] if i["taken"] is not None)'
# sum & 3 is 0 once in four turns, as far as the program is random: exact counts say it exactly.
check 'exact executions are near' python3 - <<'END'
import json
import subprocess
import os

insns = {i["vaddr"]: i for i in json.load(open("main.json"))["functions"][0]["instructions"]}
exact = json.loads(subprocess.run([os.environ["SKIDPROF"], "report", "-i", "two.data", "--truth", "two.cg", "--insns",
                                   "--rollup", "--function", "main", "--format", "json"],
                                  stdout=subprocess.PIPE, check=False).stdout)["instructions"]
hot = [e for e in exact if e["fixed"] and e["fixed"] > 1e5]
assert len(hot) > 10
for e in hot:
    ours = insns[e["vaddr"]]["executed"]
    assert abs(ours / e["fixed"] - 1) < 0.05, (e["vaddr"], ours, e["fixed"])
END
check 'the listing is that of objdump' python3 - <<'END'
import json
import re
import subprocess

theirs = set()
text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "two"], stdout=subprocess.PIPE, check=True, text=True).stdout
body = re.search(r"<main>:\n(.*?)\n\n", text, re.S)[1]
theirs = {int(line.split(":")[0], 16) for line in body.splitlines() if "\t" in line and "nop" not in line}
ours = {int(i["vaddr"], 16) for i in json.load(open("main.json"))["functions"][0]["instructions"]}
assert ours >= theirs, sorted(hex(a) for a in theirs - ours)
END

check 'one line, wherever it is' status 0 "$SKIDPROF" annotate -i two.data two.c:8
check 'is shown' has out 'x ^= x >> 33;'
check 'and not the others of main' sh -c '! grep -q "printf" out'
check 'an inlined function is shown where it is' status 0 "$SKIDPROF" annotate -i two.data mix --source
check 'which is main' sh -c 'grep -q "^main, two.c:" out'
check 'and that is said' has err "'mix' is inlined, and not called: what holds it is shown"
check 'one that is called' status 0 "$SKIDPROF" annotate -i two.data main --source
check 'is shown itself, without a word' sh -c '! grep -q inlined err'
check 'the hottest functions without an argument' status 0 "$SKIDPROF" annotate -i two.data --source
check 'begin with main' sh -c 'grep -E "^[a-z_]+, .*in two" out | head -1 | grep -q "^main,"'
# The second half is of the same loop: half of the instructions to ten samples.
check 'a part of the recording' status 0 "$SKIDPROF" annotate -i two.data --time 50%..100% main --format json
check 'has its instructions' json '0.4 < d["functions"][0]["fixed"] / json.load(open("main.json"))["functions"][0]["fixed"] < 0.6'
check 'no such part' status 1 "$SKIDPROF" annotate -i two.data --pid 1 main
check 'is said' one_line 'no sample is of that part'
check 'lines by share' status 0 "$SKIDPROF" annotate -i two.data --hot --source main
check 'fall' sh -c 'grep -oE "^ *[0-9.]+%" out | tr -d " %" | sort -c -g -r'
check 'all of it' status 0 "$SKIDPROF" annotate -i two.data --whole --raw main
check 'has the cold lines' has out 'printf("%ju\n", (uintmax_t)sum);'
check 'and raw counts' sh -c 'grep -qE "SHARE.* RAW .*LINE SOURCE" out'

# Elsewhere: the source has moved, and a path has a blank.
mkdir -p 'else where' && mv two.c 'else where/'
check 'without its source' status 0 "$SKIDPROF" annotate -i two.data main
check 'the remedy is named' has out '(not found; see --source-dir)'
check 'it is found in a folder' status 0 "$SKIDPROF" annotate -i two.data --source-dir 'else where' main
check 'of any name' has out 'for (int i = 0; i < n; i++) {'
check 'or under another prefix' status 0 "$SKIDPROF" annotate -i two.data --prefix-map "$PWD=$PWD/else where" main
check 'as said' has out 'for (int i = 0; i < n; i++) {'
find 'else where' -name '*.c' -exec touch -d '2001-01-01' {} +
"$SKIDPROF" annotate -i two.data --source-dir 'else where' main >out 2>err
check 'an old source is as it was compiled' sh -c '! grep -q "lines may have moved" out'
find 'else where' -name '*.c' -exec touch -d '+1 hour' {} +
"$SKIDPROF" annotate -i two.data --source-dir 'else where' main >out 2>err
check 'of a newer one it is said that it may not be' has out '(newer than the program: lines may have moved)'
check 'no such folder' status 2 "$SKIDPROF" annotate -i two.data --source-dir nowhere main
check 'is said' one_line "there is no folder 'nowhere'"

# Two headers of one name: a folder tells them apart, whatever a path was relative to when it was compiled.
mkdir -p one other
printf 'static inline unsigned up(unsigned x)\n{\n\treturn x * 2654435761u;\n}\n' >one/util.h
printf 'static inline unsigned down(unsigned x)\n{\n\tx ^= x >> 5;\n\treturn x ^ x << 7;\n}\n' >other/util.h
cat >main.c <<'C'
#include <stdio.h>
#include "one/util.h"
#include "other/util.h"
unsigned beside(unsigned n);
int main(void)
{
	unsigned s = 1;

	for (unsigned i = 0; i < 300000; i++)
		s = down(up(s) + i);
	printf("%u\n", s + beside(300000));
	return 0;
}
C
cat >other/beside.c <<'C'
#include "../one/util.h"
unsigned beside(unsigned n)
{
	unsigned s = n;

	for (unsigned i = 0; i < n; i++)
		s ^= up(s + i);
	return s;
}
C
(cd other && gcc -O2 -g -c beside.c) && gcc -O2 -g main.c other/beside.o -o headers
check 'headers of one name: it is recorded' status 0 "$SKIDPROF" record -q --pmu sim -o headers.data ./headers
lines='{l["function"] for l in json.load(open("lines.json"))["lines"] if l["line"] == 3 and l["file"] and l["file"].endswith("util.h")}'
"$SKIDPROF" report -q -i headers.data --lines --format json >lines.json 2>err
check 'both have a third line' python3 -c "import json, sys; sys.exit($lines != {'up', 'down'})"
check 'a name alone' status 0 "$SKIDPROF" annotate -i headers.data --asm util.h:3
check 'is both' sh -c 'grep -q "\[up\]" out && grep -q "\[down\]" out'
check 'and that is said' sh -c 'grep -q "util.h:3 is a line of .*one/util.h, of .*other/util.h\|util.h:3 is a line of .*other/util.h, of .*one/util.h" err'
for path in one/util.h "$PWD/one/util.h" ./other/../one/util.h /elsewhere/one/util.h; do
	check "$path" status 0 "$SKIDPROF" annotate -i headers.data --asm "$path:3"
	check 'is one' sh -c 'grep -q "\[up\]" out && ! grep -q "\[down\]" out'
	check 'in all that hold it' sh -c 'grep -q "^main, " out && grep -q "^beside, " out'
done
check 'a path of elsewhere is said to be taken for it' sh -c 'grep -q "^skidprof: /elsewhere/one/util.h:3 is taken for a line of $PWD/one/util.h" err'
check 'a path up from here' status 0 "$SKIDPROF" annotate -i headers.data --asm ../one/util.h:3
check 'is not said to be of elsewhere' sh -c 'grep -q "\[up\]" out && ! grep -q "is taken for" err'
check 'a line that one of them has not' status 1 "$SKIDPROF" annotate -i headers.data one/util.h:4
check 'is not taken from the other' one_line 'no instruction of one/util.h:4 is in this profile'

check 'no such function' status 1 "$SKIDPROF" annotate -i two.data mian
check 'the nearest is named' one_line "did you mean 'main'?"
check 'no such line' status 1 "$SKIDPROF" annotate -i two.data two.c:9999
check 'is said, with what to do' one_line 'skidprof report --lines'
check 'two arguments' status 2 "$SKIDPROF" annotate -i two.data main mix
check 'no csv' status 2 "$SKIDPROF" annotate -i two.data --format csv
cp two two.debug
strip two
check 'a stripped binary' status 0 "$SKIDPROF" annotate -i two.data
check 'has assembly' sh -c 'grep -qE "imul" out'
rm two
check 'no binary' sh -c '"$SKIDPROF" annotate -i two.data >out 2>err; [ $? -ne 2 ] && [ $? -lt 128 ]'
: >empty
check 'an empty file' status 1 "$SKIDPROF" annotate -i empty
check 'a full disk' sh -c '"$SKIDPROF" annotate -i two.data >/dev/full 2>err; [ $? -eq 1 ]'
check 'is said' has err 'could be written'
finish
