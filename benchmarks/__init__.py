"""python -m benchmarks: what pages cost, with few deals and with many. Results go to docs/performance.md."""
