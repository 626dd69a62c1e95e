#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A loop that makes system calls, and events of the user's code alone.  When the interrupt comes the program has often entered the
# kernel: the sample has the kernel's address, but what it stands for ran before that.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

cat >calls.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) static uint64_t before(uint64_t x, int n)
{
	while (n--)
		x = x * 6364136223846793005ull + (x >> 61 & 1 ? 3 : 1442695040888963407ull);
	return x;
}

__attribute__((noinline)) static uint64_t calls(uint64_t x)
{
	return x + (uint64_t)syscall(SYS_getppid);
}

__attribute__((noinline)) static uint64_t apart(uint64_t x, int n)
{
	while (n--)
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

int main(void)
{
	uint64_t x = 1;

	for (int i = 0; i < 60000; i++)
		x += calls(before(x, 60));
	x += apart(x, 1000000);
	printf("%d\n", (int)(x & 1));
	return 0;
}
END
gcc -O2 -g calls.c -o calls || exit 1

# A place for what makes the system call: its own status and error are looked at, too.
right() { json 'all(abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth_share"] > 0.05) and d["eps_fixed"] < 0.02'; }

# One that signals come to: what ends their handler is no place for what ran before.
cat >signals.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned long n_signals, sink;

static void on_alarm(int n)
{
	n_signals += n > 0;
}

__attribute__((noinline)) static unsigned long work(unsigned long x, long n)
{
	while (n--)
		x ^= x << 13, x ^= x >> 7, x ^= x << 17, x *= 3;
	return x;
}

int main(void)
{
	struct itimerval t = { { 0, 300 }, { 0, 300 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &t, NULL);
	sink = work(1, 6000000);
	printf("%lu\n", n_signals);
	return 0;
}
END
gcc -O1 -g signals.c -o signals || exit 1
check 'signals: they are recorded' status 0 "$SKIDPROF" record -q --pmu sim --core zen5-real -o signals.data --truth signals.truth ./signals
"$SKIDPROF" compare -i signals.data --truth signals.truth --format json --limit 0 >out 2>err
check 'samples that came at the end of their handler stand in the kernel' json 'd["meta"]["in_kernel_entry"] > 0'
check 'and not in the few instructions there' json 'sum(f["raw"] or 0 for f in d["functions"] if "restore_rt" in f["name"]) < 2e-3 * sum(f["truth"] or 0 for f in d["functions"])'

for core in zen5-real skylake-real; do
	check "$core: it is recorded" status 0 "$SKIDPROF" record -q --pmu sim --core "$core" --seed 1 -o calls.data --truth calls.truth ./calls
	"$SKIDPROF" compare -i calls.data --truth calls.truth --format json >out 2>err
	check 'it is compared' json '"functions" in d'
	check 'many samples came in the kernel' json 'd["meta"]["after_kernel_entry"] > 0.02 * d["meta"]["samples"] and d["meta"]["in_kernel_entry"] == 0'
	check 'counts are right' right
	"$SKIDPROF" report -i calls.data --format json >out 2>err
	check 'none stands there' json 'len(d["functions"]) > 3 and not any((f["module"] or "").startswith("[kernel") for f in d["functions"])'
	"$SKIDPROF" report -i calls.data >out 2>err
	check 'it is said' grep -q "samples came just after a system call or page fault: each is counted at the instruction that made it" out
done

# A turn of each routine begins and ends at a system call: no sample shows how it begins.  What events don't settle is not relied on.
cat >turns.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t whole, part[2];
static char stack[2][32768];
static int now;
static uint64_t value;

__attribute__((noinline)) static uint64_t divides(int n)
{
	uint64_t a = 1, b = 1;

	while (n--) {
		uint64_t sum = (a + b) % 1000003;

		a = b;
		b = sum;
	}
	return a;
}

__attribute__((noinline)) static uint64_t adds(uint64_t x)
{
	uint64_t n = 0;

	for (int i = 0; i < 64; i++)
		if ((n += x >> i & 1) & 16)
			x ^= x << 1;
	return n;
}

static void give(uint64_t x)
{
	value = x;
	swapcontext(&part[now], &whole);
}

static void divider(void)
{
	for (int i = 0;; i++)
		give(divides(30 + i % 50));
}

static void adder(void)
{
	for (uint64_t i = 7;; i = i * 6364136223846793005ull + 1)
		give(adds(i));
}

int main(void)
{
	void (*const of[])(void) = { divider, adder };
	uint64_t sum = 0;

	for (int i = 0; i < 2; i++) {
		getcontext(&part[i]);
		part[i].uc_stack.ss_sp = stack[i];
		part[i].uc_stack.ss_size = sizeof(stack[i]);
		makecontext(&part[i], of[i], 0);
	}
	for (int i = 0; i < 12000; i++) {
		now = i % 2;
		swapcontext(&whole, &part[now]);
		sum = sum * 31 + value;
	}
	printf("%lu\n", sum);
	return 0;
}
END
gcc -O2 -g turns.c -o turns || exit 1
for core in zen5-real skylake-real; do
	check "$core: turns are recorded" status 0 "$SKIDPROF" record -q --pmu sim --core "$core" --seed 1 -o turns.data --truth turns.truth ./turns
	"$SKIDPROF" compare -i turns.data --truth turns.truth --format json >out 2>err
	check 'what is told without a doubt is right' json 'all(f["status"] == "unreliable" or abs(f["fixed_err"]) < 0.05 for f in d["functions"] if f["truth_share"] > 0.05)'
	"$SKIDPROF" report -i turns.data --format json >out 2>err
	check 'each has a status, and is wide or known' json 'all(f["status"] in ("unreliable", "fixed") for f in d["functions"] if f["name"] in ("divides", "adds", "swapcontext"))'
done

# Records without counts: before() ends at a call, and apart() has none near.
check 'plain: it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --plain --core skylake-real --seed 1 \
	-b -e cycles,instructions --bursts 0 -o calls.data --truth calls.truth ./calls
"$SKIDPROF" report -i calls.data --format json >out 2>err
check 'the loop that calls is not to be relied on' json '{f["status"] for f in d["functions"] if f["name"] in ("before", "calls")} == {"unreliable"}'
check 'for nothing tells what runs behind the calls' json 'all("after system calls" in f["why"] for f in d["functions"] if f["name"] == "before")'
check 'another loop is' json 'not {f["status"] for f in d["functions"] if f["name"] == "apart"} & {"unreliable"}'

# Without records nothing tells where it was made.
check 'plain, without records: it is recorded' status 0 "$SKIDPROF" record -q --pmu sim --plain --core zen5-real --seed 1 \
	-e cycles,instructions -c 10007 --bursts 0 --no-branches -o calls.data --truth calls.truth ./calls
"$SKIDPROF" compare -i calls.data --truth calls.truth --format json >out 2>err
check 'they stand in the kernel' json 'd["meta"]["in_kernel_entry"] > 0.02 * d["meta"]["samples"] and d["meta"]["after_kernel_entry"] == 0'
check 'nothing that is wrong is called fixed' json 'all(f["status"] != "fixed" or f["lo"] <= f["truth"] <= f["hi"] or abs(f["fixed_err"]) < 0.05 for f in d["functions"])'
"$SKIDPROF" report -i calls.data >out 2>err
check 'it is said, and what would tell' grep -q 'and are counted in the kernel: branch records (-b) or call stacks (-g) would tell' out
finish
