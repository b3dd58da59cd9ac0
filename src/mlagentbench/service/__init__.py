"""What tool tasks offer to the programs of agents: a paper index and a chat endpoint. Nothing of it is loaded for tasks
that offer nothing."""
