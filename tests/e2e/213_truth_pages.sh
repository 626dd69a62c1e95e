#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An instruction that lies on two pages is counted once, and timed as what it is, wherever the page ends in it.
set -u
. "$TOP/tests/e2e/lib200.sh"
[ "$(uname -m)" = x86_64 ] || { echo 'skip: instructions of one size lie on one page' && exit 77; }

# Of each kind and each of its bytes that may be a page's first a loop: nop, the instruction, sub, jne.
cat >kinds <<'K'
5	.byte 0xe9; .long 0
6	.byte 0x0f, 0x8d; .long 0
5	mov $0x12345678, %eax
6	mov data(%rip), %eax
7	mov data(%rip), %rax
10	movl $0x12345678, data(%rip)
10	movabs $0x123456789abcdef0, %rax
8	addsd data(%rip), %xmm0
9	vaddps data+0x100(%rip), %ymm0, %ymm0
4	lea 8(%rax,%rdx), %eax
2	rep stosb
4	lock incl (%rsi)
9	mov %fs:0, %rax
5	bt $5, %rax
7	imul $0x12345, %rax, %rax
K
{
	printf '\t.text\n\t.globl main\n'
	calls=
	i=0
	while IFS=$'\t' read -r n insn; do
		for ((k = 1; k < n; k++)); do
			f=cross_$((i++))
			printf '\t.balign 4096\n\t.fill 4096 - %d, 1, 0x90\n' $((k + 1))
			printf '\t.type %s, @function\n%s:\tnop\n' "$f" "$f"
			# shellcheck disable=SC2016
			printf '\t%s\n\tsub $1, %%r12d\n\tjne %s\n\tret\n\t.size %s, . - %s\n' "$insn" "$f" "$f" "$f"
			calls+=$'\t'"mov \$3000, %r12d"$'\n'$'\t'"mov \$1, %ecx"$'\n'$'\t'"lea data(%rip), %rdi"
			calls+=$'\n'$'\t'"mov %rdi, %rsi"$'\n'$'\t'"call $f"$'\n'
		done
	done <kinds
	printf '\t.type main, @function\nmain:\tpush %%r12\n%s\tpop %%r12\n\txor %%eax, %%eax\n\tret\n' "$calls"
	printf '\t.size main, . - main\n\t.bss\n\t.balign 64\ndata:\t.skip 4096\n\t.section .note.GNU-stack\n'
	echo "$i" >n_loops
} >cross.S
gcc -no-pie cross.S -o cross || exit 1
n_loops=$(cat n_loops)
"$SKIDPROF" truth -q -o t.out ./cross 2>err
ok $? 'truth succeeds'
sed 's/^/# /' err
awk '/^fn=/ { f = $0 ~ /cross_/ } f && /^0x/ { print $1, $3 }' t.out >counts
# The one-byte return behind each loop ran once; rcx is 0 past the first turn of rep.
check "each of the $n_loops loops' four instructions ran 3,000 times" \
	test "$(awk '$2 == 3000' counts | wc -l)" = $((4 * n_loops))
# shellcheck disable=SC2016
check 'and nothing in them more often' awk '$2 > 3000 { print "# " $0; bad = 1 } END { exit bad }' counts
exit 0
