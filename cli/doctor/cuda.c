/* Driver, devices, CUPTI and its permissions. CUDA is opened at run time, without its headers. */
#include "cli/doctor/doctor.h"
#include "predictor/core/cupti_places.h"
#include "predictor/profile/trust.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cuda.h's numbers of the attributes asked for; the driver ABI keeps them. */
enum { SM_COUNT = 16, CC_MAJOR = 75, CC_MINOR = 76 };

/* A function of an opened library; POSIX promises that the pointer fits. */
static bool resolve(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

static void tell_devices(int fd, void *cuda)
{
	int (*get_count)(int *), (*get)(int *, int), (*get_name)(char *, int, int);
	int (*attribute)(int *, int, int), (*memory)(size_t *, int);
	int count = 0;

	if (!resolve(cuda, "cuDeviceGetCount", &get_count) || !resolve(cuda, "cuDeviceGet", &get) ||
	    !resolve(cuda, "cuDeviceGetName", &get_name) ||
	    !resolve(cuda, "cuDeviceGetAttribute", &attribute) ||
	    !resolve(cuda, "cuDeviceTotalMem_v2", &memory) || get_count(&count))
		return;
	for (int i = 0; i < count; i++) {
		int device = 0, sms = 0, major = 0, minor = 0;
		char name[256] = "";
		size_t bytes = 0;

		if (get(&device, i) || get_name(name, sizeof(name), device))
			continue;
		attribute(&sms, SM_COUNT, device);
		attribute(&major, CC_MAJOR, device);
		attribute(&minor, CC_MINOR, device);
		memory(&bytes, device);
		dprintf(fd, "device %d %s, sm_%d%d, %d SMs, %zu GiB\nmajor %d\nname %s\n", i, name,
			major, minor, sms, bytes >> 30, major, name);
	}
}

static void look_at_driver(int fd, const void *arg)
{
	int (*init)(unsigned), (*get_version)(int *), code, version = 0;
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	(void)arg;
	if (!cuda) {
		dprintf(fd, "error %s\n", dlerror());
		return;
	}
	if (!resolve(cuda, "cuInit", &init) || !resolve(cuda, "cuDriverGetVersion", &get_version)) {
		dprintf(fd, "error libcuda.so.1 lacks cuInit: it is not a CUDA driver\n");
		return;
	}
	if (!get_version(&version))
		dprintf(fd, "version %d\n", version);
	code = init(0);
	dprintf(fd, "init %d\n", code);
	if (!code)
		tell_devices(fd, cuda);
}

/* What to do about a cuInit error. */
static const char *init_remedy(int code)
{
	switch (code) {
	case 100:
		return "no GPU is visible: check nvidia-smi, CUDA_VISIBLE_DEVICES, and that a "
		       "container "
		       "was started with --gpus";
	case 803:
	case 804:
		return "the kernel module and libcuda.so.1 do not fit together: reboot, or "
		       "reinstall the "
		       "driver; look for a cuda-compat folder in LD_LIBRARY_PATH";
	case 802:
		return "start the fabric manager (systemctl start nvidia-fabricmanager)";
	default:
		return "look at nvidia-smi and dmesg for what the driver says";
	}
}

static void check_devices(struct gw_doctor *d, const struct gw_probe *p)
{
	char device[400], major[32];
	unsigned i;

	for (i = 0; gw_probe_value(p, "device", i, device, sizeof(device)); i++) {
		bool old = gw_probe_value(p, "major", i, major, sizeof(major)) && atoi(major) < 7;

		gw_doctor_say(d, "device", old ? GW_HEALTH_DEGRADED : GW_HEALTH_OK,
			      old ? "GPUs before Volta are not supported by current CUPTI: expect "
				    "launches without times"
				  : NULL,
			      "%s%s", device,
			      strstr(device, "stand-in") ? " (a stand-in: its times are scripted)"
							 : "");
	}
	for (unsigned n = 0; gw_probe_value(p, "name", n, device, sizeof(device)); n++)
		gw_doctor_profile(d, device);
	if (!i)
		gw_doctor_say(d, "device", GW_HEALTH_MISSING, init_remedy(100), "no CUDA device");
}

/* The driver's CUDA version (1000 * major + 10 * minor), 0 when there is no working driver. */
static int check_driver(struct gw_doctor *d)
{
	struct gw_probe p;
	char text[600];
	int version = 0, code;

	if (!gw_probe(&p, look_at_driver, NULL)) {
		gw_doctor_say(d, "driver", GW_HEALTH_MISSING, init_remedy(0), "libcuda.so.1: %s",
			      p.text);
		return 0;
	}
	if (gw_probe_value(&p, "error", 0, text, sizeof(text))) {
		gw_doctor_say(d, "driver", GW_HEALTH_MISSING,
			      "install the NVIDIA driver; in a container, start it with --gpus all",
			      "%s", text);
		return 0;
	}
	if (gw_probe_value(&p, "version", 0, text, sizeof(text)))
		version = atoi(text);
	code = gw_probe_value(&p, "init", 0, text, sizeof(text)) ? atoi(text) : -1;
	if (code) {
		gw_doctor_say(d, "driver", GW_HEALTH_MISSING, init_remedy(code),
			      "libcuda.so.1 is there, cuInit fails with %d", code);
		return 0;
	}
	gw_doctor_say(d, "driver", GW_HEALTH_OK, NULL, "libcuda.so.1 works, CUDA %d.%d",
		      version / 1000, version % 1000 / 10);
	check_devices(d, &p);
	return version;
}

static void look_at_cupti(int fd, const void *path)
{
	int (*get_version)(uint32_t *);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	char where[4096];
	uint32_t version = 0;

	if (!library)
		return;
	if (!dlinfo(library, RTLD_DI_ORIGIN, where))
		dprintf(fd, "where %s\n", where);
	if (resolve(library, "cuptiGetVersion", &get_version) && !get_version(&version))
		dprintf(fd, "version %u\n", version);
}

struct cupti {
	char where[4200];
	unsigned version;
};

static bool try_cupti(const char *path, struct cupti *c)
{
	struct gw_probe p;
	char text[64];

	if (!gw_probe(&p, look_at_cupti, path) ||
	    !gw_probe_value(&p, "version", 0, text, sizeof(text)))
		return false;
	c->version = (unsigned)strtoul(text, NULL, 10);
	if (strchr(path, '/') || !gw_probe_value(&p, "where", 0, c->where, sizeof(c->where)))
		snprintf(c->where, sizeof(c->where), "%s", path);
	return true;
}

static bool try_place(const char *place, void *arg)
{
	bool found = false;
	char why[256];
	glob_t g;

	if (!strchr(place, '/'))
		return try_cupti(place, arg);
	if (glob(place, 0, NULL, &g))
		return false;
	for (size_t i = g.gl_pathc; i-- && !found;)
		found = gw_trusted_file(g.gl_pathv[i], NULL, why, sizeof(why)) &&
			try_cupti(g.gl_pathv[i], arg);
	globfree(&g);
	return found;
}

/* In the pip wheels of CUDA: found by programs that load their CUDA from there. */
static bool find_wheel(struct cupti *c)
{
	static const char *const roots[] = {"lib/python3*/site-packages",
					    "lib/python3*/dist-packages",
					    "lib/python3/dist-packages"};
	const char *const prefixes[] = {getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), "/usr/local",
					"/usr"};
	char folder[4096];

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		for (size_t k = 0; k < sizeof(roots) / sizeof(*roots); k++)
			if (prefixes[i] && *prefixes[i] &&
			    snprintf(folder, sizeof(folder), "%s/%s/nvidia/*/lib", prefixes[i],
				     roots[k]) < (int)sizeof(folder) &&
			    gw_cupti_search_beside(folder, try_place, c))
				return true;
	return false;
}

