#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A recording of time and bursts: shares of regions against exact ones, and exact counts joined with its cycles.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
"$SKIDPROF" record -q --pmu clock --bursts 0 -o time.data true 2>probe.err || {
	echo "no clock events here: $(head -1 probe.err)"
	exit 77
}

# Per turn of the loop: slow (a division) always, mix (many instructions, little time) in 1 turn of argv[2].
program()
{
	cat >app.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x << 7;
	x += x >> 11;
	x ^= x << 13;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 29;
	x += x << 3;
	return x ^ x >> 17;
}

__attribute__((noinline)) static uint64_t slow(uint64_t x)
{
	return (x | 1) * 3 + UINT64_MAX / (x % 1021 + 7);
}

int main(int argc, char **argv)
{
	uint64_t sum = 1, turns = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000, every = argc > 2 ? strtoul(argv[2], NULL, 0) : 2;

	for (uint64_t i = 0; i < turns; i++) {
		sum = slow(sum);
		if ((sum >> 7) % every == 0)
			sum += mix(sum);
	}
	printf("%ju\n", (uintmax_t)sum);
	return 0;
}
END
	gcc -O2 -g "$@" app.c -o app
}
program
# The same turns, natively under bursts, and counted one by one: as many turns as it takes for 150 bursts, of which a busy
# machine has fewer a second.
bursts=0 turns=25000000
while [ "${bursts:-0}" -lt 150 ] && [ $turns -lt 1000000000 ]; do
	turns=$((2 * turns))
	"$SKIDPROF" record --pmu clock --bursts 2000 --burst-budget 1000 -o app.data ./app $turns 2 >got 2>record.err
	status=$?
	read -r bursts branches < <(sed -n 's/.* \([0-9]*\) bursts of \([0-9]*\) branches.*/\1 \2/p' record.err)
	echo "# $turns turns: ${bursts:-no} bursts of ${branches:-no} branches"
done
check 'a program is recorded by the clock' test $status -eq 0
check 'bursts are not among the samples of its last line' grep -qE '^skidprof: ([0-9]+) samples? \(\1 of cpu-clock:u at period [0-9]+\);' record.err
./app $turns 2 >want
check 'its output is its own' cmp want got
"$SKIDPROF" truth -q -o app.cg ./app $turns 2 >/dev/null 2>truth.err
"$SKIDPROF" truth -q -o other.cg ./app 2000000 1 >/dev/null 2>&1

check 'the report says what it is made of' status 0 "$SKIDPROF" report -i app.data
check 'the source' has out '# clock, no PMU; cpu-clock:u every 1,999,993'
check 'cycles are named for what they are' has out 'CYCLES are that time x '
check 'what is missing, and how to get it' has out 'report --truth FILE'
check 'STATUS is of the corrected share' sh -c 'grep -q "STATUS is of IN-REGION, a function" out && ! grep -q "and of CPI/REGION" out'
check 'no column is explained that is not there' sh -c \
	'for o in --raw --lines --regions "--why mix"; do "$SKIDPROF" report -i app.data $o | grep -q "^#.*STATUS is of" && exit 1; done; exit 0'
check 'shares of the region, and what its instructions cost' grep -qE 'IN-REGION +90% INTERVAL +CPI/REGION' out
check 'no count of instructions is shown' sh -c '! grep -qE "FIXED|IPC " out'
check 'the same as CSV' sh -c '"$SKIDPROF" report -i app.data --format csv | head -1 | grep -q region_share,region_share_lo,region_share_hi,cpi_relative'
check 'one function explained' sh -c '"$SKIDPROF" report -i app.data --why mix | grep -q "of the instructions of region"'
"$SKIDPROF" report -i app.data --format json >out 2>err
check 'JSON has shares, and no counts' json 'd["meta"]["pmu"] == "clock" and d["meta"]["instructions_relative"] and d["meta"]["core_hz"] > 1e8 and d["meta"]["bursts"] >= 150 and all(f["fixed"] is None and f["ipc_fixed"] is None for f in d["functions"])'
check 'a part is no more than its region' json 'all(f["region_share_hi"] is None or f["region_share"] <= f["region_share_hi"] + 1e-6 and f["region_share_hi"] <= 1 + 1e-6 for f in d["functions"])'
cp out shares.json
"$SKIDPROF" report -i app.data --insns --format json >out 2>err
check 'instructions have the region that they are in' json '{i["region"] for i in d["instructions"] if i["function"] == "mix"} == {f["region"] for f in json.load(open("shares.json"))["functions"] if f["name"] == "mix"}'

