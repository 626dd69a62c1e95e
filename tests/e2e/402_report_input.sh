#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What can't be read, or not wholly, is said in one line or in the header; nothing crashes.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
record_two || exit 1

check 'a missing file' status 1 "$SKIDPROF" report -i none.data
check 'is named' one_line 'none.data'
check 'no default file' status 1 "$SKIDPROF" report
check 'is named too' one_line 'skidprof.data'
echo 'this is no recording' >text.data
check 'another kind of file' status 1 "$SKIDPROF" report -i text.data
check 'is refused' one_line 'text.data'
: >empty.data
check 'an empty file' status 1 "$SKIDPROF" report -i empty.data
check 'is refused, too' one_line 'empty.data'
check 'a directory' status 1 "$SKIDPROF" report -i .

size=$(stat -c %s two.data)
for part in 2 3 10; do
	head -c $((size - size / part)) two.data >cut.data
	timeout 120 "$SKIDPROF" report -i cut.data >out 2>err
	check "a file cut by 1/$part is reported to its last whole record, and not to be trusted" test $? -eq 3
	check "and what is lacking is said (1/$part)" sh -c 'grep -qE "[1-9][0-9,]* bytes of the file dropped|did not finish" out'
	check "also on standard error, with what to do (1/$part)" one_line 'are cut off or damaged and were not read, so this profile is not to be trusted: copy the file again'
	at=$(sed -n 's/.*cut.data: [0-9]* bytes from offset \([0-9]*\) on .*/\1/p' err) end=$(stat -c %s cut.data)
	check "and where: in its last record (1/$part)" test "${at:-0}" -gt $((end - 65536)) -a "${at:-0}" -le "$end"
done
head -c $((size * 99 / 100)) two.data >cut.data
check 'one whose last records only are lacking is reported' status 0 "$SKIDPROF" report -i cut.data
check 'with a warning' one_line 'cut off or damaged and were not read: copy'
python3 -c '
import struct
d = bytearray(open("two.data", "rb").read())
at, n = struct.unpack_from("<QQ", d, 40)
d[at:at + n] = b"\xff" * n
open("gone.data", "wb").write(d)'
check 'one of which the header alone is left' status 3 "$SKIDPROF" report -i gone.data
check 'is not to be trusted' one_line 'were not read, so this profile is not to be trusted: copy the file again'

# A folder as perf record --threads makes it: the file with the header, and files of records alone.
mkdir folder.data
python3 -c '
import struct
d = open("two.data", "rb").read()
at, n = struct.unpack_from("<QQ", d, 40)
open("records", "wb").write(d[at:at + n])'
cp two.data folder.data/data
cp records folder.data/data.0
n=$(stat -c %s records)
head -c $((n - 5)) records >folder.data/data.1
check 'a folder one of whose files ends within a record is reported' status 0 "$SKIDPROF" report -i folder.data
check 'with a warning that names the file' one_line 'folder.data/data.1: '
at=$(sed -n 's/.*data.1: [0-9]* bytes from offset \([0-9]*\) on .*/\1/p' err)
check 'and where in that file: in its last record' test "${at:-0}" -gt $((n - 65536)) -a "${at:-0}" -lt "$n"
check 'and says what to copy' one_line 'copy the folder again'
check 'in JSON, too' status 0 "$SKIDPROF" report -i folder.data --format json
check 'the file is named' json 'd["meta"]["dropped_in"] == "folder.data/data.1"'
head -c $((n / 2)) records >folder.data/data.0
check 'a folder of which two files lack some' status 0 "$SKIDPROF" report -i folder.data
check 'says so' one_line ' and 1 other file of that folder: '
for bytes in 0 7 16 100 103 104 200 1000; do
	head -c $bytes two.data >cut.data
	timeout 60 "$SKIDPROF" report -i cut.data >out 2>err
	check "the first $bytes bytes crash nothing" test $? -le 3
done

# Nor is it in the user's cache of perf's, from a run before in this folder.
mv two two.kept
check 'a binary that has gone' sh -c 'HOME=$PWD timeout 60 "$SKIDPROF" report -i two.data >out 2>err; test $? -eq 0 -o $? -eq 3'
check 'is named in the header' sh -c 'grep -q "^# .*/two: " out'
sed 's/2000000/2000001/' two.c >other.c && gcc -O2 -g other.c -o two
check 'a binary that was rebuilt' sh -c 'HOME=$PWD timeout 60 "$SKIDPROF" report -i two.data >out 2>err; test $? -eq 0 -o $? -eq 3'
check 'is not used, and named with its build id' sh -c 'grep -qi "^# .*/two: .*build" out && ! grep -q "mix" out'
rm two
mkdir -p "root$PWD" && mv two.kept "root$PWD/two"
check '--symfs finds the one that was recorded' sh -c '"$SKIDPROF" report -i two.data --symfs root >out 2>err; grep -q "mix (inlined)" out'
mv "root$PWD/two" two

