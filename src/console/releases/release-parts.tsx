/** The parts that show a release, on every page of releases. */

import type { JSX } from 'preact';
import { isRolledBack } from '../../domain/release/release-history.ts';
import type { ReleaseRow, Report } from '../api/wire.ts';
import { ActionButton } from '../components/controls.tsx';
import { Badge, Time, type Tone } from '../components/text.tsx';
import { useApp, type App, type ActionRequest } from '../state/app.ts';
import { isCopied } from '../state/read-report.ts';
import { count, words } from '../text/format.ts';
import { canRollBack, SERVING_WORDS, servingOf, type ReleaseStatus, isKept } from './release-facts.ts';

const STATE_TONES: Readonly<Partial<Record<ReleaseRow['state'], Tone>>> = {
  current: 'ok',
  staging: 'info',
  building: 'info',
  damaged: 'bad',
  failed: 'bad',
};

/** The state of a release. */
export function StateBadge({
  release,
  translation,
}: {
  readonly release: ReleaseRow;
  readonly translation: Report<'translation.status'> | null;
}): JSX.Element {
  const { state } = release;
  if (isRolledBack(release, translation?.history)) return <Badge tone="warn">Rolled back</Badge>;
  return <Badge tone={STATE_TONES[state] ?? 'idle'}>{words(state)}</Badge>;
}

/** Whether the bytes of a release were intact when they were last read. Shared bytes may be older than the release. */
export function Integrity({ release }: { release: ReleaseRow }): JSX.Element {
  const { checked_at: at, ok, damaged } = release.artifact_integrity;
  if (at === null) return <Badge tone="idle">Not verified</Badge>;
  return (
    <>
      {ok ? <Badge tone="ok">Intact</Badge> : <Badge tone="bad">{`${count(damaged)} damaged`}</Badge>}{' '}
      <Time at={at} />
    </>
  );
}

/** Whether servers may serve a release. */
export function ServedBadge({
  release,
  status,
}: {
  readonly release: ReleaseRow;
  readonly status: ReleaseStatus | null;
}): JSX.Element {
  const serving = servingOf(release, status);
  if (serving === null) return <span class="muted">–</span>;
  const [text, tone] = SERVING_WORDS[serving];
  return <Badge tone={tone}>{text}</Badge>;
}

/** The actions that can succeed on a release. */
export function ReleaseButtons({
  release,
  rows,
  status,
}: {
  readonly release: ReleaseRow;
  readonly rows: readonly ReleaseRow[];
  readonly status: ReleaseStatus | null;
}): JSX.Element {
  const app = useApp();
  const { release_id: id } = release;
  const offer = isCopied(app) ? null : offerOf(app, release, status);
  return (
    <>
      {releaseActions(release, rows, status).map(({ title, request, class: name }) => (
        <ActionButton key={title} request={request} class={name} about={id}>
          {title}
        </ActionButton>
      ))}
      {offer === null ? null : (
        <a class="button" href="#/publish">
          {offer}
          <span class="unseen">{` ${id}`}</span>
        </a>
      )}
    </>
  );
}

function offerOf(app: App, release: ReleaseRow, status: ReleaseStatus | null): string | null {
  const isCurrent = release.state === 'current';
  if (canRollBack(release, status) && app.mayRun('localized-rollback'))
    return isCurrent ? 'Roll back …' : 'Roll back to this …';
  return isCurrent && release.channel === 'official' && app.mayRun('localized-publish')
    ? 'Publish a localization'
    : null;
}

/** The address of a comparison. */
export function compareHref(left: string, right: string): string {
  return `#/compare?${new URLSearchParams({ left, right }).toString()}`;
}

interface ReleaseAction {
  readonly title: string;
  readonly request: ActionRequest;
  readonly class: '' | 'primary' | 'danger';
}

/**
 * The actions to offer for a release. The daemon decides; what it would certainly refuse is left out.
 *
 * @param rows all releases
 */
export function releaseActions(
  row: ReleaseRow,
  rows: readonly ReleaseRow[],
  status: ReleaseStatus | null,
): readonly ReleaseAction[] {
  return [repair(row), verify(row), remove(row, rows, status)].filter((action) => action !== null);
}

function argsOf({ channel, release_id: id }: ReleaseRow): string {
  return `channel=${channel}\nrelease_id=${id}`;
}

function repair(row: ReleaseRow): ReleaseAction | null {
  const { damaged } = row.artifact_integrity;
  if (!isKept(row) || (damaged === 0 && row.state !== 'damaged')) return null;
  const title = damaged === 0 ? 'Repair' : `Repair ${damaged} ${damaged === 1 ? 'file' : 'files'}`;
  return { title, class: 'primary', request: { action: 'repair', initial: { args: argsOf(row) } } };
}

function verify(row: ReleaseRow): ReleaseAction | null {
  if (!isKept(row)) return null;
  return { title: 'Verify', class: '', request: { action: 'verify', initial: { args: argsOf(row) } } };
}

/** The daemon protects the current release, the previous one, and the base of a localized release. */
function remove(
  row: ReleaseRow,
  rows: readonly ReleaseRow[],
  status: ReleaseStatus | null,
): ReleaseAction | null {
  const { channel, release_id: id, state } = row;
  if (!isKept(row) || state === 'current' || status === null) return null;
  if (servingOf(row, status) !== 'none') return null;
  const kept = rows.filter(isKept);
  if (kept.some((each) => each.base_release_id === id)) return null;
  const newest = kept
    .filter((each) => each.channel === channel && each.state !== 'current')
    .toSorted((left, right) => (right.published_at ?? 0) - (left.published_at ?? 0))[0];
  if (newest?.release_id === id) return null;
  const field = channel === 'localized' ? 'localized_release_id' : 'id';
  return {
    title: 'Clean up …',
    class: 'danger',
    request: { action: 'release-cleanup', fixed: { [field]: id } },
  };
}
