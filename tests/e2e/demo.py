#!/usr/bin/env python3
"""A sandbox's life, seen from an MCP client: each call, the decision with its rule, and what came of it.

usage: demo.py BIN_FOLDER

Needs Python's standard library only. Everything it makes lies in a temporary folder and goes with it.
Exits with 1 when anything is not as it should be.
"""
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

CALL_LIMIT = 300  # seconds; a cold machine under software emulation needs a tenth of it

SCRIPT = """\
#!/bin/bash
# What a forum post told you to run.
echo "Setting up FastTool for $(id -un) on $(uname -sr)..."
mkdir -p ~/.fasttool && echo "license accepted" > ~/.fasttool/state
echo 'export PATH=$HOME/.fasttool:$PATH' >> ~/.bashrc
echo "Done."
"""

TTY = sys.stdout.isatty()


def style(code, text):
    return f"\033[{code}m{text}\033[0m" if TTY else text


class Failed(Exception):
    pass


class Client:
    """An MCP client over stdio, as small as one can be."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8", bufsize=1)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.next_id = 0
        self.server = self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "sallyport-demo", "version": "1"}})["serverInfo"]
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def request(self, method, params, on_progress=None):
        self.next_id += 1
        self._send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        end = time.monotonic() + CALL_LIMIT
        while True:
            try:
                line = self.lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise Failed(f"{method}: no answer within {CALL_LIMIT} s") from None
            if line is None:
                raise Failed(f"{method}: the server ended with {self.process.wait(timeout=10)}")
            message = json.loads(line)
            if message.get("method") == "notifications/progress" and on_progress:
                on_progress(message["params"])
            if message.get("id") == self.next_id:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']['message']}")
                return message["result"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=10)


class Demo:
    def __init__(self, binaries):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sp-demo-"))
        self.transfer = self.folder / "transfer"
        self.transfer.mkdir()
        self.program = binaries / "sallyport"
        config = self.folder / "sallyport.yaml"
        config.write_text(f"sallyport: settings/v1\nstate_dir: {self.folder}/state\ntransfer_dir: {self.transfer}\n"
                          f"vmrun: {binaries}/sallyport-vmrun\nidle_exit: 1s\n")
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "LANG", "XDG_CACHE_HOME")
                if name in os.environ}
        self.environment = kept | {"SALLYPORT_CONFIG": str(config)}
        self.seen = 0
        self.steps = 0
        self.client = Client([self.program, "serve"], self.environment)

    def command(self, *words):
        return subprocess.run([self.program, *words], env=self.environment, capture_output=True, text=True,
                              timeout=CALL_LIMIT, check=False)

    def heading(self, text):
        print(f"\n{style(1, text)}", flush=True)

    def row(self, name, text, code=0):
        lines = []
        for line in str(text).splitlines() or [""]:
            lines += textwrap.wrap(line, 100, break_on_hyphens=False) or [""]
        print(f"   {name:<9} {style(code, lines[0]) if code else lines[0]}")
        for line in lines[1:]:
            print(f"   {'':<9} {line}")

    def new_decisions(self):
        """The records of decisions since the last look, from the log itself."""
        found = []
        for file in sorted((self.folder / "state" / "audit").rglob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                refused_early = record["act"] == "call.refused"
                if record["seq"] >= self.seen and (record["ph"] == "req" or refused_early):
                    found.append(record)
        if found:
            self.seen = found[-1]["seq"] + 1
        return found

    def show_decisions(self, effect):
        records = self.new_decisions()
        calls = [r for r in records if not r["act"].startswith("vmrun")]
        early = [r for r in calls if r["act"] == "call.refused"]
        for record in early:
            self.row("decision", f"refused with {record['obj']['code']} before it could become an action "
                     f"(record {record['seq']})")
        calls = [r for r in calls if r not in early]
        if effect == "deny" and early:
            return
        if not any(r["dec"]["eff"] == effect for r in calls):
            raise Failed(f"no record says `{effect}` for this call")
        for record in calls:
            decision = record["dec"]
            place = f" at {decision['src']}" if decision.get("src") else ""
            self.row("decision", f"{decision['eff']} {record['act']}, by rule `{decision['rule']}`{place}"
                     f" (record {record['seq']})", 32 if decision["eff"] == "allow" else 33)
        below = [r for r in records if r["act"].startswith("vmrun")]
        if below:
            rules = sorted({r["dec"]["rule"] for r in below})
            refused = [r for r in below if r["dec"]["eff"] != "allow"]
            if refused:
                raise Failed(f"a vmrun command was refused: {refused[0]['dec']}")
            self.row("", f"and {len(below)} vmrun command{'s' if len(below) > 1 else ''}, allowed by "
                     + ", ".join(f"`{rule}`" for rule in rules))

    def call(self, why, tool, arguments, effect="allow"):
        self.steps += 1
        self.heading(f"{self.steps}. {why}")
        self.row("call", f"{tool} {json.dumps(arguments)}")
        shown = []

        def on_progress(step):
            if TTY:
                print(f"\r   …         {step.get('message', ''):<70}", end="", flush=True)
                shown.append(step)

        began = time.monotonic()
        result = self.client.request("tools/call", {
            "name": tool, "arguments": arguments, "_meta": {"progressToken": self.steps}}, on_progress)
        if shown:
            print("\r" + " " * 82, end="\r")
        seconds = time.monotonic() - began
        self.show_decisions(effect)
        if bool(result.get("isError")) != (effect == "deny"):
            raise Failed(f"{tool} answered {json.dumps(result)}")
        if effect == "deny":
            self.row("refused", "\n".join(part.get("text", "") for part in result["content"]))
            return {}
        told = result["structuredContent"]
        return told | {"seconds": seconds}

    def expect(self, what, holds):
        if not holds:
            raise Failed(what)

    def life(self):
        self.heading(f"{self.client.server['name']} {self.client.server['version']}, driven over stdio")
        tools = self.client.request("tools/list", {})["tools"]
        self.row("tools", ", ".join(tool["name"] for tool in tools))
        self.expect("the 13 tools are listed", len(tools) == 13)

        made = self.call("Make a disposable virtual machine", "sandbox_create", {"network": "none"})
        sandbox = {"sandbox_id": made["sandbox_id"]}
        self.row("result", f"{made['sandbox_id']}, ready after {made['seconds']:.1f} s, gone at {made['expires_at']}")

        (self.transfer / "install.sh").write_text(SCRIPT)
        put = self.call("Put a script of unknown intent into it", "sandbox_copy_in",
                        sandbox | {"host_path": "install.sh", "guest_path": "/home/agent/install.sh"})
        self.row("result", f"{put['files']} file, {put['bytes']} bytes")

        ran = self.call("Run it", "sandbox_run", sandbox | {"command": "touch /tmp/before; bash ~/install.sh",
                                                            "timeout_seconds": 30})
        self.row("result", f"{ran['status']} with {ran['exit_code']} after {ran['duration_ms']} ms\n{ran['stdout']}")
        self.expect("the script ran", ran["exit_code"] == 0 and ran["stdout"].endswith("Done.\n"))

        look = "find ~ -newer /tmp/before -type f | sort > ~/report.txt; tail -1 ~/.bashrc >> ~/report.txt; cat ~/report.txt"
        read = self.call("Read what it did", "sandbox_run", sandbox | {"command": look})
        self.row("result", read["stdout"])
        self.expect("its traces are found", "/home/agent/.fasttool/state" in read["stdout"])

        out = self.call("Copy the report out", "sandbox_copy_out",
                        sandbox | {"guest_path": "/home/agent/report.txt", "host_path": "report.txt"})
        self.row("result", f"{out['files']} file, {out['bytes']} bytes, in the transfer folder")
        self.expect("the report arrived", ".fasttool/state" in (self.transfer / "report.txt").read_text())

        self.call("What policy refuses: the host's network", "sandbox_create", {"network": "nat"}, "deny")
        self.call("What the path rules refuse: a place outside the transfer folder", "sandbox_copy_in",
                  sandbox | {"host_path": "../../etc/passwd", "guest_path": "/tmp/passwd"}, "deny")

        self.call("Throw the machine away", "sandbox_destroy", sandbox)
        self.row("result", "gone, with everything that happened in it")

        self.heading(f"{self.steps + 1}. Check the log that all of this is in")
        verify = self.command("audit", "verify")
        self.row("call", "sallyport audit verify")
        self.row("result", verify.stdout + verify.stderr, 32 if verify.returncode == 0 else 31)
        self.expect("the log verifies", verify.returncode == 0)

        self.heading("Give it to Claude Code")
        print(f"   claude mcp add sallyport -- {self.program} serve\n")

    def end(self):
        try:
            self.client.close()
        except Exception:
            self.client.process.kill()
        self.command("kill-switch", "on")
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    demo = None
    try:
        demo = Demo(pathlib.Path(sys.argv[1]).resolve())
        demo.life()
        return 0
    except (Failed, KeyError, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"\n{style(31, 'not as it should be')}: {error!r}", file=sys.stderr)
        return 1
    finally:
        if demo:
            demo.end()


sys.exit(main())
