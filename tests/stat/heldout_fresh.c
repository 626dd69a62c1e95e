/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The second set: written before anyone saw what the model makes of it, and
 * reported as mean, median and worst alone.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/stat/heldout.h"

enum {
	ROWS = 96,
	CUBE = 24,
	N_QUICK = 1500,
	N_BUCKETS = 512,
	N_WORDS = 700,
	WORD = 16,
	N_RING = 3000,
	N_PAGE = 6000,
	N_CSV = 12000,
	N_PACK = 4096,
	N_BIG = 256,
	N_RAW = 3072,
	N_HEAP = 1024,
	N_SIEVE = 8192,
	N_EDIT = 72,
	N_BODY = 64,
	N_CODE = 600,
	N_RUN = 2048
};

static double matrix[ROWS][ROWS], vector[ROWS], product[ROWS];
static double cube[CUBE][CUBE][CUBE], cube2[CUBE][CUBE][CUBE];
static int32_t unsorted[N_QUICK], quick[N_QUICK];
static struct entry {
	struct entry *next;
	char word[WORD];
	uint32_t n;
} entries[N_WORDS], *buckets[N_BUCKETS];
static char words[N_WORDS][WORD];
static struct ring {
	struct ring *next;
	uint32_t value, pad[13];
} ring[N_RING];
static char page[N_PAGE + 1], csv[N_CSV + 1];
static uint8_t raw[N_RAW], packed[N_PACK];
static uint16_t chain_head[1024], chain_next[N_PACK];
static uint32_t histogram[256], crc_table[256], crc, fnv;
static uint64_t big[N_BIG], addend[N_BIG];
static char base64[N_RAW * 4 / 3];
static uint32_t heap[N_HEAP + 1];
static uint8_t sieve[N_SIEVE];
static char left[N_EDIT], right[N_EDIT];
static uint16_t row[N_EDIT + 1];
static double body[N_BODY][3], force[N_BODY][3];
static uint8_t program[N_CODE];
static int64_t stack[64];
static float samples[N_RUN], filtered[N_RUN];
static uint64_t checksum;

/* ---- several blocks ---- */

/* A matrix by a vector, rows at a time. */
KERNEL kernel_gemv(void)
{
	for (int i = 0; i < ROWS; i++) {
		double s = 0;

		for (int j = 0; j < ROWS; j++)
			s += matrix[i][j] * vector[j];
		product[i] = s;
	}
}

KERNEL kernel_stencil3(void)
{
	for (int i = 1; i < CUBE - 1; i++)
		for (int j = 1; j < CUBE - 1; j++)
			for (int k = 1; k < CUBE - 1; k++)
				cube2[i][j][k] = cube[i][j][k] * 0.4 +
				                 (cube[i - 1][j][k] + cube[i + 1][j][k] + cube[i][j - 1][k] +
				                  cube[i][j + 1][k] + cube[i][j][k - 1] + cube[i][j][k + 1]) *
				                         0.1;
}

/* Hoare's sort with a stack of its own, short pieces by insertion. */
KERNEL kernel_quick(void)
{
	int todo[64], n = 0;

	memcpy(quick, unsorted, sizeof(quick));
	todo[n++] = 0;
	todo[n++] = N_QUICK - 1;
	while (n) {
		int hi = todo[--n], lo = todo[--n];

		while (hi - lo > 12) {
			int32_t pivot = quick[(lo + hi) / 2];
			int i = lo, j = hi;

			while (i <= j) {
				while (quick[i] < pivot)
					i++;
				while (quick[j] > pivot)
					j--;
				if (i <= j) {
					int32_t t = quick[i];

					quick[i++] = quick[j];
					quick[j--] = t;
				}
			}
			todo[n++] = i;
			todo[n++] = hi;
			hi = j;
		}
		for (int i = lo + 1; i <= hi; i++) {
			int32_t v = quick[i];
			int j = i - 1;

			for (; j >= lo && quick[j] > v; j--)
				quick[j + 1] = quick[j];
			quick[j + 1] = v;
		}
	}
}

/* Words counted in a table with chains. */
KERNEL kernel_count(void)
{
	uint32_t used = 0;

	memset(buckets, 0, sizeof(buckets));
	for (int i = 0; i < N_WORDS; i++) {
		uint32_t h = 5381;
		struct entry *e;

		for (const char *p = words[i]; *p; p++)
			h = h * 33 + (uint8_t)*p;
		for (e = buckets[h % N_BUCKETS]; e && strcmp(e->word, words[i]); e = e->next)
			;
		if (!e) {
			e = &entries[used++];
			memcpy(e->word, words[i], WORD);
			e->n = 0;
			e->next = buckets[h % N_BUCKETS];
			buckets[h % N_BUCKETS] = e;
		}
		e->n++;
	}
	checksum += used;
}

