"""What a file does not prove is said and can be named; a name that depends on it is refused."""
# ruff: noqa: RUF001 - the characters are the cases

import pytest

from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS
from tests.portfolio.imports.make import IMPORT, Json, counts, load, ok

CYRILLIC = "Domain,Expires\nпримерab12.com,2027-03-01\nharbour.com,2027-03-02\n".encode("cp1251")

INVENTORY = "/v1/portfolio/registrars/inventory/import"


def warned(imported: Json) -> list[str]:
    return [each["code"] for each in imported["detected"]["warnings"]]


async def test_a_name_in_a_guessed_encoding_is_refused_with_both_readings(alice: Person) -> None:
    imported = await load(alice, CYRILLIC)
    assert counts(imported) == {"created": 1, "errors": 1}
    [error] = imported["results"][0]["errors"]
    assert error["code"] == "encoding_ambiguous"
    first, second = imported["detected"]["likely_encodings"][:2]
    written = "примерab12.com".encode("cp1251")
    for each in (written.decode(first), written.decode(second), first, second, "`encoding`"):
        assert each in error["message"]
    assert warned(imported) == ["encoding_guessed"]
    assert [each["domain"] for each in ok(await alice.get(DOMAINS))["items"]] == ["harbour.com"]


async def test_a_named_encoding_is_no_guess(alice: Person) -> None:
    imported = await load(alice, CYRILLIC, encoding="windows-1251")
    assert (counts(imported), imported["detected"]["warnings"]) == ({"created": 2}, [])
    assert imported["detected"]["encoding"] == "cp1251"
    shown = [each["domain_unicode"] for each in ok(await alice.get(DOMAINS))["items"]]
    assert sorted(shown) == ["harbour.com", "примерab12.com"]


async def test_turkish_names_are_not_guessed(alice: Person) -> None:
    imported = await load(alice, "Domain,Expires\nığdır1.com,2027-03-01\n".encode("cp1254"))
    assert (counts(imported), imported["results"][0]["errors"][0]["code"]) == ({"errors": 1}, "encoding_ambiguous")


async def test_a_list_of_names_is_no_guess_of_structure(alice: Person) -> None:
    imported = await load(alice, b"harbour.com\nlantern.com\n")
    assert (imported["detected"]["format"], imported["detected"]["warnings"]) == ("list", [])


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("gb18030", "这是一个很好的域名，可以出售"),
        ("cp932", "この名前は良い"),
        ("cp1250", "sprzedać później, żółta łódź"),
        ("mac-roman", "à vendre bientôt, très bonne idée"),
    ],
)
async def test_notes_in_a_guessed_encoding_are_read_and_the_guess_is_named(
    alice: Person, encoding: str, note: str
) -> None:
    imported = await load(alice, f"domain;notes\nharbour.com;{note}\n".encode(encoding))
    assert (counts(imported), warned(imported)) == ({"created": 1}, ["encoding_guessed"])
    assert encoding in imported["detected"]["warnings"][0]["message"]
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["notes"] == note


async def test_an_ambiguous_date_names_both_readings(alice: Person) -> None:
    text = "domain,expires\nharbour.com,03/04/2027\nlantern.com,05/06/2027\n"
    imported = await load(alice, text)
    [warning] = imported["detected"]["warnings"]
    assert (warning["code"], warning["field"]) == ("dates_ambiguous", "date_order")
    assert "2027-03-04" in warning["message"]
    assert "2027-04-03" in warning["message"]
    assert warned(await load(alice, text, date_order="dmy")) == []


async def test_dates_in_both_orders_are_told(alice: Person) -> None:
    imported = await load(alice, "domain,expires\na1.com,31/12/2027\nb1.com,12/31/2027\nc1.com,03/04/2027\n")
    assert (warned(imported), imported["detected"]["dates_ambiguous"]) == (["dates_ambiguous"], True)


async def test_a_header_of_unknown_words_is_refused_with_mapping(alice: Person) -> None:
    text = "Xyzzy;Plugh;Frotz\nharbour.com;OVH;2027-01-01\nlantern.com;OVH;2027-01-01\n"
    answer = await alice.post(IMPORT, json={"csv": text})
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "column_missing")
    named = await load(alice, text, mapping={"domain": "Xyzzy", "expires_at": "Frotz"})
    assert counts(named) == {"created": 2}


async def test_a_header_of_unknown_words_below_a_title_is_refused(alice: Person) -> None:
    text = "My names\n\nXyzzy;Plugh;Frotz\nharbour.com;OVH;2027-01-01\n"
    answer = await alice.post(IMPORT, json={"csv": text})
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "column_missing")


