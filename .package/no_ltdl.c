/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the tarball: GLPK's static library wants libltdl, of which Debian has no static library, to load drivers of
 * databases.  skidprof reads no database, so there is nothing to load.
 */
int lt_dlinit(void);
int lt_dlexit(void);
int lt_dlclose(void *handle);
void *lt_dlopen(const char *name);
void *lt_dlsym(void *handle, const char *name);
const char *lt_dlerror(void);

int lt_dlinit(void)
{
	return 1;
}

int lt_dlexit(void)
{
	return 0;
}

int lt_dlclose(void *handle)
{
	(void)handle;
	return 0;
}

void *lt_dlopen(const char *name)
{
	(void)name;
	return 0;
}

void *lt_dlsym(void *handle, const char *name)
{
	(void)handle;
	(void)name;
	return 0;
}

const char *lt_dlerror(void)
{
	return "not in this build";
}
