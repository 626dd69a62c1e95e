/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands for what picosat's makefile generates. */
