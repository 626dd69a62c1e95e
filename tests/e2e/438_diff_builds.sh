#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Lines of two builds are paired through another optimization, other inlining, a new name, lines that are put in, and lines
# that moved.  Counts are exact, so that nothing is left to chance; each line of the source carries the mark that it is known by.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
export PAGER=false # would fail if it were started

mkdir -p before after
cat >head.c <<'END_OF'
#include <stdint.h>
#include <stdio.h>
#define ALONE __attribute__((noinline, noclone))
END_OF
# Before: fold() is a function of its own, table() has no first pass.
{
	cat head.c - <<'END_OF'
ALONE static uint64_t fold(uint64_t x)
{
	x ^= x >> 33; /* fold 1 */
	x *= 0xff51afd7ed558ccdull; /* fold 2 */
	return x + (x >> 7) % 1000; /* fold 3 */
}
static uint64_t t[256], u[256];
ALONE static uint64_t table(uint64_t x)
{
	for (int i = 0; i < 256; i++)
		t[i] = x * (uint64_t)i; /* table 1 */
	for (int i = 0; i < 256; i++)
		x += fold(t[i]); /* table 2 */
	return x;
}
ALONE static uint64_t moved(uint64_t x)
{
	for (int i = 0; i < 300; i++)
		x = x / 7 + 1; /* moved 1 */
	for (int i = 0; i < 300; i++)
		x = (x ^ x << 5) + (x >> 3); /* moved 2 */
	return x;
}
END_OF
	cat <<'END_OF'
int main(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 2000; i++)
		x += moved(table(x)); /* main 1 */
	printf("%d\n", (int)(x + u[3]) != 0);
	return 0;
}
END_OF
} >before/app.c
# After: fold() has another name and is inlined, table() has a pass more in front, and moved() has its loops the other way round.
{
	cat head.c - <<'END_OF'
static inline __attribute__((always_inline)) uint64_t mix(uint64_t x)
{
	x ^= x >> 33; /* fold 1 */
	x *= 0xff51afd7ed558ccdull; /* fold 2 */
	return x + (x >> 7) % 1000; /* fold 3 */
}
static uint64_t t[256], u[256];
ALONE static uint64_t table(uint64_t x)
{
	/* New, and so everything below stands some lines further down. */
	for (int i = 0; i < 256; i++)
		u[i] ^= x >> (i & 7); /* new 1 */

	for (int i = 0; i < 256; i++)
		t[i] = x * (uint64_t)i; /* table 1 */
	for (int i = 0; i < 256; i++)
		x += mix(t[i]); /* table 2 */
	return x;
}
ALONE static uint64_t moved(uint64_t x)
{
	for (int i = 0; i < 300; i++)
		x = (x ^ x << 5) + (x >> 3); /* moved 2 */
	for (int i = 0; i < 300; i++)
		x = x / 7 + 1; /* moved 1 */
	return x;
}
END_OF
	sed -n '/^int main/,$p' before/app.c
} >after/app.c
for pair in "-O1 -O2" "-O2 -O2" "-O2 -O3"; do
	read -r first second <<<"$pair"
	gcc "$first" -g -fno-tree-vectorize before/app.c -o before/app && gcc "$second" -g -fno-tree-vectorize after/app.c -o after/app || exit 1
	"$SKIDPROF" truth -q -o a.truth before/app >/dev/null && "$SKIDPROF" truth -q -o b.truth after/app >/dev/null || exit 1
	check "$pair: lines are compared" status 0 "$SKIDPROF" diff a.truth b.truth --lines --format json
	check 'each that has a mark, and a hundredth of the instructions, is paired with the one of its mark' python3 - <<'END_OF'
import json
import re


def marks(path):
    return {i: m[1] for i, line in enumerate(open(path), 1) if (m := re.search(r"/\* (\w+ \d) \*/", line))}


old, new = marks("before/app.c"), marks("after/app.c")
n = 0
for r in json.load(open("out"))["lines"]:
    if r["share"] < 0.01 or r["module"] != "app" or not r["file"].endswith("app.c"):
        continue
    if r["instructions_after"] == 0 and old.get(r["line"]):
        raise SystemExit(f"of the earlier side alone: line {r['line']}, {old.get(r['line'])}")
    mark = new.get(r["line"])
    if mark is None:
        continue
    if mark == "new 1":
        assert r["instructions_before"] == 0, r
        continue
    before = r["line_before"] or r["line"]
    assert r["instructions_before"] > 0 and old.get(before) == mark, (mark, r["line"], before, old.get(before))
    n += 1
assert n >= 6, n
END_OF
	check "the function's new name is told with its lines" json \
		'all(r["function_before"] == "fold" for r in d["lines"] if r["function"] == "mix" and r["share"] > 0.01)'
done
check 'a table' status 0 "$SKIDPROF" diff a.truth b.truth --lines
check 'has both numbers of a line' has out '(was '
finish
