# A position-independent jump table of three entries, the bound by a comparison; a fourth word follows it.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
# @loops 4
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main
	.type f, @function
f:
	cmp $2, %edi
	ja done
entry:
	lea table(%rip), %rdx
	mov %edi, %eax
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
	.align 4
table:
	.long zero - table, one - table, two - table, trap - table
