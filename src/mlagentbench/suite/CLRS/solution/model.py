"""A network that keeps a state for every pair of nodes and combines the pairs that share a middle node."""

import torch
from torch import nn

HIDDEN = 32
ROUNDS = 4


class Model(nn.Module):
    """The state of (i, j) takes up the best over k of what the states of (i, k) and (k, j) say together.

    Shortest paths are a smallest sum over middle nodes, so that a largest message over them can learn to be one. A path
    may be put together from two halves, each put together before: a few rounds reach paths of many edges.
    """

    def __init__(self):
        super().__init__()
        self.encode = perceptron(3, HIDDEN)
        self.encode_edge = perceptron(3, HIDDEN)
        self.first_half = nn.Linear(HIDDEN, HIDDEN)
        self.second_half = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.proposal = perceptron(2 * HIDDEN, HIDDEN)
        self.gate = nn.Linear(2 * HIDDEN, HIDDEN)
        self.length = nn.Linear(HIDDEN, 1)
        self.of_path = nn.Linear(HIDDEN, HIDDEN)
        self.of_rest = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.of_last = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.of_same = nn.Linear(2, HIDDEN, bias=False)
        self.score = nn.Linear(HIDDEN, 1)
        # States change little before the network knows how.
        nn.init.constant_(self.gate.bias, -1.0)

    def forward(self, pos, A, adj):
        """A score of each node k as Pi[i, j], at [graph, i, j, k], and the length of the path, at [graph, i, j]."""
        n = A.shape[-1]
        itself = torch.eye(n)
        pairs = torch.stack([A, adj, itself.expand_as(A)], dim=-1)
        states, edges = self.encode(pairs), self.encode_edge(pairs)
        for _ in range(ROUNDS):
            halves = self.first_half(states)[:, :, :, None] + self.second_half(states)[:, None]
            best = torch.relu(halves).amax(dim=2)
            both = torch.cat([states, best], dim=-1)
            gate = torch.sigmoid(self.gate(both))
            states = (1 - gate) * states + gate * self.proposal(both)
        same = torch.stack([itself[:, None].expand(n, n, n), itself[None].expand(n, n, n)], dim=-1)
        scores = self.score(
            torch.relu(
                self.of_path(states)[:, :, :, None]
                + self.of_rest(states)[:, :, None]
                + self.of_last(edges).transpose(1, 2)[:, None]
                + self.of_same(same)
            )
        )
        return scores.squeeze(-1), self.length(states).squeeze(-1)

    @torch.no_grad()
    def predict(self, pos, A, adj):
        """Pi (graphs, n, n): for each pair of nodes, the one before the second on the shortest path between them."""
        return self(pos, A, adj)[0].argmax(dim=-1)


def perceptron(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
