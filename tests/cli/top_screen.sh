#!/usr/bin/env bash
# top_screen.sh GPUWATCH LIVE_SEGMENT: the screen of gpuwatch top as a person sees it, in tmux: what is drawn, what keys do,
# and that the terminal is as it was after every way out. Exit 77: there is no tmux, no
# pseudo-terminal, or no ncurses was built in.
set -uo pipefail
gpuwatch=$1 live_segment=$2
command -v tmux >/dev/null || { echo "tmux was not found"; exit 77; }
script -qc true /dev/null >/dev/null 2>&1 </dev/null || { echo "no pseudo-terminal can be opened (is /dev/pts mounted?)"; exit 77; }
here=$(mktemp -d) || exit
# The socket is in the folder: nobody else's server is met.
t() { tmux -S "$here/tmux" -f /dev/null "$@"; }
segments=()
# shellcheck disable=SC2317 # called by trap
finish() {
	t kill-server 2>/dev/null
	[ ${#segments[@]} -eq 0 ] || kill "${segments[@]}" 2>/dev/null
	rm -rf "$here"
}
trap finish EXIT
unset LC_ALL TMUX NO_COLOR GPUWATCH_RUN_DIR
export LC_ALL=C.UTF-8 PS1='$ '

shows() { t capture-pane -p | grep -qE -- "$1"; }
# Until the screen shows $1, and not $2.
wait_for() {
	local i
	for ((i = 0; i < 300; i++)); do
		shows "$1" && { [ -z "${2:-}" ] || ! shows "$2"; } && return 0
		sleep 0.1
	done
	echo "line ${BASH_LINENO[0]}: the screen does not show \"$1\"${2:+ without \"$2\"}:"
	t capture-pane -p
	exit 1
}
keys() { t send-keys "$@"; }
start_segment() {
	mkfifo "$here/input.$1" || exit
	"$live_segment" "$here/seg" run <"$here/input.$1" >/dev/null &
	segments+=($!)
	eval "exec $((10 + $1))>\"$here/input.$1\"" # held open: it ends when that is closed
}
begin() { keys " clear; $1" Enter; }
# Back at the shell, on its own screen, in the mode that it had.
is_restored() {
	wait_for '^before$' 'gpuwatch top  '
	keys 'stty -a | cmp - before.stty && echo the same' Enter
	wait_for '^the same$'
}

mkdir "$here/seg"
start_segment 0
t new-session -d -x 80 -y 24 -c "$here" bash --norc || exit
keys ' stty -a >before.stty; clear' Enter
top="echo before; '$gpuwatch' top --interval=0.3 --dir='$here/seg'"

# Drawn whole at 80 columns.
begin "$top"
if wait_for 'gpuwatch top  1 process|without ncurses' && shows 'without ncurses'; then
	exit 77
fi
wait_for '^GPU time by bound: memory 76\.9%  compute 23\.1%'
wait_for '35\.0%   1980 +[0-9.]+ audit +- live_segment'
wait_for '^ 76\.9% +[0-9.]+  1\.00 ms  1\.00  0\.90-1\.10  memory gemm<float>'
wait_for '^ 23\.1% +[0-9.]+  1\.50 ms  1\.50! 0\.90-1\.10 compute evil\\x1b\[2J\\x0aname'
wait_for '^sort: time +q end +p pause.* help$'
is_coloured() { t capture-pane -p -e | grep -qa $'\033\\[33m.*1.50!'; }
is_coloured || { echo "what is outside its interval has no colour"; exit 1; }

# Sort and reverse.
first() { t capture-pane -p | grep -oE 'gemm|evil' | head -n 1; }
first_is() {
	local i
	for ((i = 0; i < 100; i++)); do
		[ "$(first)" = "$1" ] && return
		sleep 0.1
	done
	echo "line ${BASH_LINENO[0]}: $1 does not come first:"
	t capture-pane -p
	exit 1
}
first_is gemm
keys r
wait_for 'sort: time, reverse'
first_is evil
keys r s
wait_for '^sort: runs  '
keys s s
wait_for '^sort: ratio  '
first_is evil
keys S S S

# Filter; a bad one leaves it as it was; an empty one shows all.
keys / LIB::gem Enter
wait_for 'filter: LIB::gem  ' 'evil'
keys / '(' Enter
wait_for 'no regular expression'
keys /
wait_for 'Filter \(regular expression\): _'
keys Enter
wait_for 'evil' 'filter:'

# Pause: nothing moves.
keys p
wait_for 'PAUSED'
before=$(t capture-pane -p)
sleep 1
[ "$before" = "$(t capture-pane -p)" ] || { echo "what is paused moves"; exit 1; }
keys p
wait_for 'every 0\.3 s' 'PAUSED'

# One kernel's histograms.
keys Down Enter
wait_for '^evil\\x1b\[2J'
wait_for 'predicted 1\.00 ms   90% interval 900 µs to 1\.10 ms'
wait_for '^measured time +measured / predicted'
wait_for 'median 1\.50 ms.* median 1\.50'
wait_for '█.*100%.*█.*100%'
keys Escape
wait_for 'sort: time' 'measured time'

# Help, on what keys there are.
keys '?'
wait_for '^  / +filter kernels'
keys Escape
wait_for '^GPU time by bound' '^Keys'

# Every size; more room is used.
for size in '140 40' '40 12' '20 5' '10 3' '1 1' '80 24'; do
	# shellcheck disable=SC2086 # two words
	set -- $size
	t resize-window -x "$1" -y "$2"
	sleep 0.5
	keys Enter
	sleep 0.2
	keys Escape
done
wait_for '^ 76\.9% .* gemm<float>'
t resize-window -x 100 -y 40
keys Enter
wait_for '^ +Grid +Block +Runs'
keys Escape
t resize-window -x 80 -y 24
wait_for '^sort: time +q end +p pause.* help$'

# Stopped and resumed.
keys C-z
wait_for 'Stopped' 'gpuwatch top  1'
keys fg Enter
wait_for '^ 76\.9% .* gemm<float>' 'Stopped'

# Ended by a key, and by signals.
keys q
is_restored
begin "$top"
wait_for '^ 76\.9% '
keys C-c
is_restored
for signal in TERM HUP QUIT SEGV; do
	begin "$top"
	wait_for '^ 76\.9% '
	kill -$signal "$(pgrep -f -- "^$gpuwatch top --interval=0.3 --dir=$here/seg")"
	is_restored
done

# Another process comes, and one goes.
begin "$top"
wait_for '^ 76\.9% '
start_segment 1
wait_for 'gpuwatch top  2 processes'
wait_for " ${segments[1]} +0 +35\.0%"
kill "${segments[1]}"
wait_for "${segments[1]} .*live_segment \(ended\)"
wait_for 'gpuwatch top  1 process,' "${segments[1]}"
keys q
is_restored

# Without UTF-8, and without colour.
begin "export LC_ALL=C NO_COLOR=1; $top"
wait_for '^ 76\.9% .* gemm<float>'
is_coloured && { echo "NO_COLOR, and there is colour"; exit 1; }
keys Enter
wait_for 'interval 900 us to 1\.10 ms'
wait_for '#.*100%'
keys q
is_restored
begin "export TERM=dumb; $top"
wait_for 'has no screen to draw on'

# It does not outlive its terminal.
begin "export TERM=screen; exec '$gpuwatch' top --interval=0.3 --dir='$here/seg'"
wait_for '^ 76\.9% '
pid=$(pgrep -f -- "^$gpuwatch top --interval=0.3 --dir=$here/seg")
t kill-server
for ((i = 0; i < 100; i++)); do
	kill -0 "$pid" 2>/dev/null || exit 0
	sleep 0.1
done
echo "it runs on without a terminal"
kill -9 "$pid"
exit 1
