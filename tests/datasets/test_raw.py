import hashlib
import http.server
import os
import pickle
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gcbr.datasets import load_dataset
from gcbr.datasets.planetoid import CORA
from gcbr.datasets.raw import RawFile, RawFolder
from gcbr.errors import InputError

CONTENT = bytes(range(256)) * 1000  # 256000 bytes: several chunks
SUM = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """A real server on loopback. A name after `cut-`, `stall-`, `wrong-` or `unsized-` is served that way."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.requested = []
        self.let_go = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        manner, _, name = self.path.strip("/").rpartition("-")
        if name not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[name]
        if manner == "wrong":
            content = content[:-1] + b"!"
        self.send_response(200)
        if manner != "unsized":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:100_000] if manner in ("cut", "stall") else content)
        if manner == "stall":
            self.server.let_go.wait(10)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server({"data.bin": CONTENT})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.let_go.set()
    server.shutdown()
    thread.join()
    server.server_close()


def raw_file(name="data.bin", sha256=SUM):
    return RawFile(f"Some/raw/{name}", sha256, None)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in Path(folder).rglob("*") if not path.is_dir())


def refused(folder, file):
    with pytest.raises(InputError) as caught:
        folder.read(file)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_missing_file_is_downloaded_whole_and_with_progress(server, tmp_path):
    steps = []
    folder = RawFolder(tmp_path, lambda *step: steps.append(step), server.url)
    assert folder.read(raw_file()) == CONTENT
    assert files_below(tmp_path) == ["Some/raw/data.bin"]
    assert (tmp_path / "Some/raw/data.bin").read_bytes() == CONTENT
    assert len(steps) >= 4
    assert {(name, total) for name, _, total in steps} == {("data.bin", 256000)}
    assert [received for _, received, _ in steps] == sorted({received for _, received, _ in steps})
    assert steps[-1] == ("data.bin", 256000, 256000)


def test_a_server_that_does_not_say_the_size_will_do(server, tmp_path):
    steps = []
    folder = RawFolder(tmp_path, lambda *step: steps.append(step), server.url)
    assert folder.read(raw_file("unsized-data.bin")) == CONTENT
    assert steps[-1] == ("unsized-data.bin", 256000, None)


def test_a_file_on_disk_is_not_downloaded_again(server, tmp_path):
    folder = RawFolder(tmp_path, base_url=server.url)
    folder.read(raw_file())
    folder.read(raw_file())
    assert server.requested == ["/data.bin"]


def test_a_cut_connection_leaves_nothing(server, tmp_path):
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file("cut-data.bin"))
    assert "the connection was cut after 100000 of 256000 bytes" in message
    assert f"expected {server.url}/cut-data.bin with SHA-256 {SUM}" in message
    assert f"put it at {tmp_path / 'Some/raw/cut-data.bin'} by hand" in message
    assert files_below(tmp_path) == []


def test_a_cut_connection_is_noticed_without_a_sum(server, tmp_path):
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file("cut-data.bin", sha256=None))
    assert "the connection was cut after 100000 of 256000 bytes" in message
    assert files_below(tmp_path) == []


def test_a_server_that_stalls_is_given_up(server, tmp_path):
    message = refused(RawFolder(tmp_path, base_url=server.url, timeout=1), raw_file("stall-data.bin"))
    assert "the connection broke after" in message
    assert "timed out" in message
    assert files_below(tmp_path) == []


def test_a_wrong_file_leaves_nothing(server, tmp_path):
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file("wrong-data.bin"))
    actual = hashlib.sha256(CONTENT[:-1] + b"!").hexdigest()
    assert (
        f"the file received has SHA-256 {actual}; expected {server.url}/wrong-data.bin with SHA-256 {SUM}"
        in message
    )
    assert files_below(tmp_path) == []


def test_an_absent_file_leaves_nothing(server, tmp_path):
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file("other.bin"))
    assert "other.bin could not be downloaded: the server answered 404 Not Found" in message
    assert files_below(tmp_path) == []


def test_no_network_is_said(tmp_path):
    with socket.socket() as taken:  # a port that is bound but not listened on refuses every connection
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        message = refused(RawFolder(tmp_path, base_url=url), raw_file())
    assert "the server cannot be reached (Connection refused)" in message
    assert f"{url}/data.bin" in message
    assert files_below(tmp_path) == []


def test_an_interrupted_download_leaves_nothing(server, tmp_path):
    def interrupt(name, received, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RawFolder(tmp_path, interrupt, server.url).read(raw_file())
    assert files_below(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_said(server, tmp_path):
    (tmp_path / "Some").write_text("a file where a folder should be")
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file())
    assert f"{tmp_path / 'Some/raw'} cannot be written (Not a directory)" in message
    assert files_below(tmp_path) == ["Some"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_said(server, tmp_path):
    tmp_path.chmod(0o500)
    message = refused(RawFolder(tmp_path, base_url=server.url), raw_file())
    assert "cannot be written (Permission denied)" in message


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_leaves_nothing(server, tiny_disk):
    message = refused(RawFolder(tiny_disk, base_url=server.url), raw_file())
    assert f"{tiny_disk / 'Some/raw'} cannot be written (No space left on device)" in message
    assert f"expected {server.url}/data.bin with SHA-256 {SUM}" in message
    assert files_below(tiny_disk) == []


def test_a_file_the_system_lets_grow_no_further_leaves_nothing(server, tmp_path):
    script = f"""if True:
        import pathlib, resource
        from gcbr.datasets.raw import RawFile, RawFolder
        from gcbr.errors import InputError
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            RawFolder(pathlib.Path({str(tmp_path)!r}), base_url={server.url!r}).read(
                RawFile("Some/raw/data.bin", {SUM!r}, None))
        except InputError as error:
            print(error)
        """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert f"{tmp_path / 'Some/raw'} cannot be written (File too large)" in run.stdout
    assert files_below(tmp_path) == []


def test_a_changed_file_on_disk_is_refused_untouched(tmp_path):
    path = tmp_path / "Some/raw/data.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"something else")
    message = refused(RawFolder(tmp_path, base_url="http://mirror"), raw_file())
    actual = hashlib.sha256(b"something else").hexdigest()
    assert f"{path} is not the published file: its SHA-256 is {actual}, expected {SUM}" in message
    assert "delete it, and it is downloaded from http://mirror/data.bin" in message
    assert path.read_bytes() == b"something else"


def test_a_file_is_checked_before_it_is_parsed(tmp_path):
    for file in CORA.files:
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(print))
    with pytest.raises(InputError, match="is not the published file: its SHA-256 is"):
        load_dataset("cora", data_dir=tmp_path)


def test_a_file_without_an_address_is_asked_for(tmp_path):
    message = refused(RawFolder(tmp_path), raw_file())
    assert message == (
        "data.bin is missing and has no stable address to download from; "
        f"put it at {tmp_path / 'Some/raw/data.bin'}"
    )


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "gcbr"


def put(folder, content):
    path = folder / "Some/raw/data.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_folders_are_searched_from_the_nearest_to_the_cache(tmp_path, cache, monkeypatch):
    file = raw_file(sha256=None)
    put(cache, b"cached")
    assert RawFolder().read(file) == b"cached"
    put(tmp_path / "environment", b"environment")
    monkeypatch.setenv("GCBR_DATA", str(tmp_path / "environment"))
    assert RawFolder().read(file) == b"environment"
    assert RawFolder(tmp_path / "given").read(file) == b"cached"  # the argument replaces the environment
    put(tmp_path / "given", b"given")
    assert RawFolder(tmp_path / "given").read(file) == b"given"


def test_an_empty_gcbr_data_is_none(cache, monkeypatch):
    monkeypatch.setenv("GCBR_DATA", "")
    assert RawFolder().folders == (cache,)


def test_downloads_go_to_the_folder_named_else_to_the_cache(server, tmp_path, cache, monkeypatch):
    RawFolder(base_url=server.url).read(raw_file())
    assert files_below(tmp_path) == ["cache/gcbr/Some/raw/data.bin"]
    (cache / "Some/raw/data.bin").unlink()
    monkeypatch.setenv("GCBR_DATA", str(tmp_path / "environment"))
    RawFolder(base_url=server.url).read(raw_file())
    assert files_below(tmp_path) == ["environment/Some/raw/data.bin"]
    (tmp_path / "environment/Some/raw/data.bin").unlink()
    RawFolder(tmp_path / "given", base_url=server.url).read(raw_file())
    assert files_below(tmp_path) == ["given/Some/raw/data.bin"]


def test_addresses_are_those_of_pytorch_geometric():
    urls = {f"{file.base_url}/{file.name}" for file in CORA.files}
    assert "https://github.com/kimiyoung/planetoid/raw/master/data/ind.cora.test.index" in urls
    assert len(urls) == 8


def test_cora_loads_from_a_server_and_then_without_it(server, tmp_path, data_dir):
    server.files = {file.name: (data_dir / file.path).read_bytes() for file in CORA.files}
    assert CORA.load(RawFolder(tmp_path, base_url=server.url)).graph.num_edges == 5278
    assert files_below(tmp_path) == sorted(file.path for file in CORA.files if not file.name.endswith(".x"))
    requests = len(server.requested)
    assert load_dataset("cora", data_dir=tmp_path).graph.num_edges == 5278
    assert len(server.requested) == requests
