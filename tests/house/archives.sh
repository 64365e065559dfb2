#!/usr/bin/env bash
# archives.sh: the tree's archives are as tests/archive writes them, and what it does to one can be seen in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
archive() { python3 -B tests/archive "$@"; }
fail() {
	echo "archives.sh: $*" >&2
	exit 1
}

mapfile -t all < <(find tests kernels cli calib -name '*.tar.xz')
[ "${#all[@]}" -gt 0 ] || fail "no archive found"
archive check "${all[@]}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/in"
echo one >"$work/in/b"
echo two >"$work/in/a"
archive add "$work/x.tar.xz" "$work/in"
cp "$work/x.tar.xz" "$work/before.tar.xz"
touch -d 2001-01-01 "$work/in/a"
chmod 600 "$work/in/b"
archive add "$work/x.tar.xz" "$work/in/b" "$work/in/a"
cmp "$work/x.tar.xz" "$work/before.tar.xz" || fail "the same files make another archive"
archive add "$work/x.tar.xz" --into=sub "$work/in/a"
[ "$(archive list "$work/x.tar.xz" | tr -s ' \n' ' ')" = " 4 a 4 b 4 sub/a " ] || fail "list: $(archive list "$work/x.tar.xz")"
archive remove "$work/x.tar.xz" sub/a
cmp "$work/x.tar.xz" "$work/before.tar.xz" || fail "removing does not undo adding"
archive remove "$work/x.tar.xz" nothing 2>/dev/null && fail "a missing name was removed"
digest=0123456789abcdef0123456789abcdef01234567
mkdir "$work/found"
echo three >"$work/found/$digest"
echo one >"$work/found/${digest//0/f}"
archive add "$work/found.tar.xz" --into=sub "$work/found"
archive add "$work/found.tar.xz" --into=sub "$work/found/$digest"
[ "$(archive list "$work/found.tar.xz" | tr -s ' \n' ' ')" = " 4 sub/0 6 sub/1 " ] || fail "digests: $(archive list "$work/found.tar.xz")"
archive unpack "$work/x.tar.xz" "$work/out"
diff -r "$work/in" "$work/out" || fail "unpacked files differ"
tar -C "$work" -cJf "$work/other.tar.xz" in
archive check "$work/other.tar.xz" 2>/dev/null && fail "an archive with times was accepted"
echo "${#all[@]} archives"
