/*
 * live_segment FOLDER [WHAT]: keeps a made-up live segment of this process in FOLDER, in which two
 * kernels run on and on, until it is killed. WHAT:
 *   truncate  after the first line of input the file is cut short
 *   replace   likewise, a new segment takes the place of the old one
 *   remove    likewise, the file goes, as at a clean end
 *   wild      the tables hold what no writer writes
 *   elsewhere of a process in another PID namespace, on a GPU that has a UUID
 *   watch     as in mode watch: one run of a hundred is timed
 * It prints a line once the segment is there, and once it has done that.
 */
#include "predictor/log/live.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 8 << 20, TICKS = 1000 };

static unsigned char *segment;
static char path[4096];

static void *at(uint64_t offset)
{
	return segment + offset;
}

static unsigned long long start_time(void)
{
	char text[1024] = "", *from;
	FILE *in = fopen("/proc/self/stat", "r");

	if (!in)
		exit(1);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	from = strrchr(text, ')');
	for (int field = 2; from && field < 22; field++)
		from = strchr(from + 1, ' ');
	return from ? strtoull(from, NULL, 10) : 0;
}

static void fill_head(struct gw_live_head *h)
{
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "r");
	ssize_t n;

	*h = (struct gw_live_head){.magic = GW_LIVE_MAGIC,
				   .version = GW_LIVE_VERSION,
				   .size = SIZE,
				   .start_time = start_time(),
				   .pid = (uint32_t)getpid()};
	if (in && fgets(h->boot_id, sizeof(h->boot_id), in))
		h->boot_id[strcspn(h->boot_id, "\n")] = 0;
	if (in)
		fclose(in);
	n = readlink("/proc/self/exe", h->exe, sizeof(h->exe) - 1);
	if (n < 0 || gw_live_layout(h, SIZE) > SIZE)
		exit(1);
}

/* As of a container that can't be looked into. */
static void be_elsewhere(void)
{
	struct gw_live_head *h = at(0);
	struct gw_live_device *d = at(h->devices.offset);

	h->pid_namespace = 1;
	d->identity = 1;
	for (unsigned char i = 0; i < sizeof(d->uuid); i++)
		d->uuid[i] = i;
	strcpy(d->name, "H200");
}

static void add_kernel(uint64_t *from, uint32_t slot, const char *name)
{
	struct gw_live_kernel *k = at(*from);

	k->length = (uint32_t)((sizeof(*k) + strlen(name) + 8) / 8 * 8);
	strcpy(k->name, name);
	k->slot = slot;
	*from += k->length;
}

static void make(const char *folder, unsigned ticks)
{
	struct gw_live_head *h;
	uint64_t kernels;
	int file;

	snprintf(path, sizeof(path), "%s/%d-%llu-%u.gwlive", folder, (int)getpid(), start_time(),
		 ticks);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (file < 0 || ftruncate(file, SIZE))
		exit(1);
	segment = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (segment == MAP_FAILED)
		exit(1);
	close(file);
	h = at(0);
	fill_head(h);
	kernels = h->kernels.offset;
	add_kernel(&kernels, 1, "_ZN3lib4gemmIfEEvPKT_i");
	add_kernel(&kernels, 2, "evil\033[2J\nname");
}

/* Configuration @p id ran @p runs times, and was timed @p timed times. */
static void run(uint32_t id, uint32_t runs, uint32_t timed, double ns, double predicted)
{
	struct gw_live_head *h = at(0);
	struct gw_live_config *c = (struct gw_live_config *)at(h->configs.offset) + id - 1;

	__atomic_fetch_add(&c->sequence, 1, __ATOMIC_SEQ_CST);
	c->id = id;
	c->kernel = id == 3 ? 1 : id;
	c->device = 1;
	c->grid[0] = id;
	c->grid[1] = c->grid[2] = c->block[1] = c->block[2] = 1;
	c->block[0] = 128;
	c->bound = id == 2 ? 2 : 1;
	c->tier = 3;
	c->predicted = predicted;
	c->low = 0.9 * predicted;
	c->high = 1.1 * predicted;
	c->launches += runs;
	gw_sketch_add(&c->time, ns, timed);
	gw_sketch_add(&c->ratio, ns / predicted, timed);
	__atomic_fetch_add(&c->sequence, 1, __ATOMIC_SEQ_CST);
}

