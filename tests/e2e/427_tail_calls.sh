#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An interpreter whose handlers jump to one another through a table of functions.  The handler that stands first in the table
# reads its first entry, itself, as a switch would: what it was seen to jump to tells that this is none.
set -u
. "$TOP/tests/e2e/lib400.sh"
. "$TOP/tests/e2e/lib440.sh"
cd "$SCRATCH" || exit 1

cat >tail.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct vm { const uint8_t *code; long n; };
typedef long op(struct vm *m, const uint8_t *pc, long *sp, long acc);
static op add, push, pop, mul, divide, again, bits;
static op *const ops[] = { add, push, pop, mul, divide, again, bits };
#define NEXT return ops[*pc](m, pc + 1, sp, acc)
static long add(struct vm *m, const uint8_t *pc, long *sp, long acc) { acc += sp[-1]; NEXT; }
static long push(struct vm *m, const uint8_t *pc, long *sp, long acc) { *sp++ = acc; NEXT; }
static long pop(struct vm *m, const uint8_t *pc, long *sp, long acc) { acc ^= *--sp; NEXT; }
static long mul(struct vm *m, const uint8_t *pc, long *sp, long acc) { acc = acc * 2654435761u + 7; NEXT; }
static long divide(struct vm *m, const uint8_t *pc, long *sp, long acc) { acc = acc / (sp[-1] | 1) - 9; NEXT; }
static long again(struct vm *m, const uint8_t *pc, long *sp, long acc) { if (--m->n == 0) return acc; pc = m->code; NEXT; }
static long bits(struct vm *m, const uint8_t *pc, long *sp, long acc) { for (long a = acc & 0xff; a; a &= a - 1) acc++; NEXT; }
int main(int argc, char **argv)
{
	static const uint8_t code[] = { 1, 3, 1, 0, 6, 2, 4, 1, 3, 0, 2, 2, 0, 5 };
	struct vm m = { code, argc > 1 ? atol(argv[1]) : 1 };
	long stack[16] = { 5, 9 };

	printf("%ld\n", ops[code[0]](&m, code + 1, stack + 4, 3));
	return 0;
}
END
gcc -O2 -g -foptimize-sibling-calls tail.c -o tail || exit 1
objdump -d --no-show-raw-insn tail | sed -n '/<add>:/,/^$/p' | grep -q 'jmp *\*' || {
	echo "this compiler makes no tail calls"
	exit 77
}
for form in '--core zen5' '--core skylake' '--core zen5 --no-branches --bursts 0'; do
	# shellcheck disable=SC2086 # options
	check "$form: it is recorded" status 0 "$SKIDPROF" record -q --pmu sim $form -o t.data --truth t.truth ./tail 100000
	"$SKIDPROF" compare -i t.data --truth t.truth --format json >out 2>err
	check 'every instruction is somewhere' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.01'
	case $form in
	*--no-branches*) check 'the table alone tells which handlers may follow one another: better than nothing' json 'd["eps_fixed"] < d["eps_raw"]' ;;
	*) check 'handlers are right' json 'd["eps_fixed"] < 0.02 < 0.1 < d["eps_raw"]' ;;
	esac
	check 'what is called fixed is not far off' json 'all(f["status"] != "fixed" or abs(f["fixed"] / f["truth"] - 1) < 0.05 for f in d["functions"] if f["truth_share"] > 0.01)'
done

# The same handlers are called, thirteen in a turn of a loop around them: it has few instructions, on which no sample of this
# core ever lands, and that it runs is on record only.
sed -e 's/NEXT/return acc/; s/if (--m->n == 0) return acc; pc = m->code;//; s/^static op add/__attribute__((noinline)) &/' \
	-e '/^int main/,$d' -e '/^#define/d' tail.c >call.c
cat >>call.c <<'END'
int main(int argc, char **argv)
{
	static const uint8_t code[] = { 1, 3, 1, 0, 6, 2, 4, 1, 3, 0, 4, 6, 0 };
	long stack[16] = { 5, 9 }, acc = 3, n = argc > 1 ? atol(argv[1]) : 1;

	while (n--)
		for (size_t i = 0; i < sizeof(code); i++)
			acc = ops[code[i]](NULL, code, stack + 4, acc);
	printf("%ld\n", acc);
	return 0;
}
END
gcc -O2 -g call.c -o call || exit 1
check 'calls through the table: they are recorded' status 0 "$SKIDPROF" record -q --pmu sim --core zen5-real -o t.data --truth t.truth ./call 100000
"$SKIDPROF" compare -i t.data --truth t.truth --format json >out 2>err
check 'the loop around them ran' json 'd["eps_fixed"] < 0.02 < 0.1 < d["eps_raw"]'
[ "$failed" -eq 0 ]