# Against the truth: mix is a quarter of the instructions, in every other turn.  N turns seen, five branches each, tell that
# half to 0.5 / sqrt(N), and mix's share, whose slope is 1/4 x 3/4 / (1/2), to 0.19 / sqrt(N).  Six of those are exceeded
# once in 1e8 times.  Besides, a burst begins where the program spends its time: it sees some 1 to 2% too little of mix.
"$SKIDPROF" report -i app.data --truth app.cg --format json >out 2>err
check 'exact counts are joined' test $? -eq 0
check 'instructions, cycles and IPC of each function' json 'd["meta"]["truth"] == "app.cg" and all(f["ipc_fixed"] for f in d["functions"] if f["name"] in ("mix", "slow", "main"))'
check 'no two functions have one name' json 'len({f["full_name"] for f in d["functions"]}) == len(d["functions"]) and len({f["name"] for f in d["functions"]}) < len(d["functions"])'
check 'files where no time was sampled have their names' json 'all(f["module"] for f in d["functions"]) and any("libc" in f["module"] or "ld-" in f["module"] for f in d["functions"])'
check 'the counts are those of the truth' python3 -c '
import json, re
d = json.load(open("out"))
total = sum(f["fixed"] for f in d["functions"] if f["fixed"])
want = int(re.search(r"^summary: (\d+)", open("app.cg").read(), re.M).group(1))
raise SystemExit(abs(total - want) > 1)'
check 'what the bursts said is the truth, by as many as there were' python3 -c '
import json, sys
turns = int(sys.argv[1]) * int(sys.argv[2]) / 5
most = 0.025 + 6 * 0.19 / turns ** 0.5
truth = {f["name"]: f["fixed"] for f in json.load(open("out"))["functions"]}
shares = {f["name"]: f["region_share"] for f in json.load(open("shares.json"))["functions"] if f["region_share"]}
names = ("mix", "slow", "main")
total = sum(truth[n] for n in names)
off = {n: shares[n] - truth[n] / total for n in names}
print("#", off, "at most", most)
raise SystemExit(not max(abs(x) for x in off.values()) < most < 0.1)' "$bursts" "$branches"
# Samples of its time land behind the division, where its result is waited for: in main, at a third of mix's IPC, which some eighty samples
# tell to a tenth.
check 'where the division is waited for IPC is lower than in mix' json '{f["name"]: f["ipc_fixed"] for f in d["functions"]}["main"] < {f["name"]: f["ipc_fixed"] for f in d["functions"]}["mix"]'
check 'shares are compared with exact ones' status 0 "$SKIDPROF" compare --truth app.cg app.data
check 'which is said' has out 'share of each region'
check 'without columns that nothing is known of' sh -c '! grep -q IPC out'
check 'as JSON' status 0 "$SKIDPROF" compare --truth app.cg app.data --format json
check 'by the bursts they are nearer than by time' json 'd["shares_of_regions"] and d["eps_fixed"] < 0.05 and d["eps_fixed"] < d["eps_raw"]'
check 'lines have no shares' status 1 "$SKIDPROF" compare --truth app.cg app.data --by line
check 'and what has them is named' one_line 'report --truth app.cg'
check 'time alone has nothing to compare' status 1 "$SKIDPROF" compare --truth app.cg time.data
check 'and is told what has' one_line "skidprof compare --truth sim.truth sim.data'"
check 'lines of time have no status' sh -c '! "$SKIDPROF" report -i app.data --lines | grep -q STATUS'
"$SKIDPROF" report -i app.data --truth app.cg --why mix >out 2>err
check 'one function explained has exact counts, and none that were not made' sh -c \
	'grep -qE "the whole region: exact [0-9,]+$" out && ! grep -qE "raw [0-9]|eq\. 8|IPC raw" out'
