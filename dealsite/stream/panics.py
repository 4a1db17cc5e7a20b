"""Panics of libraries that are written in Rust."""


def is_panic(error: BaseException) -> bool:
    """Tell whether an error is a Rust library's panic: no Exception to Python, and yet no reason to end a process."""
    return type(error).__module__ == "pyo3_runtime"
