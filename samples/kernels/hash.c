/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checksums, mixing, and a table of open addresses. */
#include "kernels.h"

enum { LENGTH = 4096, SLOTS = 1024, KEYS = 600 };

static uint8_t bytes[LENGTH] __attribute__((aligned(64)));
static uint32_t crc_of[256] __attribute__((aligned(64)));
static uint32_t slots[SLOTS] __attribute__((aligned(64))), keys[KEYS] __attribute__((aligned(64)));
static uint64_t result[4];

static uint32_t slot_of(uint32_t key)
{
	return (key * 2654435769u) >> 22;
}

static void init_crc(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		crc_of[i] = c;
	}
}

static void init(void)
{
	uint64_t seed = 61;

	init_crc();
	for (int i = 0; i < LENGTH; i++)
		bytes[i] = (uint8_t)kernel_random(&seed);
	for (int i = 0; i < SLOTS; i++)
		slots[i] = 0;
	for (int i = 0; i < KEYS; i++) {
		uint32_t s;

		keys[i] = 1 + kernel_random(&seed);
		for (s = slot_of(keys[i]); slots[s]; s = (s + 1) % SLOTS)
			;
		slots[s] = keys[i];
	}
}

KERNEL kernel_fnv(void)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (int i = 0; i < LENGTH; i++)
		h = (h ^ bytes[i]) * 0x100000001b3u;
	result[0] = h;
}

KERNEL kernel_crc32(void)
{
	uint32_t c = ~0u;

	for (int i = 0; i < LENGTH; i++)
		c = crc_of[(c ^ bytes[i]) & 0xff] ^ c >> 8;
	result[1] = ~c;
}

KERNEL kernel_adler(void)
{
	uint32_t low = 1, high = 0;

	for (int i = 0; i < LENGTH; i++) {
		low += bytes[i];
		high += low;
	}
	result[2] = high % 65521 << 16 | low % 65521;
}

/* Four bytes at a time, as murmur mixes them. */
KERNEL kernel_mix(void)
{
	const uint32_t *word = (const uint32_t *)(const void *)bytes;
	uint32_t h = 0;

	for (int i = 0; i < LENGTH / 4; i++) {
		uint32_t k = word[i] * 0xcc9e2d51u;

		k = k << 15 | k >> 17;
		h ^= k * 0x1b873593u;
		h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
	}
	result[3] = h ^ h >> 16;
}

KERNEL kernel_probe(void)
{
	uint64_t steps = 0;

	for (int i = 0; i < KEYS; i++)
		for (uint32_t s = slot_of(keys[i]); slots[s] != keys[i]; s = (s + 1) % SLOTS)
			steps++;
	result[0] = steps;
}

const struct kernel kernels_hash[] = {
	KERNEL_ROW(fnv, init, result, 2 * LENGTH), KERNEL_ROW(crc32, init, result, 2 * LENGTH),
	KERNEL_ROW(adler, init, result, LENGTH),   KERNEL_ROW(mix, init, result, LENGTH),
	KERNEL_ROW(probe, init, result, 4 * KEYS), { NULL },
};
