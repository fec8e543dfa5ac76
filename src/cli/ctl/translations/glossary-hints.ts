import type { AdminApi } from '../admin-api.ts';
import { CTL_EXITS, CtlFailure } from '../ctl-exits.ts';
import { readReport, type ServiceUnit } from './service-pages.ts';

/** Gives what the Glossary says about the source of a unit, one hint a line. */
export type GlossaryHints = (unit: ServiceUnit) => Promise<readonly string[]>;

/** Characters of a source in a request. The address of a request has at most 16 KiB, and a character takes up to 12 of them. */
const MAX_SOURCE = 1000;

/**
 * Makes the lookup of hints. Without terms there are none, and nothing is asked.
 *
 * @returns `null` when the Glossary cannot be read
 */
export async function createGlossaryHints(api: Pick<AdminApi, 'get'>): Promise<GlossaryHints | null> {
  const summary = await whileAvailable(async () => await readReport(api, 'translation.glossary.summary', {}));
  if (summary === null || !summary.available) return null;
  const { approved = 0, deprecated = 0 } = summary.counts;
  if (approved + deprecated === 0) return async () => await Promise.resolve([]);
  return async (unit) => (unit.source_text.length > MAX_SOURCE ? [] : await readHints(api, unit));
}

/** The place of a unit, by the keys of the scopes of terms. */
function scopeOf({ destination, archive_entry, field_path, speaker, scene }: ServiceUnit): object {
  const entries = Object.entries({ destination, archive_entry, field_path, speaker, scene });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

async function readHints(api: Pick<AdminApi, 'get'>, unit: ServiceUnit): Promise<string[]> {
  const query = { source_text: unit.source_text, context: JSON.stringify(scopeOf(unit)) };
  const { constraints } = await readReport(api, 'translation.glossary.diagnose', query);
  return constraints.map(({ matched_text, requirement, recommended_translation, allowed_translations }) => {
    if (requirement === 'forbidden') return `Glossary: ${matched_text}: not ${recommended_translation}`;
    const choices = [recommended_translation, ...allowed_translations].join(' / ');
    return `Glossary: ${matched_text}: ${choices}${requirement === 'should' ? ' (preferred)' : ''}`;
  });
}

async function whileAvailable<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CtlFailure && error.exit === CTL_EXITS.unavailable) return null;
    throw error;
  }
}
