# One image for Airflow's services, Spark's driver, master and workers: all have the same Python and the same Spark.
# It uses nothing that only BuildKit has.
ARG BASE=debian:12-slim

FROM ${BASE} AS environment
LABEL graph-compiler.stage=environment
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY requirements-uv.lock requirements-image.lock /build/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-deps --require-hashes -r /build/requirements-uv.lock
# --no-deps: the lock is complete, and resolving anew would add pyspark-client (pyproject.toml)
RUN VIRTUAL_ENV=/opt/venv /opt/venv/bin/uv pip install --no-cache --no-deps --compile-bytecode --require-hashes -r /build/requirements-image.lock
COPY pyproject.toml LICENSE /build/
COPY docs/package.md /build/docs/
COPY schemas /build/schemas
COPY plugins /build/plugins
RUN VIRTUAL_ENV=/opt/venv /opt/venv/bin/uv pip install --no-cache --no-deps --compile-bytecode --no-build-isolation /build \
 && VIRTUAL_ENV=/opt/venv /opt/venv/bin/uv pip uninstall --quiet hatchling pip uv

FROM ${BASE}
# A slim Debian has no folder for manual pages, and Java's package does not install without it.
RUN mkdir -p /usr/share/man/man1 \
 && apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates openjdk-17-jre-headless procps python3 tzdata \
 && rm -rf /var/lib/apt/lists/*
# The owner of all files that containers write. A volume takes the owner of the folder on which it is first mounted.
ARG USER_ID=50000
RUN useradd --uid "${USER_ID}" --no-log-init --create-home --shell /usr/sbin/nologin airflow \
 && install --directory --owner airflow --mode 0700 /opt/airflow /opt/staging /opt/events /opt/spark /opt/logs \
 && install --directory --owner airflow /opt/project/data /opt/project/output
COPY --from=environment /opt/venv /opt/venv
COPY containers /opt/containers
ENV PATH=/opt/venv/bin:/opt/containers:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    AIRFLOW_HOME=/opt/airflow \
    PYTHONPATH=/opt/project \
    PYSPARK_PYTHON=/opt/venv/bin/python \
    SPARK_CONF_DIR=/opt/airflow/spark \
    SPARK_LOCAL_DIRS=/opt/spark
USER airflow
WORKDIR /opt/project
ENTRYPOINT ["with-settings"]
