"""Message passing as in the starter, and a score of a predecessor that looks at all three nodes and their edges."""

import torch
from torch import nn

HIDDEN = 24
ROUNDS = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode_node = nn.Linear(1, HIDDEN)
        self.encode_edge = nn.Linear(3, HIDDEN)
        self.message = nn.Linear(3 * HIDDEN, HIDDEN)
        self.update = nn.Linear(2 * HIDDEN, HIDDEN)
        self.of_pair = nn.Linear(3 * HIDDEN, HIDDEN)
        self.of_last = nn.Linear(3 * HIDDEN, HIDDEN)
        self.of_first = nn.Linear(3 * HIDDEN, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, pos, A, adj):
        """From pos (graphs, n), A and adj (graphs, n, n) to a score of each node k as Pi[i, j], at [graph, i, j, k]."""
        nodes = self.encode_node(pos[..., None])
        itself = torch.eye(A.shape[-1]).expand_as(A)
        edges = torch.relu(self.encode_edge(torch.stack([A, adj, itself], dim=-1)))
        for _ in range(ROUNDS):
            messages = torch.relu(self.message(torch.cat([*pairs(nodes), edges], dim=-1)))
            received = (messages * adj[..., None]).amax(dim=1)
            nodes = nodes + torch.relu(self.update(torch.cat([nodes, received], dim=-1)))
        triple = torch.cat([*pairs(nodes), edges], dim=-1)
        whole = self.of_pair(triple)[:, :, :, None]
        first = self.of_first(triple)[:, :, None]
        last = self.of_last(triple).transpose(1, 2)[:, None]
        return self.score(torch.relu(whole + first + last)).squeeze(-1)

    @torch.no_grad()
    def predict(self, pos, A, adj):
        """Pi (graphs, n, n): for each pair of nodes, the one before the second on the shortest path between them."""
        return self(pos, A, adj).argmax(dim=-1)


def pairs(nodes):
    """The states of the first and of the second node, for each pair of nodes."""
    n = nodes.shape[1]
    return nodes[:, :, None].expand(-1, -1, n, -1), nodes[:, None].expand(-1, n, -1, -1)
