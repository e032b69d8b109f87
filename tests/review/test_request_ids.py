"""Each request has a name: it is in the log and in the answer."""

from __future__ import annotations

import logging

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from config.logs import OneLine, request_id
from review.request_ids import RequestIds

GOOD = "proxy-7f.3_A"


@pytest.mark.django_db
def test_a_well_formed_name_is_kept_and_answered() -> None:
    response = Client().get("/login/", headers={"X-Request-ID": GOOD})

    assert response["X-Request-ID"] == GOOD


@pytest.mark.django_db
@pytest.mark.parametrize("given", ["", "short", "a" * 65, "with space here", "zeile\u2028nextline", "abcdefgh;x=1"])
def test_any_other_is_replaced(given: str) -> None:
    names = {Client().get("/login/", headers={"X-Request-ID": given})["X-Request-ID"] for _ in range(2)}

    assert given not in names
    assert len(names) == 2
    assert all(len(name) == 16 for name in names)


def test_lines_of_a_request_carry_its_name_and_later_ones_do_not() -> None:
    formatter, lines = OneLine("%(message)s"), []

    def view(request: HttpRequest) -> HttpResponse:
        lines.append(formatter.format(logging.makeLogRecord({"msg": "inside"})))
        return HttpResponse()

    RequestIds(view)(RequestFactory().get("/", headers={"X-Request-ID": GOOD}))
    lines.append(formatter.format(logging.makeLogRecord({"msg": "after"})))

    assert lines == [f"inside request={GOOD}", "after"]


def test_a_view_that_breaks_leaves_no_name_behind() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        RequestIds(view)(RequestFactory().get("/"))

    assert request_id.get() == ""