/* A list whose nodes lie in the second-level cache, with a little work at each. */
KERNEL kernel_list(void)
{
	const struct ring *at = ring;
	uint32_t most = 0, sum = 0;

	do {
		sum += at->value;
		most = at->value > most ? at->value : most;
		at = at->next;
	} while (at != ring);
	checksum += sum ^ most;
}

/* Horspool's search for a word. */
KERNEL kernel_find(void)
{
	static const char want[] = "needle";
	enum { LEN = sizeof(want) - 1 };
	uint8_t skip[256];
	int at = 0;

	memset(skip, LEN, sizeof(skip));
	for (int i = 0; i < LEN - 1; i++)
		skip[(uint8_t)want[i]] = (uint8_t)(LEN - 1 - i);
	while (at + LEN <= N_PAGE) {
		int i = LEN - 1;

		while (i >= 0 && page[at + i] == want[i])
			i--;
		checksum += i < 0;
		at += skip[(uint8_t)page[at + LEN - 1]];
	}
}

/* Fields separated by commas: numbers with signs and fractions are added up, what is none is counted. */
KERNEL kernel_csv(void)
{
	const char *p = csv;
	int64_t sum = 0;

	while (*p) {
		int64_t v = 0, scale = 1;
		bool minus = *p == '-', point = false;

		for (p += minus; *p && *p != ','; p++) {
			if (*p == '.') {
				point = true;
			} else if (*p >= '0' && *p <= '9') {
				v = v * 10 + (*p - '0');
				scale *= point ? 10 : 1;
			} else {
				v = 0;
				checksum++;
			}
		}
		sum += (minus ? -v : v) * 1000 / scale;
		p += *p == ',';
	}
	checksum += (uint64_t)sum;
}

/* The longest matches of LZ77, by chains of places with the same first three bytes. */
KERNEL kernel_lz(void)
{
	int at = 1;

	memset(chain_head, 0, sizeof(chain_head));
	while (at + 32 < N_PACK) {
		uint32_t h = (packed[at] * 2089u + packed[at + 1] * 191u + packed[at + 2] * 13u) % 1024;
		int best = 0;

		for (int from = chain_head[h], tries = 8; from && tries; from = chain_next[from], tries--) {
			int len = 0;

			while (len < 32 && packed[from + len] == packed[at + len])
				len++;
			best = len > best ? len : best;
		}
		chain_next[at] = chain_head[h];
		chain_head[h] = (uint16_t)at;
		checksum += (uint64_t)best;
		at += best > 3 ? best : 1;
	}
}

static void push(int n, uint32_t v)
{
	for (; n > 1 && heap[n / 2] > v; n /= 2)
		heap[n] = heap[n / 2];
	heap[n] = v;
}

/* A queue of events: the first is taken out and comes again later. */
KERNEL kernel_queue(void)
{
	uint64_t s = 11;

	for (int n = 1; n <= N_HEAP; n++)
		push(n, next_random(&s) >> 8);
	for (int k = 0; k < N_HEAP; k++) {
		uint32_t v = heap[1] + (next_random(&s) >> 9);
		int i = 1;

		while (2 * i + 1 <= N_HEAP) {
			int child = 2 * i + (heap[2 * i + 1] < heap[2 * i]);

			if (heap[child] >= v)
				break;
			heap[i] = heap[child];
			i = child;
		}
		heap[i] = v;
	}
}

KERNEL kernel_sieve(void)
{
	memset(sieve, 1, sizeof(sieve));
	for (int i = 2; i * i < N_SIEVE; i++)
		if (sieve[i])
			for (int j = i * i; j < N_SIEVE; j += i)
				sieve[j] = 0;
	for (int i = 2; i < N_SIEVE; i++)
		checksum += sieve[i];
}

/* Levenshtein's distance. */
KERNEL kernel_edit(void)
{
	for (int j = 0; j <= N_EDIT; j++)
		row[j] = (uint16_t)j;
	for (int i = 0; i < N_EDIT; i++) {
		uint16_t diagonal = row[0];

		row[0] = (uint16_t)(i + 1);
		for (int j = 0; j < N_EDIT; j++) {
			uint16_t other = row[j + 1] < row[j] ? row[j + 1] : row[j];
			uint16_t same = (uint16_t)(diagonal + (left[i] != right[j]));

			diagonal = row[j + 1];
			row[j + 1] = same < other + 1 ? same : (uint16_t)(other + 1);
		}
	}
	checksum += row[N_EDIT];
}

