#include "vmware/link/launcher.h"

namespace vmware {
namespace {

// The order of events is the point: the last of a job's pipes makes it one, so a second call that comes to
// stop it finds a job with everything in its place, or only the request, and takes that away; the status file
// is renamed into place after the last byte of output, and the waiting call is woken after that.
constexpr std::string_view kScript = R"BASH(#!/bin/bash
# Runs one job in this guest and tells how it went. Argument: the job's token.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
unset BASH_ENV ENV TAR_OPTIONS SALLYPORT_JOB
umask 077
shopt -s nullglob
segment=1048576
token=${1-}
[[ $token =~ ^[0-9a-f]{32}$ ]] || exit 64
base=/dev/shm/.sallyport-$token
home=${HOME-}
if [[ -z $home || ! -d $home ]]; then
  unset HOME
  home=~
fi
export HOME=$home

# Sets now; every process saved here is felt in a guest under software emulation.
clock() {
  now=${EPOCHREALTIME-${SECONDS}.000000}
  now=${now/[.,]/}
  now=$((now / 1000))
}

# Keeps the newest one to two segments of a stream: $1 is its name. Bytes are on file as soon as they are read.
keep() {
  local n=0 size preload=
  for preload in /usr/libexec/coreutils/libstdbuf.so /usr/lib/*/coreutils/libstdbuf.so /usr/lib/coreutils/libstdbuf.so; do
    [[ -e $preload ]] && export LD_PRELOAD=$preload _STDBUF_O=0 && break
  done
  while :; do
    head -c "$segment" > "$base.$1.$n" 2> /dev/null || cat > /dev/null
    [[ -s $base.$1.$n ]] || break
    size=$(stat -c %s "$base.$1.$n")
    ((size < segment)) && break
    n=$((n + 1))
    rm -f "$base.$1.$((n - 2))"
  done
  echo "end $1" >&3
}

# What the command is started by where perl is at hand: orphans of the job come back to it instead of to init, so
# that a daemon that forgot its environment is still found. Arguments: the numbers of setsid and prctl (36 is
# PR_SET_CHILD_SUBREAPER), where to note the command's process, the command. Tells of its end on descriptor 5.
reaper='my ($session, $control, $note, $command) = @ARGV;
syscall($control + 0, 36, 1, 0, 0, 0);
open(my $events, ">&=", 5) or exit 71;
my $main = fork;
defined $main or exit 71;
if (!$main) { syscall($session + 0); exec "bash", $command; exit 127 }
open(STDOUT, ">", "/dev/null");
open(STDERR, ">", "/dev/null");
open(my $file, ">", $note) or exit 71;
print $file "$main\n";
close $file;
my $code = 127;
for (my $ended; ($ended = wait) > 0;) {
  next if $ended != $main;
  $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
  syswrite $events, "exit $code\n";
}
exit $code'

# The processes of the job: by the mark in their environment, by their session, and by descent from either.
members() {
  local main=0
  [[ -r $base.main ]] && read -r main < "$base.main"
  {
    grep -lsaF "SALLYPORT_JOB=$token" /proc/[0-9]*/environ
    cat /proc/[0-9]*/stat 2> /dev/null
  } | awk -v self="$self" -v main="$main" '
    /^\/proc\// { split($0, path, "/"); mine[path[3]] = 1; next }
    /^[0-9]+ \(.*\) [A-Z] / {
      pid = $1
      sub(/^.*\) /, "")
      if ($1 == "Z" || $1 == "X") next
      parent[pid] = $2
      session[pid] = $4
    }
    END {
      for (pid = self; pid > 1 && pid in parent; pid = parent[pid]) ours[pid] = 1
      do {
        changed = 0
        for (pid in parent) {
          if ((pid in mine) || (pid in ours)) continue
          if ((main > 1 && session[pid] == main) || (parent[pid] in mine)) { mine[pid] = 1; changed = 1 }
        }
      } while (changed)
      for (pid in mine) if ((pid in parent) && !(pid in ours) && pid > 1) print pid
    }'
}

# Kills them all: stopped first, so that none can multiply while it is looked for. Root's need sudo.
kill_members() {
  local round pids pid known=' ' fresh
  for round in {1..25}; do
    fresh=
    pids=$(members)
    [[ -n $pids ]] || return 0
    for pid in $pids; do
      [[ $known == *" $pid "* ]] || fresh+=" $pid"
    done
    if [[ -n $fresh ]]; then
      known+="$fresh "
      # shellcheck disable=SC2086
      kill -STOP $fresh 2> /dev/null
      ((round < 15)) && continue
    fi
    # shellcheck disable=SC2086
    kill -KILL $pids 2> /dev/null
    sleep 0.02
    known=' '
  done
}
end_tree() {
  local pid
  if ((EUID != 0)) && command -v sudo > /dev/null; then
    for pid in $(members); do
      [[ -e /proc/$pid && ! -O /proc/$pid ]] || continue
      timeout -k 1 20 sudo -n bash "$0" "$token" kill > /dev/null 2>&1
      break
    done
  fi
  kill_members
}

