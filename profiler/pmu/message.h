/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PMU_MESSAGE_H
#define SKIDPROF_PMU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Is this a whole message of the plugin's, with all that its kind must have?
 * A sample must carry at least n_members values.  The plugin is ours: one of
 * an older build is the likely fault.
 */
bool message_is_whole(const void *message, size_t n, uint32_t n_members);

#endif
