"""Routes of the names that a cloud knows: resource classes and traits."""

from roost.api.handlers import resource_classes, traits
from roost.api.routes.route import PolicyRule, Route
from roost.api.schemas import in_all_versions
from roost.api.schemas import resource_classes as class_schemas
from roost.api.schemas import traits as trait_schemas

_CLASSES = "/resource_classes"
_CLASS = "/resource_classes/{name}"
_TRAIT = "/traits/{name}"

_UPDATE_CLASS = PolicyRule(
    "placement:resource_classes:update", "Create or rename a resource class."
)

ROUTES = (
    Route(
        "GET",
        _CLASSES,
        resource_classes.get_all,
        PolicyRule("placement:resource_classes:list"),
        "List resource classes.",
        "The standard ones, and those that were created here, whose names begin with CUSTOM_.",
        answer=in_all_versions(class_schemas.CLASSES),
        since=(1, 2),
    ),
    Route(
        "POST",
        _CLASSES,
        resource_classes.post,
        PolicyRule("placement:resource_classes:create"),
        "Create a resource class.",
        "Its name begins with CUSTOM_. Refused with 409 if it exists; PUT takes that as done.",
        since=(1, 2),
        body=in_all_versions(class_schemas.BODY),
        statuses=(201,),
        names_location=True,
    ),
    Route(
        "GET",
        _CLASS,
        resource_classes.get,
        PolicyRule("placement:resource_classes:show"),
        "Show a resource class.",
        "404 if there is none of this name.",
        answer=in_all_versions(class_schemas.CLASS),
        since=(1, 2),
    ),
    Route(
        "PUT",
        _CLASS,
        resource_classes.rename,
        _UPDATE_CLASS,
        "Rename a resource class.",
        "To the name in the body. From 1.7 on, PUT creates the class of the path instead.",
        since=(1, 2),
        until=(1, 6),
        body=in_all_versions(class_schemas.BODY),
        answer=in_all_versions(class_schemas.CLASS),
        shows_state=False,
    ),
    Route(
        "PUT",
        _CLASS,
        resource_classes.ensure,
        _UPDATE_CLASS,
        "Create a resource class unless it exists.",
        "Its name begins with CUSTOM_. The status tells whether it was created: 201, or 204 if it "
        "existed.",
        since=(1, 7),
        statuses=(201, 204),
        names_location=True,
    ),
    Route(
        "DELETE",
        _CLASS,
        resource_classes.delete,
        PolicyRule("placement:resource_classes:delete"),
        "Delete a resource class.",
        "Refused with 409 while a provider has an inventory of it, and with 400 if it is standard.",
        since=(1, 2),
        statuses=(204,),
    ),
    Route(
        "GET",
        "/traits",
        traits.get_all,
        PolicyRule("placement:traits:list"),
        "List traits.",
        "The standard ones, and those that were created here, whose names begin with CUSTOM_.",
        since=(1, 6),
        query=in_all_versions(trait_schemas.LIST),
        answer=in_all_versions(trait_schemas.TRAITS),
    ),
    Route(
        "GET",
        _TRAIT,
        traits.get,
        PolicyRule("placement:traits:show"),
        "Show a trait.",
        "The answer has no body: it says that the trait exists. 404 if there is none of this name.",
        since=(1, 6),
        statuses=(204,),
        shows_state=True,
    ),
    Route(
        "PUT",
        _TRAIT,
        traits.put,
        PolicyRule("placement:traits:update"),
        "Create a trait.",
        "Its name begins with CUSTOM_. The status tells whether it was created: 201, or 204 if it "
        "existed.",
        since=(1, 6),
        statuses=(201, 204),
        names_location=True,
        shows_state=True,
    ),
    Route(
        "DELETE",
        _TRAIT,
        traits.delete,
        PolicyRule("placement:traits:delete"),
        "Delete a trait.",
        "Refused with 409 while a provider has it, and with 400 if it is a standard one.",
        since=(1, 6),
        statuses=(204,),
    ),
)
