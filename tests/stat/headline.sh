#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# headline.sh BUILD [--keep]: the tables of README.md on standard output, what is done on standard error: the five rows of "How right",
# and two functions of a sample.
#
# Natively, with all of record's defaults and no PMU: each sample SECONDS_EACH (5) seconds ROUNDS (3) times, its shares of regions against
# exact counts of a run with the same argument.  On the simulated core: the samples, and the programs in written/, once each, with branch
# records, with bursts and with neither.
set -u
B=$(realpath "${1:?headline.sh BUILD [--keep]}") || exit 1
keep=${2:-}
cd "$(dirname "$0")/../.." || exit 1
seconds=${SECONDS_EACH:-5} rounds=${ROUNDS:-3} dir=$B/headline
export LC_ALL=C.UTF-8
[ -n "$keep" ] || rm -rf "$dir"
mkdir -p "$dir/native" || exit 1

# What makes them run for a second on an EPYC of 2023.
programs=("soplex 2500" "omnetpp 400000" "mcf 45000" "hmmer 900000" "libsvm 2800")
native()
{
	local name=$1 argument=$(($2 * seconds)) i
	"$B/skidprof" truth -q -o "$dir/truth" "$B/samples/$name" $argument >/dev/null || return 1
	for ((i = 1; i <= rounds; i++)); do
		[ -z "$keep" ] || [ ! -s "$dir/native/$name.$i.truth.json" ] || continue
		echo "headline: $name natively, $i of $rounds" >&2
		"$B/skidprof" record --pmu clock -q -o "$dir/data" "$B/samples/$name" $argument >/dev/null || return 1
		# 3: done, but not to be trusted; that is in the figures.
		"$B/skidprof" report -q -i "$dir/data" --insns --format json >"$dir/native/$name.$i.bursts.json" || [ $? -eq 3 ] || return 1
		"$B/skidprof" report -q -i "$dir/data" --truth "$dir/truth" --insns --format json >"$dir/native/$name.$i.truth.json" || [ $? -eq 3 ] || return 1
	done
}
for p in "${programs[@]}"; do
	# shellcheck disable=SC2086 # two words
	native $p || { echo "headline: $p failed" >&2; exit 1; }
done
# What `make accuracy` has of this build is not measured twice.
tests/stat/accuracy.sh "$B" --groups 'sample written' --every 1 --variants 'plain bursts branches' ${keep:+--keep} >&2 || exit 1
python3 tests/stat/headline.py "$dir/native" "$B/accuracy/json" || exit 1

# What skid does to you: two functions of a sample, by the simulated core's defaults.
"$B/skidprof" record --pmu sim -q -o "$dir/data" --truth "$dir/truth" "$B/samples/omnetpp" >/dev/null || exit 1
echo '@figures make headline, skid'
COLUMNS=110 "$B/skidprof" compare -i "$dir/data" --truth "$dir/truth" --limit 2 | sed -n '/^ *SHARE/,/^#/{/^#/!p}'
echo
echo "Counts and cycles are those of a simulated core (Zen 5), run on this machine:"
rm -f "$dir/data" "$dir/truth"
