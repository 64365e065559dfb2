/*
 * A program that enters a sandbox which kills it for any system call but those that it, the driver
 * and gpuwatch (sandbox.def) need, and launches on. The first argument says by which call, the
 * second how it ends.
 */
#include "client.h"

#include "preload/runtime/arch/arch.h"

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static struct sock_filter filter[128];
static unsigned short length;

static void add(struct sock_filter f)
{
	filter[length++] = f;
}

static void allow(unsigned number)
{
	add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static const struct sock_fprog *program(void)
{
	static const unsigned own[] = {SYS_exit_group, SYS_rt_sigreturn, SYS_nanosleep,
				       SYS_sched_yield};
	static struct sock_fprog p;

	add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					 offsetof(struct seccomp_data, nr)));
	for (unsigned i = 0; i < sizeof(own) / sizeof(*own); i++)
		allow(own[i]);
#define CALL(name, why) allow(SYS_##name);
#include "preload/runtime/sandbox.def"
#undef CALL
	add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	p = (struct sock_fprog){length, filter};
	return &p;
}

static bool enter(const char *way)
{
	const struct sock_fprog *p = program();
	unsigned long all = SECCOMP_FILTER_FLAG_TSYNC;

	if (strcmp(way, "privileged") != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return false;
	if (strcmp(way, "prctl") == 0)
		return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, p);
	if (strcmp(way, "unseen") == 0) /* as a program without a libc */
		return !gw_raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, (long)all, (long)p, 0, 0,
				    0);
	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all, p);
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(9);
}

int main(int argc, char **argv)
{
	CUmodule module;
	CUfunction f;
	int version;

	if (argc < 3)
		return 8;
	if (strcmp(argv[1], "unused") == 0) {
		/* Of every name that begins so gpuwatch wants to know whether it is hooked. */
		if (!enter("prctl") || !dlsym(RTLD_DEFAULT, "cuInit") ||
		    cuDriverGetVersion(&version))
			return 8;
		say("alive\n");
		_exit(3);
	}
	client_compute(1, 10);
	client_nap(20);
	if (!enter(argv[1])) {
		say("no sandbox here\n");
		return 77;
	}
	CK(cuModuleLoadData(&module, CLIENT_IMAGE)); /* what is seen for the first time */
	CK(cuModuleGetFunction(&f, module, "short"));
	CK(cuLaunchKernel(f, 5, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	/* For longer than anything that is done now and then: the log is written once a second. */
	for (int i = 0; i < 2500; i++) {
		client_launch(1, 1);
		usleep(1000);
	}
	CK(cuCtxSynchronize());
	say("alive\n");
	if (strcmp(argv[2], "_exit") == 0)
		_exit(3);
	return 4;
}
