# A byte from one table, bounded once it is read, indexes another.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
	.include "tests/cases/three.inc"
	begin
	movzbl %dil, %eax
	lea classes(%rip), %rbx
	movzbl (%rbx,%rax), %eax
	cmp $2, %al
	ja done
entry:
	dispatch
	zero_one_two
	finish
	three_and_trap
classes:
	.fill 256, 1, 2
