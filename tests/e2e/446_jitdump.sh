#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Code made at run time that its maker keeps in a jitdump is corrected as any other; with a list of names alone (perf-PID.map)
# it has names, and raw counts.
set -u
. "$TOP/tests/e2e/lib400.sh"
[ "$(uname -m)" = x86_64 ] || { echo 'skip: the code is written in instructions of x86-64' && exit 77; }
cd "$SCRATCH" || exit 1

# Three functions of the assembler are copied to new memory and run there: turns() runs n times round a loop of 14
# instructions, 13 of them always; of four turns one calls slow(), whose division is of constant length, three call quick().
cat >jit.c <<'C'
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

extern const unsigned char turns[], slow[], quick[], end[], other[], other_end[], slow_div[];

__asm__(".text\n"
        "turns: push %rbx\n push %r12\n mov %rdi, %r12\n xor %ebx, %ebx\n mov $12345, %rax\n"
        "1: lea 1(%rbx), %rbx\n imul $214013, %rax, %rax\n add $2531011, %rax\n mov %rbx, %rcx\n and $3, %ecx\n"
        "   je 2f\n call quick\n jmp 3f\n"
        "2: call slow\n nop\n"
        "3: xor $1, %rax\n cmp %r12, %rbx\n jne 1b\n"
        "   pop %r12\n pop %rbx\n ret\n"
        "slow: mov %rax, %r8\n mov $97, %ecx\n xor %edx, %edx\n"
        "slow_div: div %rcx\n add %r8, %rax\n ret\n"
        "quick: mov %rax, %rdx\n shr $7, %rdx\n xor %rdx, %rax\n lea 3(%rax,%rax,2), %rax\n xor $5, %rax\n ror $3, %rax\n"
        "   add $9, %rax\n ret\n"
        "end:\n"
        "other: xor %eax, %eax\n 1: add $3, %rax\n xor $1, %rax\n dec %rdi\n jne 1b\n ret\n"
        "other_end:\n");

static FILE *dump;

static void put32(uint32_t x) { fwrite(&x, 4, 1, dump); }
static void put64(uint64_t x) { fwrite(&x, 8, 1, dump); }
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void begin_dump(void)
{
	char name[64];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	dump = fopen(name, "w+");
	/* The mapping is what recorders see. */
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
	put32(0x4a695444); put32(1); put32(40); put32(EM_X86_64); put32(0); put32((uint32_t)getpid()); put64(now()); put64(0);
}

static void load(const char *name, const unsigned char *code, size_t n, uint64_t at)
{
	put32(0); put32((uint32_t)(16 + 40 + strlen(name) + 1 + n)); put64(now());
	put32((uint32_t)getpid()); put32((uint32_t)getpid()); put64(at); put64(at); put64(n); put64(1);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, n, 1, dump);
	fflush(dump);
}

/* slow's first instructions are line 7 of calc.js, the division and what follows line 8 */
static void lines(uint64_t at, uint64_t division)
{
	put32(2); put32(16 + 16 + 16 + 8 + 16 + 2); put64(now());
	put64(at); put64(2);
	put64(at); put32(7); put32(0); fwrite("calc.js", 8, 1, dump);
	put64(division); put32(8); put32(0); fwrite("\xff", 2, 1, dump);
}

int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	int how = argc > 2 ? atoi(argv[2]) : 0;
	unsigned char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)p;
	long (*f)(long);

	memcpy(p, turns, (size_t)(end - turns));
	memcpy(&f, &p, sizeof(f));
	if (how >= 2) {
		char name[64];
		FILE *names;

		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
		names = fopen(name, "w");
		fprintf(names, "%jx %zx turns\n%jx %zx slow\nno line\n%jx %zx quick of\tmany words\n", (uintmax_t)at, (size_t)(slow - turns),
		        (uintmax_t)(at + (uint64_t)(slow - turns)), (size_t)(quick - slow), (uintmax_t)(at + (uint64_t)(quick - turns)),
		        (size_t)(end - quick));
		fclose(names);
		/* Code of the file's own as well. */
		for (volatile long i = how == 3 ? n : 0; i > 0; i--)
			;
		return f(n) == 1;
	}
	begin_dump();
	load("turns", turns, (size_t)(slow - turns), at);
	lines(at + (uint64_t)(slow - turns), at + (uint64_t)(slow_div - turns));
	load("slow", slow, (size_t)(quick - slow), at + (uint64_t)(slow - turns));
	load("quick", quick, (size_t)(end - quick), at + (uint64_t)(quick - turns));
	if (f(n) == 1)
		return 1;
	if (how == 1) {
		memcpy(p, other, (size_t)(other_end - other));
		load("other", other, (size_t)(other_end - other), at);
		f(6 * n);
	}
	return 0;
}
C
check 'it is built' gcc -O2 -g jit.c -o jit

# exact FILE TURNS: by hand.  A turn with quick: 6 to the branch, call, jmp, 3 at its end: 11 and quick's 8; with slow: 6, call,
# nop, 3: 11 and slow's 6.
near() # MOST: functions of the JSON in out are off by no more
{
	python3 - "$1" "$2" <<'P'
import json, sys
most, n = float(sys.argv[1]), float(sys.argv[2])
exact = {"turns": 11 * n, "slow": n / 4 * 6, "quick": n * 3 / 4 * 8}
bad = False
seen = {f["name"]: f for f in json.load(open("out"))["functions"]}
for name, want in exact.items():
    f = seen.get(name)
    if f is None:
        sys.exit(f"# no {name}")
    off, raw = f["fixed"] / want - 1, f["raw"] / want - 1
    held = f["lo"] is not None and f["lo"] <= want <= f["hi"]
    print(f"# {name}: exact {want:.4g}, raw {raw:+.1%}, fixed {off:+.2%} {f['status']} {f['known_by']}, interval holds: {held}")
    bad |= abs(off) > most or f["status"] != "fixed"
sys.exit(bad)
P
}

