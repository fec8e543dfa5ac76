import { FILE_PROVIDER, REPLACE_PROVIDER, UNDO_PROVIDER } from '../../contract/actions/provider-names.ts';
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

/** Shown instead of a provider name when a file or a person supplied the text. */
const NOT_MACHINES: Readonly<Record<string, string>> = {
  [FILE_PROVIDER]: 'imported file',
  [REPLACE_PROVIDER]: 'person',
  [UNDO_PROVIDER]: 'person',
};

/** Who made a record, and who accepted it: a machine, a program, a file or a person. */
export function madeBy({ provenance, reviewer, state }: Match['record']): string {
  const { origin, provider } = provenance;
  const maker =
    NOT_MACHINES[provider ?? ''] ?? (provider === null ? MAKERS[origin] : `machine (${provider})`);
  if (reviewer === null) return `${maker}, nobody has accepted it`;
  return `${maker}, ${state === 'rejected' ? 'rejected' : 'accepted'} by ${reviewer}`;
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
