/*
 * What programs and other tools bring along: small libraries, and a program linked with one.
 * OTHER_NAME says which of them this file becomes (tests/preload/CMakeLists.txt).
 */

#if defined(OTHER_impostor)
/* Exports a function named like one of the driver's. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
	return 4711 + (int)flags;
}

#elif defined(OTHER_own_driver)
/* A driver under a name that is not libcuda's. */
__attribute__((visibility("default"))) int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
	return (int)flags;
}

#elif defined(OTHER_other_driver)
/* A program whose driver is a library that is not called libcuda. */
int cuInit(unsigned flags);

int main(void)
{
	return cuInit(0);
}

#elif defined(OTHER_calls_back)
/* A library whose constructor calls the program that opens it. */
void client_called_back(void);

__attribute__((constructor)) static void loaded(void)
{
	client_called_back();
}

#elif defined(OTHER_own_z)
/* A program's own libz.so.1, newer than the system's: it has a symbol version that one lacks. */
__attribute__((visibility("default"))) int own_z(void);

int own_z(void)
{
	return 17;
}

#elif defined(OTHER_needs_own_z)
/* A library that comes with a libz.so.1 of its own, beside it. */
int own_z(void);
__attribute__((visibility("default"))) int needs_own_z(void);

int needs_own_z(void)
{
	return own_z();
}

#elif defined(OTHER_planted)
/* Says that it was loaded, by a file that PLANTED names. */
#include <fcntl.h>
#include <stdlib.h>

__attribute__((constructor)) static void loaded(void)
{
	const char *path = getenv("PLANTED");

	if (path && open(path, O_WRONLY | O_CREAT, 0600) < 0)
		return;
}

#elif defined(OTHER_other_dlsym)
/* Another tool's preload that stands in for dlsym, as some CUDA shims do. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int asked;

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (strcmp(name, "other_asked") == 0)
		return &asked;
	asked++;
	return next(handle, name);
}

#elif defined(OTHER_other_open)
/*
 * Says which files libgpuwatch.so opened, or duplicated, in the table of files that the program
 * has: one that has the number MARK.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MARK = 700 };

__attribute__((constructor)) static void mark(void)
{
	if (dup2(STDIN_FILENO, MARK) < 0)
		_exit(9);
}

static void look(const char *path, const void *caller)
{
	Dl_info info;

	if (dladdr(caller, &info) && strstr(info.dli_fname, "libgpuwatch") &&
	    fcntl(MARK, F_GETFD) >= 0)
		dprintf(STDOUT_FILENO, "opened among the program's files: %s\n", path);
}

static _Atomic unsigned closed;

__attribute__((visibility("default"))) int close(int fd)
{
	closed++;
	return (int)syscall(SYS_close, fd);
}

/* One thread may close each of the 20,000 numbers that there may be. */
__attribute__((destructor)) static void count(void)
{
	if (closed > 30000)
		dprintf(STDOUT_FILENO, "closed numbers: %u\n", closed);
}

#define NEXT(name) (*(void **)&next = dlsym(RTLD_NEXT, name), next)
#define CALLER     __builtin_return_address(0)

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...);
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	look(path, CALLER);
	return NEXT("open")(path, flags, mode);
}

__attribute__((visibility("default"))) int openat(int at, const char *path, int flags, ...)
{
	int (*next)(int, const char *, int, ...);
	va_list args;
	int mode;

	va_start(args, flags);
	mode = va_arg(args, int);
	va_end(args);
	look(path, CALLER);
	return NEXT("openat")(at, path, flags, mode);
}

__attribute__((visibility("default"))) DIR *opendir(const char *path)
{
	DIR *(*next)(const char *);

	look(path, CALLER);
	return NEXT("opendir")(path);
}

