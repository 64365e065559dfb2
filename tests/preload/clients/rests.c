/* Launches, says so by a file `ready`, and rests until there is a file `go`. */
#include "client.h"

static void launch(void)
{
	client_launch(1, 300);
	client_launch(2, 50);
	for (int i = 0; i < 200; i++)
		CK(cuLaunchKernel(client_function("short"), 3, 1, 1, 32, 1, 1, 0, NULL, NULL,
				  NULL));
	CK(cuCtxSynchronize());
}

/* As beside a process that takes turns: one in twenty launches takes 2 ms longer. */
static void launch_interrupted(void)
{
	uint64_t ns;
	void *params[] = {&ns};

	for (int i = 1; i <= 1000; i++) {
		ns = i % 20 ? 300000 : 2300000;
		CK(cuLaunchKernel(client_function("spin"), 7, 1, 1, 32, 1, 1, 0, NULL, params,
				  NULL));
		CK(cuCtxSynchronize());
		client_nap(1);
	}
}

int main(int argc, char **argv)
{
	int ready;

	client_start();
	if (argc > 1 && !strcmp(argv[1], "interrupted"))
		launch_interrupted();
	else
		launch();
	ready = open("ready", O_WRONLY | O_CREAT, 0600);
	if (ready < 0 || close(ready))
		return 8;
	while (access("go", F_OK))
		usleep(10000);
	return 0;
}
