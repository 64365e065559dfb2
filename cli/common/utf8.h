#ifndef GW_CLI_UTF8_H
#define GW_CLI_UTF8_H

/** @p text as UTF-8: each byte that is of no well-formed character becomes U+FFFD. free() it. */
char *gw_to_utf8(const char *text);

#endif
