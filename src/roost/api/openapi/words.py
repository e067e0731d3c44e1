"""What the document says about itself, its tags, parameters, statuses and headers."""

from http import HTTPStatus

SUMMARY = "Who provides what in a cloud, and where a request fits."
DESCRIPTION = (
    "The Placement API of OpenStack in version {version}, and what roost offers beyond it. OpenAPI "
    "has no microversions: this document is about one of them, and `?version=` chooses another. "
    "Clients choose it with the header OpenStack-API-Version. Examples are of the newest."
)

TAGS = {
    "root": "Versions and extensions of the service.",
    "providers": "Resource providers: hosts, NUMA nodes, NICs, GPUs, storage pools, in trees.",
    "inventories": "What a provider has of each resource class.",
    "usages": "How much is used, of a provider or by a project.",
    "aggregates": "Groups of providers: racks, zones, and who shares a storage pool.",
    "allocations": "Which consumer holds what. Claims are made here.",
    "traits": "Qualities of providers.",
    "summary": "What the whole cloud has.",
    "resource_classes": "Kinds of resources.",
    "reshaper": "Inventories and allocations that move together.",
    "holds": "Claims that wait for a reshape.",
    "candidates": "Where a request fits.",
    "explain": "Why a request does not fit.",
    "capacity": "How many more of a request fit.",
    "placements": "Search and claim in one call.",
    "events": "The change feed.",
    "operating": "For operators: probes, metrics, and this document.",
}

STATUSES = {
    HTTPStatus.OK: "Done.",
    HTTPStatus.CREATED: "Created.",
    HTTPStatus.NO_CONTENT: "Done. The answer has no body.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not ready. The body says why.",
}

HEADERS = {
    "openstack-api-version": "The version in which the request was answered.",
    "vary": "The answer depends on the version, which is a header of the request.",
    "x-openstack-request-id": "The id under which the request is in the log of the service.",
    "location": "The address of what was created.",
    "retry-after": "How many seconds to wait before the request is sent again.",
    "last-modified": "When what the answer shows was last written.",
    "cache-control": "The answer must not be used a second time.",
}

EVENT_STREAM_EXAMPLE = (
    "retry: 100\n\n"
    "id: kpQBAgM\nevent: traits\n"
    'data: {"kind":"traits","resource_provider":"551bfce7-e0ed-4c50-9194-1077ed7a7115",'
    '"tree":"551bfce7-e0ed-4c50-9194-1077ed7a7115","generation":3}\n\n'
)

# A parameter means the same in all operations, unless it is listed together with its path.
PARAMETERS = {
    "uuid": "The UUID of the provider.",
    "consumer_uuid": "The UUID of the consumer.",
    "hold_id": "The `id` of the hold.",
    "/resource_classes/{name} name": "The name of the resource class.",
    "/traits/{name} name": "The name of the trait.",
    "resource_class": "The name of a resource class.",
    "/summary resource_class": "Only these resource classes, with commas.",
    "/resource_providers name": "The provider of this name.",
    "/traits name": "`in:A,B`: these traits. `startswith:CUSTOM`: those that begin so.",
    "associated": "Whether a provider has the trait.",
    "resources": "Amounts with commas: `VCPU:2,MEMORY_MB:4096`.",
    "required": "Traits with commas: `A`, and not `!B`. From 1.39 on `in:A,B` is one of them.",
    "member_of": "An aggregate, or one of several: `in:A,B`. From 1.32 on `!A` and `!in:A,B`.",
    "in_tree": "Only providers of the tree of this one.",
    "in_subtree": "Only this provider and those below it.",
    "can_split": "Resource classes with commas, of which several providers may serve an amount.",
    "limit": "At most so many.",
    "group_policy": "Whether one provider may serve several groups with a suffix (`none`) or not "
    "(`isolate`). Required with more than one such group, unless an extension is used.",
    "root_required": "Traits of the root of the tree, with commas: `A`, and not `!B`.",
    "root_member_of": "An aggregate of the root of the tree: `A`, `in:A,B`, `!A` or `!in:A,B`.",
    "same_subtree": "Suffixes with commas: one provider or those below it serve these groups. "
    "`!_B`: that group is served from elsewhere.",
    "isolate": "Suffixes with commas: different providers serve these groups.",
    "order": "Which trees come first: `pack`, `spread`, `root`, `random`, or `random:5`.",
    "after": "The `next` of the answer before; everything else but `limit` is repeated.",
    "/events after": "The `position` of the answer before.",
    "groups": "Groups with a suffix. Each field is a parameter: `resources_GPU=PGPU:1`, "
    "`required_GPU=CUSTOM_A100`. One provider serves all of a group.",
    "tree": "Any provider of the tree that the question is about.",
    "include": "With commas: inventories, usages, traits, aggregates.",
    "by": "With commas: aggregates, traits.",
    "wait": "Seconds to wait if there is no event yet.",
    "kind": "Only events of this kind.",
    "project_id": "The project.",
    "user_id": "Only of this user.",
    "consumer_type": "Only of this type; `unknown` are those without one.",
    "/usages consumer_type": "Only of this type; `unknown` are those without one, `all` the sum.",
    "resource_provider": "Only consumers that hold something of this provider, or of one of "
    "several: `in:A,B`.",
    "/allocations resource_class": "Only consumers that hold something of this resource class.",
    "changed_before": "Only consumers that last changed before this time, in ISO 8601 with a zone.",
    "version": "The microversion that the document is about; without it, the newest.",
}


def parameter(path: str, name: str) -> str:
    """What a parameter of an operation means."""
    return PARAMETERS.get(f"{path} {name}") or PARAMETERS[name]
