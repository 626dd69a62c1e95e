#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Command lines: help, suggestions, exit statuses, pipes, full disks, terminals; manual pages and completion of every command.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
record_two || exit 1

commands=$("$SKIDPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
check 'there are commands' test -n "$commands"
for c in $commands; do
	check "$c --help" status 0 "$SKIDPROF" "$c" --help
	check "$c --help has a usage line of its own name" has out "Usage: skidprof $c"
	check "help $c is the same" sh -c 'cp out direct && "$SKIDPROF" help '"$c"' >out 2>err && cmp direct out'
	[ "$c" = help ] && continue
	check "$c has a manual page" test -f "$TOP/man/skidprof-$c.1"
	check "$c is in skidprof(1)" has "$TOP/man/skidprof.1" "skidprof-$c 1"
	"$SKIDPROF" "$c" --help | grep -oE -- ' --[a-z][a-z-]*' | sort -u | while read -r o; do
		case $o in --help | --usage | --version | --verbose | --quiet) continue ;; esac
		grep -qF -- "${o#--}" "$TOP/man/skidprof-$c.1" || echo "$o"
	done >missing
	# A synopsis is whole, or says that there is more.
	sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESC/p' "$TOP/man/skidprof-$c.1" >synopsis
	"$SKIDPROF" "$c" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z][a-z-]*' | sed 's/^ *//; s/,//' | while read -r short long; do
		case $short in --*) long=$short ;; esac
		case $long in --help | --usage | --version | --verbose | --quiet) continue ;; esac
		grep -qE "^\.Ar option|^\.Op Ar option" synopsis || grep -qE "F[l] (${short#-}|(Fl |-)${long#--})( |$)" synopsis || echo "$long"
	done >unsaid
	check "all options of $c are in its synopsis, or [option ...] is" sh -c '[ ! -s unsaid ] || { echo "# $(tr "\n" " " <unsaid)"; exit 1; }'
	check "all options of $c are in its manual page" sh -c '[ ! -s missing ] || { echo "# $(tr "\n" " " <missing)"; exit 1; }'
done
if command -v mandoc >/dev/null; then
	for page in "$TOP"/man/*.[17]; do
		check "${page##*/} is sound" sh -c 'out=$(mandoc -T lint -W warning "$1" 2>&1); [ -z "$out" ] || { echo "# $out" | head -5; exit 1; }' sh "$page"
	done
fi

