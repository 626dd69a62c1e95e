# Absolute addresses, the bound by a mask; the table stays the same, though its last word is used twice.
# @edge f -> f:zero ind
# @edge f -> f:one ind
# @no-edge f -> f:two ind
# @never *unknown*
# @never *guessed*
# @expect region header f+0x0 blocks 3 edges 4 headers 1
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main
	.type f, @function
f:
	and $3, %edi
	jmp *table(,%rdi,8)
zero:
	inc %ecx
	jmp f
one:
	dec %ecx
	jmp f
two:
	ret
	.size f, .-f
	.section .rodata
	.align 8
table:
	.quad zero, one, one, one, two
