# Functions that jump on through a table of them, which has no bound and is written by the loader.  To the first of them its
# first entry looks like a switch of one way.
# @link -shared
# @expect edge f+0x0 -> f+0x0 ind guessed
# @expect edge f+0x0 -> g+0x0 ind guessed
# @expect edge f+0x0 -> h+0x0 ind guessed
# @expect edge g+0x0 -> f+0x0 ind guessed
# @expect edge h+0x0 -> g+0x0 ind guessed
# @never *unknown*
	.macro handler name, insn
	.type \name, @function
\name:
	\insn %ecx
	movzbl (%rsi), %eax
	lea table(%rip), %r8
	inc %rsi
	jmp *(%r8,%rax,8)
	.size \name, .-\name
	.endm

	.text
	handler f, inc
	handler g, dec
	handler h, neg

	.section .data.rel.ro, "aw"
	.align 8
table:
	.quad f, g, h, 0
