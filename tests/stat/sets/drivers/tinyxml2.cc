/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tinyxml2.h"
#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv)
{
	size_t sum = 0;

	if (argc < 3)
		return 1;
	for (int round = atoi(argv[2]); round > 0; round--) {
		tinyxml2::XMLDocument d;
		tinyxml2::XMLPrinter p;

		if (d.LoadFile(argv[1]) != tinyxml2::XML_SUCCESS)
			return 1;
		for (auto *e = d.RootElement()->FirstChildElement("item"); e;
		     e = e->NextSiblingElement("item"))
			sum += e->IntAttribute("id");
		d.Print(&p);
		sum += p.CStrSize();
	}
	printf("%zu\n", sum);
	return 0;
}
