"""Documents from files.

Every error is one sentence that names the file, the path in it, the value and what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from tangram_opt.catalogue import find_recipe
from tangram_opt.data.cluster import Cluster
from tangram_opt.data.composition import Composition, CompositionProblem
from tangram_opt.data.island import IslandsProblem, Partition
from tangram_opt.data.model import Model
from tangram_opt.data.plan import Plan
from tangram_opt.data.planning import PlanningProblem
from tangram_opt.data.workload import TrainingRecipe
from tangram_opt.documents.clusters import ClusterDocument
from tangram_opt.documents.expansion import to_cluster
from tangram_opt.documents.faults import describe
from tangram_opt.documents.kinds import (
    FORMAT_PREFIX,
    KINDS,
    VERSION,
    IslandsProblemDocument,
    PlanningProblemDocument,
    body_adapter,
)
from tangram_opt.documents.reading import is_file, read_mapping, shorten
from tangram_opt.errors import InputError
from tangram_opt.models import model_from_config

FilePath = str | PathLike[str]
Instance = IslandsProblem | CompositionProblem | PlanningProblem

INSTANCE_KINDS = ("islands-problem", "composition-problem", "planning-problem")

BodyT = TypeVar("BodyT")


def load_cluster(path: FilePath) -> Cluster:
    """Load a cluster, as people write it or as this package saves it; raises InputError."""
    file = Path(path)
    return _cluster(_body(file, read_mapping(file), "cluster"), file, "")


def load_model(path: FilePath) -> Model:
    """Load a model: a saved model document, or the ``config.json`` of a published one, which has no ``format``.

    Parameters
    ----------
    path : str or path
        The file. A model read from ``<directory>/config.json`` is named after the directory.

    Returns
    -------
    Model
        Its atoms, front to back.

    Raises
    ------
    InputError
        When the file is neither.
    """
    file = Path(path)
    document = read_mapping(file)
    if "format" in document:
        return cast(Model, _body(file, document, "model"))
    name = file.resolve().parent.name if file.stem == "config" else file.stem
    try:
        return model_from_config(document, name)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def load_islands_problem(path: FilePath) -> IslandsProblem:
    """Load an islands problem; raises InputError."""
    return cast(IslandsProblem, _instance(Path(path), ("islands-problem",)))


def load_composition_problem(path: FilePath) -> CompositionProblem:
    """Load a composition problem; raises InputError."""
    return cast(CompositionProblem, _instance(Path(path), ("composition-problem",)))


def load_planning_problem(path: FilePath) -> PlanningProblem:
    """Load a planning problem with the cluster and the model that it names; raises InputError."""
    return cast(PlanningProblem, _instance(Path(path), ("planning-problem",)))


def load_instance(path: FilePath) -> Instance:
    """Load a problem of any of the three kinds, by its ``format``; raises InputError."""
    return _instance(Path(path), INSTANCE_KINDS)


def load_cluster_or_problem(path: FilePath) -> Cluster | IslandsProblem | PlanningProblem:
    """Load what has a cluster: a cluster document, or an islands or planning problem; raises InputError."""
    file = Path(path)
    document = read_mapping(file)
    body = _body(file, document, "cluster", "islands-problem", "planning-problem")
    if isinstance(body, ClusterDocument | Cluster):
        return _cluster(body, file, "")
    return cast(IslandsProblem | PlanningProblem, _problem(body, file))


def load_partition(path: FilePath) -> Partition:
    """Load a solution of an islands problem; raises InputError."""
    file = Path(path)
    return cast(Partition, _body(file, read_mapping(file), "partition"))


def load_composition(path: FilePath) -> Composition:
    """Load a solution of a composition problem; raises InputError."""
    file = Path(path)
    return cast(Composition, _body(file, read_mapping(file), "composition"))


def load_plan(path: FilePath) -> Plan:
    """Load a training plan; raises InputError."""
    file = Path(path)
    return cast(Plan, _body(file, read_mapping(file), "plan"))


def _instance(file: Path, kinds: tuple[str, ...]) -> Instance:
    return _problem(_body(file, read_mapping(file), *kinds), file)


def _problem(body: IslandsProblemDocument | CompositionProblem | PlanningProblemDocument, file: Path) -> Instance:
    if isinstance(body, IslandsProblemDocument):
        return IslandsProblem(body.name, _cluster_reference(body.cluster, file), body.tolerances)
    if isinstance(body, PlanningProblemDocument):
        return _planning_problem(body, file)
    return body


def _planning_problem(body: PlanningProblemDocument, file: Path) -> PlanningProblem:
    cluster = _cluster_reference(body.cluster, file)
    model = load_model(_beside(file, body.model, "model")) if isinstance(body.model, str) else body.model
    try:
        return PlanningProblem(
            name=body.name,
            cluster=cluster,
            model=model,
            global_batch=body.global_batch,
            sequence_length=body.sequence_length,
            micro_batch=body.micro_batch,
            recipe=_recipe(body.recipe, file),
            tolerances=body.tolerances,
            pruning=body.pruning,
        )
    except ValueError as error:
        raise InputError(f"{file}: {error}") from None


def _recipe(reference: str | TrainingRecipe, file: Path) -> TrainingRecipe:
    if isinstance(reference, TrainingRecipe):
        return reference
    try:
        return find_recipe(reference)
    except InputError as error:
        raise InputError(f"{file}: recipe: {error}") from None


def _cluster_reference(reference: str | ClusterDocument | Cluster, file: Path) -> Cluster:
    if isinstance(reference, str):
        return load_cluster(_beside(file, reference, "cluster"))
    return _cluster(reference, file, "cluster.")


def _cluster(body: ClusterDocument | Cluster, file: Path, prefix: str) -> Cluster:
    if isinstance(body, Cluster):
        return body
    try:
        return to_cluster(body)
    except InputError as error:
        raise InputError(f"{file}: {prefix}{error}") from None


def _beside(file: Path, reference: str, field: str) -> Path:
    path = file.parent / reference
    if not is_file(path):
        raise InputError(f"{file}: {field}: {shorten(reference)}, expected the path of a file ({path} is none)")
    return path


def _body(file: Path, document: Mapping[str, Any], *kinds: str) -> Any:
    """Validate a document that must be of one of `kinds`, without following the files it names."""
    formats = " or ".join(repr(FORMAT_PREFIX + kind) for kind in kinds)
    given = document.get("format")
    if given is None:
        raise InputError(f"{file}: format: missing, expected {formats}")
    kind = given.removeprefix(FORMAT_PREFIX) if isinstance(given, str) else ""
    if kind not in kinds or given != FORMAT_PREFIX + kind:
        what = f" (this is a document of kind {kind})" if kind in KINDS and given == FORMAT_PREFIX + kind else ""
        raise InputError(f"{file}: format: {shorten(given)}{what}, expected {formats}")
    if "version" not in document:
        raise InputError(f"{file}: version: missing, expected {VERSION}")
    version = document["version"]
    if version != VERSION or isinstance(version, bool):
        raise InputError(f"{file}: version: {shorten(version)}, expected {VERSION}")
    body = {key: value for key, value in document.items() if key not in ("format", "version")}
    adapter = body_adapter(kind)
    try:
        return adapter.validate_json(json.dumps(body))
    except ValidationError as error:
        raise InputError(f"{file}: {describe(error, body, adapter.json_schema())}") from None
