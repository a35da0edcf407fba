"""What a view says of itself."""

import torch


def test_taken_are_the_labeled_nodes_in_order_and_then_the_pending_ones(barbell, make_view):
    view = make_view(barbell, labels={4: 0, 1: 1}, pending=(2,))
    assert view.taken.tolist() == [4, 1, 2]
    assert make_view(barbell).taken.dtype == torch.long
