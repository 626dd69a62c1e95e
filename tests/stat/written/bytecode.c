/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small stack VM with direct-threaded dispatch (GNU C labels as values). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SCALE
#define SCALE 1
#endif

enum op {
	OP_HALT,
	OP_PUSH,
	OP_LOAD,
	OP_STORE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_MOD,
	OP_LT,
	OP_EQ,
	OP_JMP,
	OP_JZ,
	OP_CALL,
	OP_RET,
	OP_ARG,
	OP_ALOAD,
	OP_ASTORE,
	OP_DUP,
	OP_DROP,
	OP_NEWOBJ,
	OP_HGET,
	OP_HSET,
	OP_EMIT,
	OP_COUNT
};

static const char *const op_names[OP_COUNT] = { "halt", "push",   "load", "store", "add",    "sub",
	                                        "mul",  "mod",    "lt",   "eq",    "jmp",    "jz",
	                                        "call", "ret",    "arg",  "aload", "astore", "dup",
	                                        "drop", "newobj", "hget", "hset",  "emit" };

typedef int64_t word;

#define HSIZE 1024
typedef struct {
	word key, val;
	int used;
} slot;

typedef struct {
	word stack[4096];
	word globals[32];
	word array[8192];
	slot table[HSIZE];
	uint64_t out;
	long calls, hash_ops;
} VM;

/* ---- runtime helpers ---- */
static unsigned hash_word(word k)
{
	uint64_t x = (uint64_t)k * 0x9E3779B97F4A7C15ull;
	x ^= x >> 29;
	return (unsigned)(x >> 20) & (HSIZE - 1);
}

static __attribute__((noinline)) slot *lookup(VM *vm, word key)
{
	unsigned h = hash_word(key);
	vm->hash_ops++;
	while (vm->table[h].used && vm->table[h].key != key)
		h = (h + 1) & (HSIZE - 1);
	return &vm->table[h];
}

static word hget(VM *vm, word key)
{
	slot *s = lookup(vm, key);
	return s->used ? s->val : 0;
}

static void hset(VM *vm, word key, word val)
{
	slot *s = lookup(vm, key);
	s->used = 1;
	s->key = key;
	s->val = val;
}

static __attribute__((noinline)) void emit(VM *vm, word v)
{
	for (int i = 0; i < 8; i++) {
		vm->out ^= (uint64_t)(v & 255);
		vm->out *= 1099511628211ull;
		v >>= 8;
	}
}

static __attribute__((noinline)) word checked_mod(word a, word b)
{
	if (b == 0) {
		fprintf(stderr, "modulo by zero\n");
		exit(1);
	}
	word r = a % b;
	return r < 0 ? r + b : r;
}

/* ---- interpreter ---- */
static __attribute__((noinline)) void run(VM *vm, const word *code)
{
	static const void *const dispatch[OP_COUNT] = {
		&&do_halt,   &&do_push, &&do_load, &&do_store,  &&do_add,  &&do_sub,  &&do_mul, &&do_mod,
		&&do_lt,     &&do_eq,   &&do_jmp,  &&do_jz,     &&do_call, &&do_ret,  &&do_arg, &&do_aload,
		&&do_astore, &&do_dup,  &&do_drop, &&do_newobj, &&do_hget, &&do_hset, &&do_emit
	};
	const word *pc = code;
	word *sp = vm->stack, *fp = vm->stack, t;
#define NEXT goto *dispatch[*pc++]
	NEXT;
do_push:
	*sp++ = *pc++;
	NEXT;
do_load:
	*sp++ = vm->globals[*pc++];
	NEXT;
do_store:
	vm->globals[*pc++] = *--sp;
	NEXT;
do_add:
	sp--;
	sp[-1] += *sp;
	NEXT;
do_sub:
	sp--;
	sp[-1] -= *sp;
	NEXT;
do_mul:
	sp--;
	sp[-1] = (word)((uint64_t)sp[-1] * (uint64_t)*sp);
	NEXT;
do_mod:
	sp--;
	sp[-1] = checked_mod(sp[-1], *sp);
	NEXT;
do_lt:
	sp--;
	sp[-1] = sp[-1] < *sp;
	NEXT;
do_eq:
	sp--;
	sp[-1] = sp[-1] == *sp;
	NEXT;
do_jmp:
	pc = code + *pc;
	NEXT;
do_jz:
	if (*--sp == 0)
		pc = code + *pc;
	else
		pc++;
	NEXT;
do_call : { /* operands: target, nargs */
	word target = pc[0], n = pc[1];
	sp[0] = (word)(pc + 2 - code);
	sp[1] = fp - vm->stack;
	sp[2] = n;
	fp = sp;
	sp += 3;
	vm->calls++;
	pc = code + target;
	NEXT;
}
do_ret:
	t = sp[-1];
	sp = fp - fp[2];
	pc = code + fp[0];
	fp = vm->stack + fp[1];
	*sp++ = t;
	NEXT;
do_arg:
	*sp++ = fp[-fp[2] + *pc++];
	NEXT;
do_aload:
	sp[-1] = vm->array[sp[-1]];
	NEXT;
do_astore:
	sp -= 2;
	vm->array[sp[0]] = sp[1];
	NEXT;
do_dup:
	sp[0] = sp[-1];
	sp++;
	NEXT;
do_drop:
	sp--;
	NEXT;
do_newobj:
	memset(vm->table, 0, sizeof vm->table);
	NEXT;
do_hget:
	sp[-1] = hget(vm, sp[-1]);
	NEXT;
do_hset:
	sp -= 2;
	hset(vm, sp[0], sp[1]);
	NEXT;
do_emit:
	emit(vm, *--sp);
	NEXT;
do_halt:
	return;
}

