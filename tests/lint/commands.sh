#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command in the one table has a manual page and an end-to-end test.
set -u
cd "$(dirname "$0")/../.." || exit 1
bad=0
cmds=$(sed -n '/^static const struct cmd cmds\[\]/,/^};/s/.*{ "\([a-z-]*\)".*/\1/p' profiler/main.c)
[ -n "$cmds" ] || {
	echo 'no rows found in cmds[] of profiler/main.c'
	exit 1
}
for c in $cmds; do
	# `help` is described in skidprof(1) itself.
	page=man/skidprof-$c.1
	[ "$c" = help ] && page=man/skidprof.1
	[ -e "$page" ] || { echo "$c: no $page" && bad=1; }
	grep -qE "(SKIDPROF[\"}]*|skidprof) $c\b" tests/e2e/[0-9]*.sh 2>/dev/null ||
		{ echo "$c: no test in tests/e2e runs it" && bad=1; }
done
# And the other way round: no page of a command that is gone.
for page in man/skidprof-*.1; do
	[ -e "$page" ] || continue
	c=${page#man/skidprof-}
	grep -qx "${c%.1}" <<<"$cmds" || { echo "$page: no such command" && bad=1; }
done
exit $bad
