#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What doctor says of a machine is what a recording there does, whatever is forbidden.
set -u
. "$TOP/tests/e2e/lib200.sh"

build_deny
build spin <<'C'
int main(void) { volatile unsigned x = 1; for (unsigned i = 0; i < 1000000000; i++) x = x & 1 ? 3 * x + 1 : x >> 1; return 0; }
C

# says EXPRESSION: of d, the JSON in out; state(NAME) and remedy(NAME) of its checks.
says()
{
	python3 -c 'import json, sys
d = json.load(open("out"))
by = {c["name"]: c for c in d["checks"]}
state = lambda n: by[n]["state"]
remedy = lambda n: by[n]["remedy"] or ""
sys.exit(0 if eval(sys.argv[1]) else 1)' "$1" && return
	echo "# not so: $1"
	sed 's/^/# /' out | head -120
	return 1
}
# doctor STATUS PREFIX...: runs it behind these words; its JSON goes to out.
doctor()
{
	local want=$1 got
	shift
	"$@" "$SKIDPROF" doctor --json >out 2>err
	got=$?
	[ $got -eq "$want" ] && [ ! -s err ] && return
	echo "# status $got, wanted $want: $(head -3 err)"
	sed 's/^/# /' out | tail -20
	return 1
}

# As this machine is.
"$SKIDPROF" doctor --json >out 2>err
status=$?
check 'it says nothing beside' test ! -s err
check 'the status is what it says' says "d['corrected'] == ($status == 0)"
check 'each thing lacking has a line about what to do, or names what it needs' says \
	"all(c['remedy'] or c['found'].startswith('needs ') for c in d['checks'] if c['state'] in ('missing', 'partly'))"
check 'no line is two' says "all('\n' not in (c['found'] + (c['remedy'] or '')) for c in d['checks'])"
check 'the emulator works, as other tests need it' says "state('emulator') == 'ok'"
source=$(python3 -c 'import json; print(json.load(open("out"))["record"]["source"])')
"$SKIDPROF" record -o x.data ./spin >said 2>&1
case $source in
hardware) check 'record takes the counters, as it said' grep -q "this machine's PMU" said ;;
clock) check 'record takes the clock, as it said' grep -q 'cpu-clock' said ;;
sim) check 'record simulates, as it said' grep -q 'simulated core' said ;;
esac
"$SKIDPROF" doctor >text 2>err
check 'the text says the same source' grep -q "^skidprof record PROGRAM takes .*(--pmu $source)" text
check 'and what can be corrected' grep -q '^skidprof report corrects ' text

# No counters and no clock: the simulated core is left.
for error in 1 38; do
	./deny perf $error true
	[ $? -ne 77 ] || { echo "ok $((n_tests += 1)) - filters # SKIP no seccomp filters here"; break; }
	check "perf_event_open fails with $error" doctor 0 ./deny perf $error
	check 'clock and counters are missing' says "state('clock') == 'missing' and state('kernel code') == 'missing' and state('counters') == 'missing'"
	check 'the cause is named' says "'seccomp' in json.dumps(by['counters'])"
	check 'the default is the simulated core' says "d['record']['source'] == 'sim' and d['corrected']"
	./deny perf $error "$SKIDPROF" record -o x.data true >said 2>&1
	check 'which is what record does' grep -q 'simulated core' said
	mkdir -p bin
	cp ./deny bin/
	check 'and without an emulator nothing works' doctor 1 env PATH="$PWD/bin" deny perf $error
	check 'which is said with its reason' says "d['record']['source'] is None and d['record']['why']"
	env PATH="$PWD/bin" deny perf $error "$SKIDPROF" record -o x.data ./spin >said 2>&1
	check 'record fails there' test $? -eq 1
	env PATH="$PWD/bin" deny perf $error "$SKIDPROF" doctor >text 2>err
	check 'the text says so' grep -q '^skidprof record PROGRAM does not work: ' text
done

# Nobody may be stopped: no bursts, so that the clock's samples can't be corrected.
if ./deny ptrace 1 true; then
	./deny ptrace 1 "$SKIDPROF" doctor --json >out 2>err
	status=$?
	check 'without ptrace bursts are missing' says "state('bursts') == 'missing' and state('running programs') == 'missing'"
	check 'the remedy names the filter' says "'SYS_PTRACE' in remedy('bursts')"
	check 'with the clock nothing is corrected' says "d['corrected'] == (d['record']['source'] != 'clock') and d['corrected'] == ($status == 0)"
	if [ "$source" = clock ]; then
		./deny ptrace 1 "$SKIDPROF" record -o x.data ./spin >said 2>&1
		check 'a recording says the same' grep -qE 'bursts were refused|no bursts' said
	fi
fi
# A replayer that is not there: bursts are stepped.
mkdir -p alone/bin
cp "$SKIDPROF" alone/bin/
alone/bin/skidprof doctor --json >out 2>err
check 'without the replayer bursts are stepped' says "state('bursts') in ('partly', 'missing') and d['record'].get('bursts') in ('stepped', None)"
check 'without the plugin there is no emulator' says "state('emulator') == 'missing' and 'skidsim.so' in by['emulator']['found']"

# Somebody else than root, where we can be that.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && setpriv --reuid 65534 --clear-groups --bounding-set -all true 2>/dev/null &&
	setpriv --reuid 65534 --clear-groups test -x "$SKIDPROF" 2>/dev/null; then
	chmod a+rwx . 2>/dev/null
	setpriv --reuid 65534 --clear-groups --bounding-set -all "$SKIDPROF" doctor --json >out 2>err
	level=$(cat /proc/sys/kernel/perf_event_paranoid)
	check 'a user may sample the kernel at paranoid level 1' says "(state('kernel code') == 'ok') == ($level < 2)"
	check 'and the system at level 0' says "(state('whole system') == 'ok') == ($level < 1)"
	check 'with the level in the remedy or its cause' says "$level < 1 or 'perf_event_paranoid' in json.dumps(by['whole system'])"
	# A level that only some distributions' kernels know: the remedy is one that helps.
	echo 3 >level
	if [ "$level" -ge 2 ] && unshare -m mount --bind level /proc/sys/kernel/perf_event_paranoid 2>/dev/null; then
		# shellcheck disable=SC2016
		unshare -m sh -c 'mount --bind level /proc/sys/kernel/perf_event_paranoid
			exec setpriv --reuid 65534 --clear-groups --bounding-set -all "$SKIDPROF" doctor --json' >out 2>err
		check 'at level 3, too, the kernel needs 1' says "'perf_event_paranoid=1' in json.dumps(by['kernel code'])"
		check 'and all tasks 0' says "'perf_event_paranoid=0' in json.dumps(by['whole system'])"
	fi
fi
if unshare -r true 2>/dev/null; then
	unshare -r "$SKIDPROF" doctor --json >out 2>err
	check 'a user namespace is seen' says "d['machine']['user_namespace']"
	unshare -r "$SKIDPROF" doctor 2>err | head -1 >first
	check 'and said' grep -q 'user namespace' first
fi
"$SKIDPROF" doctor all >out 2>err
check 'it takes no words' test $? -eq 2
check 'says which' grep -q "takes no 'all'" err
"$SKIDPROF" doctor >/dev/full 2>err
check 'a full disk is an error' test $? -eq 1
exit 0
