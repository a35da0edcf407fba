"""GPA (Hu et al. 2020, "Graph Policy Network for Transferable Active Learning on Graphs").

The policy network is GCBR's. It reads five numbers of each node: entropy of the prediction, degree (20 and
more are alike), the mean divergence of the prediction from the neighbors' and of theirs from it, and
whether the node is labeled. It is trained by REINFORCE: every choice of a game is worth the validation
score that the game ends with, after 35 more epochs, compared with the games before it. The score is
Micro-F1, as in the authors' settings.

Trained on Cora alone, like GCBR; the authors train on several graphs as well.
"""

from __future__ import annotations

from gcbr.strategies.learned import shipped

gpa = shipped("gpa")
