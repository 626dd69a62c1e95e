# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Sourced by the tests of perf.data: TAP, and the two tools that write and read it with our library.
n_tests=0
ok() # STATUS NAME
{
	n_tests=$((n_tests + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n_tests - $2"
	else
		echo "not ok $n_tests - $2"
	fi
}
check() # NAME COMMAND...
{
	local name=$1
	shift
	"$@"
	ok $? "$name"
}
tool() # NAME: build tests/e2e/perfdata_NAME.c as $SCRATCH/NAME
{
	# shellcheck disable=SC2046
	${CC:-gcc} -std=gnu11 -O2 -g -D_GNU_SOURCE -iquote "$TOP" "$TOP/tests/e2e/perfdata_$1.c" \
		"$BUILD/libskidprof.a" $(pkg-config --libs libdw libelf libzstd) -o "$SCRATCH/$1" || exit 1
}
need_perf()
{
	perf --version >/dev/null 2>&1 || {
		echo "skipped: perf is not installed"
		exit 77
	}
	# Neither the user's settings nor a cache of old files takes part.
	export HOME=$SCRATCH PERF_CONFIG=/dev/null DEBUGINFOD_URLS=
}
