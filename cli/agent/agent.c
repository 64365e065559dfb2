/* gpuwatch agent: what the processes of this machine do, for monitoring. */
#include "cli/agent/pod_list.h"
#include "cli/agent/curl/push.h"
#include "cli/agent/http.h"
#include "cli/agent/store/store.h"
#include "cli/agent/text.h"
#include "cli/agent/watch.h"
#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/common/token.h"
#include "cli/health/verdict.h"
#include "cli/message.h"
#include "cli/top/collect.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct options {
	const char *listen, *token_file, *textfile, *otlp, *otlp_ca, *store, *host_label, *host,
		*format;
	const char *pod_resources;
	struct gw_words dir;
	double interval, textfile_interval, otlp_interval, store_interval, store_rotate;
	uint64_t store_max;
	bool once;
};

static const struct gw_option options[] = {
	GW_OPT_TEXT(listen, "ADDRESS",
		    "serve /metrics, /health and /healthz here: ADDRESS:PORT, unix:PATH or none; a "
		    "socket that systemd hands over comes first (default 127.0.0.1:9464)"),
	GW_OPT_FILE(token_file, "FILE",
		    "answer only requests with the header \"Authorization: Bearer TOKEN\"; the "
		    "token is the file's first line"),
	GW_OPT_FILE(textfile, "FOLDER",
		    "write gpuwatch.prom there, for node-exporter's textfile collector"),
	GW_OPT_ROW(textfile_interval, NUMBER, .argument = "SECONDS", .low = 1, .high = 3600,
		   .meaning = "time between two of these files (default 15)"),
	GW_OPT_TEXT(otlp, "URL",
		    "push to an OpenTelemetry collector by OTLP/HTTP with protobuf, such as "
		    "http://127.0.0.1:4318/v1/metrics"),
	GW_OPT_ROW(otlp_interval, NUMBER, .argument = "SECONDS", .low = 1, .high = 3600,
		   .meaning = "time between two pushes (default 15)"),
	GW_OPT_FILE(otlp_ca, "FILE", "certificates that the collector's is checked against"),
	GW_OPT_FILE(store, "FOLDER",
		    "write the metrics there as Parquet files, FOLDER/host=HOST/day=DAY/*.parquet"),
	GW_OPT_ROW(store_interval, NUMBER, .argument = "SECONDS", .low = 1, .high = 3600,
		   .meaning = "time between two samples in these files (default 60)"),
	GW_OPT_ROW(store_rotate, NUMBER, .argument = "SECONDS", .low = 1, .high = 86400,
		   .meaning = "time that one file holds (default 600)"),
	GW_OPT_ROW(store_max, SIZE, .argument = "BYTES", .low = 1 << 20, .high = 0x1p50,
		   .meaning = "bytes of this host's files; the oldest go first (default 1G)"),
	GW_OPT_TEXT(host_label, "NAME",
		    "the label that holds this host's name; \"\": none (default hostname, as "
		    "dcgm-exporter has it since 2026; before: Hostname)"),
	GW_OPT_TEXT(host, "NAME",
		    "this host's name (default $NODE_NAME, as dcgm-exporter has it in Kubernetes, "
		    "else what hostname prints)"),
	GW_OPT_FILE(pod_resources, "SOCKET",
		    "kubelet's pod-resources socket, which says which pod has which GPU; none: do "
		    "not ask (default " PODS_SOCKET " where that is there)"),
	GW_OPT_ROW(interval, NUMBER, .argument = "SECONDS", .low = 0.1, .high = 60,
		   .meaning = "time between two looks at the processes (default 1)"),
	GW_OPT_LIST(dir, "FOLDER",
		    "look for live segments in this folder, and no other; may stand several times "
		    "(default: as gpuwatch top)"),
	GW_OPT_FLAG(once, "print the metrics and end; serve, write and push nothing"),
	GW_OPT_CHOICE(format, "NAME", "prometheus|openmetrics|protobuf",
		      "with --once: the format (default prometheus)"),
	{0},
};

/* What main thread and server share is behind the lock. */
struct agent {
	struct top_source *source;
	struct top_model *model;
	struct agent_watch *watch;
	pthread_mutex_t lock;
	struct agent_node *node;
	struct agent_self self;
	uint64_t taken_ns; /* last snapshot, top_now() */
	double interval_s;
	struct push *push;
	struct pods *pods;
	double begun; /* processes, when kubelet was asked */
	struct agent_store *store;
	uint64_t start_ns;
	bool textfile_failed, store_failed, pods_failed, push_failed; /* said already */
	unsigned unread; /* snapshots in a row in which segments could not be read */
	const struct options *options;
};

static volatile sig_atomic_t ending;