# Without frame pointers a stack may have no caller: then there is nothing to list.
gcc -O2 -g -fno-omit-frame-pointer two.c -o framed || exit 1
if command -v perf >/dev/null && perf record -q -e cpu-clock -g -o clock.data ./framed 60000000 >/dev/null 2>&1; then
	check "perf's cpu-clock recording" status 0 "$SKIDPROF" report -i clock.data
	check 'its first line says clock' sh -c 'head -1 out | grep -q "^# clock, no PMU; cpu-clock"'
	check 'that instructions lack is said' has out '# no instructions were counted and no bursts taken'
	check 'and what counts more' has out "'skidprof record' takes bursts"
	check 'and time is what is counted' has out '# EVENTS are cpu-clock (time in nanoseconds)'
	check 'there are functions' grep -qE ' (main|cheap|mix)' out
	check 'no column is made up' sh -c '! grep -qE "^SHARE.*(IPC|FIXED|CYCLES)" out'
	check 'nor a number in JSON' status 0 "$SKIDPROF" report -i clock.data --format json
	check 'which has null' json 'd["functions"] and all(f["raw"] is None and f["cycles"] is None and f["ipc_fixed"] is None for f in d["functions"])'
	"$SKIDPROF" report -i clock.data --children >out 2>err
	check 'nor one of those that they call' sh -c 'grep -qE "^WITH-CALLEES.* EVENTS " out && ! grep -q "^WITH-CALLEES.*CYCLES" out'
	"$SKIDPROF" report -i clock.data --children --format json >out 2>err
	# Bounds are those of how many samples tell a share; stacks that are cut leave more open, and no count then.
	check 'in JSON neither, and bounds are of its events' json \
		'd["children"] and all(r["cycles"] is None and r["lo"] <= (r["lo"] if r["events"] is None else r["events"]) <= r["hi"] for r in d["children"])'
	"$SKIDPROF" report -i clock.data --callers mix >out 2>err
	check 'nor one of callers' sh -c 'grep -qE "^SHARE EVENTS " out'
	"$SKIDPROF" annotate -i clock.data main >out 2>err
	check 'nor one of lines' sh -c 'grep -qE "^ +TIME +EVENTS +LINE" out'
	check 'there is nothing to compare' status 1 "$SKIDPROF" compare -i clock.data --truth two.cg
	check 'and that is said' one_line 'no instructions event'
	perf record -q -e dummy,cpu-clock -o dummy.data ./two 6000000 >/dev/null 2>&1
	check 'a dummy event in front is passed over' status 0 "$SKIDPROF" report -i dummy.data
	check 'for the one that samples' has out '# EVENTS are cpu-clock'
	check 'without call stacks there are no callers' status 0 "$SKIDPROF" report -i dummy.data --children
	check 'which is why there are no rows' has out '# no functions to show: who called is not known'
	perf record -q -e cpu-clock -o - sh -c './two 6000000 >&2' 2>/dev/null >pipe.data
	check "perf's pipe has no build id of the kernel" status 0 "$SKIDPROF" report -i pipe.data
	check 'which is not called another kernel' sh -c '! grep -q "not the kernel that runs here" out'
else
	echo "# no perf that can record cpu-clock here"
fi

# Perf before 3.4, RHEL 6's say, wrote another magic.
{ printf PERFFILE && tail -c +9 two.data; } >old.data
"$SKIDPROF" report -i two.data --format json | sed 's/two\.data/X/' >new.json
check 'an old magic' status 0 "$SKIDPROF" report -i old.data --format json
check 'is of the same' sh -c 'sed "s/old\.data/X/" out | cmp -s new.json'

# A program that was mapped before its recording began, and a virtual machine's guest: addresses that nothing in the file tells of.
cat >strip_maps.py <<'END'
import struct, sys
d = bytearray(open("two.data", "rb").read())
at, n = struct.unpack_from("<QQ", d, 40)
end = at + n
while at < end:
    kind, misc, size = struct.unpack_from("<IHH", d, at)
    if sys.argv[1] == "unmapped" and kind in (1, 10):
        struct.pack_into("<Q", d, at + 16, struct.unpack_from("<Q", d, at + 16)[0] % (1 << 40) | 1 << 45)
    if sys.argv[1] == "guest" and kind == 9:
        struct.pack_into("<H", d, at + 4, misc & ~7 | 5)
    at += size
open(sys.argv[1] + ".data", "wb").write(d)
END
for kind in unmapped guest; do
	python3 strip_maps.py $kind
	"$SKIDPROF" report -i $kind.data --raw --format json >out 2>err
	check "$kind samples have their row" json "[(f['module'], round(f['share'], 6), f['samples']) for f in d['functions']] == [('[$kind]', 1, d['meta']['events'][d['meta']['instructions_event']]['samples'])]"
done

check 'nothing on standard input' status 1 "$SKIDPROF" report -i - </dev/null
check 'is said of it by its name' one_line 'standard input: is empty'

