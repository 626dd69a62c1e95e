# A tree walk: two calls of itself, one of them last (a jump to its own entry is a loop, not a call).
# @expect regions 1
# @expect region header walk+0x0 blocks 4 * recursive*
# @edge walk:left -> walk call
# @edge walk:right -> walk taken
# @edge walk:out -> walk:right ret of walk+0x5
	.text
	.globl main
	.type main, @function
main:
	call walk
	ret
	.size main, .-main
	.type walk, @function
walk:
	test %rdi, %rdi
	je out
left:
	call walk
right:
	mov 8(%rdi), %rdi
	jmp walk
out:
	ret
	.size walk, .-walk
