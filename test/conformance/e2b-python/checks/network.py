import http.server
import os
import threading

import e2b
from e2b import ALL_TRAFFIC

from .support import equal, raises, settle

ADDRESS = "127.0.0.4"


class Outside(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "7")
        self.end_headers()
        self.wfile.write(b"outside")

    def log_message(self, *_):
        pass


async def check_rules_allow_deny_and_update(flavor, sandbox):
    server = http.server.ThreadingHTTPServer((ADDRESS, 0), Outside)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{ADDRESS}:{server.server_port}/"
    other = await settle(flavor.Sandbox.create(timeout=60, network={"allow_out": [ADDRESS], "deny_out": [ALL_TRAFFIC]}))
    try:
        equal((await settle(other.commands.run(f"curl -sS --max-time 10 {url}"))).stdout, "outside")
        equal((await settle(other.get_info())).network["allow_out"], [ADDRESS])
        await settle(other.update_network({"deny_out": [ALL_TRAFFIC]}))
        await raises("CommandExitException", lambda: other.commands.run(f"curl -sSf --max-time 10 {url}"))
        await settle(other.update_network({"allow_out": [ADDRESS]}))
        equal((await settle(other.commands.run(f"curl -sS --max-time 10 {url}"))).stdout, "outside")
    finally:
        await settle(other.kill())
        server.shutdown()


async def check_private_ports_give_a_token(flavor, sandbox):
    other = await settle(flavor.Sandbox.create(timeout=60, network={"allow_public_traffic": False}))
    try:
        assert len(other.traffic_access_token) >= 32
    finally:
        await settle(other.kill())


async def check_secrets(flavor, sandbox):
    Secret = e2b.AsyncSecret if flavor.is_async else e2b.Secret
    name = f"conformance-python-{flavor.name}-{os.getpid()}"
    made = await settle(Secret.create(name, "hidden"))
    equal(made.name, name)
    equal((await settle(Secret.get_info(name))).secret_id, made.secret_id)
    equal((await settle(Secret.update(name, "other"))).version, 2)
    equal(await settle(Secret.exists(name)), True)
    assert made.secret_id in [other.secret_id for other in await settle(Secret.list(limit=100).next_items())]
    assert name in Secret.fill(name), Secret.fill(name)
    equal(await settle(Secret.destroy(name)), True)
    equal(await settle(Secret.exists(name)), False)
