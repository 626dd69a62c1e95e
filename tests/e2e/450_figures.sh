#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tables of pages are written by what measures them: tests/figures.py puts them between their comments, and nothing else changes.
# And README.md keeps its promises: its length, Debian's packages, the names of pages and targets.
set -u
n=0
check()
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@"; then echo "ok $n - $name"; else echo "not ok $n - $name"; fi
}
dir=$SCRATCH/figures
mkdir -p "$dir" && cd "$dir" || exit 1
figures() { "$TOP/tests/figures.py" --into "$@"; }

printf '%s\n' '.Sh A' '.\" figures of one: begin' 'old' '.\" figures of one: end' 'between' '.\" figures of two: begin' '.\" figures of two: end' 'last' >page.7
# The program prints what roff would take for a request and an escape, a path of the tree, and a second table.
printf '%s\n' 'before' 'start here' ' 1  \f' ".T 'q' $TOP/x" '' '@figures two' '# a' '# b' >out
figures page.7 --from '^start' one cat out >shown
check 'what is measured is shown as it comes' cmp -s out shown
check 'a table is written anew, literally, with version, date and machine above it' test "$(sed -n '2,8p' page.7 | sed '2s/.*/STAMP/')" = '.\" figures of one: begin
STAMP
.Bd -literal
 1  \ef
\&.T '"'q'"' x
.Ed
.\" figures of one: end'
check 'the stamp' grep -qE '^skidprof [0-9.]+( \(commit [0-9a-f]+\))?, [0-9]+ [A-Z][a-z]+ [0-9]+, .*, load [0-9]+:$' page.7
check 'a second table has its own place, and what is around them stays' test "$(sed -n '9,$p' page.7 | sed '3s/.*/STAMP/')" = 'between
.\" figures of two: begin
STAMP
.Bd -literal
a
b
.Ed
.\" figures of two: end
last'
printf '%s\n' 'text' '<!-- figures of t: begin -->' 'old' '<!-- figures of t: end -->' >page.md
printf '%s\n' '| a |' '|---|' '| 1 |' >table.md
figures page.md t cat table.md >/dev/null
check 'a Markdown table stays one' test "$(sed -n '3,5p' page.md)" = "$(cat table.md)"
cp page.md was.md
figures page.md t sh -c 'echo x; exit 3' >/dev/null
check 'a command that fails writes nothing, and its status is kept' test $? -eq 3 -a "$(cat page.md)" = "$(cat was.md)"
PRINT_ONLY=1 figures page.md t echo x >/dev/null
check 'a short run writes nothing' cmp -s page.md was.md
figures page.md other echo x >/dev/null 2>err
check 'a name without comments is an error' test $? -eq 1 -a "$(grep -c "figures of other: begin" err)" = 1

cd "$TOP" || exit 1
check 'README.md has at most 1,500 words' test "$(wc -w <README.md)" -le 1500
packages=$(sed -n '/^BUILD_PACKAGES/,/[^\\]$/p' Makefile | sed 's/.*:=//; s/\\$//' | tr -s ' \n' '\n' | sort)
listed=$(sed -n '/apt install/,/[^\\]$/p' README.md | sed 's/#.*//; s/\\$//; s/.*apt install//' | tr -s ' \n' '\n' | grep -vx git | sort)
check 'README.md lists the packages that the Makefile knows' test "$(echo $packages)" = "$(echo $listed)"
check 'README.md has the tables of make headline' test "$(grep -c '^| .*% |' README.md)" -ge 5
for target in $(grep -oE '\bmake [a-z][a-z-]*' README.md man/*.[17] .github/CONTRIBUTING.md | sed 's/.*make //' | sort -u); do
	grep -qE "^([a-z -]* )?$target( [a-z -]*)?:" Makefile || echo "make $target"
done >"$dir/targets"
# "make" is an English word, too.
grep -vxE 'make (by|gcc|it|a|them|the|of|up|its|these|and|exactly|[a-z]+s)' "$dir/targets" >"$dir/missing"
check 'targets that pages name are there' test ! -s "$dir/missing"
sed 's/^/# /' "$dir/missing"
for page in $(grep -oE '\bskidprof[a-z-]*\([17]\)' README.md | tr -d ')' | tr '(' '.' | sort -u); do
	[ -f "man/$page" ] || echo "$page"
done >"$dir/pages"
check 'pages that README.md names are there' test ! -s "$dir/pages"
echo "1..$n"
