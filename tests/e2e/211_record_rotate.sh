#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# More events than counters: sets of them take turns, as groups that perf reads; nothing is lost by it.  And the same
# seed gives the same recording.
set -u
. "$TOP/tests/e2e/lib200.sh"

build loop -lpthread <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static __attribute__((noipa)) unsigned hot(unsigned n) { unsigned s = 1; while (n--) s = s % 7 ? s * 5 + 1 : s + (n >> 3); return s; }
static __attribute__((noipa)) double warm(unsigned n) { double s = 1; while (n--) s = s * .5 + n; return s; }
static void *thread(void *arg) { return warm(200000) > 1 ? arg : NULL; }
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 20; i++) { hot(100000); warm(50000); }
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL)) return 1;
	if (fork() == 0) _exit(hot(300000) == 7);
	wait(NULL);
	return 0;
}
C
rec() { "$SKIDPROF" record --pmu sim --no-branches "$@" 2>err; }
rec -o r.data --truth t.out ./loop
check 'the turns are told' grep -q 'sets of events took turns of 0.02 ms' err
perf evlist -g -i r.data >groups 2>/dev/null
check 'each set is a group with instructions and cycles of its own' \
	test "$(grep -c '^{instructions,cycles,' groups)" -eq "$(grep -o '[0-9]* sets' err | cut -d' ' -f1)"
check 'of more than one set' test "$(wc -l <groups)" -gt 1
total=$(sed -n 's/^totals: //p' t.out) seen=$(total r.data instructions)
echo "# truth $total, samples $seen"
# What a thread or process runs after its last sample is in none: three of them, each at most two intervals of 10007 a set.
check 'the sets together have counted all instructions' near "$seen" "$total" 1
perf script -i r.data -F event,period 2>/dev/null | awk '{ n[$2] += $1 } END { exit !(n["loads:"] > 0 && n["calls:"] > 0 && n["fp-scalar:"] > 0) }'
ok $? 'events beyond the counters are counted'

rec -q --rotate 0 -o one.data ./loop
perf evlist -g -i one.data >groups 2>/dev/null
check 'none with --rotate 0' test "$(wc -l <groups)" -eq 1
rec --rotate 0 -e instructions,cycles,branches,loads,stores,calls,returns -o no.data ./loop
check 'too many events are an error then' grep -q 'with --rotate' err
rec --rotate 0.001 -o no.data ./loop
check 'turns too short are refused' grep -q 'too short' err

# Numbers of processes and threads differ from run to run, and how threads that run at once take turns in the file.
samples() { perf script -i "$1" -F event,ip,period 2>/dev/null | sort; }
rec -q --seed 3 -o a.data ./loop
rec -q --seed 3 -o b.data ./loop
rec -q --seed 4 -o c.data ./loop
samples a.data >a.txt
samples b.data >b.txt
samples c.data >c.txt
check 'there are samples' test "$(wc -l <a.txt)" -gt 500
check 'the same seed gives the same samples, in threads and children too' cmp a.txt b.txt
check 'another seed gives others' test "$(cmp -s a.txt c.txt; echo $?)" = 1
for f in a b; do
	"$SKIDPROF" report --fixed --format json -i $f.data >$f.json 2>/dev/null
	sed -i "s/$f\.data//" $f.json
done
check 'and the same report' cmp a.json b.json
exit 0
