#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lint.sh SOURCES...: everything that can be said about the tree without running it, one TAP line each.
set -u
cd "$(dirname "$0")/../.." || exit 1
n=0 failed=0
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

# lint NAME COMMAND...: its output is shown only when it fails.
lint()
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$out" 2>&1; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		# Without clang's quotations and paths to the fault: run the tool by hand for those.
		grep -vE '^[0-9]+ warnings? |^Suppressed |^Use -header-filter|: note: |^ {4,}|^\s*\^|^$' "$out" |
			sed "s|$PWD/||g; s/^/# /" | head -60
		failed=1
	fi
}

skip()
{
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $1 is not installed"
}

jobs=$(nproc)
mapfile -t sources < <(printf '%s\n' "$@" | sort -u)
mapfile -t formatted < <(find profiler correct report samples tests \( -name '*.[ch]' -o -name '*.cc' \) | sort)
mapfile -t scripts < <(find .ci tests samples man -name '*.sh' | sort; echo .ci/run)
mapfile -t pages < <(find man -name '*.[1-8]' 2>/dev/null | sort)
# shellcheck disable=SC2207 # a list of words
flags=(-std=gnu11 -D_GNU_SOURCE '-DSKIDPROF_VERSION="lint"' -iquote . -Wall -Wextra
	$(pkg-config --cflags libdw libelf capstone gsl libzstd smartcols jansson 2>/dev/null))

tidy()
{
	printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -I '{}' clang-tidy --quiet '{}' -- "${flags[@]}"
}

check_cpp()
{
	# identicalInnerCondition takes "if (*p) return *p;" for a slip.
	cppcheck --quiet --enable=warning,portability,performance --error-exitcode=1 --inline-suppr -j "$jobs" \
		--std=c11 -D_GNU_SOURCE -D__x86_64__ -I . --suppress=missingIncludeSystem --suppress=identicalInnerCondition --suppress=readdirCalled \
		--library=posix,gnu "${sources[@]}"
}

[ ${#sources[@]} -gt 0 ] && [ -n "${sources[0]}" ] || {
	echo 'lint.sh: which sources?' >&2
	exit 2
}
lint 'the map has every folder, and includes point one way' tests/lint/includes.sh
lint 'every command has its page and test' tests/lint/commands.sh
lint 'every equation is written down and tested' tests/lint/equations.sh
lint 'constants of the model stand in its table' tests/lint/constants.sh
lint 'white space, licence lines, paths' tests/lint/text.sh
lint 'clang-format' clang-format --dry-run -Werror "${formatted[@]}"
lint 'cppcheck' check_cpp
lint 'clang-tidy' tidy
if [ ${#pages[@]} -gt 0 ]; then
	lint 'mandoc' mandoc -T lint -W warning "${pages[@]}"
else
	n=$((n + 1)) failed=1
	echo "not ok $n - mandoc: no manual pages"
fi
if command -v shellcheck >/dev/null 2>&1; then
	lint 'shellcheck' shellcheck -S warning "${scripts[@]}"
else
	skip 'shellcheck'
fi
echo "1..$n"
exit $failed
