#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The binary that ran is gone, or was built anew: what is shown is not to be trusted, and said so, unless perf's cache of build ids
# or another folder has it.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1
export HOME=$SCRATCH/home
unset PERF_BUILDID_DIR
mkdir -p "$HOME"

three_programs
check 'it is recorded' record_three
id=$(readelf -n three | sed -n 's/.*Build ID: //p')
cp three kept
check 'with its binary' status 0 "$SKIDPROF" report -i three.data --format json
check 'functions have names' json 'any(f["name"] == "mixed" for f in d["functions"])'

mv three gone
check 'without it the exit status is 3' status 3 "$SKIDPROF" report -i three.data --format json
check 'its rows are unreliable' json 'all(f["status"] == "unreliable" for f in d["functions"] if f["module"] and f["module"].endswith("/three") and (f["raw"] or 0) > 0)'
check 'and the reason is in it' json 'any("three" in (m["trouble"] or "") for m in d["meta"]["modules"])'

sed 's/x % (d + 4)/x % (d + 5)/' three.c >other.c
gcc -O2 -g other.c -o three
check 'built anew: the exit status is 3' status 3 "$SKIDPROF" report -i three.data --format json
check 'and both build ids are named' json 'any("'"$id"'" in (m["trouble"] or "") for m in d["meta"]["modules"])'
check 'annotate has its samples' status 3 "$SKIDPROF" annotate -i three.data --format json --limit 20
"$SKIDPROF" report -q -i three.data --rollup --limit 0 --format json >rollup.json 2>err
sums='all(abs(sum(i[k] or 0 for i in f["instructions"]) - (r[k] or 0)) <= 1e-6 * (r[k] or 0) for f in d["functions"] for r in __import__("json").load(open("rollup.json"))["functions"] if (r["full_name"], r["module"]) == (f["full_name"], f["module"]) for k in ("raw", "cycles"))'
check 'all of them, and no code of another file' json "$sums"' and [f["trouble"] != None and not any(i["text"] for i in f["instructions"]) for f in d["functions"] if f["module"] == "three"] == [True]'
check 'nor lines of it' json 'not any(i["line"] or i["inlined"] for f in d["functions"] if f["module"] == "three" for i in f["instructions"])'
check 'the verdict is that, whatever else is unreliable' status 3 "$SKIDPROF" report --raw -i three.data
check 'and what helps' one_line 'give the directory that holds the right one with --symfs'
check 'a difference has it in its head' status 3 "$SKIDPROF" diff three.data three.data
check 'for each side' sh -c '[ "$(grep -c "^# .*three: not the file that ran" out)" -eq 2 ]'
check 'a function is not found' status 1 "$SKIDPROF" annotate -i three.data mixed
check 'because of that' one_line "no function 'mixed' in this profile, where code has no names: "

mkdir -p "root/$SCRATCH" && cp kept "root/$SCRATCH/three"
check '--symfs finds the right one' status 0 "$SKIDPROF" report -i three.data --format json --symfs "$SCRATCH/root"
check 'functions have names' json 'any(f["name"] == "mixed" for f in d["functions"])'

for layout in folder link; do
	rm -rf "$HOME/.debug"
	mkdir -p "$HOME/.debug/.build-id/${id:0:2}"
	if [ $layout = folder ]; then
		mkdir "$HOME/.debug/.build-id/${id:0:2}/${id:2}"
		cp kept "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf"
	else
		ln -s "$SCRATCH/kept" "$HOME/.debug/.build-id/${id:0:2}/${id:2}"
	fi
	check "perf's cache ($layout) has the right one" status 0 "$SKIDPROF" report -i three.data --format json
	check 'functions have names' json 'any(f["name"] == "mixed" for f in d["functions"])'
done
rm -rf "$HOME/.debug"
check 'a cache elsewhere: without it, 3' status 3 "$SKIDPROF" report -i three.data
mkdir -p "cache/.build-id/${id:0:2}/${id:2}" && cp kept "cache/.build-id/${id:0:2}/${id:2}/elf"
check 'PERF_BUILDID_DIR names it' status 0 env PERF_BUILDID_DIR="$SCRATCH/cache" "$SKIDPROF" report -i three.data

# Two programs of one name that are both gone: their rows are to be told apart.
mkdir -p a b && cp kept a/three && cp kept b/three
check 'two of one name: they are recorded' status 0 "$SKIDPROF" record -q --pmu sim -o both.data sh -c 'a/three 3000; b/three 3000'
rm a/three b/three
"$SKIDPROF" report -i both.data --format json >out 2>err
check 'each has a name of its own' json 'sorted(f["full_name"].split("/")[-2] for f in d["functions"] if f["module"].endswith("three")) == ["a", "b"]'

# Go's linker, and --build-id=none, leave no build id to tell another build by.
gcc -O2 -g -Wl,--build-id=none three.c -o three
check 'without a build id: it is recorded' record_three
check 'and read' status 0 "$SKIDPROF" report -i three.data --format json
sleep 0.1
gcc -O2 -g -Wl,--build-id=none other.c -o three
check 'built anew: the exit status is 3' status 3 "$SKIDPROF" report -i three.data --format json
check 'its rows are unreliable' json 'all(f["status"] == "unreliable" for f in d["functions"] if f["module"] and f["module"].endswith("/three") and (f["raw"] or 0) > 0)'
check 'and the reason is in it' json 'any("written after the recording" in (m["trouble"] or "") for m in d["meta"]["modules"])'

