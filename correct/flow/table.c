/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "correct/flow/build.h"

int flow_table_follow(struct flow_build *b, uint32_t node, bool *found)
{
	(void)b;
	(void)node;
	*found = false;
	return 0;
}