check 'the text says where instructions come from' sh -c '"$SKIDPROF" report -i app.data --truth app.cg | grep -q "exact counts of another run: app.cg"'
check 'lines and instructions have exact counts too' sh -c '"$SKIDPROF" report -i app.data --truth app.cg --lines --format json | python3 -c "import json, sys; d = json.load(sys.stdin); sys.exit(not any(l[\"fixed\"] and l[\"fixed\"] >= 5000000 for l in d[\"lines\"]))"'

# Lifted: one cycle for every byte of code, so that what is predicted is bytes an instruction.
cat >bytes <<'END'
#!/bin/sh
[ "$1" = -V ] && echo bytes 1 && exit
echo "Cycles: $((${#1} / 2))"
END
chmod +x bytes
printf 'give hex\nrun ./bytes {hex}\nversion ./bytes -V\ntake ^Cycles: ([0-9]+)\n' >bytes.tool
lift=("$SKIDPROF" lift -i app.data --kernel slow --kernel main --tool ./bytes.tool --no-cache)
check 'kernels are lifted by the bursts' status 0 "${lift[@]}" --format json
cp out lifted.json
check 'to cycles an instruction, with their interval' json 'len(d["kernels"]) == 2 and all(1 < k["bytes_cpi_lo"] <= k["bytes_cpi"] <= k["bytes_cpi_hi"] < 8 for k in d["kernels"])'
check 'not to sums or errors' json 'all(k["bytes_cycles"] is None and k["bytes_error"] is None and k["instructions"] is None and k["calls"] is None for k in d["kernels"])'
check 'blocks are shares of the kernel' json 'all(abs(sum(b["insn_share"] for b in k["blocks"]) - 1) < 1e-9 and k["blocks"][0]["executions"] is None for k in d["kernels"])'
check 'which the text says' sh -c '"$@" | grep -q "CYCLES OF 1,000 INSTRUCTIONS"' sh "${lift[@]}"
check 'exact executions give errors, against the cycles of the clock' status 0 "${lift[@]}" --truth app.cg --format json
check 'of every kernel' json 'd["measured_by"] == "profile" and all(k["bytes_error"] is not None for k in d["kernels"])'
# The mixture of main is known as mix's share above is, to a tenth; instructions of a mixture have 2 to 6 bytes.
check 'and a quotient that is near the bursts' json \
	'all(abs(a["bytes_cpi"] / b["bytes_cpi"] - 1) < 0.1 for a in d["kernels"] for b in json.load(open("lifted.json"))["kernels"] if a["kernel"] == b["kernel"])'

# Another input: another share of mix, which the bursts know better.
check 'a truth of another input is doubted' status 3 "$SKIDPROF" report -i app.data --truth other.cg
check 'the function that speaks against it is named' has out 'NOT THE SAME RUN?'
check 'and the other command line is told' has err "is of './app 2000000 1'"
check 'in the header too' has out "# NOT THE SAME RUN? other.cg is of './app 2000000 1', the recording of './app $turns 2'"
check 'its instructions over these cycles are no IPC' sh -c '! grep -q "in all, IPC" out'
"$SKIDPROF" report -i app.data --truth other.cg --format json >out 2>err
check 'no row has one, nor is any to be trusted' json 'd["functions"] and all(f["ipc_fixed"] is None and f["cycles_per_call"] is None and f["status"] == "unreliable" for f in d["functions"])'
check 'and in JSON' json '"./app 2000000 1" in d["meta"]["truth_doubt"]'
check 'shares are compared with it, but doubted' status 3 "$SKIDPROF" compare --truth other.cg app.data
check 'and the first lines say of what it is' has out "# NOT THE SAME RUN? other.cg is of './app 2000000 1'"

