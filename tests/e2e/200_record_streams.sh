#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What is recorded behaves as if it weren't: output, input, exit status, arguments, environment.
set -u
. "$TOP/tests/e2e/lib200.sh"

seq 1 60000 >in.txt
cp in.txt plain.txt
xz -k plain.txt
"$SKIDPROF" record --pmu sim -q -o xz.data -- xz -k in.txt 2>xz.err
check 'xz makes the same file' cmp in.txt.xz plain.txt.xz
check 'quiet says nothing' test ! -s xz.err
check 'xz recording is there' test -s xz.data

# Not a wrapper that execs another one: those are lost.
python=/usr/bin/python3
[ -x $python ] || python=python3
py='import sys, hashlib
d = {i: str(i) for i in range(20000)}
print(hashlib.sha256(repr(sorted(d.items())).encode()).hexdigest(), sys.argv[1:], sys.stdin.read())'
echo hello | "$python" -c "$py" a 'b c' '' >py.want
echo hello | "$SKIDPROF" record --pmu sim -q -o py.data -- "$python" -c "$py" a 'b c' '' >py.got
check 'python3 -c prints the same, with its input and arguments' cmp py.want py.got

"$SKIDPROF" record --pmu sim -q -o st.data sh -c 'echo out; echo err >&2; exit 7' >st.out 2>st.err
ok $((! ($? == 7))) 'the exit status is the program'"'"'s'
check 'standard output is its own' test "$(cat st.out)" = out
check 'standard error is its own' test "$(cat st.err)" = err

"$SKIDPROF" record --pmu sim -q -o st.data -- sh -c 'kill -SEGV $$' >/dev/null 2>&1
ok $((! ($? == 139))) 'a program that dies of signal 11 gives 139'

GREETING='good day' "$SKIDPROF" record --pmu sim -q -o st.data -- sh -c 'echo "$GREETING"' >env.out
check 'the environment is passed on' test "$(cat env.out)" = 'good day'

printf '#!/bin/sh -u\necho "$0 $*"\n' >script
chmod +x script
./script x y >script.want
"$SKIDPROF" record --pmu sim -q -o st.data ./script x y >script.got
check 'a script runs with its interpreter' cmp script.want script.got
exit 0
