"""Which places already say something of a JVM's collector, or of its shared classes."""

import pytest

from graph_compiler.driver_jvm.start_settings import SETTINGS, VARIABLES, java_options

COLLECTORS = (
    *("-XX:+UseG1GC", "-XX:+UseZGC", "-XX:-UseParallelGC", "'-XX:+UseSerialGC'"),
    *("-XX:+AggressiveHeap", "-XX:G1HeapRegionSize=4m", "-XX:+G1UseAdaptiveIHOP"),
    *("-XX:-G1UseAdaptiveIHOP", "-XX:MaxGCPauseMillis=50"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+UseStringDeduplication"),
)
ARCHIVES = (
    *("-Xshare:off", "-XX:SharedArchiveFile=/a.jsa", "-XX:ArchiveClassesAtExit=/a.jsa"),
    *("-XX:AOTCache=/a.aot", "-XX:AOTMode=off", "-XX:+AOTClassLinking", "-XX:+DumpSharedSpaces"),
    *("-XX:+AutoCreateSharedArchive", "-XX:-RecordDynamicDumpInfo"),
)
COMPILERS = (
    *("-Xint", "-Xcomp", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation", "-XX:+UseJVMCICompiler"),
    *("-XX:Tier4InvocationThreshold=1", "-XX:CompileThreshold=100", "-XX:CICompilerCount=1"),
    *("-XX:CompilationMode=quick-only", "-XX:CompileCommand=quiet", "-XX:CompileThresholdScaling=2"),
)
HIDDEN = ("@/etc/options", "-XX:Flags=/etc/flags", "-XX:VMOptionsFile=/etc/options")


@pytest.mark.parametrize("place", VARIABLES)
@pytest.mark.parametrize("option", COLLECTORS)
def test_a_collector_in_a_variable_is_found(place: str, option: str) -> None:
    found = java_options({place: f"-Xss4m {option}"}, [])
    assert found.with_collector() == place
    assert found.with_archive() is None


@pytest.mark.parametrize("place", SETTINGS)
@pytest.mark.parametrize("option", COLLECTORS)
def test_a_collector_in_a_setting_is_found(place: str, option: str) -> None:
    assert java_options({}, [{}, {place: f"{option} -Da=b"}]).with_collector() == place


@pytest.mark.parametrize("option", ARCHIVES)
def test_an_archive_is_found(option: str) -> None:
    found = java_options({"JAVA_TOOL_OPTIONS": option}, [])
    assert (found.with_archive(), found.with_collector()) == ("JAVA_TOOL_OPTIONS", None)


@pytest.mark.parametrize("option", COMPILERS)
def test_a_compiler_is_found(option: str) -> None:
    found = java_options({"JAVA_TOOL_OPTIONS": option}, [])
    assert (found.with_compiler(), found.with_collector()) == ("JAVA_TOOL_OPTIONS", None)


@pytest.mark.parametrize("option", HIDDEN)
def test_options_in_a_file_may_be_anything(option: str) -> None:
    found = java_options({"JDK_JAVA_OPTIONS": option}, [])
    assert found.with_archive() == found.with_collector() == "JDK_JAVA_OPTIONS"
    assert found.with_compiler() == "JDK_JAVA_OPTIONS"


@pytest.mark.parametrize("options", ["", "-XX:+UseCompressedOops -Xmx1g -Dgc=-XX:+UseG1GC"])
def test_other_options_say_nothing(options: str) -> None:
    found = java_options({"SPARK_SUBMIT_OPTS": options}, [])
    assert (found.with_collector(), found.with_archive()) == (None, None)
    assert found.with_compiler() is None


@pytest.mark.parametrize("option", ["-Dspark.ui.enabled=true", "'-Dspark.ui.port=4050'"])
def test_a_ui_in_a_variable_is_found(option: str) -> None:
    assert java_options({"SPARK_SUBMIT_OPTS": option}, []).with_ui() == "SPARK_SUBMIT_OPTS"
    assert java_options({"SPARK_SUBMIT_OPTS": "-Dspark.ui.x=1"}, []).with_ui() is None
