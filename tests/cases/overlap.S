# Hand-written code: a jump past a lock prefix into an instruction, one into the middle of another function,
# and a function that falls into the next.
# @edge f -> f:short taken
# @edge f -> f:long fall
# @edge f:long -> f:behind fall
# @edge f:short -> f:behind fall
# @edge f:behind -> g:middle taken
# @edge g -> g:middle fall
# @edge h -> g2 fall
# @edge g:middle -> main:after ret of main+0x0
# @edge g:middle -> main:again ret of main+0x5
# @edge g2 -> main:more ret of main+0xa
	.text
	.globl main
	.type main, @function
main:
	call f
after:
	call g
again:
	call h
more:
	dec %ebx
	jne main
	ret
	.size main, .-main
	.type f, @function
f:
	test %edi, %edi
	je short
long:
	.byte 0xf0
short:
	incl (%rsi)
behind:
	jmp middle
	.size f, .-f
	.type g, @function
g:
	inc %eax
middle:
	inc %ecx
	ret
	.size g, .-g
	.type h, @function
h:
	nop
	.size h, .-h
	.type g2, @function
g2:
	ret
	.size g2, .-g2
