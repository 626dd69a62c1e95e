/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A 6502-like CPU emulator (subset of opcodes, no decimal mode) running hand-assembled programs. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;

enum { FC = 1, FZ = 2, FI = 4, FD = 8, FB = 16, FU = 32, FV = 64, FN = 128 };

typedef struct {
	u8 a, x, y, sp, p;
	u16 pc;
	unsigned long cycles, insns;
	int halted;
} Cpu;

static u8 ram[65536];
static u8 out_buf[256];
static unsigned out_pos, out_sum, io_reads;

u8 io_read(u16 addr)
{
	io_reads++;
	return (u8)(addr * 7 + io_reads);
}

void io_write(u16 addr, u8 v)
{
	out_buf[out_pos++ & 255] = v;
	out_sum = out_sum * 31 + v + (addr & 15);
}

__attribute__((noinline)) u8 rd(u16 addr)
{
	if ((addr & 0xFF00) == 0xD000)
		return io_read(addr);
	return ram[addr];
}

__attribute__((noinline)) void wr(u16 addr, u8 v)
{
	if ((addr & 0xFF00) == 0xD000)
		io_write(addr, v);
	else
		ram[addr] = v;
}

static u8 fetch(Cpu *c)
{
	return ram[c->pc++];
}
static u16 fetch16(Cpu *c)
{
	u16 lo = fetch(c);
	return lo | fetch(c) << 8;
}
static u16 rd16zp(u8 z)
{
	return ram[z] | ram[(u8)(z + 1)] << 8;
}

/* addressing modes */
static u16 am_zp(Cpu *c)
{
	return fetch(c);
}
static u16 am_zpx(Cpu *c)
{
	return (u8)(fetch(c) + c->x);
}
static u16 am_abs(Cpu *c)
{
	return fetch16(c);
}
u16 am_abx(Cpu *c)
{
	u16 b = fetch16(c), e = b + c->x;
	if ((b ^ e) & 0xFF00)
		c->cycles++;
	return e;
}
static u16 am_aby(Cpu *c)
{
	u16 b = fetch16(c), e = b + c->y;
	if ((b ^ e) & 0xFF00)
		c->cycles++;
	return e;
}
static u16 am_iny(Cpu *c)
{
	u16 b = rd16zp(fetch(c)), e = b + c->y;
	if ((b ^ e) & 0xFF00)
		c->cycles++;
	return e;
}
static u16 am_inx(Cpu *c)
{
	return rd16zp(fetch(c) + c->x);
}

/* flags */
static void set_flag(Cpu *c, u8 f, int on)
{
	if (on)
		c->p |= f;
	else
		c->p &= ~f;
}
static u8 set_nz(Cpu *c, u8 v)
{
	c->p = (c->p & ~(FN | FZ)) | (v & FN) | (v ? 0 : FZ);
	return v;
}

static void push(Cpu *c, u8 v)
{
	ram[0x100 | c->sp--] = v;
}
static u8 pop(Cpu *c)
{
	return ram[0x100 | ++c->sp];
}

void op_adc(Cpu *c, u8 m)
{
	unsigned s = c->a + m + (c->p & FC);
	set_flag(c, FC, s > 255);
	set_flag(c, FV, ~(c->a ^ m) & (c->a ^ s) & 0x80);
	c->a = set_nz(c, (u8)s);
}

void op_sbc(Cpu *c, u8 m)
{
	op_adc(c, ~m);
}

__attribute__((noinline)) void op_cmp(Cpu *c, u8 r, u8 m)
{
	set_flag(c, FC, r >= m);
	set_nz(c, r - m);
}

__attribute__((noinline)) u8 op_shift(Cpu *c, u8 v, int left, int carry_in)
{
	int out = left ? v >> 7 : v & 1;
	v = left ? v << 1 | carry_in : v >> 1 | carry_in << 7;
	set_flag(c, FC, out);
	return set_nz(c, v);
}

__attribute__((noinline)) static void branch(Cpu *c, int cond)
{
	int8_t off = (int8_t)fetch(c);
	if (cond) {
		u16 t = c->pc + off;
		c->cycles += 1 + ((t ^ c->pc) >> 8 != 0);
		c->pc = t;
	}
}

static const u8 base_cycles[256] = {
	[0x69] = 2, [0x65] = 3, [0x6D] = 4, [0x7D] = 4, [0xE9] = 2, [0xE5] = 3, [0x20] = 6, [0x60] = 6,
	[0x91] = 6, [0xB1] = 5, [0xA9] = 2, [0xA2] = 2, [0xA0] = 2, [0xA5] = 3, [0x85] = 3, [0x8D] = 4,
	[0xAD] = 4, [0xE6] = 5, [0xC6] = 5, [0x48] = 3, [0x68] = 4, [0xD0] = 2, [0xF0] = 2, [0x90] = 2,
	[0xB0] = 2, [0x10] = 2, [0x30] = 2, [0xBD] = 4, [0x9D] = 5, [0x4C] = 3,
};

