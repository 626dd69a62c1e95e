/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From text to values and back. */
#include <stdio.h>

#include "kernels.h"

enum { LENGTH = 6000, DIGITS = 2048, RAW = 3000 };

static char csv[LENGTH + 16] __attribute__((aligned(64))), hex[DIGITS + 1] __attribute__((aligned(64)));
static uint8_t raw[RAW] __attribute__((aligned(64))), decoded[DIGITS / 2] __attribute__((aligned(64)));
static char encoded[RAW / 3 * 4] __attribute__((aligned(64)));
static uint8_t packed[RAW] __attribute__((aligned(64)));
static const char letters[64] __attribute__((aligned(64))) =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static uint8_t kind[256] __attribute__((aligned(64)));
static uint64_t sums[4];

static void init(void)
{
	uint64_t seed = 81;
	int n = 0;

	while (n < LENGTH)
		n += sprintf(csv + n, "%u%c", 1000 + kernel_random(&seed) % 9000, n % 60 > 54 ? '\n' : ',');
	csv[n - 1] = 0;
	for (int i = 0; i < DIGITS; i++)
		hex[i] = "0123456789abcdef"[kernel_random(&seed) & 15];
	for (int i = 0; i < RAW; i++) {
		raw[i] = (uint8_t)kernel_random(&seed);
		/* Five numbers of seven bits each, then one of two bytes, and again. */
		packed[i] = (raw[i] & 0x7f) | (i % 7 == 5 ? 0x80 : 0);
	}
	packed[RAW - 1] &= 0x7f;
	for (int i = 0; i < 256; i++)
		kind[i] = i >= '0' && i <= '9' ? 0 : i == ',' ? 1 : 2;
}

KERNEL kernel_integers(void)
{
	uint64_t sum = 0, value = 0;

	for (const char *at = csv; *at; at++) {
		unsigned digit = (unsigned char)*at - '0';

		if (digit < 10) {
			value = value * 10 + digit;
		} else {
			sum += value;
			value = 0;
		}
	}
	sums[0] = sum + value;
}

/* What a scanner does with each letter, by table. */
KERNEL kernel_classify(void)
{
	uint32_t digits = 0, commas = 0, rest = 0;

	for (const char *at = csv; *at; at++) {
		uint8_t k = kind[(unsigned char)*at];

		digits += k == 0;
		commas += k == 1;
		rest += k == 2;
	}
	sums[1] = digits | (uint64_t)commas << 20 | (uint64_t)rest << 40;
}

KERNEL kernel_unhex(void)
{
	for (int i = 0; i < DIGITS / 2; i++) {
		unsigned high = (unsigned char)hex[2 * i], low = (unsigned char)hex[2 * i + 1];

		high = (high & 15) + (high >> 6) * 9;
		low = (low & 15) + (low >> 6) * 9;
		decoded[i] = (uint8_t)(high << 4 | low);
	}
}

KERNEL kernel_base64(void)
{
	for (int i = 0, j = 0; i < RAW; i += 3, j += 4) {
		uint32_t three = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];

		encoded[j] = letters[three >> 18];
		encoded[j + 1] = letters[three >> 12 & 63];
		encoded[j + 2] = letters[three >> 6 & 63];
		encoded[j + 3] = letters[three & 63];
	}
}

/* LEB128: seven bits a byte, the eighth says that more follow. */
KERNEL kernel_varint(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < RAW;) {
		uint64_t value = 0;
		unsigned shift = 0;
		uint8_t byte;

		do {
			byte = packed[i++];
			value |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		} while (byte & 0x80);
		sum += value;
	}
	sums[2] = sum;
}

const struct kernel kernels_parse[] = {
	KERNEL_ROW(integers, init, sums, 2 * LENGTH), KERNEL_ROW(classify, init, sums, 2 * LENGTH),
	KERNEL_ROW(unhex, init, decoded, DIGITS),     KERNEL_ROW(base64, init, encoded, RAW),
	KERNEL_ROW(varint, init, sums, 2 * RAW),      { NULL },
};
