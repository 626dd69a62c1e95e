#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Loops that follow each other faster than samples do, under an outer loop whose turn is too long to be on record: each is a
# region by itself, and how many instructions it has is in no interval between two samples.
set -u
. "$TOP/tests/e2e/lib200.sh"

build stages -O2 <<'C'
#include <stdio.h>

enum { BYTES = 700, WORDS = 1500, TURNS = 100 };

static unsigned table[256], raw[WORDS];
static unsigned char packet[BYTES];

/* A chain of loads: an instruction a cycle. */
__attribute__((noinline)) static unsigned check(void)
{
	unsigned c = ~0u;

	for (int i = 0; i < BYTES; i++)
		c = table[(c ^ packet[i]) & 255] ^ c >> 8;
	return ~c;
}

/* Nothing waits for anything else. */
__attribute__((noinline)) static void sense(unsigned turn)
{
	for (unsigned i = 0; i < WORDS; i++) {
		raw[i] = (turn * 40503u ^ i * 9176u) + (raw[i] >> 1);
		__asm__ volatile("");
	}
}

__attribute__((noinline)) static void pack(void)
{
	for (unsigned i = 0; i < BYTES; i++) {
		packet[i] = (unsigned char)(raw[2 * i] ^ raw[2 * i + 1] >> 7);
		__asm__ volatile("");
	}
}

/* A chain of multiplications. */
__attribute__((noinline)) static unsigned hash(void)
{
	unsigned h = 1;

	for (unsigned i = 0; i < WORDS; i++)
		h = (h ^ raw[i] ^ i << 3 ^ (raw[i] & i) ^ (i + raw[i]) >> 5) * 16777619u;
	return h;
}

#define ONE sense(sum); pack(); sum ^= check();
#define FOUR ONE sum += hash(); ONE ONE sum += hash(); ONE

int main(void)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < 256; i++)
		table[i] = i * 2654435761u;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		FOUR FOUR FOUR FOUR FOUR FOUR
		sum ^= turn;
	}
	return printf("%u\n", sum) < 0;
}
C

# judge MOST FILE...: no function is called fixed and is off by more than 5%; MOST percent in the mean, and three intervals of
# four hold the truth.
judge()
{
	python3 - "$@" <<'P'
import json, sys
good, off, held = True, [], []
for name in sys.argv[2:]:
    d = json.load(open(name))
    for f in d["functions"]:
        if f["truth"] < 0.02 * d["total_truth"]:
            continue
        off.append(abs(f["fixed_err"]))
        held.append(f["inside"])
        print("# %-6s %-10s raw %+.1f%% fixed %+.2f%% %s" % (f["name"], f["status"], 100 * f["raw_err"], 100 * f["fixed_err"], f["inside"]))
        good &= f["status"] != "fixed" or off[-1] < 0.05
mean = 100 * sum(off) / len(off)
print("# %.2f%% in the mean, %d of %d hold" % (mean, sum(held), len(held)))
sys.exit(not (good and mean < float(sys.argv[1]) and sum(held) >= 0.75 * len(held)))
P
}

for seed in 1 2 3; do
	# With no environment, whose size moves the stack, every run is the same.
	env -i "$SKIDPROF" record --pmu sim -q --seed $seed --no-branches --bursts=25000 -o $seed.data --truth $seed.truth ./stages \
		>/dev/null 2>err
	check "stages are recorded ($seed)" test -s $seed.data
	"$SKIDPROF" compare -i $seed.data --truth $seed.truth --format json >$seed.json 2>err
	check "stages are corrected ($seed)" test $? -eq 0
done
# By the intervals between samples alone: 10% in the mean, up to 31% and called fixed, 1 of 12 holds.
check 'what no interval holds is told by samples' judge 4 1.json 2.json 3.json
exit 0
