#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A hot loop calls code that was made at run time, as a just-in-time compiler's: there is nothing to read it from.  What the
# loop itself ran is known all the same, with branch records and with bursts.
set -u
. "$TOP/tests/e2e/lib400.sh"
[ "$(uname -m)" = x86_64 ] || { echo 'skip: the code is written in bytes of x86-64' && exit 77; }
cd "$SCRATCH" || exit 1

cat >jit.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static unsigned long tab[4096];

__attribute__((noinline)) static unsigned long work(unsigned (*f)(unsigned), int n)
{
	unsigned long s = 1, a = 12345;

	for (int i = 0; i < n; i++) {
		unsigned k;

		a = a * 6364136223846793005ul + 1442695040888963407ul;
		k = (unsigned)(a >> 40);
		if (k & 1)
			s += tab[k & 4095];
		else
			s ^= tab[k >> 3 & 4095] * 3;
		if ((k & 6) == 0)
			s += f(k);
		if (k & 8) {
			s = s * 5 + 1;
			tab[k & 4095] = s;
		}
		if ((k & 0x30) == 0)
			s -= k / 7;
	}
	return s;
}

int main(void)
{
	/* mov eax, edi; test edi, 0x100; je +3; add eax, 7; lea eax, [rax + rax * 2]; ret */
	static const unsigned char code[] = { 0x89, 0xf8, 0xf7, 0xc7, 0,    1,    0,    0,   0x74,
		                              3,    0x83, 0xc0, 7,    0x8d, 0x04, 0x40, 0xc3 };
	unsigned char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned (*f)(unsigned);

	memcpy(p, code, sizeof(code));
	memcpy(&f, &p, sizeof(f));
	for (int i = 0; i < 4096; i++)
		tab[i] = (unsigned long)i * 77;
	printf("%lu\n", work(f, 3000000));
	return 0;
}
C
check 'it is built' gcc -O2 -g jit.c -o jit
for how in '-b' '--no-branches --bursts 25000'; do
	# shellcheck disable=SC2086
	check "it is recorded with $how" status 0 "$SKIDPROF" record -q --pmu sim $how -o j.data --truth j.truth ./jit
	check 'it is compared' status 0 "$SKIDPROF" compare -i j.data --truth j.truth --format json
	python3 - >row <<'P'
import json
d = json.load(open("out"))
for f in d["functions"]:
    if f["name"] in ("work", "[unknown]"):
        inside = f["lo"] is not None and f["lo"] <= f["truth"] <= f["hi"]
        print(f["name"], f["status"], abs(f["fixed_err"]), inside, "# %.4g, fixed %.4g" % (f["truth"], f["fixed"]))
P
	sed 's/^/# /' row
	check 'the loop is fixed' grep -q '^work fixed ' row
	check 'and right to 2%' awk '$1 == "work" && $3 > 0.02 { exit 1 }' row
	check 'its interval holds the truth' grep -q '^work .* True ' row
	check 'the code made at run time is one row, raw' grep -q '^\[unknown\] raw ' row
	check 'no reason advises what the recording has' sh -c '! "$SKIDPROF" report -i j.data --format json 2>err | grep -E "\"why\": .*(branch records \(-b\)|bursts \(--bursts\))"'
	check 'why says what it calls' status 0 "$SKIDPROF" report --fixed --why work -i j.data
	check 'and how much that ran' grep -Eq 'besides it calls other code, of some [0-9.]+e\+06 instructions' out
done
exit $failed
