#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Constants of the model are rows of correct/model/model.def, those of judgement of correct/judge/reasons.def.  In the folders that
# make the model's numbers no other fraction may stand, and no least number of samples.  Free are a half, whole numbers, the ends
# of a 90% interval, and what is below 1e-5 or above 1e5, where it is rounding or time.
set -u
cd "$(dirname "$0")/../.." || exit 1

# FILE NAME: how far a computation converges, and facts of formats.  What time or memory it may take is in correct/model/effort.h.
free='correct/infer/moments.c close_enough|correct/infer/moments.c most_damping
correct/infer/posterior.c barriers|correct/infer/posterior.c at_mode|correct/infer/cost.c step
correct/infer/full.c moved
correct/recording/rests.c silent_ns
correct/flow/symbolic.c MIN_TABLE_VADDR'

bad=0
for key in $(sed -nE 's/^(CONSTANT|COUNT)\(([a-z_]+),.*/\2/p' correct/model/model.def); do
	grep -rqE "model->$key\b" correct report/assemble --include='*.c' || { echo "correct/model/model.def: nothing reads $key" && bad=1; }
done

find correct/{recording,skid,flow,divide,evidence,infer,solve} -name '*.[ch]' | sort | while read -r f; do
	# Without comments and texts, each line with its number.
	sed -E 's|"([^"\\]\|\\.)*"||g' "$f" | awk -v f="$f" '
		{
			line = $0
			while (1) {
				if (comment) {
					if (!(at = index(line, "*/"))) { line = ""; break }
					line = substr(line, at + 2); comment = 0
				}
				if (!(at = index(line, "/*"))) break
				rest = substr(line, at + 2)
				if ((end = index(rest, "*/"))) { line = substr(line, 1, at - 1) " " substr(rest, end + 2) }
				else { kept = kept substr(line, 1, at - 1); comment = 1; line = ""; break }
			}
			print f ":" NR ": " kept line
			kept = ""
		}'
done | awk -v free="$free" '
	BEGIN { n = split(free, list, /[|\n]/) }
	function is_free(k) { for (k = 1; k <= n; k++) { split(list[k], w, " "); if (index($0, w[1] ":") == 1 && $0 ~ w[2]) return 1 }; return 0 }
	{
		text = $0
		sub(/^[^:]*:[0-9]*: /, "", text)
		bad = text ~ /(^|[^A-Za-z0-9_])(MIN|LEAST|FEWEST|ENOUGH)_[A-Z_]* *= *[0-9]/
		while (!bad && match(text, /(^|[^A-Za-z0-9_.])([0-9]*\.[0-9]+(e-?[0-9]+)?|[0-9]+e-[0-9]+)/)) {
			number = substr(text, RSTART, RLENGTH)
			text = substr(text, RSTART + RLENGTH)
			sub(/^[^0-9.]/, "", number)
			number += 0
			bad = number != int(number) && number != 0.5 && number != 0.05 && number != 0.95 && number > 1e-5
		}
		if (bad && !is_free()) { print; found = 1 }
	}
	END {
		if (found) print "a constant of the model outside correct/model/model.def: give it a row there, with its reason"
		exit found
	}' || bad=1
exit $bad
