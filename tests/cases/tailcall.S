# f ends by a jump to g: g's return goes back to main, whichever of the two was called.
# @edge main:top -> f call
# @edge f -> g taken
# @edge g -> main:after ret of main+0x2
# @edge main:after -> g call
# @edge g -> main:again ret of main+0x7
# @never *unknown*
# @expect region header main+0x2 blocks 5 edges 6 headers 1
	.text
	.globl main
	.type main, @function
main:
	xor %ebx, %ebx
top:
	call f
after:
	call g
again:
	dec %ebx
	jne top
	ret
	.size main, .-main
	.type f, @function
f:
	inc %eax
	jmp g
	.size f, .-f
	.type g, @function
g:
	add $2, %eax
	ret
	.size g, .-g