# Three loops in turns that are longer than a burst: bursts begin where time is spent, and b, with a division each, has 12% of
# the instructions and half of the time.  That a burst sees the step to the next loop makes them one region, but tells no
# shares: an interval that is not called unreliable holds the truth, for a loop of few blocks may be that slow (eq. 19).
cat >turns.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static unsigned h(unsigned x) { x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16; return x; }
__attribute__((noipa)) unsigned a(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += h(i); return s; }
__attribute__((noipa)) double b(unsigned n) { double s = 1; for (unsigned i = 1; i < n; i++) s += 1.0 / (s + i); return s; }
__attribute__((noipa)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv)
{
	unsigned s = 0;
	double d = 0;
	for (int i = 0, n = argc > 1 ? atoi(argv[1]) : 1; i < n; i++) { s += a(50000); d += b(10000); s += fib(15); }
	printf("%u %g\n", s, d);
	return 0;
}
END
gcc -O2 -g turns.c -o turns
"$SKIDPROF" record -q --pmu clock --bursts 1000 --burst-budget 1000 -o turns.data ./turns 12000 >/dev/null 2>&1
"$SKIDPROF" truth -q -o turns.cg ./turns 400 >/dev/null 2>&1
"$SKIDPROF" report -i turns.data --truth turns.cg --format json >exact.json 2>/dev/null
"$SKIDPROF" report -i turns.data --format json >out 2>err
check 'loops one after another have no shares, or right ones' python3 -c '
import json
truth = {f["name"]: f["fixed"] for f in json.load(open("exact.json"))["functions"] if f["name"] in ("a", "b", "h", "fib")}
bad = []
regions = {}
for f in json.load(open("out"))["functions"]:
    if f["name"] in truth and f["region_share"] and f["status"] != "unreliable":
        regions.setdefault(f["region"], []).append(f)
for r in regions.values():
    total = sum(truth[f["name"]] for f in r)
    bad += [f["name"] for f in r if not f["region_share_lo"] - 0.02 <= truth[f["name"]] / total <= f["region_share_hi"] + 0.02]
print("#", bad)
raise SystemExit(len(truth) != 4 or bool(bad))'

# A loop in a region, whose function is called by another loop, too, which takes too little time to be a region, or part of one: what
# trips are called fixed hold those visits, too.
cat >outside.c <<'END'
#include <stdio.h>
static int next[4096];
static unsigned long visits, all;
__attribute__((noipa)) int walk(int i, int n) { visits++; do { all++; i = next[i]; } while (--n > 0); return i; }
__attribute__((noipa)) int prepare(int m) { int s = 0; for (int k = 0; k < m; k++) s += walk(k & 4095, 1); return s; }
__attribute__((noipa)) int work(int m) { int s = 0; for (int k = 0; k < m; k++) s = walk(s & 4095, 12 + k % 20); return s; }
int main(void)
{
	for (int i = 0; i < 4096; i++)
		next[i] = (i * 1103 + 7) & 4095;
	int s = prepare(30000000) + work(60000000);
	printf("%lu %lu %d\n", all, visits, s);
	return 0;
}
END
gcc -O2 -g outside.c -o outside
"$SKIDPROF" record -q --pmu clock -o outside.data ./outside >counted 2>/dev/null
"$SKIDPROF" report -i outside.data --trips --format json >out 2>err
check 'trips hold visits from outside of the region, or are not fixed' python3 -c '
import json
all, visits, _ = map(int, open("counted").read().split())
rows = [r for r in json.load(open("out"))["trips"] if r["loop"].startswith("walk ") and r["trips"]]
print("#", all / visits, rows)
raise SystemExit(any(r["status"] == "fixed" and not r["trips_lo"] <= all / visits <= r["trips_hi"] for r in rows))'

