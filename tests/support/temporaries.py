from pathlib import Path


def temporary_files_in(folder: Path) -> str:
    """The option for a folder of the server's own, which is made.

    A server that starts removes every ``#sql`` file of its temporary folder, those of another server, too: of two
    that share ``/tmp``, one fails ("Unknown table 'mysql.tmp_user_sys'").
    """
    place = folder / "temporary"
    place.mkdir(exist_ok=True)
    return f"--tmpdir={place}"
