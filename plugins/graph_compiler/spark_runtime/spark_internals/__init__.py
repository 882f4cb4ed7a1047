"""Everything that depends on private parts of Spark: its JVM, plans, origins, listeners and status store.

Each function names the Spark versions that have what it uses, as far as that was checked: 4.3 is installed. `classic`
is pyspark without Spark Connect, whose sessions have no JVM.
"""
