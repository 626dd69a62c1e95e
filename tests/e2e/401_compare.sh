#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Raw and fixed counts are held against exact ones, of our own and of callgrind.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
record_two || exit 1

check 'compare by function' status 0 "$SKIDPROF" compare -i two.data --truth two.cg
check 'it says what eps is' has out 'instructions attributed to the wrong function (eps)'
check 'JSON' status 0 "$SKIDPROF" compare -i two.data --truth two.cg --format json
check 'has the keys that scripts use' json 'all(k in d for k in ("eps_raw", "eps_fixed", "mean_err_raw", "mean_err_fixed", "worst_err_raw", "worst_err_fixed"))'
check 'of functions, too' json 'all(k in f for f in d["functions"] for k in ("name", "truth", "raw", "fixed", "lo", "hi", "status", "raw_err", "fixed_err"))'
check 'eps is half the sum of share differences' json \
	'abs(d["eps_raw"] - 0.5 * sum(abs(f["raw"] / d["total_raw"] - f["truth"] / d["total_truth"]) for f in d["functions"])) < 1e-9'
check 'mean and worst errors are those of the rows' json \
	'(lambda e: abs(d["mean_err_fixed"] - sum(e) / len(e)) < 1e-9 and abs(d["worst_err_fixed"] - max(e)) < 1e-9)([abs(f["fixed_err"]) for f in d["functions"] if f["truth"] >= 0.01 * d["total_truth"]])'
check 'corrected counts are nearer the truth' json 'd["eps_fixed"] < 0.5 * d["eps_raw"] and d["mean_err_fixed"] < 0.5 * d["mean_err_raw"]'
check 'totals agree' json 'abs(d["total_fixed"] / d["total_truth"] - 1) < 0.02'
cp out own.json
check 'by line' status 0 "$SKIDPROF" compare -i two.data --truth two.cg --by line --format json
check 'all instructions of the truth are there' json 'abs(d["total_truth"] / json.load(open("own.json"))["total_truth"] - 1) < 1e-6 and d["lines"]'
check 'by instruction' status 0 "$SKIDPROF" compare -i two.data --truth two.cg --by insn --format json
check 'eps over instructions falls' json 'd["eps_fixed"] < d["eps_raw"] and d["instructions"]'
check 'CSV' status 0 "$SKIDPROF" compare -i two.data --truth two.cg --format csv
check 'has a row a function' sh -c 'head -1 out | grep -q "^name,truth_share,truth,raw,fixed," && grep -q "^mix," out'
check 'all rows as text' status 0 "$SKIDPROF" compare -i two.data --truth two.cg --limit 0
check 'are all that there are' sh -c '! grep -q "not shown" out && grep -q "_dl_" out'

printf 'main 32000000\nnobody 1000\n' >names.txt
sed 's/^cmd: .*/cmd: .\/two 7/' two.cg >seven.cg
check 'a truth of other arguments' status 3 "$SKIDPROF" compare -i two.data --truth seven.cg
check 'says of which' has out "# NOT THE SAME RUN? seven.cg is of './two 7'"
check 'a truth by name' status 0 "$SKIDPROF" compare -i two.data --truth names.txt --format json
check 'is compared rolled up' json '{"main", "nobody"} <= {f["name"] for f in d["functions"]} and "mix" not in {f["name"] for f in d["functions"]}'
check 'it has no lines' status 1 "$SKIDPROF" compare -i two.data --truth names.txt --by line
check 'and says so' one_line 'counts by function only'

check 'without a truth' status 2 "$SKIDPROF" compare -i two.data
check 'it is asked for' one_line '--truth FILE is needed'
check 'a missing truth' status 1 "$SKIDPROF" compare -i two.data --truth none.cg
check 'is named' one_line 'none.cg'
check 'a wrong share' status 2 "$SKIDPROF" compare -i two.data --truth two.cg --min-share 5
check 'is explained' one_line "--min-share: '5'"

