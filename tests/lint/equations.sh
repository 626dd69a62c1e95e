#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Equations in prose rot unread.  So the code, skidprof-model(7) and the unit tests have the same ones:
# - "eq. N" in the code is a numbered equation of the page, and a unit test names it;
# - an equation of the page is named in the code, and the line below it says by which function, and which test pins it;
# - a unit test names no others;
# - "(N)" in the text of the page is one of its equations.
set -u
cd "$(dirname "$0")/../.." || exit 1
page=man/skidprof-model.7
bad=0

complain()
{
	echo "$*"
	bad=1
}

# numbers FILES...: the N of every "eq. N", "eqs. N, M and O", "eqs. N-M", one a line.
numbers()
{
	# Strings that go on in the next line are one.
	sed -z 's/"[[:space:]]*"//g' "$@" | grep -aoEi '\beqs?\. ?\(?[0-9]+\)?((,| and|-) ?\(?[0-9]+\)?)*' | tr -d '()' |
		awk '{
			gsub(/eqs?\.|[Ee]qs?\./, ""); gsub(/,|and/, " "); gsub(/ *- */, "-")
			for (i = 1; i <= NF; i++) {
				n = split($i, r, "-")
				for (k = r[1]; k <= r[n]; k++) print k
			}
		}' | sort -nu
}

mapfile -t code < <(find profiler correct report -name '*.[ch]' -o -name '*.def' | sort)
mapfile -t tests < <(find tests/unit tests/cases -name '*.[cS]' 2>/dev/null | sort)
in_code=$(numbers "${code[@]}" /dev/null)
pinned=$(numbers "${tests[@]}" /dev/null)
# An equation begins a line of a display.
defined=$(awk '/^\.Bd/ { shown = 1 } /^\.Ed/ { shown = 0 } shown && /^\([0-9]+\) / { print substr($1, 2, length($1) - 2) }' "$page" |
	sort -n)
for n in $(uniq -d <<<"$defined"); do
	complain "eq. $n: $page has it twice"
done
for n in $in_code; do
	grep -qx "$n" <<<"$defined" ||
		complain "eq. $n: not in $page, but in $(grep -lE "eqs?\. ?$n\b" "${code[@]}" | head -3 | tr '\n' ' ')"
	grep -qx "$n" <<<"$pinned" || complain "eq. $n: no unit test names it"
done
for n in $pinned; do
	grep -qx "$n" <<<"$defined" || complain "eq. $n: a unit test names it, but $page has no such equation"
done
for n in $defined; do
	grep -qx "$n" <<<"$in_code" || complain "eq. $n: in $page, but nothing in the code names it"
done

for n in $(grep -v '^\.' "$page" | grep -oE '(^|[[:space:]])\([0-9]+\)' | tr -dc '0-9\n' | sort -nu); do
	grep -qx "$n" <<<"$defined" || complain "($n): $page has no such equation"
done

# pointers: NUMBER FILE:FUNCTION TEST of every equation, one a line; those of a display may share them.
pointers()
{
	awk '/^\.Bd/ { shown = 1 }
		/^\.Ed/ { shown = 0 }
		shown && /^\([0-9]+\) / { n[++k] = substr($1, 2, length($1) - 2) }
		shown && /^ +[a-z_0-9\/]+\.c:[a-z_0-9]+ +test_[a-z_0-9]+\.c$/ {
			for (; k; k--) print n[k], $1, $2
		}
		!shown { for (; k; k--) print n[k], "-", "-" }' "$page"
}

while read -r n place test; do
	file=${place%%:*} func=${place##*:}
	if [ "$place" = - ]; then
		complain "eq. $n: $page does not say in which function it is, and which test pins it"
		continue
	fi
	[ -e "$file" ] || file=correct/$file
	# The name of a function stands in the first column's line, with its arguments behind it.
	grep -qsE "^[a-z].*\b$func\(" "$file" || complain "eq. $n: $page says $place, where no such function is"
	[ -e "tests/unit/$test" ] && numbers "tests/unit/$test" | grep -qx "$n" ||
		complain "eq. $n: $page says tests/unit/$test, which does not name it"
done < <(pointers | sort -n)
exit $bad
