#!/usr/bin/env python3
"""Holds the documents to what is there: links lead somewhere, snippets parse, code compiles, and every piece of
evidence that the security case names exists.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

from must_not_compile import build_source, flags_of

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
TEST_NAME = re.compile(r"`(TEST|e2e|architecture|fuzz): ([^`]+)`")


def documents(root):
    yield from root.glob("*.md")
    yield from root.glob("docs/**/*.md")
    for room in ("policy", "enforcers", "audit", "vmware", "gateway", "policies", "fuzz", "tests"):
        yield from (path for path in root.glob(f"{room}/**/*.md") if "node_modules" not in path.parts)


def broken_links(root):
    for document in documents(root):
        for target in LINK.findall(document.read_text(encoding="utf-8")):
            if not re.match(r"[a-z]+:", target) and not (document.parent / target).exists():
                yield f"{document.relative_to(root)}: the link to {target} leads nowhere"


def broken_snippets(root):
    for document in documents(root):
        for language, text in FENCE.findall(document.read_text(encoding="utf-8")):
            try:
                if language == "json":
                    json.loads(text)
                if language == "toml":
                    tomllib.loads(text)
            except ValueError as error:
                yield f"{document.relative_to(root)}: a {language} snippet does not parse: {error}"


def broken_code(root, build):
    """The files that docs/contributing.md shows, compiled as files of their room."""
    text = (root / "docs/contributing.md").read_text(encoding="utf-8")
    files = {}
    for language, body in FENCE.findall(text):
        name = re.match(r"// (\S+\.(?:h|cc))\n", body)
        if language == "cpp" and name:
            files[name.group(1)] = body
    if len(files) < 3:
        yield "docs/contributing.md: the worked example is not there"
    with tempfile.TemporaryDirectory() as folder:
        for name, body in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        for name in files:
            if name.endswith(".cc"):
                flags = [*flags_of(build, "enforcers"), "-I", folder, "-fsyntax-only", str(pathlib.Path(folder) / name)]
                said = subprocess.run(flags, capture_output=True, text=True, timeout=280)
                if said.returncode != 0:
                    yield f"docs/contributing.md: {name} does not compile:\n{said.stderr}"


def unknown_evidence(root):
    """`TEST: Suite.Name`, `e2e: title`, `architecture: name`, `fuzz: parser` in the security case."""
    unit = set()
    for path in (root / "tests").glob("*/**/*_test.cc"):
        for kind, suite, name in re.findall(r"\bTEST(_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", path.read_text(encoding="utf-8")):
            unit.add(f"{suite}.{name}")
    titles = "\n".join(path.read_text(encoding="utf-8") for path in (root / "tests/e2e").glob("*.test.mjs"))
    text = (root / "docs/security-case.md").read_text(encoding="utf-8")
    named = TEST_NAME.findall(text)
    if not named:
        yield "docs/security-case.md: names no evidence"
    for kind, name in named:
        known = {
            "TEST": lambda: name in unit,
            "e2e": lambda: name in titles.replace("\\'", "'"),
            "architecture": lambda: (root / "tests/architecture" / f"{name}.py").exists()
            or (root / "tests/architecture/must_not_compile" / f"{name}.cc").exists(),
            "fuzz": lambda: (root / "fuzz" / f"{name}_fuzz.cc").exists(),
        }[kind]()
        if not known:
            yield f"docs/security-case.md: no test is named {kind}: {name}"
    for row in text.splitlines():
        if re.match(r"\| \*\*C\d+", row) and not TEST_NAME.search(row):
            yield f"docs/security-case.md: a claim without evidence: {row[:80]}"


def main():
    build = pathlib.Path(sys.argv[1])
    root = build_source(build)
    faults = [*broken_links(root), *broken_snippets(root), *broken_code(root, build), *unknown_evidence(root)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
