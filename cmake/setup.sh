# shellcheck shell=bash
# What examples/quickstart, tests/run and .ci/run share: bring what is missing, build into
# build/. Sourced, with the repository's root as working directory. Messages go to stderr.

gw_log=build/setup.log

gw_say() { printf 'gpuwatch: %s\n' "$*" >&2; }

gw_die() {
	gw_say "$@"
	exit 1
}

# Run a command with its output in the log; the end of that output is shown when it fails.
gw_quietly() {
	local start
	start=$(wc -c <"$gw_log")
	if ! "$@" >>"$gw_log" 2>&1 </dev/null; then
		tail -c "+$((start + 1))" "$gw_log" | tail -n 40 >&2
		gw_say "failed: $* (all of its output: $gw_log)"
		return 1
	fi
}

gw_has_header() { echo "#include <$1>" | cc -E -x c - >/dev/null 2>&1; }

# libgpuwatch.so may need nothing but libc and libm: the archive has to be there, too.
gw_has_archive() { [ -e "$(cc -print-file-name="$1" 2>/dev/null)" ]; }

gw_has_cmake() {
	local version
	version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
	[ -n "$version" ] && printf '3.25\n%s\n' "$version" | sort -V -C
}

# Whether the CUDA toolkit in $1 has headers that gpuwatch can be built with: cuda.h says its version.
gw_cuda_is_new() {
	local version
	version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$1/include/cuda.h" 2>/dev/null)
	[ "${version:-0}" -ge 13000 ]
}

# The headers, and the compiler that gpuwatch calibrate's kernels need. An older toolkit is named on
# stderr when $1 is "say": the reason why another one is fetched.
gw_has_cuda() {
	local nvcc root real named=
	nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
	for root in "${CUDA_HOME:-}" "$nvcc" /usr/local/cuda build/cuda; do
		{ [ -n "$root" ] && [ -e "$root/include/cuda.h" ] && [ -x "$root/bin/nvcc" ] &&
			{ [ -e "$root/include/cupti.h" ] || [ -e "$root/extras/CUPTI/include/cupti.h" ]; }; } || continue
		gw_cuda_is_new "$root" && return 0
		real=$(readlink -f "$root")
		[ "${1:-}" != say ] || [ "$real" = "$named" ] ||
			gw_say "the CUDA toolkit in $root is older than 13.0; its headers are not used"
		named=$real
	done
	return 1
}