check 'no command' status 2 "$SKIDPROF"
check 'a misspelt command' status 2 "$SKIDPROF" reprot
check 'gets a suggestion' one_line "did you mean 'report'?"
check 'a command cut short' status 2 "$SKIDPROF" rep
check 'is not guessed' one_line "did you mean 'report'?"
check 'help for one that is none' status 2 "$SKIDPROF" help comapre
check 'suggests, too' one_line "did you mean 'compare'?"
check 'a format is no option' status 2 "$SKIDPROF" report --json
check 'but --format takes it' one_line 'did you mean --format json?'
check 'an option is no argument of another' status 2 "$SKIDPROF" report -i two.data --callers --fixed
check 'which is said' one_line 'option --callers needs an argument, and --fixed is another option'
check 'a function that is not there' status 1 "$SKIDPROF" report -i two.data --why nosuch
check 'has no report before that is said' test ! -s out
check 'a misspelt option of all' status 2 "$SKIDPROF" --verson
check 'is no command' one_line "unknown option --verson; did you mean --version?"
check 'two tables' status 2 "$SKIDPROF" report --regions --callers main -i two.data
check 'are one too many' one_line '--regions and --callers: one at a time'
check 'and so are two kinds of counts' status 2 "$SKIDPROF" report --raw --fixed -i two.data
check 'which are named' one_line '--raw and --fixed: one at a time'
check 'one said twice is one' status 0 "$SKIDPROF" report --raw --raw -i two.data
check 'a misspelt option' status 2 "$SKIDPROF" report --fromat json
check 'gets a suggestion as well' one_line 'did you mean --format?'
check 'a misspelt word' status 2 "$SKIDPROF" report --format jsno
check 'gets one, too' one_line "did you mean 'json'?"
check 'a misspelt method' status 2 "$SKIDPROF" report --method ful
check 'and so on' one_line "did you mean 'full'?"
check 'a misspelt key' status 2 "$SKIDPROF" report --sort cycle
check 'for keys' one_line "did you mean 'cycles'?"
check 'no number' status 2 "$SKIDPROF" report --limit many
check 'is named' one_line "--limit: 'many'"
check 'a misspelt constant of the model' status 2 "$SKIDPROF" report --model fw=20 -i two.data
check 'gets a suggestion, too' one_line "did you mean 'few'?"
check 'a constant out of its range' status 2 "$SKIDPROF" report --model small=2 -i two.data
check 'is told the range' one_line '--model: small is from 0 to 1, not 2'
check 'all constants are listed' status 0 "$SKIDPROF" report --model help
check 'with values and reasons' grep -qE '^few +10  [a-z]' out
check 'some are changed' status 0 "$SKIDPROF" report --model few=20 --model small=0.02 -i two.data
check 'which the first line says' sh -c 'head -1 out | grep -q "; AN EXPERIMENT, --model few=20, small=0.02$"'
check 'in JSON, too' status 0 "$SKIDPROF" report --model few=20 --format json -i two.data
check 'they are named' json 'd["meta"]["model"] == "few=20"'
check 'nothing is named' status 0 "$SKIDPROF" report --format json -i two.data
check 'where nothing was changed' json 'd["meta"]["model"] is None'
check 'a negative skid' status 2 "$SKIDPROF" report --skid=-3
check 'is named, too' one_line "--skid: '-3'"
check 'a file without -i' status 0 "$SKIDPROF" report --raw two.data
check 'a second one is refused' status 2 "$SKIDPROF" report two.data three.data
check 'and named' one_line "unexpected argument 'three.data'"
check 'and told what compares two' one_line "'skidprof diff' compares two"
check 'a file in the place of a function' status 1 "$SKIDPROF" annotate -i two.data two.data
check 'is told the option' one_line "no function 'two.data' in this profile, but a file: a recording is named with -i"
mkdir -p empty
check 'also where no recording is named' sh -c 'cd empty && ! "$SKIDPROF" annotate ../two.data 2>../err && ! "$SKIDPROF" report --why ../two.data 2>>../err'
check 'instead of one that is not there' grep -cq "name it with -i ../two.data" err
check '-h is --help' status 0 "$SKIDPROF" report -h
check 'and says as much' cmp -s out <("$SKIDPROF" report --help)
check 'an ambiguous abbreviation is a usage error' status 2 "$SKIDPROF" report --no
check 'an argument too few' status 2 "$SKIDPROF" report -i

# perf's names of options (profiler/base/perf_options.c): taken for ours, or told which of ours does it.
check 'options of perf that become ours' status 0 "$SKIDPROF" report -S main --stdio --no-children --percent-limit 1 -s share -i two.data
check 'do as ours' cmp -s out <("$SKIDPROF" report --function main --min-share 1% -i two.data)
check 'also of a function to annotate' status 0 "$SKIDPROF" annotate --stdio -l -s main -i two.data
check 'which is the argument here' cmp -s out <("$SKIDPROF" annotate main -i two.data)
check 'or behind its =' status 0 "$SKIDPROF" annotate --symbol=main -i two.data
check 'is the same' cmp -s out <("$SKIDPROF" annotate main -i two.data)
check 'one that is another of ours' status 2 "$SKIDPROF" report -g -i two.data
check 'is told which' one_line "skidprof report: perf's -g is --callers FUNCTION, --callees FUNCTION or --children here"
check 'one that there is none for' status 2 "$SKIDPROF" report --dsos=libc.so.6 -i two.data
check 'is told so' one_line "perf's --dsos is not here: --function GLOB"
check "a key that perf sorts by" status 2 "$SKIDPROF" report -s comm,dso -i two.data
check 'is told the view' one_line "perf's --sort comm is --processes here"
check 'a name of perf record' status 0 "$SKIDPROF" record --event help
check 'is no option of report' status 2 "$SKIDPROF" report --event-any
sed -n 's/^\t{ "\([a-z ]*\)".* \(OURS\|PERCENT\), "\([a-z-]*\)" },$/\1:\3/p' "$TOP/profiler/base/perf_options.c" >rows
while IFS=: read -r of ours; do
	for c in $of; do
		"$SKIDPROF" "$c" --help | grep -qE -- "--$ours\>" || echo "$c --$ours"
	done
