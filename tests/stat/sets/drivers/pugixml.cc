/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pugixml.hpp"
#include <cstdio>
#include <cstdlib>

struct counter : pugi::xml_tree_walker {
	size_t n = 0;
	bool for_each(pugi::xml_node &node) override
	{
		n += node.type() == pugi::node_element;
		return true;
	}
};

int main(int argc, char **argv)
{
	size_t sum = 0;

	if (argc < 3)
		return 1;
	for (int round = atoi(argv[2]); round > 0; round--) {
		pugi::xml_document d;
		counter c;

		if (!d.load_file(argv[1]))
			return 1;
		d.traverse(c);
		sum += c.n + d.select_nodes("//item[starts-with(@kind, 'ba')]/name").size();
	}
	printf("%zu\n", sum);
	return 0;
}
