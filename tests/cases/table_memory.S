# What is compared in memory bounds what is loaded from there, as long as nothing is stored in between.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
	.include "tests/cases/three.inc"
	begin
	movb $1, (%rdi)
	cmpb $2, 8(%rbx,%rdi,2)
	ja done
entry:
	movl $1, -8(%rsp)
	movzbl 8(%rbx,%rdi,2), %eax
	dispatch
	zero_one_two
	finish
	three_and_trap
