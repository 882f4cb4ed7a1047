"""All that leans on what Spark keeps private: its JVM, plans, origins, listeners, its status store.

Each function says which Spark versions have what it uses, as far as that was read: 4.3 is what is installed. `classic`
is pyspark without Spark Connect, whose sessions have no JVM.
"""
