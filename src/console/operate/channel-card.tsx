import type { JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { Badge, Facts, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import type { ServiceState } from '../state/verdict-summary.ts';
import { verdictState } from '../state/verdict.ts';
import { count, words } from '../text/format.ts';

type ReleaseStatus = Report<'release.status'>;
type CurrentRelease = NonNullable<ReleaseStatus['official']>;

const RELATIONS = {
  in_sync: 'It was made for the current official release.',
  stale: 'It was made for an earlier official release.',
  no_official: null,
  no_localized: 'No localized release is published.',
  none: null,
};
/** Characters of a digest that tell it apart. */
const DIGEST_CHARACTERS = 19;

/** The current release of one channel. */
export function ChannelCard({
  name,
  report,
}: {
  readonly name: 'official' | 'localized';
  readonly report: ReleaseStatus;
}): JSX.Element {
  const health = verdictState(useApp()).value?.health;
  const verdict = health?.verdicts[name];
  const state = health?.service?.channels[name];
  const release = report[name];
  const isAbsent = name === 'localized' && release === null;
  const sync = name === 'official' ? report.sync : undefined;
  return (
    <article class="card">
      <h3>
        {words(name)} {verdict === undefined ? null : servedBadge(isAbsent, verdict.distributable)}
      </h3>
      <Facts
        rows={[
          ['Release', release === null ? 'none' : <code key="release">{release.release_id}</code>],
          ['Integrity', release === null ? null : integrity(release, state?.state)],
          [
            'Oldest check',
            release === null ? null : (
              <Time key="verified" at={release.verified_at} otherwise="not checked in full" />
            ),
          ],
          ['Since', verdict === undefined ? null : <Time key="since" at={verdict.since} />],
          ['Why', isAbsent ? null : why(state)],
          ['Last sync', sync === undefined ? null : lastSync(sync)],
          [
            'Next sync',
            sync === undefined ? null : <Time key="next" at={sync.next_at} otherwise="none is planned" />,
          ],
          ['Relation', name === 'localized' ? RELATIONS[report.relation] : null],
          [
            'Snapshot',
            release === null ? null : (
              <code key="snapshot" title={release.snapshot_id}>
                {`${release.snapshot_id.slice(0, DIGEST_CHARACTERS)}…`}
              </code>
            ),
          ],
        ]}
      />
    </article>
  );
}

function servedBadge(isAbsent: boolean, isDistributable: boolean): JSX.Element {
  if (isAbsent) return <Badge tone="quiet">None</Badge>;
  return isDistributable ? <Badge tone="good">Served</Badge> : <Badge tone="bad">Not served</Badge>;
}

function why(state: ServiceState['channels']['official'] | undefined): string | null {
  return state === undefined || state.reason === null ? null : `${state.message} (${state.reason})`;
}

function lastSync({ last, consecutive_failures: failures }: NonNullable<ReleaseStatus['sync']>): JSX.Element {
  if (last === null) return <>none has ended</>;
  const state = words(last.result ?? last.status);
  return (
    <>
      <Badge tone={last.status === 'failed' ? 'bad' : 'good'}>
        {failures > 1 ? `${state}, ${failures} in a row` : state}
      </Badge>{' '}
      <Time at={last.finished_at} />
      {last.code === null ? null : ` ${last.message} (${last.code})`}
    </>
  );
}

/**
 * The integrity of a release. The server's verdict may include damage that the daemon is still checking.
 *
 * @param channelState of the channel, as the server decides it
 */
function integrity(
  { integrity: state, damaged_count: damaged }: CurrentRelease,
  channelState: string | undefined,
): JSX.Element {
  if (state === 'damaged' && damaged > 0) return <Badge tone="bad">{`${count(damaged)} damaged`}</Badge>;
  if (state === 'damaged' || channelState === 'damaged') return <Badge tone="bad">Damaged</Badge>;
  if (state === 'ok') return <Badge tone="good">Whole</Badge>;
  return <Badge tone="quiet">Not verified</Badge>;
}
