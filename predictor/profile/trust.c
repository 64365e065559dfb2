#include "predictor/profile/trust.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A user's own group, by the same number, where the umask is 002. Root's may have other members. */
static bool own_group(const struct stat *st)
{
	return st->st_uid && st->st_gid == st->st_uid;
}

static bool group_writes(const struct stat *st)
{
	return (st->st_mode & S_IWGRP) && !own_group(st);
}

/* @p with is NULL or a file that is trusted whoever may write it. */
static bool others_write(const struct stat *st, const struct stat *with)
{
	if (with && with->st_mode & S_IWOTH)
		return false;
	if (st->st_mode & S_IWOTH)
		return true;
	return group_writes(st) && !(with && with->st_mode & S_IWGRP && with->st_gid == st->st_gid);
}

static bool belongs(const struct stat *st, const struct stat *with)
{
	return !st->st_uid || st->st_uid == geteuid() || (with && st->st_uid == with->st_uid);
}

bool gw_trusted(const char *path, const char *with, char *why, size_t size)
{
	struct stat st, other, *known = with && !stat(with, &other) ? &other : NULL;

	if (stat(path, &st))
		return true;
	if (others_write(&st, known))
		snprintf(why, size, "%s: not used: others may write it (mode %04o)", path,
			 (unsigned)st.st_mode & 07777);
	else if (!belongs(&st, known))
		snprintf(why, size, "%s: not used: it belongs to user %u", path,
			 (unsigned)st.st_uid);
	else
		return true;
	return false;
}

bool gw_folder_of(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t length = slash && slash != path ? (size_t)(slash - path) : 1;

	if (length >= PATH_MAX)
		return false;
	memcpy(folder, slash ? path : ".", length);
	folder[length] = 0;
	return true;
}

bool gw_trusted_file(const char *path, const char *with, char *why, size_t size)
{
	char folder[PATH_MAX];

	if (!gw_folder_of(path, folder)) {
		snprintf(why, size, "a path of more than %d bytes is not used", PATH_MAX);
		return false;
	}
	return gw_trusted(folder, with, why, size) && gw_trusted(path, with, why, size);
}