# Wakes who waits with how the job ended, and notes it down.
conclude() {
  local now line
  clock
  line="$token $1 $2 $((now - started))"
  printf '%s\n' "$line" "$line" "$line" "$line" >&4
  printf '%s\n' "$line" > "$base.status.new" && mv -f "$base.status.new" "$base.status"
}

# The job's own process, which outlives the call: starts the command in a session of its own and ends it in time.
supervise() {
  local now started timeout left event code status="" ends=0 numbers="" self=$BASHPID
  read -r timeout < "$base.timeout"
  clock
  started=$now
  echo "$started" > "$base.started"
  exec 3<> "$base.events" 4<> "$base.done"
  keep stdout < "$base.o" &
  keep stderr < "$base.e" &
  if command -v perl > /dev/null; then
    case $HOSTTYPE in
      x86_64) numbers='112 157' ;;
      aarch64) numbers='157 167' ;;
    esac
  fi
  (
    export SALLYPORT_JOB=$token
    cd "$HOME" 2> /dev/null || cd /
    if [[ -n $numbers ]]; then
      # shellcheck disable=SC2086
      perl -e "$reaper" $numbers "$base.main" "$base.command" 5>&3 3>&- 4>&- < /dev/null > "$base.o" 2> "$base.e"
    else
      setsid bash "$base.command" 3>&- 4>&- < /dev/null > "$base.o" 2> "$base.e" &
      echo "$!" > "$base.main"
      wait "$!"
    fi
    echo "exit $?" >&3
  ) > /dev/null 2>&1 &
  while [[ -z $status ]]; do
    if ((timeout > 0)); then
      clock
      left=$((timeout * 1000 - now + started))
      if ((left <= 0)); then
        status=timed_out
        break
      fi
      event=
      printf -v left '%d.%03d' $((left / 1000)) $((left % 1000))
      read -r -t "$left" -u 3 event code || continue
    else
      read -r -u 3 event code || status=lost
    fi
    case $event in
      exit) status=exited ;;
      end) ends=$((ends + 1)) ;;
      stop) status=stopped ;;
    esac
  done
  if [[ $status != exited ]]; then
    code=0
    end_tree
  fi
  left=0.5
  while ((ends < 2)) && read -r -t "$left" -u 3 event _; do
    [[ $event == end ]] && ends=$((ends + 1))
  done
  conclude "$status" "$code"
  # What the command left running keeps its output flowing until it ends.
  wait
}