static void end(int signal)
{
	(void)signal;
	ending = 1;
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static double own_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- a snapshot ---- */

/* The lock is held. */
static void take_pods(struct agent *a)
{
	char why[200];

	if (!a->pods)
		return;
	a->self.failed_pods = (double)pods_take(a->pods, &a->node->pods, why, sizeof(why));
	if (*why && !a->pods_failed)
		gw_warning("agent: pods of GPUs are unknown: kubelet's pod-resources socket %s: "
			   "%s; it is asked again",
			   a->options->pod_resources ? a->options->pod_resources : PODS_SOCKET,
			   why);
	a->pods_failed = *why;
	if (a->begun != a->node->processes_begun)
		pods_ask(a->pods);
	a->begun = a->node->processes_begun;
}

static void say_push(struct agent *a, const char *why)
{
	if (*why && !a->push_failed)
		gw_warning("agent: --otlp: %s; it is tried again", why);
	a->push_failed = *why;
}

/* Those that are being made can't be read for a moment. */
static void say_unreadable(struct agent *a, const char *why)
{
	a->unread = a->self.unreadable > 0 ? a->unread + 1 : 0;
	if (a->unread == 10)
		gw_warning("agent: %.0f live segments can't be read: %s; GPUWATCH_RUN_MODE and "
			   "GPUWATCH_RUN_GROUP of their processes say who may",
			   a->self.unreadable, why);
}

static void snapshot(struct agent *a)
{
	char push[200] = "";
	const char *why;

	top_collect(a->source, a->model);
	pthread_mutex_lock(&a->lock);
	take_pods(a);
	agent_node_add(a->node, a->model, wall_ns());
	a->taken_ns = top_now();
	a->self.snapshots++;
	a->self.cpu_s = own_cpu();
	a->self.unreadable = top_source_refused(a->source, &why);
	a->self.missed = (double)(top_source_missed(a->source) + agent_watch_missed(a->watch));
	if (a->push)
		a->self.failed_push = (double)push_failures(a->push, push, sizeof(push));
	pthread_mutex_unlock(&a->lock);
	say_push(a, push);
	say_unreadable(a, why);
}

static char *text_of(struct agent *a, enum text_format format, size_t *size)
{
	char *text;

	pthread_mutex_lock(&a->lock);
	text = agent_text(a->node, &a->self, format, size);
	pthread_mutex_unlock(&a->lock);
	return text;
}

/* ---- pages ---- */

static void plain(struct http_page *p, unsigned status, const char *text)
{
	*p = (struct http_page){status, "text/plain; charset=utf-8", gw_copy(text), strlen(text)};
}

static void health_page(struct agent *a, struct http_page *p)
{
	struct health_gpu gpus[AGENT_GPUS];
	json_t *all;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < a->node->gpus; i++) {
		const struct agent_gpu *g = a->node->gpu[i];

		gpus[i] = (struct health_gpu){g->uuid, g->model, g->pci, g->ordinal, g->health};
	}
	all = health_json(gpus, a->node->gpus, a->node->ticked_ns);
	pthread_mutex_unlock(&a->lock);
	p->status = 200;
	p->type = "application/json";
	p->body = json_dumps(all, JSON_INDENT(2));
	p->size = p->body ? strlen(p->body) : 0;
	json_decref(all);
}

static bool fresh(struct agent *a)
{
	bool good;

	pthread_mutex_lock(&a->lock);
	good = (double)(top_now() - a->taken_ns) < (10 + 3 * a->interval_s) * 1e9;
	pthread_mutex_unlock(&a->lock);
	return good;
}

static void page(void *arg, const char *path, const char *accept, struct http_page *p)
{
	struct agent *a = arg;

	if (!strcmp(path, "/metrics")) {
		const enum text_format format = agent_text_asked(accept);

		p->status = 200;
		p->type = agent_text_type(format);
		p->body = text_of(a, format, &p->size);
	} else if (!strcmp(path, "/health")) {
		health_page(a, p);
	} else if (!strcmp(path, "/healthz")) {
		if (fresh(a))
			plain(p, 200, "ok\n");
		else
			plain(p, 503, "no snapshot lately\n");
	} else if (!strcmp(path, "/")) {
		plain(p, 200, "gpuwatch agent: /metrics /health /healthz\n");
	} else {
		plain(p, 404, "there are /metrics, /health and /healthz\n");
	}
}

/* ---- outputs ---- */

static void write_textfile(struct agent *a, const char *folder)
{
	char why[4400];
	size_t size;
	char *text = text_of(a, TEXT_PROMETHEUS, &size);
	const bool good = agent_textfile(folder, text, size, why, sizeof(why));

	free(text);
	if (!good) {
		pthread_mutex_lock(&a->lock);
		a->self.failed_textfile++;
		pthread_mutex_unlock(&a->lock);
		if (!a->textfile_failed)
			gw_warning("agent: --textfile: %s; it is tried again", why);
	}
	a->textfile_failed = !good;
}

