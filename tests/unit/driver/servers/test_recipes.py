import signal
from pathlib import Path

from tdelta.driver.servers.recipes import Command, Greeting, Mount, Recipe, ServerPaths, content, packed, unpacked

WORDS = ("hush", "word")
RECIPE = Recipe(
    place=ServerPaths(Path("/run/twin"), Path("/run/s/socket")),
    files={Path("/run/twin/keys/key"): "1;abcd"},
    initialize=(Command(("make", "it"), {"A": "b"}, as_user=True, secret=WORDS[0]),),
    serve=Command(("serve",)),
    connect={"socket": "/run/s/socket", "user": "tdelta"},
    stop_signal=signal.SIGINT,
    greeting=Greeting(b"\x00\xff", b"R", 3),
    links={Path("/run/twin/a"): Path("/usr/lib/a")},
    mount=Mount(Command(("make",), secret=WORDS[1]), Command(("mount", "-fg")), Path("/c"), Path("/at")),
    cores=2,
)


def test_a_recipe_survives_the_way_to_the_supervisor() -> None:
    assert unpacked(packed(RECIPE)) == RECIPE


def test_a_digest_is_of_keys_too() -> None:
    assert "abcd" in content(RECIPE)
    assert content(unpacked(packed(RECIPE))) == content(RECIPE)


def test_neither_keys_nor_secrets_are_in_what_is_printed_of_a_recipe() -> None:
    assert "abcd" not in repr(RECIPE)
    assert "hush" not in repr(RECIPE)
    assert "word" not in repr(RECIPE)