void step(Cpu *c)
{
	u16 ea;
	u8 op = fetch(c);
	c->insns++;
	c->cycles += base_cycles[op] ? base_cycles[op] : 2;
	switch (op) {
	case 0x00:
		c->halted = 1;
		break;
	case 0xEA:
		break;
	/* loads */
	case 0xA9:
		c->a = set_nz(c, fetch(c));
		break;
	case 0xA5:
		c->a = set_nz(c, rd(am_zp(c)));
		break;
	case 0xB5:
		c->a = set_nz(c, rd(am_zpx(c)));
		break;
	case 0xAD:
		c->a = set_nz(c, rd(am_abs(c)));
		break;
	case 0xBD:
		c->a = set_nz(c, rd(am_abx(c)));
		break;
	case 0xB9:
		c->a = set_nz(c, rd(am_aby(c)));
		break;
	case 0xB1:
		c->a = set_nz(c, rd(am_iny(c)));
		break;
	case 0xA1:
		c->a = set_nz(c, rd(am_inx(c)));
		break;
	case 0xA2:
		c->x = set_nz(c, fetch(c));
		break;
	case 0xA6:
		c->x = set_nz(c, rd(am_zp(c)));
		break;
	case 0xA0:
		c->y = set_nz(c, fetch(c));
		break;
	case 0xA4:
		c->y = set_nz(c, rd(am_zp(c)));
		break;
	/* stores */
	case 0x85:
		wr(am_zp(c), c->a);
		break;
	case 0x95:
		wr(am_zpx(c), c->a);
		break;
	case 0x8D:
		wr(am_abs(c), c->a);
		break;
	case 0x9D:
		wr(am_abx(c), c->a);
		break;
	case 0x99:
		wr(am_aby(c), c->a);
		break;
	case 0x91:
		wr(am_iny(c), c->a);
		break;
	case 0x86:
		wr(am_zp(c), c->x);
		break;
	case 0x84:
		wr(am_zp(c), c->y);
		break;
	/* arithmetic / logic */
	case 0x69:
		op_adc(c, fetch(c));
		break;
	case 0x65:
		op_adc(c, rd(am_zp(c)));
		break;
	case 0x6D:
		op_adc(c, rd(am_abs(c)));
		break;
	case 0x7D:
		op_adc(c, rd(am_abx(c)));
		break;
	case 0x71:
		op_adc(c, rd(am_iny(c)));
		break;
	case 0xE9:
		op_sbc(c, fetch(c));
		break;
	case 0xE5:
		op_sbc(c, rd(am_zp(c)));
		break;
	case 0x29:
		c->a = set_nz(c, c->a & fetch(c));
		break;
	case 0x25:
		c->a = set_nz(c, c->a & rd(am_zp(c)));
		break;
	case 0x09:
		c->a = set_nz(c, c->a | fetch(c));
		break;
	case 0x49:
		c->a = set_nz(c, c->a ^ fetch(c));
		break;
	case 0x45:
		c->a = set_nz(c, c->a ^ rd(am_zp(c)));
		break;
	case 0xC9:
		op_cmp(c, c->a, fetch(c));
		break;
	case 0xC5:
		op_cmp(c, c->a, rd(am_zp(c)));
		break;
	case 0xDD:
		op_cmp(c, c->a, rd(am_abx(c)));
		break;
	case 0xE0:
		op_cmp(c, c->x, fetch(c));
		break;
	case 0xE4:
		op_cmp(c, c->x, rd(am_zp(c)));
		break;
	case 0xC0:
		op_cmp(c, c->y, fetch(c));
		break;
	/* shifts */
	case 0x0A:
		c->a = op_shift(c, c->a, 1, 0);
		break;
	case 0x4A:
		c->a = op_shift(c, c->a, 0, 0);
		break;
	case 0x2A:
		c->a = op_shift(c, c->a, 1, c->p & FC);
		break;
	case 0x6A:
		c->a = op_shift(c, c->a, 0, c->p & FC);
		break;
	case 0x06:
		ea = am_zp(c);
		wr(ea, op_shift(c, rd(ea), 1, 0));
		break;
	case 0x46:
		ea = am_zp(c);
		wr(ea, op_shift(c, rd(ea), 0, 0));
		break;
	case 0x26:
		ea = am_zp(c);
		wr(ea, op_shift(c, rd(ea), 1, c->p & FC));
		break;
	case 0x66:
		ea = am_zp(c);
		wr(ea, op_shift(c, rd(ea), 0, c->p & FC));
		break;
	/* inc / dec / transfers */
	case 0xE6:
		ea = am_zp(c);
		wr(ea, set_nz(c, rd(ea) + 1));
		break;
	case 0xC6:
		ea = am_zp(c);
		wr(ea, set_nz(c, rd(ea) - 1));
		break;
	case 0xE8:
		set_nz(c, ++c->x);
		break;
	case 0xCA:
		set_nz(c, --c->x);
		break;
	case 0xC8:
		set_nz(c, ++c->y);
		break;
	case 0x88:
		set_nz(c, --c->y);
		break;
	case 0xAA:
		c->x = set_nz(c, c->a);
		break;
	case 0xA8:
		c->y = set_nz(c, c->a);
		break;
	case 0x8A:
		c->a = set_nz(c, c->x);
		break;
	case 0x98:
		c->a = set_nz(c, c->y);
		break;
	/* control */
	case 0x18:
		set_flag(c, FC, 0);
		break;
	case 0x38:
		set_flag(c, FC, 1);
		break;
	case 0x48:
		push(c, c->a);
		break;
	case 0x68:
		c->a = set_nz(c, pop(c));
		break;
	case 0x4C:
		c->pc = fetch16(c);
		break;
	case 0x20:
		ea = fetch16(c);
		push(c, (c->pc - 1) >> 8);
		push(c, (u8)(c->pc - 1));
		c->pc = ea;
		break;
	case 0x60:
		ea = pop(c);
		ea |= pop(c) << 8;
		c->pc = ea + 1;
		break;
	case 0x10:
		branch(c, !(c->p & FN));
		break;
	case 0x30:
		branch(c, c->p & FN);
		break;
	case 0x50:
		branch(c, !(c->p & FV));
		break;
	case 0x70:
		branch(c, c->p & FV);
		break;
	case 0x90:
		branch(c, !(c->p & FC));
		break;
	case 0xB0:
		branch(c, c->p & FC);
		break;
	case 0xD0:
		branch(c, !(c->p & FZ));
		break;
	case 0xF0:
		branch(c, c->p & FZ);
		break;
	default:
		printf("bad opcode %02x at %04x\n", op, c->pc - 1);
		c->halted = 2;
	}
}

