"""ALLIE (Cui et al. 2022, "ALLIE: Active Learning on Large-scale Imbalanced Graphs"): our reading of it.

There is no public code, and the paper leaves much open. Certain is that it extends GPA for graphs whose
classes differ in size: its reward knows of the imbalance, it samples from majority and minority classes,
the classifier has a focal loss, and a coarser graph leaves fewer nodes to choose among. What we make of
that:

- State, policy and learning are GPA's.
- The reward of a label is the Macro-F1 it gains on the validation nodes; times 1 if its class is rarer than
  the average one, and times the ratio of minority to majority frequency if it is not
  (`rewards.class_weights`).
- Both kinds of classes have their turn: each time, one candidate of each predicted class is proposed, the
  one whose prediction is least certain, and the policy chooses among those
  (`actions.least_certain_of_each_class`).
- Focal loss is an option of the classifier (`GCNConfig.focal`, `gcbr train --focal 2`). It is off where
  strategies are compared, because all are compared under the same classifier.
- Coarsening is an option of training (`gcbr train --coarse`): a set of nodes of which no two are neighbors,
  and that everyone else is next to, is chosen among as long as it lasts (`actions.representatives`). A
  policy trained so is used so. It is off by default: choosing is a small part of what a query costs here.

Nothing makes it balance the classes, and in the tables of GCBR's paper it does not.
"""

from __future__ import annotations

from gcbr.strategies.learned import shipped

allie = shipped("allie")
