import { normalText } from '../text/normal-text.ts';
import { placeholderSpans } from '../text/placeholders.ts';
import { checkTarget, type CheckedTarget } from './check-target.ts';
import type { CompiledGlossary } from './compile-glossary.ts';
import {
  DIAGNOSTIC_CODES,
  OVERRIDABLE_CODES,
  type DiagnosticCode,
  type DiagnosticSeverity,
} from './diagnostic-codes.ts';
import { findTerms, type FoundTerms, type SearchedText, type TermMatch, compareRank } from './find-terms.ts';
import { foldText } from './fold.ts';
import type { TermContext } from './scope.ts';
import type { Span, Term } from './term.ts';

export interface DiagnosedText {
  readonly sourceText: string;
  /** `null` before there is a translation; the checks of it are left out then. */
  readonly translatedText: string | null;
  readonly context: TermContext;
  /** Whether a missing term of a category blocks; it is a warning otherwise. */
  readonly blocksWhenMissing: (category: string) => boolean;
}

/** A demand of the Glossary on the translation, at one place of the source. */
interface Constraint {
  readonly term: Term;
  readonly span: Span;
  readonly matchedText: string;
  /** `must`: an approved term. `should`: a draft, as advice. `forbidden`: the wording of a deprecated term. */
  readonly requirement: 'must' | 'should' | 'forbidden';
}

interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: DiagnosticSeverity;
  readonly terms: readonly Term[];
  /** In the source; for `forbidden_translation` and `untranslated_term_left` in the translation. */
  readonly span: Span;
  readonly message: string;
}

export interface Diagnosis {
  readonly constraints: readonly Constraint[];
  readonly diagnostics: readonly Diagnostic[];
  /** The codes of the diagnostics that block, each once, sorted. Empty: nothing blocks. */
  readonly blockingCodes: readonly DiagnosticCode[];
  readonly identityText: string;
}

/** Compares a text and its translation with the Glossary. */
export function diagnose(glossary: CompiledGlossary, text: DiagnosedText): Diagnosis {
  const source = searchedText(text.sourceText);
  const found = findTerms(glossary, source, text.context);
  const rivalries = findRivals(found);
  const constraints = constraintsOf(found, text.sourceText);
  const diagnostics = [
    ...rivalries.map(ambiguousTerm),
    ...targetDiagnostics(glossary, text, { found, rivalries, constraints }),
    ...onePerTerm(found.deprecated).map(deprecatedTerm),
    ...shadowedTerms(found, rivalries),
  ];
  const blocking = diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code);
  return {
    constraints,
    diagnostics,
    blockingCodes: [...new Set(blocking)].sort(),
    identityText: identityText(glossary, text, constraints, diagnostics),
  };
}

interface FoundInSource {
  readonly found: FoundTerms;
  readonly rivalries: readonly Rivalry[];
  readonly constraints: readonly Constraint[];
}

function searchedText(text: string): SearchedText {
  return { folded: foldText(text), masks: placeholderSpans(text) };
}

function constraintsOf({ winners, deprecated }: FoundTerms, sourceText: string): Constraint[] {
  const constraint = (match: TermMatch, requirement: Constraint['requirement']): Constraint => ({
    term: match.compiled.term,
    span: match.span,
    matchedText: sourceText.slice(match.span.start, match.span.end),
    requirement,
  });
  // Winners do not overlap each other.
  const winnerAt = new Map(winners.map((winner) => [winner.span.start, winner]));
  const forbidden = deprecated.filter((match) => !isAllowed(match, winnerAt.get(match.span.start)));
  return [
    ...winners.map((match) =>
      constraint(match, match.compiled.term.reviewStatus === 'approved' ? 'must' : 'should'),
    ),
    ...forbidden.map((match) => constraint(match, 'forbidden')),
  ].sort(
    (left, right) => left.span.start - right.span.start || (left.term.termId < right.term.termId ? -1 : 1),
  );
}

