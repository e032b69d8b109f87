"""A calibration run at work, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from monitoring.models import CalibrationRun, Monitor
from monitoring.services import calibrate, refetch
from tests.monitoring.site import LocalSite, Page
from tests.pdfs import make_pdf

type Watch = Callable[..., Monitor]

BODY = (
    "<html><body><main>"
    + "<p>The rules of the harbour are printed here, and change rarely.</p>" * 30
    + "{}</main></body></html>"
)


@pytest.mark.django_db
def test_a_run_fetches_measures_and_proposes(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/rules", BODY.format(""))
    run = calibrate.start_run(monitor, fetches=3, enqueue=False)

    said = refetch.work(run.pk)

    run.refresh_from_db()
    assert run.state == CalibrationRun.State.DONE
    assert run.distances == [0, 0, 0]
    assert said == f"calibration={run.pk} proposed threshold=1"


@pytest.mark.django_db
def test_what_is_measured_is_the_document_behind_the_link(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/rules", "<a href=/rules.pdf>The rules</a>", link_selector="a")
    site.pages["/rules.pdf"] = Page(make_pdf([["The rules of the harbour are printed here."] * 9]))
    run = calibrate.start_run(monitor, fetches=3, enqueue=False)

    refetch.work(run.pk)

    run.refresh_from_db()
    assert (run.state, run.distances) == (CalibrationRun.State.DONE, [0, 0, 0])
    assert site.visits["/rules.pdf"] >= 3


@pytest.mark.django_db
@pytest.mark.parametrize("extra", [{"link_selector": "a.none"}, {"document_type": "pdf"}])
def test_another_document_than_the_watched_one_is_not_measured(
    watch: Watch, site: LocalSite, extra: dict[str, str]
) -> None:
    monitor = watch("/rules", BODY.format(""), **extra)
    run = calibrate.start_run(monitor, fetches=3, enqueue=False)

    refetch.work(run.pk)

    run.refresh_from_db()
    assert run.state == CalibrationRun.State.FAILED


@pytest.mark.django_db
def test_a_block_page_ends_the_run(watch: Watch, site: LocalSite) -> None:
    monitor = watch("/rules", "<html><title>403 Forbidden</title><body><h1>Access denied</h1></body></html>")
    run = calibrate.start_run(monitor, fetches=3, enqueue=False)

    refetch.work(run.pk)

    run.refresh_from_db()
    assert run.state == CalibrationRun.State.FAILED
    assert run.problem
    assert run.fetched == 0
