# A mask in a register, and the bits that a shift leaves, bound an index.
# @edge f:f -> f:zero ind
# @edge f:f -> f:one ind
# @edge f:f -> f:two ind
# @no-edge f:f -> f:trap ind
# @edge f:shifted -> f:three ind
# @no-edge f:shifted -> f:trap ind
# @never *unknown*
# @never *guessed*
	.include "tests/cases/three.inc"
	begin
	and $2, %r8d
	mov %r8d, %ecx
	mov %rdi, %rax
	and %ecx, %eax
	dispatch
	zero_one_two
	mov %rdi, %rax
	shr $63, %rax
	test %ecx, %ecx
	je done
shifted:
	dispatch wide
three:
	inc %edx
	finish
	three_and_trap
	.long trap - table, trap - table
wide:
	.long one - wide, three - wide, trap - wide
