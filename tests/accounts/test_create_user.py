"""manage.py create_user"""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dealsite.accounts import passwords
from dealsite.data.people import users
from tests.accounts.conftest import PASSWORD
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture
def create(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command with a line of standard input; return what it prints."""

    def run(*arguments: str, line: str = PASSWORD + "\n") -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(line))
        out = io.StringIO()
        call_command("create_user", *arguments, stdout=out)
        return out.getvalue()

    return run


def test_a_user_is_made_with_roles_and_the_password_from_standard_input(create: Any):
    said = create("Ada", "--email", "Ada@example.org", "--role", "editor", "--role", "back office")
    assert said == "ada can now sign in with the roles editor, back office.\n"
    user = users.get("ada")
    assert (user.name, user.email, set(user.roles)) == ("Ada", "Ada@example.org", {"editor", "back office"})
    assert passwords.matches(PASSWORD, user.password)


def test_a_user_needs_no_role(create: Any):
    assert create("ada", "--email", "ada@example.org") == "ada can now sign in.\n"


@pytest.mark.parametrize(
    ("arguments", "line", "sentence"),
    [
        (["a#", "--email", "ada@example.org"], PASSWORD, "A user name has 3 to 30"),
        (["ada", "--email", "x"], PASSWORD, "Enter an e-mail address"),
        (["ada", "--email", "ada@example.org"], "short", "too short"),
        (["ada", "--email", "ada@example.org"], "", "holds no password"),
        (["ada", "--email", "ada@example.org", "--role", "king"], PASSWORD, "invalid choice: 'king'"),
        (["bob", "--email", "new@example.org"], PASSWORD, "This user name is taken"),
        (["ada", "--email", "bob@example.org"], PASSWORD, "Another account has this e-mail address"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(create: Any, arguments: list[str], line: str, sentence: str):
    make_user("bob", email="bob@example.org")
    with pytest.raises(CommandError, match=sentence):
        create(*arguments, line=line)
    assert users.count() == 1


@pytest.mark.parametrize("typed", [(PASSWORD, PASSWORD), (PASSWORD, "another")])
def test_at_a_terminal_the_password_is_asked_for_twice(
    create: Any, monkeypatch: pytest.MonkeyPatch, typed: tuple[str, str]
):
    answers = iter(typed)
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(answers))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    out = io.StringIO()
    if typed[0] == typed[1]:
        call_command("create_user", "ada", "--email", "ada@example.org", stdout=out)
        assert users.get("ada").username == "ada"
    else:
        with pytest.raises(CommandError, match="differ"):
            call_command("create_user", "ada", "--email", "ada@example.org", stdout=out)
        assert users.count() == 0
