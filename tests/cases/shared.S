# f is called twice in one round: both calls have their own return, and the loop passes f twice.
# @edge f -> main:one ret of main+0x0
# @edge f -> main:two ret of main+0x5
# @expect region header main+0x0 blocks 4 edges 5 headers 1
	.text
	.globl main
	.type main, @function
main:
	call f
one:
	call f
two:
	dec %ebx
	jne main
	ret
	.size main, .-main
	.type f, @function
f:
	inc %eax
	ret
	.size f, .-f
