# SPDX-License-Identifier: GPL-3.0-or-later
# The writers of completion.sh, from its lines.  A kind is "{file}" and the like, words, or "" for what can't be completed; "," before
# it is a list of such, with commas between.
BEGIN { FS = "\t" }
$1 == "words" {
	n = split($2, w, / +/)
	for (i = 3; i <= n; i++)
		words[w[1], w[2]] = words[w[1], w[2]] (i > 3 ? " " : "") w[i]
}
$1 == "command" { command[++n_commands] = $2; summary[$2] = $3; names = names (names ? " " : "") $2 }
$1 == "option" {
	i = ++n_options
	owner[i] = $2; short[i] = $3 == "-" ? "" : $3; name[i] = $4; argument[i] = $5 == "-" ? "" : $5; text[i] = $6
	known[$2, $4]; any[$4]
	kind[i] = argument[i] ? kind_of($2, $4, $5) : ""
	if (argument[i] == "LIST" && kind[i]) kind[i] = "," kind[i]
}
END { check(); if (shell == "bash") bash(); else if (shell == "zsh") zsh(); else if (shell == "fish") fish(); else exit 2 }

# Nothing is said of what is no longer there.
function check(    w, part)
{
	for (w in words) {
		split(w, part, SUBSEP)
		if (part[2] != "-" && !((part[1], part[2]) in known) && !(part[1] == "*" && part[2] in any) ||
		    part[2] == "-" && !(part[1] in summary)) {
			print "completion.words: there is no " part[1] " " part[2] >"/dev/stderr"
			exit 1
		}
	}
}
function kind_of(owner, name, argument)
{
	if ((owner, name) in words) return words[owner, name]
	if (("*", name) in words) return words["*", name]
	if (argument == "FILE") return "{file}"
	if (argument ~ /^DIRS?$/) return "{folder}"
	if (argument == "PID" || argument == "TID") return "{process}"
	return ""
}
function quoted(s) { gsub(/'/, "'\\''", s); return "'" s "'" }
# With what splits a zsh specification taken literally.
function zsh_text(s) { gsub(/\\|\[|\]|:/, "\\\\&", s); return s }
# Names of an option as a pattern of case, behind "record:".
function pattern(i,    s) { s = owner[i] ":" name[i]; return short[i] ? s " | " owner[i] ":" short[i] : s }

function bash(    i, c)
{
	print "# SPDX-License-Identifier: GPL-3.0-or-later"
	print "# bash completion for skidprof, written by man/completion.sh"
	print "_skidprof_commands=" quoted(names)
	print "\n# The options of a command.\n_skidprof_options()\n{\n\tcase $1 in"
	for (c = 1; c <= n_commands; c++) {
		printf "\t%s) echo '", command[c]
		for (i = 1; i <= n_options; i++)
			if (owner[i] == command[c]) printf "%s ", name[i]
		print "' ;;"
	}
	print "\tesac\n}\n\n# What the argument of COMMAND:OPTION is: status 1 where it has none.\n_skidprof_kind()\n{\n\tcase $1 in"
	for (i = 1; i <= n_options; i++)
		if (argument[i]) print "\t" pattern(i) ") echo " quoted(kind[i]) " ;;"
	print "\t*) return 1 ;;\n\tesac\n}\n\n# What words of a command are that are no options.\n_skidprof_words()\n{\n\tcase $1 in"
	for (c = 1; c <= n_commands; c++)
		if ((command[c], "-") in words) print "\t" command[c] ") echo " quoted(words[command[c], "-"]) " ;;"
	print "\tesac\n}\n"
	while ((getline line < (ENVIRON["SKIDPROF_COMPLETION"] "/completion.bash.in")) > 0) {
		gsub(/@CORES@/, cores, line)
		print line
	}
}

# Words of those that may be a file as well; "" of others.
function words_or_file(kind) { return sub(/ *{file}$/, "", kind) ? kind : "" }

function zsh_action(kind)
{
	if (kind == ",{event}") return "_skidprof_events"
	if (sub(/^,/, "", kind)) return "{_sequence compadd - " kind "}"
	if (words_or_file(kind)) return "{compadd " words_or_file(kind) "; _files}"
	if (kind == "{file}") return "_files"
	if (kind == "{folder}") return "_files -/"
	if (kind == "{process}") return "_pids"
	if (kind == "{core}") return "_skidprof_cores"
	if (kind == "{command}") return "_skidprof_commands"
	return kind ? "(" kind ")" : " "
}
function zsh(    i, c, k)
{
	print "#compdef skidprof"
	print "# SPDX-License-Identifier: GPL-3.0-or-later"
	print "# zsh completion for skidprof, written by man/completion.sh\n"
	print "_skidprof_commands()\n{\n\tlocal -a commands=("
	for (c = 1; c <= n_commands; c++) print "\t\t" quoted(command[c] ":" zsh_text(summary[command[c]]))
	print "\t)\n\t_describe -t commands command commands\n}\n"
	print "_skidprof_events()\n{\n\tlocal -a events=(help ${(f)\"$(_call_program events skidprof record -e help 2>/dev/null | grep -oE '^[A-Za-z][^ ]*')\"})"
	print "\t_sequence compadd - $events\n}\n"
	print "_skidprof_cores()\n{\n\tcompadd " cores "\n\t_files\n}\n"
	print "_skidprof()\n{\n\tlocal curcontext=$curcontext state line\n\ttypeset -A opt_args"
	print "\tlocal -a rest=()"
	print "\t_arguments -C -A '-*' '(- *)'{-h,--help}'[list the commands]' '(- *)'{-V,--version}'[print the version]' \\"
	print "\t\t'1:command:_skidprof_commands' '*::argument:->rest'"
	print "\t[[ $state == rest ]] || return\n\tcase $words[1] in"
	for (c = 1; c <= n_commands; c++) {
		k = words[command[c], "-"]
		print "\t" command[c] ")\n\t\trest=("
		for (i = 1; i <= n_options; i++) {
			if (owner[i] != command[c]) continue
			printf "\t\t\t'*'"
			if (short[i]) printf "{%s%s,%s%s}", short[i], argument[i] ? "+" : "", name[i], argument[i] ? "=" : ""
			else printf "%s%s", name[i], argument[i] ? "=" : ""
			print quoted("[" zsh_text(text[i]) "]" (argument[i] ? ":" zsh_text(argument[i]) ":" zsh_action(kind[i]) : ""))
		}
		if (k == "{program}") print "\t\t\t'(-)1:program:_command_names -e' '*::argument:_normal'"
		else if (k) print "\t\t\t" quoted("*:word:" zsh_action(k))
		print "\t\t)\n\t\t_arguments -s -S" (k == "{program}" ? " -A '-*'" : "") " $rest\n\t\t;;"
	}
	print "\tesac\n}\n\n_skidprof \"$@\""
}

function fish_words(kind)
{
	if (kind == "{process}") return "(__fish_complete_pids)"
	if (kind == ",{event}") return "help (__fish_complete_list , __skidprof_events)"
	if (sub(/^,/, "", kind)) { gsub(/ /, "\\n", kind); return "(__fish_complete_list , \"printf '" kind "\\n'\")" }
	if (words_or_file(kind)) return words_or_file(kind) " (__fish_complete_path (commandline -ct))"
	if (kind == "{core}") return cores "(__fish_complete_suffix .core)"
	if (kind == "{folder}") return "(__fish_complete_directories (commandline -ct))"
	if (kind == "{command}") return names
	return kind
}
function fish_quoted(s) { gsub(/[\\']/, "\\\\&", s); return "'" s "'" }
# The names of its options that take an argument.
function taking(owned,    i, s)
{
	for (i = 1; i <= n_options; i++)
		if (owner[i] == owned && argument[i]) s = s (s ? " " : "") (short[i] ? short[i] " " : "") name[i]
	return s
}
function fish(    i, c, k, when)
{
	print "# SPDX-License-Identifier: GPL-3.0-or-later"
	print "# fish completion for skidprof, written by man/completion.sh\n"
	print "function __skidprof_events\n\tskidprof record -e help 2>/dev/null | string match -rg '^([A-Za-z][^ ]*) +(.*)' | paste -d '\\t' - -\nend\n"
	print "# Is an option or a word of that command's to come?  Behind the program that is recorded all is the program's."
	print "function __skidprof_at -a command\n\tset -l words (commandline -opc)\n\tset -l takes\n\tset -l i 3"
	print "\ttest (count $words) -gt 1; and test $words[2] = $command; or return 1\n\tswitch $command"
	for (c = 1; c <= n_commands; c++)
		if (words[command[c], "-"] == "{program}") print "\t\tcase " command[c] "\n\t\t\tset takes " taking(command[c])
	print "\t\tcase '*'\n\t\t\treturn 0\n\tend"
	print "\twhile test $i -le (count $words)\n\t\tif contains -- $words[$i] $takes\n\t\t\tset i (math $i + 1)"
	print "\t\telse if test $words[$i] = --; or not string match -q -- '-*' $words[$i]\n\t\t\treturn 1\n\t\tend"
	print "\t\tset i (math $i + 1)\n\tend\nend\n"
	print "complete -c skidprof -f"
	print "complete -c skidprof -n __fish_use_subcommand -s h -l help -d 'List the commands'"
	print "complete -c skidprof -n __fish_use_subcommand -s V -l version -d 'Print the version'"
	for (c = 1; c <= n_commands; c++)
		print "complete -c skidprof -n __fish_use_subcommand -a " command[c] " -d " fish_quoted(summary[command[c]])
	for (c = 1; c <= n_commands; c++) {
		when = "'__skidprof_at " command[c] "'"
		k = words[command[c], "-"]
		for (i = 1; i <= n_options; i++) {
			if (owner[i] != command[c]) continue
			printf "complete -c skidprof -n %s", when
			if (short[i]) printf " -s '%s'", substr(short[i], 2)
			printf " -l %s", substr(name[i], 3)
			if (argument[i]) {
				if (kind[i] == "{file}") printf " -r -F"
				else if (kind[i]) printf " -x -a " fish_quoted(fish_words(kind[i]))
				else printf " -x"
			}
			print " -d " fish_quoted(text[i])
		}
		if (k == "{program}")
			print "complete -c skidprof -n '__fish_seen_subcommand_from " command[c] "; and test (commandline -opc)[2] = " \
				command[c] "' -x -a '(__fish_complete_subcommand --fcs-skip=2 " taking(command[c]) ")'"
		else if (k == "{file}") print "complete -c skidprof -n " when " -F"
		else if (k) print "complete -c skidprof -n " when " -a " fish_quoted(fish_words(k))
	}
}
