/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands for what picosat's makefile generates. */
const char *picosat_config(void);
const char *picosat_version(void);

const char *picosat_config(void)
{
	return "plain";
}

const char *picosat_version(void)
{
	return "965";
}
