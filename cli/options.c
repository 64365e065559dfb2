#include "cli/options.h"

#include "cli/common/nearest.h"
#include "cli/log/source.h"
#include "cli/report/line.h"
#include "cli/message.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST = 64 }; /* options of a command that are suggested */

static char problem[200];

/* Whether @p word is one of @p choices, words separated by |. */
static bool is_choice(const char *choices, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = choices; *p; p += strcspn(p, "|"), p += *p == '|')
		if (strcspn(p, "|") == length && !strncmp(p, word, length))
			return true;
	return false;
}

/* Whether @p value is in the option's range; both ends 0 stand for "not negative". */
static bool in_range(const struct gw_option *o, double value)
{
	return o->low == 0 && o->high == 0 ? value >= 0 : value >= o->low && value <= o->high;
}

static const char *range_problem(const struct gw_option *o, const char *kind)
{
	if (o->low == 0 && o->high == 0)
		snprintf(problem, sizeof(problem), "must be %s, 0 or more", kind);
	else
		snprintf(problem, sizeof(problem), "must be %s from %.15g to %.15g", kind, o->low,
			 o->high);
	return problem;
}

static const char *check_number(const struct gw_option *o, const char *text, double *where)
{
	char *end;
	double value = strtod(text, &end);

	if (end != text && *end == '%' && o->argument && !strcmp(o->argument, "PERCENT"))
		end++;
	if (end == text || *end || !isfinite(value) || !in_range(o, value))
		return range_problem(o, "a number");
	if (where)
		*where = value;
	return NULL;
}

/* Power of two that a size suffix stands for; -1 when it is none. */
static int suffix_shift(const char *suffix)
{
	static const char letters[] = "KMGT";
	const char *found;

	if (!*suffix)
		return 0;
	if (suffix[1])
		return -1;
	found = strchr(letters, *suffix >= 'a' && *suffix <= 'z' ? *suffix - 'a' + 'A' : *suffix);
	return found ? (int)(found - letters + 1) * 10 : -1;
}

static const char *check_whole(const struct gw_option *o, const char *text, uint64_t *where)
{
	bool size = o->type == GW_OPTION_SIZE;
	const char *kind = size ? "a size in bytes (K, M, G, T allowed)" : "a whole number";
	char *end;
	uint64_t value;
	int shift;

	if (*text < '0' || *text > '9')
		return range_problem(o, kind);
	errno = 0;
	value = strtoull(text, &end, 10);
	shift = size ? suffix_shift(end) : *end ? -1 : 0;
	if (errno || shift < 0 || value > UINT64_MAX >> shift ||
	    !in_range(o, (double)(value << shift)))
		return range_problem(o, kind);
	if (where)
		*where = value << shift;
	return NULL;
}

static const char *append(struct gw_words *words, const char *text)
{
	if (!words)
		return NULL;
	if (words->count == GW_WORDS_MAX) {
		snprintf(problem, sizeof(problem), "may be given at most %d times", GW_WORDS_MAX);
		return problem;
	}
	words->word[words->count++] = text;
	return NULL;
}

const char *gw_option_check(const struct gw_option *option, const char *text, void *where)
{
	const char *why = NULL;

	switch (option->type) {
	case GW_OPTION_FLAG:
	case GW_OPTION_TEXT:
		break;
	case GW_OPTION_FILE:
		if (!*text)
			return "must be the name of a file or folder";
		break;
	case GW_OPTION_LIST:
		return *text ? append(where, text) : "must be a name";
	case GW_OPTION_CHOICE:
		if (!is_choice(option->choices, text)) {
			snprintf(problem, sizeof(problem), "must be one of %s", option->choices);
			return problem;
		}
		break;
	case GW_OPTION_NUMBER:
		why = check_number(option, text, option->text ? NULL : where);
		if (why || !option->text)
			return why;
		break;
	case GW_OPTION_COUNT:
	case GW_OPTION_SIZE:
		why = check_whole(option, text, option->text ? NULL : where);
		if (why || !option->text)
			return why;
		break;
	}
	if (where)
		*(const char **)where = text;
	return NULL;
}

