#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The user's configuration stands first on the command line; what is wrong in it is named with its file and line.  And rows below
# a least share.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
record_two || exit 1
export XDG_CONFIG_HOME=$PWD/xdg
unset SKIDPROF_CONFIG
mkdir -p xdg/skidprof

# config LINE...: the file
config() { printf '%s\n' "$@" >xdg/skidprof/config; }
rows() { grep -vc '^#\|^$\|^ *SHARE' out; }

SKIDPROF_CONFIG=/dev/zero timeout 20 "$SKIDPROF" report --raw -i two.data >out 2>err
check 'a file without an end is none' test $? -eq 1 -a "$(wc -l <err)" -eq 1
check 'and is named' grep -q '/dev/zero' err
check 'without a file there is nothing to read' status 0 "$SKIDPROF" report --raw -i two.data
config '# of mine' '' '[record]' 'quiet' '[report]' '  limit = 1  ' 'raw' 'no-debuginfod = off' '; more'
check 'a limit that is configured' status 0 "$SKIDPROF" report -i two.data
check 'holds' test "$(rows)" -eq 1
check 'and so does an option without an argument' sh -c '! grep -q FIXED out'
check 'the command line prevails' status 0 "$SKIDPROF" report -i two.data --limit 2 --both
check 'in both' test "$(rows)" -eq 2 -a "$(grep -c 'FIXED' out)" -eq 1
check 'options of the recorder are its own' status 0 "$SKIDPROF" record --pmu sim -o q.data ./two
check 'and are taken' test ! -s err
check 'the program keeps its arguments' sh -c '"$SKIDPROF" record --pmu clock -o q.data echo -q two 2>/dev/null | grep -qx -- "-q two"'

# refused LINE TEXT: the configuration is refused, and that is said
refused()
{
	status "$1" "$SKIDPROF" report -i two.data && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$2" err
}
config '[report]' '' 'limt = 3'
check 'a misspelt key is named with file and line' refused 1 "$XDG_CONFIG_HOME/skidprof/config:3: limt: 'skidprof report' has no such option; did you mean limit?"
config '[reprot]'
check 'a misspelt section' refused 1 'config:1: [reprot]: no such command; did you mean [report]?'
config '[report'
check 'a section without its end' refused 1 "config:1: a section is written [NAME]"
config 'limit = 3'
check 'a key in no section' refused 1 'config:1: limit: in which command?'
config '[report]' 'raw = perhaps'
check 'a switch that is neither on nor off' refused 1 "config:2: raw is on or off, and not 'perhaps'"
config '[report]' 'limit'
check 'a value that is missing' refused 1 'config:2: limit needs a value: limit = N'
config '[report]' '# x' 'limit = many'
check 'a value that the command refuses' refused 2 "config:3: --limit: 'many'"
export SKIDPROF_CONFIG=
check 'an empty SKIDPROF_CONFIG is none' status 0 "$SKIDPROF" report --raw -i two.data
export SKIDPROF_CONFIG=$PWD/gone
check 'a file that was named has to be there' refused 1 "$PWD/gone: No such file"
export SKIDPROF_CONFIG=

# The file that is looked for, in a folder of another user: passed over, in a line.  One that was named has to be read.
as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
mkdir -p private/.config/skidprof
printf '%s\n' '[report]' 'limt = 3' >private/.config/skidprof/config
# Of a program that anybody may read, wherever the tests lie.
"$SKIDPROF" record --pmu sim -q -o true.data true
cp "$SKIDPROF" ours && chmod 755 . ours && chmod 644 true.data && chmod 700 private
if [ "$(id -u)" -eq 0 ] && $as_nobody ./ours --version >/dev/null 2>&1; then
	theirs="env -u SKIDPROF_CONFIG -u XDG_CONFIG_HOME HOME=private ./ours"
	check 'one that may not be read stops nothing' status 0 $as_nobody $theirs report --raw -i true.data
	check 'and is told once' test "$(cat err)" = 'skidprof: warning: private/.config/skidprof/config: may not be read (Permission denied), and is passed over'
	check 'but not to who wants quiet' status 0 $as_nobody $theirs report -q --raw -i true.data
	check 'who hears nothing' test ! -s err
	check 'one that was named is an error' status 1 $as_nobody env SKIDPROF_CONFIG=private/.config/skidprof/config ./ours report --raw -i true.data
	check 'of one line' one_line 'private/.config/skidprof/config: Permission denied'
else
	echo "ok $((++n_tests)) - one that may not be read # SKIP not root, or nobody can't get here"
fi

# mix and main are nearly all; each row of the dynamic linker has less than 1%.
check 'a least share' status 0 "$SKIDPROF" report --raw -i two.data --min-share 1%
check 'leaves out what has less' sh -c 'awk "/^ *[0-9.]+%/ && \$1 + 0 < 1 { bad = 1 } END { exit bad }" out'
check 'and says how much that is, of the time too' grep -Eq '^# [0-9]+ more functions, 0\.[0-9]+% (of the instructions and [0-9.]+% of the cycles )?together, are below --min-share$' out
check 'as data too' status 0 "$SKIDPROF" report --raw -i two.data --min-share 1% --format csv
check 'only those rows are there' python3 - <<'P'
import csv
rows = list(csv.DictReader(open('out')))
assert 1 <= len(rows) <= 5 and all(float(r['share']) >= 0.01 for r in rows)
P
check 'a share of nothing is none' status 2 "$SKIDPROF" report -i two.data --min-share 2
finish
