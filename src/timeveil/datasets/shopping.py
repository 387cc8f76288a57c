"""Shopping baskets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from timeveil.datasets.draws import Ints, Seed, at_least, generator, identifiers, labels, skewed_shares

# from the most to the least common
ITEMS = (
    "milk", "bread", "bananas", "eggs", "butter", "tomatoes", "coffee", "cheese", "apples", "yoghurt",
    "potatoes", "pasta", "onions", "chicken", "rice", "water", "carrots", "chocolate", "beer", "sugar",
    "flour", "ham", "lettuce", "tomato sauce", "olive oil", "tea", "jam", "crisps", "wine", "orange juice",
    "cereal", "salt", "mustard", "sausages", "cucumber", "lemons", "honey", "toilet paper", "detergent",
    "baby food", "nappies", "cat food", "batteries", "shampoo", "razor blades", "vitamins", "pregnancy test",
    "light bulbs",
)  # fmt: skip
# what is bought together, and how often a basket is about it
GROUPS = (
    (0.16, ("coffee", "milk", "sugar")),
    (0.14, ("pasta", "tomato sauce", "cheese", "olive oil")),
    (0.10, ("flour", "eggs", "butter", "sugar")),
    (0.09, ("bread", "butter", "jam", "honey")),
    (0.07, ("beer", "crisps", "sausages", "mustard")),
    (0.04, ("nappies", "baby food", "water")),
)


def baskets(transactions: int = 1_000, seed: Seed = 0) -> pa.Table:
    """What was bought, one row per basket and item, in the order of the till.

    Items follow Zipf's law; some baskets are about a group of items bought together. An item bought twice
    has two rows, and some baskets are exact copies of others.

    >>> baskets(transactions=2).column_names
    ['basket', 'item']
    """
    at_least("transactions", transactions, 0)
    draw = generator(seed)
    basket, item = _singles(draw, transactions)
    for share, members in GROUPS:
        about = np.flatnonzero(draw.random(transactions) < share)
        bought = draw.random((about.size, len(members))) < 0.8
        group, member = np.nonzero(bought)
        basket = np.concatenate([basket, about[group]])
        item = np.concatenate([item, np.array([ITEMS.index(name) for name in members])[member]])
    shuffled = draw.permutation(basket.size)
    by_basket = shuffled[np.argsort(basket[shuffled], kind="stable")]
    basket, item = _copied(draw, basket[by_basket], item[by_basket], transactions)
    return pa.table({"basket": identifiers("B", basket), "item": labels(ITEMS, item)})


def _singles(draw: np.random.Generator, transactions: int) -> tuple[Ints, Ints]:
    """One to many items per basket, drawn independently."""
    sizes = draw.geometric(0.28, transactions)
    basket = np.repeat(np.arange(transactions), sizes)
    return basket, draw.choice(len(ITEMS), size=basket.size, p=skewed_shares(len(ITEMS), 0.85))


def _copied(draw: np.random.Generator, basket: Ints, item: Ints, transactions: int) -> tuple[Ints, Ints]:
    """Replace about one basket in twenty by a copy of another; `basket` is sorted."""
    source = np.arange(transactions)
    copies = np.flatnonzero(draw.random(transactions) < 0.05)
    source[copies] = draw.integers(0, max(transactions, 1), copies.size)
    sizes = np.bincount(basket, minlength=transactions)
    starts = np.cumsum(sizes) - sizes
    counts = sizes[source]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(np.arange(transactions), counts), item[np.repeat(starts[source], counts) + within]
