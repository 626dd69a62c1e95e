#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A second witness: our exact counts against callgrind's, instruction by instruction, for every linker, way to link,
# language and kind of process that there is here.  What differs by definition stands in callgrind_compare.py.
set -u
. "$TOP/tests/e2e/lib200.sh"
command -v valgrind >/dev/null || { echo 'skip: no valgrind'; exit 77; }
compare=$TOP/tests/e2e/callgrind_compare.py
# Both emulate other processors: the C library must choose its functions alike.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load

# hold NAME OBJECTS COMMAND...: both count it, and agree on the code of the objects (of this folder), less that
# of functions that the regular expression $except finds.
except=
hold()
{
	local name=$1 objects=() out
	for o in $2; do objects+=("$PWD/$o"); done
	shift 2
	rm -f cg.* t.out
	"$SKIDPROF" truth -q -o t.out "$@" >got 2>err </dev/null
	# By default callgrind counts a PLT stub for the function behind it.
	valgrind -q --tool=callgrind --dump-instr=yes --compress-pos=no --trace-children=yes --smc-check=all-non-file \
		--skip-plt=no --callgrind-out-file=cg.%p "$@" >want 2>cg.err </dev/null
	# On some processors it cannot decode what programs find that they have (Go, rdtscp): there it is no witness.
	if [ $? -eq 132 ] && grep -q 'Illegal opcode\|unhandled instruction bytes' cg.err; then
		ok 0 "$name # SKIP callgrind can't run it: $(grep -m 1 -o 'Illegal opcode.*\|unhandled instruction bytes.*' cg.err)"
		return
	fi
	out=$("$compare" "$except" t.out cg.[0-9]* -- "${objects[@]}" 2>&1)
	ok $? "$name: as callgrind counts"
	echo "# $name: $out"
	cmp -s got want || {
		echo "# outputs differ: $(head -c 200 got) / $(head -c 200 want); $(head -3 err)"
		ok 1 "$name: the same output"
	}
}

# ---- linkers and ways to link: small functions, one inlined, a table of jumps; one is hot, late in its page ----
{
	echo '#include <stdio.h>'
	echo 'volatile long s;'
	echo 'static inline long mix(long a, long b) { return a * b ^ s >> (b & 15); }'
	for i in $(seq 0 39); do
		echo "__attribute__((noinline)) void f$i(long n) { for (long i = 0; i < n; i++) switch (i & 7) {"
		for k in 0 1 2 3 4 5 6; do echo "case $k: s += mix(i, $((i * 7 + k))); break;"; done
		echo "default: s ^= i; } }"
	done
	echo 'int main(void) {'
	for i in $(seq 0 39); do echo "f$i($((i == 36 ? 60000 : 50)));"; done
	echo 'printf("%ld\n", s); return 0; }'
} >many.c
gcc -O1 -g -fno-asynchronous-unwind-tables -c many.c -o many.o || exit 1
gcc -O1 -g -fno-asynchronous-unwind-tables -fPIE -c many.c -o many-pie.o || exit 1
for linker in bfd gold lld mold; do
	command -v ld.$linker >/dev/null || { ok 0 "linker $linker # SKIP not installed"; continue; }
	for way in -pie -static -no-pie '-pie -Wl,-z,noseparate-code'; do
		# gold never separates code from the rest
		[ "$linker $way" = 'gold -pie -Wl,-z,noseparate-code' ] && continue
		object=many.o
		[[ $way = *-pie* && $way != -no-pie ]] && object=many-pie.o
		# shellcheck disable=SC2086 # flags
		gcc -fuse-ld=$linker $way $object -o many 2>ld.err || { ok 1 "$linker $way links: $(head -1 ld.err)"; continue; }
		hold "$linker $way" many ./many
	done
done
if gcc -static-pie many-pie.o -o many; then
	hold 'static-pie' many ./many
else
	ok 1 'static-pie builds'
fi

# ---- languages ----
cat >throws.cc <<'C'
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Guard { long &n; Guard(long &n) : n(n) {} ~Guard() { n++; } };
static long depth(int n, long &unwound)
{
	Guard guard(unwound);
	if (n == 0) throw std::runtime_error("deep");
	return depth(n - 1, unwound) + 1;
}
int main()
{
	std::map<std::string, std::vector<int>> m;
	long caught = 0, unwound = 0;
	for (int i = 0; i < 300; i++) {
		m[std::to_string(i % 17)].push_back(i);
		try { depth(i % 20, unwound); } catch (const std::exception &e) { caught += e.what()[0]; }
	}
	std::printf("%ld %ld %zu\n", caught, unwound, m["3"].size());
}
C
if g++ -O2 -g throws.cc -o throws; then
	hold 'C++ with exceptions' throws ./throws
