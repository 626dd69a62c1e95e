# The paper's loop: a test, an update that is rare, a step.  Three blocks.
# @expect blocks 5
# @expect regions 1
# @expect region header main+* blocks 3 edges 4 headers 1
# @edge main -> main:top fall
# @edge main:top -> main:step taken
# @edge main:top -> main:rare fall
# @edge main:rare -> main:step fall
# @edge main:step -> main:top taken
# @edge main:step -> main:done fall
	.text
	.globl main
	.type main, @function
main:
	xor %eax, %eax
top:
	cmp %eax, (%rdi)
	jle step
rare:
	mov (%rdi), %eax
step:
	add $4, %rdi
	cmp %rsi, %rdi
	jb top
done:
	ret
	.size main, .-main
