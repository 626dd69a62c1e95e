# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the scripts that measure reports share; they stand in BUILD/bench.

# record NAME OPTIONS...: once
record()
{
	[ -s "$1.data" ] && [ "$1.data" -nt "$1" ] && return
	"$SKIDPROF" record -q --pmu sim --no-branches -o "$1.data" "${@:2}" -- "./$1" >/dev/null || exit 1
}

# samples FILE: how many it holds
samples() { "$SKIDPROF" report --raw -i "$1" 2>/dev/null | sed -n '1s/.*; \([0-9,]*\) samples.*/\1/p'; }

# cost COMMAND...: "seconds cpu-seconds MB"
cost()
{
	python3 - "$@" <<'P'
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
wall = time.monotonic() - begin
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f %.2f %.0f%s" % (wall, r.ru_utime + r.ru_stime, r.ru_maxrss / 1024, "" if status in (0, 3) else " FAILED(%d)" % status))
P
}
row() { printf '%-46s %8s %8s %8s %s\n' "$@"; }
has_perf() { [ -z "${SKIP_PERF:-}" ] && command -v perf >/dev/null; }