else
	ok 1 'C++ with exceptions builds'
fi
if command -v rustc >/dev/null && rustc --version >/dev/null 2>&1; then
	cat >main.rs <<'C'
use std::collections::HashMap;
fn main() {
    let mut v: Vec<u64> = (0..3000u64).map(|x| x.wrapping_mul(2654435761) % 1009).collect();
    v.sort_unstable();
    let mut seen: HashMap<u64, u32, std::hash::BuildHasherDefault<std::collections::hash_map::DefaultHasher>> = Default::default();
    for x in &v { *seen.entry(*x).or_insert(0) += 1; }
    let r = std::panic::catch_unwind(|| { let a: Vec<u32> = Vec::new(); a.len() });
    println!("{} {} {:?}", v[1500], seen.len(), r.is_ok());
}
C
	if rustc -O -g main.rs -o rust 2>rust.err; then
		hold 'Rust' rust ./rust
	else
		ok 1 'Rust builds'
	fi
else
	ok 0 'Rust # SKIP no rustc'
fi
if command -v gfortran >/dev/null; then
	cat >main.f90 <<'C'
program p
  implicit none
  integer :: i, j
  real(8) :: a(60,60), s
  do j = 1, 60
    do i = 1, 60
      a(i,j) = sin(real(i*j, 8))
    end do
  end do
  s = sum(matmul(a, transpose(a)))
  print '(f12.4)', s
end program
C
	if gfortran -O2 -g main.f90 -o fortran; then
		hold 'Fortran' fortran ./fortran
	else
		ok 1 'Fortran builds'
	fi
else
	ok 0 'Fortran # SKIP no gfortran'
fi
# Only what the program does itself: how often Go's scheduler and collector come is chance.
if command -v go >/dev/null; then
	cat >main.go <<'C'
package main

import "fmt"

//go:noinline
func collatz(n int) int {
	steps := 0
	for ; n != 1; steps++ {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
	}
	return steps
}

func sum(from, to int, out chan<- int) {
	s := 0
	for i := from; i < to; i++ {
		s += collatz(i)
	}
	out <- s
}

func main() {
	out := make(chan int)
	for i := 0; i < 4; i++ {
		go sum(1+300*i, 1+300*(i+1), out)
	}
	s := 0
	for i := 0; i < 4; i++ {
		s += <-out
	}
	fmt.Println(s)
}
C
	except='^(?!main\.)'
	if GOCACHE=$SCRATCH/gocache GO111MODULE=off go build -o go main.go 2>go.err; then
		GOMAXPROCS=2 GODEBUG=asyncpreemptoff=1 hold Go go ./go
	else
		ok 1 'Go builds'
	fi
	except=
else
	ok 0 'Go # SKIP no go'
fi

# ---- threads ----
cat >threads.c <<'C'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static sem_t done;
static __attribute__((noipa)) unsigned long work(unsigned long n)
{
	unsigned long s = 1;
	for (unsigned long i = 0; i < n; i++) s = s * 3 + (s >> 7) + i;
	return s;
}
static void *run(void *p) { *(unsigned long *)p = work(*(unsigned long *)p); return NULL; }
static void *run_detached(void *p) { run(p); sem_post(&done); return NULL; }
int main(int argc, char **argv)
{
	unsigned long v[12], sum = 0;
	pthread_attr_t attr;
	pthread_t t[12];

	(void)argc;
	sem_init(&done, 0, 0);
	pthread_attr_init(&attr);
	for (int i = 0; i < 12; i++) v[i] = 10000 + 1000 * (unsigned long)i;
	if (!strcmp(argv[1], "after")) /* one another */
		for (int i = 0; i < 12; i++) { pthread_create(&t[i], NULL, run, &v[i]); pthread_join(t[i], NULL); }
	else if (!strcmp(argv[1], "pool"))
		for (int round = 0; round < 3; round++) {
			for (int i = 4 * round; i < 4 * round + 4; i++) pthread_create(&t[i], NULL, run, &v[i]);
			for (int i = 4 * round; i < 4 * round + 4; i++) pthread_join(t[i], NULL);
		}
	else if (!strcmp(argv[1], "shared")) { /* memory that is shared, as a map of character sets is, before there is a thread */
		mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		work(5000);
		for (int i = 0; i < 4; i++) v[i] *= 200;
		for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, run, &v[i]);
		for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
	} else {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		for (int i = 0; i < 12; i++) pthread_create(&t[i], &attr, run_detached, &v[i]);
		for (int i = 0; i < 12; i++) sem_wait(&done);
	}
	for (int i = 0; i < 12; i++) sum += v[i];
	work(5000);
	printf("%lu\n", sum);
	return 0;
}
C
gcc -O2 -g threads.c -o threads -pthread || exit 1
for how in after pool detached shared; do hold "threads: $how" threads ./threads $how; done

