# A comparison of floating-point numbers does set the flags: what stood in them before bounds no table.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @never *unknown*
	.include "tests/cases/three.inc"
	begin
	and $3, %eax
	cmp $1, %rax
	ucomisd %xmm1, %xmm0
	ja done
entry:
	dispatch
	zero_one_two
	finish
	three_and_trap