@pytest.mark.parametrize(
    "header",
    [
        "Domena;Rejestrator;Data wygaśnięcia;Cena odnowienia",
        "Nome do domínio;Registrador;Data de vencimento;Preço de renovação",
        "Domeinnaam;Aanbieder;Vervaldatum;Verlengprijs",
        "Домен;Регистратор;Дата истечения;Стоимость продления",
        "Alan Adı;Kayıt operatörü;Bitiş Tarihi;Yenileme Ücreti",
        "Doména;Registrátor;Datum expirace;Cena za obnovení",
        "Nome di dominio;Fornitore;Scadenza;Tassa di rinnovo",
        "Domän;Registrator;Utgångsdatum;Renewal price",
        "Domain név;Szolgáltató;Lejárat dátuma;Megújítási ár",
        "ドメイン名;レジストラ;有効期限;更新料",
        "域名;注册商;到期时间;续费价格",
        "도메인;도메인 등록기관;만료일;갱신 수수료",
    ],
)
async def test_headers_of_other_languages_are_known(alice: Person, header: str) -> None:
    text = f"{header}\nharbour.com;OVH;2027-03-01;12,50 EUR\nlantern.com;OVH;2027-03-02;12,50 EUR\n"
    imported = await load(alice, text)
    assert (counts(imported), imported["detected"]["unmapped_columns"]) == ({"created": 2}, [])
    found = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (found["registrar"], found["expires_at"][:10]) == ("OVH", "2027-03-01")
    assert found["renewal_price"] == {"amount": "12.50", "currency": "EUR"}


async def test_columns_without_a_header_are_told(alice: Person) -> None:
    imported = await load(alice, "harbour.com;2027-01-01\nlantern.com;2027-01-01\n")
    assert (counts(imported), warned(imported)) == ({"created": 2}, ["header_missing"])


@pytest.mark.parametrize(
    ("text", "code", "option"),
    [
        ("domain,price\nharbour.com,12\n", "currency_assumed", {"defaults": {"currency": "EUR"}}),
        ("domain,price\nharbour.com,$12.00\n", "currency_guessed", {"defaults": {"currency": "CAD"}}),
        ("domain;price;currency\nharbour.com;1.120;EUR\n", "numbers_ambiguous", {"decimal_mark": "comma"}),
        ("domain,expires\nharbour.com,2027-01-01 10:00 CST\n", "time_zone_guessed", None),
        ("domain,expires\nharbour.com,2027/04/25 07:59 XQZ\n", "time_zone_unknown", None),
        ("domain,notes\nharbour.com,a\nharbour.com,b\n", "rows_merged", None),
        ("domain,notes\nbücher.com,a\nxn--bcher-kva.com,b\n", "rows_merged", None),
        (
            "domain,expires,expiry date\nlantern.com,,2027-02-02\nharbour.com,2027-01-01,2027-02-02\n",
            "columns_differ",
            {"mapping": {"expires_at": "expiry date"}},
        ),
        ("harbour.com;2027-01-01\nlantern.com;2027-01-01\n", "header_missing", {"header_line": 0}),
    ],
)
async def test_other_guesses_are_told_and_can_be_named(
    alice: Person, text: str, code: str, option: Json | None
) -> None:
    assert warned(await load(alice, text)) == [code]
    if option is not None:
        assert warned(await load(alice, text, **option)) == []


@pytest.mark.parametrize(
    ("cell", "share", "codes"),
    [("0.15", "0.15", ["percent_guessed"]), ("0.15%", "0.15", []), ("1", "1", []), ("15", "15", [])],
)
async def test_a_percentage_that_can_be_a_part_of_one_is_told(
    alice: Person, cell: str, share: str, codes: list[str]
) -> None:
    imported = await load(alice, f"domain,ownership,revenue share\nharbour.com,consigned,{cell}\n")
    assert [each["code"] for each in imported["results"][0]["warnings"]] == codes
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["revenue_share"] == share


async def test_columns_of_one_meaning_that_agree_are_no_guess(alice: Person) -> None:
    text = "domain,expires,expiry date\nharbour.com,2027-01-01,2027-01-01\nlantern.com,,2027-02-02\n"
    assert warned(await load(alice, text)) == []


