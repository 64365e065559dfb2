/*
 * What happens to the place where the log is, while it is written: LOG names it. Whatever waits for
 * the log does so only under gpuwatch; without it there is none.
 */
#include "client.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>

enum { PATIENCE_MS = 60000 };

static const char *log_path;

static bool watched(void)
{
	log_path = getenv("LOG");
	return getenv("LD_PRELOAD") != NULL;
}

static off_t log_size(void)
{
	struct stat s;

	return stat(log_path, &s) ? 0 : s.st_size;
}

static _Atomic int mine = -1; /* a file of the program's, in the scenario `race` */

static off_t mine_size(void)
{
	struct stat s;

	return stat("mine", &s) ? -1 : s.st_size;
}

/* Launch until the log has more than @p least bytes. */
static void launch_until(off_t least)
{
	for (int ms = 0; watched() && log_size() <= least && mine_size() <= 8; ms += 10) {
		if (ms > PATIENCE_MS) {
			puts("the log does not grow");
			exit(8);
		}
		client_launch(3, 5);
		client_nap(10);
	}
}

static void begin(void)
{
	client_start();
	client_launch(1, 20);
	client_launch(2, 20);
	launch_until(0);
}

static void end(void)
{
	client_launch(1, 20);
	client_launch(2, 20);
	CK(cuCtxSynchronize());
	puts("done");
}

static void deleted(void)
{
	begin();
	unlink(log_path);
	launch_until(0);
	end();
}

static void folder_removed(void)
{
	begin();
	unlink(log_path);
	rmdir("sub");
	launch_until(0);
	end();
}

static void truncated(void)
{
	begin();
	if (truncate(log_path, 0) != 0 && watched())
		exit(8);
	launch_until(0);
	end();
}

static void daemonized(void)
{
	begin();
	if (chdir("/") != 0)
		exit(9);
	closefrom(3);
	client_launch(4, 100);
	end();
}

static void chrooted(void)
{
	begin();
	if (chroot("/var") != 0 || chdir("/") != 0)
		exit(9);
	closefrom(3);
	client_launch(4, 100);
	end();
}

static void unprivileged(void)
{
	begin();
	if (setgid(65534) != 0 || setuid(65534) != 0)
		exit(9);
	closefrom(3);
	client_launch(4, 100);
	end();
}

/* The disk is full when the log begins, and has room later. */
static void full_at_first(void)
{
	static char ballast[4096];
	int fd = open("small/ballast", O_WRONLY | O_CREAT, 0600);

	while (write(fd, ballast, sizeof(ballast)) == (ssize_t)sizeof(ballast))
		;
	client_start();
	client_launch(1, 20);
	client_launch(2, 20);
	client_nap(watched() ? 3500 : 0);
	if (ftruncate(fd, 0) != 0)
		exit(9);
	launch_until(0);
	end();
}

static unsigned links_to(const char *folder, const char *text)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d))) {
		char path[512], target[512];
		ssize_t length;

		snprintf(path, sizeof(path), "%s/%.200s", folder, e->d_name);
		length = readlink(path, target, sizeof(target) - 1);
		target[length < 0 ? 0 : length] = 0;
		n += strstr(target, text) != NULL;
	}
	if (d)
		closedir(d);
	return n;
}

/* No number of the program's is the log's file, so that none can be taken over. */
static void numbers(void)
{
	begin();
	printf("of the log: %u\n", links_to("/proc/self/fd", log_path));
	end();
}

/* An end of a pipe stays open nowhere. */
static void pipe_ends(void)
{
	struct pollfd p;
	int ends[2];

	if (pipe(ends) != 0)
		exit(9);
	begin();
	close(ends[1]);
	p = (struct pollfd){.fd = ends[0], .events = POLLIN};
	printf("end of the pipe: %d\n", poll(&p, 1, PATIENCE_MS) == 1 && p.revents & POLLHUP);
	end();
}

static bool locked_for_others(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK);
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1;
}

/* Locks by fcntl() go when any number of the file is closed; none of ours is one. */
static void locks(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = open("locked", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0)
		exit(9);
	begin();
	printf("locked: %d\n", locked_for_others(fd));
	end();
}

/* For gpuwatch, too: after a look at a file its number is taken over, before anything else is done.
 */
__attribute__((visibility("default"))) int fstat(int fd, struct stat *s)
{
	int r = (int)syscall(SYS_newfstatat, fd, "", s, AT_EMPTY_PATH);

	if (mine >= 0 && fd > STDERR_FILENO)
		dup2(mine, fd);
	return r;
}

static void race(void)
{
	int fd = open("mine", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644);

	if (fd < 0 || write(fd, "AAAAAAAA", 8) != 8)
		exit(9);
	begin();
	mine = dup2(fd, 150); /* a number that a table of gpuwatch's own has not */
	for (int i = 0; i < 4; i++)
		launch_until(log_size());
	printf("mine has %ld bytes\n", (long)mine_size());
	end();
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"deleted", deleted},
					       {"folder_removed", folder_removed},
					       {"truncated", truncated},
					       {"daemonized", daemonized},
					       {"chrooted", chrooted},
					       {"unprivileged", unprivileged},
					       {"full_at_first", full_at_first},
					       {"numbers", numbers},
					       {"pipe_ends", pipe_ends},
					       {"locks", locks},
					       {"race", race},
					       {NULL, NULL}};

	watched();
	return client_main(argc, argv, list);
}
