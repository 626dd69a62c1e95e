#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# S as it is measured is S as it was drawn: median and 90th percentile within 3% of the core file's histogram.
# Of 3000 samples the median of zen5's S has a standard error of 0.5%, its 90th percentile one of 1.5%: the tail is thin.
set -u
. "$TOP/tests/e2e/lib200.sh"

build loop <<'C'
#include <stdio.h>
static __attribute__((noipa)) unsigned hot(unsigned n, const unsigned *v) { unsigned s = 1; while (n--) s += v[s % 4096] * 5 + (s % 3 ? s >> 3 : n); return s; }
int main(void) { static unsigned v[4096]; for (unsigned i = 0; i < 4096; i++) v[i] = i * 2654435761u; printf("%u\n", hot(6000000, v)); return 0; }
C
cores=$TOP/profiler/sim/cores
# A bin is "skid FROM TO WEIGHT": S evenly in [FROM, TO).
quantiles() # CORE-FILE: median and 90th percentile of its S
{
	awk '$1 == "skid" { lo[++n] = $2; hi[n] = $3; w[n] = $4; sum += $4 }
	     function q(p,   i, c) { for (i = 1; i <= n; i++) { if (c + w[i] >= p * sum) return lo[i] + (hi[i] - lo[i]) * (p * sum - c) / w[i]; c += w[i] } }
	     END { printf "%.1f %.1f\n", q(.5), q(.9) }' "$1"
}
measured() # FILE
{
	"$SKIDPROF" report --format json -i "$1" 2>/dev/null |
		python3 -c 'import json, sys; s = json.load(sys.stdin)["meta"]["skid"]; print(s["median_cyc"], s["p90_cyc"], s["source"])'
}
{ sed '/^[[:space:]]*skid[[:space:]]/d' "$cores/zen5.core" && echo 'skid 600 1400 1'; } >wide.core
for core in "$cores/zen5.core" "$cores/skylake.core" wide.core; do
	# Cycles alone: an interrupt for another event would serve an overflow of theirs before its time.
	"$SKIDPROF" record -q --pmu sim --no-branches -e cycles -c 20011 --core "$(realpath "$core")" -o s.data ./loop >/dev/null 2>err || cat err
	read -r median p90 <<<"$(quantiles "$core")"
	read -r m9 q9 source <<<"$(measured s.data)"
	echo "# ${core##*/}: drawn $median and $p90, measured $m9 and $q9"
	check "${core##*/}: S was measured" test "$source" = measured
	check "${core##*/}: the median" near "$m9" "$median" 3
	check "${core##*/}: the 90th percentile" near "$q9" "$p90" 3
done
# The default: instructions are sampled as well, in turns with other events.
"$SKIDPROF" record -q --pmu sim --no-branches -o s.data ./loop >/dev/null
read -r median p90 <<<"$(quantiles "$cores/zen5.core")"
read -r m9 q9 source <<<"$(measured s.data)"
echo "# default recording: drawn $median and $p90, measured $m9 and $q9"
check 'default recording: the median' near "$m9" "$median" 3
check 'default recording: the 90th percentile' near "$q9" "$p90" 3
exit 0
