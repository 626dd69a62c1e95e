#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One page: whole, small, needs nothing else, and no name or source line of the program becomes more than text in it.
set -u
. "$TOP/tests/e2e/lib400.sh"
cd "$SCRATCH" || exit 1

# A function, a file and a line that would like to be a part of the page.
bad='evil<img src=x onerror="document.title=1">.c'
cat >"$bad" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t evil(uint64_t x, int n) __asm__("\"</script><script>document.title='owned'</script>&<b>\"");
__attribute__((noinline, noclone)) uint64_t evil(uint64_t x, int n)
{
	for (int i = 0; i < n; i++) /* </script><script>document.title='owned'</script><img src=x onerror=alert(1)> */
		x = (x ^ x >> 7) * 0xff51afd7ed558ccdull + (x >> (i & 31));
	return x;
}

int main(int argc, char **argv)
{
	uint64_t x = 1;

	for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 20000); i++)
		x += evil(x, 20);
	printf("%d\n", x != 0);
	return 0;
}
END
gcc -O2 -fno-unroll-loops -g "$bad" -o evil || {
	echo 'ok 1 - a hostile program # SKIP the assembler takes no such name'
	echo '1..1'
	exit 0
}
"$SKIDPROF" record --pmu sim --bursts 500000 -q -o evil.data --truth evil.truth ./evil >/dev/null || exit 1
check 'a page is written' status 0 "$SKIDPROF" report -i evil.data --html evil.html
check 'and nothing else' test ! -s out
check 'no draft is left' test ! -e evil.html.part
check 'a page to standard output' status 0 "$SKIDPROF" report -i evil.data --html -
check 'is the same one' sh -c 'cmp out evil.html && ! test -e ./-'
cat >look.py <<'END'
import json
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.S)
assert len(scripts) == 2 and page.count("</script>") == 2, len(scripts)
assert "<" not in scripts[0]
data = json.loads(scripts[0])
# Outside of the data there is no address but that of SVG's name space, and nothing is loaded.
rest = page.replace(scripts[0], "")
assert re.findall(r"https?://[^\"']*", rest) == ["http://www.w3.org/2000/svg"], re.findall(r"https?://[^\"']*", rest)
assert "default-src 'none'" in page and "<img" not in page and "innerHTML" not in page
END
check 'its data is text that ends no script, and it names no other place' python3 look.py evil.html
cat >data.py <<'END'
import json
import re

page = open("evil.html", encoding="utf-8").read()
data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
names = [f["name"] for f in data["functions"]]
assert any("owned" in n for n in names), names
evil = [a for a in data["annotations"] if "owned" in a["function"]][0]
text = json.dumps(evil["lines"])
assert "onerror=alert" in text and evil["loops"] and evil["instructions"]
assert data["flame"]["frames"] and data["time"]["steps"] and data["graphs"][0]["blocks"]
total = sum(f[3] for f in data["flame"]["frames"])
fixed = sum(f["fixed"] for f in data["functions"])
assert abs(total / fixed - 1) < 0.02, (total, fixed)
# Bursts have stacks: next to nothing is a guess.
assert "stacks of bursts" in data["flame"]["note"], data["flame"]["note"]
assert sum(f[3] for f in data["flame"]["frames"] if f[5]) < 0.05 * total
END
check 'the flame graph, source, loops, regions and time are in it' python3 data.py
"$SKIDPROF" report -i evil.data --truth evil.truth --html exact.html 2>err
check 'a page of exact counts is one, too' python3 look.py exact.html
check 'a page of what differs' status 0 "$SKIDPROF" diff evil.data evil.truth --html diff.html
check 'is one as well' python3 look.py diff.html
"$SKIDPROF" record -q -o clock.data ./evil 8000000 >/dev/null 2>&1
check 'a page of time' status 0 "$SKIDPROF" report -q -i clock.data --html clock.html
check 'and one of its differences' status 0 "$SKIDPROF" diff -q clock.data clock.data --html clocks.html
cat >doubts.py <<'END'
import json
import re

def doubts(name):
    return json.loads(re.search(r'id="data">(.*?)</script>', open(name, encoding="utf-8").read(), re.S)[1])["doubts"]

assert doubts("clock.html")
assert all(re.match("(before|after): ", d) for d in doubts("clocks.html")), doubts("clocks.html")
END
check 'doubts of it say which recording they are of, and speak of no columns of another page' python3 doubts.py
check 'and nothing else is written' test ! -s out

if command -v chromium >/dev/null; then
	# browse TAB [PAGE]: the page's elements after its script ran.
	browse()
	{
		timeout 100 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=3000 \
			--user-data-dir="$SCRATCH/chromium" --dump-dom "file://$SCRATCH/${2:-evil.html}#$1" >dom 2>/dev/null
	}
	browse functions
	check 'a browser shows the functions' sh -c 'grep -qE "insns/.?call" dom && grep -q "evil.data\|./evil" dom'
	check 'no name was run' sh -c '! grep -qE "<title>(owned|1)<" dom && ! grep -q "<img" dom'
	check 'the hostile name is text' has dom "&lt;/script&gt;&lt;script&gt;document.title='owned'"
	for tab in flame code regions time facts; do
		browse $tab
		check "the tab $tab is filled" python3 -c '
import re, sys
dom = open("dom", encoding="utf-8").read()
body = re.search(r"<section id=\"tab-" + sys.argv[1] + r"\"[^>]*>(.*?)</section>", dom, re.S)[1]
assert len(re.sub(r"<[^>]*>", "", body)) > 30, body[:200]' "$tab"
		check 'and nothing was run' sh -c '! grep -qE "<title>(owned|1)<" dom && ! grep -q "<img" dom'
		check "no element is called $tab: the browser would scroll to it, past the head" sh -c "! grep -q 'id=\"$tab\"' dom"
		[ $tab = code ] && check 'with a line of source' has dom 'onerror=alert(1)'
	done
	for tab in functions lines; do
		browse $tab diff.html
		check "$tab that differ are there" python3 -c '
import re, sys
dom = open("dom", encoding="utf-8").read()
body = re.search(r"<section id=\"tab-" + sys.argv[1] + r"\"[^>]*>(.*?)</section>", dom, re.S)[1]
assert "class=\"interval\"" in body and "90% interval" in body
assert "&lt;/script&gt;&lt;script&gt;document.title=" in body' "$tab"
		check 'and nothing was run' sh -c '! grep -qE "<title>(owned|1)<" dom && ! grep -q "<img" dom'
	done
else
	echo "ok $((n_tests += 1)) - the page in a browser # SKIP no chromium"
fi

check 'no folder for what differs' status 1 "$SKIDPROF" diff evil.data evil.data --html no/where.html
check 'is said, too' has err 'no/where.html'
check 'no such folder' status 1 "$SKIDPROF" report -i evil.data --html no/where.html
check 'is said' has err 'no/where.html'
echo before >keep.html
check 'a recording that is none' status 1 "$SKIDPROF" report -i look.py --html keep.html
check 'loses no page' grep -q before keep.html
check 'a full disk' sh -c '"$SKIDPROF" report -i evil.data --html /dev/full 2>err; [ $? -eq 1 ]'
check 'is said, and a device stays one' sh -c 'grep -q "No space left" err && [ -c /dev/full ]'
finish
