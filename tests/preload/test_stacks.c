/* Where launches came from, from real processes' logs. */
#include "tests/preload/harness.h"

#include "cli/log/model.h"
#include "cli/stack/symbols.h"
#include "tests/test.h"

static struct gw_log_model model;
static struct outcome *kept;
static char text[1 << 14]; /* of a stack, a line a frame, from the innermost */

static void run_as(struct run r, const char *option)
{
	struct outcome *o;

	r.env[0] = "GPUWATCH_STATIC=0";
	r.env[1] = option;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	if (only_log(o)->config_records < KERNELS_MAX)
		assert_logs_are_the_truth(o);
	gw_log_model_init(&model);
	model.by = GW_BY_CONFIG;
	assert_true(gw_log_model_read(&model, only_log(o)->path));
	outcome_free(o);
}

static void run(const char *scenario)
{
	run_as(RUN("stacks", scenario), NULL);
}

/* The stack of launches with @p grid blocks; NULL: it has none. */
static const struct log_stack *stack_of(unsigned grid)
{
	struct log_stacks *stacks = &model.files[0].stacks;
	const struct log_stack *found = NULL;

	text[0] = 0;
	for (size_t i = 0; i < model.row_count; i++) {
		const struct gw_row *row = &model.rows[i];
		uint32_t shown[STACK_SHOWN];
		size_t count;

		if (row->config.grid.x != grid || !row->stacks[0].launches)
			continue;
		found = &stacks->list[row->stacks[0].stack];
		count = log_stack_shown(stacks, row->stacks[0].stack, shown);
		for (size_t f = 0; f < count; f++) {
			size_t used = strlen(text);

			log_frame_text(stacks, shown[f], text + used, sizeof(text) - used - 2);
			strcat(text, "\n");
		}
	}
	return found;
}

/* @p names stand in the text in this order. */
static void shows_in_order(const char *const *names)
{
	const char *at = text;

	for (; *names; names++) {
		at = strstr(at, *names);
		if (!at)
			fail_msg("%s is not in its place of\n%s", *names, text);
	}
}
#define SHOWS(...) shows_in_order((const char *const[]){__VA_ARGS__, NULL})

static void end(void)
{
	gw_log_model_free(&model);
	symbols_end();
}

TEST(names_every_caller_without_frame_pointers)
{
	run("plain");
	assert_int_equal(stack_of(1)->end, GW_STACK_END_BOTTOM);
	SHOWS("stacks_work", "stacks_step", "plain", "main");
	assert_non_null(stack_of(2));
	SHOWS("stacks_work", "plain", "main");
	assert_null(strstr(text, "stacks_step"));
	assert_int_equal(stack_of(3)->end, GW_STACK_END_BOTTOM);
	SHOWS("stacks_work", "stacks_aligned", "plain", "main");
	assert_null(strstr(text, "libgpuwatch"));
	end();
}

TEST(a_deep_stack_is_cut)
{
	run("deep");
	assert_true(stack_of(1)->end == GW_STACK_END_DEEP || stack_of(1)->end == GW_STACK_END_COPY);
	assert_true(stack_of(1)->count > 30);
	end();
}

TEST(a_coroutines_stack_ends_with_it)
{
	run("swapped");
	assert_true(stack_of(1)->count >= 3);
	SHOWS("stacks_work", "stacks_step", "coroutine");
	end();
}

TEST(a_signal_handlers_frames_are_named)
{
	run("on_signal");
	assert_true(stack_of(1)->count >= 2);
	SHOWS("stacks_work", "handler");
	end();
}

TEST(garbage_on_the_stack_ends_it)
{
	run("garbage");
	assert_non_null(stack_of(1));
	assert_int_not_equal(stack_of(1)->end, GW_STACK_END_BOTTOM);
	end();
}

TEST(libraries_may_be_unloaded)
{
	run("unloaded");
	assert_true(model.files[0].stacks.count > 0);
	end();
}

TEST(graph_nodes_have_the_stack_of_their_capture)
{
	run("captured");
	assert_non_null(stack_of(3));
	assert_true(stack_of(3)->flags & GW_STACK_CAPTURED);
	SHOWS("captured", "main");
	end();
}

TEST(stacks_are_bounded)
{
	run("many");
	assert_true(model.files[0].stacks.count > 100 && model.files[0].stacks.count <= 4096);
	end();
}

TEST(none_where_the_option_says_so)
{
	run_as(RUN("stacks", "plain"), "GPUWATCH_STACKS=0");
	assert_int_equal(model.files[0].stacks.count, 0);
	end();
	run_as(RUN("stacks", "plain"), "GPUWATCH_MODE=count");
	assert_int_equal(model.files[0].stacks.count, 0);
	end();
}

static void has_line(unsigned grid, const char *line)
{
	stack_of(grid);
	if (!strstr(text, line))
		fail_msg("%u: %s is not in\n%s", grid, line, text);
}

static void python_is_read(const char *python)
{
	struct run r = RUN(python, GW_SOURCES "/stacks.py");

	run_as(r, "PYTHONDONTWRITEBYTECODE=1");
	assert_int_equal(model.files[0].counters[GW_COUNTER_failed], 0);
	for (unsigned grid = 1; grid <= 6; grid++) {
		has_line(grid, "clients/stacks.py:27 ");
		SHOWS("forward\n");
	}
	has_line(1, "clients/stacks.py:32 gr\xc3\xb6\xc3\x9f"
		    "e");
	has_line(1, "clients/stacks.py:53 <module>");
	has_line(2, "clients/stacks.py:37 steps");
	has_line(2, "clients/stacks.py:54 <module>");
	has_line(3, "<lambda>");
	has_line(4, "clients/stacks.py:43 deep");
	assert_true(stack_of(4)->flags & GW_STACK_PYTHON_CUT);
	has_line(5, "clients/stacks.py:49 on_thread");
	has_line(6, "<string>:401 <module>");
	end();
}

TEST(frames_of_every_python_here_are_named)
{
	static char all[] = GW_PYTHONS;

	if (!*all)
		skip();
	for (char *python = strtok(all, ":"); python; python = strtok(NULL, ":"))
		python_is_read(python);
}

/* What a command prints of the log of a run. */
static const char *printed(const char *format)
{
	static char all[1 << 21];
	char command[1024];
	size_t used;
	FILE *f;

	snprintf(command, sizeof(command), format, GW_COMMAND, only_log(kept)->path);
	f = popen(command, "r");
	assert_non_null(f);
	used = fread(all, 1, sizeof(all) - 1, f);
	all[used] = 0;
	assert_int_equal(pclose(f), 0);
	return all;
}

static void says(const char *all, const char *words)
{
	if (!strstr(all, words))
		fail_msg("%s is not in\n%s", words, all);
}

TEST(commands_show_where_launches_came_from)
{
	struct run r = RUN("stacks", "plain");

	r.env[0] = "GPUWATCH_STATIC=0";
	kept = run_watched(&r);
	says(printed("%s report --by=line %s"), "stacks_work");
	says(printed("%s report --stacks %s"), "stacks_step");
	says(printed("%s report --json --stacks %s"), "\"complete\": true");
	says(printed("%s export --format=csv -o - %s"), "stacks_work");
	says(printed("%s export --format=pprof -o - %s | gzip -dc | tr -d '\\000'"), "stacks_step");
	says(printed("%s report --html=- %s"), "stacks_step");
	outcome_free(kept);
}

TESTS_MAIN()