async def test_columns_that_differ_are_named_with_their_cells(alice: Person) -> None:
    text = "domain,expires,expiry date\nharbour.com,2027-01-01,2027-02-02\n"
    [warning] = (await load(alice, text))["detected"]["warnings"]
    assert "“2027-01-01” in “expires” and “2027-02-02” in “expiry date”" in warning["message"]
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["expires_at"] == "2027-01-01T00:00:00Z"


async def test_the_delimiter_and_the_line_of_the_header_can_be_named(alice: Person) -> None:
    text = "lantern.com,Ports;a\nharbour.com,Ports;b\n"
    assert warned(await load(alice, text)) == ["delimiter_guessed", "header_missing"]
    assert warned(await load(alice, text, delimiter="comma", header_line=0)) == []
    titled = "My names|2027\nby me|x\nSite|Notes\nquay.com|a,b;c\n"
    named = await load(alice, titled, header_line=3, mapping={"domain": "Site"}, delimiter="bar")
    assert (counts(named), named["detected"]["header_line"], warned(named)) == ({"created": 1}, 3, [])
    missing = await alice.post(IMPORT, json={"csv": text, "header_line": 9})
    assert (missing.status_code, missing.json()["detail"][0]["type"]) == (422, "header_line_invalid")


async def test_what_was_read_as_what_is_shown(alice: Person) -> None:
    text = "domain,price,expires\nharbour.com,$12,2027-01-01 10:00 CST\nlantern.com,5,\nlantern.com,5,\n"
    found = (await load(alice, text))["detected"]
    assert (found["currency_symbols"], found["assumed_currency"]) == ({"$": "USD"}, "USD")
    assert (found["time_zones"], found["merged_rows"]) == ({"CST": "-06:00"}, 1)


async def test_a_known_zone_gives_the_instant(alice: Person) -> None:
    imported = await load(alice, "domain,expires\nharbour.com,2027/04/25 07:59 PRC\n")
    assert (warned(imported), imported["detected"]["time_zones"]) == ([], {"PRC": "+08:00"})
    assert ok(await alice.get(f"{DOMAINS}/harbour.com"))["expires_at"] == "2027-04-24T23:59:00Z"


async def test_an_unknown_encoding_is_refused(alice: Person) -> None:
    answer = await alice.post(
        IMPORT, content=CYRILLIC, params={"encoding": "klingon"}, headers={"Content-Type": "text/csv"}
    )
    [error] = answer.json()["detail"]
    assert (answer.status_code, error["type"], "cp1251" in error["msg"]) == (422, "encoding_unknown", True)


async def test_a_saved_format_names_the_encoding(alice: Person) -> None:
    body = {"mapping": {"domain": "Mine"}, "encoding": "cp1251"}
    saved = ok(await alice.put("/v1/portfolio/formats/sheet", json=body))
    assert saved["encoding"] == "cp1251"
    imported = await load(alice, "Mine;Notes\nпримерab12.com;a\n".encode("cp1251"), format="sheet")
    assert (counts(imported), imported["detected"]["warnings"]) == ({"created": 1}, [])


async def test_bytes_that_contradict_the_named_encoding_are_told(alice: Person) -> None:
    text = "domain;notes\nharbour.com;für später\n"
    assert warned(await load(alice, text.encode(), encoding="cp1252")) == ["encoding_unlikely"]
    assert warned(await load(alice, text.encode("utf-8-sig"), encoding="cp1252")) == ["encoding_ignored"]
    assert warned(await load(alice, text.encode("cp1252"), encoding="utf-8")) == ["encoding_invalid"]


@pytest.mark.parametrize(("encoding", "mark"), [("utf-16", ""), ("utf-32", ""), ("utf-16", "\ufeff")])
async def test_text_of_wide_units_is_read_as_the_request_says(alice: Person, encoding: str, mark: str) -> None:
    content = f"{mark}Домен,Заметки\nпример.com,привет\n".encode(f"{encoding}-le")
    for name in (encoding, f"{encoding}-le") if encoding == "utf-16" else (encoding,):
        imported = await load(alice, content, encoding=name)
        assert (imported["results"][0]["domain"], warned(imported)) == ("xn--e1afmkfd.com", [])


async def test_a_list_of_a_registrar_refuses_the_name_too(alice: Person) -> None:
    answer = await alice.post(
        INVENTORY, content=CYRILLIC, params={"provider": "manual:quay"}, headers={"Content-Type": "text/csv"}
    )
    found = ok(answer)
    assert found["results"][0]["errors"][0]["code"] == "encoding_ambiguous"
    assert warned(found) == ["encoding_guessed"]
