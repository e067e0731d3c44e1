"""How much is used: of one provider, by the consumers of a project, and in the whole cloud."""

from collections.abc import Collection

from roost.model import ConsumerTypeUsage, ProviderUsages, Summary
from roost.operations.known_names import check_classes
from roost.search.bulk.summary import summarize
from roost.service.service import Roost


def read_usages(roost: Roost, *, provider_uuid: str) -> ProviderUsages:
    index = roost.current_index()
    row = index.row(provider_uuid)
    return ProviderUsages(
        generation=int(index.rows.generation[row]),
        usages={index.classes.names[each.class_id]: each.used for each in index.inventories(row)},
    )


def read_project_usages(
    roost: Roost,
    *,
    project_id: str,
    user_id: str | None = None,
    consumer_type: str | None = None,
) -> list[ConsumerTypeUsage]:
    """What the consumers of a project use, summed up for each type of consumer.

    `consumer_type` selects one type; `unknown` selects consumers without a type.
    """
    return roost.store.reads.project_usages(
        project_id, user_id=user_id, consumer_type=consumer_type
    )


def read_summary(
    roost: Roost, *, by: Collection[str] = (), classes: Collection[str] | None = None
) -> Summary:
    """Sums over all providers; `by` names `aggregates` and `traits` to have them for each, too.

    `classes` are the resource classes to be shown; None: all.
    """
    index = roost.current_index()
    check_classes(index, classes or ())
    return summarize(index, by=by, classes=classes, budget=roost.search_budget())
