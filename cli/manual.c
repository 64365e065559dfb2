/* The manual pages, from the lists; that of the log also as Markdown. */
#include "cli/manual.h"

#include "cli/command.h"
#include "cli/report/report.h"
#include "predictor/log/live.h"
#include "predictor/log/record.h"

#include <stdio.h>
#include <string.h>

static const enum gw_document MAN = GW_DOCUMENT_MAN;

static void option_item(const struct gw_option *o)
{
	char name[80], term[160], meaning[GW_OPTION_MEANING], text[GW_OPTION_MEANING + 1];

	snprintf(term, sizeof(term), "%s%s%s", gw_option_name(o, name, sizeof(name)),
		 gw_option_valued(o) ? "=" : "", gw_option_valued(o) ? o->argument : "");
	snprintf(text, sizeof(text), "%s.", gw_option_meaning(o, meaning, sizeof(meaning)));
	gw_document_item(MAN, term, text);
}

/* "command\n  what it does\n" pairs. */
static void examples(const char *text)
{
	gw_document_heading(MAN, "EXAMPLES");
	while (*text) {
		char command[300], meaning[300];
		size_t first = strcspn(text, "\n"), second;

		snprintf(command, sizeof(command), "%.*s", (int)first, text);
		text += first + (text[first] == '\n');
		second = strcspn(text, "\n");
		snprintf(meaning, sizeof(meaning), "%.*s", (int)second, text);
		text += second + (text[second] == '\n');
		gw_document_item(MAN, command, meaning);
	}
}

