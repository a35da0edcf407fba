"""Raw dataset files: found or downloaded, and held against their published sum before anyone parses them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import platformdirs

from gcbr.errors import InputError

Progress = Callable[[str, int, int | None], None]  # file name, bytes so far, bytes in all where known

CHUNK = 1 << 16  # bytes read at once, so one progress report each


@dataclass(frozen=True)
class RawFile:
    """A published file and how to know it for what it is."""

    path: str  # below the data folder, as PyTorch Geometric lays it out: Cora/raw/ind.cora.x
    sha256: str | None  # None: no sum was ever published
    base_url: str | None  # None: no address is stable

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class _DownloadError(Exception):
    """Why a download gave no file, as half a sentence."""


class _Chunk(NamedTuple):
    content: bytes
    received: int  # bytes so far, this chunk included
    total: int | None


@dataclass(frozen=True)
class RawFolder:
    """Where raw files are looked for, and where missing ones are downloaded to."""

    data_dir: Path | None = None  # None: the environment's GCBR_DATA, else the user's cache folder
    progress: Progress | None = None
    base_url: str | None = None  # stands in for the address of every file: a mirror
    timeout: float = 30.0  # seconds without an answer

    @cached_property
    def folders(self) -> tuple[Path, ...]:
        """Searched in this order; downloads go into the first."""
        cache = Path(platformdirs.user_cache_dir("gcbr"))
        chosen = self.data_dir or os.environ.get("GCBR_DATA")
        return (Path(chosen), cache) if chosen else (cache,)

    def read(self, file: RawFile) -> bytes:
        """The content of a file, its sum already checked; downloads the file if no folder has it."""
        path = self.find(file) or self.download(file)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        actual = hashlib.sha256(content).hexdigest()
        if file.sha256 not in (None, actual):
            raise InputError(
                f"{path} is not the published file: its SHA-256 is {actual}, expected {file.sha256}; "
                + self._replacement(file)
            )
        return content

    def find(self, file: RawFile) -> Path | None:
        """Where the file lies, unchecked; None if it is missing."""
        paths = (folder / file.path for folder in self.folders)
        return next((path for path in paths if os.path.isfile(path)), None)

    def place(self, file: RawFile) -> Path:
        """Where a missing file belongs."""
        return self.folders[0] / file.path

    def download(self, file: RawFile) -> Path:
        """Fetch a file into its place, whole and checked, or leave nothing behind."""
        path, url = self.place(file), self._url(file)
        if url is None:
            raise InputError(
                f"{file.name} is missing and has no stable address to download from; put it at {path}"
            )
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        try:
            self._fetch(file, url, part)
            part.replace(path)
        except _DownloadError as error:
            raise InputError(_failure(file, url, path, str(error))) from error
        except OSError as error:
            reason = f"{path.parent} cannot be written ({error.strerror or error})"
            raise InputError(_failure(file, url, path, reason)) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink()
        return path

    def _fetch(self, file: RawFile, url: str, part: Path) -> None:
        digest = hashlib.sha256()
        part.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as out:
            for chunk in _received(url, self.timeout):
                out.write(chunk.content)
                digest.update(chunk.content)
                if self.progress:
                    self.progress(file.name, chunk.received, chunk.total)
        if file.sha256 not in (None, digest.hexdigest()):
            raise _DownloadError(f"the file received has SHA-256 {digest.hexdigest()}")

    def _url(self, file: RawFile) -> str | None:
        base = self.base_url or file.base_url
        return f"{base}/{file.name}" if base else None

    def _replacement(self, file: RawFile) -> str:
        url = self._url(file)
        return f"delete it, and it is downloaded from {url}" if url else "replace it by the published file"


def _failure(file: RawFile, url: str, path: Path, reason: str) -> str:
    expected = f" with SHA-256 {file.sha256}" if file.sha256 else ""
    return (
        f"{file.name} could not be downloaded: {reason}; expected {url}{expected}; "
        f"you can put it at {path} by hand"
    )


def _received(url: str, timeout: float) -> Iterator[_Chunk]:
    """The chunks of a download. An error of the network ends it here; one of the disk is the caller's."""
    received = 0
    try:
        with urllib.request.urlopen(url, timeout=timeout) as response:
            total = response.length  # Content-Length, None where the server does not say
            while content := response.read(CHUNK):
                received += len(content)
                yield _Chunk(content, received, total)
    except urllib.error.HTTPError as error:
        error.close()
        raise _DownloadError(f"the server answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _DownloadError(f"the server cannot be reached ({_reason(error.reason)})") from error
    except (OSError, http.client.HTTPException) as error:
        raise _DownloadError(f"the connection broke after {received} bytes ({_reason(error)})") from error
    if total is not None and received < total:
        raise _DownloadError(f"the connection was cut after {received} of {total} bytes")


def _reason(error: str | BaseException) -> str:
    if isinstance(error, OSError) and error.errno in errno.errorcode and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
