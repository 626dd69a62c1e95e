#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A process with mounts of its own, as in any container: its binary is read by way of /proc/PID/root when it maps it, and kept
# in perf's cache of build ids, so that it has names, and is corrected, when process and mounts are gone.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
unshare -m true 2>/dev/null || { echo 'skip: no mount namespaces for this user' && exit 77; }
export HOME=$SCRATCH/home
unset PERF_BUILDID_DIR
mkdir -p "$HOME"

cat >spin.c <<'C'
#include <stdlib.h>

volatile long s;
__attribute__((noinline)) void spin_here(long n)
{
	for (long i = 0; i < n; i++)
		s += i;
}
__attribute__((noinline)) void spin_twice(long n)
{
	for (long i = 0; i < n; i++)
		s += i ^ s;
}
int main(int argc, char **argv)
{
	for (int k = 0; k < atoi(argv[argc - 1]); k++) {
		spin_here(1000000);
		spin_twice(1000000);
	}
	return 0;
}
C
check 'it is built' gcc -O1 -g -static -Wl,--build-id -o spin spin.c
gcc -O1 -g -static -Wl,--build-id=none -o nameless spin.c
# At the same path here lies another program.
mkdir -p mnt
sed 's/spin_/other_/g' spin.c >other.c
gcc -O1 -g -static -Wl,--build-id -o mnt/inside other.c

cat >contain.sh <<'S'
mount -t tmpfs none mnt && cp "$1" mnt/inside && shift && exec "$PWD/mnt/inside" "$@"
S

names()
{
	"$SKIDPROF" report -i "$1" --format json >out 2>err
	json 'any(f["name"] == "spin_here" for f in d["functions"]) and not any("other" in f["name"] for f in d["functions"])'
}

# Started by the recorder.
check 'it is recorded from its start' status 0 "$SKIDPROF" record --pmu clock -c 249989 --bursts 0 -o start.data unshare -m sh contain.sh ./spin 1000
check 'and told what is kept' has err "kept in perf's cache of build ids"
check 'it has its own names when all is gone, not those of what lies there here' names start.data
id=$(readelf -n spin | sed -n 's/.*Build ID: //p')
check 'the cache is laid out as perf does' cmp spin "$HOME/.debug/.build-id/${id:0:2}/${id:2}/elf"
check 'with a link to where it was' test "$(readlink "$HOME/.debug/.build-id/${id:0:2}/${id:2}")" = "../..$SCRATCH/mnt/inside/$id"
if perf --version >/dev/null 2>&1; then
	check 'perf report finds it as well' status 0 perf --buildid-dir "$HOME/.debug" report -f -i start.data --stdio
	check 'and its names' has out spin_here
fi
rm -rf "$HOME/.debug"

# Found running, and gone before the recording ends: a second of its time, of which a hundred bursts are due.
unshare -m sh contain.sh ./spin 1500 &
pid=$!
for _ in $(seq 100); do
	case $(readlink /proc/$pid/exe) in */inside) break ;; esac
	sleep 0.05
done
check 'it is recorded while it runs' status 0 "$SKIDPROF" record --pmu clock -c 249989 --bursts 100 --burst-budget 1000% -p $pid -q -o attach.data
wait $pid
check 'it has names' names attach.data
check 'and shares of the instructions' json 'sum((f["region_share"] or 0) > 0 for f in d["functions"] if f["name"] in ("spin_here", "spin_twice")) >= 1'
n=$(find "$HOME/.debug" -name elf | wc -l)
check 'what has no samples is not kept' test "$n" -eq 1

# Kept where nothing can be written.
check 'no room for the cache is no failure' status 0 env PERF_BUILDID_DIR=/dev/null/x "$SKIDPROF" record --pmu clock -c 249989 --bursts 0 -o none.data \
	unshare -m sh contain.sh ./spin 1000
check 'but said' has err 'could not be kept'

# Without a build id it can be read as long as the process runs, and is never taken for what lies there here.
unshare -m sh contain.sh ./nameless 100000 &
pid=$!
for _ in $(seq 100); do
	case $(readlink /proc/$pid/exe) in */inside) break ;; esac
	sleep 0.05
done
check 'without a build id' status 0 "$SKIDPROF" record --pmu clock -c 249989 --bursts 0 -p $pid --duration 0.3 -o nameless.data
check 'that is said' has err 'no build id'
check 'it has names while it runs' names nameless.data
kill $pid
wait $pid 2>/dev/null
check 'and then none' status 3 "$SKIDPROF" report -i nameless.data
check 'for its path led through the process' has err "/proc/$pid/root"
finish
