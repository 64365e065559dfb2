/* `gpuwatch --generate WHAT`: what the build makes of the lists. */
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/message.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void bash_options(const struct gw_command *c)
{
	char name[80];

	for (const struct gw_option *o = c->body->options; o && o->name; o++)
		printf("%s%s ", gw_option_name(o, name, sizeof(name)),
		       gw_option_valued(o) ? "=" : "");
	printf("--help");
}

static void words(const struct gw_option *o)
{
	for (const char *p = o->choices; *p; p++)
		putchar(*p == '|' ? ' ' : *p);
}

/* What stands for the value of an option: one of its words, a file, or nothing that is known. */
static void bash_values(const struct gw_command *c)
{
	char name[80];

	for (const struct gw_option *o = c->body->options; o && o->name; o++) {
		if (!gw_option_valued(o))
			continue;
		printf("\t%s:%s) ", c->name, gw_option_name(o, name, sizeof(name)));
		if (gw_option_listed(o)) {
			printf("COMPREPLY=($(compgen -W '");
			words(o);
			printf("' -- \"$cur\")); ");
		} else if (o->type == GW_OPTION_FILE) {
			printf("_gpuwatch_names -f; ");
		}
		printf("return ;;\n");
	}
}

static void bash(void)
{
	printf("# bash completion for gpuwatch; made from its own lists of commands and options\n"
	       "# Names may hold blanks: one a line, not one a word.\n"
	       "_gpuwatch_names() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\"); }\n"
	       "_gpuwatch() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
	       "\tlocal command=${COMP_WORDS[1]}\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	       "\t\tCOMPREPLY=($(compgen -W '");
	for (const struct gw_command *c = gw_commands; c->name; c++)
		printf("%s ", c->name);
	printf("help --help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n"
	       "\t# --option=VALUE arrives as three words\n"
	       "\tif [ \"$cur\" = = ]; then cur=; elif [ \"$prev\" = = ]; then "
	       "prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	       "\tcase $command:$prev in\n");
	for (const struct gw_command *c = gw_commands; c->name; c++)
		bash_values(c);
	printf("\tesac\n"
	       "\tcase $command in\n"
	       "\thelp) COMPREPLY=($(compgen -W '");
	for (const struct gw_command *c = gw_commands; c->name; c++)
		printf("%s%s", c == gw_commands ? "" : " ", c->name);
	printf("' -- \"$cur\")) ;;\n");
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		printf("\t%s)\n", c->name);
		if (!strcmp(c->operands, "command"))
			printf("\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
			       "\t\t\tcase ${COMP_WORDS[i]} in\n"
			       "\t\t\t--) if ((i == COMP_CWORD - 1)); then _gpuwatch_names -c; "
			       "else _gpuwatch_names -f; fi; return ;;\n"
			       "\t\t\tesac\n\t\tdone\n");
		printf("\t\tcase $cur in -*) COMPREPLY=($(compgen -W '");
		bash_options(c);
		printf("' -- \"$cur\"))\n\t\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o "
		       "nospace\n\t\t\treturn ;;\n\t\tesac\n");
		if (!strcmp(c->operands, "command"))
			printf("\t\t_gpuwatch_names -c -f ;;\n");
		else if (!strcmp(c->operands, "file"))
			printf("\t\t_gpuwatch_names -f ;;\n");
		else
			printf("\t\t;;\n");
	}
	printf("\tesac\n}\ncomplete -o filenames -F _gpuwatch gpuwatch\n");
}

/* A text inside single quotes of fish. */
static void fish_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void fish(void)
{
	char name[80];

	printf("# fish completion for gpuwatch; made from its own lists of commands and options\n"
	       "complete -c gpuwatch -n __fish_use_subcommand -f -a help -d 'Print help of a "
	       "command'\n"
	       "complete -c gpuwatch -n '__fish_seen_subcommand_from help' -f -a '");
	for (const struct gw_command *c = gw_commands; c->name; c++)
		printf("%s ", c->name);
	printf("'\n");
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		printf("complete -c gpuwatch -n __fish_use_subcommand -f -a %s -d ", c->name);
		fish_quoted(c->summary);
		putchar('\n');
		for (const struct gw_option *o = c->body->options; o && o->name; o++) {
			printf("complete -c gpuwatch -n '__fish_seen_subcommand_from %s' -l %s",
			       c->name, gw_option_name(o, name, sizeof(name)) + 2);
			if (gw_option_listed(o)) {
				printf(" -x -a '");
				words(o);
				putchar('\'');
			} else if (gw_option_valued(o)) {
				printf(o->type == GW_OPTION_FILE ? " -r" : " -x");
			}
			printf(" -d ");
			fish_quoted(o->meaning);
			putchar('\n');
		}
	}
}

/* A text inside single quotes of zsh, within a spec of _arguments or _describe. */
static void zsh_quoted(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'') {
			printf("'\\''");
			continue;
		}
		if (strchr(":[]\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void zsh_option(const struct gw_option *o)
{
	char name[80];

	printf(" \\\n\t\t\t'%s%s[", gw_option_name(o, name, sizeof(name)),
	       gw_option_valued(o) ? "=" : "");
	zsh_quoted(o->meaning);
	putchar(']');
	if (gw_option_valued(o))
		printf(":value:");
	if (gw_option_listed(o)) {
		putchar('(');
		words(o);
		putchar(')');
	} else if (o->type == GW_OPTION_FILE) {
		printf("_files");
	}
	putchar('\'');
}

static void zsh(void)
{
	printf("#compdef gpuwatch\n"
	       "# zsh completion for gpuwatch; made from its own lists of commands and options\n"
	       "_gpuwatch() {\n"
	       "\tlocal -a commands=(");
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		printf("\n\t\t'%s:", c->name);
		zsh_quoted(c->summary);
		putchar('\'');
	}
	printf(")\n"
	       "\tif ((CURRENT == 2)); then\n"
	       "\t\t_describe command commands\n"
	       "\t\tcompadd -- help --help --version\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tlocal command=$words[2]\n"
	       "\tshift words\n"
	       "\t((CURRENT--))\n"
	       "\tcase $command in\n"
	       "\thelp) _describe command commands ;;\n");
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		printf("\t%s)\n\t\t_arguments -S", c->name);
		for (const struct gw_option *o = c->body->options; o && o->name; o++)
			zsh_option(o);
		printf(" \\\n\t\t\t'--help[print the help of this command]'");
		if (!strcmp(c->operands, "command"))
			printf(" \\\n\t\t\t'(-)*::program:_normal'");
		else if (!strcmp(c->operands, "file"))
			printf(" \\\n\t\t\t'*:file:_files'");
		printf("\n\t\t;;\n");
	}
	printf("\tesac\n}\n_gpuwatch \"$@\"\n");
}

/* The Python package's module of what a launch is: row.def as a named tuple. */
static void python_launch(void)
{
	static const struct {
		const char *name, *kind, *known;
	} columns[] = {
#define COLUMN(name, kind, known, value) {#name, #kind, #known},
#include "cli/export/row.def"
#undef COLUMN
	};
	const size_t count = sizeof(columns) / sizeof(*columns);

	printf("# SPDX-License-Identifier: Apache-2.0\n"
	       "# Made by gpuwatch --generate _launch.py from cli/export/row.def.\n"
	       "from __future__ import annotations\n\n"
	       "from typing import NamedTuple, Optional\n\n\n"
	       "class Launch(NamedTuple):\n"
	       "    \"\"\"A launch. Times in ns, start_ns and call_ns since 1970 (UTC); None is "
	       "unknown."
	       "\"\"\"\n\n");
	for (size_t i = 0; i < count; i++) {
		const char *type = !strcmp(columns[i].kind, "TEXT")   ? "str"
				   : !strcmp(columns[i].kind, "REAL") ? "float"
								      : "int";
		bool always = !strcmp(columns[i].known, "true");

		printf("    %s: %s%s%s\n", columns[i].name, always ? "" : "Optional[", type,
		       always ? "" : "]");
	}
	printf("\n\nKINDS = {\n");
	for (size_t i = 0; i < count; i++)
		printf("    \"%s\": \"%s\",\n", columns[i].name, columns[i].kind);
	printf("}\nALWAYS = {");
	for (size_t i = 0; i < count; i++)
		if (!strcmp(columns[i].known, "true"))
			printf("\"%s\", ", columns[i].name);
	printf("}\n");
}

/* "gpuwatch-COMMAND.1" */
static bool command_page(const char *what)
{
	for (const struct gw_command *c = gw_commands; c->name; c++) {
		char page[64];

		snprintf(page, sizeof(page), "gpuwatch-%s.1", c->name);
		if (strcmp(what, page))
			continue;
		gw_manual_command(c);
		return true;
	}
	return false;
}

int gw_generate(const char *what)
{
	if (!strcmp(what, "gpuwatch.1"))
		gw_manual_main();
	else if (!strcmp(what, "libgpuwatch.7"))
		gw_manual_library();
	else if (!strcmp(what, "gpuwatch-log.5"))
		gw_manual_log(false);
	else if (!strcmp(what, "log-format"))
		gw_manual_log(true);
	else if (!strcmp(what, "gpuwatch.bash"))
		bash();
	else if (!strcmp(what, "gpuwatch.fish"))
		fish();
	else if (!strcmp(what, "gpuwatch.zsh"))
		zsh();
	else if (!strcmp(what, "_launch.py"))
		python_launch();
	else if (!command_page(what))
		return gw_error("--generate: unknown document \"%s\"", what);
	return GW_EXIT_OK;
}
