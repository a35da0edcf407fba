"""The simulated device refuses what CUDA refuses: else the tests beside this one could not fail."""

import pytest
import torch

from gcbr.engine.gcn import AdamState, GCNConfig


def test_numbers_are_right_on_the_simulated_device(simulated, away):
    with simulated():
        numbers = torch.arange(4.0).to(away)
        numbers[torch.tensor([1])] = torch.tensor(7.0)  # an index and a single number may be the CPU's
        numbers.view(2, 2)[1] += 1
        assert numbers.device == torch.zeros(1, device=away).device == away
        assert numbers.tolist() == [0, 7, 3, 4]
        assert int(numbers.argmax()) == 1
        assert numbers.cpu().device.type == "cpu"


@pytest.mark.parametrize(
    "mistake",
    {
        "a sum": lambda here, away: here + away,
        "a sum into one of the CPU": lambda here, away: here.sum().add_(away.sum()),
        "a product": lambda here, away: away @ here,
        "a joint": lambda here, away: torch.cat([here, away]),
        "a comparison": lambda here, away: torch.equal(here, away),
        "values put in": lambda here, away: away.index_put_((torch.tensor([0]),), here[:1]),
        "an index into one of the CPU": lambda here, away: here[away.long()],
        "a generator of the CPU": lambda here, away: away.multinomial(1, generator=torch.Generator()),
        "an array": lambda here, away: away.numpy(),
    }.items(),
    ids=lambda mistake: mistake[0],
)
def test_a_mixture_is_refused(simulated, away, mistake):
    with simulated(), pytest.raises(RuntimeError, match=r"of the CPU|numpy"):
        mistake[1](torch.ones(2), torch.ones(2).to(away))


def test_a_fused_step_of_other_layouts_is_refused(simulated, away):
    with simulated():
        weights, gradient = torch.ones(2, 3).to(away), torch.ones(3, 2).to(away).T
        with pytest.raises(RuntimeError, match="strides"):
            AdamState.of([weights]).step([weights], [gradient], GCNConfig())