const char *gw_option_name(const struct gw_option *option, char *out, size_t size)
{
	snprintf(out, size, "--%s", option->name);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

static const struct gw_option *find(const struct gw_option *options, const char *text,
				    size_t length)
{
	char name[80];

	/* The one short option: every program that writes a file has it. */
	const bool brief = length == 2 && !strncmp(text, "-o", 2);

	for (const struct gw_option *o = options; o && o->name; o++)
		if (brief ? !strcmp(o->name, "output") || !strcmp(o->name, "out")
			  : strlen(gw_option_name(o, name, sizeof(name))) == length &&
				    !strncmp(name, text, length))
			return o;
	return NULL;
}

/* "--word" and what it may be a slip for. */
static void unknown(const struct gw_option *options, const char *command, const char *text,
		    size_t length)
{
	static const char *names[MOST];
	static char store[MOST][80];
	char word[80], near[200];
	size_t count = 0;

	for (const struct gw_option *o = options; o && o->name && count < MOST - 1; o++, count++)
		names[count] = gw_option_name(o, store[count], sizeof(store[count]));
	names[count++] = "--help";
	snprintf(word, sizeof(word), "%.*s", (int)length, text);
	gw_nearest(near, sizeof(near), word, names, count, 0);
	gw_error("%s: unknown option %s%s%s; --help lists the options", command, word,
		 *near ? "; did you mean " : "", *near ? near : "");
}

/* One "--…" argument; returns how many strings of argv it took, 0 after a message. */
static int take(const struct gw_option *options, const char *command, int left, char **argv,
		char *values)
{
	const char *equals = strchr(argv[0], '='), *value, *why;
	size_t length = equals ? (size_t)(equals - argv[0]) : strlen(argv[0]);
	const struct gw_option *o = find(options, argv[0], length);
	char name[80];

	if (!o && length == strlen("--help") && !strncmp(argv[0], "--help", length)) {
		gw_error("%s: --help takes no value; leave out \"%s\"", command, equals);
		return 0;
	}
	if (!o) {
		unknown(options, command, argv[0], length);
		return 0;
	}
	gw_option_name(o, name, sizeof(name));
	if (o->type == GW_OPTION_FLAG) {
		if (equals)
			gw_error("%s: %s takes no value; leave out \"%s\"", command, name, equals);
		else
			*(bool *)(void *)(values + o->offset) = true;
		return equals ? 0 : 1;
	}
	value = equals ? equals + 1 : left > 1 ? argv[1] : NULL;
	if (!value) {
		gw_error("%s: %s needs a value: %s=%s", command, name, name, o->argument);
		return 0;
	}
	why = gw_option_check(o, value, values + o->offset);
	if (why) {
		gw_error("%s: %s=%s: %s", command, name, value, why);
		return 0;
	}
	return equals ? 1 : 2;
}

/* Whether both names are of one regular file. */
static bool one_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The value of a FILE option; NULL where it was not given. */
static const char *file_of(const struct gw_option *o, const void *values)
{
	const char *path = NULL;

	if (o->type == GW_OPTION_FILE)
		memcpy(&path, (const char *)values + o->offset, sizeof(path));
	return path;
}

/* Why nothing is written to @p path by a command that reads @p operands; NULL: it may. */
static const char *not_to_write(const struct gw_option *options, const char *path, int operands,
				char **argv, const void *values)
{
	if (gw_log_source_is_log(path))
		return "is a gpuwatch log, which is not overwritten; name another file, or remove "
		       "this one first";
	for (int i = 0; i < operands; i++)
		if (one_file(path, argv[i]))
			return "is what the command reads; name another file";
	for (const struct gw_option *o = options; o->name; o++) {
		const char *read = o->written ? NULL : file_of(o, values);

		if (read && one_file(path, read))
			return "is what the command reads; name another file";
	}
	return NULL;
}

/* A slip such as `--html run.gwl` must not cost the recording: it can't be made again. */
static bool check_written(const struct gw_option *options, const char *command, int operands,
			  char **argv, const void *values)
{
	for (const struct gw_option *o = options; o && o->name; o++) {
		const char *path = o->written ? file_of(o, values) : NULL, *why;
		char name[80];

		if (!path)
			continue;
		why = not_to_write(options, path, operands, argv, values);
		if (why) {
			gw_error("%s: %s=%s: this %s", command,
				 gw_option_name(o, name, sizeof(name)), path, why);
			return false;
		}
	}
	return true;
}

bool gw_options_parse(const struct gw_option *options, const char *command, bool stop_at_operand,
		      int *argc, char **argv, void *values)
{
	int operands = 0, i = 0;

	while (i < *argc) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strncmp(argv[i], "--", 2) ||
		    (argv[i][0] == '-' && find(options, argv[i], strlen(argv[i])))) {
			int taken = take(options, command, *argc - i, argv + i, values);

			if (!taken)
				return false;
			i += taken;
			continue;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			unknown(options, command, argv[i], strlen(argv[i]));
			return false;
		}
		if (stop_at_operand)
			break;
		argv[operands++] = argv[i++];
	}
	while (i < *argc)
		argv[operands++] = argv[i++];
	*argc = operands;
	return check_written(options, command, operands, argv, values);
}

/* @p bytes in the largest unit that leaves a whole number. */
static void put_size(FILE *out, double bytes)
{
	static const char *const units[] = {"", "K", "M", "G", "T"};
	unsigned u = 0;

	for (; u < 4 && bytes >= 1024 && fmod(bytes, 1024) == 0; u++)
		bytes /= 1024;
	fprintf(out, "%.15g%s", bytes, units[u]);
}

const char *gw_option_meaning(const struct gw_option *o, char *out, size_t size)
{
	FILE *text = fmemopen(out, size, "w");

	*out = '\0';
	if (!text)
		return out;
	fputs(o->meaning, text);
	if (o->type == GW_OPTION_CHOICE)
		fprintf(text, " (%s)", o->choices);
	else if (o->type == GW_OPTION_SIZE && o->high > 0) {
		fputs(" (", text);
		put_size(text, o->low);
		fputs(" to ", text);
		put_size(text, o->high);
		fputc(')', text);
	} else if (o->high > 0)
		fprintf(text, " (%.15g to %.15g)", o->low, o->high);
	fclose(text);
	return out;
}

void gw_options_help(const struct gw_option *o)
{
	enum { LEFT = 22, INDENT = LEFT + 4 };
	char left[120], name[80], meaning[GW_OPTION_MEANING];

	printf("\nOptions:\n");
	for (; o && o->name; o++) {
		snprintf(left, sizeof(left), "%s%s%s", gw_option_name(o, name, sizeof(name)),
			 gw_option_valued(o) ? "=" : "", gw_option_valued(o) ? o->argument : "");
		printf("  %-*s  ", LEFT, left);
		if (strlen(left) > LEFT)
			printf("\n%*s", INDENT, "");
		report_wrapped(gw_option_meaning(o, meaning, sizeof(meaning)), gw_width(), INDENT);
	}
	printf("  %-*s  print this help\n", LEFT, "--help");
}
