#!/usr/bin/env python3
"""Compares every #include of every room with the picture in docs/architecture.md."""
import pathlib
import re
import sys
import tempfile

# unit -> what it may include, as path prefixes. The longest prefix that fits a file names its unit.
ALLOWED = {
    "policy/": ("policy/",),
    "enforcers/": ("policy/", "enforcers/"),
    "audit/": ("policy/", "audit/"),
    "vmware/": ("policy/", "vmware/"),
    "vmware/standin/": ("policy/", "vmware/vmx.h", "vmware/standin/"),
    "vmware/guest/": ("vmware/guest/",),
    "gateway/": ("policy/", "enforcers/", "vmware/", "audit/", "gateway/"),
}
# Products of their own inside a room; nobody else includes them.
PRIVATE = ("vmware/standin/", "vmware/guest/")
ROOMS = ("policy", "enforcers", "audit", "vmware", "gateway")

# These cost seconds in every file that sees them, so they stay out of headers.
HEAVY = re.compile(r"boost/(asio|beast|url)[/.]|nlohmann/json\.hpp|spdlog/|CLI/|yaml-cpp/|re2/|fmt/|benchmark/")
LIGHT = re.compile(r"boost/asio/(awaitable|any_io_executor|io_context)\.hpp$")

# Templates that are made of them, with their reason.
HEAVY_HEADERS = {
    "vmware/settled.h": "turns a Pending of any action into an awaitable",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMES = re.compile(r"(^|[_.\-])(util|utils|common|helper|helpers|manager|misc)([_.\-]|$)")


def unit_of(path):
    return max((unit for unit in ALLOWED if path.startswith(unit)), key=len)


def faults(root):
    """(file:line, text) of each include that the picture does not have."""
    found = []
    seen = 0
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            path = file.relative_to(root).as_posix()
            if NAMES.search(file.name.lower()):
                found.append((path, "says nothing about what is in it: name the concept"))
            if file.suffix not in (".h", ".cc"):
                continue
            unit = unit_of(path)
            # So this source is the test that its header compiles alone.
            own = path.removesuffix(".cc") + ".h" if file.suffix == ".cc" and file.with_suffix(".h").exists() else None
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                seen += 1
                kind, target = match.groups()
                where = f"{path}:{number}"
                if own:
                    if target != own:
                        found.append((where, f"{own} is included first"))
                    own = None
                ours = target.split("/")[0] in ROOMS and "/" in target
                if ours and kind == "<":
                    found.append((where, f"<{target}> is ours and belongs in quotes"))
                if kind == '"' and not ours:
                    found.append((where, f'"{target}" is not spelled room/thing.h'))
                if ours and not target.startswith(ALLOWED[unit]):
                    found.append((where, f"{unit} may not include {target}"))
                if ours and any(target.startswith(p) and not path.startswith(p) for p in PRIVATE):
                    found.append((where, f"{target} is private to its product"))
                heavy = HEAVY.match(target) and not LIGHT.match(target)
                if file.suffix == ".h" and heavy and path not in HEAVY_HEADERS:
                    found.append((where, f"<{target}> is heavy and belongs in .cc files"))
    return found, seen


def self_test():
    planted = {
        "policy/a.h": ['#include "audit/log.h"', "#include <yaml-cpp/yaml.h>"],
        "enforcers/a.cc": ['#include "vmware/vmx.h"', '#include "policy/result.h"'],
        "audit/a.cc": ['#include "enforcers/builtin.h"'],
        "vmware/a.cc": ['#include "gateway/app.h"', '#include "vmware/standin/qmp.h"', '#include "local.h"'],
        "vmware/standin/a.cc": ['#include "vmware/machines.h"', '#include "vmware/vmx.h"'],
        "gateway/string_utils.cc": ["#include <policy/json.h>", "#include <boost/asio.hpp>"],
        "policy/b.h": [],
        "policy/b.cc": ["#include <string>", '#include "policy/b.h"'],
        "policy/c.h": [],
        "policy/c.cc": ['#include "policy/c.h"', "#include <string>"],
        "gateway/a.h": ["#include <boost/asio/awaitable.hpp>", "#include <boost/asio.hpp>"],
    }
    expected = {
        "policy/a.h:1", "policy/a.h:2", "enforcers/a.cc:1", "audit/a.cc:1", "vmware/a.cc:1", "vmware/a.cc:2",
        "vmware/a.cc:3", "vmware/standin/a.cc:1", "gateway/string_utils.cc", "gateway/string_utils.cc:1",
        "gateway/a.h:2", "policy/b.cc:1",
    }
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, lines in planted.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        found = {where for where, _ in faults(root)[0]}
    for where in sorted(found ^ expected):
        print(f"{where}: {'not found' if where in expected else 'found without cause'}")
    return 0 if found == expected else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found, seen = faults(pathlib.Path(sys.argv[1]))
    for where, text in found:
        print(f"{where}: {text}")
    print(f"{seen} includes read, {len(found)} against the picture")
    return 1 if found or seen == 0 else 0


sys.exit(main())
