/* STANDIN_FAIL, STANDIN_SLOW and STANDIN_TRACE, and what a watched call does before and after its
 * body. */
#include "si.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#define MAX_RULES 64

/* STANDIN_FAIL="function:N:code,...": the Nth call (* for every one) answers `code`. */
struct rule {
	char name[64];
	uint64_t nth; /* 0: every call */
	int code;
	_Atomic uint64_t calls;
};
static struct rule rules[MAX_RULES];
static int rule_count;
static int trace_fd = -1;

/* STANDIN_SLOW="function:ms[:after]": its calls take so long before, or after, what they do. */
static struct {
	char name[64];
	unsigned ms;
	_Atomic int inside;
	bool after;
} slow;

_Atomic unsigned char si_watch[SI_COUNT];

static void reject(const char *text)
{
	fprintf(stderr,
		"stand-in: STANDIN_FAIL: \"%s\" is not function:N:code (N a count from 1, or *)\n",
		text);
	exit(2);
}

static void rule_add(const char *text)
{
	struct rule *rule = &rules[rule_count];
	char nth[24];
	if (rule_count == MAX_RULES ||
	    sscanf(text, "%63[^:]:%23[^:]:%d", rule->name, nth, &rule->code) != 3)
		reject(text);
	rule->nth = strcmp(nth, "*") == 0 ? 0 : strtoull(nth, NULL, 10);
	if (rule->nth == 0 && strcmp(nth, "*") != 0)
		reject(text);
	rule_count++;
}

static void watch_name(const char *name, unsigned char bit)
{
	for (int i = 0; i < SI_COUNT; i++)
		if (!name || strcmp(si_rows[i].symbol, name) == 0)
			atomic_fetch_or(&si_watch[i], bit);
}

static void rules_read(void)
{
	const char *env = getenv("STANDIN_FAIL");
	char *copy, *save = NULL;
	if (!env || !*env)
		return;
	copy = strdup(env);
	if (!copy)
		return;
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
		rule_add(p);
	free(copy);
	for (int i = 0; i < rule_count; i++)
		watch_name(rules[i].name, SI_WATCH_FAULT);
}

/* As the driver and its tools have objects made late, which exit() destroys before it comes to any
 * handler that was registered earlier. */
static void late_objects_go(void)
{
	if (atomic_load(&slow.inside))
		fprintf(stderr, "stand-in: exit() destroys objects while a thread is in %s\n",
			slow.name);
}

void si_late_objects(void)
{
	static _Atomic int made;
	if (slow.ms && !atomic_exchange(&made, 1))
		atexit(late_objects_go);
}

static void slow_read(void)
{
	const char *env = getenv("STANDIN_SLOW");
	if (!env || !*env)
		return;
	char after[8] = "";
	int read = sscanf(env, "%63[^:]:%u:%7s", slow.name, &slow.ms, after);
	slow.after = strcmp(after, "after") == 0;
	if (read < 2 || (read == 3 && !slow.after)) {
		fprintf(stderr, "stand-in: STANDIN_SLOW: \"%s\" is not function:ms[:after]\n", env);
		exit(2);
	}
	watch_name(slow.name, SI_WATCH_SLOW);
}

static void be_slow(void)
{
	atomic_fetch_add(&slow.inside, 1);
	usleep(slow.ms * 1000);
	atomic_fetch_sub(&slow.inside, 1);
}

void si_fault_start(void)
{
	const char *path = getenv("STANDIN_TRACE");
	rules_read();
	slow_read();
	if (!path || !*path)
		return;
	trace_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (trace_fd < 0) {
		fprintf(stderr, "stand-in: STANDIN_TRACE: cannot write %s: %m\n", path);
		exit(2);
	}
	watch_name(NULL, SI_WATCH_TRACE);
}

int si_tool_fault(const char *name)
{
	if (slow.ms && strcmp(slow.name, name) == 0)
		be_slow();
	return si_fault(name);
}

int si_fault(const char *name)
{
	int code = 0;
	for (int i = 0; i < rule_count; i++) {
		if (strcmp(rules[i].name, name) != 0)
			continue;
		uint64_t n = atomic_fetch_add(&rules[i].calls, 1) + 1;
		if (rules[i].nth == 0 || rules[i].nth == n)
			code = rules[i].code;
	}
	return code;
}

/* One line a call, in one write: "thread symbol(ptr, null, 3) = code". Pointers are reported only
 * as null or not: their values differ from run to run. */
void si_trace_line(const char *name, const struct si_arg *args, int count, int result)
{
	char line[512];
	size_t used = 0;
	ssize_t ignored;
	if (trace_fd < 0)
		return;
	used += (size_t)snprintf(line, sizeof line, "%d %s(", (int)gettid(), name);
	for (int i = 0; i < count && used < sizeof line - 64; i++) {
		const char *comma = i ? ", " : "";
		if (args[i].pointer)
			used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", comma,
						 args[i].value ? "ptr" : "null");
		else
			used += (size_t)snprintf(line + used, sizeof line - used, "%s%llu", comma,
						 (unsigned long long)args[i].value);
	}
	used += (size_t)snprintf(line + used, sizeof line - used, ") = %d\n", result);
	ignored = write(trace_fd, line, used);
	(void)ignored;
}

static void call_back(struct si_call *call, bool leaving)
{
	struct si_cupti_hooks *hooks = atomic_load(&si_cupti);
	CUcontext ctx = si_current_or_null();
	int result = (int)call->result;
	if (!hooks || !hooks->api)
		return;
	hooks->api(si_rows[call->id].cbid, si_rows[call->id].symbol, leaving, call->params,
		   leaving ? &result : NULL, call->correlation, &call->correlation_data, ctx,
		   ctx ? ctx->id : 0);
	call->called_back = true;
}

bool si_call_enter(struct si_call *call)
{
	unsigned watch = atomic_load_explicit(&si_watch[call->id], memory_order_relaxed);
	int code = 0;
	if (watch & SI_WATCH_CALLBACK) {
		call->correlation = si_correlation_next();
		si_tls.correlation = call->correlation;
		call_back(call, false);
	}
	if (watch & SI_WATCH_SLOW && !slow.after)
		be_slow();
	if (watch & SI_WATCH_FAULT)
		code = si_fault(si_rows[call->id].symbol);
	if (code)
		call->result = (CUresult)code;
	return code == 0;
}

CUresult si_call_leave(struct si_call *call)
{
	if (slow.after &&
	    atomic_load_explicit(&si_watch[call->id], memory_order_relaxed) & SI_WATCH_SLOW)
		be_slow();
	si_tls.correlation = 0;
	if (call->called_back)
		call_back(call, true);
	si_trace_line(si_rows[call->id].symbol, call->args, call->arg_count, (int)call->result);
	return call->result;
}