KERNEL kernel_bodies(void)
{
	memset(force, 0, sizeof(force));
	for (int i = 0; i < N_BODY; i++)
		for (int j = 0; j < i; j++) {
			double d[3], r2 = 1e-3, f;

			for (int k = 0; k < 3; k++) {
				d[k] = body[j][k] - body[i][k];
				r2 += d[k] * d[k];
			}
			f = 1 / (r2 * __builtin_sqrt(r2));
			for (int k = 0; k < 3; k++) {
				force[i][k] += f * d[k];
				force[j][k] -= f * d[k];
			}
		}
}

/* An interpreter of a machine with a stack. */
KERNEL kernel_interpreter(void)
{
	int sp = 1;

	stack[0] = stack[1] = 1;
	for (int pc = 0; pc < N_CODE; pc++) {
		switch (program[pc] & 7) {
		case 0:
			stack[(sp + 1) & 63] = program[pc];
			sp = (sp + 1) & 63;
			break;
		case 1:
			stack[(sp - 1) & 63] += stack[sp];
			sp = (sp - 1) & 63;
			break;
		case 2:
			stack[sp] ^= stack[(sp - 1) & 63];
			break;
		case 3:
			stack[sp] *= 3;
			break;
		case 4:
			pc += stack[sp] & 1;
			break;
		case 5:
			stack[(sp + 1) & 63] = stack[sp];
			sp = (sp + 1) & 63;
			break;
		case 6:
			stack[sp] = -stack[sp];
			break;
		default:
			stack[sp] >>= 1;
		}
	}
	checksum += (uint64_t)stack[sp];
}

/* ---- one straight-line loop each ---- */

KERNEL kernel_histogram(void)
{
	for (int i = 0; i < N_RAW; i++)
		histogram[raw[i]]++;
}

KERNEL kernel_bigadd(void)
{
	unsigned long long carry = 0;

	for (int i = 0; i < N_BIG; i++) {
		unsigned long long s, t;

		carry = __builtin_uaddll_overflow(big[i], carry, &s);
		carry += __builtin_uaddll_overflow(s, addend[i], &t);
		big[i] = t;
	}
}

KERNEL kernel_base64(void)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (int i = 0, o = 0; i < N_RAW; i += 3, o += 4) {
		uint32_t v = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];

		base64[o] = digit[v >> 18];
		base64[o + 1] = digit[v >> 12 & 63];
		base64[o + 2] = digit[v >> 6 & 63];
		base64[o + 3] = digit[v & 63];
	}
}

KERNEL kernel_crc(void)
{
	uint32_t c = crc;

	for (int i = 0; i < N_RAW; i++)
		c = c >> 8 ^ crc_table[(c ^ raw[i]) & 255];
	crc = c;
}

KERNEL kernel_fnv(void)
{
	uint32_t h = fnv;

	for (int i = 0; i < N_RAW; i++)
		h = (h ^ raw[i]) * 16777619u;
	fnv = h;
}

/* A filter of second order, each sample by the two before. */
KERNEL kernel_filter(void)
{
	float before = 0, last = 0;

	for (int i = 0; i < N_RUN; i++) {
		float y = samples[i] + 0.5f * last - 0.25f * before;

		before = last;
		last = y;
		filtered[i] = y;
	}
}

/* ---- what they work on ---- */

static void init_numbers(uint64_t *s)
{
	for (int i = 0; i < ROWS; i++) {
		vector[i] = next_random(s) * 1e-9;
		for (int j = 0; j < ROWS; j++)
			matrix[i][j] = next_random(s) * 1e-9;
	}
	for (int i = 0; i < CUBE; i++)
		for (int j = 0; j < CUBE; j++)
			for (int k = 0; k < CUBE; k++)
				cube[i][j][k] = next_random(s) * 1e-9;
	for (int i = 0; i < N_QUICK; i++)
		unsorted[i] = (int32_t)next_random(s);
	for (int i = 0; i < N_BIG; i++) {
		big[i] = (uint64_t)next_random(s) << 33;
		addend[i] = (uint64_t)next_random(s) << 32 | next_random(s);
	}
	for (int i = 0; i < N_BODY; i++)
		for (int k = 0; k < 3; k++)
			body[i][k] = next_random(s) * 1e-9;
	for (int i = 0; i < N_RUN; i++)
		samples[i] = (float)next_random(s) * 1e-9f;
}

