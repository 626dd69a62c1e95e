/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_LIFT_NATIVE_BLOCK_H
#define SKIDPROF_REPORT_LIFT_NATIVE_BLOCK_H

/* A block made ready to be run alone, and the program that runs it. */
#include <stdbool.h>

#include "report/lift/sandbox/wire.h"
#include "report/lift/tool.h"

/*
 * What leaves the block at its end is taken off, but a conditional branch
 * stays as one that is never taken (jo to the next instruction): it may be
 * one operation with the comparison before it.  Operands named by their
 * distance from the instruction are noted, to be given an area of their own,
 * and so are the registers that it hands on to itself (block->turns).
 *
 * Returns 0; -SP_ENOTSUP, worded, when the block can't be run: it is too long,
 * calls the system, or has a way out in its middle.
 */
int native_prepare(struct insn_decoder *d, const struct tool_block *b, struct block_request *out);

struct native_server;

/* Try the program at `path` out; it runs from the first question on.  -SP_ENOTSUP, worded, when it can't here. */
int native_server_start(const char *path, struct native_server **out);
void native_server_stop(struct native_server *s);

/* Run a block.  0, or -SP_EIO when the program is gone: it is started anew for the next. */
int native_server_ask(struct native_server *s, const struct block_request *b, struct block_reply *out);

/* Why there is no time: into out, of at least 160 bytes. */
void native_reason(const struct block_reply *r, char *out, size_t size);

#endif