/** Whether the approved term at the place of a deprecated one has its wording. */
function isAllowed({ compiled, span }: TermMatch, winner: TermMatch | undefined): boolean {
  return (
    winner?.compiled.term.reviewStatus === 'approved' &&
    winner.span.end === span.end &&
    winner.compiled.renderings.includes(compiled.recommended)
  );
}

function targetDiagnostics(
  glossary: CompiledGlossary,
  { translatedText, blocksWhenMissing }: DiagnosedText,
  { found, rivalries, constraints }: FoundInSource,
): Diagnostic[] {
  if (translatedText === null) return [];
  const forbiddenTerms = new Set(
    constraints.filter(({ requirement }) => requirement === 'forbidden').map(({ term }) => term),
  );
  const rivalsOf = new Map(rivalries.map(({ winner, rivals }) => [winner, rivals]));
  const checked = checkTarget(glossary, searchedText(translatedText), {
    winners: found.winners,
    forbidden: found.deprecated.filter(({ compiled }) => forbiddenTerms.has(compiled.term)),
    renderingsOf: (match) =>
      [match, ...(rivalsOf.get(match) ?? [])].flatMap(({ compiled }) => compiled.renderings),
  });
  return [...missingTerms(checked, blocksWhenMissing), ...wrongWordings(checked)];
}

function missingTerms(
  { terms }: CheckedTarget,
  blocksWhenMissing: DiagnosedText['blocksWhenMissing'],
): Diagnostic[] {
  return terms.flatMap(({ matches, rendered }) => {
    const [first] = matches;
    if (first === undefined || rendered >= matches.length) return [];
    const { term } = first.compiled;
    const wanted = `"${term.sourceTerm}" as "${term.recommendedTranslation}"`;
    if (rendered > 0) {
      const message = `the translation has ${wanted} ${times(rendered)}, the source ${times(matches.length)}`;
      return [diagnostic('term_count_mismatch', first, message)];
    }
    if (term.reviewStatus !== 'approved') {
      return [diagnostic('draft_term_unused', first, `the draft term advises ${wanted}`)];
    }
    const severity = blocksWhenMissing(term.category) ? 'error' : 'warning';
    return [diagnostic('term_missing', first, `the translation does not have ${wanted}`, { severity })];
  });
}

function wrongWordings({ terms, forbidden }: CheckedTarget): Diagnostic[] {
  return [
    ...forbidden.map(({ match, span }) => {
      const { term } = match.compiled;
      const message = `"${term.recommendedTranslation}" is the deprecated translation of "${term.sourceTerm}"`;
      return diagnostic('forbidden_translation', match, message, { span });
    }),
    ...terms.flatMap(({ matches: [first], left: [span] }) =>
      first === undefined || span === undefined
        ? []
        : [
            diagnostic(
              'untranslated_term_left',
              first,
              `the translation still has "${first.compiled.term.sourceTerm}"`,
              { span },
            ),
          ],
    ),
  ];
}

function ambiguousTerm({ winner, rivals }: Rivalry): Diagnostic {
  const matches = [winner, ...rivals];
  const wanted = matches.map(({ compiled }) => `"${compiled.term.recommendedTranslation}"`).join(' or ');
  const message = `approved terms want "${winner.compiled.term.sourceTerm}" as ${wanted}`;
  return diagnostic('ambiguous_term', winner, message, {
    terms: matches.map(({ compiled }) => compiled.term),
  });
}

function deprecatedTerm(match: TermMatch): Diagnostic {
  const { sourceTerm } = match.compiled.term;
  return diagnostic('deprecated_term_matched', match, `the term "${sourceTerm}" is deprecated`);
}

