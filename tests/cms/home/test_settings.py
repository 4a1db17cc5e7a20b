"""What an editor can turn off, and the page that tells the shortcuts."""

from __future__ import annotations

from django.urls import reverse

from cms.shared.navigation import PLACES
from dealsite.data.people import users
from dealsite.data.people.profiles import Preferences

SETTINGS = reverse("cms_settings")


def test_shortcuts_and_autosave_are_on_until_they_are_turned_off(editor):
    assert 'data-shortcuts="on"' in editor.get(SETTINGS).content.decode()
    response = editor.post(SETTINGS, {"autosave": "on"}, follow=True)
    assert "Your settings are saved." in response.content.decode()
    assert 'data-shortcuts="off"' in response.content.decode()
    assert users.get("eve").preferences == Preferences(autosave=True, shortcuts=False)
    editor.post(SETTINGS, {"shortcuts": "on"})
    assert users.get("eve").preferences == Preferences(autosave=False, shortcuts=True)


def test_the_help_says_which_version_this_is(editor):
    assert "This is Dealsite 0.2.0." in editor.get(reverse("cms_help")).content.decode()


def test_every_shortcut_is_told_of_and_no_two_are_the_same(editor):
    page = editor.get(reverse("cms_help")).content.decode()
    shortcuts = [place.shortcut for place in PLACES if place.shortcut]
    assert len(shortcuts) == len(set(shortcuts))
    for place in PLACES:
        if place.roles == ("editor",):
            assert f"<dt>{place.title}</dt>" in page or not place.shortcut


def test_the_menu_leads_where_its_shortcuts_lead(editor):
    page = editor.get(SETTINGS).content.decode()
    assert 'data-shortcut="g d"' in page
    assert 'data-shortcut="g u"' not in page  # users are for admins