# The Debian packages that are missing, one per line. $1: "tests" adds what only tests need.
gw_missing_packages() {
	{ command -v cc && command -v c++ && command -v make; } >/dev/null || echo build-essential
	gw_has_cmake || echo cmake
	command -v pkg-config >/dev/null || echo pkg-config
	{ gw_has_header jansson.h && gw_has_archive libjansson.a; } || echo libjansson-dev
	{ gw_has_header zstd.h && gw_has_archive libzstd.a; } || echo libzstd-dev
	gw_has_header zlib.h || echo zlib1g-dev
	gw_has_header gelf.h || echo libelf-dev
	gw_has_header sqlite3.h || echo libsqlite3-dev
	gw_has_header ncursesw/curses.h || echo libncurses-dev
	gw_has_header microhttpd.h || echo libmicrohttpd-dev
	gw_has_header curl/curl.h || echo libcurl4-openssl-dev
	{ gw_has_header cmocka.h || pkg-config --exists cmocka; } 2>/dev/null || echo libcmocka-dev
	if [ "$1" = tests ]; then
		command -v valgrind >/dev/null || echo valgrind
		gw_has_header expat.h || echo libexpat1-dev
		command -v xmllint >/dev/null || echo libxml2-utils
		command -v tmux >/dev/null || echo tmux
		command -v file >/dev/null || echo file # cpack -G DEB
	fi
	command -v python3 >/dev/null || echo python3
	gw_has_cuda || python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

# What only some tests use: installed if that takes no password; without it they are skipped.
gw_install_wished() {
	local as_root=() missing=()
	command -v musl-gcc >/dev/null || missing+=(musl-tools)
	ldconfig -p 2>/dev/null | grep -q 'libdw\.so\.1' || missing+=(libdw1)
	{ command -v chromium && command -v chromedriver && /usr/bin/python3 -c 'import selenium'; } >/dev/null 2>&1 ||
		missing+=(chromium chromium-driver python3-selenium)
	command -v promtool >/dev/null || missing+=(prometheus)
	python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
	command -v prometheus-node-exporter >/dev/null || missing+=(prometheus-node-exporter)
	command -v shellcheck >/dev/null || missing+=(shellcheck)
	command -v zsh >/dev/null || missing+=(zsh)
	python3 -c 'import yaml' 2>/dev/null || missing+=(python3-yaml)
	[ ${#missing[@]} -gt 0 ] || return 0
	[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
	command -v apt-get >/dev/null &&
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends "${missing[@]}" >>"$gw_log" 2>&1 </dev/null && return 0
	gw_say "not there: ${missing[*]}; the tests that use them are skipped"
}

# Readers of what gpuwatch export writes, into build/readers: only tests use them, which are skipped without them.
gw_fetch_readers() {
	local into=build/readers list=tests/cli/readers/packages.txt
	cmp -s "$list" "$into/packages.txt" && return 0
	rm -rf "$into"
	gw_say "fetching by pip, into $into, what tests read exports and check manifests with (170 MB)"
	if gw_quietly python3 -m venv "$into" &&
		gw_quietly "$into/bin/python" -m pip --disable-pip-version-check install --only-binary=:all: -r "$list"; then
		cp "$list" "$into/packages.txt"
	else
		rm -rf "$into"
		gw_say "not there: the packages of $list; the tests that use them are skipped"
	fi
}

gw_install_packages() {
	local as_root=() missing command
	mapfile -t missing < <(gw_missing_packages "$1")
	[ ${#missing[@]} -gt 0 ] || return 0
	command="apt-get install --no-install-recommends ${missing[*]}"
	command -v apt-get >/dev/null ||
		gw_die "missing, and there is no apt-get here: the equivalents of the Debian packages" \
			"${missing[*]}. Install them, then run this again."
	if [ "$(id -u)" -ne 0 ]; then
		# With a terminal sudo may ask for the password; without one it must not.
		if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
			as_root=(sudo)
		else
			gw_die "missing: ${missing[*]}. As root, run: $command; then run this again."
		fi
	fi
	gw_say "installing ${missing[*]}"
	gw_quietly "${as_root[@]}" apt-get update
	gw_quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends "${missing[@]}"
	mapfile -t missing < <(gw_missing_packages "$1")
	[ ${#missing[@]} -eq 0 ] ||
		gw_die "still missing after installing it: ${missing[*]}." \
			"gpuwatch is built on Debian 12 or later; is this an older release?"
}

# CUDA's headers, nvcc and libcupti into build/cuda.
gw_fetch_cuda() {
	local into=build/cuda
	gw_has_cuda say && return 0
	gw_say "no CUDA toolkit 13.0 or later found; fetching its headers and nvcc by pip into $into (115 MB)"
	rm -rf "$into" "$into.part"
	mkdir -p "$into.part"
	gw_quietly python3 -m venv "$into.part/venv"
	gw_quietly "$into.part/venv/bin/python" -m pip --disable-pip-version-check download \
		--no-deps --only-binary=:all: --require-hashes -r cmake/cuda-wheels.txt -d "$into.part" ||
		gw_die "CUDA's headers and nvcc could not be fetched. Remedy: set CUDA_HOME to a CUDA toolkit" \
			"13.0 or later, or let pip reach a package index that has those of cmake/cuda-wheels.txt."
	gw_quietly python3 cmake/unpack_wheels.py "$into.part" "$into.part"/*.whl
	rm -rf "$into.part/venv" "$into.part"/*.whl
	mv "$into.part" "$into" # whole or not at all
}

# Shows how far a build is: its lines come in, "[ 12%] ..." of make or "[12/345] ..." of ninja. One line that moves on a
# terminal, one every tenth elsewhere.
gw_progress() {
	local line shown=-1 percent
	while IFS= read -r line; do
		if [[ $line =~ ^\[\ *([0-9]+)%\] ]]; then
			percent=${BASH_REMATCH[1]}
		elif [[ $line =~ ^\[([0-9]+)/([1-9][0-9]*)\] ]]; then
			percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
		else
			continue
		fi
		if [ -t 2 ]; then
			[ "$percent" -eq "$shown" ] || printf '\rgpuwatch: built %3d%%' "$percent" >&2
		elif [ $((percent / 10)) -ne $((shown / 10)) ] || [ "$shown" -lt 0 ]; then
			gw_say "built $percent%"
		fi
		shown=$percent
	done
	[ ! -t 2 ] || [ "$shown" -lt 0 ] || printf '\r\033[K' >&2
}

# Configure and build the preset $1 in the folder $2; $3 and on: more for cmake. gw_target: what to build. Outside CI a newer compiler's new warning must not keep a user from building.
gw_target=all
gw_build() {
	local werror=OFF start
	[ -z "${CI:-}" ] || werror=ON
	gw_say "building the preset $1 in $2"
	gw_quietly cmake --preset "$1" -DGW_WERROR="$werror" "${@:3}"
	start=$(wc -c <"$gw_log")
	if ! cmake --build "$2" --parallel "$(nproc)" --target "$gw_target" 2>&1 </dev/null |
		tee -a "$gw_log" | gw_progress; then
		tail -c "+$((start + 1))" "$gw_log" | tail -n 40 >&2
		gw_die "failed: the build of $2 (all of its output: $gw_log)"
	fi
}

# All of it. $1: "run" or "tests".
gw_setup() {
	{ mkdir -p build && : >"$gw_log"; } 2>/dev/null ||
		gw_die "cannot write in $PWD/build; remedy: remove that folder or make it yours"
	gw_install_packages "$1"
	[ "$1" != tests ] || gw_install_wished
	[ "$1" != tests ] || gw_fetch_readers
	gw_fetch_cuda
	gw_build release build
}
