/** The filters of the queue: all parameters of the report but those of its pages. */

import type { Filter } from '../../components/filter-bar.tsx';
import type { App } from '../../state/app.ts';
import { count, words } from '../../text/format.ts';

/** Begins the key of the feed with the counts. */
export const HEAD = 'queue:';

const FLAG = [
  ['true', 'With'],
  ['false', 'Without'],
] as const;

/**
 * The filters, with the states that the service knows.
 *
 * @param counts tasks by state, of all tasks that the other filters select
 */
export function queueFilters(
  { vocabulary }: App['contract'],
  counts: Readonly<Record<string, number>>,
): readonly Filter[] {
  const named = (values: readonly string[]): ReadonlyArray<readonly [string, string]> =>
    values.map((value) => [value, words(value)]);
  return [
    {
      kind: 'choice',
      name: 'status',
      label: 'Status',
      options: vocabulary.translation_status.map((status) => [
        status,
        `${words(status)} (${count(counts[status] ?? 0)})`,
      ]),
    },
    { kind: 'choice', name: 'unit_state', label: 'Units', options: named(vocabulary.unit_state) },
    { kind: 'choice', name: 'worker_status', label: 'Worker', options: named(vocabulary.worker_status) },
    { kind: 'text', name: 'destination', label: 'File', hint: 'A part of the path, or *' },
    { kind: 'choice', name: 'has_reason', label: 'Reason', options: FLAG },
    { kind: 'choice', name: 'has_failure_reason', label: 'Failure reason', options: FLAG, isRare: true },
    {
      kind: 'choice',
      name: 'parse_status',
      label: 'Parsed',
      options: named(vocabulary.parse_status),
      isRare: true,
    },
    { kind: 'text', name: 'format', label: 'Format', hint: 'json', isRare: true },
    { kind: 'text', name: 'archive_entry', label: 'Entry of an archive', isRare: true },
    { kind: 'text', name: 'release_id', label: 'Release', isRare: true },
    { kind: 'text', name: 'task_id', label: 'Task', hint: 'tt_…', isRare: true },
  ];
}

/** Whether the list has tasks that newer ones have replaced. */
export function showsSuperseded(app: App): boolean {
  return app.query('status') !== '' || app.query('superseded') === 'shown';
}

/** The filters that the address names, as parameters of the report. */
export function chosenFilters(app: App): Record<string, string> {
  const chosen = queueFilters(app.contract, {}).map(({ name }) => [name, app.query(name)] as const);
  return Object.fromEntries(
    chosen
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [name, name === 'destination' ? filePattern(value) : value]),
  );
}

/** The pattern of a path that a person types a part of. */
export function filePattern(typed: string): string {
  return /[*?]/.test(typed) ? typed : `*${typed}*`;
}