# ---- processes ----
cat >procs.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>
/* Callgrind has a child of fork begin with what its parent had, and forgets all at exec. */
#define BEGIN CALLGRIND_ZERO_STATS
#define END   CALLGRIND_DUMP_STATS
static __attribute__((noipa)) unsigned long child(unsigned long n) { unsigned long s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
static __attribute__((noipa)) unsigned long parent(unsigned long n) { unsigned long s = 1; while (n--) s = s * 7 + (s >> 3); return s; }
static void *fork_there(void *p)
{
	pid_t pid = fork();
	if (!pid) { BEGIN; _exit((int)child(30000) & 1); }
	waitpid(pid, NULL, 0);
	return p;
}
int main(int argc, char **argv)
{
	volatile unsigned long s = parent(20000);
	pthread_t t;
	pid_t pid;

	if (argc < 2) return (int)child(40000) & 1; /* what exec begins */
	switch (argv[1][0]) {
	case 'f': for (int i = 0; i < 3; i++) if (!fork()) { BEGIN; _exit((int)child(30000) & 1); } break;
	case 'v': for (int i = 0; i < 3; i++) if (!vfork()) { execl(argv[0], argv[0], NULL); _exit(1); } break;
	case 't': for (int i = 0; i < 3; i++) { pthread_create(&t, NULL, fork_there, NULL); pthread_join(t, NULL); } break;
	case 'c': if (!(pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))) { BEGIN; _exit((int)child(30000) & 1); } break;
	case 'e': END; execl(argv[0], argv[0], NULL); break;
	}
	while (wait(NULL) > 0) ;
	s += parent(10000);
	printf("%lu\n", s);
	return 0;
}
C
gcc -O2 -g procs.c -o procs -pthread || exit 1
for how in fork vfork thread clone exec; do hold "processes: $how" procs "$PWD/procs" $how; done

# ---- libraries that come and go, at one address: a program that is not position independent has them where they ask ----
for i in 1 2 3; do
	printf '__attribute__((noinline)) long work(long n) { long s = %d; while (n--) s = s * %d + (s >> 3)%s; return s; }\nlong run(long n) { return work(n); }\n' \
		$i $((2 * i + 1)) "$([ $i = 2 ] && echo ' + (s & 7) * n')" >lib$i.c
	gcc -O2 -g -shared -fPIC -Wl,-Ttext-segment=0x20000000 lib$i.c -o lib$i.so || exit 1
done
cat >dl.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	long s = 0;
	void *at[3] = { 0 };
	for (int i = 0; i < 12; i++) {
		char name[16];
		snprintf(name, sizeof(name), "./lib%d.so", i % 3 + 1);
		void *h = dlopen(name, RTLD_NOW);
		long (*run)(long) = (long (*)(long))dlsym(h, "run");
		at[i % 3] = (void *)((unsigned long)run & ~4095ul);
		s += run(2000 * (i + 1));
		dlclose(h);
	}
	fprintf(stderr, "at %s place\n", at[0] == at[1] ? "one" : "another");
	printf("%ld\n", s);
	return 0;
}
C
gcc -O2 -g -no-pie dl.c -o dl -ldl || exit 1
hold 'dlopen and dlclose' 'dl lib1.so lib2.so lib3.so' ./dl
check 'the libraries were at one place indeed' grep -q 'at one place' err

