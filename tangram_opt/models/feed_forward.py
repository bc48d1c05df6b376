"""Blocks that work on each token alone: the MLP and the mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass

from tangram_opt.models.costs import FULL_PRECISION_BYTES, Costs, dropout, kept, linear


@dataclass(frozen=True, slots=True)
class Mlp:
    """Two matrix products around an activation function, or three where a gate multiplies it.

    Attributes
    ----------
    hidden_size, inner_size : int
        Width of the layer and of the MLP.
    gated : bool
        Whether it has a gate (SwiGLU, GeGLU).
    bias : bool
        Whether its products have biases.
    output_dropout : bool
        Whether there is dropout behind it.
    """

    hidden_size: int
    inner_size: int
    gated: bool
    bias: bool = False
    output_dropout: bool = False

    @property
    def suffix(self) -> str:
        """Part of a signature: a dense layer is the ordinary case."""
        return ""

    def costs(self) -> Costs:
        """Count products and kept tensors, without the block's input."""
        inner = linear(self.hidden_size, self.inner_size, bias=self.bias) + kept(self.inner_size)
        return (
            (inner + inner if self.gated else inner)
            + linear(self.inner_size, self.hidden_size, bias=self.bias)
            + kept(self.inner_size)
            + dropout(self.hidden_size, active=self.output_dropout)
        )


@dataclass(frozen=True, slots=True)
class MixtureOfExperts:
    """Routed experts, of which each token visits a few, and at most one expert that all tokens share.

    Attributes
    ----------
    expert : Mlp
        One routed expert.
    experts, experts_per_token : int
        How many there are, and how many a token visits.
    shared : Mlp or None
        What every token visits; several shared experts are one of their total width.
    router_bias : bool
        Whether the router has a trainable bias.
    output_dropout : bool
        Whether there is dropout behind the block.
    """

    expert: Mlp
    experts: int
    experts_per_token: int
    shared: Mlp | None = None
    router_bias: bool = False
    output_dropout: bool = False

    @property
    def suffix(self) -> str:
        """Part of a signature."""
        return "+moe"

    def costs(self) -> Costs:
        """Count router, visited experts and kept tensors, without the block's input."""
        expert, hidden_size = self.expert.costs(), self.expert.hidden_size
        routed_copy = expert + kept(2 * hidden_size)
        total = (
            linear(hidden_size, self.experts, bias=self.router_bias)
            + dropout(hidden_size, active=self.output_dropout)
            + Costs(
                expert_parameters=self.experts * expert.parameters,
                experts=self.experts,
                experts_per_token=self.experts_per_token,
                expert_flops_per_token=self.experts_per_token * expert.linear_flops_per_token,
                activation_bytes_per_token=self.experts_per_token * routed_copy.activation_bytes_per_token
                + FULL_PRECISION_BYTES * self.experts,
            )
        )
        return total if self.shared is None else total + self.shared.costs()
