"""Keeping freed memory for the next step instead of handing it back to the system.

A training step frees and asks for the same few megabytes hundreds of times a second. By default the C
library returns such blocks to the kernel and fetches them again page by page: a quarter of the CPU time
of a training episode. Like the number of threads, this belongs to a process, so only its edge calls it.
"""

from __future__ import annotations

import ctypes

# glibc's malloc.h
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3
_LARGEST_KEPT = 32 << 20  # bytes in one block; glibc refuses a higher threshold
_MOST_KEPT = 1 << 30  # bytes in all
_GROW_BY = 64 << 20


def keep_freed_memory() -> None:
    """Tune the C library's allocator where it is glibc's; elsewhere do nothing."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)
    mallopt(_M_TRIM_THRESHOLD, _MOST_KEPT)
    mallopt(_M_TOP_PAD, _GROW_BY)