# Twenty thousand samples of instructions: chance alone is under .3% of turns, 1% of slow, of which the flow leaves nothing.
check 'it is recorded' status 0 "$SKIDPROF" record -q --pmu sim -o j.data --truth j.truth ./jit 4000000
check 'it is reported' status 0 "$SKIDPROF" report -i j.data --format json --no-debuginfod
check 'functions made at run time are fixed, to 1%' near 0.01 4000000
check 'and off by a tenth and more in raw counts' json 'any(abs(f["raw"] / (6e6 if f["name"] == "slow" else 24e6) - 1) > 0.1 for f in d["functions"] if f["name"] in ("slow", "quick"))'
check 'their module is the dump' json 'all("jit-" in f["module"] and f["module"].endswith(".dump") for f in d["functions"] if f["name"] in ("turns", "slow", "quick"))'
check 'all of it is what was counted outside files' test "$(python3 -c 'import json
print(abs(sum(f["fixed"] for f in json.load(open("out"))["functions"] if f["name"] in ("turns", "slow", "quick")) / 74e6 - 1) < 0.01)')" = True
check 'lines are the ones of the dump' status 0 "$SKIDPROF" report -i j.data --format json --lines
check 'by file and number' json 'any((l["file"] or "").endswith("calc.js") and l["line"] == 8 for l in d["lines"])'
check 'loops have trip counts' status 0 "$SKIDPROF" report -i j.data --format json --calls
check 'and functions calls' json 'all(abs(f["calls"] / 3e6 - 1) < 0.02 for f in d["calls"] if f["function"] == "quick")'
check 'annotate' status 0 "$SKIDPROF" annotate -i j.data slow
check 'shows the code' has out 'div'
check 'compare' status 1 "$SKIDPROF" compare -i j.data --truth j.truth
check 'has nothing to say of it' has err 'made at run time'

# With the clock alone bursts tell shares; replayed or stepped, they lead through memory as through a file.
check 'it is recorded by the clock' status 0 "$SKIDPROF" record -q --pmu clock -c 249989 --bursts 200 --burst-budget 50 -o c.data ./jit 500000000
check 'it is reported' status 0 "$SKIDPROF" report -i c.data --format json
check 'shares are right to 2 points' json '[abs(f["region_share"] - w / 18.5) < 0.02 for n, w in (("turns", 11), ("slow", 1.5), ("quick", 6)) for f in d["functions"] if f["name"] == n].count(True) == 3'

# One code after another at one address: times tell which was there.
check 'two codes at one address' status 0 "$SKIDPROF" record -q --pmu clock -c 249989 --bursts 0 -o t.data ./jit 200000000 1
check 'are told apart by the clock they share' status 0 "$SKIDPROF" report -i t.data --format json
check 'both are there' json '{f["name"] for f in d["functions"]} >= {"turns", "other", "quick"}'
check 'each in a layer of its own' json 'len({f["module"] for f in d["functions"] if f["name"] in ("turns", "other")}) == 2'
check 'the simulated core has another clock' status 0 "$SKIDPROF" record -q --pmu sim -o s.data ./jit 400000 1
"$SKIDPROF" report -i s.data >/dev/null 2>err
check 'and that is said' has err 'perf record -k mono'

# Names alone.
check 'names without code, beside code of a file' status 0 "$SKIDPROF" record -q --pmu sim -o b.data --truth b.truth ./jit 400000 3
"$SKIDPROF" compare -i b.data --truth b.truth >out 2>err
check 'tells what is left out' has out ', or of code made at run time'
check 'names without code' status 0 "$SKIDPROF" record -q --pmu sim -o n.data ./jit 400000 2
check 'it is reported' status 0 "$SKIDPROF" report -i n.data --format json
check 'names are there, a blank in one too' json '{f["name"] for f in d["functions"]} >= {"turns", "slow", "quick of\\x09many words"}'
check 'and raw' json 'all(f["status"] == "raw" and f["raw"] == f["fixed"] for f in d["functions"] if f["name"] in ("turns", "slow"))'
check 'which is said' json 'any("not the code" in (m["trouble"] or "") for m in d["meta"]["modules"])'
map=$(python3 -c 'import json; print(next(m["path"] for m in json.load(open("out"))["meta"]["modules"] if "perf-" in m["path"]))')
check 'what another machine recorded is not looked for here' status 0 python3 -c '
import socket
d = open("n.data", "rb").read()
name = socket.gethostname().encode()
open("m.data", "wb").write(d.replace(name + b"\0", b"x" * len(name) + b"\0"))'
check 'it is reported' status 0 "$SKIDPROF" report -i m.data --format json
check 'without names' json 'not any(f["name"] == "turns" for f in d["functions"])'
rm -f "$map"

# A dump that is cut short, and what is no dump at all.
for f in jit-*.dump; do head -c 200 "$f" >x && cat x >"$f"; done
check 'cut short: what calls code that is missing is unreliable' status 3 "$SKIDPROF" report -i j.data --format json
"$SKIDPROF" report -i j.data >/dev/null 2>err
check 'and the offset is said' has err 'at 168 are no whole record'
for f in jit-*.dump; do echo nonsense >"$f"; done
"$SKIDPROF" report -i j.data >out 2>err
check 'what is no dump is said to be none' has err 'not a jitdump file'
rm -f jit-*.dump
"$SKIDPROF" report -i j.data >out 2>err
check 'and one that is gone' has err 'which is not there'
finish
