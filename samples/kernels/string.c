/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops over text. */
#include "kernels.h"

enum { LENGTH = 8000, NEEDLE = 6 };

static char text[LENGTH + 1] __attribute__((aligned(64))), folded[LENGTH + 1] __attribute__((aligned(64)));
static const char needle[NEEDLE + 1] = "qzqzqx";
static uint32_t found[4];

/* Words of one to nine letters; a capital begins one in eight, a line ends with one in twelve. */
static void init(void)
{
	uint64_t seed = 51;
	int left = 0;

	for (int i = 0; i < LENGTH; i++) {
		if (left-- == 0) {
			left = 1 + (int)(kernel_random(&seed) % 9);
			text[i] = kernel_random(&seed) % 12 ? ' ' : '\n';
			continue;
		}
		text[i] = (char)('a' + kernel_random(&seed) % 26);
		if (kernel_random(&seed) % 8 == 0)
			text[i] = (char)(text[i] - 'a' + 'A');
	}
}

KERNEL kernel_strlen(void)
{
	const char *end = text;

	while (*end)
		end++;
	found[0] = (uint32_t)(end - text);
}

KERNEL kernel_lower(void)
{
	for (int i = 0; i < LENGTH; i++) {
		char ch = text[i];

		folded[i] = ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch;
	}
}

KERNEL kernel_countlines(void)
{
	uint32_t n = 0;

	for (int i = 0; i < LENGTH; i++)
		n += text[i] == '\n';
	found[1] = n;
}

/* The needle's first letter is rare and the second rarer: the inner loop is left at once. */
KERNEL kernel_search(void)
{
	uint32_t at = LENGTH;

	for (int i = 0; i + NEEDLE <= LENGTH; i++) {
		int j = 0;

		while (j < NEEDLE && text[i + j] == needle[j])
			j++;
		if (j == NEEDLE) {
			at = (uint32_t)i;
			break;
		}
	}
	found[2] = at;
}

KERNEL kernel_reverse(void)
{
	for (int i = 0; i < LENGTH; i++)
		folded[i] = text[LENGTH - 1 - i];
}

const struct kernel kernels_string[] = {
	KERNEL_ROW(strlen, init, found, LENGTH),     KERNEL_ROW(lower, init, folded, LENGTH),
	KERNEL_ROW(countlines, init, found, LENGTH), KERNEL_ROW(search, init, found, 2 * LENGTH),
	KERNEL_ROW(reverse, init, folded, LENGTH),   { NULL },
};
