/* What clients of the stand-in and of the preloaded library share: checked calls, task counters. */
#ifndef GW_TESTS_TASKS_H
#define GW_TESTS_TASKS_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Says where a driver call failed and ends the program with @p status. */
#define CHECK_CALL(call, status) \
	do { \
		CUresult result_ = (call); \
		if (result_ != CUDA_SUCCESS) { \
			fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call, \
				(int)result_); \
			exit(status); \
		} \
	} while (0)

/* What the kernel says of a client's own threads. */

/** Call @p see with the status file of each thread of this program, until it returns false. */
static inline void each_task(bool (*see)(void *arg, const char *status), void *arg)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	bool more = true;

	while (tasks && more && (task = readdir(tasks))) {
		char path[300], status[4096] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		fd = *task->d_name == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, status, sizeof(status) - 1) > 0)
			more = see(arg, status);
		if (fd >= 0)
			close(fd);
	}
	if (tasks)
		closedir(tasks);
}

/** What follows @p key, "\nNAME:\t", in a status file; "" where it is not there. */
static inline const char *task_field(const char *status, const char *key)
{
	const char *found = strstr(status, key);

	return found ? found + strlen(key) : "";
}

/** Whether it is a thread of the library's. */
static inline bool task_is_library(const char *status)
{
	return !strncmp(status, "Name:\tgpuwatch", 14);
}

#endif
