"""Keys of a manifest that are renamed, swapped or moved to another name."""

from tests.cast import Person
from tests.plans.make import alias, apply, findings, list_actions, make_addresses, plan, promote


async def test_a_renamed_key_keeps_its_name(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="old"))
    planned = await plan(alice, alias(f"ada@{domain}", key="new"), prune=True)
    (action,) = planned["actions"]
    assert (action["address"], action["action"], action["changed_fields"]) == ("alias.new", "update", ["key"])
    assert (action["before"]["key"], action["after"]["key"]) == ("old", "new")
    await promote(alice, planned)
    assert (await plan(alice, alias(f"ada@{domain}", key="new"), prune=True))["status"] == "empty"


async def test_two_keys_swap_their_names_in_one_promotion(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="one"), alias(f"grace@{domain}", key="two"))
    swapped = (alias(f"grace@{domain}", key="one"), alias(f"ada@{domain}", key="two"))
    planned = await plan(alice, *swapped, prune=True)
    assert list_actions(planned) == [("alias.one", "update"), ("alias.two", "update")]
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await plan(alice, *swapped, prune=True))["status"] == "empty"


async def test_hundreds_of_keys_rotate(alice: Person, domain: str) -> None:
    names = make_addresses(600, domain)
    await apply(alice, *(alias(name, key=f"k{at}") for at, name in enumerate(names)))
    moved = [alias(name, key=f"k{(at + 1) % len(names)}") for at, name in enumerate(names)]
    planned = await plan(alice, *moved)
    assert planned["summary"] == {"update": 600}
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await plan(alice, *moved))["status"] == "empty"


async def test_a_new_name_takes_the_former_key_of_another(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    wanted = (alias(f"grace@{domain}", key="boss"), alias(f"ada@{domain}", key="former"))
    planned = await plan(alice, *wanted, prune=True)
    assert list_actions(planned) == [("alias.boss", "create"), ("alias.former", "update")]
    assert planned["confirm_deletes"] == 0
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await plan(alice, *wanted, prune=True))["status"] == "empty"


async def test_an_adopted_name_takes_the_former_key_of_another(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"grace@{domain}"), name="other")
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    wanted = (alias(f"grace@{domain}", key="boss"), alias(f"ada@{domain}", key="former"))
    planned = await plan(alice, *wanted, on_conflict="adopt")
    assert list_actions(planned) == [("alias.boss", "adopt"), ("alias.former", "update")]
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await plan(alice, *wanted))["status"] == "empty"


async def test_a_key_cannot_move_from_a_removed_name_to_an_existing_one(alice: Person, domain: str) -> None:
    """It would be a release and a rename in one; a new key expresses both."""
    await apply(alice, alias(f"ada@{domain}", key="one"), alias(f"grace@{domain}", key="two"))
    for prune in (False, True):
        planned = await plan(alice, alias(f"grace@{domain}", key="one"), prune=prune)
        assert findings(planned["errors"]) == {("alias.one", "key_in_use")}
        assert planned["actions"] == []
    planned = await plan(alice, alias(f"grace@{domain}", key="three"), prune=True)
    assert list_actions(planned) == [("alias.three", "update"), ("alias.one", "delete")]


async def test_a_replaced_name_can_be_claimed_under_another_key(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    await apply(alice, alias(f"grace@{domain}", key="boss"))
    planned = await plan(alice, alias(f"grace@{domain}", key="boss"), alias(f"ada@{domain}", key="former"))
    assert list_actions(planned) == [("alias.boss", "no_op"), ("alias.former", "create")]
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_key_keeps_its_name_over_another_spelling_of_it(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"j.doe@{domain}", key="jane"), alias(f"ada@{domain}"))
    planned = await plan(
        alice, alias(f"jdoe@{domain}", key="jane"), alias(f"a.da@{domain}", key="ada"), prune=True
    )
    assert planned["status"] == "empty"


async def test_the_same_key_in_two_manifests_is_two_keys(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"), name="one")
    await apply(alice, alias(f"grace@{domain}", key="boss"), name="two")
    assert (await plan(alice, alias(f"ada@{domain}", key="boss"), name="one", prune=True))["status"] == "empty"