static void init_bytes(uint64_t *s)
{
	for (int i = 0; i < N_RAW; i++)
		raw[i] = (uint8_t)(next_random(s) >> 7);
	/* As text is: letters that are not equally frequent, and pieces that come again. */
	for (int i = 0; i < N_PACK; i++)
		packed[i] = i > 64 && next_random(s) % 4
		                    ? packed[i - 40]
		                    : (uint8_t)('a' + next_random(s) % 26 % (1 + next_random(s) % 26));
	for (int i = 0; i < N_CODE; i++)
		program[i] = (uint8_t)(next_random(s) >> 5);
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
		crc_table[i] = c;
	}
}

static void init_text(uint64_t *s)
{
	int n = 0;

	for (int i = 0; i < N_PAGE; i++)
		page[i] = (char)(next_random(s) % 6 == 0 ? ' ' : 'a' + next_random(s) % 20);
	for (int i = 500; i < N_PAGE - 10; i += 700)
		memcpy(page + i, "needle", 6);
	for (int i = 0; i < N_WORDS; i++) {
		uint32_t which = next_random(s) % 200, len = 3 + which % 9;

		for (uint32_t k = 0; k < len; k++)
			words[i][k] = (char)('a' + (which * 7 + k * which) % 26);
	}
	while (n < N_CSV - 24) {
		n += (int)(next_random(s) % 5 == 0);
		if (next_random(s) % 4 == 0)
			csv[n++] = '-';
		for (uint32_t k = 1 + next_random(s) % 6; k; k--)
			csv[n++] = (char)('0' + next_random(s) % 10);
		if (next_random(s) % 3 == 0) {
			csv[n++] = '.';
			csv[n++] = (char)('0' + next_random(s) % 10);
		}
		csv[n++] = ',';
	}
	for (int i = 0; i < n; i++)
		csv[i] = csv[i] ? csv[i] : 'x';
	for (int i = 0; i < N_EDIT; i++) {
		left[i] = (char)('a' + next_random(s) % 4);
		right[i] = (char)('a' + next_random(s) % 4);
	}
}

static void init_ring(uint64_t *s)
{
	int order[N_RING];

	for (int i = 0; i < N_RING; i++)
		order[i] = i;
	for (int i = N_RING - 1; i > 0; i--) {
		int j = (int)(next_random(s) % (unsigned)(i + 1)), t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
	for (int i = 0; i < N_RING; i++) {
		ring[order[i]].next = &ring[order[(i + 1) % N_RING]];
		ring[i].value = next_random(s);
	}
}

static void init(void)
{
	uint64_t s = 23;

	init_numbers(&s);
	init_bytes(&s);
	init_text(&s);
	init_ring(&s);
}

/* Results that nobody asks for would not be computed. */
static double result(void)
{
	return product[1] + cube2[1][1][1] + quick[1] + (double)checksum + histogram[1] + (double)big[1] +
	       base64[1] + heap[1] + crc + fnv + filtered[1] + force[1][1];
}

static const struct kernel kernels[] = {
	{ "gemv", kernel_gemv, 0, 0 },
	{ "stencil3", kernel_stencil3, 0, 0 },
	{ "quick", kernel_quick, 0, 0 },
	{ "count", kernel_count, 0, 0 },
	{ "list", kernel_list, 0, 0 },
	{ "find", kernel_find, 0, 0 },
	{ "csv", kernel_csv, 0, 0 },
	{ "lz", kernel_lz, 0, 0 },
	{ "queue", kernel_queue, 0, 0 },
	{ "sieve", kernel_sieve, 0, 0 },
	{ "edit", kernel_edit, 0, 0 },
	{ "bodies", kernel_bodies, 0, 0 },
	{ "interpreter", kernel_interpreter, 0, 0 },
	{ "histogram", kernel_histogram, N_RAW, 1 },
	{ "bigadd", kernel_bigadd, N_BIG, sizeof(uint64_t) },
	{ "base64", kernel_base64, N_RAW, 1 },
	{ "crc", kernel_crc, N_RAW, 1 },
	{ "fnv", kernel_fnv, N_RAW, 1 },
	{ "filter", kernel_filter, N_RUN, sizeof(float) },
	{ NULL, NULL, 0, 0 },
};

const struct kernel_set heldout_fresh = { "fresh", kernels, init, result };
