"""The process that stands between tdelta and one private server: starts it, freezes it, and never leaves it behind.

See `tdelta.processes.supervisor`. At the end of its input the server's whole tree is thawed and killed, its mounts are
undone, its folders removed. Started as ``python -m tdelta.processes.servers.supervisor``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tdelta import own_folders
from tdelta.measure.aes import OPENSSL_VARIABLE
from tdelta.processes import process_tree as tree
from tdelta.processes.files import is_of_a_run
from tdelta.processes.mounts import is_mounted, unmount
from tdelta.processes.rpc import Failed, Reply, Request, serve
from tdelta.processes.servers.recipes import Command, Mount, Recipe, Service, remove_opened, unpacked, waits_for_room
from tdelta.processes.supervisor import Supervisor, launch

_SIBLINGS = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def cpus_for(cores: int, allowed: Collection[int] | None = None, root: Path = Path("/")) -> frozenset[int]:
    """So many of the CPUs that this thread may use, or of those allowed: of every core one before there is a second."""
    found = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    if cores > len(found):
        raise ValueError(f"expected at most {len(found)} CPUs, found {cores}")
    taken: dict[str, int] = {}
    ranked = []
    for cpu in found:
        core = _core(cpu, root)
        ranked.append((taken.get(core, 0), cpu))
        taken[core] = taken.get(core, 0) + 1
    return frozenset(cpu for _, cpu in sorted(ranked)[:cores])


def _core(cpu: int, root: Path) -> str:
    """The number that the CPUs of one physical core share; where the system does not say, each is one."""
    try:
        return (root / _SIBLINGS.format(cpu)).read_text(encoding="ascii").strip()
    except OSError:
        return f"cpu {cpu}"


_BREATH_SECONDS = 0.1
"""For how long a frozen server is thawed now and then: its clocks are served then, and it uses next to no CPU."""

_LOOK_AGAIN_SECONDS = 0.01
_MOUNT_SECONDS = 30.0
_SERVICE_SECONDS = 30.0
_FREEZE_SECONDS = 20.0
_KILL_SECONDS = 30.0


class ServerHost(Supervisor):
    def __init__(self) -> None:
        super().__init__()
        self._recipe: Recipe | None = None
        self._held: dict[Path, int] = {}
        """Descriptors of its folders: what another made there meanwhile, under the same name, is left alone."""

        self._run_folder: Path | None = None
        self._environment: dict[str, str] = {}
        self._pulse_seconds = 0.0
        self._server: subprocess.Popen[bytes] | None = None
        self._mount: subprocess.Popen[bytes] | None = None
        self._service: subprocess.Popen[bytes] | None = None
        self._is_frozen = False
        self._others_memory = frozenset(tree.SHARED.glob("*"))
        self._shared_memory: frozenset[Path] = frozenset()
        """Files that processes had mapped when they were killed, which nobody else removes."""
        self._passed: Counter[str] = Counter()
        """The bytes of file systems that have ended."""

    def do_adopt(self, request: Request) -> Reply:
        recipe = unpacked(request["recipe"])
        for folder in dict.fromkeys((recipe.place.folder, recipe.place.socket.parent)):
            self._held[folder] = own_folders.make(folder, is_new=True)
        for folder in (recipe.place.keys, recipe.place.temporary):
            folder.mkdir(mode=0o700)
        if recipe.cores:  # whatever is started here inherits it
            try:
                os.sched_setaffinity(0, cpus_for(recipe.cores))
            except ValueError as error:
                raise Failed("server", f"cores={recipe.cores}: {error}") from error
        self._recipe = recipe
        self._run_folder = recipe.place.folder.parent if is_of_a_run(recipe.place.folder.parent) else None
        self._environment = request["environment"]
        self._pulse_seconds = request["pulse_seconds"]
        for path, text in recipe.files.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        for path, target in recipe.links.items():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.symlink_to(target)
        return {"pid": os.getpid()}

    def do_initialize(self, request: Request) -> Reply:
        recipe = self._adopted()
        if recipe.mount:
            recipe.mount.ciphertext.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._run(recipe.mount.make, "the encrypted file system", request["seconds"])
            self._ensure_mounted(recipe.mount)
        for command in recipe.initialize:
            self._run(command, "the data directory", request["seconds"])
        return {}

    def do_start(self, _request: Request) -> Reply:
        """Start the server; whether it takes connections is for others to find out."""
        recipe = self._adopted()
        if self._is_running():
            raise Failed("server", "it runs already")
        if recipe.mount:
            self._ensure_mounted(recipe.mount)
        recipe.place.socket.unlink(missing_ok=True)
        if recipe.service:
            self._serve(recipe.service)
        self._server = self._launch(recipe.serve)
        return {"pid": self._server.pid}

    def do_status(self, _request: Request) -> Reply:
        """Whether the server runs, what it ended with if it does not, and whether what it needs beside it is there."""
        mounted = all(beside is None or beside.poll() is None for beside in (self._mount, self._service))
        return {"running": self._is_running(), "status": self._server and self._server.returncode, "mounted": mounted}

    def do_processes(self, _request: Request) -> Reply:
        """The processes that make up the server, with the file system under it and without a service beside it.

        ``passed`` are the bytes of all file systems that were mounted so far, by the names of ``/proc/PID/io``.
        """
        mounted, beside = self._mount_pids(), [] if self._service is None else [self._service.pid]
        passed = Counter(self._passed)
        for pid in mounted:
            passed.update(tree.io_bytes(pid))
        pids = list(tree.living(os.getpid(), beside))
        return {"pids": pids, "beside": beside, "file_systems": list(mounted), "passed": passed}

    def do_freeze(self, _request: Request) -> Reply:
        """Stop the server's whole tree. Its file system goes on: whoever looks at a frozen mount hangs."""
        self._require_running()
        if not tree.freeze(os.getpid(), self._kept_awake(), _FREEZE_SECONDS):
            self._thaw()
            said = f"could not be frozen within {_FREEZE_SECONDS:.0f} s"
            if any(tree.has_stopped(pid) for pid in self._mount_pids()):  # threads that wait for it do not stop
                below = "the encrypted file system under the server was stopped by a signal"
                raise Failed("stopped", f"{below}, and the server {said}")
            raise Failed("server", f"it {said}")
        self._is_frozen = True
        return {}

    def do_thaw(self, _request: Request) -> Reply:
        self._require_running()
        self._thaw()
        return {}

    def do_stop(self, request: Request) -> Reply:
        """Have the server shut down cleanly, and undo its mount. A server that is not running is stopped already."""
        recipe = self._adopted()
        if self._server is not None and self._is_running():
            self._thaw()
            self._server.send_signal(recipe.stop_signal)
            if not self.requests.wait(self._is_quiet, request["seconds"]):
                raise Failed("server", f"it did not shut down within {request['seconds']:.0f} s")
        status = self._server and self._server.returncode
        self._end_service()
        self._end_mount()
        return {"status": status}

    def do_kill(self, _request: Request) -> Reply:
        """End the server now, as a crash would; its files stay as they are."""
        self._kill()
        self._end_service()
        self._end_mount()
        return {}

    def breathe(self) -> None:
        """Thaw a frozen server for a moment; see `tdelta.processes.servers.server.PULSE_SECONDS`."""
        if self._is_frozen and self._is_running():
            self._thaw()
            self.requests.wait(lambda: False, _BREATH_SECONDS)
            self._is_frozen = tree.freeze(os.getpid(), self._kept_awake(), _FREEZE_SECONDS)

    def patience(self) -> float | None:
        return self._pulse_seconds if self._is_frozen else None

    def end(self) -> None:
        """Leave nothing of the server behind. The run's folder is its keeper's; one that was made again goes."""
        self._shared_memory |= tree.shared_memory(os.getpid())
        tree.kill(os.getpid(), _KILL_SECONDS)
        for path in self._shared_memory - self._others_memory:
            with contextlib.suppress(OSError):  # the server removed it itself
                path.unlink()
        for folder, descriptor in self._held.items():
            remove_opened(folder, descriptor)
        if self._run_folder is not None:
            with contextlib.suppress(OSError):  # it is not empty: the run goes on, or its keeper is at it
                own_folders.remove_empty(self._run_folder)

    def _adopted(self) -> Recipe:
        if self._recipe is None:
            raise Failed("server", "no recipe was given")
        return self._recipe

    def _launch(self, command: Command) -> subprocess.Popen[bytes]:
        place = self._adopted().place
        environment = {name: value for name, value in os.environ.items() if name != OPENSSL_VARIABLE}
        try:
            with place.log.open("ab") as log:
                return launch(
                    command.argv,
                    environment | dict(command.environment) | self._environment,
                    log,
                    log,
                    folder=place.folder,
                    secret=command.secret,
                    leaves_root=command.as_user,
                )
        except OSError as error:
            raise Failed("server", f"{command.argv[0]} cannot be started: {error.strerror}") from error

    def _run(self, command: Command, makes: str, seconds: float) -> None:
        process = self._launch(command)
        place = self._adopted().place
        in_time = self.requests.wait(lambda: process.poll() is not None or waits_for_room(place), seconds)
        if process.poll() is None:
            self._kill()
            if in_time:
                raise Failed("storage", f"{makes} could not be made: the disk of {place.folder} is full")
            raise Failed("server", f"{makes} could not be made within {seconds:.0f} s")
        if process.returncode != 0:
            raise Failed("server", f"{makes} could not be made: status {process.returncode}")

    def _ensure_mounted(self, mount: Mount) -> None:
        if self._mount is not None and self._mount.poll() is None:
            return
        mount.at.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._mount = process = self._launch(mount.serve)
        self.requests.wait(lambda: process.poll() is not None or is_mounted(mount.at), _MOUNT_SECONDS)
        if not is_mounted(mount.at):
            raise Failed("server", f"{Path(mount.serve.argv[0]).name} did not mount {mount.at}")

    def _serve(self, service: Service) -> None:
        self._end_service()  # of a server that died
        service.ready.unlink(missing_ok=True)
        self._service = process = self._launch(service.serve)
        self.requests.wait(lambda: process.poll() is not None or service.ready.exists(), _SERVICE_SECONDS)
        if process.poll() is not None or not service.ready.exists():
            raise Failed("server", "the key service beside it did not start")

    def _end_service(self) -> None:
        if self._service is not None:
            self._service.kill()
            self._service.wait()
            self._service = None

    def _end_mount(self) -> None:
        mount, process = self._adopted().mount, self._mount
        if mount is None or process is None:
            return
        self._passed.update(tree.io_bytes(process.pid))  # it keeps nothing back: there is no more to come
        unmounted = self.requests.wait(lambda: unmount(mount.at), _MOUNT_SECONDS)
        if not unmounted or not self.requests.wait(lambda: process.poll() is not None, _MOUNT_SECONDS):
            raise Failed("server", f"{mount.at} is in use and cannot be unmounted")
        self._mount = None

    def _is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def _require_running(self) -> None:
        if not self._is_running():
            raise Failed("gone", "the server does not run")

    def _is_quiet(self) -> bool:
        if self._is_running():
            return False  # at once: who waits asks often, and every process of the machine is looked at below
        tree.reap(self._awaited())
        return not tree.living(os.getpid(), self._kept_awake())

    def _thaw(self) -> None:
        tree.thaw(os.getpid(), self._kept_awake())
        self._is_frozen = False

    def _kill(self) -> None:
        self._shared_memory |= tree.shared_memory(os.getpid())
        while tree.living(os.getpid(), self._kept_awake()):
            for pid in tree.living(os.getpid(), self._kept_awake()):
                with contextlib.suppress(ProcessLookupError):  # it went with its parent
                    os.kill(pid, signal.SIGKILL)
            self.requests.wait(self._is_quiet, _LOOK_AGAIN_SECONDS)
        self._is_frozen = False

    def _mount_pids(self) -> tuple[int, ...]:
        return () if self._mount is None else (self._mount.pid,)

    def _kept_awake(self) -> tuple[int, ...]:
        """The processes that the server needs as long as it is there."""
        return tuple(process.pid for process in (self._mount, self._service) if process is not None)

    def _awaited(self) -> tuple[int, ...]:
        return tuple(process.pid for process in (self._server, self._mount, self._service) if process is not None)


if __name__ == "__main__":
    serve(ServerHost())
