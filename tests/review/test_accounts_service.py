"""Roles, the first account, invitations and new passwords."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command

from monitoring.models import OutboxMessage
from review.models import DigestSubscription
from review.services import accounts
from tests.factories import NOW, make_team, make_user

pytestmark = pytest.mark.django_db


def test_the_first_account_may_do_everything() -> None:
    user, password = accounts.ensure_admin(name="admin")

    assert user.is_superuser
    assert password is not None
    assert user.check_password(password)


def test_the_first_account_gets_digests_where_it_has_an_address() -> None:
    without, _password = accounts.ensure_admin(name="admin")
    no_digest = not DigestSubscription.objects.exists()
    without.delete()

    accounts.ensure_admin(name="admin", email="admin@example.test")

    assert no_digest
    assert DigestSubscription.objects.get().user.email == "admin@example.test"


def test_a_second_run_changes_no_password() -> None:
    user, password = accounts.ensure_admin(name="admin")

    again, nothing = accounts.ensure_admin(name="admin")

    assert again == user
    assert nothing is None
    assert password is not None
    assert User.objects.get(pk=user.pk).check_password(password)


def test_the_command_prints_the_password_once(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_admin")
    first = capsys.readouterr().out
    call_command("create_admin")
    second = capsys.readouterr().out

    password = first.split("Password: ")[1].split()[0]
    assert User.objects.get(username="admin").check_password(password)
    assert password not in second


def test_two_installations_get_different_passwords() -> None:
    _user, first = accounts.ensure_admin(name="admin")
    User.objects.all().delete()

    _user, second = accounts.ensure_admin(name="admin")

    assert first != second


def test_every_migrate_gives_each_role_exactly_its_permissions() -> None:
    group = Group.objects.get(name="analyst")
    group.permissions.set(Group.objects.get(name="admin").permissions.all())

    accounts.ensure_roles()

    assert not group.permissions.exists()


def test_an_auditor_has_only_permissions_to_view() -> None:
    codes = Group.objects.get(name="auditor").permissions.values_list("codename", flat=True)

    assert codes
    assert all(code.startswith("view_") for code in codes)


def test_no_role_may_change_evidence_or_delete_people() -> None:
    codes = set(Group.objects.get(name="admin").permissions.values_list("codename", flat=True))

    assert "add_user" in codes
    assert not {"change_check", "delete_snapshot", "change_verdict", "add_change", "delete_user"} & codes


def test_an_invitation_holds_a_link_on_the_configured_origin(settings: object) -> None:
    user = make_user("mara")

    accounts.invite(user, actor=make_user("ines"), now=NOW)

    mail = OutboxMessage.objects.get()
    assert mail.recipient == user.email
    assert "http://127.0.0.1:8000/password/" in mail.text
    assert "ines made it for you" in mail.text


def test_one_link_per_person_and_five_minutes() -> None:
    user = make_user("mara")

    first = accounts.send_new_password(user.email, now=NOW)
    second = accounts.send_new_password(user.email, now=NOW + timedelta(seconds=30))
    later = accounts.send_new_password(user.email, now=NOW + timedelta(minutes=6))

    assert (first, second, later) == (1, 0, 1)


def test_a_link_is_written_in_the_persons_language() -> None:
    from review.models import Preferences

    user = make_user("mara")
    Preferences.objects.create(user=user, language="de")

    accounts.send_new_password(user.email, now=NOW)

    assert OutboxMessage.objects.get().text


def test_an_inactive_account_gets_no_link() -> None:
    user = make_user("mara", is_active=False)

    assert accounts.send_new_password(user.email, now=NOW) == 0


def test_somebody_invited_who_lost_the_mail_can_ask_for_another() -> None:
    user = make_user("mara")
    user.set_unusable_password()
    user.save()

    assert accounts.send_new_password(user.email, now=NOW) == 1


def test_an_admin_manages_people_who_share_every_team() -> None:
    admin, analyst = make_user("ada", role="admin"), make_user("ben")

    assert accounts.may_manage(admin, analyst)


def test_an_admin_cannot_change_somebody_who_also_works_for_another_team() -> None:
    admin, analyst = make_user("ada", role="admin"), make_user("ben")
    make_team("Legal").members.add(analyst)

    assert not accounts.may_manage(admin, analyst)


def test_an_admin_cannot_change_a_superuser() -> None:
    admin, chief = make_user("ada", role="admin"), make_user("root", is_superuser=True)

    assert not accounts.may_manage(admin, chief)