sed 's/2000000/2000001/' two.c >other.c && gcc -O2 -g other.c -o two && "$SKIDPROF" truth -q -o other.cg ./two >/dev/null
check 'a truth of another build' status 1 "$SKIDPROF" compare -i two.data --truth other.cg
check 'is refused with both build ids' grep -qE 'other.cg: it is of .* build id [0-9a-f]{40}, the recording of .* build id [0-9a-f]{40}' err
two_program
cp two copy && "$SKIDPROF" truth -q -o copy.cg ./copy >/dev/null
check 'a truth of a copy at another path' status 0 "$SKIDPROF" compare -i two.data --truth copy.cg --format json
check 'is the same program by its build id' json 'abs(d["eps_fixed"] - json.load(open("own.json"))["eps_fixed"]) < 1e-3'
if command -v valgrind >/dev/null; then
	valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=vg.cg ./two >/dev/null 2>&1
	check "callgrind's counts" status 0 "$SKIDPROF" compare -i two.data --truth vg.cg --format json
	check 'of mix are ours exactly' json \
		'[f["truth"] for f in d["functions"] if f["name"] == "mix"] == [f["truth"] for f in json.load(open("own.json"))["functions"] if f["name"] == "mix"]'
	# One file a thread: beside the cycles of all, the counts of one are half of its instructions and half of its IPC.
	cat >pair.c <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		static volatile unsigned sink;
		static void *spin(void *from)
		{
			unsigned x = *(unsigned *)from;
			for (int i = 0; i < 3000000; i++)
				x = x & 8 ? x * 5 + 1 : x / 3 + 7;
			sink = x;
			return NULL;
		}
		int main(void)
		{
			pthread_t t[2];
			unsigned from[2] = { 1, 2 };
			for (int i = 0; i < 2; i++)
				pthread_create(&t[i], NULL, spin, &from[i]);
			for (int i = 0; i < 2; i++)
				pthread_join(t[i], NULL);
			return 0;
		}
	END
	gcc -O2 -g -pthread pair.c -o pair && "$SKIDPROF" record --pmu sim -q -o pair.data ./pair &&
		valgrind -q --tool=callgrind --dump-instr=yes --separate-threads=yes --callgrind-out-file=pair.cg ./pair >/dev/null 2>&1
	check 'counts of one thread' status 3 "$SKIDPROF" compare -i pair.data --truth pair.cg-02
	check 'are not those of all' has out '# NOT THE SAME RUN? pair.cg-02 is of thread 2 alone'
	check 'nor beside their cycles' status 3 "$SKIDPROF" report -i pair.data --truth pair.cg-02 --format json
	check 'where they give no IPC' json 'd["functions"] and all(f["ipc_fixed"] is None and f["status"] == "unreliable" for f in d["functions"])'
	tid=$("$SKIDPROF" report -i pair.data --threads --format json --no-pager 2>/dev/null |
		python3 -c 'import json, sys; print(max(json.load(sys.stdin)["threads"], key=lambda t: t["share"])["tid"])')
	check 'they may be those of the thread that is shown' sh -c '! "$SKIDPROF" report -i pair.data --tid "$1" --truth pair.cg-02 2>&1 | grep -q alone' sh "$tid"
	cat pair.cg-0* >pair.all
	check 'those of all in one file' status 0 "$SKIDPROF" compare -i pair.data --truth pair.all --format json
	check 'are all instructions' json 'abs(d["total_truth"] / d["total_fixed"] - 1) < 0.02'
	# And one file a process, where that is forked.
	cat >forks.c <<-'END'
		#include <sys/wait.h>
		#include <unistd.h>
		static volatile unsigned sink;
		int main(void)
		{
			unsigned x = (unsigned)(fork() > 0) + 1;
			for (int i = 0; i < 3000000; i++)
				x = x & 8 ? x * 5 + 1 : x / 3 + 7;
			sink = x;
			wait(NULL);
			return 0;
		}
	END
	gcc -O2 -g forks.c -o forks && "$SKIDPROF" record --pmu sim -q -o forks.data ./forks &&
		valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=forks.cg.%p ./forks >/dev/null 2>&1
	one=$(ls forks.cg.* | head -1)
	check 'counts of one process' status 3 "$SKIDPROF" report -i forks.data --truth "$one" --format json
	check 'give no IPC of two' json 'd["functions"] and all(f["ipc_fixed"] is None for f in d["functions"]) and " of process " in d["meta"]["truth_doubt"]'
	cat forks.cg.* >forks.all
	check 'those of both in one file' status 0 "$SKIDPROF" report -i forks.data --truth forks.all --format json
	check 'do' json '[f for f in d["functions"] if f["name"] == "main"][0]["ipc_fixed"] is not None'
	# Another program beside it is no part of it.
	printf '#!/bin/sh\n./copy\n./forks\n' >both.sh && chmod +x both.sh && "$SKIDPROF" record --pmu sim -q -o both.data ./both.sh >/dev/null
	valgrind -q --tool=callgrind --dump-instr=yes --callgrind-out-file=copy.vg ./copy >/dev/null 2>&1
	"$SKIDPROF" report -i both.data --truth copy.vg --format json >out 2>err
	check 'of another program none is missed' json '" of process " not in (d["meta"]["truth_doubt"] or "")'
	# Functions of one file have no linkage name in debug information, and two of them one name: their symbols tell them apart.
	cat >own.cc <<-'END'
		#include <stdio.h>
		#define ALONE __attribute__((noinline))
		static volatile long sink;
		ALONE static void walk(long n) { for (long i = 0; i < n; i++) sink += i; }
		ALONE static void walk(double d, long n) { for (long i = 0; i < 3 * n; i++) sink ^= (long)d; }
		__attribute__((cold)) ALONE static void rare(long i) { sink = i; }
		// What leads to rare() is moved out of it, to lower addresses.
		namespace { ALONE void hidden(long n) { for (long i = 0; i < 2 * n; i++) { sink -= i; if ((i & 255) == 3) { sink ^= 7 * i; rare(i); } } } }
		int main(int argc, char **)
		{
			for (int i = 0; i < 2000; i++) {
				walk(argc * 200);
				walk(argc / 2., argc * 200);
				hidden(argc * 200);
			}
			return 0;
		}
	END
	g++ -O2 -g own.cc -o own-cc && "$SKIDPROF" record --pmu sim -q -o own-cc.data ./own-cc >/dev/null &&
		valgrind -q --tool=callgrind --callgrind-out-file=own-cc.cg ./own-cc >/dev/null 2>&1
	check "callgrind's counts by function" status 0 "$SKIDPROF" compare --rollup -i own-cc.data --truth own-cc.cg --format json
	check 'are of the same functions, told apart by their symbols' json \
		'[f["name"].split("(")[-2].rsplit("::")[-1].lstrip(")") for f in d["functions"][:3]] == ["walk", "hidden", "walk"] and d["eps_fixed"] < 0.02 and all(abs(f["fixed"] / f["truth"] - 1) < 0.05 for f in d["functions"][:3])'
	check 'and what no sample fell in was not corrected' json 'all(f["status"] == "raw" for f in d["functions"] if not f["raw"] and not f["fixed"] and f["truth"])'
fi
finish
