/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snappy.h"
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char **argv)
{
	std::string in(1 << 20, 0), out, back;
	FILE *f = argc > 2 ? fopen(argv[1], "r") : nullptr;

	if (!f)
		return 1;
	in.resize(fread(&in[0], 1, in.size(), f));
	for (int round = atoi(argv[2]); round > 0; round--) {
		snappy::Compress(in.data(), in.size(), &out);
		if (!snappy::Uncompress(out.data(), out.size(), &back))
			return 1;
	}
	printf("%zu %zu\n", out.size(), back.size());
	return 0;
}