"$SKIDPROF" report -i turns.data --why fib --format json >out 2>err
check 'where bursts cannot tell, no more of them are advised' json \
	'not any("more bursts:" in a for w in d["why"] for r in w["regions"] if "one after another" in r["why"] for a in r["advice"])'
check 'nor branch records or other events, which a clock does not have' json \
	'd["why"] and not any(word in text for w in d["why"] for r in w["regions"] for text in r["advice"] + [r["why"] or ""] for word in ("-b)", "record -b", "(-e)", "another event"))'
"$SKIDPROF" report -i turns.data --format json >out 2>err
check 'and what they cannot tell has the interval of paces that are not known' json \
	'all(f["region_share_lo"] < 0.7 * f["region_share"] for f in d["functions"] if "one after another" in (f["why"] or "") and (f["region_share"] or 0) > 0.05)'

# A loop that may go three thousand ways, of which each burst shows some: too large to be solved whole.
{
	cat <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define ALONE __attribute__((noinline))
static volatile uint64_t sink;
ALONE static uint64_t hot(uint64_t x)
{
	for (int i = 0; i < 12; i++)
		x = x & 4 ? x * 5 + 1 : x / 3 + 77777777777;
	return x;
}
ALONE static uint64_t warm(uint64_t x)
{
	for (int i = 0; i < 12; i++)
		x = (x ^ x >> 7) * 0x9e3779b97f4a7c15 + i;
	return x;
}
ALONE static uint64_t spread(uint64_t x, unsigned way)
{
	switch (way) {
C
	for ((i = 0; i < 3000; i++)); do
		echo "case $i: if (x & 2) sink = $i; if (x & 64) x ^= sink; break;" # what stays branches
	done
	cat <<'C'
	}
	return x;
}
int main(int argc, char **argv)
{
	uint64_t x = 88172645463325252;
	for (unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000; n; n--) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		x += spread(hot(x) + warm(x), (x >> 20) % 3000);
	}
	return printf("%ju\n", (uintmax_t)x) < 0;
}
C
} >many.c
gcc -O1 -g many.c -o many
bursts=0 turns=6000000
while [ "${bursts:-0}" -lt 30 ] && [ $turns -lt 90000000 ]; do
	turns=$((2 * turns))
	"$SKIDPROF" record --pmu clock --bursts 60 --burst-budget 1000 --burst-length 160 -o many.data ./many $turns >/dev/null 2>err
	bursts=$(sed -n 's/.* \([0-9]*\) bursts of .*/\1/p' err)
	echo "# $turns turns: ${bursts:-no} bursts"
done
"$SKIDPROF" truth -q -o many.cg ./many 50000 >/dev/null 2>&1
"$SKIDPROF" report -i many.data --truth many.cg --format json >many.json 2>err
"$SKIDPROF" report -i many.data --format json >out 2>err
# Each burst is some four turns.  hot() is 87 instructions a turn, give or take 9 by which way its branch goes twelve times:
# a hundred turns tell its share of 230 to 0.0025, an eighth of what is allowed.
check 'a loop too large to be solved whole has the shares of what bursts show' python3 -c '
import json
truth = {f["name"]: f["fixed"] for f in json.load(open("many.json"))["functions"]}
total = sum(truth[n] for n in ("hot", "warm", "main", "spread"))
shares = {f["name"]: f for f in json.load(open("out"))["functions"]}
off = {n: (shares[n]["region_share"] or 9) - truth[n] / total for n in ("hot", "warm", "main")}
print("#", off)
raise SystemExit(max(abs(x) for x in off.values()) > 0.02)'
check 'and is weak' python3 -c '
import json
why = {f["name"]: (f["status"], f["why"]) for f in json.load(open("out"))["functions"] if f["name"] in ("hot", "warm")}
print("#", why)
raise SystemExit(any(s != "weak" or "too large to be solved whole" not in w for s, w in why.values()))'

