"""Runs the peers of the Translation Memory and the Glossary on the same texts. One JSON text a line in every file.

    text-peers.py fuzzy SOURCES QUERIES   RapidFuzz: the most similar source of each query by comparison with every one
    text-peers.py terms TERMS TEXTS       pyahocorasick: every term in every text; its seconds are processor time
"""

import json
import sys
import time
from pathlib import Path

import ahocorasick
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein


def load(path):
    with Path(path).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def fuzzy(sources, queries):
    sources = load(sources)
    answers = []
    for query in load(queries):
        start = time.perf_counter()
        best = process.extractOne(query, sources, scorer=Levenshtein.normalized_similarity, score_cutoff=0.75)
        seconds = time.perf_counter() - start
        answers.append({"ms": seconds * 1000, "index": None if best is None else best[2]})
    return answers


def terms(terms, texts):
    automaton = ahocorasick.Automaton()
    for index, term in enumerate(load(terms)):
        automaton.add_word(term, index)
    automaton.make_automaton()
    texts = load(texts)
    start = time.process_time()
    found = 0
    for text in texts:
        for _ in automaton.iter(text):
            found += 1
    return {"seconds": time.process_time() - start, "found": found}


command, *paths = sys.argv[1:]
json.dump({"fuzzy": fuzzy, "terms": terms}[command](*paths), sys.stdout)
