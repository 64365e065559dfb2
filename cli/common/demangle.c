#include "cli/common/demangle.h"

#include "cli/common/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A mangled name of 300 bytes can stand for gigabytes: each back reference may double what it
 * refers to. The C++ runtime's demangler has no bound, so names with many references, which real
 * templates have too, are taken apart in a child process with little time.
 */
enum {
	MANGLED_MOST = 16384,     /* bytes of a name that is taken apart at all */
	DEMANGLED_MOST = 1 << 20, /* bytes of a result that is used */
	REFERENCES_MOST = 20,     /* back references without a child: at most 3^(20/3) copies */
	SECONDS_MOST = 2,         /* of CPU for each child */
	CHILDREN_MOST = 4,        /* for one batch; names beyond stay mangled */
};

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);

/* The C++ runtime is on every machine that runs CUDA programs; opening it keeps it optional. */
static demangle_fn *demangler(void)
{
	static demangle_fn *function;
	static bool tried;

	if (!tried) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

		/* POSIX promises that a function pointer fits; ISO C has no cast for it. */
		memcpy(&function, &symbol, sizeof(function));
		tried = true;
	}
	return function;
}

static char *take_apart(const char *mangled)
{
	int status = 0;
	char *out = demangler()(mangled, NULL, NULL, &status);

	if (out && !status && strlen(out) <= DEMANGLED_MOST)
		return out;
	free(out);
	return gw_copy(mangled);
}

static bool is_mangled(const char *name)
{
	return demangler() && !strncmp(name, "_Z", 2) && strlen(name) <= MANGLED_MOST;
}

static bool harmless(const char *mangled)
{
	unsigned references = 0;

	for (const char *p = mangled; *p; p++)
		references += (*p == 'S' || *p == 'T') && p[1] != '\0';
	return references <= REFERENCES_MOST;
}

/* Demangle on into @p fd, each result ended by a NUL; never returns. */
static void child(int fd, const char *const *mangled, size_t count)
{
	setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS_MOST, SECONDS_MOST});
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	for (size_t i = 0; i < count; i++) {
		char *plain = is_mangled(mangled[i]) ? take_apart(mangled[i]) : gw_copy(mangled[i]);
		size_t size = strlen(plain) + 1;

		for (size_t done = 0; done < size;) {
			ssize_t n = write(fd, plain + done, size - done);

			if (n <= 0)
				_exit(1);
			done += (size_t)n;
		}
		free(plain);
	}
	_exit(0);
}

/* The results a child gave before it ended; how many names it finished. */
static size_t collect(int fd, char **plain, size_t count)
{
	FILE *in = fdopen(fd, "r");
	size_t room = 0, done = 0;
	char *line = NULL;

	while (in && done < count) {
		ssize_t length = getdelim(&line, &room, '\0', in);

		if (length <= 0 || line[length - 1])
			break;
		plain[done++] = gw_copy(line);
	}
	free(line);
	if (in)
		fclose(in);
	return done;
}

/* As much of the batch as one child does; how many names are done, the one it broke on included. */
static size_t by_child(const char *const *mangled, char **plain, size_t count)
{
	int ends[2];
	size_t done = 0;
	pid_t pid;

	fflush(NULL);
	if (!pipe(ends)) {
		pid = fork();
		if (!pid) {
			close(ends[0]);
			child(ends[1], mangled, count);
		}
		close(ends[1]);
		if (pid > 0)
			done = collect(ends[0], plain, count);
		else
			close(ends[0]);
		while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	if (done < count) {
		plain[done] = gw_copy(mangled[done]);
		done++;
	}
	return done;
}

void gw_demangle_many(const char *const *mangled, char **plain, size_t count)
{
	const char **hard = gw_alloc(count * sizeof(*hard));
	char **results = gw_alloc(count * sizeof(*results));
	size_t *where = gw_alloc(count * sizeof(*where)), hards = 0, done = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_mangled(mangled[i])) {
			plain[i] = gw_copy(mangled[i]);
		} else if (harmless(mangled[i])) {
			plain[i] = take_apart(mangled[i]);
		} else {
			where[hards] = i;
			hard[hards++] = mangled[i];
		}
	}
	for (unsigned n = 0; n < CHILDREN_MOST && done < hards; n++)
		done += by_child(hard + done, results + done, hards - done);
	for (size_t i = 0; i < hards; i++)
		plain[where[i]] = results[i] ? results[i] : gw_copy(hard[i]);
	free(hard);
	free(results);
	free(where);
}

char *gw_demangle(const char *mangled)
{
	char *plain;

	gw_demangle_many(&mangled, &plain, 1);
	return plain;
}

const char *gw_demangle_missing(void)
{
	return demangler() ? NULL
			   : "names are mangled: libstdc++.so.6 was not found; install it or "
			     "pipe the output through c++filt";
}