/* bubble sort of 64 bytes at $0300 */
static const u8 prog_sort[] = {
	0xA0, 0x00,       /* 0800 outer: LDY #0  (swapped flag)   */
	0xA2, 0x00,       /* 0802 LDX #0                          */
	0xBD, 0x00, 0x03, /* 0804 inner: LDA $0300,X              */
	0xDD, 0x01, 0x03, /* 0807 CMP $0301,X                     */
	0x90, 0x11,       /* 080A BCC noswap ($081D)              */
	0xF0, 0x0F,       /* 080C BEQ noswap                      */
	0x48,             /* 080E PHA                             */
	0xBD, 0x01, 0x03, /* 080F LDA $0301,X                     */
	0x9D, 0x00, 0x03, /* 0812 STA $0300,X                     */
	0x68,             /* 0815 PLA                             */
	0x9D, 0x01, 0x03, /* 0816 STA $0301,X                     */
	0xA0, 0x01,       /* 0819 LDY #1                          */
	0xEA, 0xEA,       /* 081B NOP NOP                         */
	0xE8,             /* 081D noswap: INX                     */
	0xE0, 0x3F,       /* 081E CPX #63                         */
	0xD0, 0xE2,       /* 0820 BNE inner ($0804)               */
	0xC0, 0x00,       /* 0822 CPY #0                          */
	0xD0, 0xDA,       /* 0824 BNE outer ($0800)               */
	0x00,             /* 0826 BRK                             */
};

/* sieve over $0400..$04FF, then output primes to $D000 */
static const u8 prog_sieve[] = {
	0xA2, 0x00, 0xA9, 0x01, /* 0800 LDX #0; LDA #1                  */
	0x9D, 0x00, 0x04,       /* 0804 STA $0400,X                     */
	0xE8, 0xD0, 0xFA,       /* 0807 INX; BNE $0804                  */
	0xA9, 0x02, 0x85, 0x10, /* 080A LDA #2; STA $10                 */
	0xA6, 0x10,             /* 080E next: LDX $10                   */
	0xBD, 0x00, 0x04,       /* 0810 LDA $0400,X                     */
	0xF0, 0x0F,             /* 0813 BEQ skip ($0824)                */
	0x8A, 0x18,             /* 0815 TXA; CLC                        */
	0x65, 0x10,             /* 0817 mark: ADC $10                   */
	0xB0, 0x09,             /* 0819 BCS skip ($0824)                */
	0xAA, 0xA9, 0x00,       /* 081B TAX; LDA #0                     */
	0x9D, 0x00, 0x04,       /* 081E STA $0400,X                     */
	0x8A, 0x90, 0xF3,       /* 0821 TXA; BCC mark ($0817)           */
	0xE6, 0x10, 0xA5, 0x10, /* 0824 skip: INC $10; LDA $10          */
	0xC9, 0x10, 0xD0, 0xE2, /* 0828 CMP #16; BNE next ($080E)       */
	0xA2, 0x02,             /* 082C LDX #2                          */
	0xBD, 0x00, 0x04,       /* 082E LDA $0400,X                     */
	0xF0, 0x04,             /* 0831 BEQ $0837                       */
	0x8A, 0x8D, 0x00, 0xD0, /* 0833 TXA; STA $D000                  */
	0xE8, 0xD0, 0xF4,       /* 0837 INX; BNE $082E                  */
	0x00,                   /* 083A BRK                             */
};

