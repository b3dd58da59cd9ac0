"""Reach the network and other processes."""

from __future__ import annotations

from attacks.attack import RACE, Attack
from attacks.judges import HOST, REFUSED, TRUTH, Judge, contacts

NETWORK = (
    Attack(
        "connect to the host's loopback by TCP",
        """
import socket
connection = socket.create_connection(("127.0.0.1", int(os.environ["TCP_PORT"])), 2)
connection.sendall(b"out")
""",
        contacts("tcp"),
    ),
    Attack(
        "send a datagram to the host's loopback by UDP",
        """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", int(os.environ["UDP_PORT"])))
""",
        contacts("udp"),
    ),
    Attack(
        "send a datagram by a raw socket",
        """
import socket, struct
port = int(os.environ["UDP_PORT"])
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
raw.sendto(struct.pack("!HHHH", 999, port, 11, 0) + b"out", ("127.0.0.1", 0))
""",
        contacts("udp"),
    ),
    Attack(
        "send a packet by a packet socket",
        """
import socket
packets = socket.socket(17, socket.SOCK_RAW, 3)
packets.bind(("lo", 0))
packets.send(bytes(64))
""",
        REFUSED,
    ),
    Attack(
        "connect to an abstract socket of the host",
        """
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(chr(0) + os.environ["ABSTRACT"])
connection.sendall(b"out")
""",
        contacts("abstract"),
    ),
    Attack(
        "connect to a socket of the host by its path",
        """
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["SOCKET"])
connection.sendall(b"out")
""",
        contacts("path"),
    ),
    Attack(
        "connect to a socket of the host through a link of its own",
        """
import socket
os.symlink(os.environ["SOCKET"], "mine")
connection = socket.socket(socket.AF_UNIX)
connection.connect("mine")
connection.sendall(b"out")
""",
        contacts("path"),
    ),
    Attack(
        "connect to a socket of the host by a path that changes while it is looked at",
        RACE
        + """
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("mine")
server.listen(1000)
def attempt(place):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        libc.connect(connection.fileno(), place, 110)
kind = struct.pack("=H", socket.AF_UNIX)
race(kind + b"mine", kind + os.environ["SOCKET"].encode(), attempt)
""",
        contacts("path"),
    ),
    Attack(
        "send a datagram to a socket of the host by its path",
        """
import socket
sockets = [lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
           lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]]
for make in sockets:
    try:
        make().sendto(b"out", os.environ["DATAGRAM_SOCKET"])
    except OSError as error:
        print(error)
""",
        contacts("datagram"),
    ),
    Attack(
        "connect to another address of the host's loopback",
        """
import socket
connection = socket.create_connection(("127.0.0.2", int(os.environ["OTHER_PORT"])), 2)
connection.sendall(b"out")
""",
        contacts("other address"),
    ),
    Attack(
        "listen on a port that the host can reach",
        """
import socket, time
server = socket.create_server(("127.0.0.1", int(os.environ["FREE_PORT"])))
server.settimeout(1.5)
server.accept()
""",
        Judge("the host tries to connect to that port", lambda e: e.scene.listeners.heard("connected in")),
    ),
    Attack(
        "change the host's network by netlink",
        """
import socket, struct
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
attribute = struct.pack("=HHI", 8, 4, 60000)
message = struct.pack("=BBHiII", 0, 0, 1, 1, 0, 0) + attribute
link.send(struct.pack("=IHHII", 16 + len(message), 16, 5, 1, 0) + message)
print(link.recv(4096))
""",
        HOST,
    ),
    Attack(
        "forge the sandbox's own messages through inherited descriptors",
        """
forged = f'{{"child-pid": {os.environ["HARNESS"]}}}\\n{{"exit-code": 0}}\\n'.encode()
for number in range(3, 1024):
    try:
        os.write(number, forged)
    except OSError:
        pass
sys.stdout.buffer.write(bytes([6]) + forged)
sys.stdout.flush()
os._exit(3)
""",
        TRUTH,
    ),
)
