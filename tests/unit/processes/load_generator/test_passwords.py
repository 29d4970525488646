import pytest

from tdelta.errors import UsageError
from tdelta.processes.load_generator.command import passwords_in
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import check


@pytest.mark.parametrize(
    ("command", "before"),
    [
        ("mariadb -pSECRET {database} < x.sql", "-p"),
        ("mariadb -u root -p'SECRET' app", "-p"),
        ('cat x | mysql -p"SECRET"', "-p"),
        ("/usr/bin/mysql -uroot -pSECRET", "-p"),
        ("sh -c 'mysqldump -pSECRET a | mariadb b'", "-p"),
        ("mariadb --pass=SECRET", "--pass"),
        ("mariadb --passwor=SECRET", "--passwor"),
        ("mariadb --Password SECRET", "--Password"),
        ("sysbench --pgsql-password=SECRET run", "--pgsql-password"),
        ("myloader -p SECRET -d x", "-p"),
        ("psql postgresql://u:SECRET@h/db -f x", "postgresql://"),
        ("psql 'host=h password=SECRET'", "password"),
        ("psql 'postgresql://h/db?user=u&password=SECRET'", "password"),
        ("PGPASSWORD=SECRET psql -f x", "PGPASSWORD"),
        ("env MYSQL_PWD='SECRET' mariadb", "MYSQL_PWD"),
        ("AWS_SECRET_ACCESS_KEY=SECRET aws s3 cp s3://b/x -", "AWS_SECRET_ACCESS_KEY"),
        ("curl -u u:SECRET https://h/x.sql | mariadb", "-u"),
        ("curl --user=u:SECRET https://h/x.sql", "--user"),
        ("curl -H 'Authorization: Bearer SECRET' https://h/x", "Authorization"),
        ("openssl enc -d -aes-256-cbc -k SECRET -in x", "-k"),
        ("openssl enc -d -pass pass:SECRET -in x", "-pass"),
        ("gpg --batch --passphrase SECRET -d x.gpg | psql", "--passphrase"),
        ("sshpass -p SECRET ssh db cat x.sql", "-p"),
        ("unzip -P SECRET x.zip", "-P"),
        ("7z x -so -pSECRET x.7z", "-p"),
        ("sqlcmd -S h -P SECRET -i x.sql", "-P"),
        ("sqlplus scott/SECRET@db @x", "scott/"),
        ("mariadb -e \"CREATE USER a IDENTIFIED BY 'SECRET'\"", "IDENTIFIED BY"),
    ],
)
def test_a_password_is_found_by_what_stands_before_it(command: str, before: str) -> None:
    assert before in passwords_in(command)
    assert not any("SECRET" in found for found in passwords_in(command) if found != "AWS_SECRET_ACCESS_KEY")


@pytest.mark.parametrize(
    "command",
    [
        "mariadb -u {user} -S {socket} {database} < app.sql",
        "mariadb -p{password} --password=$PW --password=${PW} -p$PW",
        "mysql --defaults-extra-file={option_file} --ssl-ca=x",
        "psql -X -q -1 -v ON_ERROR_STOP=1 -p {port} -f app.sql",
        "psql -p5499 -f app.sql",
        "PGPASSFILE={folder}/passwords psql -f x; PGPASSWORD=$(cat f) psql",
        "sysbench oltp_read_only --mysql-password --tables=4 run",
        "mytool --password-file=x --pass-through --token-ttl=5",
        "sh -c 'gunzip -c a.gz | pv -p | mariadb {database}'",
        "curl -u user: https://h:8080/x; curl https://u@h/x",
        "pgbench -n -P 5 -S -M prepared",
        "openssl enc -d -pass env:PW -in x",
        "mkdir -p x && mariadb < y",
    ],
)
def test_what_is_no_password_is_left_alone(command: str) -> None:
    assert passwords_in(command) == ()


def test_a_restore_that_is_typed_is_looked_at_too() -> None:
    with pytest.raises(UsageError) as raised:
        check(RunRequest(engine="mariadb", restore="mariadb -pSECRET {database} < x.sql"))
    assert [refusal.code for refusal in raised.value.refusals] == ["restore-password"]
    assert "SECRET" not in str(raised.value)