# A large program of which a file tells no function, as a stripped one of Go's: samples fall into code that nothing leads to.
# Where each piece of it begins was sought from the first address on, a thousand times over: more than a minute.
{
	echo 'typedef unsigned (*step)(unsigned); static volatile unsigned sink;'
	for ((i = 0; i < 2000; i++)); do
		echo "__attribute__((noinline)) static unsigned f$i(unsigned x) { if (x & 1) {" \
			"__asm__ volatile(\".fill 200, 4, 0\"); } for (int k = 0; k < 40; k++) x = x * 5 + $i; return x; }"
	done
	echo 'static const step steps[] = {' && seq -f 'f%g,' 0 1999
	echo '}; int main(void) { unsigned x = 2; for (int i = 0; i < 2000; i++) x = steps[(i * 7919u + sink) % 2000](x) & ~1u; return x == 7; }'
} >many.c
gcc -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -s many.c -o many
"$SKIDPROF" record -q --pmu sim --bursts=0 --no-branches -e instructions,cycles -c 101 -o many.data ./many
check 'code without functions is reported in seconds' sh -c \
	'ulimit -t 20; "$SKIDPROF" report -i many.data >out 2>err; [ $? -eq 0 -o $? -eq 3 ] && grep -q " \[many+0x" out'

# odd.py OUT TYPE CONFIG [trace|none]: one event of perf's TYPE and CONFIG, every time it happens, with 40 samples in main of two, or
# a trace in their place, or nothing.
cat >odd.py <<'END'
import os, struct, sys
out, kind, config, what, main = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5], 16)
def record(kind, body, misc=2):
	return struct.pack("<IHH", kind, misc, 8 + len(body)) + body
path = os.path.abspath("two").encode()
path += bytes(8 - len(path) % 8)
body = record(70, struct.pack("<II", 1, 0) + bytes(80)) if what == "trace" else b""
body += record(3, struct.pack("<II8s", 7, 7, b"two")) + record(10, struct.pack("<IIQQQQQQII", 7, 7, 0x400000, 0x100000, 0, 0, 0, 0, 5, 2) + path)
if what == "samples":
	body += b"".join(record(9, struct.pack("<QIIQ", 0x400000 + main, 7, 7, 1000 * n)) for n in range(40))
attr = struct.pack("<IIQQQQQ", kind, 128, config, 1, 7, 0, 0) + bytes(128 - 48)
with open(out, "wb") as f:
	f.write(b"PERFILE2" + struct.pack("<9Q", 104, 144, 104, 144, 248, len(body), 0, 0, 1 << 3) + bytes(24) + attr + bytes(16) + body)
	f.write(struct.pack("<QQI4s", 264 + len(body), 8, 4, b"odd"))
END
main=$(nm two | awk '$3 == "main" { print $1 }')
python3 odd.py trace.data 8 0 trace "$main"
for form in 'report' 'report --format json' 'report --threads' 'report --html trace.html' 'annotate' 'report --export folded'; do
	# shellcheck disable=SC2086
	check "a trace alone is no empty table ($form)" status 1 "$SKIDPROF" $form -i trace.data
	check "it is said what the file holds, and what to record ($form)" one_line 'holds a trace (Intel PT) and no samples'
done
check 'nor is it one side of a difference' status 1 "$SKIDPROF" diff trace.data two.data
check 'and no page was begun' test ! -e trace.html
python3 odd.py empty-run.data 1 0 none "$main"
check 'a recording without samples is not to be trusted' status 3 "$SKIDPROF" report -i empty-run.data
check 'and it is said why' one_line 'no sample was taken'
for event in '2 311' '1 2' '0 3'; do
	# shellcheck disable=SC2086
	python3 odd.py other.data $event samples "$main"
	"$SKIDPROF" report -i other.data >out 2>err
	check "events that are no time ($event): no word of where time passes" sh -c '! grep -q "time passes\|^# clock" out'
	[ "$event" = '0 3' ] || check "what the kernel raises itself has no skid ($event)" sh -c 'head -1 out | grep -q "^# no PMU; .*; time was not sampled" && ! grep -q "skid [0-9]" out'
	"$SKIDPROF" annotate -i other.data >out 2>err
	check "annotate has shares of events ($event)" sh -c 'grep -q "of the events, with" out && ! grep -q "TIME\|of the time" out'
done
"$SKIDPROF" annotate -i other.data --format json >out 2>err
check 'and their number in JSON, of the function and of its instructions' json \
	'(lambda f: f["events"] == 40 and f["cycles"] is None and sum(i["events"] or 0 for i in f["instructions"]) == 40)(d["functions"][0])'

# Of a small file, too, a copy that was cut off is not to be trusted: only the record that a killed recorder was writing is nothing much.
head -c $(($(stat -c %s other.data) - 500)) other.data >cut.data
check 'a small file that is cut off is not to be trusted' status 3 "$SKIDPROF" report -i cut.data
check 'and it is said' one_line 'so this profile is not to be trusted: copy the file again'
finish