static void add_to_store(struct agent *a)
{
	pthread_mutex_lock(&a->lock);
	agent_store_add(a->store, a->node, &a->self, wall_ns());
	a->self.dropped_store = (double)agent_store_dropped(a->store);
	pthread_mutex_unlock(&a->lock);
}

/* The store is this thread's alone: a disk that stalls holds up no request. */
static void write_store(struct agent *a)
{
	char why[4400];
	const bool good = agent_store_write(a->store, why, sizeof(why));

	if (!good) {
		pthread_mutex_lock(&a->lock);
		a->self.failed_store++;
		pthread_mutex_unlock(&a->lock);
		if (!a->store_failed)
			gw_warning("agent: --store: %s; it is tried again", why);
	}
	a->store_failed = !good;
}

static void push(struct agent *a)
{
	pthread_mutex_lock(&a->lock);
	struct proto message = agent_otlp(a->node, &a->self, a->start_ns, wall_ns());
	pthread_mutex_unlock(&a->lock);
	push_queue(a->push, message);
}

/* Whether @p *due has come; it is moved on then. */
static bool due(uint64_t *at, double interval_s)
{
	const uint64_t now = top_now();

	if (now < *at)
		return false;
	*at = now + (uint64_t)(interval_s * 1e9);
	return true;
}

static void loop(struct agent *a, const struct options *o)
{
	uint64_t look = 0, textfile = 0, otlp = 0, store = 0,
		 rotate = top_now() + (uint64_t)(o->store_rotate * 1e9);

	while (!ending) {
		if (due(&look, o->interval))
			snapshot(a);
		if (o->textfile && due(&textfile, o->textfile_interval))
			write_textfile(a, o->textfile);
		if (a->push && due(&otlp, o->otlp_interval))
			push(a);
		if (a->store && due(&store, o->store_interval))
			add_to_store(a);
		if (a->store && (due(&rotate, o->store_rotate) ||
				 (agent_store_full(a->store) && !a->store_failed)))
			write_store(a);
		agent_watch_wait(a->watch, a->source, look);
	}
	/* What happened since, and what ended. */
	snapshot(a);
	if (o->textfile)
		write_textfile(a, o->textfile);
	if (a->push)
		push(a);
	if (a->store) {
		add_to_store(a);
		write_store(a);
	}
}

/* Whether @p folder is one, or NULL; false after a message. */
static bool folder_good(const char *option, const char *folder)
{
	struct stat st;

	if (!folder || (!stat(folder, &st) && (S_ISDIR(st.st_mode) || !(errno = ENOTDIR))))
		return true;
	gw_error("agent: --%s=%s: %s; name a folder that exists", option, folder, strerror(errno));
	return false;
}

/* What would be done is checked, so that a look shows whether an agent would start so. */
static bool outputs_good(const struct options *o)
{
	if (!agent_listen_good(o->listen) || !folder_good("textfile", o->textfile) ||
	    !folder_good("store", o->store))
		return false;
	if (!o->otlp || !strncmp(o->otlp, "http://", 7) || !strncmp(o->otlp, "https://", 8))
		return true;
	gw_error("agent: --otlp=%s: must begin with http:// or https://", o->otlp);
	return false;
}

static int once(struct agent *a, const struct options *o)
{
	static const char *const names[] = {"prometheus", "openmetrics", "protobuf"};
	enum text_format format = TEXT_PROMETHEUS;
	size_t size;
	char *text;

	if (!outputs_good(o))
		return GW_EXIT_USAGE;
	for (int i = 0; o->format && i < 3; i++)
		if (!strcmp(o->format, names[i]))
			format = (enum text_format)i;
	snapshot(a);
	text = text_of(a, format, &size);
	fwrite(text, 1, size, stdout);
	free(text);
	return GW_EXIT_OK;
}

/* ---- start and end ---- */

