# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for skidprof

# The long options of a command, from its own --help, so that this file can't fall behind.
_skidprof_options()
{
	"${COMP_WORDS[0]}" "$1" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | grep -oE -- '--.*' | sort -u
}

_skidprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} cmd=${COMP_WORDS[1]} words=
	COMPREPLY=()
	# "--format=js" is three words to bash.
	[ "$cur" = = ] && cur=
	[ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD - 2]}
	if [ "$COMP_CWORD" -eq 1 ]; then
		words='record report annotate diff truth compare lift calibrate doctor help --help --version'
	else
		case $cmd:$prev in
		*:--format) words='text json csv' ;;
		*:--color) words='auto always never' ;;
		*:--method) words='full raw loops path flow' ;;
		diff:--by) words='instructions cycles ipc executions' ;;
		diff:-a | diff:-b | diff:--before | diff:--after)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			compopt -o filenames 2>/dev/null
			return
			;;
		report:--sort) words='share raw fixed cycles ipc change status name calls' ;;
		compare:--by) words='function line insn' ;;
		lift:--tool) words='llvm-mca native native-splits sim sim-run osaca uica iaca ithemal' ;;
		record:--pmu) words='auto hardware clock sim' ;;
		record:-j | record:--branch-filter) words='any cond call ind_call any_call any_ret ind_jmp stack' ;;
		record:-p | record:--pid) words=$(cd /proc && echo [0-9]*) ;;
		record:-e | record:--events) words="help $("${COMP_WORDS[0]}" record -e help 2>/dev/null | grep -oE '^[A-Za-z][^ ]*')" ;;
		annotate:--prefix-map) return ;;
		help:*) words='record report annotate diff truth compare lift calibrate doctor' ;;
		*:-i | *:-o | *:--for | *:--input | *:--output | *:--truth | *:--core | *:--against | *:--html)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			compopt -o filenames 2>/dev/null
			return
			;;
		report:--min-share) return ;;
		*:--symfs | *:--debug-dir | *:--source-dir)
			mapfile -t COMPREPLY < <(compgen -d -- "$cur")
			compopt -o filenames 2>/dev/null
			return
			;;
		diff:*)
			if [[ $cur != -* ]]; then
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
				compopt -o filenames 2>/dev/null
				return
			fi
			words=$(_skidprof_options "$cmd")
			;;
		record:* | truth:*)
			if [[ $cur != -* ]]; then
				mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
				compopt -o filenames 2>/dev/null
				return
			fi
			words=$(_skidprof_options "$cmd")
			;;
		*) words=$(_skidprof_options "$cmd") ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _skidprof skidprof
