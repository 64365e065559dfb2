/* The secret by which the agent knows who may read. */
#ifndef GW_COMMON_TOKEN_H
#define GW_COMMON_TOKEN_H

/** The first line of the file at @p path; free() it. NULL after a message of @p command. */
char *gw_token_read(const char *command, const char *path);

#endif
