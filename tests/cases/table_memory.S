# What is compared in memory bounds what is loaded from there, as long as nothing is stored in between.
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
	movb $1, (%rdi)
	cmpb $2, 8(%rbx,%rdi,2)
	ja done
entry:
	movl $1, -8(%rsp)
	movzbl 8(%rbx,%rdi,2), %eax
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
