"""Ad hoc questions: SQL over the lake, answered by DuckDB in a child process that can do nothing else.

    runs          a question and its answer, on disk while it is worked on: start, look, cancel
    answers       what a run has answered: columns, rows, CSV
    charts        which chart suits an answer
    ready         the questions that come with the site, one .sql file each
    tables        the lake's tables as a question sees them

In the child, which imports nothing of the rest:

    child         its main program: confine, check, open the lake's views, answer
    confinement   resource limits, namespaces, Landlock, seccomp
    statements    one SELECT over known tables with known functions, or Refused
"""
