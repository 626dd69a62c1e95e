/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "libdeflate.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static char in[1 << 20], out[1 << 20], back[1 << 20];
	FILE *f = argc > 2 ? fopen(argv[1], "r") : NULL;
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t n, packed = 0;

	if (!f || !c || !d)
		return 1;
	n = fread(in, 1, sizeof(in), f);
	for (int round = atoi(argv[2]); round > 0; round--) {
		packed = libdeflate_zlib_compress(c, in, n, out, sizeof(out));
		if (libdeflate_zlib_decompress(d, out, packed, back, sizeof(back), NULL))
			return 1;
	}
	printf("%zu\n", packed);
	return 0;
}