/* 8x8 multiply subroutine called for every pair, sums into $14/$15 */
static const u8 prog_mul[] = {
	0xA9, 0x00, 0x85, 0x14, 0x85, 0x15, /* 0800 clear sum          */
	0xA2, 0x40,                         /* 0806 LDX #64                         */
	0x86, 0x10,                         /* 0808 loop: STX $10                   */
	0xAD, 0x05, 0xD0,                   /* 080A LDA $D005                       */
	0x85, 0x11,                         /* 080D STA $11                         */
	0x20, 0x30, 0x08,                   /* 080F JSR mul ($0830)                 */
	0x18, 0xA5, 0x12,                   /* 0812 CLC; LDA $12                    */
	0x65, 0x14, 0x85, 0x14,             /* 0815 ADC $14; STA $14                */
	0xA5, 0x13,                         /* 0819 LDA $13                         */
	0x65, 0x15, 0x85, 0x15,             /* 081B ADC $15; STA $15                */
	0xCA, 0xD0, 0xE6,                   /* 081F DEX; BNE loop ($0808)           */
	0xA5, 0x14, 0x8D, 0x01, 0xD0,       /* 0822 LDA $14; STA $D001        */
	0xA5, 0x15, 0x8D, 0x02, 0xD0,       /* 0827 LDA $15; STA $D002        */
	0x00, 0xEA, 0xEA, 0xEA,             /* 082C BRK                             */
	0xA9, 0x00, 0x85, 0x12,             /* 0830 mul: LDA #0; STA $12            */
	0xA5, 0x10, 0x85, 0x16,             /* 0834 LDA $10; STA $16                */
	0xA9, 0x00,                         /* 0838 LDA #0                          */
	0xA0, 0x08,                         /* 083A LDY #8                          */
	0x46, 0x16,                         /* 083C bit: LSR $16                    */
	0x90, 0x03,                         /* 083E BCC $0843                       */
	0x18, 0x65, 0x11,                   /* 0840 CLC; ADC $11                    */
	0x6A, 0x66, 0x12,                   /* 0843 ROR A; ROR $12                  */
	0x88, 0xD0, 0xF3,                   /* 0846 DEY; BNE bit ($083C)            */
	0x85, 0x13, 0x60,                   /* 0849 STA $13; RTS                    */
};

static void load(const u8 *p, size_t n, Cpu *c)
{
	memcpy(ram + 0x800, p, n);
	c->pc = 0x800;
	c->halted = 0;
	c->p = FU;
}

__attribute__((noinline)) static int run(Cpu *c, unsigned long max)
{
	while (!c->halted && max--)
		step(c);
	return c->halted == 1;
}

unsigned ram_sum(void)
{
	unsigned h = 5381;
	for (int i = 0; i < 0x600; i++)
		h = h * 33 + ram[i];
	return h;
}

int main(void)
{
	Cpu c = { .sp = 0xFF };
	unsigned seed = 31337, sum = 0;
	for (int round = 0; round < 55; round++) {
		for (int i = 0; i < 64; i++) {
			seed = seed * 1103515245u + 12345u;
			ram[0x300 + i] = seed >> 16;
		}
		load(prog_sort, sizeof prog_sort, &c);
		if (!run(&c, 1000000))
			return 1;
		for (int i = 1; i < 64; i++)
			if (ram[0x300 + i - 1] > ram[0x300 + i]) {
				puts("not sorted");
				return 1;
			}
		sum += ram_sum();
		for (int k = 0; k < 6; k++) {
			load(prog_sieve, sizeof prog_sieve, &c);
			if (!run(&c, 1000000))
				return 1;
			load(prog_mul, sizeof prog_mul, &c);
			if (!run(&c, 1000000))
				return 1;
		}
		sum = sum * 31 + ram_sum();
	}
	printf("checksum %08x out %08x insns %lu cycles %lu\n", sum, out_sum, c.insns, c.cycles);
	return 0;
}
