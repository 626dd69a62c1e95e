/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_REPORT_CMD_H
#define SKIDPROF_REPORT_CMD_H

/* The commands of this stage; return values as in profiler/cmd.h. */
int cmd_report(int argc, char **argv);
int cmd_annotate(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_lift(int argc, char **argv);

#endif
