#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An instruction that lies on two pages is counted once, and timed as what it is.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ "$(uname -m)" = x86_64 ] || { echo 'skip: instructions of one size lie on one page' && exit 77; }

# A loop of four instructions, the second of which begins two bytes before a page's end.
cat >cross.S <<'S'
	.text
	.globl	main, cross
	.balign	4096
	.fill	4096 - 5, 1, 0x90
cross:	add	$1, %edx		# 3 bytes, at -5
	mov	data(%rip), %eax	# 6 bytes, at -2
	sub	$1, %edi
	jne	cross
	ret
	.size	cross, . - cross
	.type	cross, @function
main:	mov	$100000, %edi
	call	cross
	xor	%eax, %eax
	ret
	.data
data:	.long	1
	.section .note.GNU-stack
S
gcc cross.S -o cross || exit 1
"$SKIDPROF" truth -q -o t.out ./cross 2>err
ok $? 'truth succeeds'
sed 's/^/# /' err
awk '/^fn=/ { f = $0 ~ /cross/ } f && /^0x/ { print $3 }' t.out >counts
check 'each of the four ran 100,000 times' test "$(sort -n counts | uniq -c | awk '$2 == 100000 { print $1 }')" = 4
check 'and nothing in it ran more often' awk '$1 > 100000 { exit 1 }' counts
exit 0
