/* libc, our library, the place of the log, other profilers. */
#include "cli/doctor/doctor.h"
#include "cli/common/nearest.h"
#include "cli/options.h"
#include "cli/common/paths.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void check_libc(struct gw_doctor *d)
{
	int major = 0, minor = 0;
	bool good;

	sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
	good = major > 2 || (major == 2 && minor >= 34);
	gw_doctor_say(
		d, "glibc", good ? GW_HEALTH_OK : GW_HEALTH_MISSING,
		good ? NULL
		     : "libgpuwatch.so needs glibc 2.34 or newer: use a newer system or container",
		"%s", gnu_get_libc_version());
}

static void load_library(int fd, const void *path)
{
	/* Hook nothing in the probe: it is to load, not to watch. */
	setenv("GPUWATCH_MODE", "off", 1);
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL))
		dprintf(fd, "error %s\n", dlerror());
	else
		dprintf(fd, "loaded yes\n");
}

static void check_library(struct gw_doctor *d)
{
	char path[PATH_MAX], text[1200];
	const char *looked = gw_library_path(path, sizeof(path));
	struct gw_probe p;

	if (looked)
		gw_doctor_say(d, "libgpuwatch", GW_HEALTH_MISSING,
			      "build or install gpuwatch as a whole", "not found in %s", looked);
	else if (!gw_probe(&p, load_library, path))
		gw_doctor_say(d, "libgpuwatch", GW_HEALTH_MISSING, "reinstall gpuwatch", "%s: %s",
			      path, p.text);
	else if (gw_probe_value(&p, "error", 0, text, sizeof(text)))
		gw_doctor_say(d, "libgpuwatch", GW_HEALTH_MISSING,
			      "reinstall gpuwatch for this system", "%s", text);
	else
		gw_doctor_say(d, "libgpuwatch", GW_HEALTH_OK, NULL, "%s", path);
}

/* The folder the log goes to: that of GPUWATCH_OUT, as far as it has no macro. */
static bool output_folder(char *out, size_t size)
{
	const char *pattern = getenv("GPUWATCH_OUT"),
		   *slash = pattern ? strrchr(pattern, '/') : NULL;
	struct stat st;

	if (pattern && !stat(pattern, &st) && S_ISDIR(st.st_mode))
		slash = strchr(pattern, 0);
	if (!slash)
		return getcwd(out, size) != NULL;
	snprintf(out, size, "%.*s", slash == pattern ? 1 : (int)(slash - pattern), pattern);
	return !strchr(out, '%');
}

/* What an option of a size stands for, as the library reads it. */
static uint64_t size_of(const char *variable)
{
	static const struct {
		const char *variable, *fallback;
	} options[] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) {variable, fallback},
#include "predictor/core/config.def"
#undef OPTION
	};
	static const struct gw_option sizes = {.name = "size", .type = GW_OPTION_SIZE};
	const char *text = getenv(variable);
	uint64_t size = 0;

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i].variable, variable))
			gw_option_check(&sizes, options[i].fallback, &size);
	if (text && *text)
		gw_option_check(&sizes, text, &size);
	return size;
}

static void check_output(struct gw_doctor *d)
{
	char folder[PATH_MAX];
	struct statvfs fs;
	double space, limit = (double)size_of("GPUWATCH_LOG_MAX");

	if (!output_folder(folder, sizeof(folder))) {
		gw_doctor_say(d, "output", GW_HEALTH_OK, NULL,
			      "the folder in GPUWATCH_OUT depends on the process");
		return;
	}
	if (access(folder, W_OK | X_OK)) {
		gw_doctor_say(d, "output", GW_HEALTH_MISSING,
			      "change to a folder you may write, or set GPUWATCH_OUT", "%s: %s",
			      folder, strerror(errno));
		return;
	}
	if (statvfs(folder, &fs)) {
		gw_doctor_say(d, "output", GW_HEALTH_OK, NULL, "%s", folder);
		return;
	}
	space = (double)fs.f_bavail * (double)fs.f_frsize;
	gw_doctor_say(
		d, "output", space < limit ? GW_HEALTH_DEGRADED : GW_HEALTH_OK,
		space < limit
			? "a log may grow that large: free some space, or lower GPUWATCH_LOG_MAX"
			: NULL,
		"%s, %.1f GiB free, a log's launches take at most %.1f GiB", folder,
		space / (1 << 30), limit / (1 << 30));
}

