"""How the JVM of a Spark driver is started on this host: its collector, and an archive of the classes it loads."""
