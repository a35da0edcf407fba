"""BiGeNe (Zhang et al. 2022): batches chosen by several agents; our reading of it.

The paper is "Batch Active Learning with Graph Neural Networks via Multi-Agent Deep Reinforcement Learning".
We keep its idea and not its machinery: a batch of k nodes is the work of k agents. They share one network,
GPA's, and choose one after another; each sees the choices before it as labeled. All are taught by REINFORCE
from what the whole batch has gained in Macro-F1 on the validation nodes, the gains of later batches
discounted. The authors learn action values instead, average them over a batch, and pass the choices on
through a recurrent unit.

`gcbr train --batch K` sets the size of a batch in training (5 by default). In use it is whatever is asked
for: `ask(k)` shows each choice those before it, and one node at a time is a batch of one.
"""

from __future__ import annotations

from gcbr.strategies.learned import shipped

bigene = shipped("bigene")