# Nothing tells that the file is another: samples are where none of its instructions begins, and are shown there.
gcc -O2 -g -Wl,--build-id=none three.c -o three
check 'recorded again' record_three
gcc -O0 -g -Wl,--build-id=none other.c -o three && touch -d '1 day ago' three
"$SKIDPROF" report -q -i three.data --rollup --limit 0 --format json >rollup.json 2>err
"$SKIDPROF" annotate -i three.data --format json --limit 20 >out 2>err
check 'no sample is missing' json "$sums"' and any(f["module"] == "three" for f in d["functions"])'

# Debug information that a program's own file has not got: compiled into a .dwo file, or moved by dwz into one that several share.
named='all(any(f["name"].split(".")[0] == n for f in d["functions"]) for n in ("mixed", "slow", "look")) and not any("unnamed" in f["name"] for f in d["functions"])'
lacks='any(%s in (m["lacks"] or "") for m in d["meta"]["modules"])'
apart=()
gcc -O2 -g -gsplit-dwarf three.c -o three && apart+=(split:three-three.dwo)
command -v dwz >/dev/null && apart+=(shared:common.dwz)
for kind in "${apart[@]}"; do
	file=${kind#*:} kind=${kind%:*}
	if [ "$kind" = shared ]; then
		gcc -O2 -g three.c -o three && gcc -O2 -g other.c -o third && dwz -m common.dwz three third || break
	fi
	[ -e "$file" ] || file=$(echo ./*.dwo)
	check "$kind debug information: it is recorded" record_three
	check 'with its file' status 0 "$SKIDPROF" report -i three.data --format json
	check 'functions have names' json "$named"
	check 'and nothing lacks' json 'not any(m["lacks"] for m in d["meta"]["modules"])'
	mv "$file" away
	check 'without it' status 0 "$SKIDPROF" report -i three.data --format json
	check 'they have those of symbols' json "$named"
	check 'and which file lacks is said' json "${lacks//%s/\"${file#./}\"}"
	"$SKIDPROF" report -i three.data >out 2>err
	check 'in the first lines, too' grep -q "^# .*debug information is in '${file#./}', which is not there" out
	mv away "$file"
done

# A program that was stripped since has its build id still, and no names.
gcc -O2 -g three.c -o three
check 'before it is stripped' record_three
"$SKIDPROF" report -i three.data >out 2>err
check 'nothing is said of symbols' test "$(grep -c 'has no symbols' out)" = 0
strip three
"$SKIDPROF" report -i three.data >out 2>err
check 'then the first lines say that names are addresses' grep -q "^# .*/three has no symbols for [0-9]*% of the samples" out
# Binaries that no path leads to when they are mapped: in memory only, deleted, or replaced by another.  They are kept.
cat >loops.c <<'C'
#include <stdlib.h>
volatile long s;
__attribute__((noinline)) void NAME(one)(long n) { for (long i = 0; i < n; i++) s += i; }
__attribute__((noinline)) void NAME(two)(long n) { for (long i = 0; i < n; i++) s += i ^ s; }
int main(int argc, char **argv)
{
	for (int k = 0; k < atoi(argv[argc - 1]); k++)
		NAME(one)(1000000), NAME(two)(1000000);
}
C
cat >inmemory.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	static char buf[1 << 24];
	char *args[] = { "hidden", argv[2], 0 }, *none[] = { 0 };
	int from = open(argv[1], O_RDONLY), to = memfd_create("hidden", MFD_CLOEXEC);
	ssize_t n = read(from, buf, sizeof(buf));
	if (n <= 0 || write(to, buf, n) != n) return 1;
	fexecve(to, args, none);
	return 1;
}
C
gcc -O1 -g -Wl,--build-id -D'NAME(x)=mem_##x' -o mem loops.c && gcc -O1 -g -Wl,--build-id -D'NAME(x)=gone_##x' -o gone loops.c &&
	gcc -O1 -g -Wl,--build-id -D'NAME(x)=old_##x' -o app loops.c && gcc -O1 -g -Wl,--build-id -D'NAME(x)=new_##x' -o next loops.c &&
	gcc -O1 -o inmemory inmemory.c || exit 1
# named PREFIX FILE: both loops have their names, and nearly all samples.
named()
{
	status 0 "$SKIDPROF" report -i "$2" --raw --format json &&
		json "sum(f['samples'] for f in d['functions'] if f['name'] in ('$1_one', '$1_two')) > 0.9 * sum(f['samples'] for f in d['functions'])"
}
check 'a binary in memory only is recorded' status 0 "$SKIDPROF" record --pmu clock --bursts 0 -o mem.data ./inmemory ./mem 100
rm mem
check 'and has its names, by what was kept' named mem mem.data
check 'under its own name' json 'any(f["name"] == "mem_one" and f["module"] == "hidden" for f in d["functions"])'
# Attached to.
./gone 100000 &
pid=$!
sleep 0.3
rm gone
check 'a process whose binary was deleted is recorded' status 0 "$SKIDPROF" record --pmu clock --bursts 0 --duration 1 -o gone.data -p $pid
kill $pid
wait $pid 2>/dev/null
check 'and has its names' named gone gone.data
./app 100000 &
pid=$!
sleep 0.3
mv next app
check 'one whose binary was replaced, too' status 0 "$SKIDPROF" record --pmu clock --bursts 0 --duration 1 -o app.data -p $pid
kill $pid
wait $pid 2>/dev/null
check 'has the names of what ran, not of what lies there now' named old app.data
finish
