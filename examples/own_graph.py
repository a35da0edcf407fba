"""A graph of one's own, from two tables to a class for every node, with a person played by a function.

Run it as it stands: it writes its tables into a temporary folder, as a spreadsheet would.
"""

import csv
import random
import tempfile
from pathlib import Path

import gcbr

# What the 150 shops really are, and words in what they say of themselves; a few are casinos.
TRADES = {
    "bakery": (90, "bread cake coffee morning flour fresh"),
    "garage": (45, "cars tires repair engine oil service"),
    "casino": (15, "night games cards luck drinks music"),
}
COMMON = "we are open in town near the station for all our friends and family since long ago"


def write_tables(folder: Path) -> dict[str, str]:
    """Shops and the payments between them, mostly inside a trade; returns what a person would find out."""
    rng = random.Random(0)
    kinds = [trade for trade, (count, _) in TRADES.items() for _ in range(count)]
    trade = {f"shop-{number}": kind for number, kind in enumerate(rng.sample(kinds, len(kinds)))}
    shops = list(trade)
    with (folder / "nodes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "about"])
        for shop in shops:
            own = rng.choices(TRADES[trade[shop]][1].split(), k=2)
            table.writerow([shop, " ".join([*own, *rng.choices(COMMON.split(), k=6)])])
    with (folder / "edges.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["source", "target", "weight"])
        for shop in shops:
            peers = [other for other in shops if trade[other] == trade[shop] and other != shop]
            for partner in [*rng.sample(peers, 2), rng.choice(shops)]:
                table.writerow([shop, partner, rng.randint(1, 9)])
    return trade


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trade = write_tables(folder)
        graph = gcbr.read_graph(folder)
        learner = gcbr.ActiveLearner(graph, budget=24, seed=0, classes=TRADES)
        while learner.progress().left:
            batch = learner.ask(3)
            why = learner.explain(batch[0])
            for node in batch:
                learner.tell(node, trade[graph.name_of(node)])  # ask a person here
        print("labels:", learner.progress().counts)
        print(f"asked late: {why.name}. {why.sentence}")
        learner.save(folder / "shops.learner")  # and go on another day: gcbr.ActiveLearner.load
        predicted = [learner.class_names[cls] for cls in learner.predict().argmax(1).tolist()]
        right = sum(cls == trade[graph.name_of(node)] for node, cls in enumerate(predicted))
        print(f"right: {right} of {graph.num_nodes}")


if __name__ == "__main__":
    main()
