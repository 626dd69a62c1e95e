#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# "eq. N" in the code names a numbered equation of skidprof-model(7), and a unit test that names it pins it.
# Equations in prose rot unread; these can't.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

# numbers FILES...: the N of every "eq. N", "eqs. N, M and O", "eqs. N-M", one a line.
numbers()
{
	grep -hoEi '\beqs?\. ?\(?[0-9]+\)?((,| and|-) ?\(?[0-9]+\)?)*' "$@" | tr -d '()' |
		awk '{
			gsub(/eqs?\.|[Ee]qs?\./, ""); gsub(/,|and/, " "); gsub(/ *- */, "-")
			for (i = 1; i <= NF; i++) {
				n = split($i, r, "-")
				for (k = r[1]; k <= r[n]; k++) print k
			}
		}' | sort -nu
}

mapfile -t code < <(find profiler correct report -name '*.[ch]' | sort)
mapfile -t tests < <(find tests/unit tests/cases -name '*.[cS]' 2>/dev/null | sort)
pinned=$(numbers "${tests[@]}" /dev/null)
for n in $(numbers "${code[@]}" /dev/null); do
	grep -qE "\(($n)\)" man/skidprof-model.7 2>/dev/null ||
		{ echo "eq. $n: not in man/skidprof-model.7, but in $(grep -lE "eqs?\. ?$n\b" "${code[@]}" | head -3 | tr '\n' ' ')" && bad=1; }
	grep -qx "$n" <<<"$pinned" || { echo "eq. $n: no unit test names it" && bad=1; }
done
exit $bad
