#!/usr/bin/env python3
"""Compiles one case twice: as it stands (the control, which must pass) and with SALLYPORT_VIOLATION defined
(which must fail with the diagnostic that the case names).

A case begins with `// ROOM: <room whose flags it is compiled with>` and `// EXPECT: <regular expression>`.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile


def flags_of(build, room):
    """The command line of any file of the room, up to but without its input and output."""
    entries = json.loads((build / "compile_commands.json").read_text())
    root = build_source(build)
    for entry in entries:
        if pathlib.Path(entry["file"]).parts[: len(root.parts) + 1] == (root / room).parts:
            words = shlex.split(entry["command"])
            if pathlib.Path(words[0]).name.startswith("ccache"):
                words = words[1:]
            cut = []
            skip = False
            for word in words:
                if skip:
                    skip = False
                elif word in ("-o", "-c"):
                    skip = True
                elif word != "--":
                    cut.append(word)
            return cut
    raise SystemExit(f"no compile command for a file of {room}")


def build_source(build):
    cache = (build / "CMakeCache.txt").read_text()
    return pathlib.Path(re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M).group(1))


def compile_case(flags, case, *more):
    command = [*flags, *more, "-fsyntax-only", str(case)]
    return subprocess.run(command, capture_output=True, text=True, timeout=280)


def judge(build, case):
    """Empty when the case holds, else what is wrong."""
    text = case.read_text(encoding="utf-8")
    room = re.search(r"^// ROOM: (\w+)$", text, re.M)
    expect = re.search(r"^// EXPECT: (.+)$", text, re.M)
    if not room or not expect:
        return "names no ROOM or no EXPECT"
    flags = flags_of(build, room.group(1))
    for header in re.findall(r'^#include "([^"]+)"$', text, re.M):
        if not (build_source(build) / header).exists():
            return f"{header} does not exist, so that it is not found proves nothing"
    control = compile_case(flags, case)
    if control.returncode != 0:
        return f"the control does not compile:\n{control.stderr}"
    violation = compile_case(flags, case, "-DSALLYPORT_VIOLATION")
    if violation.returncode == 0:
        return "the violation compiles"
    errors = [line for line in violation.stderr.splitlines() if "error:" in line]
    if not any(re.search(expect.group(1), line) for line in errors):
        return "refused for another reason than expected:\n" + "\n".join(errors[:5])
    return ""


def self_test(build):
    """Cases that do not hold, and why they must be found out."""
    faulty = {
        "// ROOM: policy\n// EXPECT: .\nint harmless;\n": "the violation compiles",
        "// ROOM: policy\n// EXPECT: .\n#error always\n": "the control does not compile",
        '// ROOM: policy\n// EXPECT: .\n#ifdef SALLYPORT_VIOLATION\n#include "audit/none.h"\n#endif\n': "does not exist",
        "// ROOM: policy\n// EXPECT: copy\n#ifdef SALLYPORT_VIOLATION\n#error else\n#endif\n": "another reason",
    }
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for text, verdict in faulty.items():
            case = pathlib.Path(folder) / "case.cc"
            case.write_text(text)
            if verdict not in judge(build, case):
                print(f"not found out: {verdict}")
                bad += 1
    return 1 if bad else 0


def main():
    build = pathlib.Path(sys.argv[1])
    if sys.argv[2] == "--self-test":
        return self_test(build)
    wrong = judge(build, pathlib.Path(sys.argv[2]))
    if wrong:
        print(wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