# Two programs that share a hot function of a library, as those of a pipeline do.
cat >shared.c <<'END'
#include <stdint.h>
uint64_t shared(uint64_t x)
{
	for (int i = 0; i < 20; i++)
		x = x * 6364136223846793005u + (x >> 7);
	return x;
}
END
cat >user.c <<'END'
#include <stdint.h>
#include <stdlib.h>
uint64_t shared(uint64_t x);
__attribute__((noinline)) static uint64_t own(uint64_t x)
{
	for (int i = 0; i < TURNS; i++)
		x ^= x << 13 ^ x >> 7;
	return x;
}
int main(int argc, char **argv)
{
	uint64_t x = 1;
	for (long i = atol(argv[1]); i > 0; i--)
		x += own(shared(x));
	return argc > 1 && x == 7;
}
END
gcc -O1 -g -shared -fPIC shared.c -o libshared.so
gcc -O1 -g -DTURNS=10 user.c -L. -lshared -Wl,-rpath,"$PWD" -o user_a
gcc -O1 -g -DTURNS=30 user.c -L. -lshared -Wl,-rpath,"$PWD" -o user_b
bursts=0 turns=2500000
while [ "${bursts:-0}" -lt 60 ] && [ $turns -lt 90000000 ]; do
	turns=$((2 * turns))
	"$SKIDPROF" record --pmu clock --bursts 60 --burst-budget 1000 -o two.data sh -c "./user_a $turns & ./user_b $turns; wait" >/dev/null 2>err
	bursts=$(sed -n 's/.* \([0-9]*\) bursts of .*/\1/p' err)
	echo "# $turns turns: ${bursts:-no} bursts"
done
"$SKIDPROF" report -i two.data --format json >out 2>err
# own() of each is a function of its own name and its own program.
check 'programs that share a library only are not solved as one' python3 -c '
import json
why = [(f["name"], f["module"], f["status"], f["why"]) for f in json.load(open("out"))["functions"] if f["name"] == "own"]
print("#", why)
# Of a hundred bursts there are averages, which are weak.
raise SystemExit(len(why) != 2 or any(w[2] != ("weak" if "averaged along" in w[3] else "unreliable") or "several programs" not in w[3] for w in why))'
"$SKIDPROF" report -i two.data --comm user_a --format json >out 2>err
check 'and each by itself is' python3 -c '
import json
why = [(f["name"], f["module"], f["status"], f["why"]) for f in json.load(open("out"))["functions"] if f["name"] == "own"]
print("#", why)
raise SystemExit(len(why) != 1 or why[0][2] not in ("fixed", "weak"))'

# Another build.
program -DOTHER -O1
"$SKIDPROF" truth -q -o build.cg ./app 1000 2 >/dev/null 2>&1
check 'a truth of another build is refused' status 1 "$SKIDPROF" report -i app.data --truth build.cg
check 'in one line with the remedy' sh -c '[ "$(grep -c . err)" -eq 1 ]'
check 'a truth that is none' status 1 "$SKIDPROF" report -i app.data --truth app.c
check 'time without bursts says so' sh -c '"$SKIDPROF" report -i time.data 2>&1 | grep -q "no bursts taken"'

# Bursts go past system calls.  Behind one that is made to wait they see nothing, and three loops with such calls between
# are known no better than by time.
cat >calls.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned v[64], sum;

__attribute__((noinline)) static void fill(unsigned x, int n)
{
	for (int i = 0; i < n; i++)
		v[i & 63] = (x = x * 1103515245 + 12345) >> 7;
}

__attribute__((noinline)) static int squeeze(int n)
{
	int k = 0;

	for (int i = 0; i < n; i++)
		if (v[i & 63] % 7 != 3)
			v[k++ & 63] = v[i & 63] ^ v[i & 63] >> 3;
	return k;
}

