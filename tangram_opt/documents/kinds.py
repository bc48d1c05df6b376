"""The kinds of document: what each holds, how it is told from the others, and its JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Discriminator, Field, Tag, TypeAdapter

from tangram_opt.data.cluster import Cluster
from tangram_opt.data.composition import Composition, CompositionProblem, Depths, Objective
from tangram_opt.data.constraints import STRICT, NonEmptyStr, PositiveInt
from tangram_opt.data.island import IslandsProblem, Partition, Tolerances
from tangram_opt.data.model import Model
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem, Pruning
from tangram_opt.data.workload import TrainingRecipe
from tangram_opt.documents.clusters import ClusterDocument
from tangram_opt.errors import InputError

FORMAT_PREFIX: Final = "tangram-opt/"
VERSION: Final = 1


def _cluster_tag(value: Any) -> str:
    """Name the form of a cluster: a path, as people write it, or node by node as this package saves it."""
    if isinstance(value, str):
        return "path"
    network = value.get("network") if isinstance(value, dict) else None
    saved = isinstance(network, dict) and ("matrix_bytes_per_s" in network or "bandwidths_bytes_per_s" in network)
    return "node by node" if saved else "groups"


def _path_tag(value: Any) -> str:
    return "path" if isinstance(value, str) else "object"


ClusterBody = Annotated[
    Annotated[ClusterDocument, Tag("groups")] | Annotated[Cluster, Tag("node by node")],
    Discriminator(_cluster_tag),
]
ClusterReference = Annotated[
    Annotated[NonEmptyStr, Tag("path")]
    | Annotated[ClusterDocument, Tag("groups")]
    | Annotated[Cluster, Tag("node by node")],
    Discriminator(_cluster_tag),
]
ModelReference = Annotated[
    Annotated[NonEmptyStr, Tag("path")] | Annotated[Model, Tag("object")], Discriminator(_path_tag)
]
RecipeReference = Annotated[
    Annotated[NonEmptyStr, Tag("path")] | Annotated[TrainingRecipe, Tag("object")], Discriminator(_path_tag)
]


class IslandsProblemDocument(BaseModel):
    """Partition the nodes of a cluster into the fewest islands."""

    model_config = STRICT

    name: NonEmptyStr = Field(description="Name of the instance.")
    cluster: ClusterReference = Field(description="The cluster, or the path of its document relative to this one.")
    tolerances: Tolerances = Field(default=Tolerances(), description="How far the nodes of an island may differ.")


class PlanningProblemDocument(BaseModel):
    """Find the training pipeline with the shortest iteration."""

    model_config = STRICT

    name: NonEmptyStr = Field(description="Name of the instance.")
    cluster: ClusterReference = Field(description="The cluster, or the path of its document relative to this one.")
    model: ModelReference = Field(
        description="The model, or a path relative to this document: of a model document or of a config.json."
    )
    global_batch: PositiveInt = Field(description="Sequences per iteration.")
    sequence_length: PositiveInt = Field(description="Tokens per sequence.")
    micro_batch: PositiveInt | None = Field(
        default=None,
        description="Sequences that move through the pipeline together; null tries every divisor of the global batch.",
    )
    recipe: RecipeReference = Field(description="Name of a training recipe of the catalogue, or the recipe itself.")
    tolerances: Tolerances = Field(default=Tolerances(), description="How far the nodes of an island may differ.")
    pruning: Pruning = Field(default=Pruning(), description="Pruning of slice/island pairs.")
    objective: Objective | None = Field(
        default=None,
        description="Which iteration time is minimised: simulated, by the period form, or by the closed form (the "
        "paper's); null takes the best affordable one.",
    )
    depths: Depths = Field(
        default="standard",
        description="Micro-batches in flight: those of 1F1B (standard), or as many more as pay (chosen).",
    )


BODIES: Final[Mapping[str, Any]] = {
    "cluster": ClusterBody,
    "model": Model,
    "islands-problem": IslandsProblemDocument,
    "composition-problem": CompositionProblem,
    "partition": Partition,
    "composition": Composition,
    "planning-problem": PlanningProblemDocument,
    "plan": Plan,
}
"""What a document of each kind holds beside ``format`` and ``version``."""

CLASSES: Final[Mapping[str, type]] = {
    "cluster": Cluster,
    "model": Model,
    "islands-problem": IslandsProblem,
    "composition-problem": CompositionProblem,
    "partition": Partition,
    "composition": Composition,
    "planning-problem": PlanningProblem,
    "plan": Plan,
}
"""What a document of each kind becomes."""

KINDS: Final = tuple(BODIES)


@cache
def body_adapter(kind: str) -> TypeAdapter[Any]:
    """Validator of what a document of `kind` holds."""
    return TypeAdapter(BODIES[kind])


@cache
def class_adapter(kind: str) -> TypeAdapter[Any]:
    """Serializer of what a document of `kind` becomes."""
    return TypeAdapter(CLASSES[kind])


def schema(kind: str) -> dict[str, Any]:
    """JSON Schema of a kind of document.

    Parameters
    ----------
    kind : str
        One of `KINDS`.

    Returns
    -------
    dict
        The schema, with ``format`` and ``version``.

    Raises
    ------
    InputError
        When there is no such kind.
    """
    if kind not in KINDS:
        raise InputError(f"kind {kind!r} is not known, expected one of {', '.join(KINDS)}")
    found = body_adapter(kind).json_schema()
    definitions = found.get("$defs", {})
    for definition in (*definitions.values(), found):
        _describe_fields(definition)
    bodies = [definitions[branch["$ref"].rsplit("/", 1)[-1]] for branch in found.get("oneOf", ())] or [found]
    for body in bodies:
        body["properties"] = {
            "format": {"const": FORMAT_PREFIX + kind, "description": "Kind of document."},
            "version": {"const": VERSION, "description": "Version of the format."},
        } | body["properties"]
        body["required"] = ["format", "version", *body.get("required", ())]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": FORMAT_PREFIX + kind} | found


def _describe_fields(definition: dict[str, Any]) -> None:
    """Move what a numpydoc docstring says about attributes to the fields that it speaks of."""
    summary, _, attributes = definition.get("description", "").partition("\n\nAttributes\n----------\n")
    if not attributes:
        return
    definition["description"] = summary
    for names, text in re.findall(r"^(\S.*?) : .*\n((?:    .*\n?)+)", attributes, flags=re.MULTILINE):
        for name in names.split(", "):
            if name in definition["properties"]:
                definition["properties"][name].setdefault("description", " ".join(text.split()))
