#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# run.sh BUILD [SECONDS]: every fuzz target of BUILD for so long over its seeds, two at a time.  The generator begins with
# SEED (1), so that the same tree does not fail one time in many; another SEED looks elsewhere.
# An input that crashes, leaks, hangs or eats memory is kept in BUILD/fuzz/ and named.
set -u
B=${1:?run.sh BUILD [SECONDS]}
seconds=${2:-60}
cd "$(dirname "$0")/../.." || exit 1
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT

one()
{
	local target=$1 logs=$2 seconds=$3 name
	name=${target##*/}
	mkdir -p "$logs/$name.found"
	# The tree's seeds are only read; what the fuzzer finds on the way goes to the first folder.
	local seeds=("$logs/$name.found")
	for dir in "tests/fuzz/corpus/$name" "tests/fuzz/corpus/${name#fuzz_}"; do
		[ -d "$dir" ] && seeds+=("$dir")
	done
	ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 \
		"$target" -max_total_time="$seconds" -seed="${SEED:-1}" -timeout=60 -rss_limit_mb=1024 -malloc_limit_mb=512 \
		-artifact_prefix="${target%/*}/$name-" -print_final_stats=1 "${seeds[@]}" >"$logs/$name.log" 2>&1
	echo $? >"$logs/$name.status"
}
export -f one

mapfile -t targets < <(find "$B/fuzz" -maxdepth 1 -type f -name 'fuzz_*' -executable 2>/dev/null | sort)
if [ ${#targets[@]} -eq 0 ]; then
	echo "not ok 1 - no fuzz targets in $B/fuzz: was 'make fuzz' run?"
	exit 1
fi
printf '%s\n' "${targets[@]}" | xargs -P 2 -I '{}' bash -c 'one "$@"' one '{}' "$logs" "$seconds"

n=0 failed=0
for target in "${targets[@]}"; do
	name=${target##*/}
	n=$((n + 1))
	status=$(cat "$logs/$name.status" 2>/dev/null || echo lost)
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$name.log")
	if [ "$status" = 0 ]; then
		echo "ok $n - $name, ${runs:-0} inputs in $seconds s"
		continue
	fi
	failed=1
	kept=$(sed -n 's/.*Test unit written to //p' "$logs/$name.log" | tail -1)
	echo "not ok $n - $name (exit $status); input kept in ${kept:-no file}"
	grep -E 'ERROR|SUMMARY|runtime error|^ +#[0-9] ' "$logs/$name.log" | head -20 | sed 's/^/# /'
done
echo "1..$n"
exit $failed