__attribute__((noinline)) static void count(int n)
{
	for (int i = 0; i < n; i++)
		for (unsigned x = v[i & 63]; x; x &= x - 1)
			sum++;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[argc - 1]); i++) {
		int n = 20 + i % 40;

		fill(sum + i, n);
		CALL;
		n = squeeze(n);
		CALL;
		count(n);
	}
	printf("%u\n", sum);
	return 0;
}
END
gcc -O2 -g '-DCALL=syscall(SYS_getppid)' calls.c -o calls && "$SKIDPROF" record -v --pmu clock --burst-budget 5 -o calls.data ./calls 4500000 2>calls.err >/dev/null
grep -E 'bursts of|went past' calls.err | sed 's/^/# /'
"$SKIDPROF" truth -q -o calls.cg ./calls 1500000 >/dev/null 2>&1
"$SKIDPROF" report -i calls.data --truth calls.cg --format json >calls.json 2>err
"$SKIDPROF" report -i calls.data --format json >out 2>err
# A turn is about 500 branches, the longest 3 times the shortest.  Bursts of one turn, as the usual budget gives where a stop at
# a call is dear, know a share of 0.68 to 0.013; those of two turns and more, which this budget pays for, to 0.003.
check 'bursts go past system calls: shares are as exact counts say' python3 -c '
import json
names = ("fill", "squeeze", "count")
truth = {f["name"]: f["fixed"] for f in json.load(open("calls.json"))["functions"]}
got = {f["name"]: f for f in json.load(open("out"))["functions"]}
total = sum(v for n, v in truth.items() if n in got)
off = {n: got[n]["region_share"] - truth[n] / total for n in names}
print("#", off, {n: got[n]["status"] for n in names})
raise SystemExit(max(abs(x) for x in off.values()) > 0.015)'
gcc -O2 -g '-DCALL=syscall(SYS_wait4, -1, NULL, 1, NULL)' calls.c -o waits && "$SKIDPROF" record -q --pmu clock -o calls.data ./waits 2500000 >/dev/null
check 'bursts that end at system calls are no reason to believe shares' status 3 "$SKIDPROF" report -i calls.data --format json
check 'and the reason is given' json 'any("end at a system call" in (f["why"] or "") for f in d["functions"]) and not any(f["status"] in ("fixed", "weak") for f in d["functions"] if f["name"] in ("count", "squeeze", "fill"))'

# Two loops that run for milliseconds each, in turn: how fast each is nothing tells, but what runs in each, bursts do.
cat >stages.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t v[1024];

static inline uint64_t odd(uint64_t x) { return x * 3 + (x >> 7) + 1; }
static inline uint64_t even(uint64_t x) { return x / (x % 5 + 2); }

__attribute__((noinline)) static uint64_t halve(uint64_t x, int n)
{
	for (int i = 0; i < n; i++)
		x = (x & 1 ? odd(x) : even(x)) + (uint64_t)i;
	return x;
}

