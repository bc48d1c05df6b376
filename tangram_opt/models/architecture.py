"""An architecture in blocks, and the atoms that it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Final

from tangram_opt.data.model import HALF_PRECISION_BYTES, Atom, AtomKind, AtomRun, Model
from tangram_opt.models.costs import (
    FULL_PRECISION_BYTES,
    TOKEN_BYTES,
    Costs,
    dropout,
    kept,
    norm,
)
from tangram_opt.models.feed_forward import MixtureOfExperts, Mlp
from tangram_opt.models.mixers import Attention, LatentAttention, Mamba


@dataclass(frozen=True, slots=True)
class Layout:
    """How norms and residual connections join the two blocks of a layer.

    Attributes
    ----------
    norms : int
        Norms of the hidden activation.
    kept : int
        Hidden activations kept as inputs of norms and blocks (:mod:`tangram_opt.models.costs`).
    all_reduces : int
        Sums over tensor-parallel ranks in the forward pass: one for each residual addition, as blocks that run in
        parallel are added before they are summed.
    """

    norms: int
    kept: int
    all_reduces: int


SEQUENTIAL: Final = Layout(norms=2, kept=4, all_reduces=2)
"""Attention, then MLP, each with one norm in front of it or behind it."""
SANDWICHED: Final = Layout(norms=4, kept=6, all_reduces=2)
"""Attention, then MLP, each between two norms."""
PARALLEL_ONE_NORM: Final = Layout(norms=1, kept=2, all_reduces=1)
"""Attention and MLP side by side behind one norm."""
PARALLEL_TWO_NORMS: Final = Layout(norms=2, kept=3, all_reduces=1)
"""Attention and MLP side by side, each behind a norm of its own."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: a mixer and a feed-forward block.

    Attributes
    ----------
    mixer : Attention, LatentAttention or Mamba
        What mixes tokens.
    feed_forward : Mlp or MixtureOfExperts
        What works on each token alone.
    layout : Layout
        How they are joined.
    norm_bias : bool
        Whether norms have biases.
    """

    mixer: Attention | LatentAttention | Mamba
    feed_forward: Mlp | MixtureOfExperts
    layout: Layout = SEQUENTIAL
    norm_bias: bool = False

    @property
    def signature(self) -> str:
        """Names all in which layers of one model differ, so equal signatures mean equal atoms."""
        return f"layer:{self.mixer.kind}{self.feed_forward.suffix}"

    def atom(self) -> Atom:
        """Count the layer."""
        hidden_size = self.mixer.hidden_size
        costs = self.mixer.costs() + self.feed_forward.costs() + kept(self.layout.kept * hidden_size)
        for _ in range(self.layout.norms):
            costs += norm(hidden_size, bias=self.norm_bias)
        return _atom(
            "layer",
            self.signature,
            hidden_size,
            costs,
            window=self.mixer.window,
            input_bytes=HALF_PRECISION_BYTES * hidden_size,
            all_reduces=self.layout.all_reduces,
        )


@dataclass(frozen=True, slots=True)
class Architecture:
    """A decoder: embedding, layers, final norm with head.

    Attributes
    ----------
    hidden_size, vocabulary : int
        Width of the layers, number of tokens.
    layers : tuple of Layer
        Front to back.
    tied : bool
        Whether the head uses the embedding's weights.
    positions : int
        Learned positions in the embedding; 0 where positions are not learned.
    final_norm : bool
        Whether there is a norm in front of the head.
    norm_bias, head_bias : bool
        Whether the final norm and the head have biases.
    embedding_dropout : bool
        Whether there is dropout behind the embedding.
    """

    hidden_size: int
    vocabulary: int
    layers: tuple[Layer, ...]
    tied: bool
    positions: int = 0
    final_norm: bool = True
    norm_bias: bool = False
    head_bias: bool = False
    embedding_dropout: bool = False

    def model(self, name: str, family: str) -> Model:
        """Count all atoms and merge equal neighbours."""
        return Model(name=name, family=family, runs=tuple(self._runs()))

    def _runs(self) -> Iterator[AtomRun]:
        yield AtomRun(self._embedding(), 1)
        for layer, equal in groupby(self.layers):
            yield AtomRun(layer.atom(), sum(1 for _ in equal))
        yield AtomRun(self._head(), 1)

    def _embedding(self) -> Atom:
        costs = Costs(
            parameters=(self.vocabulary + self.positions) * self.hidden_size,
            activation_bytes_per_token=TOKEN_BYTES,
        ) + dropout(self.hidden_size, active=self.embedding_dropout)
        # The vocabulary is split, so the ranks' partial look-ups are summed.
        return _atom("embedding", "embedding", self.hidden_size, costs, input_bytes=TOKEN_BYTES, all_reduces=1)

    def _head(self) -> Atom:
        weights = self.vocabulary * self.hidden_size
        costs = Costs(
            parameters=(0 if self.tied else weights) + (self.vocabulary if self.head_bias else 0),
            linear_flops_per_token=2 * weights,
            activation_bytes_per_token=FULL_PRECISION_BYTES * self.vocabulary,
        ) + kept(self.hidden_size)
        if self.final_norm:
            costs += norm(self.hidden_size, bias=self.norm_bias) + kept(self.hidden_size)
        # The loss is computed on split logits: its sums are scalars, no hidden activation.
        return _atom(
            "head",
            "head",
            self.hidden_size,
            costs,
            tied_parameters=weights if self.tied else 0,
            input_bytes=HALF_PRECISION_BYTES * self.hidden_size,
            all_reduces=0,
        )


def _atom(
    kind: AtomKind,
    signature: str,
    hidden_size: int,
    costs: Costs,
    *,
    input_bytes: int,
    all_reduces: int,
    window: int | None = None,
    tied_parameters: int = 0,
) -> Atom:
    return Atom(
        kind=kind,
        signature=signature,
        hidden_size=hidden_size,
        tied_parameters=tied_parameters,
        attention_window=window,
        input_bytes_per_token=input_bytes,
        tensor_parallel_all_reduces=all_reduces,
        **asdict(costs),
    )
