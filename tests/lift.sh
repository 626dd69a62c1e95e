#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lift.sh BUILD: the kernels on the simulated core and on this processor, every predictor held against the cycles that
# this processor takes.  CORE=FILE for a core file fitted to it, else the one that comes with skidprof.
set -u
B=$1 core=${CORE:-zen5} here=$PWD
cd "$B/lift" || exit 1
export LC_ALL=C.UTF-8
status=0

# level NAME: record it, then hold the tools against each other.
level()
{
	local l=$1 result
	../skidprof record -q --pmu sim --core "$core" -c 5003 -e cycles,instructions --no-branches -o "$l.data" \
		--truth "$l.truth" "../kernels/$l-emu" >"$l.out" || return 1
	# Executions are exact, so the profile needs no correction; its cycles are those of sim-run.
	../skidprof lift -q -i "$l.data" --method raw --truth "$l.truth" --kernel 'kernel_*' --core "$core" \
		--html "$l.html" --format json --measure "../kernels/$l-emu" >"$l.json"
	result=$?
	[ $result -eq 0 ] || [ $result -eq 3 ]
}

for l in O1 O2 O3; do
	level $l || status=1
done
echo "Kernels built with -march=native, but without AVX-512, which the emulator has not; timed on"
sed -n 's/^model name[[:space:]]*: */  /p' /proc/cpuinfo | head -1
python3 "$here/tests/lift.py" O1.json O2.json O3.json || status=1
echo "Pages with plots: $PWD/O1.html, O2.html, O3.html"
exit $status
