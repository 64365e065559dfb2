# For scripts of this folder, which set `here` to it: ends with 77 and the reason where there is no GPU.
reason=$(cd "$here" && python3 -B -c 'import compare; print(compare.why_no_gpu() or "")') || exit 2
if [ -n "$reason" ]; then
	echo "SKIP: $reason"
	exit 77
fi
