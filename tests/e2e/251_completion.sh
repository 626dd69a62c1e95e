#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion in bash, zsh and fish, asked of the shells themselves: every command, every option of --help, and words.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1
made=$BUILD/completion
[ -d "$made" ] || { echo 'skip: no completion was built (another machine'"'"'s program)'; exit 77; }
touch one.data two.core

commands=$("$SKIDPROF" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
n_asked=0
# ask LINE: its completion goes to out, a word a line.  One function for each shell.
ask_bash()
{
	bash --norc -c '. "$1"
		read -ra COMP_WORDS <<<"$2"
		[[ $2 == *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_skidprof
		printf "%s\n" "${COMPREPLY[@]}"' bash "$made/skidprof.bash" "$1" >out 2>err
}
ask_fish() { fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$made/skidprof.fish" "$1" 2>err | cut -f1 >out; }
# A terminal, as zsh completes nowhere else; what is added to its list goes to a file.
ask_zsh()
{
	rm -f out 'done'
	LINE=$1 timeout 60 zsh -f -c '
		zmodload zsh/zpty
		zpty shell zsh -f -i
		zpty -w shell "PS1= ; fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -D -u; zmodload zsh/complist"
		zpty -w shell "compadd() { if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd \"\$@\"; return; fi; local -a hits; builtin compadd -A hits \"\$@\"; print -rl -- \$hits >>out; builtin compadd \"\$@\" }"
		zpty -w shell "ask() { BUFFER=\$LINE; CURSOR=\$#BUFFER; zle list-choices; BUFFER=; : >done }; zle -N ask; bindkey ^X ask"
		zpty -w -n shell $'\''\x18'\''
		for ((i = 0; i < 3000; i++)); do
			[[ -e done ]] && break
			# What it writes is read, lest it waits.
			while zpty -r -t shell line; do :; done
			sleep 0.02
		done
		zpty -d shell' zsh "$made" >/dev/null 2>err
	touch out
}
offers() # SHELL LINE WORD...: these are offered
{
	local shell=$1 line=$2 word
	shift 2
	n_asked=$((n_asked + 1))
	"ask_$shell" "$line"
	for word; do
		grep -qxE -- "${word//+/\\+}[= ]?" out && continue
		echo "# '$line' offers no '$word' in $shell: $(tr '\n' ' ' <out | head -c 300) $(head -c 200 err)"
		return 1
	done
}
# What --help has, all of it and nothing else.
all_options() # SHELL COMMAND
{
	"ask_$1" "skidprof $2 --"
	sed 's/[= ]*$//' out | grep -- '^--' | sort -u >have
	"$SKIDPROF" "$2" --help | grep -oE -- '^ +(-., )?--[a-z][a-z-]*' | grep -oE -- '--.*' | sort -u >want
	cmp -s have want && [ -s want ] && return
	diff want have | sed 's/^/# /'
	return 1
}
check 'there are commands' test -n "$commands"
for shell in bash zsh fish; do
	command -v "$shell" >/dev/null || {
		n_tests=$((n_tests + 1))
		echo "ok $n_tests - $shell # SKIP $shell is not installed"
		continue
	}
	# shellcheck disable=SC2086 # a list of words
	check "$shell: commands" offers "$shell" 'skidprof ' $commands
	check "$shell: a command begun" offers "$shell" 'skidprof rep' report
	for c in $commands; do
		check "$shell: options of $c" all_options "$shell" "$c"
	done
	check "$shell: words of an option" offers "$shell" 'skidprof report --format ' text json csv
	check "$shell: one that is begun" offers "$shell" 'skidprof record --pmu s' sim
	check "$shell: a short option's" offers "$shell" 'skidprof record -j ' any any_call
	check "$shell: lists of words" offers "$shell" 'skidprof record -j cond,any_c' '(cond,)?any_call'
	check "$shell: lists of events" offers "$shell" 'skidprof record -e cycles,instr' '(cycles,)?instructions'
	check "$shell: words of numbers" offers "$shell" 'skidprof record --bursts ' auto
	check "$shell: words or files" offers "$shell" 'skidprof lift --tool ' llvm-mca one.data
	check "$shell: which are" offers "$shell" 'skidprof lift --tool ./o' '(./)?one.data'
	check "$shell: cores" offers "$shell" 'skidprof record --core ' zen5 skylake two.core
	check "$shell: files" offers "$shell" 'skidprof report -i ' one.data
	check "$shell: files of a command" offers "$shell" 'skidprof diff ' one.data
	check "$shell: commands of help" offers "$shell" 'skidprof help ' report record
	check "$shell: programs" offers "$shell" 'skidprof record env' env
	check "$shell: programs behind options" offers "$shell" 'skidprof record -o one.data --pmu sim env' env
	check "$shell: events" offers "$shell" 'skidprof record -e instr' instructions
	# Behind the program its own words are due, and none of ours.
	"ask_$shell" 'skidprof record -o one.data env --'
	check "$shell: none of ours behind the program" sh -c '! grep -qE "^--(burst-length|call-graph|pmu)" out'
done
check 'words of an option that is gone are refused when this is built' sh -c '
	mkdir -p man profiler/sim && ln -sf "$TOP/profiler/sim/cores" profiler/sim/cores && cp "$TOP"/man/completion.* man/ &&
	echo "report --nosuch a b" >>man/completion.words && ! man/completion.sh bash "$SKIDPROF" >out 2>err && grep -q "no report --nosuch" err'
finish
