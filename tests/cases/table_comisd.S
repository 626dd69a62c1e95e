# A comparison of floating-point numbers does set the flags: what stood in them before bounds no table.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @never *unknown*
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main
	.type f, @function
f:
	and $3, %eax
	cmp $1, %rax
	ucomisd %xmm1, %xmm0
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
	.size f, .-f
	.section .rodata
	.align 4
table:
	.long zero - table, one - table, two - table, done - table