/** One finding for each term and the one that counts in its place, with the first place. Rivals have another finding. */
function shadowedTerms({ shadowed }: FoundTerms, rivalries: readonly Rivalry[]): Diagnostic[] {
  const rivals = new Set(rivalries.flatMap((rivalry) => rivalry.rivals));
  const pairs = new Map<string, Diagnostic>();
  for (const { match, by } of shadowed) {
    const [term, winner] = [match.compiled.term, by.compiled.term];
    const key = JSON.stringify([term.termId, winner.termId]);
    const known = pairs.get(key);
    if (rivals.has(match) || term === winner || (known && known.span.start <= match.span.start)) continue;
    const message = `"${term.sourceTerm}" does not count here because "${winner.sourceTerm}" does`;
    pairs.set(key, diagnostic('shadowed_term', match, message, { terms: [term, winner] }));
  }
  return [...pairs.values()].sort(
    (left, right) =>
      left.span.start - right.span.start ||
      ((left.terms[0]?.termId ?? '') < (right.terms[0]?.termId ?? '') ? -1 : 1),
  );
}

function onePerTerm(matches: readonly TermMatch[]): TermMatch[] {
  const first = new Map<Term, TermMatch>();
  for (const match of matches) if (!first.has(match.compiled.term)) first.set(match.compiled.term, match);
  return [...first.values()];
}

function diagnostic(
  code: DiagnosticCode,
  { compiled, span }: TermMatch,
  message: string,
  other: Partial<Diagnostic> = {},
): Diagnostic {
  return { code, severity: DIAGNOSTIC_CODES[code].severity, terms: [compiled.term], span, message, ...other };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/**
 * The canonical text of everything that a decision about this diagnosis rests on, and of nothing else: equal for equal
 * inputs and terms, in whatever order they come. Findings that can block are part of it whatever their severity is now.
 */
function identityText(
  { sourceLanguage, targetLanguage }: CompiledGlossary,
  { sourceText, translatedText, context }: DiagnosedText,
  constraints: readonly Constraint[],
  diagnostics: readonly Diagnostic[],
): string {
  const used = new Set(constraints.flatMap(({ term }) => Object.keys(term.scope)));
  const facts = Object.entries(context).filter(([key]) => used.has(key));
  const findings = diagnostics
    .filter(({ code }) => OVERRIDABLE_CODES.has(code))
    .map(({ code, span, terms }) => [
      code,
      [span.start, span.end],
      terms.map(({ termId, revision }) => [termId, revision]),
    ]);
  const wanted = constraints.map(({ term, span }) => [term.termId, term.revision, [span.start, span.end]]);
  return JSON.stringify({
    version: 1,
    pair: [sourceLanguage, targetLanguage],
    source: normalText(sourceText),
    translation: translatedText === null ? null : normalText(translatedText),
    context: sortedRows(facts),
    constraints: sortedRows(wanted),
    findings: sortedRows(findings),
  });
}

/** Rows in the order of their JSON, as JSON values. */
function sortedRows(rows: readonly unknown[]): readonly unknown[] {
  if (rows.length < 2) return rows;
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .map((row): unknown => JSON.parse(row));
}

/** Approved terms of one rank that want different translations for one place. */
interface Rivalry {
  /** The one that counts, because its id is the smallest. */
  readonly winner: TermMatch;
  readonly rivals: readonly TermMatch[];
}

/** Finds the places at which only the id decides which of several approved terms counts. */
function findRivals({ winners, shadowed }: FoundTerms): Rivalry[] {
  const byWinner = Map.groupBy(shadowed, ({ by }) => by);
  return winners.flatMap((winner) => {
    if (winner.compiled.term.reviewStatus !== 'approved') return [];
    const rivals = (byWinner.get(winner) ?? [])
      .map(({ match }) => match)
      .filter((match) => isRival(match, winner));
    return rivals.length === 0 ? [] : [{ winner, rivals }];
  });
}

function isRival(match: TermMatch, winner: TermMatch): boolean {
  return (
    match.compiled.term.reviewStatus === 'approved' &&
    match.span.start === winner.span.start &&
    match.span.end === winner.span.end &&
    compareRank(match, winner) === 0 &&
    match.compiled.recommended !== winner.compiled.recommended
  );
}
