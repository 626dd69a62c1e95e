#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Threads, forked children and what they execute are sampled.
set -u
. "$TOP/tests/e2e/lib200.sh"

build threads -pthread <<'C'
#include <pthread.h>
#include <stdio.h>
static __attribute__((noipa)) unsigned long work(unsigned long n)
{
	unsigned long s = 0;
	for (unsigned long i = 0; i < n; i++) s = s * 3 + (s >> 7) + i;
	return s;
}
static void *run(void *p) { *(unsigned long *)p = work(3000000); return 0; }
int main(void)
{
	unsigned long v[3] = { 0 };
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, run, &v[i]);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	printf("%lu\n", v[0] + v[1] + v[2]);
	return 0;
}
C
./threads >want
"$SKIDPROF" record --pmu sim -o t.data --truth t.out ./threads >got 2>err
check 'threads compute the same' cmp want got
grep -q '1 process, 4 threads' err
ok $? 'four threads are counted'
n=$(perf script -i t.data -F tid 2>/dev/null | sort -u | wc -l)
check 'samples of three working threads at least' test "$n" -ge 3
work=$(callgrind_annotate t.out | grep -E ':work( |$)' | awk '{ gsub(",", "", $1); print $1 }')
# 3 x (3,000,000 rounds of a few instructions, and a few): the compiler's choice, the same in each thread
echo "# work: $work instructions"
check 'the exact count covers all threads' test "${work:-0}" -ge 27000000 -a "$((${work:-0} % 3))" -eq 0

build forks <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noipa)) unsigned in_child(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + (s >> 3); return s; }
int main(void)
{
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(in_child(4000000) & 1);
	while (wait(0) > 0) ;
	puts("parent");
	return 0;
}
C
"$SKIDPROF" record --pmu sim -o f.data --truth f.out ./forks >got 2>err
check 'a forking program prints once' test "$(cat got)" = parent
grep -q '3 processes' err
ok $? 'three processes are counted'
perf script -i f.data -F pid,ip,sym 2>/dev/null | awk '$3 == "in_child" { p[$1] = 1 } END { n = 0; for (i in p) n++; exit !(n == 2) }'
ok $? 'both children are sampled, with their symbols'
all=$(sed -n 's/^totals: *//p' f.out) file=$(total f.data instructions)
echo "# forks: truth $all, samples $file"
check 'the samples of all processes add up to the exact count within 0.5 %' near "$file" "$all" 0.5
check 'the exact count covers both children' callgrind_annotate f.out >ann 2>&1
n=$(grep -E ':in_child( |$)' ann | awk '{ gsub(",", "", $1); print $1 }')
echo "# in_child: $n"
check 'in_child ran in both' test "${n:-0}" -ge 40000000

cat >script <<'S'
#!/bin/sh
i=0
while [ $i -lt 2000 ]; do i=$((i + 1)); done
(j=0; while [ $j -lt 2000 ]; do j=$((j + 1)); done; echo sub $j)
ls / >/dev/null
echo done $i | cat
S
chmod +x script
./script >want
"$SKIDPROF" record --pmu sim -o s.data ./script >got 2>err
check 'a forking shell script prints the same' cmp want got
check 'programs that it executes are sampled as well' test "$(perf script -i s.data -F comm 2>/dev/null | tr -d ' ' | sort -u | tr '\n' ' ')" = 'cat ls sh '
check 'without a warning' test -z "$(grep warning err)"
check 'the script is sampled' test "$(perf script -i s.data 2>/dev/null | wc -l)" -gt 0

# A daemon goes on when what started it has ended, and the recording with that.
for pmu in clock sim; do
	"$SKIDPROF" record --pmu $pmu -o d.data sh -c 'sleep 20 & echo $! >left' >out 2>err
	check "what runs on is said to ($pmu)" grep -q 'warning: .* still runs\?; the recording has ended with the program' err
	kill "$(cat left)" 2>/dev/null
	"$SKIDPROF" record --pmu $pmu -o d.data sh -c '/bin/true & /bin/true & wait; ls / | cat' >out 2>err
	check "and nothing of what has ended ($pmu)" sh -c '! grep -q "still run" err'
done
exit 0
