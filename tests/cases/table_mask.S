# A mask in a register, and the bits that a shift leaves, bound an index.
# @edge f:f -> f:zero ind
# @edge f:f -> f:one ind
# @edge f:f -> f:two ind
# @no-edge f:f -> f:trap ind
# @edge f:shifted -> f:three ind
# @no-edge f:shifted -> f:trap ind
# @never *unknown*
# @never *guessed*
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main
	.type f, @function
f:
	and $2, %r8d
	mov %r8d, %ecx
	mov %rdi, %rax
	and %ecx, %eax
	lea table(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
zero:
	inc %ecx
	jmp done
one:
	dec %ecx
	jmp done
two:
	neg %ecx
	mov %rdi, %rax
	shr $63, %rax
	test %ecx, %ecx
	je done
shifted:
	lea wide(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
three:
	inc %edx
done:
	dec %esi
	jne f
	ret
trap:
	ud2
	.size f, .-f
	.section .rodata
	.align 8
table:
	.long zero - table, one - table, two - table, trap - table
	.long trap - table, trap - table
wide:
	.long one - wide, three - wide, trap - wide
