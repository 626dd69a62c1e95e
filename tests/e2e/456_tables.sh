#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jump tables without a bound, as where a switch names all there is (std::visit, enum class): the entries that lie behind one are
# another's, and lead into the middle of other code when they are read as its own.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

cat >tables.cc <<'C'
#include <cstdio>
#include <variant>
#include <vector>

struct Leaf {
	long v;
};
struct Add {
	int a, b;
};
struct Mul {
	int a, b;
};
struct Less {
	int a, b, c;
};
using Node = std::variant<Leaf, Add, Mul, Less>;

static unsigned seed = 5;
static std::vector<Node> tree;

static unsigned next() { return (seed = seed * 1664525 + 1013904223) >> 8; }

static int grow(int depth)
{
	Node n = Leaf{ (long)(next() % 1000) };

	if (depth > 4 || (depth && next() % 8)) {
		int a = grow(depth - 1), b = grow(depth - 1);

		switch (next() % 3) {
		case 0: n = Add{ a, b }; break;
		case 1: n = Mul{ a, b }; break;
		default: n = Less{ a, b, grow(depth - 1) };
		}
	}
	tree.push_back(n);
	return (int)tree.size() - 1;
}

struct Eval {
	long x;
	long at(int i)
	{
		return std::visit([this](auto &n) { return of(n); }, tree[i]);
	}
	__attribute__((noinline)) long of(Leaf &n) { return n.v ^ x; }
	__attribute__((noinline)) long of(Add &n) { return at(n.a) + at(n.b); }
	__attribute__((noinline)) long of(Mul &n)
	{
		long a = at(n.a), b = at(n.b);

		return a * b % 1000003;
	}
	__attribute__((noinline)) long of(Less &n) { return at(n.a) < at(n.b) ? at(n.c) : x; }
};

int main()
{
	int root = grow(7);
	long sum = 0;

	for (long r = 0; r < 3000; r++)
		sum += Eval{ r }.at(root);
	std::printf("%d\n", (int)(sum & 1));
}
C
clang++ -O3 -std=c++17 -g tables.cc -o tables || exit 1

for core in skylake-real zen5-real; do
	check "$core: it is recorded" status 0 "$SKIDPROF" record -q --pmu sim --core "$core" --seed 1 -o tables.data --truth tables.truth ./tables
	"$SKIDPROF" compare -i tables.data --truth tables.truth --format json >out 2>err
	check 'it is compared' json '"functions" in d'
	check 'counts are right' json 'all(abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth_share"] > 0.05) and d["eps_fixed"] < 0.02'
	check 'branch records lead through its code' bash -c '! grep -q "or bursts leave its code" out err'
done
finish
