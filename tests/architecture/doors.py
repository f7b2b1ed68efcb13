#!/usr/bin/env python3
"""Reads the symbols of each room's object files and finds doors where none may be.

Only files named *_posix.cc or *_linux.cc, and those below with their reason, may reach the operating system.
Only policy/engine.cc may make a grant.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

OS_FILE = re.compile(r"_(posix|linux)\.cc$")

# file -> (beginnings of the symbols it may reference, why)
ALLOWED = {
    "gateway/main.cc": (("std::basic_ifstream",), "CLI11's reader of configuration files, inline in its header"),
    "gateway/owner/owner.cc": (
        ("boost::asio::", "void boost::asio::", "std::pair<void*, unsigned long>::pair<boost::asio::",
         "typeinfo for boost::asio::", "typeinfo name for boost::asio::", "vtable for boost::asio::"),
        "accepts on the socket that gateway/net/unix_socket_posix.cc made; what arrives is read there",
    ),
}

GRANT_MAKER = "policy/engine.cc"

# Symbols of the C library, with their large-file and fortified spellings.
C_NAMES = """
posix_spawn posix_spawnp fork vfork _Fork clone daemon
execl execlp execle execv execve execvp execvpe execveat fexecve system popen
socket socketpair connect bind listen accept accept4 send sendto sendmsg sendmmsg getaddrinfo
open openat openat2 creat open_by_handle_at fopen freopen fdopen tmpfile mkstemp mkostemp mkstemps mkdtemp
rename renameat renameat2 unlink unlinkat rmdir remove mkdir mkdirat mknod mkfifo link linkat symlink symlinkat
truncate ftruncate chmod fchmod fchmodat chown fchown lchown fchownat chdir fchdir chroot mount umount
dlopen dlmopen syscall kill killpg pidfd_send_signal ptrace setuid setgid setresuid setresgid prctl unshare setns
BIO_new_file
""".split()
C_SYMBOL = re.compile(r"^(?:__)?(" + "|".join(map(re.escape, C_NAMES)) + r")(?:64)?(?:_2|_chk)?(?:@.*)?$")

CXX_SYMBOL = re.compile(
    r"std::(?:__cxx11::)?basic_(?:o|i)?f(?:stream|ilebuf)\b|std::basic_filebuf\b"
    r"|std::filesystem::(?:__cxx11::)?(?:copy\w*|create_\w+|remove\w*|rename|resize_file|permissions|last_write_time)\("
    r"|std::filesystem::(?:__cxx11::)?current_path\(std::filesystem"
    r"|boost::asio::detail::(?:socket_ops|reactive_socket_service_base|resolver_service_base)::"
    r"|YAML::LoadFile|YAML::LoadAllFromFile"
)
GRANT_SYMBOL = re.compile(r"policy::(?:Grant|Pending)<.*>::(?:Grant|Pending)\((?!.*&&\))")
ENGINE_SYMBOL = re.compile(r"policy::Engine::")


def symbols(nm, path):
    """(type letter, demangled name) of each symbol in one object file."""
    out = subprocess.run([nm, "-C", path], capture_output=True, text=True, check=True, timeout=60).stdout
    for line in out.splitlines():
        match = re.match(r"^(?:[0-9a-f]+)?\s*([A-Za-z?])\s(.*)$", line)
        if match:
            yield match.groups()


def source_of(path):
    """`…/policy.dir/policy/engine.cc.o` is policy/engine.cc."""
    tail = re.sub(r"^.*\.dir/(?:\./)?", "", path)
    folder = re.search(r"/((?:vmware|policy|audit|gateway|enforcers)(?:/\w+)*)/CMakeFiles/[^/]+\.dir/", path)
    return (folder.group(1) + "/" if folder else "") + re.sub(r"\.o$", "", tail)


def only_the_library_waits(objdump, path):
    """Whether `syscall` is referenced by nothing but the standard library's own waiting (a futex in atomics and
    stop tokens), which an inline function brings into our objects."""
    out = subprocess.run([objdump, "-r", path], capture_output=True, text=True, check=True, timeout=60).stdout
    section = ""
    callers = set()
    for line in out.splitlines():
        header = re.match(r"RELOCATION RECORDS FOR \[(.*)\]:", line)
        if header:
            section = header.group(1)
        elif re.search(r"\ssyscall(?:@\w+)?(?:[-+]0x[0-9a-f]+)?$", line):
            callers.add(section)
    return bool(callers) and all(re.match(r"\.text\._ZNSt8__detail\d+__platform_", name) for name in callers)


def findings(tools, path, source):
    """The kinds of door one object has: a set of (kind, symbol)."""
    found = set()
    for letter, name in symbols(tools.nm, path):
        plain = name.strip()
        undefined = letter in "Uw"
        c_name = C_SYMBOL.match(plain) if undefined else None
        if c_name:
            found.add(("system", c_name.group(1)))
        elif CXX_SYMBOL.search(plain):
            found.add(("system", re.sub(r"\(.*", "", plain)))
        if GRANT_SYMBOL.search(plain) and letter.upper() in "UWTV":
            found.add(("grant", plain.split("(")[0]))
        # Weak ones are what the compiler makes of Engine::Parts wherever that is filled in.
        if ENGINE_SYMBOL.match(plain) and letter == "T":
            found.add(("engine", plain.split("(")[0]))
    if ("system", "syscall") in found and only_the_library_waits(tools.objdump, path):
        found.discard(("system", "syscall"))
    if OS_FILE.search(source):
        found = {f for f in found if f[0] != "system"}
    if source == GRANT_MAKER:
        found = {f for f in found if f[0] == "system"}
    allowed = ALLOWED.get(source, ((), ""))[0]
    return {f for f in found if f[0] != "system" or not f[1].startswith(allowed)}


def self_test(tools, objects, planted):
    """Each planted file names, in `// FINDS: kind symbol` lines, exactly what must be found in it."""
    bad = 0
    for path in objects:
        source = planted / pathlib.Path(source_of(path)).name
        expected = set(re.findall(r"^// FINDS: (\S+) (\S+)$", source.read_text(encoding="utf-8"), re.M))
        found = {(kind, re.sub(r"<.*>", "", name).split("::")[-1] if kind == "grant" else name)
                 for kind, name in findings(tools, path, source.name)}
        missing = {e for e in expected if not any(k == e[0] and e[1] in n for k, n in found)}
        surplus = {f for f in found if not any(k == f[0] and n in f[1] for k, n in expected)}
        for kind, name in sorted(missing):
            print(f"{source.name}: the planted {kind} {name} was not found")
        for kind, name in sorted(surplus):
            print(f"{source.name}: {kind} {name} found without cause")
        bad += len(missing) + len(surplus)
    print(f"{len(objects)} planted files, {bad} wrong answers")
    return 1 if bad or not objects else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--objects", required=True, type=pathlib.Path)
    parser.add_argument("--planted", type=pathlib.Path)
    args = parser.parse_args()
    objects = [line for line in args.objects.read_text().splitlines() if line.endswith(".o")]
    missing = [path for path in objects if not pathlib.Path(path).exists()]
    if missing:
        print(f"{len(missing)} object files are not built, for example {missing[0]}; build first")
        return 1
    if args.planted:
        return self_test(args, objects, args.planted)

    bad = 0
    used = set()
    makers = 0
    for path in objects:
        source = source_of(path)
        if source in ALLOWED:
            used.add(source)
        if source == GRANT_MAKER:
            makers = sum(1 for _, name in symbols(args.nm, path) if ENGINE_SYMBOL.match(name))
        by_kind = collections.defaultdict(list)
        for kind, name in sorted(findings(args, path, source)):
            by_kind[kind].append(name)
        for kind, names in by_kind.items():
            bad += 1
            what = {"system": "reaches the operating system; only *_posix.cc and *_linux.cc may",
                    "grant": "makes grants; only policy/engine.cc may",
                    "engine": "defines parts of the engine; only policy/engine.cc may"}[kind]
            print(f"{source}: {what}: {', '.join(names)}")
    for source in sorted(set(ALLOWED) - used):
        bad += 1
        print(f"{source}: on the allow list, but not built; take it off")
    if makers == 0:
        bad += 1
        print(f"{GRANT_MAKER}: no part of the engine found in it; this test would see nothing")
    print(f"{len(objects)} object files read, {bad} findings")
    return 1 if bad or not objects else 0


sys.exit(main())
