#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What correcting costs: bench_report.sh BUILD [NAME...].  Wall time, processor time and the most memory of `report --fixed` on
#  - a recording of 1.5 M samples over 50 modules of C++ with inlined functions, beside perf report on the same file;
#  - 20 two-way branches in a row, which are 1,048,576 simple loops;
#  - a loop of 1000 blocks;
#  - programs of a working day, which have far more code than samples: two compilers, two databases and two interpreters (those that
#    are installed), with `report --raw` and perf report beside it.
# NAMEs (modules, loops20, blocks1000, cc1, sqlite3, postgres, python3, node, clang) are measured alone.
# The recordings are kept in BUILD/bench, for the next run.  SKIP_PERF=1 leaves perf report out: with source lines it takes minutes.
set -u
B=$(realpath "$1") || exit 1
shift
names=" ${*:-modules loops20 blocks1000 cc1 sqlite3 postgres python3 node clang} "
export SKIDPROF=$B/skidprof
# shellcheck source=tests/bench_lib.sh
. "$(dirname "$0")/bench_lib.sh"
dir=$B/bench
mkdir -p "$dir" && cd "$dir" || exit 1

# module M: a shared library's worth of templates, sorted vectors and a hash table
module()
{
	cat <<C
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <vector>
namespace m$1 {
template <int K> struct step { static inline uint64_t run(uint64_t x) { return step<K - 1>::run(x * (2 * K + 1) + (x >> K)); } };
template <> struct step<0> { static inline uint64_t run(uint64_t x) { return x ^ $1; } };
struct pair { uint32_t key, value; };
static inline bool less(const pair &a, const pair &b) { return a.key < b.key; }
struct table {
	std::vector<pair> v;
	std::unordered_map<uint32_t, uint32_t> index;
	void fill(uint64_t seed)
	{
		v.clear();
		for (int i = 0; i < 200; i++) { seed = step<6>::run(seed) + i; v.push_back({ uint32_t(seed >> 7), uint32_t(i) }); }
	}
	void sort() { std::sort(v.begin(), v.end(), less); }
	void number() { index.clear(); for (auto &p : v) index[p.key] += p.value; }
	uint64_t sum() const { return std::accumulate(v.begin(), v.end(), uint64_t(0), [](uint64_t s, const pair &p) { return s + p.key * p.value; }); }
};
}
extern "C" uint64_t run_m$1(uint64_t seed)
{
	static m$1::table t;
	t.fill(seed);
	t.sort();
	t.number();
	return t.sum() + t.index.size();
}
C
}

modules()
{
	local m
	for ((m = 0; m < 50; m++)); do module $m >m$m.cc; done
	seq 0 49 | xargs -P "$(nproc)" -I'{}' g++ -O2 -g -fPIC -shared 'm{}.cc' -o 'libm{}.so' || exit 1
	{
		for ((m = 0; m < 50; m++)); do echo "extern \"C\" unsigned long run_m$m(unsigned long);"; done
		echo '#include <cstdio>'
		echo 'int main() { unsigned long s = 1; for (int i = 0; i < 300; i++) {'
		for ((m = 0; m < 50; m++)); do echo "s += run_m$m(s + i);"; done
		# shellcheck disable=SC2028 # the C++ is to have the backslash
		echo '} std::printf("%lu\n", s); return 0; }'
	} >modules.cc
	# shellcheck disable=SC2046,SC2016 # fifty words are meant, and the linker's $ORIGIN
	g++ -O2 -g modules.cc -L. $(seq -f '-lm%g' 0 49) -Wl,-rpath,'$ORIGIN' -o modules || exit 1
}

# branches N: N data-dependent two-way branches in a row, in a loop
branches()
{
	local i
	echo '#include <stdio.h>'
	echo '__attribute__((noipa)) unsigned hot(unsigned n) { unsigned x = 1, s = 0; while (n--) { x = x * 1664525 + 1013904223;'
	for ((i = 0; i < $1; i++)); do
		echo "if (x >> $((31 - i % 24)) & 1) { s += $i; __asm__ volatile(\"\"); } else { s ^= x + $i; __asm__ volatile(\"nop\"); }"
	done
	# shellcheck disable=SC2028
	echo "} return s; } int main(void) { printf(\"%u\\n\", hot($2)); return 0; }"
}

# wanted NAME: is it to be measured?
wanted() { [[ $names == *" $1 "* ]]; }

