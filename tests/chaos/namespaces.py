"""A Ray cluster on this machine whose nodes are network namespaces: machines of their own, as far as networks go.

A bridge has two addresses, one for the head and one for databases, so that a node can be cut off from either. Each node
has a host name, and a folder for temporary files that no other node sees. Takes root and ``ip``. `Cluster.end` ends
what is in the namespaces and the head, which was started here, and removes them.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from support.ports import free_port
from tdelta.processes.process_tree import living

PATIENCE_SECONDS = 180.0
_LOOK_SECONDS = 0.2
_STARTED = "Ray runtime started"
_RAY = (sys.executable, "-m", "ray.scripts.scripts", "start")
_TRIES = 3
"""Ray gives up a node that is not up within 30 s, which a busy machine may take."""

_COMMON = ("--object-store-memory=83886080", "--disable-usage-stats", "--block")
_NUMBERS = 1 << 14
"""How many clusters there can be: as many as there are networks 10.128.0.0/24 to 10.191.255.0/24."""

_GIVE_UP_SECONDS = 5
"""How long a node or a driver may be without its head before it ends; Ray's own figure is 60."""

_LET_GO = (
    'for point in $(cut -d " " -f 5 /proc/self/mountinfo); do'
    f' case "$point" in {tempfile.gettempdir()}/*) umount --lazy "$point" || true ;; esac; done;'
)
"""A node begins with copies of all mounts, and a test beside it that undoes its own would wait for the node's end.

One within another goes with that."""

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_rpc_server_reconnect_timeout_s": str(_GIVE_UP_SECONDS),
    "RAY_worker_niceness": "0",
}


def cannot() -> str:
    """Why there can be no namespaces here; empty where there can."""
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "ip (iproute2) and unshare are needed"
    if os.geteuid() != 0:
        return "network namespaces take root"
    made = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True, check=False)
    return made.stderr.strip()


