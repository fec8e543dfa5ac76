import { createAutomaton } from '../../../domain/glossary/automaton.ts';
import { foldText } from '../../../domain/glossary/fold.ts';
import type { AdminApi } from '../admin-api.ts';
import { whileAvailable } from '../ctl-exits.ts';
import { readReport } from '../reports.ts';
import type { ServiceUnit } from './service-pages.ts';

/** Gives what the Glossary says about the source of a unit, one hint a line. */
export type GlossaryHints = (unit: ServiceUnit) => Promise<readonly string[]>;

/** Characters of a source in a request. The address of a request has at most 16 KiB, and a character takes up to 12 of them. */
const MAX_SOURCE = 1000;
const MAX_TERMS = 1000;

/**
 * Makes the lookup of hints. Without terms there are none, and nothing is asked.
 *
 * @returns `null` when the Glossary cannot be read
 */
export async function createGlossaryHints(api: AdminApi): Promise<GlossaryHints | null> {
  const summary = await whileAvailable(async () => await readReport(api, 'translation.glossary.summary'));
  if (summary === null || !summary.available) return null;
  const { approved = 0, deprecated = 0 } = summary.counts;
  if (approved + deprecated === 0) return async () => await Promise.resolve([]);
  const mayHaveTerms = await createTermTest(api);
  return async ({ source_text: source, ...unit }) =>
    source.length > MAX_SOURCE || !mayHaveTerms(source)
      ? []
      : await readHints(api, { ...unit, source_text: source });
}

/** Makes a test whether a text may have terms, so that most units need no request. Of a large Glossary every text may have some. */
async function createTermTest(api: AdminApi): Promise<(source: string) => boolean> {
  const { total, items } = await readReport(api, 'translation.glossary.query', { limit: String(MAX_TERMS) });
  if (total > items.length) return () => true;
  const names = items.flatMap(({ source_term: term, aliases }) => [term, ...aliases]);
  const folded = new Set(names.map((name) => foldText(name).text).filter((name) => name !== ''));
  const automaton = createAutomaton([...folded]);
  return (source) => {
    let isFound = false;
    automaton.find(foldText(source).text, () => {
      isFound = true;
    });
    return isFound;
  };
}

function scopeOf({ destination, archive_entry, field_path, speaker, scene }: ServiceUnit): object {
  const entries = Object.entries({ destination, archive_entry, field_path, speaker, scene });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

async function readHints(api: AdminApi, unit: ServiceUnit): Promise<string[]> {
  const query = { source_text: unit.source_text, context: JSON.stringify(scopeOf(unit)) };
  const { constraints } = await readReport(api, 'translation.glossary.diagnose', query);
  return constraints.map(({ matched_text, requirement, recommended_translation, allowed_translations }) => {
    if (requirement === 'forbidden') return `Glossary: ${matched_text}: not ${recommended_translation}`;
    const choices = [recommended_translation, ...allowed_translations].join(' / ');
    return `Glossary: ${matched_text}: ${choices}${requirement === 'should' ? ' (preferred)' : ''}`;
  });
}
