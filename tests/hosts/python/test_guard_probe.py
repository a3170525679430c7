"""`bursar guard probe` against a server of the official SDK, as anybody runs one."""

import json
import os
import socket
import subprocess
import sys
import time
import unittest

READY_SECONDS_MAX = 60
SERVER = """
import sys
import uvicorn
from mcp.server import MCPServer

server = MCPServer("probed")

@server.tool()
def search(query: str = "") -> str:
    raise SystemExit("a probe must call nothing that exists")

app = server.streamable_http_app(stateless_http=True)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
"""


class GuardProbe(unittest.TestCase):
    def test_a_server_of_the_sdk_compares_names_in_the_new_revision(self):
        with socket.socket() as it:
            it.bind(("127.0.0.1", 0))
            port = it.getsockname()[1]
        nowhere = subprocess.DEVNULL
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(port)], stdin=nowhere, stdout=nowhere, stderr=nowhere)
        self.addCleanup(server.wait, 30)
        self.addCleanup(server.terminate)
        for _ in range(READY_SECONDS_MAX * 10):
            self.assertIsNone(server.poll(), "the server ended")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        run = subprocess.run(
            [os.environ["BURSAR_BIN"], "guard", "probe", f"http://127.0.0.1:{port}/mcp", "--json"],
            capture_output=True, text=True, check=False, timeout=120)
        said = json.loads(run.stdout)
        verdicts = {it["trap"]: it["verdict"] for it in said["traps"]}
        self.assertEqual(verdicts["agreeing"], "EXECUTED", said)
        for trap in ("another name", "an encoded name", "two names", "no name", "another method"):
            self.assertEqual(verdicts[trap], "CHECKED", trap)
        executed = "EXECUTED" in [it for trap, it in verdicts.items() if trap != "agreeing"]
        self.assertEqual(said["verdict"], "EXECUTED" if executed else "CHECKED")
        self.assertEqual(run.returncode, 1 if executed else 0)
        # Whoever states an older revision gets past it: known of this version of the SDK.
        print(f"a downgrade: {verdicts['a downgrade']}", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
