#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Truth files: callgrind_annotate opens ours, with inlined functions' lines in their own files.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v callgrind_annotate >/dev/null || { echo 'skip: no callgrind_annotate'; exit 77; }

cat >inl.h <<'C'
static inline __attribute__((always_inline)) unsigned small(unsigned x)
{
	return (x >> 3) * 7 + (x ^ 0x55);
}
C
cat >prog.c <<'C'
#include <stdio.h>
#include "inl.h"
__attribute__((noipa)) unsigned outer(unsigned n)
{
	unsigned s = 1;
	while (n--)
		s = small(s) + n;
	return s;
}
int main(void)
{
	printf("%u\n", outer(1000000));
	return 0;
}
C
gcc -O2 -g prog.c -o prog || exit 1
./prog >want
"$SKIDPROF" truth -o t.out ./prog >got 2>err
ok $? 'truth succeeds'
check 'the output is unchanged' cmp want got
callgrind_annotate --auto=yes --threshold=100 t.out >ann 2>ann.err
ok $? 'callgrind_annotate opens it'
check 'without a complaint' test ! -s ann.err
sed 's/^/# /' ann.err
sum=$(awk '/^0x/ { n += $3 } END { print n }' t.out)
check 'the total is the sum of the lines' test "$(sed -n 's/^totals: //p' t.out)" = "$sum"
printed=$(sed -n 's/^\([0-9,]*\) *([0-9. %]*)  *PROGRAM TOTALS.*/\1/p' ann | tr -d ,)
check 'callgrind_annotate prints that total' test "$printed" = "$sum"
check 'lines of the inlined function are in its file' sh -c 'grep -A12 "inl.h" ann | grep -q "return (x >> 3)"'
grep -qE '^f[ie]=' t.out
ok $? 'fi= marks them'
id=$(readelf -n prog | sed -n 's/ *Build ID: //p')
check 'the build id is there' grep -q "desc: Build id: $id .*/prog" t.out

# Addresses are as linked, like callgrind's: a position independent program has small ones.
valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=cg.out ./prog >/dev/null 2>&1
main=$(nm prog | awk '$3 == "outer" { sub(/^0+/, "", $1); print "0x" $1 }')
check 'the first instruction of outer is at its linked address' grep -q "^$main .* 1\$" t.out
check 'where callgrind has it too' grep -q "^$main " cg.out
"$SKIDPROF" truth -q ./prog >/dev/null
check 'the default name is truth.callgrind' test -s truth.callgrind
check 'no other file is left' test -z "$(ls truth.callgrind.* 2>/dev/null)"

# One that is interrupted is counted until then, and the last line says that it was.
echo 'int main(void) { for (volatile unsigned long i = 0;; i++) ; }' >forever.c
gcc -O1 -g forever.c -o forever || exit 1
timeout -s INT 2 "$SKIDPROF" truth -o cut.out ./forever 2>err
check 'a program that is interrupted is counted' grep -q '^totals: [1-9]' cut.out
check 'until the signal, which is said' grep -q 'instructions in 1 process, until a signal ended it' err
for o in 'truth -o' 'record --pmu sim --truth'; do
	# shellcheck disable=SC2086
	"$SKIDPROF" $o - ./prog >out 2>err
	check "$o takes standard output for a mistake" test $? -eq 2 -a "$(grep -c 'name a file' err)" -eq 1
	check 'and makes no file of that name' test ! -e -
done
exit 0
