/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simplified bitboard chess: no castling / en passant / promotion choices; king capture = illegal. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t U64;
typedef uint16_t Move;

enum Piece { PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING, NO_PIECE };
enum Color { WHITE, BLACK };

typedef struct {
	U64 pieces[2][6];
	U64 occ[2];
	uint8_t board[64];
	int side;
	U64 hash;
} Position;

typedef struct {
	Move list[256];
	int count;
} MoveList;
typedef struct {
	uint8_t captured;
	uint8_t moved;
	U64 hash;
} Undo;

static U64 knight_att[64], king_att[64], pawn_att[2][64];
static U64 ray_att[8][64];
static U64 zobrist[2][6][64], zobrist_side;

#define FILE_A 0x0101010101010101ULL
#define FILE_H 0x8080808080808080ULL
#define BIT(s) (1ULL << (s))

static inline int pop_lsb(U64 *b)
{
	int s = __builtin_ctzll(*b);
	*b &= *b - 1;
	return s;
}

static int popcount(U64 x)
{
	int c = 0;
	for (; x; x &= x - 1)
		c++;
	return c;
}

static U64 rng_next(void)
{
	static U64 s = 0x9E3779B97F4A7C15ULL;
	s ^= s >> 12;
	s ^= s << 25;
	s ^= s >> 27;
	return s * 2685821657736338717ULL;
}

static void init_tables(void)
{
	static const int dr[8] = { 1, 1, 0, -1, -1, -1, 0, 1 }, df[8] = { 0, 1, 1, 1, 0, -1, -1, -1 };
	static const int nr[8] = { 1, 2, 2, 1, -1, -2, -2, -1 }, nf[8] = { 2, 1, -1, -2, -2, -1, 1, 2 };
	for (int s = 0; s < 64; s++) {
		int r = s / 8, f = s % 8;
		for (int d = 0; d < 8; d++) {
			int rr = r + nr[d], ff = f + nf[d];
			if (rr >= 0 && rr < 8 && ff >= 0 && ff < 8)
				knight_att[s] |= BIT(rr * 8 + ff);
			rr = r + dr[d];
			ff = f + df[d];
			if (rr >= 0 && rr < 8 && ff >= 0 && ff < 8)
				king_att[s] |= BIT(rr * 8 + ff);
			while (rr >= 0 && rr < 8 && ff >= 0 && ff < 8) {
				ray_att[d][s] |= BIT(rr * 8 + ff);
				rr += dr[d];
				ff += df[d];
			}
		}
		U64 b = BIT(s);
		pawn_att[WHITE][s] = ((b & ~FILE_A) << 7) | ((b & ~FILE_H) << 9);
		pawn_att[BLACK][s] = ((b & ~FILE_H) >> 7) | ((b & ~FILE_A) >> 9);
	}
	for (int c = 0; c < 2; c++)
		for (int p = 0; p < 6; p++)
			for (int s = 0; s < 64; s++)
				zobrist[c][p][s] = rng_next();
	zobrist_side = rng_next();
}

/* directions 0 N, 1 NE, 2 E, 3 SE, 4 S, 5 SW, 6 W, 7 NW; positive: 0,1,2,7 */
static inline U64 ray_pos(int dir, int s, U64 occ)
{
	U64 a = ray_att[dir][s], blk = a & occ;
	if (blk)
		a ^= ray_att[dir][__builtin_ctzll(blk)];
	return a;
}

static inline U64 ray_neg(int dir, int s, U64 occ)
{
	U64 a = ray_att[dir][s], blk = a & occ;
	if (blk)
		a ^= ray_att[dir][63 - __builtin_clzll(blk)];
	return a;
}

static U64 bishop_attacks(int s, U64 occ)
{
	return ray_pos(1, s, occ) | ray_pos(7, s, occ) | ray_neg(3, s, occ) | ray_neg(5, s, occ);
}

static U64 rook_attacks(int s, U64 occ)
{
	return ray_pos(0, s, occ) | ray_pos(2, s, occ) | ray_neg(4, s, occ) | ray_neg(6, s, occ);
}

int square_attacked(const Position *p, int s, int by)
{
	const U64 *e = p->pieces[by];
	U64 occ = p->occ[0] | p->occ[1];
	if (pawn_att[by ^ 1][s] & e[PAWN])
		return 1;
	if (knight_att[s] & e[KNIGHT])
		return 1;
	if (king_att[s] & e[KING])
		return 1;
	if (bishop_attacks(s, occ) & (e[BISHOP] | e[QUEEN]))
		return 1;
	return (rook_attacks(s, occ) & (e[ROOK] | e[QUEEN])) != 0;
}

static inline void add_move(MoveList *ml, int from, int to)
{
	ml->list[ml->count++] = (Move)(from | to << 6);
}

static void add_targets(MoveList *ml, int from, U64 t)
{
	while (t)
		add_move(ml, from, pop_lsb(&t));
}