# ---- control flow that is not calls and returns ----
cat >flow.c <<'C'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
static sigjmp_buf back;
static jmp_buf plain;
static volatile long count;
static void on_signal(int n) { for (int i = 0; i < 100; i++) count += n; }
static void on_fault(int n) { for (int i = 0; i < 10; i++) count += n; siglongjmp(back, 1); }
static __attribute__((noinline)) void faulty(volatile char *p) { count += 3; *p = 1; count += 5; }
static __attribute__((noinline)) void jumps(int n) { if (n == 0) longjmp(plain, 7); jumps(n - 1); count++; }
static ucontext_t main_context, co;
static void coroutine(void) { for (int i = 0; i < 200; i++) { count += i; swapcontext(&co, &main_context); } }
int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[1], "signals")) {
		signal(SIGUSR1, on_signal);
		for (int i = 0; i < 500; i++) raise(SIGUSR1);
	} else if (!strcmp(argv[1], "faults")) {
		char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct sigaction a = { .sa_handler = on_fault };
		sigaction(SIGSEGV, &a, NULL);
		for (volatile int i = 0; i < 300; i++)
			if (!sigsetjmp(back, 1)) faulty(page);
	} else if (!strcmp(argv[1], "setjmp")) {
		for (volatile int i = 0; i < 300; i++)
			if (!setjmp(plain)) jumps(i % 30);
	} else {
		static char stack[65536];
		getcontext(&co);
		co.uc_stack.ss_sp = stack;
		co.uc_stack.ss_size = sizeof(stack);
		co.uc_link = &main_context;
		makecontext(&co, coroutine, 0);
		for (int i = 0; i < 201; i++) swapcontext(&main_context, &co);
	}
	printf("%ld\n", count);
	return 0;
}
C
gcc -O2 -g flow.c -o flow || exit 1
for how in signals setjmp coroutines; do hold "flow: $how" flow ./flow $how; done
# One stack goes on where another one called: what a call came to is not known.
who_called() {
	"$SKIDPROF" truth -g -o calls.truth "${@:2}" >/dev/null 2>calls.err
	check "$1" sh -c 'grep -q "^skidprof: who called is not written: the program changed its stacks [1-9]" calls.err && ! grep -q ^calls= calls.truth'
}
who_called 'flow: coroutines: who called is not written' ./flow coroutines
[ ! -x go ] || who_called 'Go: who called is not written' ./go
"$SKIDPROF" truth -g -o calls.truth ./flow setjmp >/dev/null 2>calls.err
check 'flow: setjmp: who called is written' grep -q ^calls= calls.truth
# The kernel calls a handler, which returns to where nobody called from, and the program goes on where it was.
for how in signals:on_signal:500 faults:on_fault:300; do
	IFS=: read -r kind handler times <<<"$how"
	"$SKIDPROF" truth -g -o calls.truth ./flow "$kind" >/dev/null 2>calls.err
	number=$(sed -n "s/^c*fn=\(([0-9]*)\) $handler\$/\1/p" calls.truth | head -1)
	sum=$(grep -A1 -F "cfn=$number" calls.truth | awk -F'[= ]' '/^calls=/ { n += $2 } END { print n + 0 }')
	check "flow: $kind: the handler is called $times times" test "$sum" = "$times"
done
# Callgrind counts a block when it ends, so it has nothing of one that a fault leaves: there the processor's manual is
# the witness.  What ran before the store that faults, 300 times, did; the store and what is behind it never retired.
except='^faulty$'
hold 'flow: faults' flow ./flow faults
except=
before=$(objdump -d --no-show-raw-insn flow | awk '/<faulty>:/ { on = 1; next } on && /movb/ { exit } on && NF { n++ } END { print n + 0 }')
counted=$(awk '/^fn=/ { on = /faulty/ } on && /^0x/ { n += $3; k++ } END { print n + 0, k + 0 }' t.out)
check "flow: faults: the $before instructions before the fault ran 300 times" test "$counted" = "$((300 * before)) $before"

