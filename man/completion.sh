#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# completion.sh bash|zsh|fish SKIDPROF: the shell's completion, to standard output.
# Commands and options are those of --help, so that none can be forgotten; completion.words says the rest.
set -eu
shell=$1 skidprof=$2
here=$(dirname "$0")
cores=$(for f in "$here"/../profiler/sim/cores/*.core; do basename "$f" .core; done | tr '\n' ' ')
# One option a line, whatever it says, with its text behind column 60.
export ARGP_HELP_FMT='rmargin=4000,opt-doc-col=60' LC_ALL=C
# No configuration of whoever builds.
export SKIDPROF_CONFIG="" SKIDPROF_COMPLETION="$here"

# "record<tab>sample a program ..."
commands=$("$skidprof" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\)  *\(.*\)/\1	\2/p')
# "record<tab>-p<tab>--pid<tab>PID<tab>Record ...", either name "-" where there is none.
options=$(printf '%s\n' "$commands" | while IFS='	' read -r command _; do
	"$skidprof" "$command" --help | awk -v command="$command" '
		/^ +-/ {
			names = $0; text = $0
			sub(/^ +/, "", names); sub(/   *[^ ].*$/, "", names)
			sub(/^ +[^ ]+(, [^ ]+)? +/, "", text)
			short = "-"; argument = "-"
			if (names ~ /^-[^-]/) { short = substr(names, 1, 2); sub(/^-., /, "", names) }
			if (names ~ /=/) { argument = names; sub(/^[^=]*=/, "", argument); sub(/\]$/, "", argument); sub(/\[?=.*/, "", names) }
			print command "\t" short "\t" names "\t" argument "\t" text
		}'
done)

{
	grep -v '^#' "$here/completion.words" | sed 's/^/words	/'
	printf '%s\n' "$commands" | sed 's/^/command	/'
	printf '%s\n' "$options" | sed 's/^/option	/'
} | awk -v shell="$shell" -v cores="$cores" -f "$here/completion.awk"
