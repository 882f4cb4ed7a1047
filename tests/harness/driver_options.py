"""Options of the JVM of a driver on a small host."""

SERIAL = "-XX:+UseSerialGC"
LATER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
SMALL = f"{SERIAL} {LATER}"
