#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# top on a terminal of 80 columns that tmux stands in for, and what is no terminal.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
record_two || exit 1

check 'a pipe is no terminal' sh -c '"$SKIDPROF" top two.data 2>err | cat >out; [ ! -s out ]'
check 'and one line says what is for it' one_line 'skidprof report and annotate write anywhere'
check 'which is a failure' status 1 "$SKIDPROF" top two.data
check 'nothing is read before' sh -c '"$SKIDPROF" top no-such.data >/dev/null 2>err; grep -q "draws on a terminal" err'
check 'no format' status 2 "$SKIDPROF" top --format json two.data
check 'one file' status 2 "$SKIDPROF" top two.data two.data
if ! command -v tmux >/dev/null; then
	echo "ok $((n_tests += 1)) - a terminal # SKIP no tmux"
	finish
fi

# A server of our own, which neither reads a configuration nor meets another's.
mux() { TMUX='' tmux -f /dev/null -S "$SCRATCH/mux" "$@" 2>/dev/null; }
trap 'mux kill-server' EXIT
# screen PATTERN: wait until the terminal shows it; the screen is in the file screen.
screen()
{
	for _ in $(seq 300); do
		mux capture-pane -p -t top >screen
		grep -qE -- "$1" screen && return
		sleep 0.1
	done
	echo "# no '$1' on the screen:"
	sed 's/^/# /' screen
	return 1
}
keys() { mux send-keys -t top "$@"; }
narrow() { awk -v w="$1" 'length($0) > w { bad = 1 } END { exit bad }' screen; }
start()
{
	mux kill-session -t top
	# A server whose last session ends goes, and a new one may meet it on its way out.
	for _ in $(seq 50); do
		mux new-session -d -s top -x "${2:-80}" -y "${3:-24}" "$1" && return
		sleep 0.1
	done
	echo '# no session of tmux'
}

start "'$SKIDPROF' top two.data; echo left with \$?; sleep 600"
check 'a list' screen 'skidprof: functions +\[1-'
check 'of 80 columns' narrow 80
check 'with raw beside fixed' screen '^SHARE +RAW +FIXED'
check 'and main in it' screen '% .* main$'
keys / m i x Enter
check 'a word is found' screen 'mix \(inlined\)'
keys a
check 'an inlined function is shown in the one that holds it' screen 'source and assembly of mix'
check 'its source' screen 'LINE SOURCE'
keys c
check 'of which nobody is the caller, with a word why' screen 'is inlined, and not called: into'
keys q
keys / a d d r e s s Enter
check 'a place in it' screen 'ADDRESS INSTRUCTION'
keys G
check 'to its end' screen '\[[0-9]+-([0-9]+) of \1\]'
keys q
check 'and back' screen 'skidprof: functions'
keys / c h e a p Enter c
check 'callers' screen 'callers of cheap'
check 'one of them' screen ' main$'
keys e
check 'callees of a caller' screen 'callees of main'
keys q q w
check 'why' screen 'why: cheap'
keys q '?'
check 'keys' screen 'Left, Right +scroll sideways'
keys q i
check 'what the numbers come from' screen 'file two.data'
keys q t
check 'callees counted in' screen 'functions with their callees'
keys t s s
check 'by another key' screen 'by fixed'
keys r
check 'other counts' screen 'counts: fixed'
keys x
check 'a key that is none' screen '\? lists the keys'
mux resize-window -t top -x 40 -y 10
check 'a smaller terminal' screen 'functions +\[1-7 of'
check 'is kept to' narrow 40
mux resize-window -t top -x 20 -y 10
check 'a terminal of 20 columns still has names' screen '^[0-9.]+% +(fixed +|weak +|raw +)?(main|mix|cheap)'
check 'and is kept to, too' narrow 20
mux resize-window -t top -x 132 -y 40
check 'a larger one' screen 'functions +\[1-[0-9]+ of'
keys q
check 'left' screen 'left with [03]'

start "TERM=dumb '$SKIDPROF' top two.data; sleep 600"
check 'a terminal without a cursor' screen "TERM=dumb can't place its cursor"
start "TERM=none-such '$SKIDPROF' top two.data; sleep 600"
check 'one that is not known' screen 'TERM=none-such is not known here'
start "'$SKIDPROF' top --method raw - <two.data; echo left with \$?; sleep 600"
check 'a recording from standard input' screen 'skidprof: functions'
keys Q
check 'keys are the terminal'"'"'s' screen 'left with [03]'
: >empty
start "'$SKIDPROF' top empty; echo left with \$?; sleep 600" 120
check 'an empty file' screen 'left with 1'
check 'is said to be one' has screen 'empty'
start "'$SKIDPROF' top --method raw --symfs /none two.data; echo left with \$?; sleep 600" 120
check 'no binary' screen 'functions'
keys Enter
check 'has no source, and that is no crash' screen 'skidprof: '
keys Q
check 'and an end' screen 'left with [03]'

# ended SIGNAL: top dies of it, and what the shell then says is on a terminal as it was: neither raw nor the other screen.
cat >ended <<'END'
"$SKIDPROF" top --method raw two.data
echo "left with $?, $(stty -a | grep -oE -- '-?\b(icanon|echo|onlcr)\b' | xargs)."
sleep 600
END
ended()
{
	start "bash ended" 120
	screen 'skidprof: functions' || return
	kill -"$1" "$(pgrep -P "$(mux display -p -t top '#{pane_pid}')")"
	screen "left with $((128 + $(kill -l "$1"))), onlcr icanon echo\." &&
		[ "$(mux display -p -t top '#{alternate_on} #{cursor_flag}')" = '0 1' ]
}
for sig in HUP TERM INT QUIT; do
	check "SIG$sig ends it, and the terminal is as before" ended $sig
done
start "trap '' HUP; '$SKIDPROF' top --method raw two.data; sleep 600"
check 'what is to outlive the terminal' screen 'skidprof: functions'
kill -HUP "$(pgrep -P "$(mux display -p -t top '#{pane_pid}')")"
keys w
check 'goes on' screen 'skidprof: why'
finish