/* CUPTI's version as text; up to CUDA 12 it counted releases, since then it is MMmmpp. */
static void say_cupti(struct gw_doctor *d, const struct cupti *c, int driver, bool wheel)
{
	unsigned major = c->version >= 100000 ? c->version / 10000 : 0;
	const char *remedy =
		wheel ? "programs that load CUDA from this wheel find it by themselves; for others "
			"set GPUWATCH_CUPTI to its libcupti.so"
		      : NULL;
	enum gw_health health = wheel ? GW_HEALTH_DEGRADED : GW_HEALTH_OK;
	char name[64];

	if (major)
		snprintf(name, sizeof(name), "CUDA %u.%u, version %u", major,
			 c->version / 100 % 100, c->version);
	else
		snprintf(name, sizeof(name), "version %u, CUDA 12 or older", c->version);
	if (driver && major > (unsigned)driver / 1000) {
		health = GW_HEALTH_DEGRADED;
		remedy = "it is newer than the driver: install the libcupti of the driver's CUDA "
			 "version and "
			 "name it with GPUWATCH_CUPTI";
	}
	gw_doctor_say(d, "libcupti", health, remedy, "%s (%s)", c->where, name);
}

static void check_cupti(struct gw_doctor *d, int driver)
{
	static const char remedy[] =
		"kernels are then timed one in sixteen by event pairs; install CUPTI (CUDA "
		"toolkit, or pip install nvidia-cuda-cupti) or set GPUWATCH_CUPTI";
	const char *named = getenv("GPUWATCH_CUPTI");
	struct cupti c;

	if (named && !strcmp(named, "none"))
		gw_doctor_say(d, "libcupti", GW_HEALTH_DEGRADED, "unset GPUWATCH_CUPTI",
			      "GPUWATCH_CUPTI=none");
	else if (named && *named && try_cupti(named, &c))
		say_cupti(d, &c, driver, false);
	else if (named && *named)
		gw_doctor_say(d, "libcupti", GW_HEALTH_DEGRADED,
			      "unset GPUWATCH_CUPTI, or name a libcupti.so",
			      "GPUWATCH_CUPTI=%s can't be loaded", named);
	else if (gw_cupti_search(NULL, getenv("CUDA_HOME"), try_place, &c))
		say_cupti(d, &c, driver, false);
	else if (find_wheel(&c))
		say_cupti(d, &c, driver, true);
	else
		gw_doctor_say(d, "libcupti", GW_HEALTH_DEGRADED, remedy, "not found");
}

/* Whether the driver keeps hardware counters for administrators; kernel times never need them. */
static void check_counters(struct gw_doctor *d)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "r");
	char line[256];
	int value = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "RmProfilingAdminOnly: %d", &value);
	if (f)
		fclose(f);
	if (value < 0)
		gw_doctor_say(d, "counters", GW_HEALTH_DEGRADED,
			      "kernel times work all the same; counters may be refused",
			      "permission unknown: /proc/driver/nvidia/params does not state it");
	else if (value && geteuid())
		gw_doctor_say(
			d, "counters", GW_HEALTH_DEGRADED,
			"kernel times work all the same; for counters load the nvidia module with "
			"NVreg_RestrictProfilingToAdminUsers=0, or grant CAP_SYS_ADMIN",
			"for administrators only (RmProfilingAdminOnly)");
	else
		gw_doctor_say(d, "counters", GW_HEALTH_OK, NULL,
			      value ? "allowed: running as root" : "allowed for all users");
}

void gw_doctor_cuda(struct gw_doctor *doctor)
{
	int driver = check_driver(doctor);

	if (!driver)
		gw_doctor_profile(doctor, NULL);
	check_cupti(doctor, driver);
	check_counters(doctor);
}
