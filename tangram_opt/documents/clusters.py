"""Cluster documents as people write them: groups of equal nodes, and a network of tiers or of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from annotated_types import Ge, Le
from pydantic import BaseModel, Field

from tangram_opt.data.constraints import STRICT, NonEmptyStr

MAX_NODES: Final = 100_000
MAX_GPUS_PER_NODE: Final = 256

Gigabytes = Annotated[float, Ge(1e-9), Le(1e9)]
Teraflops = Annotated[float, Ge(1e-12), Le(1e6)]
LinkGigabytes = Annotated[float, Ge(0), Le(1e9)]
Share = Annotated[float, Ge(0.01), Le(1)]


class _Document(BaseModel):
    model_config = STRICT


class GpuOverrides(_Document):
    """Figures that differ from the catalogue: a MIG slice, a power cap, a narrow slot, heat."""

    memory_gb: Gigabytes | None = Field(default=None, description="Memory of a GPU in GB of 10^9 bytes.")
    peak_tflops: Teraflops | None = Field(
        default=None, description="Dense half-precision peak, 10^12 operations per second."
    )
    matmul_tflops: Teraflops | None = Field(default=None, description="What large matrix products reach of the peak.")
    memory_gb_per_s: Gigabytes | None = Field(
        default=None, description="Bandwidth of GPU memory, 10^9 bytes per second."
    )
    host_link_gb_per_s: Gigabytes | None = Field(
        default=None, description="Bandwidth to host memory, one direction, 10^9 bytes per second."
    )
    derate: Share | None = Field(
        default=None,
        description="Share that is left of what matrix products reach: 0.93 for GPUs that run 7 % slow from heat.",
    )


class NodeOverrides(GpuOverrides):
    """What was measured on one node of a group, in place of the group's figures."""

    intra_node_gb_per_s: Gigabytes | tuple[tuple[LinkGigabytes, ...], ...] | None = Field(
        default=None, description="Bandwidth between the GPUs of this node, written as for the group."
    )


class NodeGroup(_Document):
    """A node, or a number of equal nodes."""

    name: NonEmptyStr = Field(
        description="Name of the node; of a group with count above 1 the nodes are name-1, name-2, ..., "
        "with leading zeros where the count has more digits."
    )
    count: Annotated[int, Ge(1), Le(MAX_NODES)] = Field(default=1, description="Number of equal nodes.")
    gpu: NonEmptyStr | tuple[NonEmptyStr, ...] = Field(
        description="GPU model, in any spelling that the catalogue knows; or a list of models, one for each GPU of a "
        "node in the machine's own order. A node with several models counts as several nodes, one for each model, "
        "named node/model: they share the host memory by their numbers of GPUs, each of them has the node's links to "
        "other nodes, and the link between them is the slowest between their GPUs."
    )
    gpus_per_node: Annotated[int, Ge(1), Le(MAX_GPUS_PER_NODE)] = Field(description="GPUs in each node.")
    intra_node_gb_per_s: Gigabytes | tuple[tuple[LinkGigabytes, ...], ...] | None = Field(
        default=None,
        description="Bandwidth between the GPUs of a node, one direction, 10^9 bytes per second: one number, or a "
        "matrix from GPU to GPU with 0 on the diagonal. Not needed for a node with one GPU.",
    )
    host_memory_gb: Gigabytes | None = Field(
        default=None, description="Memory of the host in GB of 10^9 bytes; without it nothing is offloaded to the host."
    )
    position: Mapping[str, NonEmptyStr] | tuple[NonEmptyStr, ...] | None = Field(
        default=None,
        description="Where the nodes are in the network of tiers: the unit in each tier below the outermost, as a "
        "mapping by tier name or as a list from the outside in.",
    )
    gpu_overrides: GpuOverrides = Field(default=GpuOverrides(), description="Figures that differ from the catalogue.")
    node_overrides: Mapping[str, NodeOverrides] = Field(
        default={}, description="Figures of single nodes that differ from those of the group, by the node's name."
    )


class Tier(_Document):
    """One level of a hierarchical network."""

    name: NonEmptyStr = Field(description="What its units are: cluster, pod, rack, switch, ...")
    gb_per_s: LinkGigabytes = Field(
        description="Bandwidth between two nodes that share a unit of this tier and none further in, one direction, "
        "10^9 bytes per second."
    )


class NetworkDocument(_Document):
    """The network between nodes, in exactly one of three ways.

    Bandwidths are 10^9 bytes per second, one direction; 0 says that there is no link, and no island holds both nodes.
    """

    tiers: tuple[Tier, ...] | None = Field(
        default=None, description="Tiers from the outermost (the whole cluster) to the innermost."
    )
    matrix_gb_per_s: tuple[tuple[LinkGigabytes, ...], ...] | None = Field(
        default=None, description="From node (row) to node (column), with 0 on the diagonal; it may be asymmetric."
    )
    between_groups_gb_per_s: (
        Mapping[str, Mapping[str, LinkGigabytes]] | tuple[tuple[LinkGigabytes, ...], ...] | None
    ) = Field(
        default=None,
        description="From group to group, as a matrix in the order of the groups or as a mapping of mappings by "
        "name; the diagonal is between the nodes of one group. In the mapping a pair that is given in one direction "
        "only holds for both, and a group of one node needs no diagonal.",
    )


class ClusterDocument(_Document):
    """A cluster: groups of equal nodes and the network between them."""

    name: NonEmptyStr = Field(description="What the cluster is called in reports.")
    nodes: tuple[NodeGroup, ...] = Field(description="Groups of equal nodes.")
    network: NetworkDocument | None = Field(default=None, description="Not needed for a cluster of one node.")
