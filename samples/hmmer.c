/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One row after the other of a profile hidden Markov model's best path.
 *
 * The inner loop of P7Viterbi() has the paper's graph: a block that every node
 * of the model runs, a block that only nodes with an insert state run, and a
 * tail.  Two simple loops, one free flow.  The maxima are conditional moves,
 * not branches, and come from a small function, path_max(), put in place.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_NODES = 400, N_LETTERS = 20, LOWEST = -987654321 };

/* Scores of a model, one array a transition, index 1..N_NODES; and of one row of the search. */
struct model {
	int mm[N_NODES + 1], im[N_NODES + 1], dm[N_NODES + 1], bm[N_NODES + 1];
	int mi[N_NODES + 1], ii[N_NODES + 1], md[N_NODES + 1], dd[N_NODES + 1];
	int match[N_LETTERS][N_NODES + 1], insert[N_LETTERS][N_NODES + 1];
	unsigned char has_insert[N_NODES + 1];
};

struct row {
	int match[N_NODES + 1], insert[N_NODES + 1], del[N_NODES + 1];
};

static struct model model;
static struct row rows[2];
static unsigned char letters[4096];
static uint64_t lcg_state = 19980215;

static uint32_t lcg_next(void)
{
	lcg_state = lcg_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(lcg_state >> 33);
}

static uint32_t lcg_below(uint32_t n)
{
	return (uint32_t)(((uint64_t)lcg_next() * n) >> 31);
}

static inline int path_max(int a, int b)
{
	return a > b ? a : b;
}

/* The hot loop: the best score of each node after one more letter. */
__attribute__((noinline)) static int P7Viterbi(const struct model *m, const struct row *prev, struct row *cur,
                                               int letter, int begin)
{
	const int *match = m->match[letter], *insert = m->insert[letter];
	int best = LOWEST;

	for (int k = 1; k <= N_NODES; k++) {
		int sc = prev->match[k - 1] + m->mm[k - 1];

		sc = path_max(sc, prev->insert[k - 1] + m->im[k - 1]);
		sc = path_max(sc, prev->del[k - 1] + m->dm[k - 1]);
		sc = path_max(sc, begin + m->bm[k]);
		cur->match[k] = path_max(sc + match[k], LOWEST);
		cur->del[k] =
		        path_max(path_max(cur->match[k - 1] + m->md[k - 1], cur->del[k - 1] + m->dd[k - 1]),
		                 LOWEST);
		if (m->has_insert[k]) {
			sc = path_max(prev->match[k] + m->mi[k], prev->insert[k] + m->ii[k]);
			cur->insert[k] = path_max(sc + insert[k], LOWEST);
		}
		best = path_max(best, cur->match[k]);
	}
	return best;
}

static void make_transitions(int k)
{
	model.mm[k] = -(int)lcg_below(90);
	model.im[k] = -300 - (int)lcg_below(200);
	model.dm[k] = -200 - (int)lcg_below(300);
	model.bm[k] = -600 - (int)lcg_below(400);
	model.mi[k] = -700 - (int)lcg_below(300);
	model.ii[k] = -200 - (int)lcg_below(100);
	model.md[k] = -700 - (int)lcg_below(300);
	model.dd[k] = -200 - (int)lcg_below(200);
}

static void make_model(void)
{
	for (int k = 0; k <= N_NODES; k++) {
		make_transitions(k);
		model.has_insert[k] = lcg_below(10) < 4;
		for (int x = 0; x < N_LETTERS; x++) {
			model.match[x][k] = (int)lcg_below(600) - 350;
			model.insert[x][k] = (int)lcg_below(100) - 80;
		}
	}
	for (size_t i = 0; i < sizeof(letters); i++)
		letters[i] = (unsigned char)lcg_below(N_LETTERS);
}

static void clear_row(struct row *r)
{
	for (int k = 0; k <= N_NODES; k++)
		r->match[k] = r->insert[k] = r->del[k] = LOWEST / 2;
}

int main(int argc, char **argv)
{
	int n_rows = argc > 1 ? atoi(argv[1]) : 12800;
	int begin = 0;
	uint64_t sum = 0;

	make_model();
	clear_row(&rows[0]);
	clear_row(&rows[1]);
	for (int i = 0; i < n_rows; i++) {
		int best =
		        P7Viterbi(&model, &rows[i & 1], &rows[~i & 1], letters[i % sizeof(letters)], begin);

		/* Scores fall or rise along a sequence; a new one starts before they run over. */
		begin = best > 500000 || best < -500000 ? 0 : begin - 3;
		sum = sum * 31 + (uint64_t)(int64_t)best;
	}
	printf("hmmer: %d rows, checksum %016llx\n", n_rows, (unsigned long long)sum);
	return 0;
}