/* ---- two-pass assembler ---- */
typedef struct {
	char name[16];
	int addr;
} label;

static int opcode(const char *s)
{
	for (int i = 0; i < OP_COUNT; i++)
		if (!strcmp(s, op_names[i]))
			return i;
	return -1;
}

static int operands(int op)
{
	switch (op) {
	case OP_CALL:
		return 2;
	case OP_PUSH:
	case OP_LOAD:
	case OP_STORE:
	case OP_JMP:
	case OP_JZ:
	case OP_ARG:
		return 1;
	default:
		return 0;
	}
}

static int next_token(const char **src, char *tok, int cap)
{
	int n = 0;
	while (**src == ' ' || **src == '\n')
		(*src)++;
	while (**src && **src != ' ' && **src != '\n' && n < cap - 1)
		tok[n++] = *(*src)++;
	tok[n] = 0;
	return n;
}

static word *assemble(const char *src)
{
	label labels[64];
	int nlabels = 0;
	word *code = malloc(1024 * sizeof *code);
	char tok[32];
	for (int pass = 0; pass < 2; pass++) {
		const char *p = src;
		int pc = 0;
		while (next_token(&p, tok, sizeof tok)) {
			size_t len = strlen(tok);
			if (tok[len - 1] == ':') {
				if (pass == 0) {
					tok[len - 1] = 0;
					snprintf(labels[nlabels].name, sizeof labels[0].name, "%.15s", tok);
					labels[nlabels++].addr = pc;
				}
				continue;
			}
			int op = opcode(tok);
			if (op < 0) {
				fprintf(stderr, "bad op %s\n", tok);
				exit(1);
			}
			code[pc++] = op;
			for (int k = operands(op); k > 0; k--) {
				next_token(&p, tok, sizeof tok);
				word v = atol(tok);
				for (int i = 0; pass && i < nlabels; i++)
					if (!strcmp(labels[i].name, tok))
						v = labels[i].addr;
				code[pc++] = v;
			}
		}
	}
	return code;
}

static const char *const fib_src = "load 0 call fib 1 emit halt\n"
                                   "fib: arg 0 push 2 lt jz rec arg 0 ret\n"
                                   "rec: arg 0 push 1 sub call fib 1 arg 0 push 2 sub call fib 1 add ret\n";

static const char *const sieve_src =
        "push 0 store 1\n"
        "clr: load 1 load 0 lt jz go load 1 push 1 astore load 1 push 1 add store 1 jmp clr\n"
        "go: push 2 store 1\n"
        "outer: load 1 load 1 mul load 0 lt jz cnt\n"
        "load 1 aload jz nexti\n"
        "load 1 load 1 mul store 2\n"
        "inner: load 2 load 0 lt jz nexti load 2 push 0 astore load 2 load 1 add store 2 jmp inner\n"
        "nexti: load 1 push 1 add store 1 jmp outer\n"
        "cnt: push 0 store 3 push 2 store 1\n"
        "cl: load 1 load 0 lt jz fin load 3 load 1 aload add store 3\n"
        "load 1 aload jz skip load 1 emit\n"
        "skip: load 1 push 1 add store 1 jmp cl\n"
        "fin: load 3 emit halt\n";

/* LCG stream tallied in a hash table */
static const char *const tally_src =
        "newobj push 12345 store 1 push 0 store 2\n"
        "loop: load 2 load 0 lt jz fin\n"
        "load 1 push 1103515245 mul push 12345 add push 2147483648 mod store 1\n"
        "load 1 push 701 mod store 3\n"
        "load 3 load 3 hget push 1 add hset load 3 emit\n"
        "load 2 push 1 add store 2 jmp loop\n"
        "fin: push 0 store 2\n"
        "dump: load 2 push 701 lt jz end load 2 hget emit load 2 push 1 add store 2 jmp dump\n"
        "end: halt\n";

static VM vm;

static void run_program(const char *name, const char *src, word arg, int times)
{
	word *code = assemble(src);
	for (int i = 0; i < times; i++) {
		vm.globals[0] = arg;
		run(&vm, code);
	}
	printf("%-6s calls=%ld hash=%ld\n", name, vm.calls, vm.hash_ops);
	free(code);
}

int main(void)
{
	vm.out = 14695981039346656037ull;
	run_program("fib", fib_src, 21, 5 * SCALE);
	run_program("sieve", sieve_src, 8000, 14 * SCALE);
	run_program("tally", tally_src, 50000, 5 * SCALE);
	printf("checksum %016llx\n", (unsigned long long)vm.out);
	return 0;
}