! wanted modules || [ -x modules ] || modules
! wanted loops20 || [ -x loops20 ] || { branches 20 3000000 >loops20.c && gcc -O1 -fno-if-conversion -fno-if-conversion2 loops20.c -o loops20 || exit 1; }
! wanted blocks1000 || [ -x blocks1000 ] || { branches 333 300000 >blocks1000.c && gcc -O1 -fno-if-conversion -fno-if-conversion2 blocks1000.c -o blocks1000 || exit 1; }
row '' 'wall s' 'cpu s' 'MB'
for name in modules loops20 blocks1000; do
	wanted $name || continue
	case $name in modules) record modules -c 1301 ;; *) record $name ;; esac
	# shellcheck disable=SC2046 # three words
	row "report --fixed, $name ($(samples $name.data) samples)" $(cost "$SKIDPROF" report --fixed -i $name.data)
done

# working_day NAME COMMAND...: recorded once with the simulated PMU
working_day()
{
	local name=$1
	shift
	wanted "$name" && command -v "$1" >/dev/null || return
	# A program that fails leaves another program's work.
	if [ ! -s "$name.data" ] && ! "$SKIDPROF" record -q --pmu sim -o "$name.data" -- "$@" </dev/null >/dev/null 2>"$name.err"; then
		rm -f "$name.data"
		row "$name: failed: $(grep -m 1 . "$name.err" | cut -c1-80)"
		return
	fi
	report_of "$name"
}

# report_of NAME
report_of()
{
	local name=$1
	# shellcheck disable=SC2046
	row "report, $name ($(samples "$name.data") samples)" $(cost "$SKIDPROF" report -i "$name.data")
	# shellcheck disable=SC2046
	row "report --raw, $name" $(cost "$SKIDPROF" report --raw -i "$name.data")
	# shellcheck disable=SC2046
	has_perf && row "perf report --stdio, $name" $(cost perf report --stdio --no-inline -i "$name.data")
}

# A database's server by itself, which does not run as root.
database()
{
	local bin dir as=()
	wanted postgres || return
	bin=$(dirname "$(realpath "$(command -v postgres || echo /none)")")
	[ -x "$bin/initdb" ] || return
	if [ ! -s postgres.data ]; then
		dir=$(mktemp -d) && chmod 777 "$dir" || return
		[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		(cd "$dir" && "${as[@]}" "$bin/initdb" -D data -U me --no-sync -A trust &&
			"${as[@]}" "$SKIDPROF" record -q --pmu sim -o recorded -- "$bin/postgres" --single -D data postgres) >/dev/null 2>&1 <<-'Q'
			create table t (a int, b text); insert into t select i * 7919 % 5003, 'n' || (i % 97) from generate_series(1, 5000) i; create index ti on t (a);
			analyze t; select count(*), max(b) from t where a between 100 and 4000; select b, sum(a) from t group by b order by 2 limit 3;
			select count(*) from t x join t y on x.a = y.a where x.b >= y.b;
		Q
		cat "$dir/recorded" >postgres.data
		rm -rf "$dir"
	fi
	[ ! -s postgres.data ] || report_of postgres
}
cat >small.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 3 ? i * i : -i; return s; }
int main(int argc, char **argv) { char b[100]; snprintf(b, sizeof(b), "%d", sum(argc)); return (int)strlen(b) + !argv[0]; }
C
gcc -E small.c -o small.i
working_day cc1 "$(gcc -print-prog-name=cc1)" -fpreprocessed -O2 -quiet small.i -o /dev/null
working_day sqlite3 sqlite3 :memory: "create table t(a integer, b text); with recursive s(i) as (select 1 union all select i + 1 from s where i < 5000)
	insert into t select i * 7919 % 5003, 'n' || (i % 97) from s; create index ti on t(a); select count(*), max(b) from t where a between 100 and 4000;
	select b, sum(a) from t group by b; select count(*) from t x join t y on x.a = y.a where x.b >= y.b;"
database
working_day python3 "$(python3 -c 'import sys; print(sys.executable)')" -c 'd = {}
for i in range(20000): d["w%d" % (i * 7919 % 503)] = i * i
print(sum(sorted(d.values())))'
working_day node node -e 'const a = []; for (let i = 0; i < 30000; i++) a.push("w" + (i * 7919 % 503)); a.sort();
const m = new Map(); for (const w of a) m.set(w, (m.get(w) || 0) + w.length); console.log(m.size)'
# Each compiler its own headers' macros.
! wanted clang || clang -E small.c -o small.clang.i 2>/dev/null
working_day clang clang -cc1 -O2 -emit-obj -o /dev/null -x cpp-output small.clang.i
wanted modules && has_perf || exit 0
# shellcheck disable=SC2046
row 'perf report --stdio, modules, no inlined functions' $(cost perf report --stdio -i modules.data)
# shellcheck disable=SC2046
row 'perf report --stdio -s dso,sym,srcline, modules' $(cost timeout 900 perf report --stdio -s dso,sym,srcline -i modules.data)
