"""What of a diff is a place for the reviewer."""

from __future__ import annotations

from monitoring.detection.judge import judge
from monitoring.detection.judgement import Settings
from monitoring.detection.memory import Memory
from monitoring.detection.read import read
from monitoring.services.showing import document_of

PAGE = """<html><body><main><h1>Notice</h1>
<p>We hold the name, the address and the invoices of each account, and nothing that we do not need.</p>
<p>We will{not_} share your usage data with third parties without your consent, and we tell you beforehand.</p>
<p>Where a court orders us to hand something over, we tell you first unless the order forbids it.</p></main>
<footer><ul class="tags">{tags}</ul></footer></body></html>"""


def page(not_: str, *tags: str) -> str:
    return PAGE.format(not_=not_, tags="".join(f"<li><a href='#{t}'>{t}</a></li>" for t in tags))


def test_a_shuffled_list_beside_the_text_is_no_place() -> None:
    old = read(page(" not", "Archive", "Careers", "Delivery", "Press", "Security"))
    new = read(page("", "Security", "Delivery", "Archive", "Press", "Careers"))
    judgement = judge(old, new, Memory(), settings=Settings())

    document = document_of(judgement, (old, new), (old, new))

    assert document["places"] == 1
    assert document["moved"] == 0
    assert document["left_out"] >= 1
    assert ["-", "not"] in document["say"]["segments"]
