#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# White space, licence lines, and paths that exist on one machine only.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0

# complain WHAT LINES
complain()
{
	[ -n "$2" ] || return
	printf '%s:\n%s\n' "$1" "$(head -20 <<<"$2")"
	bad=1
}

if ! mapfile -t all < <(git ls-files 2>/dev/null) || [ ${#all[@]} -eq 0 ]; then
	mapfile -t all < <(find . -type f ! -path './.git/*' ! -path './build*' | sed 's|^\./||' | sort)
fi
text=()
for f in "${all[@]}"; do
	[ -f "$f" ] && [ "$f" != LICENSE ] && [[ $f != tests/fuzz/corpus/* ]] && grep -qI . "$f" && text+=("$f")
done
source=()
for f in "${text[@]}"; do
	[[ $f == *.[ch] || $f == *.cc ]] && source+=("$f")
done

complain 'trailing white space' "$(grep -nE '[[:space:]]+$' "${text[@]}")"
complain 'a space before a tab' "$(grep -nP '^\t* +\t' "${source[@]}")"
complain 'carriage return' "$(grep -lP '\r' "${text[@]}")"
complain 'no newline at the end' "$(for f in "${text[@]}"; do [ -z "$(tail -c1 "$f")" ] || echo "$f"; done)"
complain 'the first line is not the SPDX line' "$(for f in "${source[@]}"; do
	[ "$(head -1 "$f")" = '/* SPDX-License-Identifier: GPL-3.0-or-later */' ] || echo "$f"
done)"
# Spelt so that this line does not find itself.
complain 'a path of one machine' "$(grep -nE '(^|[^[:alnum:]_.])/(work|root|home|tmp/bash)[/]' "${text[@]}")"
exit $bad
