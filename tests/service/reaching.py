"""A harness that offers services to a program in the sandbox, and tells what the program reached.

`python reaching.py BACKEND`: one JSON object on standard output. The program is told everything: where the index lies,
at which ports and sockets the host listens.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "sandbox"))
sys.path.insert(2, str(Path(__file__).parents[1]))

from programs import python, run
from support.tool_task import TOOL, index, paper

from mlagentbench.sandbox import choose
from mlagentbench.service.offering import Offer

SECRET = "Glacier songs that nobody knows"
PROGRAM = """
import json, os, socket, sys
sys.path.insert(0, ".")
import tool
told = json.loads(sys.argv[1])
reached = {}

def attempt(name, action):
    try:
        reached[name] = repr(action())[:200]
    except Exception as error:
        reached[name] = None

def speak(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as connection:
        connection.settimeout(3)
        connection.connect(address)
        connection.sendall(b"from the sandbox")
        return "sent"

attempt("papers", lambda: tool.search("glaciers"))
attempt("chat", lambda: tool.ask("Summarise in one sentence: It rains. It rains cats."))
attempt("index", lambda: open(told["index"]).read())
attempt("folder", lambda: os.listdir(os.path.dirname(told["index"])))
attempt("endpoints", lambda: [each for each in os.listdir("/tmp") if "endpoints" in each][0])
attempt("host port", lambda: speak(socket.AF_INET, ("127.0.0.1", told["port"])))
attempt("host datagram", lambda: speak(socket.AF_INET, ("127.0.0.1", told["datagrams"]), socket.SOCK_DGRAM))
attempt("host address", lambda: speak(socket.AF_INET, (told["address"], told["port"])))
attempt("outside", lambda: speak(socket.AF_INET, ("192.0.2.1", 80)))
attempt("outside 6", lambda: speak(socket.AF_INET6, ("2001:db8::1", 80)))
attempt("names", lambda: socket.getaddrinfo("example.com", 80))
attempt("name server", lambda: speak(socket.AF_INET, ("192.0.2.53", 53), socket.SOCK_DGRAM))
attempt("abstract socket", lambda: speak(socket.AF_UNIX, "\\0" + told["abstract"]))
attempt("socket", lambda: speak(socket.AF_UNIX, told["socket"]))
print(json.dumps(reached))
"""


def main(backend: str) -> None:
    sandbox = choose(backend)
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reaching-")))
        private, workspace = top / "private", top / "workspace"
        (private / "services").mkdir(parents=True)
        (private / "services" / "papers.json").write_text(index(paper(1, SECRET)))
        workspace.mkdir()
        (workspace / "tool.py").write_text(TOOL)
        told, heard = listeners(stack, top)
        told["index"] = str(private / "services" / "papers.json")
        offer = Offer(("papers", "chat"), private, "services", sandbox.own_network, False, top / "cache")
        offered = stack.enter_context(offer.open())
        job = python(PROGRAM, workspace, services=offered.services, environment=offered.environment)
        ran = run(sandbox, type(job)(**{**vars(job), "argv": (*job.argv, json.dumps(told))}))
        print(json.dumps({"reached": json.loads(ran.output), "heard": heard, "ports": offered.environment}))


def listeners(stack: ExitStack, top: Path) -> tuple[dict[str, object], list[str]]:
    """Sockets of the host that a program might speak to, and what each heard."""
    heard: list[str] = []
    tcp = stack.enter_context(socket.create_server(("0.0.0.0", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    path = stack.enter_context(socket.socket(socket.AF_UNIX))
    path.bind(str(top / "socket"))
    abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
    abstract.bind(f"\0reaching-{top.name}")
    for name, listener in (("tcp", tcp), ("path", path), ("abstract", abstract)):
        listener.listen()
        threading.Thread(target=_hear, args=(name, listener, heard), daemon=True).start()
    threading.Thread(target=lambda: heard.append(f"udp {udp.recv(100)!r}"), daemon=True).start()
    told: dict[str, object] = {
        "port": tcp.getsockname()[1],
        "datagrams": udp.getsockname()[1],
        "address": _own_address(),
        "socket": str(top / "socket"),
        "abstract": f"reaching-{top.name}",
    }
    return told, heard


def _hear(name: str, listener: socket.socket, heard: list[str]) -> None:
    connection, _ = listener.accept()
    with connection:
        heard.append(f"{name} {connection.recv(100)!r}")


def _own_address() -> str:
    """Of this machine, as others see it; loopback where it has no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


if __name__ == "__main__":
    main(sys.argv[1])
