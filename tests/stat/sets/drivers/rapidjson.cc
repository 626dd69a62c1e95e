/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rapidjson/document.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
	std::vector<char> text(1 << 21);
	FILE *f = argc > 2 ? fopen(argv[1], "r") : nullptr;
	size_t sum = 0;

	if (!f)
		return 1;
	text[fread(text.data(), 1, text.size() - 1, f)] = 0;
	for (int round = atoi(argv[2]); round > 0; round--) {
		rapidjson::Document d;
		rapidjson::StringBuffer out;
		rapidjson::Writer<rapidjson::StringBuffer> w(out);

		d.Parse(text.data());
		d.Accept(w);
		sum += out.GetSize();
	}
	printf("%zu\n", sum);
	return 0;
}
