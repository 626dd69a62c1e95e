/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SKIDPROF_PROFILER_CMD_H
#define SKIDPROF_PROFILER_CMD_H

/*
 * The commands of this stage.  A positive return value is an exit status to
 * pass on (the recorded program's); a negative one an error.
 */
int cmd_record(int argc, char **argv);
int cmd_truth(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

#endif
