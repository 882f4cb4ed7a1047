from graph_compiler import AirflowArguments, Csv, Parquet, StreamExecutionEnvironment

airflow = AirflowArguments(
    dag={"max_active_run": 2, "pool": "big", "params": {}},
    default_args={"ownr": "me", "aws_conn_id": "of another operator"},
    task_args={"out": {"pool_slot": 2, "outlets": []}, 3: {}},
)
env = StreamExecutionEnvironment("p", airflow=airflow)
env.from_source(Csv("/in"), "rows").sink_to(Parquet("/out")).name("out")
# graph-compiler validate says:
# pipelines/misspelt_arguments_of_airflow.py: pipeline 'p' has 7 problems
#   airflow.dag has no argument 'max_active_run'
#     allowed: access_control, allowed_run_types, auto_register, catchup, dag_display_name, dagrun_timeout, deadline, disable_bundle_versioning, doc_md, end_date, fail_fast, is_paused_upon_creation, max_active_runs, max_active_tasks, max_consecutive_failed_dag_runs, on_failure_callback, on_success_callback, owner_links, rerun_with_latest_version, start_date, tags, template_searchpath, user_defined_filters and user_defined_macros
#     hint: did you mean 'max_active_runs'?
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   airflow.dag has no argument 'pool'
#     hint: default_args={'pool': …}: it is one of tasks
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   airflow.dag has no argument 'params': it is not passed on
#     hint: the pipeline's parameters
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   default_args has 'ownr', which no task has
#     hint: did you mean 'owner'?
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   task_args['out'] has 'pool_slot', which does not exist
#     allowed: depends_on_past, do_xcom_push, email, email_on_failure, email_on_retry, end_date, execution_timeout, executor, executor_config, ignore_first_depends_on_past, logger_name, map_index_template, max_active_tis_per_dag, max_active_tis_per_dagrun, max_retry_delay, on_execute_callback, on_failure_callback, on_retry_callback, on_skipped_callback, on_success_callback, owner, pool, pool_slots, priority_weight, queue, retries, retry_delay, retry_exponential_backoff, retry_policy, run_as_user, start_date, task_display_name, trigger_rule, wait_for_downstream, wait_for_past_depends_before_skipping and weight_rule
#     hint: did you mean 'pool_slots'?
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   task_args['out'] has 'outlets', which is not passed on
#     hint: the assets of its sinks
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
#   task_args has 3: {}
#     allowed: a name, with a mapping of arguments
#     declared at pipelines/misspelt_arguments_of_airflow.py:8
