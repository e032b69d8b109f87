"""Signing in, the lock after many tries, passwords by mail, and people in admin."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from monitoring.models import OutboxMessage, Team
from review.models import DigestSubscription
from tests.factories import make_team, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


def sign_in(client: Client, name: str = "ines", password: str = PASSWORD, **extra: Any) -> Any:
    return client.post(reverse("login"), {"username": name, "password": password}, **extra)


# --- signing in ----------------------------------------------------------------------------------------------------


def test_the_right_password_opens_the_queue(client: Client) -> None:
    make_user()

    answer = sign_in(client)

    assert answer.status_code == 302
    assert answer["Location"] == reverse("queue")


def test_signing_in_gives_a_new_session(client: Client) -> None:
    make_user()
    client.get(reverse("login"))
    client.session["planted"] = "x"
    client.session.save()
    before = client.session.session_key

    sign_in(client)

    assert client.session.session_key != before


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_signing_in_leads_nowhere_outside(elsewhere: str, client: Client) -> None:
    make_user()

    answer = client.post(reverse("login"), {"username": "ines", "password": PASSWORD, "next": elsewhere})

    assert answer["Location"] == reverse("queue")


def test_signing_out_needs_a_post(client: Client) -> None:
    make_user()
    sign_in(client)

    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout")).status_code == 302


def test_a_wrong_name_and_a_wrong_password_get_the_same_answer(client: Client) -> None:
    make_user()

    wrong, unknown = sign_in(client, password="wrong"), sign_in(client, name="nobody", password="wrong")

    assert wrong.status_code == unknown.status_code == 200
    assert _without_tokens(wrong) == _without_tokens(unknown)


def test_ten_wrong_passwords_lock_this_name_on_this_connection(client: Client) -> None:
    make_user()
    for _attempt in range(10):
        answer = sign_in(client, password="wrong")

    right = sign_in(client)

    assert answer.status_code == 429
    assert "Locked for a while" in answer.content.decode()
    assert right.status_code == 429


def test_the_lock_holds_nobody_else_up(client: Client) -> None:
    make_user()
    make_user("mara")
    for _attempt in range(11):
        sign_in(client, password="wrong")

    from_elsewhere = sign_in(Client(REMOTE_ADDR="192.0.2.77"))
    somebody_else = sign_in(client, name="mara")

    assert from_elsewhere.status_code == 302
    assert somebody_else.status_code == 302


def _without_tokens(answer: Any) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", answer.content.decode())


# --- passwords by mail ---------------------------------------------------------------------------------------------


def test_asking_for_a_new_password_says_the_same_whether_or_not_there_is_an_account(client: Client) -> None:
    make_user()

    known = client.post(reverse("password_reset"), {"email": "ines@example.test"}, follow=True)
    unknown = client.post(reverse("password_reset"), {"email": "nobody@example.test"}, follow=True)

    assert _without_tokens(known) == _without_tokens(unknown)
    assert OutboxMessage.objects.count() == 1


def test_a_forged_host_does_not_get_into_the_mail(client: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    make_user()

    client.post(reverse("password_reset"), {"email": "ines@example.test"}, headers={"host": "evil.example"})

    mail = OutboxMessage.objects.get()
    assert "evil.example" not in mail.text + mail.html
    assert f"{settings.APP_ORIGIN}/password/" in mail.text


def test_the_link_sets_a_password_once(client: Client) -> None:
    make_user()
    client.post(reverse("password_reset"), {"email": "ines@example.test"})
    link = _link()

    form = client.get(link, follow=True)
    chosen = {"new_password1": "a quite new sentence", "new_password2": "a quite new sentence"}
    saved = client.post(form.redirect_chain[-1][0], chosen, follow=True)
    again = Client().get(link, follow=True)

    assert "Password saved" in saved.content.decode()
    assert User.objects.get().check_password("a quite new sentence")
    assert "has been used or is too old" in again.content.decode()


def test_a_weak_password_is_refused_with_the_reason(client: Client) -> None:
    make_user()
    client.post(reverse("password_reset"), {"email": "ines@example.test"})
    form = client.get(_link(), follow=True)

    answer = client.post(form.redirect_chain[-1][0], {"new_password1": "short", "new_password2": "short"})

    assert "too short" in answer.content.decode()
    assert User.objects.get().check_password(PASSWORD)


def _link() -> str:
    found = re.search(r"http://127\.0\.0\.1:8000(/password/\S+)", OutboxMessage.objects.get().text)
    assert found is not None
    return found[1]


# --- admin's door --------------------------------------------------------------------------------------------------


def test_admin_sends_to_the_products_own_door_and_back(client: Client) -> None:
    make_user("ada", role="admin")

    door = client.get("/admin/monitoring/monitor/", follow=True)
    inside = client.post(
        reverse("login"),
        {"username": "ada", "password": PASSWORD, "next": door.context["next"]},
    )

    assert door.redirect_chain[-1][0].startswith("/login/")
    assert inside["Location"] == "/admin/monitoring/monitor/"


def test_who_may_not_configure_is_told_so_and_not_asked_to_sign_in_again(client: Client) -> None:
    client.force_login(make_user())

    assert client.get("/admin/", follow=True).status_code == 403


def test_background_work_cannot_be_written_through_admin(client: Client) -> None:
    client.force_login(make_user("root", role="admin", is_superuser=True))

    assert client.get("/admin/django_q/schedule/add/").status_code == 404


# --- people in admin -----------------------------------------------------------------------------------------------


@pytest.fixture
def ada(client: Client) -> Client:
    client.force_login(make_user("ada", role="admin"))
    return client


def person(**changed: Any) -> dict[str, Any]:
    values = {
        "username": "ben",
        "first_name": "Ben",
        "last_name": "Ode",
        "email": "ben@example.test",
        "is_active": "on",
    }
    roles = [Group.objects.get(name="analyst").pk]
    return {**values, "roles": roles, "teams": [make_team().pk], **changed}


ADD = "admin:auth_user_add"


def edit(user: User) -> str:
    return reverse("admin:auth_user_change", args=[user.pk])


def test_a_new_person_gets_an_invitation_and_no_password(ada: Client) -> None:
    answer = ada.post(reverse(ADD), person())

    ben = User.objects.get(username="ben")
    mail = OutboxMessage.objects.get()
    assert answer.status_code == 302
    assert not ben.has_usable_password()
    assert (mail.kind, mail.recipient) == ("invitation", "ben@example.test")
    assert ben.teams.get() == make_team()
    assert DigestSubscription.objects.filter(user=ben).exists()


def test_the_invited_set_a_password_and_sign_in(ada: Client) -> None:
    ada.post(reverse(ADD), person())
    guest = Client()
    form = guest.get(_link(), follow=True)

    guest.post(
        form.redirect_chain[-1][0], {"new_password1": "a quite new sentence", "new_password2": "a quite new sentence"}
    )

    assert sign_in(guest, name="ben", password="a quite new sentence").status_code == 302


@pytest.mark.parametrize(("role", "staff"), [("analyst", False), ("lead", False), ("admin", True), ("auditor", True)])
def test_who_may_enter_admin_follows_from_the_role(role: str, staff: bool, ada: Client) -> None:
    ada.post(reverse(ADD), person(roles=[Group.objects.get(name=role).pk]))

    assert User.objects.get(username="ben").is_staff is staff


def test_losing_the_role_closes_admin(ada: Client) -> None:
    ben = make_user("ben", role="admin")

    ada.post(edit(ben), person(email=ben.email))

    ben.refresh_from_db()
    assert not ben.is_staff
    assert set(ben.groups.values_list("name", flat=True)) == {"analyst"}


@pytest.mark.parametrize("planted", ["is_superuser", "is_staff", "user_permissions", "password", "groups"])
def test_an_admin_cannot_give_more_than_roles(planted: str, ada: Client) -> None:
    ada.post(reverse(ADD), person(**{planted: "1"}))

    ben = User.objects.get(username="ben")
    assert not ben.is_superuser
    assert not ben.is_staff
    assert not ben.user_permissions.exists()
    assert not ben.has_usable_password()


def test_an_admin_cannot_put_people_into_another_team(ada: Client) -> None:
    legal = make_team("Legal")

    ada.post(reverse(ADD), person(teams=[legal.pk]))

    assert not legal.members.exists()


def test_an_admin_cannot_change_a_superuser(ada: Client) -> None:
    root = make_user("root", role="admin", is_superuser=True)

    answer = ada.post(edit(root), person(username="root", email="ada@example.test"))

    root.refresh_from_db()
    assert answer.status_code == 403
    assert root.email == "root@example.test"


def test_an_admin_cannot_change_the_address_of_somebody_who_also_works_elsewhere(ada: Client) -> None:
    ben = make_user("ben")
    make_team("Legal").members.add(ben)

    answer = ada.post(edit(ben), person(email="ada+ben@example.test"))

    ben.refresh_from_db()
    assert answer.status_code == 403
    assert ben.email == "ben@example.test"


def test_nor_send_them_a_link(ada: Client) -> None:
    ben = make_user("ben")
    make_team("Legal").members.add(ben)

    answer = ada.post(
        reverse("admin:auth_user_changelist"),
        {"action": "send_link", "index": "0", "_selected_action": [ben.pk]},
        follow=True,
    )

    assert not OutboxMessage.objects.exists()
    assert "was left alone" in answer.content.decode()


def test_a_link_goes_to_somebody_who_lost_the_first(ada: Client) -> None:
    ben = make_user("ben")

    ada.post(reverse("admin:auth_user_changelist"), {"action": "send_link", "index": "0", "_selected_action": [ben.pk]})

    assert OutboxMessage.objects.get().recipient == ben.email


def test_membership_in_a_foreign_team_survives_an_edit_by_a_superuser_only(client: Client) -> None:
    ben = make_user("ben")
    make_team("Legal").members.add(ben)
    client.force_login(make_user("root", role="admin", is_superuser=True))

    client.post(edit(ben), person(email=ben.email, teams=[Team.objects.get(name="Legal").pk]))

    assert list(ben.teams.values_list("name", flat=True)) == ["Legal"]


def test_an_address_that_is_taken_is_refused(ada: Client) -> None:
    answer = ada.post(reverse(ADD), person(email="ADA@example.test"))

    assert "Another account has this address" in answer.content.decode()


def test_an_account_needs_an_address(ada: Client) -> None:
    ada.post(reverse(ADD), person(email=""))

    assert not User.objects.filter(username="ben").exists()


def test_nobody_is_deleted(ada: Client) -> None:
    ben = make_user("ben")

    ada.post(reverse("admin:auth_user_delete", args=[ben.pk]), {"post": "yes"})

    assert User.objects.filter(pk=ben.pk).exists()


def test_a_switched_off_account_is_out_at_once(ada: Client) -> None:
    ben = make_user("ben")
    other = Client()
    sign_in(other, name="ben")
    values = person(email=ben.email)
    del values["is_active"]

    ada.post(edit(ben), values)

    assert other.get(reverse("queue")).status_code == 302


@pytest.mark.parametrize("lookup", ["password__startswith", "password"])
def test_hashes_cannot_be_guessed_through_the_lists_address(lookup: str, ada: Client) -> None:
    assert ada.get(reverse("admin:auth_user_changelist"), {lookup: "md5"}).status_code == 400


def test_the_password_pages_of_django_admin_are_not_there(ada: Client) -> None:
    ben = make_user("ben")

    answer = ada.post(f"/admin/auth/user/{ben.pk}/password/", {"password1": "x", "password2": "x"})

    ben.refresh_from_db()
    assert answer.status_code in {302, 404}
    assert ben.check_password(PASSWORD)


def test_mail_in_admin_never_shows_a_link(client: Client) -> None:
    client.force_login(make_user("root", role="admin", is_superuser=True))
    client.post(reverse("password_reset"), {"email": "root@example.test"})
    mail = OutboxMessage.objects.get()

    page = client.get(reverse("admin:monitoring_outboxmessage_change", args=[mail.pk])).content.decode()

    assert mail.recipient in page
    assert "/password/" not in page.replace("/admin/password_change/", "")
