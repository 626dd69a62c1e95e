#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Ctrl-C in the midst of lift and calibrate: the signal ends them, a good file stays, and nothing half-written or at work is left.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
# Shells keep signals of the terminal from what they start in the background.
interruptible=(env "--default-signal=INT,TERM" TMPDIR=tmp XDG_CACHE_HOME="$PWD/cache")
"${interruptible[@]}" true 2>/dev/null || { echo 'skip: env without --default-signal' && exit 77; }
mkdir tmp cache
record_two || exit 1
"$SKIDPROF" truth -q -o two.counts ./two >/dev/null || exit 1

# wait_until COMMAND...: for what will never come two minutes are enough.
wait_until()
{
	local end=$((SECONDS + 120))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}
asks_tool() { [ -e asked ]; }
# interrupt SIGNAL STATUS: what runs as $pid.
interrupt()
{
	local got
	kill -s "$1" "$pid"
	wait "$pid"
	got=$?
	[ "$got" -eq "$2" ] && return
	echo "# exited with $got, not $2"
	return 1
}
# Of the tool and all that it started: a process has this in its environment.
none_works() { ! grep -qsz "^SKIDPROF_INTERRUPTED=$$\$" /proc/[0-9]*/environ; }

cat >slow <<'END'
#!/bin/sh
[ "$1" = -V ] && echo slow 1.0 && exit
: >asked
sleep 300
END
chmod +x slow
printf 'give object\nrun ./slow {file}\nversion ./slow -V\ntake ^Cycles: ([0-9]+)\n' >slow.tool
for signal in INT TERM; do
	rm -f asked
	SKIDPROF_INTERRUPTED=$$ "${interruptible[@]}" "$SKIDPROF" lift --truth two.counts --kernel main --tool ./slow.tool >out 2>err &
	pid=$!
	check 'a tool is asked' wait_until asks_tool
	check "SIG$signal ends lift as signals do" interrupt $signal $((128 + $(kill -l $signal)))
	check 'no temporary folder is left' test -z "$(ls -A tmp)"
	check 'nor a tool at work' wait_until none_works
	check 'nor a prediction' test -z "$(find cache -type f)"
done

# Who writes to a pipe without a reader waits: in the midst of a page.
printf '#!/bin/sh\n[ "$1" = -V ] && echo quick 1.0 && exit\necho "Cycles: 3"\n' >quick
chmod +x quick
printf 'give hex\nrun ./quick {hex}\nversion ./quick -V\ntake ^Cycles: ([0-9]+)\n' >quick.tool
echo good >page.html
mkfifo page.html.part
"${interruptible[@]}" "$SKIDPROF" lift --truth two.counts --kernel main --tool ./quick.tool --html page.html >out 2>err &
pid=$!
writes() { [ "$(readlink /proc/$pid/exe)" = "$(readlink -f "$SKIDPROF")" ] && grep -q '^State:.S' /proc/$pid/status && [ -n "$(find cache -type f)" ]; }
wait_until writes
sleep 1
check 'lift waits to write its page' kill -0 $pid
check 'and ends by the signal' interrupt INT 130
check 'the good page is kept' grep -qx good page.html
check 'and half of the other one is not' test ! -e page.html.part

# Only where cliffs can be measured: elsewhere it has said so by now.
echo good >my.core
"${interruptible[@]}" "$SKIDPROF" calibrate -o my.core --html page.html >out 2>err &
pid=$!
sleep 1
if kill -0 $pid 2>/dev/null; then
	check 'calibrate ends by the signal' interrupt INT 130
	check 'its good files are kept' sh -c 'grep -qx good my.core && grep -qx good page.html'
	check 'and no others made' sh -c '! ls | grep -q "\.part$"'
	check 'nothing is told' test ! -s out
fi
exit $failed