done <rows >missing
check 'all that they become is there' sh -c '[ -s rows ] && [ ! -s missing ]'

check 'report | head ends quietly' bash -c '"$SKIDPROF" report --raw --limit 0 -i two.data 2>err | head -1 >out; [ ! -s err ] && [ -s out ]'
check 'also where SIGPIPE is ignored' python3 -c '
import os, signal, subprocess, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
read, write = os.pipe()
os.close(read)
p = subprocess.run([os.environ["SKIDPROF"], "report", "--raw", "-i", "two.data"], stdout=write, stderr=subprocess.PIPE, restore_signals=False)
sys.exit(0 if p.returncode == 0 and not p.stderr else 1)'
check 'a full disk is an error' sh -c '"$SKIDPROF" report --raw -i two.data >/dev/full 2>err; [ $? -eq 1 ] && grep -q "standard output" err'
check 'and said to be, in long output too' sh -c '! "$SKIDPROF" report --format json --limit 0 -i two.data >/dev/full 2>err && grep -q "No space left" err'
check 'a page in a place that is not there' status 1 "$SKIDPROF" report --html nowhere/x.html -i two.data
check 'is named as it was given' one_line 'nowhere/x.html: cannot be written; choose another place with --html: No such file or directory'
check 'no colour in a pipe' sh -c '"$SKIDPROF" report --raw -i two.data >out && ! grep -q "$(printf "\033")" out'
check 'colour where it is asked for' sh -c '"$SKIDPROF" report -i two.data --color always >out && grep -q "$(printf "\033")" out'

# On a terminal of 80 columns: no line of the table is longer, a pager runs, colour as NO_COLOR says.
terminal() # ENVIRONMENT... -- ARGUMENTS...
{
	python3 - "$@" <<'END'
import os, pty, re, sys
words = sys.argv[1:]
at = words.index("--")
env = dict(os.environ, TERM="xterm", COLUMNS="80", **dict(w.split("=", 1) for w in words[:at]))
out = b""
def read(fd):
    global out
    data = os.read(fd, 65536)
    out += data
    return b""
pid, fd = pty.fork()
if pid == 0:
    os.execve(os.environ["SKIDPROF"], ["skidprof"] + words[at + 1:], env)
try:
    while True:
        data = os.read(fd, 65536)
        if not data:
            break
        out += data
except OSError:
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
# Of a line of progress nothing is left in the end: what stands before a return of the carriage was written over.
open("out", "wb").write(re.sub(rb"[^\n]*\r(\x1b\[K)?", b"", out.replace(b"\r\n", b"\n")))
sys.exit(status)
END
}
check 'on a terminal' terminal PAGER= -- report -i two.data --limit 5
check 'the table is as narrow as that' sh -c 'sed "s/$(printf "\033")\[[0-9;]*m//g" out | awk "/^SHARE/ { on = 1 } on && !/^#/ && length > 80 { exit 1 } END { exit !on }"'
check 'and in colour' grep -q "$(printf '\033')" out
check 'NO_COLOR' terminal PAGER= NO_COLOR=1 -- report -i two.data --limit 5
# A progress line, which a busy machine makes come, has no colour.
check 'is heeded' sh -c '! grep -q "$(printf "\033")\[[0-9;]*m" out'
check 'a pager' terminal 'PAGER=sed s/^/paged:/' -- report -i two.data --limit 5
check 'is run' grep -q '^paged:SHARE' out
check '--no-pager' terminal 'PAGER=sed s/^/paged:/' -- report -i two.data --limit 5 --no-pager
check 'runs none' sh -c '! grep -q "^paged:" out'
check 'JSON is not paged' terminal 'PAGER=sed s/^/paged:/' -- report -i two.data --format json
check 'nor coloured' json 'd["skidprof"] == 1'
finish