static void catch_signals(void)
{
	struct sigaction s = {.sa_handler = end};

	sigaction(SIGTERM, &s, NULL);
	sigaction(SIGINT, &s, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Where the option names no socket kubelet's own is asked if it is mounted, and libcurl is here. */
static bool start_pods(struct agent *a, const struct options *o)
{
	const char *socket = o->pod_resources ? o->pod_resources : PODS_SOCKET;

	if (!strcmp(socket, "none") || (!o->pod_resources && access(socket, F_OK)))
		return true;
	a->pods = pods_start(socket);
	return a->pods || !o->pod_resources;
}

static void name_host(struct agent_self *self, const char *name)
{
	name = name ? name : getenv("NODE_NAME");
	if (name && *name)
		snprintf(self->host, sizeof(self->host), "%s", name);
	else
		gethostname(self->host, sizeof(self->host) - 1);
}

static int serve(struct agent *a, const struct options *o)
{
	char *token = o->token_file ? gw_token_read("agent", o->token_file) : NULL;
	struct http_server *server = NULL;
	bool local = true;
	int fd;

	if (o->token_file && !token)
		return GW_EXIT_USAGE;
	if (!outputs_good(o)) {
		free(token);
		return GW_EXIT_USAGE;
	}
	a->store = o->store ? agent_store_new(o->store, a->self.host, o->store_max) : NULL;
	a->push = o->otlp ? push_start(o->otlp, o->otlp_ca) : NULL;
	if (o->otlp && !a->push) {
		free(token);
		return GW_EXIT_USAGE;
	}
	if (!start_pods(a, o)) {
		push_stop(a->push, 0);
		free(token);
		return GW_EXIT_USAGE;
	}
	snapshot(a);
	/* What ran before is not this agent's to store: one before it may have done so. */
	if (a->store)
		add_to_store(a);
	a->node->works = a->store != NULL;
	if (strcmp(o->listen, "none") != 0) {
		fd = agent_listen(o->listen, &local);
		server = fd < 0 ? NULL : http_start(fd, token, page, a);
	}
	if (server && !local && !token)
		gw_warning("agent: --listen=%s: other machines can read names of kernels and "
			   "programs; --token-file keeps them out",
			   o->listen);
	free(token);
	if (server || !strcmp(o->listen, "none"))
		loop(a, o);
	http_stop(server);
	push_stop(a->push, 5);
	pods_stop(a->pods);
	if (server)
		agent_listen_end(o->listen);
	return server || !strcmp(o->listen, "none") ? GW_EXIT_OK : GW_EXIT_USAGE;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.listen = "127.0.0.1:9464",
			    .host_label = "hostname",
			    .interval = 1,
			    .textfile_interval = 15,
			    .otlp_interval = 15,
			    .store_interval = 60,
			    .store_rotate = 600,
			    .store_max = 1 << 30};
	struct agent a = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc)
		return gw_error("agent: \"%s\": it takes no arguments", argv[0]);
	if (o.host_label[strspn(o.host_label,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				"0123456789")])
		return gw_error("agent: --host-label=%s: must be letters, digits and _",
				o.host_label);
	catch_signals();
	a.source = top_source_new(&o.dir, 0);
	a.model = top_model_new();
	a.node = agent_node_new();
	a.watch = agent_watch_new();
	a.self.version = GW_VERSION;
	a.self.host_label = o.host_label;
	a.options = &o;
	a.interval_s = o.interval;
	a.start_ns = wall_ns();
	a.self.failed_pods = NAN;
	name_host(&a.self, o.host);
	status = o.once ? once(&a, &o) : serve(&a, &o);
	agent_store_free(a.store);
	agent_watch_free(a.watch);
	agent_node_free(a.node);
	top_model_free(a.model);
	top_source_free(a.source);
	return status;
}

const struct gw_command_body gw_agent_command = {
	.run = run,
	.options = options,
	.description =
		"Follows the processes under gpuwatch on this machine, one agent a machine, and\n"
		"exports what they do: by GPU, kernel, bound and owner, measured and predicted "
		"time,\n"
		"time lost, clocks, health, and what gpuwatch itself costs. Totals never go\n"
		"backwards: what ended processes did stays in them. It maps live segments\n"
		"read-only, as gpuwatch top does: nothing is asked of the processes.\n\n"
		"/metrics serves Prometheus' text format 0.0.4, or OpenMetrics 1.0 or protobuf "
		"with\n"
		"native histograms where the request prefers it; /health what gpuwatch health "
		"shows; /healthz whether the "
		"agent\n"
		"works. A GPU has at most 200 series, whatever programs run: its 8 kernels with "
		"the\n"
		"most GPU time have their own, and \"other\" is the sum of the rest.\n\n"
		"As an ordinary user it sees this user's processes; a user who may read the "
		"others'\n"
		"segments (GPUWATCH_RUN_MODE) sees theirs.",
	.examples = "gpuwatch agent\n"
		    "Serve 127.0.0.1:9464 until SIGTERM.\n"
		    "gpuwatch agent --listen=none "
		    "--textfile=/var/lib/prometheus/node-exporter\n"
		    "No port: node-exporter reads a file.\n"
		    "gpuwatch agent --otlp=http://127.0.0.1:4318/v1/metrics\n"
		    "Push to a collector, too.\n"
		    "gpuwatch agent --store=/mnt/metrics\n"
		    "Keep Parquet files for DuckDB, Spark and others, too.\n"
		    "gpuwatch agent --once | grep gpuwatch_launches_total\n"
		    "One look.\n",
	.exit_status =
		"0 ended by SIGTERM or SIGINT, or --once; 2 bad options, or it can't listen.",
};
