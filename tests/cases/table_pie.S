# A position-independent jump table of three entries, the bound by a comparison; a fourth word follows it.
# @edge f:entry -> f:zero ind
# @edge f:entry -> f:one ind
# @edge f:entry -> f:two ind
# @no-edge f:entry -> f:trap ind
# @never *unknown*
# @never *guessed*
# @expect region header f+0x0 blocks 6 edges 9 headers 1
	.include "tests/cases/three.inc"
	begin
	cmp $2, %edi
	ja done
entry:
	lea table(%rip), %rdx
	mov %edi, %eax
	movslq (%rdx,%rax,4), %rax
	add %rdx, %rax
	notrack jmp *%rax
	zero_one_two
	finish
	three_and_trap
