import { NAMES_WITHOUT_PROVIDER } from '../../contract/actions/provider-names.ts';
import type { Report } from '../api/wire.ts';

type Match = Report<'translation.memory.query'>['matches'][number];

export interface MergedMatch extends Match {
  readonly more: number;
  readonly used: number;
}

/**
 * Puts the matches with the same texts together: the first one of them stands for all. A record that is listed twice counts once.
 *
 * @param matches the best first
 */
export function mergeMatches(matches: readonly Match[]): readonly MergedMatch[] {
  const records = new Map(matches.toReversed().map((match) => [match.record.record_id, match]));
  const groups = Map.groupBy(
    matches.filter((match) => records.get(match.record.record_id) === match),
    ({ record, proposed_text: text }) => JSON.stringify([record.source_text, text]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const used = group.reduce((sum, { record }) => sum + record.use_count, 0);
    return [{ ...first, more: group.length - 1, used }];
  });
}

const MAKERS: Readonly<Record<Match['record']['provenance']['origin'], string>> = {
  worker: 'machine',
  task_update: 'person',
  proofread: 'person',
  import: 'imported file',
  manual: 'person',
};

/** Who made a record, and who accepted it: a machine, a program, a file or a person. */
export function madeBy({ provenance, reviewer, state }: Match['record']): string {
  const { origin, provider } = provenance;
  const maker = provider === null ? MAKERS[origin] : makerNamed(provider);
  if (reviewer === null) return `${maker}, nobody has accepted it`;
  return `${maker}, ${state === 'rejected' ? 'rejected' : 'accepted'} by ${reviewer}`;
}

function makerNamed(provider: string): string {
  const author = NAMES_WITHOUT_PROVIDER.get(provider);
  if (author === undefined) return `machine (${provider})`;
  return author === 'import' ? 'imported file' : 'person';
}

export const MATCH_WORDS: Readonly<
  Record<Report<'translation.memory.query'>['matches'][number]['match_type'], string>
> = {
  context: 'same text and place',
  exact: 'same text',
  normalized: 'same, in another form',
  numbers: 'same, with other numbers',
  fuzzy: 'similar',
  concordance: 'contains it',
};
