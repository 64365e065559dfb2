#include "kernels/workloads/options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum key {
	LIST = 256,
	JSON,
	ONLY,
	SIZE,
	REPEAT,
	SECONDS,
	MEMORY,
	CHECK,
	SEED,
	COLD,
	INTERLEAVE,
	QUEUED,
	PRINT_ARGS,
};

static const struct argp_option options[] = {
	{"list", LIST, NULL, 0, "list what would run, without a GPU", 0},
	{"json", JSON, NULL, 0, "print a JSON object per line", 0},
	{"only", ONLY, "GLOB", 0, "workloads or families of this name (* and ?); may be repeated",
	 0},
	{"size", SIZE, "SIZE", 0,
	 "one of the six sizes, 0 to 5; may be repeated; all when not given", 0},
	{"repeat", REPEAT, "N", 0,
	 "measured rounds, at most 1e6; when not given 10, or with --seconds as many as they hold",
	 0},
	{"seconds", SECONDS, "S", 0,
	 "begin no round after so long; without --interleave of each case", 0},
	{"memory", MEMORY, "BYTES", 0,
	 "device memory to take at once, at most, with an optional K, M, G or T; at least 1M, 3G "
	 "when not given",
	 0},
	{"check", CHECK, NULL, 0, "compare results with a reference on the CPU, before measuring",
	 0},
	{"seed", SEED, "S", 0, "of the random inputs, 0 to 4294967295; a fresh one when not given",
	 0},
	{"cold", COLD, NULL, 0, "overwrite the L2 before each measured launch", 0},
	{"interleave", INTERLEAVE, NULL, 0,
	 "all that is chosen in turn, round by round, instead of one after the other", 0},
	{"queued", QUEUED, NULL, 0,
	 "wait at a round's end only, as programs do; takes no times, and leaves --cold aside", 0},
	{"print-args", PRINT_ARGS, NULL, 0,
	 "with --json: each argument's bytes, in hexadecimal as they lie in memory", 0},
	{0},
};

int wl_error(const char *format, ...)
{
	va_list args;

	fputs("gpuwatch-workloads: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return 2;
}

static void add(struct wl_words *words, const char *option, char *word)
{
	if (words->count == WL_WORDS)
		exit(wl_error("--%s=%s: it may stand %d times at most", option, word, WL_WORDS));
	words->word[words->count++] = word;
}

/* A number from @p low to @p high; @p units: bytes, with an optional K, M, G or T. */
static double number(const char *option, const char *text, bool units, double low, double high)
{
	static const char unit[] = "KMGT";
	double factor = 1, value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	for (int i = 0; units && *end && unit[i]; i++)
		if (*end == unit[i]) {
			factor = ldexp(1, 10 * (i + 1));
			end++;
			break;
		}
	value *= factor;
	if (end == text || *end || errno || !(value >= low && value <= high))
		exit(wl_error("--%s=%s: must be a number from %.15g to %.15g%s", option, text, low,
			      high, units ? ", with an optional K, M, G or T" : ""));
	return value;
}

static uint64_t whole(const char *option, const char *text, bool units, double low, double high)
{
	double value = number(option, text, units, low, high);

	if (value != floor(value))
		exit(wl_error("--%s=%s: must be a whole number", option, text));
	return (uint64_t)value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct wl_options *o = state->input;

	switch (key) {
	case LIST:
		o->list = true;
		break;
	case JSON:
		o->json = true;
		break;
	case ONLY:
		add(&o->only, "only", argument);
		break;
	case SIZE:
		add(&o->size, "size", argument);
		break;
	case REPEAT:
		o->repeat = whole("repeat", argument, false, 0, 1e6);
		break;
	case SECONDS:
		o->seconds = number("seconds", argument, false, 0, 1e6);
		break;
	case MEMORY:
		o->memory = whole("memory", argument, true, 1 << 20, 1e15);
		break;
	case CHECK:
		o->check = true;
		break;
	case SEED:
		o->seed = whole("seed", argument, false, 0, UINT32_MAX);
		break;
	case COLD:
		o->cold = true;
		break;
	case INTERLEAVE:
		o->interleave = true;
		break;
	case QUEUED:
		o->queued = true;
		break;
	case PRINT_ARGS:
		o->print_args = true;
		break;
	case ARGP_KEY_ARG:
		exit(wl_error("\"%s\" is no option; choose by --only=GLOB", argument));
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void wl_options_parse(int argc, char **argv, struct wl_options *out)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Runs small kernels that cover the space, each at six sizes, and prints "
		       "their "
		       "times by events. kernels/workloads/README.md says what each is for.\v"
		       "Exit status: 0 done, 1 a result was wrong, 2 bad options, 3 CUDA failed, "
		       "77 no "
		       "GPU.",
	};

	*out = (struct wl_options){
		.repeat = UINT64_MAX, .seed = UINT64_MAX, .memory = (uint64_t)3 << 30};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, out);
}
