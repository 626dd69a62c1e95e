#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# perf reads what our writer wrote, of every shape, and says nothing on stderr.
set -u
. "$TOP/tests/e2e/lib100.sh"
need_perf
tool make
tool dump
cd "$SCRATCH" || exit 1

# COMMAND of perf on a file: quiet, and it printed something.
quiet() # FILE COMMAND...
{
	local file=$1
	shift
	perf "$@" -i "$file" >out 2>err </dev/null && [ ! -s err ] && [ -s out ] && return
	echo "# perf $*: $(head -c 300 err)"
	return 1
}
# perf sees the ips that we wrote, in their order. It shows a group's read as one sample of each member.
same_ips() # FILE
{
	perf script -i "$1" -F event,ip 2>/dev/null | awk '$1 ~ /^cycles/ { print $2 }' >perf.ips
	./dump "$1" places | awk '{ print $2 }' >our.ips
	[ -s our.ips ] && cmp -s perf.ips our.ips
}
for shape in '' branches zstd rounds 'branches zstd rounds' killed 'killed zstd' 'rounds branches killed'; do
	rm -f x.data x.data.old
	# shellcheck disable=SC2086
	./make x.data 5000 $shape || ok 1 "written: $shape"
	for command in 'report --stdio' 'report --stdio --group' 'script' 'script -F +brstack' 'evlist -v' 'annotate --stdio kernel'; do
		[[ $command == *brstack && $shape != *branches* ]] && continue
		# shellcheck disable=SC2086
		check "perf $command is quiet on a file ($shape)" quiet x.data $command
	done
	check "perf sees the ips we wrote ($shape)" same_ips x.data
done

rm -f x.data x.data.old
./make x.data 3000 rounds
perf report -i x.data --stdio --header 2>/dev/null >out
for line in 'hostname : ' 'os release : ' 'perf version : skidprof' 'arch : ' 'nrcpus online : ' 'cpudesc : ' 'cpuid : ' \
	'cmdline : ./make x.data 3000 rounds' 'sample duration' 'instructions:u, cycles:u, branches:u, r01c7:u'; do
	check "perf shows: $line" grep -qF "$line" out
done
perf report -i x.data --stdio -s sym 2>/dev/null >out
check "perf puts all samples into the function they point at" grep -qE '100.00%.*\[\.\] kernel' out
perf evlist -v -i x.data >out 2>&1
check "attrs are no longer than perf 6.1 takes" grep -q 'size: 128' out
check "the group's counting members have no period" [ "$(grep -c '{ sample_period, sample_freq }: 100003' out)" = 2 ]
own=$(readelf -n make | sed -n 's/.*Build ID: //p')
check "perf finds the build id of the program recorded" grep -q "^$own " <(perf buildid-list -i x.data)

for shape in '' branches zstd; do
	# shellcheck disable=SC2086
	./make - 3000 rounds $shape >x.pipe
	for command in 'report --stdio' 'script' 'evlist -v'; do
		# shellcheck disable=SC2086
		check "perf $command is quiet on a pipe ($shape)" quiet x.pipe $command
	done
	check "perf sees the ips we piped ($shape)" same_ips x.pipe
	check "so does our reader, from a real pipe ($shape)" \
		cmp -s <(./dump - places <x.pipe) <(cat x.pipe | ./dump - places)
done