void gen_pawns(const Position *p, MoveList *ml)
{
	int us = p->side;
	U64 empty = ~(p->occ[0] | p->occ[1]), pawns = p->pieces[us][PAWN], one, two;
	int up = us == WHITE ? 8 : -8;
	if (us == WHITE) {
		one = (pawns << 8) & empty;
		two = ((one & 0xFF0000ULL) << 8) & empty;
	} else {
		one = (pawns >> 8) & empty;
		two = ((one & 0xFF0000000000ULL) >> 8) & empty;
	}
	while (one) {
		int to = pop_lsb(&one);
		add_move(ml, to - up, to);
	}
	while (two) {
		int to = pop_lsb(&two);
		add_move(ml, to - 2 * up, to);
	}
	while (pawns) {
		int from = pop_lsb(&pawns);
		add_targets(ml, from, pawn_att[us][from] & p->occ[us ^ 1]);
	}
}

void gen_pieces(const Position *p, MoveList *ml)
{
	int us = p->side;
	U64 occ = p->occ[0] | p->occ[1], ok = ~p->occ[us];
	for (int pc = KNIGHT; pc <= KING; pc++) {
		U64 b = p->pieces[us][pc];
		while (b) {
			int s = pop_lsb(&b);
			U64 t;
			switch (pc) {
			case KNIGHT:
				t = knight_att[s];
				break;
			case BISHOP:
				t = bishop_attacks(s, occ);
				break;
			case ROOK:
				t = rook_attacks(s, occ);
				break;
			case QUEEN:
				t = bishop_attacks(s, occ) | rook_attacks(s, occ);
				break;
			default:
				t = king_att[s];
			}
			add_targets(ml, s, t & ok);
		}
	}
}

static void toggle(Position *p, int c, int pc, int s)
{
	p->pieces[c][pc] ^= BIT(s);
	p->occ[c] ^= BIT(s);
	p->hash ^= zobrist[c][pc][s];
}

void make_move(Position *p, Move m, Undo *u)
{
	int from = m & 63, to = m >> 6, us = p->side;
	int pc = p->board[from];
	u->captured = p->board[to];
	u->moved = pc;
	u->hash = p->hash;
	if (u->captured != NO_PIECE)
		toggle(p, us ^ 1, u->captured, to);
	toggle(p, us, pc, from);
	if (pc == PAWN && (to < 8 || to >= 56))
		pc = QUEEN;
	toggle(p, us, pc, to);
	p->board[from] = NO_PIECE;
	p->board[to] = pc;
	p->side ^= 1;
	p->hash ^= zobrist_side;
}

void unmake_move(Position *p, Move m, const Undo *u)
{
	int from = m & 63, to = m >> 6, us = p->side ^ 1;
	toggle(p, us, p->board[to], to);
	toggle(p, us, u->moved, from);
	p->board[from] = u->moved;
	p->board[to] = u->captured;
	if (u->captured != NO_PIECE)
		toggle(p, us ^ 1, u->captured, to);
	p->side = us;
	p->hash = u->hash;
}

int material_score(const Position *p)
{
	static const int val[6] = { 100, 320, 330, 500, 900, 0 };
	int s = 0;
	for (int i = 0; i < 6; i++)
		s += val[i] * (popcount(p->pieces[WHITE][i]) - popcount(p->pieces[BLACK][i]));
	return s;
}

static U64 hash_acc;
static long score_acc;

long perft(Position *p, int depth)
{
	MoveList ml;
	Undo u;
	long n = 0;
	ml.count = 0;
	gen_pawns(p, &ml);
	gen_pieces(p, &ml);
	for (int i = 0; i < ml.count; i++) {
		make_move(p, ml.list[i], &u);
		U64 k = p->pieces[p->side ^ 1][KING];
		if (k && !square_attacked(p, __builtin_ctzll(k), p->side)) {
			if (depth == 1) {
				n++;
				hash_acc += p->hash;
			} else {
				n += perft(p, depth - 1);
				if (depth == 2)
					score_acc += material_score(p) * (i + 1);
			}
		}
		unmake_move(p, ml.list[i], &u);
	}
	return n;
}

void set_fen(Position *p, const char *f)
{
	memset(p, 0, sizeof *p);
	memset(p->board, NO_PIECE, 64);
	int r = 7, c = 0;
	for (; *f && *f != ' '; f++) {
		if (*f == '/') {
			r--;
			c = 0;
		} else if (*f >= '1' && *f <= '8')
			c += *f - '0';
		else {
			const char *names = "pnbrqk";
			int col = *f >= 'a' ? BLACK : WHITE;
			int pc = strchr(names, *f | 32) - names;
			toggle(p, col, pc, r * 8 + c);
			p->board[r * 8 + c++] = pc;
		}
	}
	p->side = f[1] == 'b' ? BLACK : WHITE;
}

int main(void)
{
	static const struct {
		const char *fen;
		int d;
	} tests[] = {
		{ "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w", 4 },
		{ "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w", 3 },
		{ "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w", 4 },
		{ "r1bqk2r/ppp2ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQK2R b", 3 },
	};
	Position p;
	init_tables();
	long total = 0;
	for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++) {
		set_fen(&p, tests[i].fen);
		U64 h0 = p.hash;
		total = total * 3 + perft(&p, tests[i].d);
		assert(p.hash == h0);
	}
	printf("checksum %ld %016llx %ld\n", total, (unsigned long long)hash_acc, score_acc);
	return 0;
}