# One stream: sets total and kept, and leaves the kept bytes in $base.kept.$1 when there are any.
collect() {
  local files=("$base.$1".[0-9]*) n=0 file size=0
  total=0 kept=0
  for file in "${files[@]}"; do
    file=${file##*.}
    ((file > n)) && n=$file
  done
  [[ -s $base.$1.$n ]] && size=$(stat -c %s "$base.$1.$n")
  total=$((n * segment + size))
  ((total > 0)) || return 0
  if ((n > 0)); then
    cat "$base.$1.$((n - 1))" "$base.$1.$n" 2> /dev/null | tail -c "$segment" > "$base.kept.$1"
    kept=$(stat -c %s "$base.kept.$1")
    ((total < kept)) && total=$kept
  else
    head -c "$size" < "$base.$1.0" > "$base.kept.$1"
    kept=$size
  fi
}

state() {
  local supervisor=0 line
  [[ -z ${status-} ]] || return 0
  status=running code=0 ms=0
  if [[ -f $base.status ]]; then
    read -r _ status code ms < "$base.status"
  else
    [[ -r $base.supervisor ]] && read -r supervisor < "$base.supervisor"
    # A process that was killed as it began leaves the file empty.
    [[ -r $base.started ]] && read -r ms < "$base.started"
    if [[ $ms =~ ^[1-9][0-9]*$ ]]; then
      clock
      ms=$((now - ms))
    else
      ms=0
    fi
    if ! ((supervisor > 1)) || ! IFS= read -r line 2> /dev/null < "/proc/$supervisor/stat" ||
      [[ ${line##*) } == [ZX]* ]]; then
      status=lost
    fi
  fi
}

report() {
  local total kept totals parts=()
  state
  collect stdout
  totals="$total $kept"
  ((kept > 0)) && parts+=("$base.kept.stdout")
  collect stderr
  totals+=" $total $kept"
  ((kept > 0)) && parts+=("$base.kept.stderr")
  {
    printf 'sallyport1 %s %s %s %s %s\n' "$token" "$status" "$code" "$ms" "$totals"
    ((${#parts[@]})) && cat "${parts[@]}"
    true
  } > "$base.out" || exit 71
  ((${#parts[@]})) && rm -f "${parts[@]}"
  return 0
}

census() {
  local asked=$token answer=$base.out fifo text=
  for fifo in /dev/shm/.sallyport-*.events; do
    base=${fifo%.events}
    token=${base##*/.sallyport-}
    status=
    state
    [[ $status == running ]] && text+=$token$'\n'
  done
  printf 'sallyport1 %s census 0 0 %s %s 0 0\n%s' "$asked" "${#text}" "${#text}" "$text" > "$answer" ||
    exit 71
}

measure() {
  local LC_ALL=C
  size=${#1}
}

# What `read` sets when somebody tells how a job ended.
heard() { read -r -t "$1" -u 4 _ status code ms || status=; }

self=$$
if [[ ${2-} == kill ]]; then
  kill_members
  exit 0
fi

if [[ -e $base.stop ]]; then
  rm -f "$base.stop"
  # Against a call that is just beginning the job: either it sees `.gone`, or we see its pipe.
  : > "$base.gone"
  if [[ ! -p $base.events ]]; then
    rm -f "$base.req"
    exit 64
  fi
  exec 3<> "$base.events" 4<> "$base.done"
  if [[ ! -f $base.status ]]; then
    echo 'stop -' >&3
    heard 8
  fi
  if [[ -z ${status-} && ! -f $base.status ]]; then
    clock
    started=$now
    end_tree
    conclude stopped 0
    status=
  fi
  report
  exit 0
fi

if [[ -f $base.req && ! -p $base.events ]]; then
  {
    read -r magic kind wait timeout answer old bytes
    # A command with a NUL in it is copied by a program that can.
    IFS= read -r -d '' command && command=
  } < "$base.req"
  [[ $magic == sallyport1 && $bytes =~ ^[0-9]+$ ]] || exit 64
  for gone in ${old//,/ }; do
    [[ $gone =~ ^[0-9a-f]{32}$ ]] || continue
    rm -rf "/dev/shm/.sallyport-$gone".* "/var/tmp/.sallyport-$gone".*
  done
  if [[ $kind == census ]]; then
    rm -f "$base.req"
    census
    exit 0
  fi
  if [[ -n $command ]]; then
    printf '%s' "$command" > "$base.command" || exit 71
  else
    tail -n +2 "$base.req" > "$base.command" || exit 71
  fi
  # What is shorter than it says was cut off on its way here, and half a command is another command.
  if [[ -n $command ]]; then
    measure "$command"
  else
    size=$(stat -c %s "$base.command")
  fi
  ((bytes == size)) || { rm -f "$base.req" "$base.command"; exit 65; }
  printf '%s\n' "$timeout" > "$base.timeout" && mkfifo "$base.done" "$base.o" "$base.e" "$base.events" || exit 71
  exec 4<> "$base.done"
  if [[ -e $base.gone ]]; then
    clock
    started=$now
    conclude stopped 0
    exit 64
  fi
  supervise < /dev/null > /dev/null 2>&1 4>&- &
  printf '%s\n' "$!" > "$base.supervisor"
  ((wait > 0)) || exit 0
  printf -v wait '%d.%03d' $((wait / 1000)) $((wait % 1000))
  heard "$wait"
  if [[ $answer == exit ]]; then
    state
    case $status in
      exited) exit $((code > 155 ? 255 : code + 100)) ;;
      running) exit 98 ;;
      *) exit 99 ;;
    esac
  fi
  report
  exit 0
fi

[[ -p $base.events ]] || exit 64
report
exit 0
)BASH";

std::string path(std::string_view prefix, std::string_view token, std::string_view suffix) {
  std::string result(prefix);
  result += token;
  result += suffix;
  return result;
}

}  // namespace

std::string_view launcher_script() { return kScript; }

std::string request_path(std::string_view token) { return path(kGuestPrefix, token, ".req"); }
std::string stop_path(std::string_view token) { return path(kGuestPrefix, token, ".stop"); }
std::string report_path(std::string_view token) { return path(kGuestPrefix, token, ".out"); }
std::string tar_path(std::string_view token) { return path(kTarPrefix, token, ".tar"); }

std::vector<std::string> launcher_words(std::string_view token) {
  return {"/bin/bash", std::string(kLauncherPath), std::string(token)};
}

}  // namespace vmware
