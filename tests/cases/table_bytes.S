# A byte from one table, bounded once it is read, indexes another.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
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
	movzbl %dil, %eax
	lea classes(%rip), %rbx
	movzbl (%rbx,%rax), %eax
	cmp $2, %al
	ja done
entry:
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
classes:
	.fill 256, 1, 2