class Node:
    def __init__(self, number: int, name: str, address: str) -> None:
        self.number = number
        self.name = name
        self.address = address
        self.ray: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}

    def processes(self) -> list[int]:
        return [int(word) for word in _ip("netns", "pids", self.name).split()]

    def named(self, *parts: str) -> list[int]:
        """Those of them in whose command line one of these words is."""
        return [pid for pid in self.processes() if any(part in command(pid) for part in parts)]

    def kill(self) -> None:
        """As a machine that loses its power: all at once, and nothing is said."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.ray is not None:
            self.ray.wait()
            self.ray = None
        until(lambda: not self.processes())


class Cluster:
    """A head without CPUs, and nodes of one CPU each."""

    def __init__(self, base: Path, nodes: int) -> None:
        self._base = base
        own = _taken()
        self._bridge = _bridge_of(own)
        self._subnet = f"10.{own >> 8 | 128}.{own & 255}"
        self.head_address, self.database_address = f"{self._subnet}.1", f"{self._subnet}.2"
        self.hosts = f"{self._subnet}.%"

        self._port = free_port()  # the head listens there on all addresses
        self.address = f"{self.head_address}:{self._port}"
        self.nodes = [Node(n, f"td{own}n{n}", f"{self._subnet}.{10 + n}") for n in range(1, nodes + 1)]
        self._head: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="td-ray-", dir="/tmp"))  # sockets' paths are short there
        try:
            self._link()
        except BaseException:
            self.end()
            raise

    def start(self, nodes: int | None = None) -> None:
        """Start what is not up: the head, then the nodes side by side, or so many of them."""
        wanted = self.nodes[:nodes]
        if self._head is None:
            options = ("--head", "--num-cpus=0", f"--node-ip-address={self.head_address}", f"--port={self._port}")
            more = (f"--temp-dir={self._folder}", "--include-dashboard=false")
            self._head = self._begun("head", (*_RAY, *options, *more, *_COMMON))
            assert self._is_up("head", self._head), self._said("head")
        for _ in range(_TRIES):
            down = [node for node in wanted if node.ray is None or node.ray.poll() is not None]
            for node in down:
                node.kill()  # what one that has given up its head left
                node.ray = self._begun(node.name, self._within(node, self._words_of(node)), node.environment)
            for node in down:
                if not self._is_up(node.name, node.ray):
                    node.kill()
        assert all(node.ray for node in wanted), [self._said(node.name) for node in wanted]

    def temporary(self, node: Node) -> Path:
        return self._base / node.name

    def head_processes(self) -> list[int]:
        return [] if self._head is None else [self._head.pid, *living(self._head.pid)]

    def kill_head(self) -> None:
        if self._head is not None:
            for pid in self.head_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._head.wait()
            self._head = None

    @contextlib.contextmanager
    def cut(self, node: Node, address: str = "") -> Iterator[None]:
        """Within the block nothing goes from a node to that address; without one, nothing to it nor from it."""
        if address:
            on, off = (("-n", node.name, "route", do, "blackhole", f"{address}/32") for do in ("add", "del"))
        else:
            on, off = (("link", "set", _link_of(node), state) for state in ("down", "up"))
        _ip(*on)
        try:
            yield
        finally:
            _ip(*off)

    def end(self) -> None:
        """End what runs here, and leave no namespace, no link and no folder."""
        self.kill_head()
        there = _ip("netns", "list")
        for node in self.nodes:
            if node.name in there:
                node.kill()
                _ip("netns", "del", node.name)  # its link goes with it
        if Path(f"/sys/class/net/{self._bridge}").exists():
            _ip("link", "del", self._bridge)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _link(self) -> None:
        for address in (self.head_address, self.database_address):
            _ip("addr", "add", f"{address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")
        for node in self.nodes:
            _ip("netns", "add", node.name)
            _ip("link", "add", _link_of(node), "type", "veth", "peer", "name", "eth9", "netns", node.name)
            _ip("link", "set", _link_of(node), "master", self._bridge, "up")
            _ip("-n", node.name, "addr", "add", f"{node.address}/24", "dev", "eth9")
            for link in ("eth9", "lo"):
                _ip("-n", node.name, "link", "set", link, "up")
            _ip("-n", node.name, "route", "add", "default", "via", self.head_address)  # Ray asks which address is its

    def _words_of(self, node: Node) -> tuple[str, ...]:
        return (*_RAY, f"--address={self.address}", "--num-cpus=1", f"--node-ip-address={node.address}", *_COMMON)

    def _within(self, node: Node, words: Sequence[str]) -> tuple[str, ...]:
        own = self.temporary(node)
        own.mkdir(exist_ok=True)
        script = (
            f'{_LET_GO} hostname "$1"; mount --bind "$2" "$3"; export TMPDIR="$2" XDG_CACHE_HOME="$2/cache"; shift 3;'
            ' exec "$@"'
        )
        place = (node.name, str(own), str(self._folder))
        return (
            "ip",
            "netns",
            "exec",
            node.name,
            "unshare",
            "--uts",
            "--mount",
            "sh",
            "-ec",
            script,
            "sh",
            *place,
            *words,
        )

    def _begun(
        self, name: str, words: Sequence[str], more: Mapping[str, str] = MappingProxyType({})
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **_ENVIRONMENT, **more}
        with self._log(name).open("wb") as to:
            return subprocess.Popen(words, stdout=to, stderr=to, start_new_session=True, env=environment)

    def _is_up(self, name: str, process: subprocess.Popen[bytes] | None) -> bool:
        assert process is not None
        until(lambda: process.poll() is not None or _STARTED in self._log(name).read_text())
        return process.poll() is None

    def _said(self, name: str) -> str:
        return self._log(name).read_text()[-2000:]

    def _log(self, name: str) -> Path:
        return self._base / f"{name}.log"


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def until(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, f"not so within {seconds:.0f} s"
        time.sleep(_LOOK_SECONDS)


def _taken() -> int:
    """The number of a cluster, by which its names and addresses differ from others'. A bridge's name is given once."""
    for more in range(_NUMBERS):
        number = (os.getpid() + more) % _NUMBERS
        if not Path(f"/sys/class/net/{_bridge_of(number)}").exists():
            with contextlib.suppress(subprocess.CalledProcessError):  # another process was faster
                _ip("link", "add", _bridge_of(number), "type", "bridge")
                return number
    raise AssertionError("no bridge can be made")


def _bridge_of(number: int) -> str:
    return f"td{number}b"


def _link_of(node: Node) -> str:
    return f"{node.name}v"


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout
