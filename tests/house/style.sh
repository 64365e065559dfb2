#!/usr/bin/env bash
# style.sh RULE [--fix]: one rule over every source file of the tree. Exit 77: it can't be checked here.
#   format   .c and .h are as clang-format 14 writes them; files that expand an X-macro
#            list are left out, because it mangles the expansion; --fix lays the files out
#   length   no .c, .h, .cu or .def is longer than 600 lines
#   licence  REUSE.toml states the licence of every file; sources that are copied out of the tree name it in their first lines
#   marks    nothing is left to be done
#   names    no two headers of the product define one name (type, function, macro) for different things
#   guards   a header's include guard is GW_, folders of its path as needed, its name, _H; no two are the same
#   environment  what lives in the program's process reads the environment by secure_getenv() alone,
#            which is that of runtime/options.c there
#   messages a limit in a message of the library is printed from its constant
#   lists    no source stands twice in one list of a CMakeLists.txt, and no target's libraries in two, as merges can leave it
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

# Tracked and new files; without git (an unpacked archive) all but the build folder.
files() {
	{
		git ls-files --cached --others --exclude-standard 2>/dev/null ||
			find . -path ./build -prune -o -type f -print | sed 's|^\./||'
	} | grep -E "$1" | while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

sources='\.(c|h|cu|cuh|def|cmake|sh|py)$|CMakeLists\.txt$|^tests/run$|^tests/tsan$|^tests/campaign/[a-z]+$|^examples/quickstart$|^\.ci/run$'
case ${1-} in
format)
	tool=$(command -v clang-format-14 || command -v clang-format || echo false)
	if ! "$tool" --version | grep -q 'version 14\.'; then
		echo "skipped: clang-format 14 is not here, and other versions differ"
		exit 77
	fi
	action=(--dry-run --Werror)
	[ "${2-}" != --fix ] || action=(-i)
	files '\.(c|h)$' | xargs -r grep -LE '^#include ".*\.def"' |
		xargs -r "$tool" "${action[@]}"
	;;
length)
	files '\.(c|h|cu|cuh|def)$' | xargs -r wc -l |
		awk '$2 != "total" && $1 > 600 {print $2 ": " $1 " lines, 600 is the most"; bad = 1} END {exit bad}'
	;;
licence)
	grep -qF 'path = "**"' REUSE.toml || { echo "REUSE.toml: no licence of all files (path = \"**\")"; exit 1; }
	files '^(fleet|examples|python)/' | grep -E "$sources" | while read -r file; do
		head -3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
			echo "$file: no SPDX-License-Identifier in its first 3 lines"
	done | { ! grep .; }
	;;
marks)
	# The brackets keep this line from finding itself.
	! files "$sources|\.md$" | xargs -r grep -nE '[T]ODO|[F]IXME|\b[X]XX\b'
	;;
guards)
	files '\.h$' | xargs -r awk '
		function upper(text) {text = toupper(text); gsub(/[^A-Z0-9]/, "_", text); return text}
		function end_of_file() {if (name && !guard) {print name ": no include guard"; bad = 1}}
		FNR == 1 {end_of_file(); name = FILENAME; guard = ""}
		/^#ifndef / && !guard {
			guard = $2
			count = split(FILENAME, part, "/")
			sub(/\.h$/, "", part[count])
			expected = "^GW_"
			for (i = 1; i < count; i++) expected = expected "(" upper(part[i]) "_)?"
			if (guard !~ expected upper(part[count]) "_H$") {
				print FILENAME ":" FNR ": include guard " guard " does not follow the name of the file"; bad = 1}
			if (guard in where) {
				print FILENAME ":" FNR ": include guard " guard " is that of " where[guard] ", too"; bad = 1}
			where[guard] = FILENAME
			if ((getline next_line) <= 0 || next_line !~ "^#define " guard "$") {
				print FILENAME ":" FNR ": #define " guard " does not follow"; bad = 1}}
		END {end_of_file(); exit bad}'
	;;
environment)
	! files '^(preload|predictor|calib/nvml)/.*\.(c|h)$' | grep -v runtime/options.c |
		xargs -r grep -nE '(^|[^_[:alnum:]])(getenv|environ)\b'
	;;
messages)
	! files '^preload/.*\.c$' | xargs -r grep -nE '"([^"%]*[^"%.[:alnum:]])?[0-9]+ ?(%%|B|KiB|MiB|ms|s|configurations|kernels|graphs|streams|modules|threads|launches)\b[^"]*"'
	;;
lists)
	files 'CMakeLists\.txt$' | xargs -r awk '
		FNR == 1 {delete linked}
		/^target_link_libraries\(/ {if ($1 in linked) {print FILENAME ":" FNR ": " $1 " has a list already"; bad = 1} linked[$1] = 1}
		/^[[:space:]]*[a-z_]+\(/ {delete seen}
		{n = split($0, word, /[[:space:]()]+/)
		for (i = 1; i <= n; i++) if (word[i] ~ /\.(c|cu)$/) {
			if (word[i] in seen) {print FILENAME ":" FNR ": " word[i] " stands in the list already"; bad = 1}
			seen[word[i]] = 1}}
		END {exit bad}'
	;;
names)
	# Of the machines' headers, which define the same by design, one is looked at.
	files '\.h$' | grep -vE '^(tests|examples)/|^preload/runtime/arch/aarch64\.h$' | xargs -r awk '
		function seen(name) {
			if (name in where && where[name] != FILENAME) {print FILENAME ":" FNR ": " name " is defined in " where[name] ", too"; bad = 1}
			where[name] = FILENAME}
		/^(typedef )?(struct|enum|union) gw_[a-z_0-9]+ \{/ {match($0, /gw_[a-z_0-9]+/); seen(substr($0, RSTART, RLENGTH)); next}
		/^[a-z].*[ *]gw_[a-z_0-9]+\(/ {match($0, /gw_[a-z_0-9]+\(/); seen(substr($0, RSTART, RLENGTH) ")")}
		/^#define GW_[A-Z_0-9]+/ {match($2, /^[A-Z_0-9]+/); seen(substr($2, RSTART, RLENGTH))}
		END {exit bad}'
	;;
*)
	echo "usage: style.sh format|length|licence|marks|names|guards|environment|messages|lists"
	exit 2
	;;
esac