/* What a program's process can come to hold for us, beside what there is. */
static void check_memory(struct gw_doctor *d)
{
	const double limit = (double)size_of("GPUWATCH_MEMORY_MAX") / (1 << 20);
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	double free_mib = -1, kib;
	bool scarce;

	while (f && free_mib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lf", &kib) == 1)
			free_mib = kib / 1024;
	if (f)
		fclose(f);
	scarce = free_mib >= 0 && free_mib < limit;
	gw_doctor_say(d, "memory", scarce ? GW_HEALTH_DEGRADED : GW_HEALTH_OK,
		      scarce ? "lower GPUWATCH_MEMORY_MAX: each process may come to take as much"
			     : NULL,
		      "at most %.0f MiB of a process: what one takes, its report says", limit);
}

/* A variable whose name is mistyped does nothing, and nobody says so when the program runs. */
static void check_variables(struct gw_doctor *d)
{
	static const char *const known[] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) variable,
#include "predictor/core/config.def"
#undef OPTION
	};
	const size_t count = sizeof(known) / sizeof(*known);

	for (char **e = environ; *e; e++) {
		char name[80], near[200], remedy[300];
		size_t i = 0;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		while (i < count && strcmp(name, known[i]))
			i++;
		if (i < count || strncmp(name, "GPUWATCH_", strlen("GPUWATCH_")))
			continue;
		gw_nearest(near, sizeof(near), name, known, count, 0);
		snprintf(remedy, sizeof(remedy), "%s%s%s", *near ? "did you mean " : "unset it",
			 near, *near ? "?" : "; gpuwatch run --help lists what there is");
		gw_doctor_say(d, "environment", GW_HEALTH_DEGRADED, remedy, "nothing reads %s",
			      name);
	}
}

static void check_preload(struct gw_doctor *d)
{
	const char *preload = getenv("LD_PRELOAD"), *injection = getenv("CUDA_INJECTION64_PATH");

	if (preload && *preload)
		gw_doctor_say(d, "LD_PRELOAD", GW_HEALTH_OK, NULL,
			      "%s; gpuwatch run puts its library before it", preload);
	if (injection && *injection && !strstr(injection, "libgpuwatch"))
		gw_doctor_say(d, "profilers", GW_HEALTH_DEGRADED,
			      "unset CUDA_INJECTION64_PATH: CUPTI serves one tool at a time",
			      "CUDA_INJECTION64_PATH loads %s", injection);
}

/* A running tool that may hold the counters or CUPTI. Names as in /proc/PID/comm, cut at 15. */
static bool find_profiler(char *out, size_t size)
{
	static const char *const names[] = {"nv-hostengine", "dcgm-exporter", "nsys",
					    "nsys-launcher", "ncu"};
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (proc && !found && (e = readdir(proc))) {
		char path[300], comm[64] = "";
		FILE *f;

		if (e->d_name[strspn(e->d_name, "0123456789")])
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (f && fgets(comm, sizeof(comm), f))
			comm[strcspn(comm, "\n")] = '\0';
		if (f)
			fclose(f);
		for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !found; i++)
			found = !strcmp(comm, names[i]);
		if (found)
			snprintf(out, size, "%s (process %s)", comm, e->d_name);
	}
	if (proc)
		closedir(proc);
	return found;
}

static void check_profilers(struct gw_doctor *d)
{
	char found[400];

	if (find_profiler(found, sizeof(found)))
		gw_doctor_say(d, "profilers", GW_HEALTH_DEGRADED,
			      "kernel times work; counters may be refused while it samples (dcgmi "
			      "profile --pause)",
			      "%s is running", found);
	else
		gw_doctor_say(d, "profilers", GW_HEALTH_OK, NULL, "no other profiler seen");
}

void gw_doctor_system(struct gw_doctor *doctor)
{
	check_libc(doctor);
	check_library(doctor);
	check_output(doctor);
	check_memory(doctor);
	check_variables(doctor);
	check_preload(doctor);
	check_profilers(doctor);
}
