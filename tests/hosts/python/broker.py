"""A broker as a person starts it: `bursar dev`, on free ports."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

READY_SECONDS_MAX = 120
STOP_SECONDS_MAX = 30
LOG_CHARS_MAX = 20_000
# What the brokers of this process said, for whoever sees a test fail.
logs = []


@contextlib.contextmanager
def dev(*extra):
    """Starts it with a data directory of its own; gives the ready file's object."""
    with tempfile.TemporaryDirectory(prefix="bursar-host-") as folder:
        folder = pathlib.Path(folder)
        # The private Postgres runs as another user when we are root.
        folder.chmod(0o755)
        log = folder / "log"
        with log.open("wb") as out:
            child = subprocess.Popen(
                [os.environ["BURSAR_BIN"], "dev", "--ready-file", folder / "ready.json",
                 "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
                 "--data-dir", folder / "data", *extra],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )
        try:
            yield _ready(child, folder / "ready.json")
        finally:
            _stop(child)
            logs.append(log.read_text(errors="replace")[-LOG_CHARS_MAX:])


def _ready(child, path):
    for _ in range(READY_SECONDS_MAX * 20):
        if child.poll() is not None:
            raise RuntimeError(f"bursar dev ended with {child.returncode}")
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads(path.read_text())
        time.sleep(0.05)
    raise RuntimeError(f"bursar dev is not ready after {READY_SECONDS_MAX} s")


def _stop(child):
    child.terminate()
    try:
        child.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
