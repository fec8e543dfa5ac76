import type { JSX } from 'preact';
import type { ReleaseRow, Report } from '../api/wire.ts';
import { isNarrow } from '../components/narrow.ts';
import { NOTHING } from '../components/table.tsx';
import { Time } from '../components/text.tsx';
import type { VirtualColumn } from '../components/virtual-table.tsx';
import { releaseAddress } from '../text/addresses.ts';
import { count, words, textBytes } from '../text/format.ts';
import { coverageOf, type ReleaseStatus } from './release-facts.ts';
import { Integrity, ServedBadge, StateBadge } from './release-parts.tsx';

const ID_END = 12;

/** The columns of the list of releases. */
export function releaseColumns(
  status: ReleaseStatus | null,
  translation: Report<'translation.status'> | null,
): ReadonlyArray<VirtualColumn<ReleaseRow>> {
  return [
    {
      id: 'release',
      head: 'Release',
      least: 230,
      grow: 3,
      narrow: 'title',
      isSortable: true,
      cell: ({ release_id: id }) => <ReleaseLink id={id} />,
    },
    {
      id: 'channel',
      head: 'Channel',
      least: 92,
      isSortable: true,
      cell: ({ channel }) => words(channel),
    },
    {
      id: 'state',
      head: 'State',
      least: 122,
      isSortable: true,
      cell: (row) => <StateBadge release={row} translation={translation} />,
    },
    {
      id: 'served',
      head: 'Served',
      least: 112,
      cell: (row) => <ServedBadge release={row} status={status} />,
    },
    {
      id: 'published',
      head: 'Became current',
      least: 140,
      grow: 1,
      isSortable: true,
      cell: ({ published_at: at }) => <Time at={at} otherwise="never" />,
    },
    ...measuredColumns(translation),
  ];
}

function ReleaseLink({ id }: { id: string }) {
  return (
    <a class="cut" href={releaseAddress(id)} tabIndex={-1} aria-label={id} title={id}>
      <span>{id.slice(0, -ID_END)}</span>
      <span>{id.slice(-ID_END)}</span>
    </a>
  );
}

function measuredColumns(
  translation: Report<'translation.status'> | null,
): ReadonlyArray<VirtualColumn<ReleaseRow>> {
  return [
    {
      id: 'size',
      head: 'Size',
      least: 90,
      class: 'number',
      isSortable: true,
      cell: ({ manifest }) => (manifest === null ? NOTHING : textBytes(manifest.total_bytes)),
    },
    {
      id: 'integrity',
      head: 'Integrity (oldest check)',
      least: 170,
      grow: 1,
      cell: (row) => <Integrity release={row} />,
    },
    {
      id: 'coverage',
      head: 'Localized',
      least: 96,
      class: 'number',
      cell: (row) => localizedCell(row, translation),
    },
  ];
}

function localizedCell(
  row: ReleaseRow,
  translation: Report<'translation.status'> | null,
): JSX.Element | string {
  if (row.stale === true) return 'stale';
  const coverage = coverageOf(row, translation);
  if (coverage === null) return NOTHING;
  const { publishable, units } = coverage;
  return (
    <span
      title={`${count(publishable)} of ${count(units)} units`}
    >{`${Math.floor((publishable / units) * 100)} %${isNarrow() ? ' localized' : ''}`}</span>
  );
}