static void report_extras(void)
{
	gw_document_heading(MAN, "COLUMNS");
	gw_document_text(MAN, "The names are those of CSV and JSON; --sort takes the name or the "
			      "word in brackets.");
	for (unsigned c = 0; c < GW_COLUMNS; c++) {
		char term[100];

		snprintf(term, sizeof(term), "%s [%s]", gw_columns_info[c].name,
			 gw_columns_info[c].id);
		gw_document_item(MAN, term, gw_columns_info[c].meaning);
	}
	gw_document_heading(MAN, "FLAGS");
#define FLAG(name, letter, condition, meaning) \
	gw_document_item(MAN, letter " (" #name ")", meaning);
#include "cli/report/flags.def"
#undef FLAG
}

static void calibrate_extras(void)
{
	gw_document_heading(MAN, "GROUPS");
	gw_document_text(MAN, "Measured in this order; --only takes one of these names.");
#define GROUP(name, function, full_seconds, quick_seconds, meaning) \
	gw_document_item(MAN, #name, meaning ".");
#include "calib/groups.def"
#undef GROUP
#define PARAM(name, unit, meaning) gw_document_item(MAN, #name " [" unit "]", meaning ".");
#define CURVE(name, unit_x, unit_y, meaning) \
	gw_document_item(MAN, #name " [" unit_y " by " unit_x "]", meaning ".");
	gw_document_heading(MAN, "PROFILE");
	gw_document_text(MAN,
			 "What a device profile may hold: numbers, and functions, whose unit is "
			 "by that of x.");
#include "predictor/core/device.def"
#undef PARAM
#undef CURVE
}

static void agent_extras(void)
{
	gw_document_heading(MAN, "METRICS");
	gw_document_text(MAN, "With their labels beside those of the GPU; gpu stands for these. An "
			      "unknown value has no sample.");
#define TOTAL_COUNTER   "_total"
#define TOTAL_GAUGE     ""
#define TOTAL_HISTOGRAM ""
#define METRIC(id, KIND, name, unit, labels, help) \
	gw_document_item(MAN, name TOTAL_##KIND " {" labels "}", help);
#include "cli/agent/metrics.def"
#undef METRIC
}

static void exit_status(const char *own)
{
	gw_document_heading(MAN, "EXIT STATUS");
	gw_document_text(MAN, own ? own : "0 done; 1 done, with findings; 2 bad options or input.");
}

void gw_manual_command(const struct gw_command *c)
{
	char name[64];

	snprintf(name, sizeof(name), "gpuwatch-%s", c->name);
	gw_document_title(MAN, name, 1, c->summary);
	gw_document_heading(MAN, "SYNOPSIS");
	gw_document_verbatim(MAN, c->synopsis);
	gw_document_heading(MAN, "DESCRIPTION");
	gw_document_text(MAN, c->body->description);
	gw_document_heading(MAN, "OPTIONS");
	for (const struct gw_option *o = c->body->options; o && o->name; o++)
		option_item(o);
	gw_document_item(MAN, "--help", "print help and examples.");
	if (!strcmp(c->name, "report"))
		report_extras();
	if (!strcmp(c->name, "calibrate"))
		calibrate_extras();
	if (!strcmp(c->name, "agent"))
		agent_extras();
	exit_status(c->body->exit_status);
	if (c->body->examples)
		examples(c->body->examples);
	gw_document_heading(MAN, "SEE ALSO");
	gw_document_text(MAN, "gpuwatch(1), libgpuwatch(7), gpuwatch-log(5)");
}

void gw_manual_main(void)
{
	gw_document_title(MAN, "gpuwatch", 1,
			  "predict and measure every CUDA kernel of an unmodified program");
	gw_document_heading(MAN, "SYNOPSIS");
	for (const struct gw_command *c = gw_commands; c->name; c++)
		gw_document_verbatim(MAN, c->synopsis);
	gw_document_heading(MAN, "DESCRIPTION");
	gw_document_text(
		MAN,
		"gpuwatch reports, for every CUDA kernel that a program launches, how long it "
		"takes, "
		"how long it should take on this GPU, and what bounds it. The program is not "
		"changed: a "
		"library, libgpuwatch(7), is loaded into it and writes a log, gpuwatch-log(5), "
		"which "
		"the commands read.");
	gw_document_heading(MAN, "COMMANDS");
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		char text[200];

		snprintf(text, sizeof(text), "%s; see gpuwatch-%s(1).", c->summary, c->name);
		gw_document_item(MAN, c->name, text);
	}
	gw_document_heading(MAN, "EXIT STATUS");
	gw_document_item(MAN, "0", "done, no findings.");
	gw_document_item(MAN, "1", "done, with findings: something is not as it should be.");
	gw_document_item(MAN, "2",
			 "bad options, or input that can't be used; one message on stderr says "
			 "which and why.");
	gw_document_text(MAN,
			 "`gpuwatch run` returns the program's own; 126 and 127 as env(1) does.");
	gw_document_heading(MAN, "ENVIRONMENT");
	gw_document_item(MAN, "NO_COLOR", "set and not empty: no colour, even on a terminal.");
	gw_document_item(MAN, "TERM", "dumb: no colour either.");
	gw_document_item(MAN, "GPUWATCH_PROFILE",
			 "a device profile, or a folder of them, that is searched first.");
	gw_document_item(MAN, "COLUMNS",
			 "width of text where output is no terminal (default 120); "
			 "no text is narrower than 60.");
	gw_document_heading(MAN, "FILES");
	gw_document_item(
		MAN, "gpuwatch.HOST.PID.gwl",
		"the log of a process, in its working directory where GPUWATCH_OUT does not "
		"say otherwise; libgpuwatch(7) describes its name.");
	gw_document_item(MAN, "~/.config/gpuwatch/profiles",
			 "the user's own device profiles, where `gpuwatch calibrate` writes one "
			 "($XDG_CONFIG_HOME/gpuwatch/profiles where that is set).");
	gw_document_item(MAN, "/etc/gpuwatch/profiles", "the system's.");
	gw_document_item(MAN, "PREFIX/share/gpuwatch/profiles", "those that ship with gpuwatch.");
	gw_document_item(MAN, "PREFIX/share/doc/gpuwatch/docs",
			 "what --help and these pages call docs/.");
}

void gw_manual_library(void)
{
	gw_document_title(MAN, "libgpuwatch", 7,
			  "the library that watches CUDA kernels from inside a program");
	gw_document_heading(MAN, "SYNOPSIS");
	gw_document_verbatim(MAN, "gpuwatch run -- command");
	gw_document_verbatim(MAN, "LD_PRELOAD=/path/to/libgpuwatch.so command");
	gw_document_verbatim(MAN, "CUDA_INJECTION64_PATH=/path/to/libgpuwatch.so command");
	gw_document_heading(MAN, "DESCRIPTION");
	gw_document_text(
		MAN,
		"Loaded into a program, the library predicts every kernel launch before it runs, "
		"measures it through CUPTI, and writes a log. It changes nothing that the "
		"program can notice: what cannot be done is left out, reported once, counted, "
		"and shown by gpuwatch-report(1) as degraded.\n\nIt needs glibc 2.34 or newer. "
		"LD_PRELOAD does not reach "
		"statically linked, setuid and 32-bit programs; "
		"CUDA_INJECTION64_PATH, read by the CUDA "
		"driver, reaches statically linked ones. Programs linked with musl or "
		"AddressSanitizer fail with "
		"LD_PRELOAD; gpuwatch-run(1) runs them without the library.");
	gw_document_heading(MAN, "ENVIRONMENT");
	gw_document_text(MAN,
			 "An empty variable counts as not set. An invalid value is reported as "
			 "degraded, and the default is used.");
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) \
	gw_document_item(MAN, variable "=" type##_TERM(choices, low, high), \
			 *fallback ? meaning " (default " fallback ")." : meaning ".");
#define CHOICE_TERM(choices, low, high) choices
#define FLAG_TERM(choices, low, high)   "0|1"
#define SIZE_TERM(choices, low, high)   "bytes, with K, M, G or T, " #low " to " #high
#define NUMBER_TERM(choices, low, high) "a whole number, " #low " to " #high
#define TEXT_TERM(choices, low, high)   "text"
#include "predictor/core/config.def"
#undef OPTION
	gw_document_heading(MAN, "COUNTERS");
	gw_document_text(
		MAN,
		"The library counts its own work; gpuwatch report --json shows every counter, per "
		"process and summed.");
#define COUNTER(name, meaning) gw_document_item(MAN, #name, meaning ".");
#include "predictor/log/counter.def"
#undef COUNTER
	gw_document_heading(MAN, "EXIT STATUS");
	gw_document_text(MAN, "The program's own, always.");
	gw_document_heading(MAN, "SEE ALSO");
	gw_document_text(MAN, "gpuwatch(1), gpuwatch-run(1), gpuwatch-report(1), gpuwatch-log(5)");
}

static void record_heading(enum gw_document d, int kind, const char *name, const char *meaning)
{
	char title[100], text[400];

	snprintf(title, sizeof(title), "%s (%d)", name, kind);
	gw_document_heading(d, title);
	snprintf(text, sizeof(text), "%c%s.",
		 *meaning >= 'a' && *meaning <= 'z' ? *meaning - 'a' + 'A' : *meaning, meaning + 1);
	gw_document_text(d, text);
	gw_document_fields(d);
	gw_document_field(d, "kind", "u16", "", "the record's kind");
	gw_document_field(d, "length", "u16", "B", "of the whole record, a multiple of 8");
}

static void record_tail(enum gw_document d, const char *tail)
{
	char text[300];

	if (!*tail)
		return;
	snprintf(text, sizeof(text), "Then NUL-terminated strings, padded with zeros: %s.", tail);
	gw_document_text(d, text);
}

/* How packed records differ: predictor/log/block_model.h, in words. */
static void log_packing(enum gw_document d)
{
	gw_document_text(
		d, "Packed records are the output of a binary range coder like LZMA's "
		   "(probabilities of 11 bits that start at 1024 and move by a sixteenth, range "
		   "and code of 32 bits, normalized below 2^24, a first byte of 0). Each block "
		   "starts with a new model. First come 16 plain bits of 0, left out before "
		   "version 4 and where the block starts with HEADER; then 16 of the step, of "
		   "which the times in the block are multiples. Each record starts with a bit: "
		   "whether it is a LAUNCH. A number is coded as the count of its bits (a tree "
		   "of 7 bits), then up to 3 bits after the leading one (a tree for each count), "
		   "then the rest as plain bits; a difference has its sign in the lowest bit.\n\n"
		   "A LAUNCH is coded against two others of the block: the one that followed the "
		   "last occurrence of the three launches before it, and the last of its "
		   "configuration. A bit says whether config, stream, thread, node, flags, tier "
		   "and work equal those of the former; otherwise their differences follow. Then "
		   "come known and call_ns against the launch before, predicted, low and high "
		   "(as bits) against the last of the configuration, start_ns against the end of "
		   "the launch before, duration_ns against the last of the configuration, both "
		   "in steps. In any other record, kind and length are numbers, and each byte "
		   "equals that of the last record of its kind at the same place, or is coded by "
		   "a tree of 8 bits that the byte before selects; but where the 16 bits of 0 "
		   "are, parts of WORK and GRAPH_WORK are expected to be like the last part of "
		   "their row, and records with texts, and STACK, to go on as they did behind "
		   "the same three bytes. predictor/log/block_model.h "
		   "defines the contexts, which a decoder must share: encoder and decoder are "
		   "one description, and a decoder is its functions with `decode` set.");
}

static void log_frame(enum gw_document d)
{
	gw_document_text(
		d, "A log is a sequence of blocks without gaps; a block is a header and data. "
		   "All numbers are little-endian. The header of a block since version 3:");
	gw_document_fields(d);
	gw_document_field(d, "magic", "u32", "", "0x32425747: the letters GWB2");
	gw_document_field(d, "crc", "u32", "",
			  "CRC-32C (Castagnoli) of the rest of the header and of the data");
	gw_document_field(d, "length", "u32", "B", "of the data that follow the header");
	gw_document_field(d, "sequence", "u32", "",
			  "0, 1, 2 and so on within the file; copies have a count of their own");
	gw_document_field(d, "raw", "u32", "B",
			  "of the records: a multiple of 8, at most 1,048,576");
	gw_document_field(d, "flags", "u32", "", "bits (Flags: BLOCK)");
	gw_document_field(d, "room", "u32", "B",
			  "of a copy: from its header to what follows it; else 0");
	gw_document_field(d, "number", "u32", "",
			  "of the block in the process's memory; 0 for definitions written again");
	gw_document_text(
		d, "Blocks of versions 1 and 2, which may occur in any file, have a header of 16 "
		   "bytes and unpacked records:");
	gw_document_fields(d);
	gw_document_field(d, "magic", "u32", "", "0x31425747: the letters GWB1");
	gw_document_field(d, "length", "u32", "B",
			  "of the records that follow: a multiple of 8, at most 1,048,576");
	gw_document_field(d, "sequence", "u32", "", "0, 1, 2 and so on within the file");
	gw_document_field(d, "crc", "u32", "", "CRC-32C (Castagnoli) of the records");
	log_packing(d);
	gw_document_text(
		d, "A record is at most 32,768 bytes and starts with its kind and its length. A "
		   "reader skips kinds it does not know. The first record is HEADER, with the "
		   "version. Ids are per file, start at 1 and rise from record to record of a "
		   "kind; 0 means none. Times are nanoseconds since 1970 (CLOCK_REALTIME); 0 "
		   "means unknown.\n\n"
		   "The file takes at most GPUWATCH_LOG_MAX bytes. The first seven eighths hold "
		   "single launches, the rest sums of ever longer spans. When these have no more "
		   "room, two blocks with the flag COPY end the file and are overwritten "
		   "alternately: the one with the higher sequence is valid. It has the sums of "
		   "all the time since, the last COUNTERS and END. Where part of the file was "
		   "lost, or the file replaces one that was deleted, blocks with the flag REPEAT "
		   "hold the definitions (HEADER to NODE, PROFILE, SUCCESSOR, ANALYSIS, "
		   "DEGRADED) again; a reader that has them skips these blocks.\n\n"
		   "Complete blocks remain readable after a crash: a reader that meets a broken "
		   "block continues at the next magic whose checksum holds, and counts the bytes "
		   "between. The last COUNTERS record is valid. A log without END was cut off or "
		   "is still being written.\n\n"
		   "The order of LAUNCH records is the order of learning. A prediction with "
		   "`known` = k used at most the first k LAUNCH records of the file that have "
		   "the flag LEARNT; such predictions were made at the PUBLISHED record of that "
		   "number. So a reader can check that a prediction preceded its own "
		   "measurement, and that each of those kernels had ended when the launch was "
		   "called.");
}

static void log_value(enum gw_document d, const char *field, const char *name, unsigned number,
		      const char *meaning)
{
	char title[100], text[16];

	snprintf(title, sizeof(title), "%s: %s", field, name);
	snprintf(text, sizeof(text), "%u", number);
	gw_document_field(d, title, text, "", meaning);
}

static void log_row(enum gw_document d, unsigned field)
{
	const struct gw_field_info row = gw_work_info(field);
	char title[100], text[16];

	snprintf(title, sizeof(title), "WORK row: %s", row.name);
	snprintf(text, sizeof(text), "%u", field);
	gw_document_field(d, title, text, row.unit, gw_work_meaning(field));
}

static void log_values(enum gw_document d)
{
	gw_document_heading(d, "Flags");
	gw_document_text(d, "Bits of the field `flags` of HEADER, of a block's header and of "
			    "LAUNCH, with their "
			    "values.");
	gw_document_fields(d);
#define FLAG(RECORD, NAME, bit, meaning) \
	log_value(d, #RECORD, #NAME, GW_##RECORD##_##NAME, meaning);
#include "predictor/log/value.def"
	gw_document_heading(d, "Values");
	gw_document_text(
		d, "What the numbers in other fields stand for. docs/internals/models.md lists the "
		   "papers that meanings cite.");
	gw_document_fields(d);
#define TIER(NAME, name, meaning)   log_value(d, "LAUNCH tier", name, GW_TIER_##NAME, meaning);
#define SOURCE(NAME, name, meaning) log_value(d, "LAUNCH work", name, GW_SOURCE_##NAME, meaning);
#include "predictor/core/basis.def"
#define ORIGIN(NAME, meaning)      log_value(d, "MODULE origin", #NAME, GW_MODULE_##NAME, meaning);
#define STREAM_KIND(NAME, meaning) log_value(d, "STREAM kind", #NAME, GW_STREAM_##NAME, meaning);
#define DIRECTION(NAME, name, meaning) \
	log_value(d, "COPY direction", #NAME, GW_DIRECTION_##NAME, meaning);
#define WAIT_CALL(NAME, name, meaning) log_value(d, "WAIT call", #NAME, GW_WAIT_##NAME, meaning);
#define COLLECTIVE(NAME, name, meaning) \
	log_value(d, "COLLECTIVE function", #NAME, GW_COLLECTIVE_##NAME, meaning);
#define DATATYPE(NAME, name, meaning) \
	log_value(d, "COLLECTIVE datatype", #NAME, GW_DATATYPE_##NAME, meaning);
#define STACK_END(NAME, meaning)  log_value(d, "STACK end", #NAME, GW_STACK_END_##NAME, meaning);
#define MODE(NAME, name, meaning) log_value(d, "MODE mode, before", #NAME, GW_MODE_##NAME, meaning);
#define DEGRADED(NAME, meaning)   log_value(d, "DEGRADED code", #NAME, GW_DEGRADED_##NAME, meaning);
#include "predictor/log/value.def"
#define SLOW_CAUSE(NAME, name, meaning) log_value(d, "SLOW cause", name, GW_SLOW_##NAME, meaning);
#include "predictor/log/slow.def"
#undef SLOW_CAUSE
#define IDLE(NAME, name, meaning) log_value(d, "idle_ns", name, GW_IDLE_##NAME, meaning);
#include "predictor/log/idle.def"
#undef IDLE
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		log_row(d, f);
}

static void live_format(enum gw_document d)
{
	char title[64];

	snprintf(title, sizeof(title), "The live segment, version %d", GW_LIVE_VERSION);
	gw_document_heading(d, title);
	gw_document_text(
		d,
		"A file in memory (`GPUWATCH_RUN_DIR`) that each process maps while it launches: "
		"what it committed survives its death, and other processes see what it does. It "
		"begins with a head, which has a `section` for each of the sections that "
		"follow, in this order; then come rings. A launch is in a ring from its commit "
		"until the worker has taken it, then in an entry until its record is in the log. "
		"Entries with a field `sequence` are written while others read. Numbers are "
		"little-endian, and lie as a C compiler for x86-64 lays out the structs.");
	gw_document_heading(d, "Segment: head");
	gw_document_fields(d);
#define HEAD_FIELD(type, field, dims, unit, meaning) \
	gw_document_field(d, #field #dims, #type, unit, meaning);
#define SECTION(name, type, share, most, meaning) \
	gw_document_field(d, #name, "section of " #type, "", meaning);
#include "predictor/log/live.def"
#undef HEAD_FIELD
#undef SECTION
#define STRUCT(name, meaning) \
	gw_document_heading(d, "Segment: struct gw_live_" #name); \
	gw_document_text(d, meaning); \
	gw_document_fields(d);
#define FIELD(name, type, field, dims, unit, meaning) \
	gw_document_field(d, #field #dims, #type, unit, meaning);
#define STRUCT_END(name)
#include "predictor/log/live.def"
#undef STRUCT
#undef FIELD
#undef STRUCT_END
	gw_document_heading(d, "Segment: struct gw_sketch");
	gw_document_text(d, "a distribution: the buckets of Prometheus' native histograms");
	gw_document_fields(d);
#define SKETCH_FIELD(type, name, dims, unit, meaning) \
	gw_document_field(d, #name #dims, #type, unit, meaning);
#include "predictor/core/sketch.def"
#undef SKETCH_FIELD
}

static void log_format(enum gw_document d)
{
	log_frame(d);
#define RECORD(kind, NAME, name, meaning) record_heading(d, kind, #NAME, meaning);
#define FIELD(type, name, unit, meaning)  gw_document_field(d, #name, #type, unit, meaning);
#define RECORD_END(NAME, name, tail)      record_tail(d, tail);
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
	gw_document_heading(d, "Counters");
	gw_document_text(d, "The numbers after the fixed part of COUNTERS, in this order. New ones "
			    "are appended; a log "
			    "of an older version has fewer.");
#define COUNTER(name, meaning) gw_document_field(d, #name, "u64", "", meaning);
	gw_document_fields(d);
#include "predictor/log/counter.def"
#undef COUNTER
	log_values(d);
	live_format(d);
}

void gw_manual_log(bool markdown)
{
	char title[64];

	if (markdown) {
		printf("<!-- Made by `gpuwatch --generate log-format` from "
		       "predictor/log/record.def. -->\n");
		snprintf(title, sizeof(title), "What libgpuwatch.so writes, version %d",
			 GW_LOG_VERSION);
		gw_document_title(GW_DOCUMENT_MARKDOWN, "The log on disk", 0, title);
		log_format(GW_DOCUMENT_MARKDOWN);
		return;
	}
	gw_document_title(MAN, "gpuwatch-log", 5, "the log that libgpuwatch writes");
	gw_document_heading(MAN, "DESCRIPTION");
	log_format(MAN);
	gw_document_heading(MAN, "SEE ALSO");
	gw_document_text(MAN, "gpuwatch-report(1), libgpuwatch(7)");
}
