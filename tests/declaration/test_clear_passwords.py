"""Secrets in plain text are found in the urls, options and statements of common databases, and nothing else is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler import Jdbc, Secret
from graph_compiler.declaration.connectors.jdbc_url import is_in_url

HELD = (
    "jdbc:oracle:thin:scott/tiger@//db:1521/shop",
    "jdbc:oracle:thin:scott/tiger@db:1521:shop",
    "jdbc:oracle:thin:scott/ti/ger@db:1521:shop",
    'JDBC:ORACLE:oci:"scott"/"ti@ger"@shop',
    "jdbc:oracle:thin:scott[app]/tiger@(DESCRIPTION=(ADDRESS=(HOST=db)))",
    "jdbc:oracle:oci:scott/tiger",
    "jdbc:sqlserver://db:1433;databaseName=shop;user=etl;password=tiger",
    "jdbc:sqlserver://db;Password = {ti;ger};user=etl",
    "jdbc:sqlserver://db;trustStorePassword=tiger",
    "jdbc:sqlserver://db;accessToken=tiger",
    "jdbc:jtds:sqlserver://db/shop;user=etl;PASSWORD=tiger",
    "jdbc:postgresql://db/shop?user=etl&password=tiger",
    "jdbc:postgresql://db/shop?sslpassword=tiger",
    "jdbc:postgresql://db/shop?p%61ssword=tiger",
    "jdbc:postgresql://etl:tiger@db/shop",
    "jdbc:postgresql://etl:1234@db/shop",
    "jdbc:postgresql://etl:ti/ger@db/shop",
    "jdbc:postgresql://etl:ti?ger@db/shop",
    "jdbc:postgresql://etl%3Atiger@db/shop",
    "jdbc:postgresql://etl:{{ var.value.x }}@db/shop",
    "jdbc:mysql://etl:tiger@db/shop",
    "jdbc:mysql://one:3306,etl:tiger@db:3306/shop",
    "jdbc:mysql://address=(host=db)(user=etl)(password=tiger)/shop",
    "jdbc:mysql://(host=db,user=etl,password=tiger)/shop",
    "jdbc:mariadb://db/shop?user=etl&password=tiger",
    "jdbc:db2://db:50000/shop:user=etl;password=tiger;",
    "jdbc:db2://db:50000/shop:password=tiger;",
    "jdbc:teradata://db/PASSWORD=tiger,USER=etl",
    "jdbc:snowflake://a.snowflakecomputing.com/?user=etl&private_key_file_pwd=tiger",
    "jdbc:databricks://h:443/default;AuthMech=3;UID=token;PWD=tiger",
    "jdbc:hive2://h:10000/shop;sasl.qop=auth?hive.token=tiger",
    "jdbc:derby:shop;create=true;bootPassword=tiger",
    "jdbc:h2:mem:shop;USER=etl;PASSWORD=tiger",
)
FREE = (
    "jdbc:oracle:thin:@//db:1521/shop",
    "jdbc:oracle:thin:@db:1521:shop",
    "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=db)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=a/b)))",
    "jdbc:oracle:thin:/@shop",
    "jdbc:oracle:thin:@tcps://db:2484/shop?wallet_location=/w",
    "jdbc:sqlserver://db:1433;databaseName=shop;encrypt=true;integratedSecurity=true",
    "jdbc:postgresql://db:5432/shop",
    "jdbc:postgresql://one:5432,two:5432/shop?targetServerType=primary",
    "jdbc:postgresql://[::1]:5432/shop?ApplicationName=a@b",
    "jdbc:postgresql://db:5432/shop?ApplicationName=a@b",
    "jdbc:postgresql://db:{{ var.value.port }}/shop?ApplicationName=a@b",
    "jdbc:postgresql://etl@db/shop",
    "jdbc:postgresql:shop",
    "jdbc:postgresql://db/passwords",
    "jdbc:mysql://db/shop?passwordCharacterEncoding=UTF-8",
    "jdbc:db2://db:50000/shop:currentSchema=SALES;",
    "jdbc:sqlite:/data/pwd.db",
)


@pytest.mark.parametrize("url", HELD)
def test_a_url_with_a_password_is_refused_and_not_shown(url: str) -> None:
    problems = list(Jdbc(url, table="t").problems())
    words = [problem.message for problem in problems]
    assert "its url holds a password" in words
    assert "tiger" not in str(problems)


@pytest.mark.parametrize("url", FREE)
def test_a_url_without_a_password_is_accepted(url: str) -> None:
    assert list(Jdbc(url, table="t").problems()) == []


_WORDS = st.text("abcxyzABC0189_-.$!*", min_size=1, max_size=12)


@given(
    user=_WORDS.filter(lambda text: not text.isdigit()),
    password=_WORDS,
    kind=st.sampled_from(["postgresql", "mysql", "mariadb", "clickhouse"]),
)
def test_a_login_before_the_host_is_found_whatever_it_is(user: str, password: str, kind: str) -> None:
    assert is_in_url(f"jdbc:{kind}://{user}:{password}@db/shop")
    assert is_in_url(f"jdbc:oracle:thin:{user}/{password}@//db/shop")
    assert is_in_url(f"jdbc:{kind}://db/shop?user={user}&Password={password}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sessionInitStatement", "SET ROLE etl IDENTIFIED BY tiger"),
        ("sessioninitstatement", "begin dbms_session.set_role('etl identified by tiger'); end;"),
        ("sessionInitStatement", "OPEN SYMMETRIC KEY k DECRYPTION BY PASSWORD = 'tiger'"),
        ("sessionInitStatement", "SET ENCRYPTION PASSWORD 'tiger'"),
        ("sessionInitStatement", "SET ENCRYPTION PASSWORD = 'tiger'"),
        ("sessionInitStatement", "SET PASSWORD FOR 'etl'@'%' = 'tiger'"),
        ("sessionInitStatement", "SELECT set_config('app.token', 'tiger', false)"),
        ("sessionInitStatement", "SET app.api_key TO tiger"),
        ("sessionInitStatement", "SET s3_secret_access_key='tiger'"),
        ("sessionInitStatement", "SELECT dblink_connect('host=db user=etl password=tiger')"),
        ("sessionInitStatement", "SET ROLE etl IDENTIFIED BY {{ conn.shop.password }}"),
        ("prepareQuery", "DECLARE @password = 'tiger'"),
        ("connectionProperties", "user=etl;password=tiger"),
        ("socksProxy", "http://etl:tiger@proxy:3128"),
    ],
)
def test_an_option_with_a_secret_is_refused_and_not_shown(key: str, value: str) -> None:
    connector = Jdbc("jdbc:postgresql://db/shop", table="t", options={key: value})
    (problem,) = connector.problems()
    assert problem.message == f"its option '{key}' holds a password or another secret"
    assert "tiger" not in str(problem)
    hidden: Any = {key: Secret("shop", "init")}
    assert list(Jdbc("jdbc:postgresql://db/shop", table="t", options=hidden).problems()) == []


@pytest.mark.parametrize(
    "statement",
    [
        "SET search_path = sales",
        "SET password_encryption = 'scram-sha-256'",
        "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD'",
        "SET ROLE reader",
        "SET statement_timeout TO 5000; SET lock_timeout TO '5s'",
        "BEGIN execute immediate 'alter session set \"_serial_direct_read\"=true'; END;",
    ],
)
def test_other_statements_are_accepted(statement: str) -> None:
    options: Any = {"sessionInitStatement": statement}
    assert list(Jdbc("jdbc:postgresql://db/shop", table="t", options=options).problems()) == []


def test_a_query_may_compare_secrets_but_not_connect_with_one() -> None:
    url = "jdbc:postgresql://db/shop"
    compared = "SELECT * FROM users WHERE token = 'x' AND password = other.password"
    assert list(Jdbc(url, query=compared).problems()) == []
    connected = "SELECT * FROM dblink('host=db password=tiger', 'SELECT 1') AS t (a INT)"
    assert [problem.message for problem in Jdbc(url, query=connected).problems()] == ["its query holds a password"]
