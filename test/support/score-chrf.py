"""Scores pairs of texts with sacrebleu: a list of [translation, reference] on standard input, JSON on standard output."""

import json
import sys

import sacrebleu
from sacrebleu.metrics import CHRF

pairs = json.load(sys.stdin)
metric = CHRF()
corpus = metric.corpus_score([pair[0] for pair in pairs], [[pair[1] for pair in pairs]])
scores = [metric.sentence_score(translation, [reference]).score for translation, reference in pairs]
json.dump({"version": sacrebleu.__version__, "pairs": pairs, "scores": scores, "corpus": corpus.score}, sys.stdout, indent=2)