# ---- instructions of many sorts, and code that is written while it runs ----
cat >insns.c <<'C'
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static uint64_t buf[64];
__attribute__((target("avx2"), noinline)) static long avx2(long n)
{
	__m256i s = _mm256_set1_epi64x(1);
	for (long i = 0; i < n; i++) s = _mm256_add_epi64(_mm256_xor_si256(s, _mm256_set1_epi64x(i)), _mm256_slli_epi64(s, 3));
	return _mm256_extract_epi64(s, 0) ^ _mm256_extract_epi64(s, 3);
}
__attribute__((noinline)) static void reps(long n)
{
	for (long i = 0; i < n; i++) {
		uint64_t *p = buf, c = i % 19;
		__asm__ volatile("rep stosq" : "+D"(p), "+c"(c) : "a"(i) : "memory");
		const char *from = (char *)buf; char *to = (char *)(buf + 32); c = i % 9;
		__asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(c) : : "memory");
	}
}
__attribute__((noinline)) static long locks(long n) { long s = 0; for (long i = 0; i < n; i++) { __sync_fetch_and_add(&s, i); __asm__ volatile("cpuid" : : "a"(0) : "rbx", "rcx", "rdx", "memory"); } return s; }
int main(void)
{
	/* mov eax, imm32; ret: changed between calls */
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long s = 0;
	for (int i = 0; i < 200; i++) {
		memcpy(code, "\xb8\0\0\0\0\xc3", 6);
		memcpy(code + 1, &i, 4);
		s += ((int (*)(void))code)();
	}
	reps(2000);
	printf("%ld %ld %ld\n", avx2(3000), locks(300), s + (long)buf[3]);
	return 0;
}
C
if [ "$(uname -m)" = x86_64 ] && grep -q avx2 /proc/cpuinfo; then
	if gcc -O2 -g insns.c -o insns; then
		hold 'rep, AVX2, locks, code written while it runs' insns ./insns
	else
		ok 1 'rep, AVX2, locks, code written while it runs builds'
	fi
fi

# ---- programs made at random ----
gcc -O2 -g -iquote "$TOP" "$TOP/tests/stat/gen.c" "$TOP/tests/stat/gen_body.c" -lm -o gen || exit 1
for seed in 20011 20012 20013; do
	if ./gen $seed 2 >random.c && gcc -O2 -g random.c -lm -o random; then
		hold "random program $seed" random ./random
	else
		ok 1 "random program $seed builds"
	fi
done

# The same in threads, one after another and each with what the one before has left.
cat >twice.c <<'C'
#include <pthread.h>
#include <stddef.h>
int random_main(void);
static void *run(void *p) { random_main(); return p; }
int main(void) { for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, NULL, run, NULL); pthread_join(t, NULL); } return 0; }
C
for seed in 20014 20015; do
	if ./gen $seed 1 >random.c && gcc -O2 -g -Dmain=random_main -c random.c && gcc -O2 -g random.o twice.c -lm -pthread -o random; then
		hold "random program $seed in threads" random ./random
	else
		ok 1 "random program $seed in threads builds"
	fi
done

# ---- time by the clock and by the simulated PMU name the same functions ----
cat >clocked.c <<'C'
#include <stdio.h>
__attribute__((noipa)) unsigned long one(unsigned long n) { unsigned long s = 1; for (unsigned long i = 0; i < n; i++) s = s * 3 + (s >> 7) + i; return s; }
__attribute__((noipa)) unsigned long two(unsigned long n) { unsigned long s = 1; for (unsigned long i = 0; i < n; i++) s = s * 3 + (s >> 7) + i; return s; }
int main(int argc, char **argv) { (void)argv; unsigned long n = argc > 1 ? 150000000 : 4000000; printf("%lu\n", one(n) + two(3 * n)); return 0; }
C
shares() # FILE: the two functions' shares of their samples, in percent
{
	"$SKIDPROF" report -i "$1" --raw --format csv 2>/dev/null | python3 -c '
import csv, sys
n = {}
rows = list(csv.DictReader(line for line in sys.stdin if not line.startswith("#")))
for row in rows:
    if row["name"] in ("one", "two"):
        n[row["name"]] = float(row["samples"])
print(round(100 * n.get("one", 0) / max(sum(n.values()), 1)))'
}
for linker in bfd lld; do
	command -v ld.$linker >/dev/null || continue
	gcc -O1 -g -fuse-ld=$linker clocked.c -o clocked || continue
	"$SKIDPROF" record -q --pmu sim -o sim.data ./clocked >/dev/null 2>&1
	"$SKIDPROF" record -q --pmu clock -c 249989 -o clock.data ./clocked long >/dev/null 2>&1
	sim=$(shares sim.data) clock=$(shares clock.data)
	echo "# $linker: one has $sim% on the simulated core, $clock% by the clock"
	check "$linker: the clock and the simulated core name the same functions" test "${sim:-0}" -ge 20 -a "${sim:-0}" -le 30 -a "${clock:-0}" -ge 17 -a "${clock:-0}" -le 33
done
exit 0
