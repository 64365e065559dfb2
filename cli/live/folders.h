/* Where live segments are. */
#ifndef GW_LIVE_FOLDERS_H
#define GW_LIVE_FOLDERS_H

/**
 * Call @p take with each folder that may have segments: GPUWATCH_RUN_DIR alone, where it is set;
 * else this user's, and those of other users and of logins, which put theirs elsewhere. One may
 * come twice.
 */
void gw_live_folders(void (*take)(void *arg, const char *path), void *arg);

#endif
