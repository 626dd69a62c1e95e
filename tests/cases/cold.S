# A .cold part is the same function: jumps there and back are no calls.
# @expect func f+0x0 returns 1 blocks 3
# @edge f -> f.cold taken
# @edge f.cold -> f:back taken
# @edge f:back -> main:after ret of main+0x0
# @never func f.cold*
# @expect region header main+0x0 blocks 5 edges 6 headers 1
	.text
	.globl main
	.type main, @function
main:
	call f
after:
	dec %ebx
	jne main
	ret
	.size main, .-main
	.type f, @function
f:
	test %edi, %edi
	js f.cold
back:
	ret
	.size f, .-f
	.section .text.unlikely, "ax", @progbits
	.type f.cold, @function
f.cold:
	neg %edi
	jmp back
	.size f.cold, .-f.cold
