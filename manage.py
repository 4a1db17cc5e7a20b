#!/usr/bin/env python
"""Dealsite's command line, in a checkout."""

from dealsite.__main__ import main

if __name__ == "__main__":
    main()