#elif defined(OTHER_other_getenv)
/*
 * What may come in the midst of reading our options: a signal handler that looks a function up, and
 * a fork, whose child does. Where nobody reads them nothing happens. The environment is read on the
 * program's threads alone, which may change it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void look(const char *name, const void *caller)
{
	static int asked;
	Dl_info info;
	pid_t child;

	if (!dladdr(caller, &info) || !strstr(info.dli_fname, "libgpuwatch"))
		return;
	if (gettid() != getpid())
		dprintf(STDOUT_FILENO, "%s was read on another thread\n", name);
	if (strncmp(name, "GPUWATCH_", 9) == 0 && !asked++) {
		child = fork();
		dlsym(RTLD_DEFAULT, "cuInit");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
}

#define WRAP(function) \
	__attribute__((visibility("default"))) char *function(const char *name) \
	{ \
		char *(*next)(const char *); \
\
		*(void **)&next = dlsym(RTLD_NEXT, #function); \
		look(name, __builtin_return_address(0)); \
		return next(name); \
	}
WRAP(getenv)
WRAP(secure_getenv)

#elif defined(OTHER_other_puts)
/* Another tool's preload that has nothing to do with CUDA: wraps puts and malloc by dlsym. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static __thread int inside;
static unsigned long mallocs;

EXPORT int puts(const char *text)
{
	int (*next)(const char *);

	*(void **)&next = dlsym(RTLD_NEXT, "puts");
	fputs("[", stdout);
	return next(text);
}

EXPORT void *malloc(size_t size)
{
	static void *(*next)(size_t);
	static char early[4096];
	static size_t used;

	if (!next && inside) { /* dlsym itself allocates */
		used = (used + 15) & ~(size_t)15;
		if (used + size > sizeof(early))
			return NULL;
		used += size;
		return early + used - size;
	}
	if (!next) {
		inside = 1;
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
		inside = 0;
	}
	mallocs++;
	return next(size);
}

__attribute__((destructor)) static void tell(void)
{
	fputs(mallocs ? "malloc was wrapped\n" : "malloc was not wrapped\n", stdout);
}

#elif defined(OTHER_other_launch)
/* Another tool's preload: wraps cuLaunchKernel, and says at exit how often it was called. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int calls;

__attribute__((visibility("default"))) CUresult
cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	       unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	static __typeof__(cuLaunchKernel) *next;
	const char *leave = getenv("OTHER_LEAVES_AT");

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cuLaunchKernel");
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	if (atomic_fetch_add(&calls, 1) + 1 == (leave ? atoi(leave) : 0)) {
		void (*jump)(void);

		*(void **)&jump = dlsym(RTLD_DEFAULT, "client_jump");
		if (getenv("OTHER_JUMPS") && jump)
			jump();
		pthread_exit(NULL); /* unwinds through every frame above */
	}
	return next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

__attribute__((destructor)) static void tell(void)
{
	if (atomic_load(&calls))
		printf("the other wrapper was called %d times\n", atomic_load(&calls));
}

#elif defined(OTHER_inner_launch)
/* A tool's preload: within each launch it launches kernels of its own, the first way it is found.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>

__attribute__((visibility("default"))) CUresult
cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	       unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	static _Thread_local bool inside;
	static __typeof__(cuLaunchKernel) *next, *first;
	CUresult result;

	if (!next) {
		*(void **)&next = dlsym(RTLD_NEXT, "cuLaunchKernel");
		*(void **)&first = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
	}
	if (inside)
		return next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
	inside = true;
	first(f, 1000 + gx, 1, 1, 64, 1, 1, 0, NULL, params, extra);
	first(f, 0, 1, 1, 64, 1, 1, 0, stream, params, extra); /* the driver refuses it */
	result = next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
	first(f, 2000 + gx, 1, 1, 64, 1, 1, 0, stream, params, extra);
	inside = false;
	return result;
}

#elif defined(OTHER_other_handle) || defined(OTHER_other_getter)
/* A tool's preload that finds what it wraps in libcuda itself, each time anew; the second one wraps
 * the launch for those who look it up. */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

static void *in_libcuda(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_LAZY), name);
}

#ifdef OTHER_other_getter
#define LAUNCH static CUresult launch
#else
#define LAUNCH __attribute__((visibility("default"))) CUresult cuLaunchKernel
#endif

LAUNCH(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
       unsigned shared, CUstream stream, void **params, void **extra)
{
	__typeof__(cuLaunchKernel) *own;

	*(void **)&own = in_libcuda("cuLaunchKernel");
	return own(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

#ifdef OTHER_other_getter
__attribute__((visibility("default"))) CUresult
cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
		    CUdriverProcAddressQueryResult *status)
{
	__typeof__(cuGetProcAddress_v2) *own;
	CUresult result;

	*(void **)&own = in_libcuda("cuGetProcAddress_v2");
	result = own(name, function, version, flags, status);
	if (!flags && result == CUDA_SUCCESS && strcmp(name, "cuLaunchKernel") == 0)
		*function = (void *)launch;
	return result;
}
#endif

#else
#error "OTHER_NAME says what this file becomes"
#endif
