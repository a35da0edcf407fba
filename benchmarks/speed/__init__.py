"""How long the package takes, in CPU-seconds beside a plain version of the same work: `make bench`."""
