"""The 25 faults that were fixed, each as an edit that puts it back, and what must notice it (docs/machine.md).

A fault of several parts has an entry for each part with separate lines. From 26 on: faults that were never made, in the
publications and commits in a bucket. From 40 on: faults of sources. From
130 on: of the previous version of a target.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants import Edit


@dataclass(frozen=True)
class Fault:
    """A fault by its number in docs/machine.md, the edits that put it back, and what must find it.

    `found_by` are tests (`folder/test_file.py::test_name`, in tests/, with one parameter set or without) and machines
    (`machine: files`). Each of them must find it.
    """

    item: int
    what: str
    edits: tuple[Edit, ...]
    found_by: tuple[str, ...]


def _fault(item: int, what: str, *edits: tuple[str, str, str], found_by: str | tuple[str, ...]) -> Fault:
    finders = (found_by,) if isinstance(found_by, str) else found_by
    return Fault(item, what, tuple(Edit(*edit) for edit in edits), finders)


KEPT = "staging/results/test_kept_regions.py"
KEPT_BY_CODE = "spark/region/test_kept_by_code.py"

PREVIOUS = "staging/publications/test_previous_versions.py"
_LOSE_NOTHING = "test_runs_of_one_target_lose_and_double_nothing"
AWKWARD = "spark/publishing/test_awkward_targets.py"
MANY = "staging/publications/test_many_partitions.py"
_FILES_OF_FOLDER = "[name for name in add if str(Path(name).parent) == replaced]"
_LOOKS = "if lost := [name for name in intent.add if name not in there]:"
_TAKES_BACK = "if lost and no_reader_loses_rows and is_open():"
_AS_IS = "in folders"
RUN_DAYS_TESTS = "airflow/test_run_days.py"
PRINTABLE = "compiler/test_printable_names.py"
MANY_FILES = "spark/publishing/test_many_files.py"
POOLER = "spark/connectors/test_jdbc_pooler.py"
TRIGGERS = "spark/connectors/test_jdbc_triggers.py"
JDBC_FAULTS = "spark/connectors/test_jdbc_faults.py"
COLLATIONS = "spark/connectors/test_jdbc_collations.py"
SPLITS_TESTS = "spark/operators/test_splits.py"
OWN_READS = "spark/repeatability/test_own_reads.py"
ONE_FILE = "staging/publications/test_one_file.py"
OWN_PARTITIONS = "spark/publishing/test_own_partitions.py"
FOLDER_ACCESS = "staging/store/test_folder_access.py"
MISSING_FILES = "spark/connectors/test_missing_files.py"
FUNCTION_SINKS = "spark/connectors/test_function_sinks.py"
SHARED_RESULTS = "explain/test_shared_results.py"
BATCH_LOG = "staging/streams/test_batch_log.py"
FOLDED = "staging/publications/test_folded_batches.py"
FLUSHED = "spark/streams/test_flushed_streams.py"
OF_FUNCTIONS = "spark/streams/test_streams_of_functions.py"
RESCALED = "spark/streams/test_rescaled_states.py"
UNFINISHED = "staging/streams/test_unfinished_copies.py"
SEVERAL_PATHS = "spark/connectors/test_several_paths.py"
PARAMETER_TYPES = "spark/operators/test_types_of_parameters.py"
REPLAYED = "spark/region/test_replayed_inputs.py"
NEW_FILES = "spark/positions/test_new_files.py"
VARYING = "spark/repeatability/test_varying_rows.py"
JDBC_NAMES = "spark/connectors/test_jdbc_names.py"
JDBC_SNAPSHOTS = "spark/connectors/test_jdbc_snapshots.py"
TOTALS = "spark/operators/test_totals.py"
CHANGING = "spark/repeatability/test_changing_sources.py"
ACROSS_MOUNTS = "staging/publications/test_carry_out_across_mounts.py"
FORMATS = "spark/publishing/test_formats.py"
PINNED_TESTS = "spark/results/test_pinned_settings.py"
ENDING = "spark/failures/test_ending_functions.py"
PLACES_TESTS = "staging/publications/test_places.py"
OTHER_TESTS = "airflow/test_other_places.py"
GROUP_TESTS = "airflow/test_task_groups.py"
JDBC_COLUMNS = "spark/connectors/test_jdbc.py"
ODD_DOCUMENTS = "airflow/test_odd_documents.py"
STAGING_READ_TESTS = "airflow/test_staging_reads.py"
RENDERED = "declaration/test_rendered_databases.py"
YAML_FILES = "yaml/test_yaml_files.py"
COUNTS_ONCE = f"{AWKWARD}::test_a_run_counts_once_whatever_its_partition_column_is_called"
NOT_EXCHANGED = f"{AWKWARD}::test_without_folder_exchange_old_files_are_removed_whatever_their_column_is_called"
CALLED = f"{AWKWARD}::test_target_names_are_taken_literally"
COMES_BACK = f"{FORMATS}::test_a_value_that_a_format_would_change_is_refused_before_publishing"
FILES_MACHINE = "machine: files"
READERS = "spark/operators/test_readers_agree.py"
SEQUENCES = "machine/in_stores/test_sequences.py"
AGAINST_READERS = "spark/connectors/test_records_against_readers.py"
CSV_TESTS = "spark/connectors/test_csv_inferred_against_readers.py"
JSON_RECORDS = "spark/connectors/test_records_of_json.py"
STORE_ACCESS = "staging/store/test_store_access.py"
LEDGER_TESTS = "staging/publications/test_ledger.py"
JSON_TESTS = "spark/connectors/test_json_against_python.py"
TYPED_TESTS = "spark/connectors/test_typed_files.py"
SAME_VALUES = f"{AGAINST_READERS}::test_a_text_has_the_value_that_python_finds_or_none"
SAME_JSON = f"{JSON_TESTS}::test_each_record_has_the_values_that_python_finds_or_is_set_aside"
HDFS_STEPS = "staging/publications/test_hdfs_publication.py"
DISK_STEPS = "staging/publications/test_carry_out.py"
BUCKET_STEPS = "staging/publications/test_bucket_publication.py"
_ALL_OR_NONE = "test_if_prepared_files_are_removed_all_old_ones_or_all_new_ones_are_there"
_NEW_ONES_STAY = "test_new_files_stay_if_one_of_them_is_removed_when_old_ones_are_gone"
POSITIONS = "staging/positions/test_position_log.py"
POSITION_MACHINE = "staging/positions/test_position_machine.py::test_each_file_is_in_exactly_one_published_increment"
BUCKET_MACHINE, RESULTS_MACHINE, HDFS_MACHINE = ("machine: bucket", "machine: results", "machine: hdfs")

FAULTS = (
    _fault(
        1,
        "any error of a database means 'no such table', and that the rows were published",
        (
            "is_there",
            'if str(about.getDatabaseProductName()) == "PostgreSQL":\n'
            "            return _relation(connection, name) is not None",
            'if str(about.getDatabaseProductName()) == "PostgreSQL":\n'
            "            try:\n"
            "                return _relation(connection, name) is not None\n"
            "            except Py4JJavaError:\n"
            "                return False",
        ),
        (
            "carry_out",
            "outcome = marks.give_up(to, to.mark)\n        if outcome is MarkOutcome.GIVEN_UP:",
            "return None\n        if outcome is MarkOutcome.GIVEN_UP:",
        ),
        found_by=f"{JDBC_FAULTS}::test_a_reset_at_any_statement_of_a_publication_loses_and_doubles_nothing",
    ),
    _fault(
        1,
        "on other databases, too",
        ("_answers", "if sql_state(error) in _NO_SUCH_TABLE:", "if True:"),
        found_by=f"{JDBC_NAMES}::test_an_error_of_a_database_is_not_taken_for_a_missing_table",
    ),
    _fault(
        1,
        "a staged table that is gone means 'done'",
        (
            "carry_out",
            "outcome = marks.give_up(to, to.mark)\n        if outcome is MarkOutcome.GIVEN_UP:",
            "return None\n        if outcome is MarkOutcome.GIVEN_UP:",
        ),
        found_by=f"{JDBC_FAULTS}::test_dropped_rows_are_lost_and_recomputed",
    ),
    _fault(
        1,
        "no mark is put with the rows",
        ("carry_out", "[marks.statement(to, to.mark, MarkOutcome.PUBLISHED)]", "[]"),
        found_by=f"{JDBC_FAULTS}::test_a_lost_answer_to_commit_is_resolved_by_asking",
    ),
    _fault(
        2,
        "partition folders such as _day=7 count as hidden",
        ("is_hidden", 'is_partition = name.startswith("_") and "=" in name', "is_partition = False"),
        (
            "on_disk",
            "for name in sorted(files_with_rows(folder))",
            'for name in sorted(str(path.relative_to(folder)) for path in folder.rglob("part-*"))',
        ),
        found_by=(
            f"{COUNTS_ONCE}[append-_day]",
            f"{COUNTS_ONCE}[merge-_day]",
            f"{NOT_EXCHANGED}[overwrite-_day]",
            f"{NOT_EXCHANGED}[overwrite-partitions-_day]",
            FILES_MACHINE,
        ),
    ),
    _fault(
        3,
        "files below a folder whose name begins with 'empty-' are removed",
        ("_files_to_remove", "or name in markers or partition_of(", 'or name.startswith("empty-") or partition_of('),
        found_by=(f"{COUNTS_ONCE}[append-empty-seats]", FILES_MACHINE),
    ),
    _fault(
        3,
        "a stranger's file whose name begins with 'empty-' is taken for ours",
        ("FileSink._check_folders", "if file not in markers", 'if not file.startswith("empty-")'),
        found_by=f"{AWKWARD}::test_a_marker_file_is_removed_once_there_are_rows_but_not_a_foreign_file_of_its_name",
    ),
    _fault(
        4,
        "each action reads the clock",
        ("StoppedClock.stop_in", "if not found:", "if True:"),
        found_by="spark/repeatability/test_one_now.py::test_a_filter_on_the_current_time_puts_each_row_on_one_side",
    ),
    _fault(
        5,
        "files are not compared with their listing",
        ("ListedFiles.why_changed", "if not changed:", "if True:"),
        found_by=f"{CHANGING}::test_a_file_written_again_in_place_fails_the_attempt_and_publishes_nothing",
    ),
    _fault(
        5,
        "what may change while it is read is computed for each reader",
        (
            "RegionEvaluation._keep",
            "if reason is not None and self.is_shared(output) and output not in self._results:",
            "if False:",
        ),
        found_by=f"{CHANGING}::test_a_table_that_is_not_a_list_of_files_gives_both_sinks_the_same_rows",
    ),
    _fault(
        5,
        "each query to PostgreSQL has a snapshot of its own",
        ("_Snapshots.pin", "return _reading(connector, snapshot.id)", "return connector"),
        found_by=f"{JDBC_SNAPSHOTS}::test_each_row_is_in_one_of_two_sinks_though_the_table_changes_in_between",
    ),
    _fault(
        5,
        "databases without shared snapshots are read more than once",
        ("_Snapshots.pin", "if times > 1 or splits > 1:", "if False:"),
        found_by=(
            f"{JDBC_SNAPSHOTS}::test_a_database_without_shared_snapshots_is_read_only_once",
            f"{JDBC_SNAPSHOTS}::test_splits_of_a_database_without_shared_snapshots_are_refused",
        ),
    ),
    _fault(
        6,
        "a task looks at its own targets only",
        ("find_place_problems", "*_sink_problems(operator, [*own, *others])", "*_sink_problems(operator, own)"),
        found_by=f"{PLACES_TESTS}::test_targets_of_two_tasks_that_meet_are_refused",
    ),
    _fault(
        6,
        "the tasks of an Airflow run do not know each other's targets",
        (
            "check_places",
            "ends = (*rendered, *_of_siblings(execution, task), *_recorded(execution, others))",
            "ends = tuple(_of_siblings(execution, task))",
        ),
        ("_recorded", "return recorded_endpoints(execution.layout, execution.region, ids)", "return ()"),
        found_by=(
            f"{OTHER_TESTS}::test_rendered_targets_that_overlap_are_refused_by_the_first_task",
            f"{OTHER_TESTS}::test_targets_only_another_task_can_render_are_compared_once_it_started",
        ),
    ),
    _fault(
        7,
        "a target may lie over any folder",
        (
            "find_place_problems",
            "return (*problems, *find_own_folder_problems(sinks, folders))",
            "return tuple(problems)",
        ),
        found_by=(
            f"{PLACES_TESTS}::test_a_target_over_one_of_our_folders_is_refused",
            f"{PLACES_TESTS}::test_the_pipelines_folder_is_protected_and_the_project_around_it_is_not",
        ),
    ),
    _fault(
        7,
        "Airflow's folders are not among them",
        ("check_places", "folders=tuple(_folders(known))", "folders=()"),
        found_by=f"{OTHER_TESTS}::test_a_target_in_the_dags_folder_or_the_staging_root_is_refused",
    ),
    _fault(
        8,
        "'' may name a partition folder",
        ("_NULLS", '_Unfit(condition="{} = \'\'", shown="\'\'", becomes="NULL"),', ""),
        found_by=f"{AWKWARD}::test_a_value_no_folder_can_hold_is_refused_and_nothing_changes[merge-Parquet]",
    ),
    _fault(
        9,
        "links to folders are passed over",
        (
            "_walk",
            "if passes_over(entry.name):",
            "if passes_over(entry.name) or (entry.is_symlink() and entry.is_dir()):",
        ),
        found_by=f"{AWKWARD}::test_rows_behind_a_link_are_counted_and_what_is_there_stays",
    ),
    _fault(
        10,
        "a writer's option names the files, and nobody compares what was written",
        ("_PINNED", '_PINNED = {"mapreduce.output.basename": "part"}', "_PINNED: dict[str, str] = {}"),
        ("_compare", "if not is_same:", "if False:"),
        found_by=(
            f"{AWKWARD}::test_writer_options_do_not_change_which_rows_are_there[a name for files]",
            f"{AWKWARD}::test_session_settings_do_not_change_which_rows_are_there",
            FILES_MACHINE,
        ),
    ),
    _fault(
        10,
        "files that are not found are published all the same",
        ("_compare", "if not is_same:", "if False:"),
        found_by=f"{AWKWARD}::test_files_that_are_not_found_where_they_were_written_are_never_published",
    ),
    _fault(
        11,
        "staged files are compared by their size alone, and pages not at all",
        ("_verify", "elif file.checksums is not None and", "elif False and"),
        ("READ_OPTIONS", '"parquet.page.verify-checksum.enabled": "true",', ""),
        found_by="spark/results/test_damaged_data.py::test_no_changed_byte_of_a_staged_file_goes_unnoticed",
    ),
    _fault(
        12,
        "the cluster's ignoreCorruptFiles holds for staged files",
        ("_ANY_FILE", '"ignoreCorruptFiles": "false",', ""),
        found_by=f"{PINNED_TESTS}::test_damaged_files_are_noticed_even_if_the_cluster_ignores_them",
    ),
    _fault(
        12,
        "the cluster's ignoreMissingFiles holds for staged files",
        ("_ANY_FILE", '"ignoreMissingFiles": "false",', ""),
        found_by=f"{PINNED_TESTS}::test_damaged_files_are_noticed_even_if_the_cluster_ignores_them",
    ),
    *(
        _fault(
            13,
            f"{name} files take values they cannot hold",
            ("_DOUBTS", f'"{name.lower()}": _of_{name.lower()},', ""),
            found_by=COMES_BACK,
        )
        for name in ("CSV", "text", "ORC")
    ),
    _fault(
        13,
        "ORC files take columns whose names have a back tick",
        ("_NAMES", ', "orc": "`"}', "}"),
        found_by=(f"{FORMATS}::test_a_column_keeps_its_name_or_is_refused[orc]", FILES_MACHINE),
    ),
    _fault(
        13,
        "CSV files cut blanks and microseconds",
        (
            "WRITE_OPTIONS",
            '**_MICROSECONDS, "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"',
            "",
        ),
        found_by=f"{FORMATS}::test_a_format_gives_back_every_value_that_it_takes[csv]",
    ),
    _fault(
        13,
        "JSON files cut microseconds and leave keys of NULL out",
        ("WRITE_OPTIONS", '{**_MICROSECONDS, "ignoreNullFields": "false"}', "{}"),
        found_by=(
            f"{FORMATS}::test_a_format_gives_back_every_value_that_it_takes[json]",
            f"{FORMATS}::test_csv_and_json_lines_keep_null_and_blanks",
        ),
    ),
    _fault(
        14,
        "rows are prepared beside a target on another mount",
        ("preparation_folder", "if target.is_dir() and _mount(target) != _mount(target.parent):", "if False:"),
        found_by=f"{ACROSS_MOUNTS}::test_rows_for_a_target_on_another_mount_are_prepared_in_it",
    ),
    _fault(
        14,
        "a file for another mount is renamed, never copied",
        ("move", "if error.errno != errno.EXDEV:", "if True:"),
        found_by=(
            f"{ACROSS_MOUNTS}::test_a_file_for_a_partition_behind_a_link_to_another_mount_is_copied_there",
            FILES_MACHINE,
        ),
    ),
    _fault(
        14,
        "rows beside a target on another disk, and no copy",
        ("preparation_folder", "if target.is_dir() and _mount(target) != _mount(target.parent):", "if False:"),
        ("move", "if error.errno != errno.EXDEV:", "if True:"),
        found_by=(
            f"{AWKWARD}::test_a_target_on_another_disk_is_written_again_and_again",
            f"{ACROSS_MOUNTS}::test_a_mount_point_can_be_published_to_repeatedly",
        ),
    ),
    _fault(
        14,
        "a folder with a mount in it is exchanged",
        ("_put_in_place", "if has_mount_inside(place):", "if False:"),
        found_by=f"{ACROSS_MOUNTS}::test_a_mount_point_can_be_published_to_repeatedly",
    ),
    _fault(
        15,
        "a publication that nobody can read stops all others",
        ("Ledger._settle", "self._give_up_unreadable(target, number, error, mine)", "raise"),
        found_by="staging/publications/test_ledger.py::test_an_unreadable_intent_that_is_not_done_is_given_up",
    ),
    _fault(
        15,
        "one that was done stops all others, too",
        (
            "Ledger.of_this_run",
            "self._refuse_what_may_be_own(target, document, before)\n                continue",
            "raise document",
        ),
        found_by="staging/publications/test_ledger.py::test_an_unreadable_intent_does_not_block_once_it_is_done",
    ),
    _fault(
        15,
        "a manifest that nobody can read stops all attempts",
        (
            "ManifestLog.latest",
            "return self.latest_or_why_not(result_id)\n        except DamagedDocumentError:\n            return None",
            "return self.latest_or_why_not(result_id)\n        except DamagedDocumentError:\n            raise",
        ),
        found_by="spark/region/test_region_failover.py::test_a_damaged_manifest_is_a_lost_result_and_never_read_again",
    ),
    _fault(
        16,
        "whatever has a document's name is opened",
        (
            "open_regular",
            "_check(path, os.lstat(path), most)\n        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK |",
            "opened = os.open(path, os.O_RDONLY |",
        ),
        found_by=f"{STAGING_READ_TESTS}::test_45_requests_for_a_fifo_block_no_other_route",
    ),
    _fault(
        16,
        "reads that hang take every thread",
        (
            "StagingReads.__post_init__",
            "self._turns = BoundedSemaphore(self.running)",
            "self._turns = BoundedSemaphore(45)",
        ),
        ("StagingReads.__post_init__", "BoundedSemaphore(self.running + self.waiting)", "BoundedSemaphore(45)"),
        found_by=f"{STAGING_READ_TESTS}::test_hanging_threads_are_limited",
    ),
    _fault(
        17,
        "the name of a table is rendered to any text",
        ("find_rendering_problems", 'if key == "table" and', "if False and"),
        found_by=f"{RENDERED}::test_a_rendered_table_is_one_name_or_is_refused",
    ),
    _fault(
        17,
        "a query may hold a template",
        (
            "find_template_problems",
            "if found := TEMPLATE.search(text):",
            "if (found := TEMPLATE.search(text)) and not found:",
        ),
        found_by=f"{RENDERED}::test_templates_are_refused_in_sql_and_driver_settings",
    ),
    _fault(
        17,
        "a url is rendered to any text",
        ("find_rendering_problems", 'elif key == "url" and not _fits(text, found):', "elif False:"),
        found_by=f"{RENDERED}::test_a_rendered_database_is_a_name",
    ),
    _fault(
        18,
        "a manifest that is not JSON is an error of the server",
        ("decode_object", 'raise DamagedDocumentError(where, f"is not valid JSON: {error}") from None', "raise"),
        found_by=f"{ODD_DOCUMENTS}::test_random_bytes_as_a_manifest_cause_no_server_error",
    ),
    _fault(
        18,
        "one that is nested too deeply, too",
        (
            "decode_object",
            "document = json.loads(content)\n    except RecursionError:\n"
            '        raise DamagedDocumentError(where, "is nested too deeply") from None',
            "document = json.loads(content)\n    except RecursionError:\n        raise",
        ),
        found_by=f"{ODD_DOCUMENTS}::test_deep_nesting_and_huge_numbers_cause_no_server_error",
    ),
    _fault(
        18,
        "one whose schema is no struct, too",
        ("fields_of", 'RecursionError):\n        names, kinds = [], [""]', "RecursionError):\n        raise"),
        found_by=f"{ODD_DOCUMENTS}::test_odd_manifests_cause_no_server_error",
    ),
    _fault(
        18,
        "a manifest of other files, or of another epoch, is believed",
        ("ManifestLog.manifest", "if why := _why_damaged(found, result_id, epoch):", "if why := None:"),
        found_by="airflow/test_row_sample.py::test_a_manifest_names_only_files_in_its_folder",
    ),
    _fault(
        18,
        "one that is no object, too",
        ("decode_object", "if not isinstance(document, dict):", "if False:"),
        found_by=f"{ODD_DOCUMENTS}::test_odd_manifests_cause_no_server_error",
    ),
    _fault(
        19,
        "a file of SQL may lie anywhere",
        ("file_below", "if not found.is_relative_to(home):", "if False:"),
        found_by=(
            f"{YAML_FILES}::test_a_file_outside_the_pipelines_folder_is_not_read",
            f"{YAML_FILES}::test_a_link_is_followed_to_where_it_leads",
        ),
    ),
    _fault(
        19,
        "a link may lead anywhere",
        ("file_below", "found = Path(os.path.realpath(here / name))", "found = Path(os.path.abspath(here / name))"),
        found_by=f"{YAML_FILES}::test_a_link_is_followed_to_where_it_leads",
    ),
    _fault(
        19,
        "a path may be absolute",
        ("file_below", 'if name.startswith("~") or Path(name).is_absolute():', "if False:"),
        found_by=f"{YAML_FILES}::test_absolute_and_home_paths_are_not_read",
    ),
    _fault(
        20,
        "sys.exit in a function ends the driver without a report",
        ("RegionRun.running", "except BaseException as cause:", "except Exception as cause:"),
        ("_execute", "except BaseException as error:", "except Exception as error:"),
        found_by=(
            f"{ENDING}::test_ending_the_program_is_a_permanent_failure",
            f"{ENDING}::test_a_driver_whose_function_exits_with_0_exits_with_its_failures_code",
        ),
    ),
    _fault(
        20,
        "exit code 0 without a report is a success",
        (
            "read_reports",
            "if len(unanswered) == len(documents) or",
            "if error is None and unanswered:\n            return []\n        if len(unanswered) == len(documents) or",
        ),
        found_by="airflow/test_driver_end.py::test_exit_code_0_without_a_report_fails_without_retry",
    ),
    _fault(
        21,
        "attempts are ordered by the clock",
        (
            "in_order",
            "begun.append((turns[name], 0, folder) if name in turns else (-1, time, folder))",
            "begun.append((-1, time, folder))",
        ),
        found_by="staging/attempts/test_execution_order.py::test_a_clock_that_is_set_back_does_not_revive_an_old_attempt",
    ),
    _fault(
        22,
        "the folder of a run is named by its whole id",
        ("path_segment", "if len(whole) > _LONGEST_SEGMENT:", "if False:"),
        found_by="deployment/test_path_segments.py::test_a_run_whose_quoted_id_is_too_long_has_a_folder_and_is_found_again",
    ),
    _fault(
        22,
        "the folder beside a target is named by its whole name",
        ("beside", "if len(os.fsencode(name)) > NAME_BYTES:", "if False:"),
        found_by=f"{CALLED}[255 letters]",
    ),
    _fault(
        23,
        "a target is read as a pattern",
        (
            "literal_path",
            'return "".join(f"\\\\{letter}" if letter in _SPECIAL else letter for letter in path)',
            "return path",
        ),
        found_by=f"{CALLED}[x[1]{{a,b}}]",
    ),
    _fault(
        24,
        "the state of a cause is not seen",
        ("_links", "waiting.append(current.getCause())", "pass"),
        found_by=f"{JDBC_FAULTS}::test_a_sql_state_is_found_in_wrapped_exceptions",
    ),
    _fault(
        24,
        "the state of a batch's exception is not seen",
        ("_links", "waiting.append(current.getNextException())", "pass"),
        found_by=f"{JDBC_FAULTS}::test_a_sql_state_is_found_in_wrapped_exceptions",
    ),
    _fault(
        25,
        "a table has a place for each of its spellings",
        ("_in_postgres", 'place=f"{catalog}.{name} in {_where(database)}"', 'place=f"{table} in {_where(database)}"'),
        found_by=f"{JDBC_NAMES}::test_two_sinks_that_spell_one_table_differently_are_refused_before_any_row_moves",
    ),
    _fault(
        26,
        "in a bucket, old files are removed before the new ones are there",
        (
            "UploadedFiles.bring_in",
            "missing = {",
            "yield from self.remove(self.intent.remove, there)\n        missing = {",
        ),
        found_by=(f"{SEQUENCES}::test_old_files_stay_until_all_new_ones_are_there", BUCKET_MACHINE),
    ),
    _fault(
        27,
        "in a bucket, it is not looked whether completed files are there",
        ("steps", _LOOKS, "if lost := list[str]():"),
        found_by=(
            f"{SEQUENCES}::test_files_that_are_not_there_after_their_completion_are_not_taken_for_published",
            BUCKET_MACHINE,
        ),
    ),
    _fault(
        28,
        "files appear before it is decided that they do",
        (
            "Publisher.publish",
            "if behind_others is None:\n            self.ledger.decide(intent)",
            "if behind_others is None:\n"
            "            open_target(intent.target).carry_out(intent, lambda: False)\n"
            "            self.ledger.decide(intent)",
        ),
        found_by=(f"{SEQUENCES}::test_nothing_is_seen_before_the_decision", BUCKET_MACHINE),
    ),
    _fault(
        29,
        "a conditional write that is not answered counts as refused",
        ("put_once", "if (found := written_by()) is not None:\n                return found == own", "return False"),
        found_by=(
            f"{SEQUENCES}::test_a_decision_that_is_not_answered_once_is_made_once",
            BUCKET_MACHINE,
            RESULTS_MACHINE,
        ),
    ),
    _fault(
        30,
        "an execution that fails aborts the uploads of others",
        (
            "BucketTarget.discard",
            "self._store.abort(self._recorded(execution))",
            'for other in self._store.folders(f"{self.target}/.graph_compiler"):\n'
            "                self._store.abort(self._recorded(other))",
        ),
        found_by=(f"{SEQUENCES}::test_an_execution_that_fails_discards_only_its_own_files", BUCKET_MACHINE),
    ),
    _fault(
        31,
        "gc removes files.json of a decided publication that is not finished",
        (
            "_is_needed",
            "return PurePosixPath(removal.path).name in {path_segment(id) for id in executions}",
            "return False",
        ),
        ("_not_published", "if rows.is_there and rows.preparation.execution_id not in undone:", "if rows.is_there:"),
        found_by=(f"{SEQUENCES}::test_gc_keeps_what_an_unfinished_publication_needs", BUCKET_MACHINE),
    ),
    _fault(
        32,
        "an execution discards files that it may have decided to publish",
        (
            "SinkCommitter.execution_attempt_failed",
            "if self._opened is None or self._is_decided:",
            "if self._opened is None:",
        ),
        found_by=(f"{SEQUENCES}::test_an_execution_that_may_have_decided_discards_nothing", BUCKET_MACHINE),
    ),
    _fault(
        33,
        "an execution removes data that it may have committed",
        (
            "StagingArea.stage",
            "winner = self.log.commit(manifest)",
            "try:\n"
            "            winner = self.log.commit(manifest)\n"
            "        except OSError:\n"
            "            self.drop(manifest)\n"
            "            raise",
        ),
        found_by=(f"{SEQUENCES}::test_an_execution_that_may_have_committed_removes_no_data", RESULTS_MACHINE),
    ),
    _fault(
        34,
        "an execution that loses an epoch removes the data of the winner",
        (
            "StagingArea.stage",
            "if winner != manifest:\n            self.drop(manifest)",
            "if winner != manifest:\n            self.drop(winner)",
        ),
        found_by=(f"{SEQUENCES}::test_an_execution_that_loses_an_epoch_removes_only_its_own_data", RESULTS_MACHINE),
    ),
    _fault(
        35,
        "in a bucket, files of a publication that was given up appear, or stay",
        ("steps", "stopped = files.stop(lost)", "stopped = frozenset[str]()"),
        ("steps", _TAKES_BACK, "if False:"),
        found_by=f"{SEQUENCES}::test_what_is_given_up_never_appears_and_disappears_again",
    ),
    _fault(
        36,
        "in HDFS, old files are removed before the new ones are there",
        (
            "RenamedFiles.empty",
            "names = _names(self.store, claimed) & add",
            "names = _names(self.store, claimed) & add\n"
            "        yield from self.remove(self.intent.remove, self.look(()))",
        ),
        found_by=(f"{SEQUENCES}::test_old_files_stay_until_all_new_ones_are_there", HDFS_MACHINE),
    ),
    _fault(
        37,
        "in HDFS, it is not looked whether all new files are in the target",
        ("steps", _LOOKS, "if lost := list[str]():"),
        found_by=(
            f"{SEQUENCES}::test_files_that_are_not_there_after_their_completion_are_not_taken_for_published",
            HDFS_MACHINE,
        ),
    ),
    _fault(
        38,
        "in HDFS, an execution fails if the request that names a written file is carried out twice",
        ("HdfsTarget._rename", "if not is_moved and not self._store.is_there(ready):", "if not is_moved:"),
        found_by=(f"{SEQUENCES}::test_a_request_that_is_answered_twice_fails_nothing",),
    ),
    _fault(
        39,
        "in HDFS, files of a publication that was given up stay",
        ("steps", _TAKES_BACK, "if False:"),
        found_by=(
            f"{SEQUENCES}::test_what_is_given_up_never_appears_and_disappears_again",
            f"{HDFS_STEPS}::test_if_prepared_files_are_removed_all_old_ones_or_all_new_ones_are_there",
        ),
    ),
    _fault(
        39,
        "on a disk, files of a publication that was given up stay",
        ("steps", _TAKES_BACK, "if False:"),
        found_by=(f"{DISK_STEPS}::test_if_prepared_files_are_removed_all_old_ones_or_all_new_ones_are_there",),
    ),
    _fault(
        40,
        "a record is checked in the columns that are read",
        (
            "TextFiles.read",
            'rows = numbered.selectExpr(*folders, f"inline({self._checked_row(misfits)})")',
            'row = f"({self._checked_row(misfits)})[0]"\n'
            "        each = [\n"
            '            f"{self._checked_value(n, field)} AS {quoted(field.name)}"\n'
            "            for n, field in enumerate(self.columns)\n"
            "        ]\n"
            '        rows = numbered.selectExpr(*folders, *each, f"{row} AS unread").drop("unread")',
        ),
        found_by=f"{AGAINST_READERS}::test_a_misfit_fails_whatever_is_read",
    ),
    _fault(
        41,
        "a decimal comma is deleted",
        (
            "TextFormat._point",
            "if self.decimal is None or self.grouping is None:\n            return text",
            "if self.decimal is None or self.grouping is None:\n            return f\"replace({text}, ',', '')\"",
        ),
        found_by=SAME_VALUES,
    ),
    _fault(
        42,
        "what follows a date is cut",
        (
            "TextFormat._",
            'return self._unless(text, value, f"({usual}) OR {_matches(text, DAY)}")',
            "return self._unless(text, value, None)",
        ),
        found_by=SAME_VALUES,
    ),
    _fault(
        43,
        "a header in another order is not seen",
        ("_checked", "if reading.scans:\n        _check_headers(files)", "_check_headers"),
        found_by=f"{CSV_TESTS}::test_a_file_with_another_header_is_refused",
    ),
    _fault(
        44,
        "a quote that is open at the end of a line is closed there",
        (
            "TextFiles._misfits_of_csv",
            'yield MisfitRule(f"contains({OUR_RECORD}, {sql_literal(quote)}) AND NOT {closed}", reason)',
            "_ = closed, reason",
        ),
        found_by="spark/connectors/test_text_records.py::test_a_quote_that_is_not_closed_fails_whatever_is_said",
    ),
    _fault(
        45,
        "a key of JSON whose case differs is NULL",
        (
            "TextFiles._misfits_of_json",
            "if odd := self._odd_keys(parsed, OUR_RECORD, OUR_FIELDS, 0):",
            "if (odd := self._odd_keys(parsed, OUR_RECORD, OUR_FIELDS, 0)) and False:",
        ),
        found_by=SAME_JSON,
    ),
    _fault(
        45,
        "so is one beside NaN",
        (
            "TextFiles._odd_keys_of",
            'keys = f"coalesce(json_object_keys({json}), map_keys({members}))"',
            'keys = f"json_object_keys({json})"',
        ),
        found_by=SAME_JSON,
    ),
    _fault(
        46,
        "fields of structs are found by position",
        ("_aligned", "return when(value.isNotNull(), _struct(value, found, wanted))", "return value.cast(wanted)"),
        found_by=(
            "spark/columns/test_alignment.py::test_fields_are_found_by_name",
            "spark/connectors/test_typed_files_against_pyarrow.py::test_rows_are_those_of_pyarrow_or_the_source_is_refused",
        ),
    ),
    _fault(
        47,
        "INT in old files and BIGINT in new ones is Spark's error",
        ("TypedFiles._merged", "if self._kind in _FOOTERS and cannot_merge:", "if False:"),
        found_by=(
            f"{TYPED_TESTS}::test_files_with_a_narrower_type_are_read_as_declared",
            f"{TYPED_TESTS}::test_files_whose_types_differ_need_a_schema",
        ),
    ),
    _fault(
        48,
        "a command of SQL is a query",
        ("query_problem", "if command := command_in(text):", "if (command := command_in(text)) and False:"),
        ("query_problem", "elif first.text not in _QUERY_WORDS:", "elif False:"),
        found_by="declaration/test_sql_text.py::test_a_command_is_not_a_query",
    ),
    _fault(
        49,
        "zeros in front of inferred numbers are lost",
        ("TextFormat._", 'r"-?(0|[1-9]\\d*)" if self.keeps_digits else ', ""),
        found_by="spark/connectors/test_misfit_table.py::test_a_misfit_is_treated_as_the_table_says",
    ),
    _fault(
        50,
        "numbers in lists and objects lose digits",
        ("_Ways._needs", 'yield f"(left({text}, 1) IN ({starts}) AND {self._changes})"', "_ = starts"),
        found_by=SAME_JSON,
    ),
    _fault(
        51,
        "what follows an object or a list of JSON is not read",
        (
            "TextFiles._misfits_of_json",
            "\\\\n, 1]'), 'ARRAY<STRING>'{self._allowed})\"",
            "\\\\n]'), 'ARRAY<STRING>'{self._allowed})\"",
        ),
        ("TextFiles._misfits_of_json", "OR size({whole}) = 2", "OR size({whole}) = 1"),
        found_by=SAME_JSON,
    ),
    _fault(
        52,
        "half of a surrogate pair is a question mark",
        ("TextFiles._misfits_of_json", "yield MisfitRule(_HAS_HALF_A_PAIR, HALF_A_PAIR)", "pass"),
        found_by=SAME_JSON,
    ),
    _fault(
        53,
        "a header whose names end with the numbers of their columns is a record",
        (
            "TextFiles._written",
            "return (own, own.removesuffix(str(number))) if own.endswith(str(number)) else (own,)",
            "return (own.removesuffix(str(number)),)",
        ),
        found_by=f"{CSV_TESTS}::test_a_header_is_found_whatever_its_columns_are_called",
    ),
    _fault(
        54,
        "the order of a sort is lost across the files of a sink",
        ("rows_in_order", "if partitions is None and are_sorted(rows):", "if True:"),
        found_by="spark/region/test_sorted_sinks.py::test_files_follow_each_other_in_the_order",
    ),
    _fault(
        55,
        "a decimal with an exponent is rounded",
        ("TextFormat._", "AND {value} = try_cast({point} AS {largest.simpleString()}) ", ""),
        ("TextFormat._", "<= {largest.scale}, false)", "<= {largest.scale} + 99, false)"),
        found_by=SAME_VALUES,
    ),
    _fault(
        56,
        "a second instance of a Dag run overwrites what the first has published",
        (
            "Publisher.settle",
            "if mode is SinkMode.OVERWRITE:\n            self.ledger.refuse_rows",
            "if False:\n            self.ledger.refuse_rows",
        ),
        found_by="spark/publishing/test_targets_of_runs_elsewhere.py"
        "::test_a_second_instance_of_a_dag_run_overwrites_nothing_of_the_first[folder]",
    ),
    _fault(
        57,
        "targets in a Dag file are compared as they are written, not as they are rendered",
        ("_rendered", "if asked is None or not asked <= known.keys():", "if True:"),
        found_by=f"{GROUP_TESTS}::test_the_instances_of_a_mapped_group_may_not_overwrite_each_others_target",
    ),
    _fault(
        58,
        "each task group of a Dag is compared with all others again",
        (
            "_Targets.add_tasks_before",
            "islice(dag.task_dict.values(), self.seen, None)",
            "islice(dag.task_dict.values(), 0, None)",
        ),
        found_by=f"{GROUP_TESTS}::test_the_work_for_a_group_does_not_grow_with_the_number_of_groups",
    ),
    _fault(
        59,
        "Oracle's login with a password is accepted",
        ("is_in_url", "(_PARAMETER, _USER_INFO, _LOGIN)", "(_PARAMETER, _USER_INFO)"),
        found_by="declaration/test_clear_passwords.py::test_a_login_before_the_host_is_found_whatever_it_is",
    ),
    _fault(
        60,
        "a damaged class archive stays after the driver that it ended",
        ("ArchiveCache.remove_if_damaged", '(found is None or found["digest"] != _digest(file))', "found is None"),
        found_by=(
            "driver_jvm/test_class_archive.py::test_a_damaged_archive_is_removed_after_a_driver_that_died",
            "airflow/test_driver_tuning.py::test_a_driver_that_died_of_a_damaged_archive_is_tried_again_without_it",
        ),
    ),
    _fault(
        61,
        "JSON that is nested too deeply is an error of Python",
        ("RestEnd._expecting_airflow", "KeyError, RecursionError, TypeError,", "KeyError, TypeError,"),
        found_by="airflow/test_rest_end.py::test_json_that_is_nested_too_deeply_is_no_answer_of_airflow[200]",
    ),
    _fault(
        62,
        "text that is too long for its column is tried again",
        ("_limits", 'about.get(_DATABASE_TYPE, "")', '""'),
        found_by=f"{JDBC_COLUMNS}::test_what_a_column_never_takes_is_not_tried_again",
    ),
    _fault(
        63,
        "a split is two conditions, which Spark moves",
        (
            "must_decide_once",
            "return why_decide_once(plan_leaves(rows), column_types(rows)) is not None",
            "return False",
        ),
        found_by=(
            "machine: rows",
            f"{SPLITS_TESTS}::test_a_group_is_counted_in_one_output_whatever_its_key",
            f"{SPLITS_TESTS}::test_a_condition_that_spark_rewrites_is_decided_once",
            f"{SPLITS_TESTS}::test_a_value_that_statistics_of_files_leave_out_is_in_one_output",
            f"{SPLITS_TESTS}::test_the_conditions_of_a_function_with_side_outputs_do_not_pass_its_input",
        ),
    ),
    _fault(
        64,
        "a split has its decision in a projection",
        ("_", "if varies else fix_decision(decided, scope)", "if varies else decided"),
        found_by=(f"{SPLITS_TESTS}::test_a_group_is_counted_in_one_output_whatever_its_key", "machine: rows"),
    ),
    _fault(
        65,
        "a database decides for one of several readers",
        ("RegionEvaluation._read", "if times > 1:\n            connector", "if False:\n            connector"),
        found_by=(f"{COLLATIONS}::test_each_row_of_a_table_is_in_one_output[English-by_hand]", "machine: rows"),
    ),
    _fault(
        66,
        "two readers of a group see different ones of its equal texts",
        ("_found", "if kind in _GROUPING and _has_collation(", "if False and _has_collation("),
        found_by=(
            f"{VARYING}::test_nondeterministic_plans_are_found[group of equal texts]",
            f"{VARYING}::test_nondeterministic_plans_are_found[intersect of equal texts]",
        ),
    ),
    _fault(
        67,
        "sinks of a reader that drops records have different ones",
        ("_found", "if drops_records(node):", "if False:"),
        found_by=(
            (f"{VARYING}::test_sinks_of_other_columns_have_the_same_records_of_a_lenient_reader"),
            "machine: rows",
        ),
    ),
    _fault(
        70,
        "files that SQL text or a function reads are not looked at",
        (
            "OwnReads.of",
            "leaves = own_leaves(rows, inputs)\n        listings",
            "leaves = list[PlanLeaf]()\n        listings",
        ),
        found_by=(
            f"{OWN_READS}::test_files_that_change_while_they_are_read_fail_the_attempt[files in SQL]",
            f"{OWN_READS}::test_a_region_is_kept_while_what_it_has_read_is_unchanged[files in SQL]",
            "machine: rows",
        ),
    ),
    _fault(
        71,
        "files that a subquery reads are not looked at",
        ("_sequences", "for each in (plan, *elements(plan.subqueriesAll()))", "for each in (plan,)"),
        found_by=(
            f"{OWN_READS}::test_files_that_change_while_they_are_read_fail_the_attempt[a subquery of a filter]",
            "machine: rows",
        ),
    ),
    _fault(
        72,
        "each sink reads a changing table by itself",
        ("Judgement.of", "if reads.changing:", "if is_source and reads.changing:"),
        found_by=(f"{OWN_READS}::test_rows_that_may_change_are_staged_where_they_are_read_twice", "machine: rows"),
    ),
    _fault(
        73,
        "Spark reads one of two listings of a path for both",
        ("SharedListings.pin", "if not moved:", "if True:"),
        found_by=f"{OWN_READS}::test_all_readers_of_a_path_read_the_files_that_were_listed_first[True]",
    ),
    _fault(
        74,
        "a split decides twice by a table that changes in between",
        (
            "queries_differ",
            "if operator.settings.deterministic:\n        return False",
            "if True:\n        return False",
        ),
        found_by=(f"{OWN_READS}::test_a_filter_by_rows_that_may_change_puts_each_row_into_one_output", "machine: rows"),
    ),
    _fault(
        75,
        "a retry keeps a region though files that its SQL text reads have changed",
        ("TaskSources.why_changed", "add(digest_now(spark, each))", "add(each.digest)"),
        found_by=(
            f"{OWN_READS}::test_a_region_is_kept_while_what_it_has_read_is_unchanged[files in SQL]",
            f"{OWN_READS}::test_a_table_with_other_columns_is_another_table",
        ),
    ),
    _fault(
        76,
        "a retry keeps a region that has read what cannot be compared",
        ("TaskSources.why_changed", "if report.uncompared:", "if False:"),
        found_by=f"{OWN_READS}::test_a_region_that_has_read_what_cannot_be_compared_is_not_kept[a view]",
    ),
    _fault(
        77,
        "outputs of a function each read a changing table",
        ("RegionEvaluation._refuse_several_reads", "if len(changing) > 1 and", "if False and"),
        found_by=(f"{OWN_READS}::test_a_function_whose_outputs_each_read_what_may_change_is_refused", "machine: rows"),
    ),
    _fault(
        78,
        "a table that Spark has listed again passes for unchanged",
        ("ListedFiles.why_changed", "if self.listing.state != self.state:", "if False:"),
        found_by=f"{OWN_READS}::test_a_table_that_is_written_while_it_is_read_fails_the_attempt",
    ),
    _fault(
        123,
        "records that a user's function makes of a list pass for the list",
        ("PlanLeaf.holds_fixed_records", "return not programs or programs ==", "return True or programs =="),
        found_by=(f"{OWN_READS}::test_what_spark_holds_is_no_read", "machine: rows"),
    ),
    _fault(
        124,
        "an operator reads again by itself what its staged inputs have read",
        ("RegionEvaluation._evaluated", "given[:] = [rows for each in inputs.values() for rows in each]", "pass"),
        found_by=f"{OWN_READS}::test_a_filter_reads_what_its_input_has_read_by_itself",
    ),
    _fault(
        79,
        "files that rows have been staged from may not be written again",
        ("RegionEvaluation.run.materialize", "self._settle_reads(operator, judged[-1].reads)", "pass"),
        found_by=f"{OWN_READS}::test_each_round_of_a_loop_may_write_again_what_it_reads",
    ),
    _fault(
        100,
        "an overwrite adds its rows to those that a trigger keeps",
        ("_kept_by_delete", "if deleted < held else 0", "if False else 0"),
        found_by=f"{TRIGGERS}::test_an_overwrite_never_adds_its_rows_to_old_ones",
    ),
    _fault(
        101,
        "rows that a trigger drops from a merge are not counted",
        ("_compare_counts", "is_short = taken < to.rows and", "is_short = False and"),
        found_by=f"{TRIGGERS}::test_rows_that_a_trigger_drops_are_counted[merge]",
    ),
    _fault(
        102,
        "statements of the driver are prepared in a session that a pooler gives to others",
        ("Database.open_connection", 'if database_kind(self.url) == "postgresql" else {}', "if False else {}"),
        found_by=f"{POOLER}::test_statements_of_the_driver_need_no_setting",
    ),
    _fault(
        90,
        "a text of JSON that contains the mark of numbers loses it",
        ("_mark_of", "THEN concat('{_MARK}', sha2({record}, 256)) ELSE", "THEN '{_MARK}' ELSE"),
        found_by=(
            f"{JSON_RECORDS}::test_text_with_the_mark_of_numbers_is_kept[False]",
            f"{JSON_RECORDS}::test_text_with_the_mark_of_numbers_is_kept[True]",
        ),
    ),
    _fault(
        91,
        "an unreadable publication of another group of a Dag run is replaced",
        (
            "Ledger.refuse_rows_of_this_dag_run",
            "if found := unexplained_attempts.of_dag_run(",
            "if () and unexplained_attempts.of_dag_run(",
        ),
        found_by=f"{LEDGER_TESTS}::test_an_unreadable_last_publication_may_be_of_another_group_of_the_dag_run[empty]",
    ),
    _fault(
        92,
        "the zone of an unreadable last publication is that of the one before",
        ("Ledger.why_another_zone", 'return f"may have', 'return self.why_another_zone(target, number) and f"may have'),
        found_by=f"{LEDGER_TESTS}::test_the_zone_of_an_unreadable_last_publication_is_unknown[empty]",
    ),
    _fault(
        80,
        "a region is kept that other code has computed",
        ("why_other_code", "[*differences[:_SHOWN], *others]", "[]"),
        found_by=(
            f"{KEPT}::test_what_other_libraries_have_computed_is_computed_again_and_the_log_says_why",
            f"{KEPT}::test_any_tries_end_with_the_rows_of_one_run",
            "deployment/test_computed_by.py::test_only_equal_code_is_the_same",
        ),
    ),
    _fault(
        81,
        "a region is kept of which it is not recorded by which code it was computed",
        ("why_other_code", "        return NOT_RECORDED", "        return None"),
        found_by=(
            f"{KEPT}::test_what_an_earlier_version_of_this_program_has_computed_is_computed_again",
            "staging/results/test_upgraded_runs.py"
            "::test_its_driver_computes_it_again_because_another_version_has_computed_it",
        ),
    ),
    _fault(
        82,
        "what a function imports does not count",
        ("_Walk.follow", "pending.extend(self._visit(name))", "list(self._visit(name))"),
        found_by=(
            f"{KEPT_BY_CODE}::test_what_other_code_has_computed_is_computed_again[a helper outside the project]",
            "declaration/test_reached_code.py::test_every_file_that_may_be_imported_counts"
            "[helpers/till_rates/__init__.py]",
        ),
    ),
    _fault(
        83,
        "two builds of a package with one version are the same",
        ("_identity", "build=digest_of(files) if files else", 'build="" if files else'),
        found_by="declaration/test_reached_code.py::test_another_installation_counts[build of one version]",
    ),
    _fault(
        84,
        "code that changed while a region ran is recorded as if it had not",
        ("RunningCode.at_end", "if changed is None or before.unknown is not None:", "if True:"),
        found_by=f"{KEPT_BY_CODE}::test_what_was_computed_while_its_code_changed_is_computed_again",
    ),
    _fault(
        85,
        "a region that reads the environment is kept",
        ("_variables", "_VARIABLE.findall(text)", "()"),
        found_by=f"{KEPT_BY_CODE}::test_what_reads_the_environment_is_never_kept",
    ),
    _fault(
        86,
        "settings of the cluster do not count",
        ("_program", "key.startswith(_SQL) and", "False and"),
        found_by=f"{KEPT_BY_CODE}::test_the_program_is_recorded_with_its_settings",
    ),
    _fault(
        120,
        "readers of a group see different counts of it",
        ("RegionEvaluation._is_fixed", "if output in self._compared and self.is_shared(output)", "if False"),
        found_by=(
            f"{READERS}::test_two_filters_by_hand_put_each_row_into_one_output[aggregate-a double]",
            f"{READERS}::test_two_filters_by_hand_put_each_row_into_one_output[join-a struct]",
            "machine: rows",
        ),
    ),
    _fault(
        121,
        "the zone of a driver's JVM is that of its host",
        ("PROPERTIES", '"user.timezone": ZONE,\n    "user.language"', '"user.language"'),
        ("pinned_variables", "ZONE_VARIABLE: ZONE,", "ZONE_VARIABLE: environment.get('TZ', ZONE),"),
        ("_strange_properties", "if not zone.hasSameRules(zones.getTimeZone(ZONE)):", "if False:"),
        ("_ASKED", '_ASKED = "user.timezone", ', "_ASKED = "),
        found_by=("spark/test_other_hosts.py::test_hosts_read_write_and_merge_the_same_rows", "machine: hosts"),
    ),
    _fault(
        103,
        "each folder of a publication is compared with all its files",
        ("FilesOnDisk._empty", "by_folder.get(replaced, ())", _FILES_OF_FOLDER),
        found_by=f"{MANY}::test_the_work_grows_as_the_partitions_do[exchanged]",
    ),
    _fault(
        104,
        "each removed file has its folders, and all that is in them, listed again",
        (
            "_remove_empty_folders",
            "{folder for name in names for folder in list(Path(name).parents)[:-1]}",
            "[folder for name in names for folder in list(Path(name).parents)[:-1]]",
        ),
        ("_remove_empty_folders", "in sorted(folders, key=lambda folder: len(folder.parts), reverse=True)", _AS_IS),
        found_by=f"{MANY}::test_the_work_grows_as_the_partitions_do[into other partitions]",
    ),
    _fault(
        105,
        "gc compares the times of a store's files with its own clock",
        ("gc", "store_time(store, root) if inventory.runs else time.time()", "time.time()"),
        found_by="staging/gc/test_staging_cli.py::test_ages_are_those_of_the_store_whatever_this_hosts_clock_says[10]",
    ),
    _fault(
        106,
        "two runs of a schedule with the same day are not warned of",
        ("what_days_lose", "for offset in offsets}) < 2:", "for offset in offsets[:1]}) < 2:"),
        found_by=(
            f"{RUN_DAYS_TESTS}::test_a_schedule_is_warned_of_where_two_runs_have_the_same_day",
            f"{RUN_DAYS_TESTS}::test_a_function_with_the_day_is_named",
        ),
    ),
    _fault(
        107,
        "names with line breaks forge lines of logs and plans",
        ("unprintable_names", "(shown_text := plain_line(text)) != text", "(shown_text := text) != text"),
        found_by=f"{PRINTABLE}::test_names_with_control_characters_are_refused",
    ),
    _fault(
        108,
        "values in messages forge lines of a task's log",
        ("_WithFields.formatMessage", '_UNINDENTED.sub("\\n  ", plain(words))', "words"),
        found_by="deployment/test_program_log.py::test_no_value_looks_like_another_record_or_moves_the_cursor",
    ),
    _fault(
        109,
        "a target or a staged result of more than 32 files cannot be read",
        ("needed_here", "if is_set or key != _FILTER}", "if is_set or key}"),
        found_by=(
            f"{MANY_FILES}::test_a_target_of_many_partitions_is_written_again[append]",
            f"{MANY_FILES}::test_a_staged_result_of_many_files_is_read",
        ),
    ),
    _fault(
        110,
        "a place in no store is looked for on a disk",
        ("_ground", "else store_part(place) or place", "else store_part(place)"),
        found_by=f"{STORE_ACCESS}::test_a_document_of_a_root_on_a_disk_may_name_places_in_no_store",
    ),
    _fault(
        111,
        "the connection of a staging root in one store is used for another store",
        ("RootAccess.to", "else kind is kind_of_place(root)", "else True"),
        found_by=f"{STORE_ACCESS}::test_the_connection_is_for_the_store_of_the_root",
    ),
    _fault(
        112,
        "the store of an installed package replaces ours",
        (
            "store_kind",
            "for kind in BUILT_IN if",
            "for kind in (() if registered_values(ENTRY_POINTS) else BUILT_IN) if",
        ),
        found_by="recipes/test_store.py::test_places_are_those_of_the_registered_store",
    ),
    _fault(
        113,
        "new files are removed again though old ones are gone",
        ("steps", "no_reader_loses_rows = not stopped", "no_reader_loses_rows = True or not stopped"),
        found_by=tuple(f"{each}::{_NEW_ONES_STAY}" for each in (BUCKET_STEPS, HDFS_STEPS, DISK_STEPS)),
    ),
    _fault(
        114,
        "new files are removed again only if this carrier has stopped an upload",
        ("steps", "not stopped.isdisjoint(lost) or there >= set(intent.remove)", "not stopped.isdisjoint(lost)"),
        found_by=(
            f"{BUCKET_STEPS}::test_a_carrier_whose_uploads_others_have_stopped_removes_what_has_appeared",
            *(f"{each}::{_ALL_OR_NONE}" for each in (HDFS_STEPS, DISK_STEPS)),
        ),
    ),
    _fault(
        115,
        "files that appear while uploads are stopped are not seen",
        (
            "steps",
            "yield\n        there = files.look((*intent.add, *intent.remove))",
            "yield\n        there = there | files.look(intent.remove) - set(intent.add)",
        ),
        found_by=f"{BUCKET_STEPS}::test_files_that_appear_just_before_they_are_stopped_are_published",
    ),
    _fault(
        135,
        "a run takes over what another run has begun to publish",
        (
            "PositionLog.settle",
            "if end is not None:\n            raise PositionPendingError",
            "if end is None:\n            raise PositionPendingError",
        ),
        ("PositionLog.settle", "if end is None or end.superseded_by is None:  # its run", "if end is None:  # its run"),
        found_by=(POSITION_MACHINE, f"{POSITIONS}::test_what_was_claimed_and_not_published_waits_for_its_run"),
    ),
    _fault(
        136,
        "a run publishes what was given to another run",
        (
            "PositionLog.check_own",
            "if end is not None and end.superseded_by is not None:",
            "if end is not None and end.superseded_by is not None and increment.is_empty:",
        ),
        (
            "PositionLog.check_own",
            "if increment.number not in self.known(self._verdict_now(last)).bounds:",
            "if increment.is_empty and increment.number not in self.known(self._verdict_now(last)).bounds:",
        ),
        (
            "PositionLog.claim",
            "if end is not None and end.superseded_by is not None:",
            "if end is not None and end.superseded_by is not None and increment.is_empty:",
        ),
        found_by=(POSITION_MACHINE, f"{POSITIONS}::test_what_nobody_has_claimed_is_the_next_runs"),
    ),
    _fault(
        137,
        "an increment counts as published when one of its sinks has it",
        ("PositionLog.settle", "or all(state is SinkState", "or any(state is SinkState"),
        found_by=POSITION_MACHINE,
    ),
    _fault(
        138,
        "files of an increment that was given up count as read",
        ("PositionLog.known", "is Settlement.CONSUMED:", "is not None:"),
        found_by=(POSITION_MACHINE, f"{POSITIONS}::test_what_nobody_has_claimed_is_the_next_runs"),
    ),
    _fault(
        139,
        "a run that died while it took its increment takes another one",
        ("PositionLog._append", "self._note_run(before)", "pass"),
        found_by=f"{POSITIONS}::test_a_run_that_died_while_it_took_its_increment_finds_it_whenever_it_is_cleared",
    ),
    _fault(
        122,
        "rows that equal a row which is taken away stay",
        (
            "UNRECORDED",
            '"spark.sql.optimizer.replaceExceptWithFilter": "false"',
            '"spark.sql.optimizer.replaceExceptWithFilter": "true"',
        ),
        found_by="spark/operators/test_readers_agree.py::test_what_equals_a_row_that_is_taken_away_goes_too[a double]",
    ),
    _fault(
        130,
        "a run publishes over a version that it has not read",
        (
            "TargetVersions.refuse_base",
            "if (other := self.other_since(read.number)) is None:",
            "if True or (other := self.other_since(read.number)) is None:",
        ),
        found_by=(
            f"{PREVIOUS}::{_LOSE_NOTHING}",
            f"{PREVIOUS}::test_an_unreadable_record_counts_as_one_of_another_run",
        ),
    ),
    _fault(
        131,
        "a run that has published reads its own rows as the previous version",
        (
            "TargetVersions.is_own",
            "for one in self.ledger.of_this_run(self.target, None, self.number, given_up=True)",
            "for one in self.ledger.of_this_run(self.target, None, 0, given_up=True)",
        ),
        found_by=f"{PREVIOUS}::{_LOSE_NOTHING}",
    ),
    _fault(
        132,
        "a version that another run replaces while it is read is staged",
        ("refuse_changed", "if ledger.records.next_number(read.target) > read.number:", "if False:"),
        found_by=f"{PREVIOUS}::test_a_version_that_others_replace_while_it_is_read_is_not_staged",
    ),
    _fault(
        133,
        "a publication without a date hides that of a later date",
        (
            "TargetVersions.refuse_backfill",
            "last = self._last(0, is_dated=True)",
            "last = (any := self._last(0, is_dated=False)) and any.run_date and any",
        ),
        found_by=f"{PREVIOUS}::test_a_run_is_refused_if_a_later_one_has_published[published3-2024-01-02-True]",
    ),
    _fault(
        134,
        "an append takes its place behind others though it has read the version before them",
        ("FileSink.prepare", "in _KEEPS_FILES and self._base() is None else None", "in _KEEPS_FILES else None"),
        found_by="spark/region/test_previous_version.py::"
        "test_an_append_does_not_take_a_later_place_than_the_version_it_read",
    ),
    _fault(
        140,
        "a total before a limit is counted by the job that stops early",
        (
            "why_counted_apart",
            "return _why_partly_read(node_id, readers) if isinstance(operator, TotalContract) else None",
            "return None",
        ),
        found_by=(
            f"{TOTALS}::test_a_total_is_of_all_rows[a limit after it reads a part]",
            "compiler/test_counted_apart.py::test_a_plan_shows_why_a_total_has_a_job_of_its_own[a limit]",
        ),
    ),
    _fault(
        141,
        "a total whose rows Spark has counted twice decides whether the task fails",
        (
            "Contract._values",
            "if (self.counts_samples or self.operator.needs_exact_counts()) and is_repeated():",
            "if False:",
        ),
        found_by=f"{TOTALS}::test_rows_that_spark_has_counted_twice_are_counted_again",
    ),
    _fault(
        142,
        "a total whose counting the optimizer removed is that of no rows",
        ("Contract._values", "if is_total and not values:", "if False:"),
        found_by=f"{TOTALS}::test_a_total_is_of_all_rows[nothing of it is read]",
    ),
    _fault(
        143,
        "a contract that nothing reads is not checked",
        ("why_counted_apart", 'return "nothing reads its rows"', "return None"),
        found_by=f"{TOTALS}::test_a_contract_that_nothing_reads_is_counted",
    ),
    _fault(
        144,
        "a job of its own counts other rows than the sink gets",
        ("RegionEvaluation._reads_again", "if splits or (operator.node_id in self._apart", "if splits or (False"),
        found_by=f"{TOTALS}::test_rows_that_may_vary_are_the_same_for_the_total_and_the_sink",
    ),
    _fault(
        68,
        "files that change while a loop reads them are not noticed",
        ("RegionEvaluation._settle_reads", "if is_settled:", "if False:"),
        found_by=f"{OWN_READS}::test_files_that_change_while_a_loop_reads_them_fail_the_attempt",
    ),
    _fault(
        166,
        "a folder that another process removes while it is empty is not created again",
        ("in_staging_folder", "for _ in range(MOST_REMOVALS):", "for _ in range(0):"),
        found_by=f"{FOLDER_ACCESS}::test_a_folder_that_others_remove_while_it_is_empty_is_created_again",
    ),
    _fault(
        145,
        "the partition of a run keeps its old rows if it has no new ones",
        ("_folders_to_empty", "if ticket.partition is None:", "if True:"),
        found_by=(f"{OWN_PARTITIONS}::test_a_partition_without_rows_is_empty_and_others_stay", "machine: files"),
    ),
    _fault(
        146,
        "rows of a partition for which the run is not responsible are published",
        ("Publisher.prepare", "ticket.partition.refuse_others(file.folder for file in files)", "pass"),
        found_by=(
            f"{OWN_PARTITIONS}::test_rows_of_another_partition_fail_before_anything_is_published",
            "machine: files",
        ),
    ),
    _fault(
        147,
        "rows that another run has published meanwhile stay in a partition that is emptied",
        (
            "_renew",
            "replaced = (*intent.replaces, *_folders_to_empty(ticket, there, intent.replaces))",
            "replaced = intent.replaces",
        ),
        found_by=(
            f"{OWN_PARTITIONS}::test_of_two_runs_at_once_that_are_responsible_for_a_day_the_last_one_counts[empty]",
            "machine: files",
        ),
    ),
    _fault(
        148,
        "a link to nothing passes for a source that is missing",
        ("_why_unknown", "if os.path.lexists(path) else None", "if False else None"),
        found_by=f"{MISSING_FILES}::test_what_only_looks_missing_on_a_disk_fails",
    ),
    _fault(
        149,
        "a parameter has the type that its value shows, not the declared one",
        ("with_types", 'if not typed or ":" not in text:', "if True:"),
        found_by=f"{PARAMETER_TYPES}::test_a_typed_parameter_has_its_value_and_its_type",
    ),
    _fault(
        150,
        "any file under the name counts as the new one",
        ("OneFile.look", "self.store.file_id(self.intent.target) == self.new.id", "True"),
        found_by=(
            f"{ONE_FILE}::test_in_any_order_readers_see_the_old_file_or_the_new_one[replaces-disk]",
            f"{ONE_FILE}::test_what_is_given_up_never_appears_later[hdfs]",
        ),
    ),
    _fault(
        151,
        "what is given up aborts the uploads of others to the same name",
        (
            "UploadedFile.stop",
            "self.store.abort(self._uploads)",
            "self.store.abort_uploads(self.intent.target.rpartition('/')[0], {self.intent.target})",
        ),
        found_by=f"{ONE_FILE}::test_a_carrier_that_wakes_up_after_a_later_publication_changes_nothing[1-bucket]",
    ),
    _fault(
        152,
        "the old file is removed before the new one takes its place",
        ("FileOnDisk._empty", '_unlink(target.with_name(f".{name}.crc"))', "_unlink(target)"),
        found_by=f"{ONE_FILE}::test_in_any_order_readers_see_the_old_file_or_the_new_one[replaces-disk]",
    ),
    _fault(
        153,
        "a file that comes while rows are written is replaced, though there may be none",
        ("Publisher.prepare", "if folder.is_file:", "if False:"),
        found_by=(
            "spark/publishing/test_single_file.py::"
            "test_a_file_that_comes_while_rows_are_written_is_not_replaced_by_error_if_exists"
        ),
    ),
    _fault(
        161,
        "a replay reads what the target of a previous version holds now",
        ("PreviousVersions.read", "if self.task.attempt.execution_id == REPLAY:", "if False:"),
        found_by=(
            f"{REPLAYED}::test_the_previous_version_is_the_one_that_the_execution_read",
            f"{REPLAYED}::test_a_lost_copy_is_not_replaced_by_what_is_there_now",
        ),
    ),
    _fault(
        162,
        "a replay takes a new increment if that of its run is gone",
        ("copy_increments", "raise PositionError(", "continue\n            raise PositionError("),
        found_by=f"{REPLAYED}::test_an_increment_that_was_never_taken_is_not_taken_by_a_replay",
    ),
    _fault(
        163,
        "of several operators with one name, the first is counted",
        ("_numbered", "found[name if times[name] == 1 else", "found[name if name not in found else"),
        found_by="spark/region/test_dry_run.py::test_a_name_that_operators_share_is_refused_until_one_of_them_is_named",
    ),
    _fault(
        164,
        "what a driver published just before it died counts as not published",
        ("PositionLog._sink_state", "if Ending.CARRIED_OUT in endings:", "if False:"),
        found_by=f"{NEW_FILES}::test_a_driver_that_dies_between_publication_and_report_has_moved_the_position",
    ),
    _fault(
        165,
        "each new file is listed by a task of its own",
        ("_load", "if len(found) <= _MOST_TASKS:", "if True:"),
        found_by=f"{NEW_FILES}::test_many_new_files_are_listed_by_few_tasks",
    ),
    _fault(
        154,
        "an attempt that wakes up calls a function although a later one has delivered",
        (
            "RowDelivery._refuse_if_delivered",
            "if self.ledger.of_this_run(own.target, own.operator_id, now, since=own.number):",
            "if False:",
        ),
        found_by=(f"{FUNCTION_SINKS}::test_an_attempt_that_wakes_up_after_a_later_one_has_delivered_delivers_nothing",),
    ),
    _fault(
        155,
        "a function is called before the other sinks of its region are published",
        (
            "OperatorCoordinators.commit",
            "sorted(self.members, key=lambda member: _is_published_last(member[0]))",
            "self.members",
        ),
        found_by=f"{FUNCTION_SINKS}::test_a_function_is_called_when_all_other_sinks_are_published[False]",
    ),
    _fault(
        156,
        "only the first of several paths is read",
        (
            "FileConnector.each_place",
            "tuple(replace(self, path=path) for path in self.path)",
            "(replace(self, path=self.path[0]),)",
        ),
        found_by=(
            f"{SEVERAL_PATHS}::test_lines_of_text_and_a_path_with_a_comma",
            "declaration/test_paths_of_sources.py::test_each_path_is_a_place_of_its_own",
        ),
    ),
    _fault(
        157,
        "a file below two paths of a source is read twice",
        ("refuse_files_in_two", "if file in below:", "if False:"),
        found_by=f"{SEVERAL_PATHS}::test_a_file_below_two_paths_is_refused",
    ),
    _fault(
        158,
        "a run that is cleared merges its older files, and the log does not say what they replace",
        ("PositionLog.overtaken_by", "if isinstance(entry, Increment) and not entry.is_empty", "if False"),
        found_by=f"{POSITIONS}::test_the_first_run_that_has_published_later_files_is_known",
    ),
    _fault(
        159,
        "files that a later run has not published count as replaced",
        ("PositionLog.overtaken_by", "and verdict is Settlement.CONSUMED", "and True"),
        found_by=f"{POSITIONS}::test_the_first_run_that_has_published_later_files_is_known",
    ),
    _fault(
        167,
        "a report reads all columns by a star, and only those that it names were staged",
        ("_names_in", "or _has_star(plain)", ""),
        found_by=f"{SHARED_RESULTS}::test_each_reader_computes_what_is_read_in_another_way_too",
    ),
    _fault(
        168,
        "rows that the condition of a report leaves out are computed and staged",
        ("_shared_reads", "not all(map(_has_no_condition, _after(readers, here))) or ", ""),
        found_by=f"{SHARED_RESULTS}::test_each_reader_computes_what_is_read_in_another_way_too",
    ),
    _fault(
        169,
        "a column is not staged for reports that write its name in other letters",
        ("SharedResult.columns", "for each in (name.lower(), name.upper())", "for each in (name,)"),
        found_by=f"{SHARED_RESULTS}::test_names_are_compared_as_spark_does",
    ),
    _fault(
        170,
        "a report that cannot be analysed fails after the rows that it would have read were computed",
        (
            "RegionEvaluation._columns_to_share",
            "columns if columns is not None and self._can_be_read(operator, columns) else None",
            "columns",
        ),
        found_by="spark/region/test_computed_once.py::"
        "test_a_report_that_cannot_be_analysed_fails_before_rows_are_computed",
    ),
    _fault(
        171,
        "a flush begins while a batch is not committed",
        ("begin_flush", 'last is None or last != last_batch(store, f"{checkpoint}/commits")', "last is None"),
        found_by=f"{BATCH_LOG}::test_a_flush_is_a_batch_without_rows_and_with_the_watermark",
    ),
    _fault(
        172,
        "rows that arrive after the end of a stream are late, and no run fails",
        ("check_not_ended", 'before is None or before["batchWatermarkMs"] != END_OF_TIME_MS', "True"),
        found_by=(
            f"{BATCH_LOG}::test_only_a_batch_with_something_new_is_refused_after_the_end",
            f"{FLUSHED}::test_a_stream_that_has_ended_refuses_new_rows",
        ),
    ),
    _fault(
        173,
        "a worker that starts no Spark leaves windows that the end of the run completes",
        ("_committed_offsets", "until is not None and watermark_of(store, checkpoint, batch) < until", "False"),
        found_by=f"{BATCH_LOG}::test_what_waits_for_the_watermark_is_for_spark",
    ),
    _fault(
        174,
        "a run for a day to come makes all rows until then late",
        ("_Stream._flush", "until < END_OF_TIME_MS and moment(until / 1000) > now + _AHEAD", "False"),
        found_by=f"{FLUSHED}::test_an_interval_that_has_not_ended_makes_no_row_late",
    ),
    _fault(
        175,
        "the stream of a function continues in another folder, by the offsets of the first",
        ("FunctionRows.check_start", ", **noted}, log, last)", "}, log, last)"),
        found_by=f"{OF_FUNCTIONS}::test_another_place_is_refused",
    ),
    _fault(
        176,
        "two functions' streams have each other's offsets",
        ("_Stream._source_of", "if one and is_same_object(self.spark, one.relation, leaf.relation)", "if one"),
        found_by=f"{OF_FUNCTIONS}::test_each_source_has_its_own_offsets",
    ),
    _fault(
        177,
        "a stream that has published fifty thousand batches can publish no more: its ledger has too many names",
        ("LedgerRecords.fold", "if old and put_folded(", "if False and put_folded("),
        found_by=f"{FOLDED}::test_the_records_of_a_stream_do_not_grow",
    ),
    _fault(
        178,
        "a driver that dies while it folds a ledger leaves publications that count as open",
        (
            "LedgerRecords.fold",
            "self.store.delete(self.layout.intent(target, number))\n                "
            "self.store.delete(self.layout.done(target, number))",
            "self.store.delete(self.layout.done(target, number))\n                "
            "self.store.delete(self.layout.intent(target, number))",
        ),
        found_by=f"{FOLDED}::test_a_ledger_that_folds_answers_as_one_that_does_not",
    ),
    _fault(
        179,
        "a batch is published again, and new rows are left out, from an old copy of its checkpoint",
        ("Ledger._refuse_older_checkpoint", "or there[1] < own[1]", "or there[1] < own[1] + 100"),
        found_by=(f"{FOLDED}::test_a_batch_before_the_last_one_is_refused", "machine: stream"),
    ),
    _fault(
        180,
        "files with columns only count as rows, since the record that names them is folded",
        ("LedgerRecords.fold", " and not markers_in(document)", ""),
        found_by=f"{FOLDED}::test_files_with_columns_only_are_still_known",
    ),
    _fault(
        181,
        "late rows of a batch are lost, since nothing had arrived before it for a while",
        ("_Stream._note", "_COMPUTED not in batch.durationMs", "False"),
        found_by="spark/streams/test_continuous.py::test_what_is_read_and_late_is_known_of_batches_behind_idle_times",
    ),
    _fault(
        182,
        "behind moved states, what was published behind a savepoint is appended again",
        ("begin_with_savepoint", "last != saved.own.batch", "False"),
        found_by=f"{RESCALED}::test_the_batch_behind_moved_states_is_not_appended_again",
    ),
    _fault(
        183,
        "states in memory are moved, which Spark refuses",
        ("StateBackend._can_rescale", "found.provider == _PROVIDERS[StateBackendType.ROCKSDB]", "True"),
        found_by=f"{RESCALED}::test_states_in_memory_keep_their_number_and_it_is_said",
    ),
    _fault(
        184,
        "a stream begins with a copy of which gc has removed a part while its driver slept",
        ("begin_with_savepoint", "last_query(store, layout, own) is None", "False"),
        found_by=f"{UNFINISHED}::test_a_stream_does_not_begin_with_a_copy_that_was_removed_meanwhile",
    ),
    _fault(
        185,
        "gc removes a copy of a checkpoint whose slow writer goes on",
        ("_is_in_use", "all(", "False and all("),
        found_by=f"{UNFINISHED}::test_a_copy_that_goes_on_meanwhile_is_kept",
    ),
    _fault(
        186,
        "a stream from a savepoint appends what another stream from the same one has appended",
        ("Ledger._refuse_rows_behind", "if stream_id not in passed and family_of(stream_id) in families:", "if False:"),
        found_by=f"{FOLDED}::test_rows_of_another_stream_from_the_same_savepoint_are_not_appended_again",
    ),
    _fault(
        187,
        "files are read twice, since the name of another file of their batch is a pattern",
        ("BatchFiles.check", "_refuse_patterns(map(plain_place, self.files))", "pass"),
        found_by="spark/streams/test_streams.py::test_a_file_whose_name_is_a_pattern_is_refused_in_a_batch",
    ),
    _fault(
        188,
        "gc removes the checkpoint of a stream whose source has a long uid",
        (
            "known_name",
            "return name_of_segment(segment) or ShortenedName(segment)",
            "return name_of_segment(segment) or segment",
        ),
        found_by="staging/streams/test_checkpoints.py::test_streams_of_long_names_are_found",
    ),
    _fault(
        189,
        "a batch that was planned again counts as published",
        ("were_planned_apart", "all(plans) and plans[0] != plans[1]", "False"),
        found_by=(f"{FOLDED}::test_a_batch_that_was_planned_again_is_refused", "machine: stream"),
    ),
    _fault(
        190,
        "nothing has arrived, although files were listed for a batch that never began",
        ("_has_more", "return offset is not None and last > offset", "return False"),
        found_by="staging/streams/test_batch_log.py::test_files_that_are_listed_and_in_no_batch_have_arrived",
    ),
    _fault(
        191,
        "nothing has arrived in a folder that cannot be listed",
        ("is_folder_read", ", onerror=_refuse)", ")"),
        found_by="staging/streams/test_batch_log.py::test_what_cannot_be_looked_at_is_for_spark",
    ),
    _fault(
        192,
        "a driver that wakes a hundred batches later publishes its batch again",
        ("Ledger._is_late", "if number not in self.records.folded(target):", "if True:"),
        found_by=f"{FOLDED}::test_a_driver_that_wakes_when_its_number_is_folded_publishes_nothing",
    ),
    _fault(
        193,
        "a driver is killed while it begins a stream of two sources, and no run can continue it",
        ("complete_stream", "if found is not None and not store.keys(layout.turns(found)):", "if False:"),
        found_by="staging/streams/test_checkpoints.py::test_a_driver_that_was_killed_when_it_began_is_followed",
    ),
    _fault(
        194,
        "a stream from a savepoint whose checkpoint is lost appends all rows again",
        (
            "_refuse_lost_savepoint",
            "if origin is not None and (last is None or last < origin.first_batch - 1):",
            "if False:",
        ),
        found_by="staging/streams/test_savepoints.py::test_a_checkpoint_without_what_its_savepoint_had_is_refused",
    ),
    _fault(
        195,
        "a stream is reset while a batch is decided, of which a part may be published",
        ("KnownStream.check_finished", "if stream_id == self.stream_id:", "if False:"),
        found_by="staging/streams/test_checkpoints.py::test_a_stream_is_not_reset_while_a_batch_is_decided_only",
    ),
    _fault(
        196,
        "a batch that a driver begins while a worker looks counts as published",
        (
            "_committed_offsets",
            "batch = last_begun(store, checkpoint)",
            "left = uncommitted_batch(store, checkpoint)\n    batch = last_begun(store, checkpoint)",
        ),
        ("_committed_offsets", 'batch != last_batch(store, f"{checkpoint}/commits")', "left is not None"),
        found_by="staging/streams/test_batch_log.py::test_what_another_process_does_meanwhile_is_for_spark",
    ),
    _fault(
        197,
        "a driver publishes what it decides while its stream is reset",
        ("Ledger.decide", "self.check_turn()", "pass"),
        found_by=(
            "staging/publications/test_ledger.py::test_what_a_driver_decides_when_its_stream_is_reset_is_given_up"
        ),
    ),
    _fault(
        198,
        "what a driver has decided while its stream was reset is published by the next one",
        ("Ledger._was_reset", "batch is not None and not self._is_continued", "False and not self._is_continued"),
        found_by=(
            "staging/publications/test_ledger.py::test_what_a_driver_decides_when_its_stream_is_reset_is_given_up"
        ),
    ),
    _fault(
        199,
        "a reset looks for what is decided before it takes the stream from its driver",
        ("KnownStream.reset", "self.check_finished(store)  # what is decided from here on is not carried out", "pass"),
        found_by="staging/streams/test_checkpoints.py::test_a_driver_that_decides_while_its_stream_is_reset_is_noticed",
    ),
    _fault(
        200,
        "a state is continued with other values of the parameters before it",
        ("KeptState.has_other_values", "are_known_to_differ(self.values, other.values)", "False"),
        found_by=(
            "staging/streams/test_checkpoints.py::test_a_state_is_continued_with_the_values_of_parameters_that_it_has"
        ),
    ),
    _fault(
        201,
        "an instance of a mapped group continues the stream of another value",
        ("_refuse_other", "are_known_to_differ(before.mapped, now.mapped)", "False"),
        found_by=(
            "staging/streams/test_checkpoints.py::"
            "test_an_instance_of_a_mapped_group_continues_the_stream_of_its_value_only"
        ),
    ),
    _fault(
        202,
        "a file that one source has read counts as read by another one of the same folder",
        ("_read_so_far", "/sources/{number}", "/sources/0"),
        found_by="staging/streams/test_batch_log.py::test_what_one_source_has_read_is_not_read_by_another",
    ),
    _fault(
        203,
        "partitions of a table keep their rows if the session overwrites partitions",
        ("_carry_out", "with pinned(spark, _REPLACES_THE_WHOLE):", "if True:"),
        found_by="spark/connectors/test_connectors.py::test_a_table_is_replaced_whole_whatever_the_session_says",
    ),
    _fault(
        204,
        "files beside those in the log of a stream of Spark are left out",
        ("_refuse_unlogged_files", "if not (unlogged := unlogged_files(spark, listing)):", "if not (unlogged := []):"),
        found_by=("spark/connectors/test_table_folders.py::test_what_a_stream_of_spark_writes_is_read_as_its_log_says"),
    ),
    _fault(
        205,
        "files of a table are read without its log, with rows that were replaced",
        ("refuse_folders_of_tables", "if kind := _table_at(spark, whole):", "if kind := None:"),
        found_by="spark/connectors/test_table_folders.py::test_files_of_a_table_are_not_read_without_its_log",
    ),
    _fault(
        206,
        "a star behind DISTINCT stands for the columns that the reports of a shared result name",
        ("_has_star", "before in _BEFORE_STARS", 'before in ("(", ",", ".")'),
        found_by="explain/test_shared_results.py::test_each_reader_computes_what_is_read_in_another_way_too",
    ),
    _fault(
        207,
        "a query that names an input twice sees other rows each time",
        ("_read_again", "FunctionOperator | Sql", "FunctionOperator"),
        found_by=(
            "spark/repeatability/test_varying_rows.py::"
            "test_an_operator_that_reads_its_input_several_times_sees_the_same_rows"
        ),
    ),
    _fault(
        208,
        "a function that joins its input with its own total sees other rows each time",
        ("_read_again", "FunctionOperator | Sql", "Sql"),
        found_by=(
            "spark/repeatability/test_varying_rows.py::"
            "test_an_operator_that_reads_its_input_several_times_sees_the_same_rows"
        ),
    ),
    _fault(
        209,
        "the times of an interval join may be texts, which Spark compares as such",
        ("require_time", "if not isinstance(kind, DateType | TimestampType | TimestampNTZType):", "if False:"),
        found_by="spark/columns/test_common_types.py::test_a_time_is_neither_a_text_nor_a_number",
    ),
    _fault(
        210,
        "a task is green though others have given up what it has decided",
        ("is_carried_out", "if found is Ending.GIVEN_UP:", "if False:"),
        ("is_carried_out", "found is Ending.CARRIED_OUT", "found is not Ending.OPEN"),
        found_by=(
            "spark/connectors/test_decisions_of_tables.py::"
            "test_what_others_give_up_before_its_execution_carries_it_out_is_not_published"
        ),
    ),
    _fault(
        211,
        "rows of a run that others have updated beside their file are there twice when it is cleared",
        ("AppendedRows.found", 'if has_all_files and not (has_marks and "changes" in changes):', "if has_all_files:"),
        found_by=(
            "spark/connectors/test_decisions_of_tables.py::test_rows_that_may_be_in_files_of_others_are_not_replaced"
        ),
    ),
    _fault(
        212,
        "columns of Arrow's batches are taken by position",
        ("with_named_columns", "yield batch.select(names)", "yield batch"),
        found_by="spark/operators/test_arrow_batches.py::test_columns_in_another_order_are_found_by_name",
    ),
    _fault(
        213,
        "a large join over a part of text with a collation loses rows",
        ("UNRECORDED", 'bloomFilter.enabled": "false"', 'bloomFilter.enabled": "true"'),
        found_by=(
            "spark/operators/test_readers_agree.py::"
            "test_a_join_over_a_part_of_text_with_a_collation_finds_what_is_equal"
        ),
    ),
    _fault(
        214,
        "a changed filter behind windows finds a state without the keys that nothing has read",
        ("RegionEvaluation._is_fixed", "return output[0] in self.whole and output[1] is None", "return False"),
        found_by=("spark/streams/test_whole_states.py::test_what_is_behind_a_state_does_not_change_what_is_kept"),
    ),
    _fault(
        215,
        "a batch is published with rows of a bounded source whose files have changed meanwhile",
        ("_Stream._run_region", "self.run.evaluation.check_sources()", "pass"),
        found_by=(
            "spark/streams/test_rows_of_batches.py::"
            "test_files_of_a_bounded_source_that_change_between_batches_are_noticed"
        ),
    ),
    _fault(
        216,
        "a state that an earlier version has kept in part is continued as if it were whole",
        ("KeptState.was_kept_in_part", "self.is_whole and not before.is_whole", "False"),
        found_by=(
            "staging/streams/test_checkpoints.py::test_a_state_that_an_earlier_version_has_kept_in_part_is_refused"
        ),
    ),
    _fault(
        217,
        "a staged result is read with other values of parameters than those that it was computed with",
        ("StagingArea.check_values", "if others := other_values(before, now):", "if others := ():"),
        found_by=(
            "spark/region/test_changed_values.py::test_a_result_is_read_only_with_the_values_that_it_was_computed_with"
        ),
    ),
    _fault(
        218,
        "an increment counts as published without a sink that was added between two attempts of its run",
        ("PositionLog.sink_states", "self._reached(increment)[-1]", "self._reached(increment)[0]"),
        found_by=(
            f"{POSITIONS}::test_a_sink_that_is_added_between_two_attempts_has_to_publish_too",
            f"{POSITIONS}::test_what_is_published_counts_though_the_id_of_a_sink_has_changed",
        ),
    ),
    _fault(
        219,
        "a task that is cleared after it succeeded keeps its old regions if a report was added to it",
        ("_has_succeeded", "or not _begun_before(before.store, task)", ""),
        found_by=(
            f"{KEPT}::test_a_task_that_is_cleared_after_it_succeeded_computes_all_again_though_a_report_was_added"
        ),
    ),
    _fault(
        220,
        "a column names the file of the staging root that a row was read back from",
        ("RegionEvaluation.run", "_refuse_names_of_our_files(rows)", "pass"),
        ("without_files", "return rows_of_plan(spark, project)", "return rows"),
        found_by="spark/region/test_names_of_files.py::test_no_column_names_a_staged_file",
    ),
    _fault(
        221,
        "rows are sorted again by a column with a quoted name that has other values by then",
        ("_may_be_column", 'return token.text.startswith("`")', "return token.text[1:-1].isidentifier()"),
        found_by="declaration/test_row_order.py::test_a_changed_column_is_not_sorted_by_whatever_its_name_is",
    ),
    _fault(
        223,
        "a decimal comma in XML is deleted, and the last of several elements is taken",
        ("_has_records", 'if connector.spark_format.lower() != "xml":', "if True:"),
        found_by="spark/connectors/test_records_of_xml.py::test_what_does_not_fit_fails_whatever_is_read",
    ),
    _fault(
        224,
        "a file of XML without an element of the rowTag has no rows, and nothing says so",
        ("_checked", "_check_row_tag(files)", "pass"),
        found_by="spark/connectors/test_records_of_xml.py::test_a_file_without_records_is_refused_unless_it_is_empty",
    ),
    _fault(
        225,
        "letters that the encoding of a sink does not have are published as question marks",
        ("_of_charset", "() if has_all_letters(charset) else columns", "()"),
        found_by=(
            "spark/publishing/test_charsets_of_files.py"
            "::test_what_an_encoding_or_a_line_end_would_change_is_not_published"
        ),
    ),
    _fault(
        226,
        "a folder without a value gives a NOT NULL column NULLs",
        ("TextFiles._misfits_of_folders", "if not field.nullable", "if False"),
        found_by=(
            "spark/connectors/test_folder_values.py"
            "::test_a_folder_without_a_value_is_refused_for_a_column_that_is_not_null"
        ),
    ),
    _fault(
        227,
        "None and lists of a Dag's params become text in a task group, and are bound",
        (
            "DeploymentTaskOperator.render_template_fields",
            'check_params(self.arguments.pipeline, context.get("params", {}), given)',
            "pass",
        ),
        found_by="airflow/test_task_groups.py::test_what_would_become_text_is_no_value_of_a_param_of_the_dag",
    ),
    _fault(
        228,
        "a trigger rule of default_args lets tasks run without the staged rows that they read",
        ("add_tasks", "_ALL_SUCCESS if name in readers else {}", "{}"),
        found_by=(
            "airflow/test_airflow_arguments.py::"
            "test_a_trigger_rule_is_that_of_tasks_that_read_no_other_task_of_the_pipeline"
        ),
    ),
    _fault(
        229,
        "a run that was started for a day has another run_date when a backfill repeats it",
        ("_is_asked_for", 'if run.run_type != "backfill":', "if True:"),
        found_by=f"{RUN_DAYS_TESTS}::test_run_date_is_the_day_in_the_zone_that_the_pipeline_asks_for",
    ),
    _fault(
        230,
        "a sink whose place has typed parameters has no asset event in a task group",
        ("Arguments.changed_by", "**dict(_typed(self.defaults, dict(self.pipeline.params)))", "**{}"),
        found_by="airflow/test_task_groups.py::test_a_sink_whose_place_has_typed_parameters_has_an_event",
    ),
    _fault(
        231,
        "a pattern reads what a folder with a hidden name has, and reads it again under its later name",
        ("visible_pattern", 'return "/".join(_visible(name) for name in pattern.split("/"))', "return pattern"),
        found_by="spark/positions/test_new_files.py::test_a_folder_that_gets_its_name_when_it_is_complete_is_read_once",
    ),
    _fault(
        232,
        "sources of one database with other options have two snapshots",
        ("_Snapshots._of", "key = _server(connector)", "key = (connector.url, connector.options)"),
        found_by="spark/connectors/test_jdbc_snapshots.py"
        "::test_sources_of_one_database_have_one_snapshot_whatever_their_options",
    ),
    _fault(
        233,
        "a database's table has other texts and days than the rows that were sent",
        ("JdbcSink.prepare", "        watched.check()\n", ""),
        found_by="spark/connectors/test_jdbc.py"
        "::test_a_value_that_spark_sends_as_another_one_is_refused_before_publishing",
    ),
    _fault(
        234,
        "an array of texts with more dimensions than the first one has names of Java's objects",
        ("_without_java_arrays", "checked[field.name] = when(", "when("),
        found_by="spark/connectors/test_jdbc.py"
        "::test_texts_of_arrays_with_more_dimensions_are_no_names_of_java_s_objects",
    ),
    _fault(
        235,
        "readers of Parquet pass over a part of a file that has only -0.0, where a condition asks for 0.0",
        ("UNRECORDED", 'dictionary.enabled": "false"', 'dictionary.enabled": "true"'),
        found_by="spark/connectors/test_typed_files.py"
        "::test_a_condition_that_files_are_asked_for_finds_zeros_of_both_signs",
    ),
    _fault(
        236,
        "a database decides conditions on numbers of single precision, and finds other rows",
        ("_hidden_from_the_database", "hidden[field.name] = -(-value)", "hidden[field.name] = value"),
        found_by="spark/connectors/test_jdbc.py::test_a_condition_finds_in_a_database_what_it_finds_in_spark",
    ),
    _fault(
        237,
        "what a function over pandas returns is changed: 5 for TIMESTAMP is five microseconds after 1970",
        ("_change_of_type", "if found in refused:", "if not refused:"),
        found_by="spark/operators/test_pandas_frames.py::test_results_are_exactly_what_was_returned_or_refused",
    ),
    _fault(
        238,
        "a table whose partitions were dropped is replaced as if all of it were one partition",
        ("partitions_words", ' if transform != "void"', ""),
        found_by="declaration/test_iceberg_declaration.py::test_a_partition_that_was_dropped_is_none",
    ),
    _fault(
        239,
        "rows that a function over pandas returns for a struct are taken by position, whatever their names",
        ("_in_struct", "if has_fields and has_others(value):", "if False:"),
        found_by="spark/operators/test_pandas_frames.py::test_fields_of_structs_are_kept_or_refused",
    ),
    _fault(
        240,
        "a NULL that a function returns for a column that is declared NOT NULL is not noticed",
        ("_with_declared_columns", "if loose == declared:", "if True:"),
        found_by=(
            "spark/operators/test_pandas_frames.py::test_a_null_in_a_column_that_is_declared_not_null_fails_the_task"
        ),
    ),
)
