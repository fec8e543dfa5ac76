"""Types lines into an interactive shell on a terminal of its own, as a person does.

Reads JSON from standard input: argv, env, cwd, prompt, lines. Each line is typed, then Tab, and then the keys that make the
shell print the line that it has completed. Prints the completed lines as JSON.
"""

import json
import os
import pty
import select
import sys
import time

# Longest wait for the prompt and for each line, seconds: a little less than the test may take.
LONGEST_WAIT = 170

ask = json.load(sys.stdin)
child, terminal = pty.fork()
if child == 0:
    os.chdir(ask["cwd"])
    os.execvpe(ask["argv"][0], ask["argv"], ask["env"])

seen = b""


def read_until(done):
    """Reads what the terminal shows until something is done."""
    global seen
    deadline = time.monotonic() + LONGEST_WAIT
    while not done():
        if time.monotonic() > deadline:
            sys.exit("the shell showed: " + seen[-2000:].decode(errors="replace"))
        if select.select([terminal], [], [], 0.02)[0]:
            seen += os.read(terminal, 65536)


read_until(lambda: ask["prompt"].encode() in seen)
completed = []
for number, line in enumerate(ask["lines"]):
    path = os.path.join(ask["cwd"], f"completed-{number}")
    # Tab completes; the rest puts "echo" before the line and its output into a file.
    os.write(terminal, f"{line}\t > {path}\x01echo \r".encode())

    def is_written():
        return os.path.exists(path) and open(path, "rb").read().endswith(b"\n")

    read_until(is_written)
    completed.append(open(path).read().rstrip("\n"))
os.write(terminal, b"exit\r")
json.dump(completed, sys.stdout)