/* A tenth of a second: 50 gemms of 1 ms as predicted, and 10 of the other, half as long again. */
static void go_on(bool watch)
{
	struct gw_live_head *h = at(0);
	struct gw_live_device *d = at(h->devices.offset);
	struct gw_live_totals *t = at(h->totals.offset);

	run(1, 40, watch ? 0 : 40, 1e6, 1e6);
	run(3, 10, watch ? 1 : 10, 1e6, 1e6);
	run(2, 10, watch ? 0 : 10, 1.5e6, 1e6);
	__atomic_fetch_add(&d->sequence, 1, __ATOMIC_SEQ_CST);
	d->used = 1;
	d->kernels += 60;
	d->busy_ns += 65000000;
	d->last_end_ns = (d->last_end_ns ? d->last_end_ns : 1000000000) + 100000000;
	d->clock_ns = 1;
	d->sm_khz = 1980000;
	__atomic_fetch_add(&d->sequence, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&t->sequence, 1, __ATOMIC_SEQ_CST);
	t->mode = watch ? 1 : 0;
	t->ns++;
	t->counters = 128;
	__atomic_fetch_add(&t->sequence, 1, __ATOMIC_SEQ_CST);
}

/* Each field that a reader may trust too much. */
static void go_wild(void)
{
	static unsigned turn;
	struct gw_live_head *h = at(0);
	struct gw_live_config *c = at(h->configs.offset);
	struct gw_live_device *d = at(h->devices.offset);
	struct gw_live_kernel *k = at(h->kernels.offset);
	struct gw_live_totals *t = at(h->totals.offset);

	turn++;
	for (uint32_t i = 0; i < 40; i++) {
		c[i] = (struct gw_live_config){.sequence = 2 * turn,
					       .id = i + 1,
					       .kernel = turn * 7919 * i,
					       .device = i * 0x10000001,
					       .tier = UINT32_MAX - i,
					       .work = UINT32_MAX,
					       .bound = i,
					       .predicted = i % 3 ? INFINITY : -1e300,
					       .low = NAN,
					       .high = 1e300,
					       .launches = UINT64_MAX / (i + turn)};
		c[i].time = (struct gw_sketch){.count = UINT64_MAX, .sum = 1e308, .schema = -1};
		c[i].time.bucket[i] = UINT64_MAX;
		c[i].time.bucket[63] = UINT64_MAX - turn;
		c[i].ratio = c[i].time;
		c[i].ratio.low = -1e308;
	}
	d[3] = (struct gw_live_device){.sequence = 2 * turn,
				       .used = 1,
				       .busy_ns = UINT64_MAX - turn % 3,
				       .last_end_ns = UINT64_MAX / turn,
				       .reasons = UINT64_MAX};
	k->length = turn % 2 ? UINT32_MAX : 40;
	memset(k->name, 'x', 100);
	t->sequence = 2 * turn;
	t->mode = turn;
	t->ns = UINT64_MAX;
	t->counters = turn % 2 ? 128 : UINT32_MAX;
	/* What was checked when the file was mapped. */
	h->configs.offset = turn % 2 ? h->devices.offset : h->configs.offset;
	h->entries.count = UINT32_MAX;
	h->kernels.offset = UINT64_MAX - 8;
	gw_live_layout(h, SIZE);
}

static void do_what(const char *what, const char *folder)
{
	if (!strcmp(what, "truncate") && truncate(path, 0))
		exit(1);
	if (!strcmp(what, "remove") && unlink(path))
		exit(1);
	if (!strcmp(what, "replace"))
		make(folder, TICKS + 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	bool done = false;

	if (argc < 2)
		return 2;
	make(argv[1], TICKS);
	if (!strcmp(what, "elsewhere"))
		be_elsewhere();
	go_on(false);
	puts("there");
	fflush(stdout);
	for (;;) {
		char line[100];

		poll(&in, done ? 0 : 1, 100);
		if (!done && in.revents && fgets(line, sizeof(line), stdin)) {
			do_what(what, argv[1]);
			done = true;
			puts("done");
			fflush(stdout);
		} else if (in.revents & POLLHUP) {
			return 0;
		}
		if (!strcmp(what, "wild"))
			go_wild();
		else if (!done || strcmp(what, "truncate") != 0)
			go_on(!strcmp(what, "watch"));
	}
}
