# Vector code between the comparison and its jump leaves the flags, rax and rdx alone; a mask bounds the index less than
# the comparison does.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
	.include "tests/cases/three.inc"
	begin
	and $3, %eax
	cmp $2, %rax
	mulsd %xmm1, %xmm0
	addsd constant(%rip), %xmm0
	subsd %xmm2, %xmm0
	divsd %xmm1, %xmm0
	cmpltsd %xmm0, %xmm2
	andpd %xmm2, %xmm0
	vaddsd constant(%rip), %xmm0, %xmm3
	movsd %xmm0, -8(%rsp)
	ja done
entry:
	lea table(%rip), %rdx
	mulsd %xmm1, %xmm0
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
	zero_one_two
	finish
constant:
	.double 0.5
	three_and_trap
