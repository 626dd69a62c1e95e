#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# demo.sh BUILD: record each sample, and compare raw and corrected counts with the exact ones.
set -u
B=${1:-build}
cd "$(dirname "$0")/.." || exit 1
[[ $B == /* ]] || B=$PWD/$B
failed=0
mkdir -p "$B/demo" && cd "$B/demo" || exit 1
export PATH=$B:$PATH LC_ALL=C.UTF-8 COLUMNS=110

cat <<'EOT'
A sampling profiler lets a counter run to its period and notes where the program is when the interrupt
arrives. It arrives late: hundreds of cycles, many turns of a loop. That is the skid. So a sample says
where time passes, not which instructions ran: a small function next to a slow load loses its
instructions to its neighbour, and the IPC of both is wrong.

Each program below is run once, on a simulated core whose interrupts skid as those of a real Xeon do.
In the same run every instruction is counted: that is the truth. "raw" is what any profiler shows for
these samples, "fixed" is what skidprof makes of them.

EOT

# number FILE KEY: a number of skidprof's JSON.
number()
{
	grep -oE "\"$2\": *[-+0-9.eE]+" "$1" | head -1 | sed 's/.*: *//'
}

# summary SAMPLE: one row of the closing table.
summary()
{
	printf '%s %s %s %s %s\n' "$1" "$(number "$1.json" eps_raw)" "$(number "$1.json" eps_fixed)" \
		"$(number "$1.json" worst_err_raw)" "$(number "$1.json" worst_err_fixed)"
}

# Exit status 3 is "shown, but not to be trusted": the table says so itself.
done_or_doubtful()
{
	local status
	"$@"
	status=$?
	[ $status -eq 0 ] || [ $status -eq 3 ]
}

# shown COMMAND...: the command as a user would type it, then what it says.
shown()
{
	printf '$ %s\n' "$*"
	"$@"
}

# sample NAME WHAT: record it, show it, and keep its scores.
sample()
{
	local name=$1
	printf '== %s: %s\n' "$name" "$2"
	ln -sf "../samples/$name" "$name"
	shown skidprof record --pmu sim -o "$name.data" --truth "$name.truth" "./$name" || return 1
	done_or_doubtful shown skidprof compare -i "$name.data" --truth "$name.truth" || return 1
	done_or_doubtful skidprof compare -i "$name.data" --truth "$name.truth" --format json \
		>"$name.json" 2>"$name.err" || {
		cat "$name.err" >&2
		return 1
	}
	summary "$name" >>summary
	echo
}

rm -f summary
while read -r name what; do
	sample "$name" "$what" || {
		echo "demo: $name failed" >&2
		failed=1
	}
done <<'EOT'
soplex entered4X() prices columns; operator*, put in place in it, gathers from memory
omnetpp operator++ looks for a submodule; module(), put in place in it, reads the table
mcf primal_bea_mpp() steps over arcs; bea_is_dual_infeasible(), put in place in it, compares
hmmer P7Viterbi() fills a row; path_max(), put in place in it, takes maxima
libsvm get_Q() fills a column through calls of kernel_rbf(), dot() and exp()
EOT

cat <<'EOT'
== In short
eps:   the share of all instructions that is attributed to the wrong function.
worst: the largest error of a function that has at least 1% of the instructions.
fixed: the default, with everything the recording knows.

EOT
awk 'function pc(x) { return x == "" ? "-" : sprintf("%.1f%%", 100 * x) }
	BEGIN { printf "%-10s %8s %8s   %9s %9s\n", "", "eps raw", "fixed", "worst raw", "fixed" }
	{ printf "%-10s %8s %8s   %9s %9s\n", $1, pc($2), pc($3), pc($4), pc($5) }' summary
[ $failed -eq 0 ] && printf '\nThe recordings are in %s: try  skidprof report -i FILE  on them.\n' "$PWD"
exit $failed
