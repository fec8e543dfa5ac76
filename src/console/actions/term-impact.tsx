import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import type { Values } from '../forms/form-model.ts';
import type { App } from '../state/app.ts';
import { useApp } from '../state/app.ts';
import { readReport } from '../state/read-report.ts';
import { useAnswer } from '../state/use-answer.ts';
import { counted } from '../text/format.ts';

type Term = Report<'translation.glossary.query'>['items'][number];

/** Pause of typing after which the units are counted, milliseconds. */
const PAUSE_MS = 500;
const MOST_TERMS = '1000';
const MOST_TASKS = '1000';
/** What each change of a term asks of the translations. */
const ASKS: Readonly<Record<string, 'has' | 'lacks'>> = {
  'translation-glossary-add': 'lacks',
  'translation-glossary-approve': 'lacks',
  'translation-glossary-update': 'lacks',
  'translation-glossary-deprecate': 'has',
};

interface Impact {
  readonly units: number;
  readonly files: number;
  /** Units in files that were proofread. */
  readonly proofread: number;
}

/**
 * How many stored translations a change of a term is about, before it is made. Nothing for other actions.
 *
 * @param props `values`: of the form; `about`: the source term, by which the term is found
 */
export function TermImpact({
  action,
  values,
  about,
}: {
  readonly action: string;
  readonly values: Values;
  readonly about: string | undefined;
}): JSX.Element | null {
  const app = useApp();
  const isUnfinished = action === 'translation-glossary-add' && !hasTerms(values);
  const asks = isUnfinished ? undefined : ASKS[action];
  const { value, failure } = useAnswer(
    asks === undefined ? null : JSON.stringify([action, wordsOf(values), about]),
    async (signal) => await readImpact(app, { values, about, isKept: asks === 'has' }, signal),
    PAUSE_MS,
  );
  if (asks === undefined) return null;
  const text = value === null ? 'Counting the affected translations …' : impactText(value, asks);
  const tone = value?.units === 0 ? 'ok' : 'warn';
  return (
    <p class={`note impact ${failure === null && value !== null ? tone : ''}`} role="status">
      {failure === null ? text : 'The affected translations cannot be counted now.'}
    </p>
  );
}

function hasTerms(values: Values): boolean {
  const names = ['source_term', 'recommended_translation'];
  return names.every((name) => (textOf(values, name) ?? '').trim() !== '');
}

function impactText({ units, files, proofread }: Impact, asks: 'has' | 'lacks'): string {
  const ofUnits = counted(units, 'stored translation');
  if (asks === 'has') {
    return units === 0
      ? 'No stored translation has this wording.'
      : `${ofUnits} in ${counted(files, 'file')} ${units === 1 ? 'has' : 'have'} this wording. They are judged again, and blocked.`;
  }
  if (units === 0) return 'Every stored translation of a line with this term already uses it.';
  const blocked =
    proofread === 0
      ? 'None of these files was proofread, so they get a warning.'
      : `${proofread === units ? 'They' : counted(proofread, 'of them', 'of them')} are in files that were proofread, and are blocked${proofread === units ? '' : '; the others get a warning'}.`;
  return `${ofUnits} of lines with this term, in ${counted(files, 'file')}, ${units === 1 ? 'lacks' : 'lack'} its translation. When the term is approved, they are judged again. ${blocked}`;
}

const WORDS = ['source_term', 'aliases', 'recommended_translation', 'allowed_translations'] as const;

function wordsOf(values: Values): readonly (string | undefined)[] {
  return WORDS.map((name) => textOf(values, name));
}

function textOf(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

async function readImpact(
  app: App,
  { values, about, isKept }: { values: Values; about: string | undefined; isKept: boolean },
  signal: AbortSignal,
): Promise<Impact> {
  const term = await readTerm(app, textOf(values, 'term_id'), about, signal);
  const lines = (name: (typeof WORDS)[number]): readonly string[] => {
    const typed = textOf(values, name);
    const known = term?.[name] ?? [];
    return typed === undefined ? [known].flat() : typed.split('\n').map((line) => line.trim());
  };
  const joined = (...names: readonly (typeof WORDS)[number][]): string =>
    names
      .flatMap(lines)
      .filter((line) => line !== '')
      .join('\n');
  const source = joined('source_term', 'aliases');
  if (source === '') return { units: 0, files: 0, proofread: 0 };
  const { items } = await readReport(
    app,
    'translation.tasks',
    {
      term_source: source,
      // Other allowed wordings of a deprecated term may be those of another term.
      term_target: isKept
        ? joined('recommended_translation')
        : joined('recommended_translation', 'allowed_translations'),
      ...(isKept ? { term_kept: 'true' } : {}),
      limit: MOST_TASKS,
    },
    signal,
  );
  const tasks = items.filter(({ status }) => status !== 'superseded');
  const sum = (some: typeof tasks): number =>
    some.reduce((all, { chosen_units: units = 0 }) => all + units, 0);
  return {
    units: sum(tasks),
    files: tasks.length,
    proofread: sum(tasks.filter(({ unit_counts: counts }) => (counts['proofread'] ?? 0) > 0)),
  };
}

async function readTerm(
  app: App,
  id: string | undefined,
  source: string | undefined,
  signal: AbortSignal,
): Promise<Term | undefined> {
  if (id === undefined || id === '' || source === undefined) return undefined;
  const query = { source_text: source, limit: MOST_TERMS };
  const { items } = await readReport(app, 'translation.glossary.query', query, signal);
  return items.find(({ term_id: each }) => each === id);
}