__attribute__((noinline)) static uint64_t shift(uint64_t x, int n)
{
	for (int k = 0; k < 3; k++) {
		v[k] = x;
		for (int i = 0; i < n / 3; i++) {
			uint64_t *at = &v[x & 1023];

			*at = (*at << 3 ^ x) + (*at >> 5) * 7 + (x ^ *at);
			x = x * 6364136223846793005u + 1442695040888963407u + *at;
		}
	}
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = 1;

	for (int i = 0; i < atoi(argv[argc - 1]); i++)
		x = shift(halve(x, 300000), 300000);
	printf("%ju\n", (uintmax_t)x);
	return 0;
}
END
gcc -O2 -g stages.c -o stages && "$SKIDPROF" record -q --pmu clock -o stages.data ./stages 600 >/dev/null
check 'loops that run one after another are corrected' status 0 "$SKIDPROF" report -i stages.data --format json
check 'each is a region' json 'len({f["region"] for f in d["functions"] if f["name"] in ("halve", "shift")}) == 2'
check 'all of which is known' json 'all(f["status"] == "fixed" for f in d["functions"] if f["name"] in ("halve", "shift", "odd", "even"))'
"$SKIDPROF" truth -q -o stages.truth ./stages 6 >/dev/null
# Of a shorter run, which exits by 3 for that.
check 'what runs in each is as exact counts say' status 3 "$SKIDPROF" compare -i stages.data --truth stages.truth --format json
check 'of all its functions' json 'd["shares_of_regions"] and d["n_inside"] >= 3 and d["n_inside"] + 1 >= d["n_intervals"] and d["eps_fixed"] < 0.02'
check 'trips' status 0 "$SKIDPROF" report -i stages.data --trips --format json
check 'of a loop whose exit hardly a burst has seen are not told' json 'all(r["trips"] is None for r in d["trips"] if "shift" in r["loop"] or "halve" in r["loop"])'

# Functions that the C library chooses by the processor: with what the report advises it chooses alike under the emulator.
cat >chosen.c <<'END'
#include <stdio.h>
#include <string.h>

int main(void)
{
	static char a[600], b[600];
	size_t sum = 0;

	memset(a, 'a', 599);
	memcpy(b, a, 600);
	for (volatile int i = 0; i < 2000000; i++) {
		a[i % 50 + 60] = b[i % 50 + 60] = 'b';
		sum += strlen(a) + (size_t)strcmp(a, b) + (size_t)((char *)memchr(a, 'b', 600) - a);
		memset(b, 'a', 599);
		a[i % 50 + 60] = 'a';
		memcpy(b + 300, a, 200);
	}
	printf("%zu\n", sum);
	return 0;
}
END
gcc -O1 -g -fno-builtin chosen.c -o chosen
"$SKIDPROF" truth -q -o chosen.truth ./chosen >/dev/null
tunables=$(man -l "$TOP/man/skidprof-truth.1" 2>/dev/null | grep -o 'glibc.cpu.hwcaps=[^ ]*')
GLIBC_TUNABLES=$tunables "$SKIDPROF" record -q --pmu clock --bursts 0 -c 249989 -o chosen.data ./chosen >/dev/null
check 'what the report advises makes the C library choose alike' status 0 "$SKIDPROF" report -i chosen.data --truth chosen.truth
check 'whatever of it was sampled' sh -c '! grep -qE "NOT THE SAME|unreliable.* libc" out'
check 'it is what the manual says' has "$TOP/correct/judge/reasons.h" "GLIBC_TUNABLES=$tunables\""
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512VL,-AVX512BW,-AVX512F "$SKIDPROF" record -q --pmu clock --bursts 0 -c 249989 -o other.data ./chosen >/dev/null
check 'where it chose another one' status 3 "$SKIDPROF" report -i other.data --truth chosen.truth
check 'the advice is there, once' test "$(grep -c "$tunables" out)" -eq 1
check 'and so are the functions' grep -qE 'unreliable +truth .*_sse' out
check 'compare has nothing to compare' status 1 "$SKIDPROF" compare -i other.data --truth chosen.truth

# Too few bursts: nothing is corrected, and no word says that anything was.
check 'of a recording without bursts' status 0 "$SKIDPROF" report -i chosen.data --why main
check 'the reason is that nothing was corrected' has out 'status: raw: no loop of this recording was corrected'
for o in --regions --lines '--format csv' '--export folded'; do
	# shellcheck disable=SC2086
	check "asked for corrected counts, $o has none" status 3 "$SKIDPROF" report -i chosen.data --fixed $o
	check 'and why, and what helps' grep -qE 'nothing was corrected: no instructions were counted and no bursts taken; .*--bursts' err
done
check 'asked for none, it is as it should be' status 0 "$SKIDPROF" report -i chosen.data --format csv
finish
