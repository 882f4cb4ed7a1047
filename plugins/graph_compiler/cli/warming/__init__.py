"""Making the class archive of this host: a small pipeline is run, and its JVM writes the classes it has loaded."""
