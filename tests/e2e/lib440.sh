# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# Shared by 440-449: a program of known counts, recorded once, rewritten as perf would have recorded it (plain.py).

# A loop of three functions that take ways by chance, and a second loop after it.
three_programs()
{
	cat >three.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t tab[4096];

__attribute__((noinline)) static uint64_t slow(uint64_t x)
{
	uint64_t d = (x >> 60) + 3;

	return x / d + x % (d + 4);
}

__attribute__((noinline)) static uint64_t look(uint64_t x)
{
	uint32_t k = x & 4095;

	for (int i = 0; i < (int)(x >> 62); i++)
		k = tab[k] + 1 & 4095;
	return x + k;
}

__attribute__((noinline)) static uint64_t quick(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	return x ^ x >> 29;
}

__attribute__((noinline)) static uint64_t mixed(uint64_t x, int n)
{
	for (int i = 0; i < n; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		if (x >> 63)
			x += slow(x);
		if (x >> 61 & 1)
			x ^= look(x);
		else
			x += quick(x);
	}
	return x;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 700000;

	for (int i = 0; i < 4096; i++)
		tab[i] = (uint32_t)i * 2654435761u;
	printf("%ju\n", (uintmax_t)mixed(1, n));
	return 0;
}
END
	gcc -O2 -g three.c -o three
}

# --core: its branch records tell cycles, as most real ones do.  Thirty thousand samples: with a tenth of them chance
# alone moves a share by half a point and more.
record_three()
{
	"$SKIDPROF" record --pmu sim -q -b --bursts 0 -c 1009 --core "$TOP/profiler/sim/cores/skylake.core" -o three.data \
		--truth three.truth ./three >/dev/null
}

# plain WORD...: plain.data, of three.data.
plain()
{
	python3 "$TOP/tests/e2e/plain.py" three.data plain.data "$@"
}

# exact: {function: instructions} in the file exact, from the truth of the recording.
exact()
{
	"$SKIDPROF" compare -i three.data --truth three.truth --method raw --format json >compared 2>/dev/null
	python3 -c 'import json
for f in json.load(open("compared"))["functions"]: print(f["name"], f["truth"])' >exact
}

# shares MOST: in the file out, a function's share of its region is off by no more.
shares()
{
	exact
	python3 - "$1" <<'P'
import json, sys
exact = {w[0]: float(w[1]) for w in map(str.split, open("exact")) if len(w) == 2}
names = ("mixed", "slow", "look", "quick")
seen = {f["name"]: f["region_share"] for f in json.load(open("out"))["functions"] if f["name"] in names}
total = sum(exact[n] for n in names)
bad = len(seen) < 4
for name, share in seen.items():
    off = abs((share or 0) - exact[name] / total)
    print(f"# {name}: {share} of its region, exact {exact[name] / total:.4f}")
    bad |= off > float(sys.argv[1])
sys.exit(bad)
P
}

# total MOST: the instructions of all functions in the file out, off by no more than so much of the exact ones.
total()
{
	exact
	python3 - "$1" <<'P'
import json, sys
exact = sum(float(line.split()[-1]) for line in open("exact"))
seen = sum(f["fixed"] or 0 for f in json.load(open("out"))["functions"])
print(f"# {seen:.4g} of {exact:.4g} instructions: {seen / exact - 1:+.2%}")
sys.exit(abs(seen / exact - 1) > float(sys.argv[1]))
P
}

# worst_of: of the comparison in the file out, how far the functions of the program are off at most.
worst_of()
{
	python3 - <<'P'
import json
print(max(abs(f["fixed_err"]) for f in json.load(open("out"))["functions"] if f["name"] in ("mixed", "slow", "look", "quick")))
P
}

# no_worse ERROR MORE: they are off by no more than that, and so much more.
no_worse()
{
	local worst
	worst=$(worst_of)
	echo "# off by $worst at most, $1 is allowed, and $2"
	awk -v a="$worst" -v b="$1" -v more="$2" 'BEGIN { exit !(a <= b + more) }'
}

# eps_of: of the comparison in the file out, the share of instructions that is in the wrong function.
eps_of()
{
	python3 - <<'P'
import json
rows = json.load(open("out"))["functions"]
fixed, truth = sum(f["fixed"] for f in rows), sum(f["truth"] for f in rows)
print(sum(abs(f["fixed"] / fixed - f["truth"] / truth) for f in rows) / 2)
P
}
