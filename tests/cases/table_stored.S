# A store, another place or other registers: what was compared is not what is loaded, and the table has no sure bound.
# @expect edge f* ind guessed
# @expect edge g* ind guessed
# @expect edge h* ind guessed
# @never *unknown*
	.text
	.globl main
	.type main, @function
main:
	ret
	.size main, .-main

	.macro function name
	.type \name, @function
\name:
	cmpl $2, (%rdi)
	ja .Ldone_\name
	.endm

	.macro switch name
	lea .Ltable_\name(%rip), %rdx
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
.Lzero_\name:
	inc %ecx
	jmp .Ldone_\name
.Lone_\name:
	dec %ecx
.Ldone_\name:
	dec %esi
	jne \name
	ret
	.size \name, .-\name
	.section .rodata
	.align 4
.Ltable_\name:
	.long .Lzero_\name - .Ltable_\name, .Lone_\name - .Ltable_\name, .Ldone_\name - .Ltable_\name
	.text
	.endm

	function f
	movl $1, (%rbx)
	mov (%rdi), %eax
	switch f
	function g
	mov 4(%rdi), %eax
	switch g
	function h
	add $4, %rdi
	mov (%rdi), %eax
	switch h
