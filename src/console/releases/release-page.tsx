import type { JSX } from 'preact';
import type { ReleaseRow } from '../api/wire.ts';
import { Panel, Section } from '../components/panel.tsx';
import { EmptyState, Facts, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { reportState } from '../state/read-report.ts';
import { verdictState } from '../state/verdict.ts';
import { releaseAddress } from '../text/addresses.ts';
import { count, words, textBytes } from '../text/format.ts';
import { Difference } from './difference-panel.tsx';
import { IntegrityHistory } from './integrity-history.tsx';
import { coverageOf, predecessorOf, servingOf, settingWords, type ReleaseStatus } from './release-facts.ts';
import { compareHref, Integrity, ReleaseButtons, ServedBadge, StateBadge } from './release-parts.tsx';

/** One release: its facts, its provenance, its integrity, and its difference to the previous release. */
export function ReleasePage({ id }: { id: string }): JSX.Element {
  const app = useApp();
  const feed = reportState(app, 'release.list');
  const status = app.pool.state<ReleaseStatus>('release.status').value;
  const release = feed.value?.releases.find((row) => row.release_id === id);
  const tools =
    release === undefined ? null : (
      <ReleaseButtons release={release} rows={feed.value?.releases ?? []} status={status} />
    );
  return (
    <>
      <p>
        <a href="#/releases">← All releases</a>
      </p>
      <Panel title={`Release ${id}`} feed={feed} tools={tools}>
        {() =>
          release === undefined ? (
            <EmptyState title="No release has this id" actions={<a href="#/releases">All releases</a>}>
              It may have been deleted long ago.
            </EmptyState>
          ) : (
            <Summary release={release} status={status} />
          )
        }
      </Panel>
      {release === undefined ? null : (
        <>
          <div class="columns">
            <Provenance release={release} status={status} />
            <IntegrityPanel release={release} status={status} />
          </div>
          <Changes release={release} rows={feed.value?.releases ?? []} status={status} />
        </>
      )}
    </>
  );
}

interface PartProps {
  readonly release: ReleaseRow;
  readonly status: ReleaseStatus | null;
}

function Summary({ release, status }: PartProps) {
  const { manifest, created_at: created, published_at: published, base_release_id: base, stale } = release;
  const translation = reportState(useApp(), 'translation.status').value;
  const coverage = coverageOf(release, translation);
  return (
    <div class="columns">
      <Facts
        rows={[
          ['Channel', words(release.channel)],
          ['State', <StateBadge key="state" release={release} translation={translation} />],
          ['May be served', <ServedBadge key="served" release={release} status={status} />],
          ['Entries', manifest === null ? 'not known yet' : count(manifest.entry_count)],
          ['Size', manifest === null ? null : textBytes(manifest.total_bytes)],
        ]}
      />
      <Facts
        rows={[
          ['Made', <Time clock="beside" key="made" at={created} />],
          ['Became current', <Time clock="beside" key="published" at={published} otherwise="never" />],
          [
            'Base',
            base === undefined ? null : (
              <>
                <a href={releaseAddress(base)}>{base}</a>
                {stale === true ? ' (no longer the official release)' : ''}
              </>
            ),
          ],
          [
            'Localized',
            coverage === null
              ? null
              : `${count(coverage.publishable)} of ${count(coverage.units)} units can be published`,
          ],
        ]}
      />
    </div>
  );
}

function Provenance({ release, status }: PartProps) {
  const serving = servingOf(release, status);
  const attestation = serving === null || serving === 'none' ? null : (status?.attestation ?? null);
  const { manifest, channel } = release;
  return (
    <Section title="Provenance">
      <Facts
        rows={[
          [
            'Source',
            channel === 'official'
              ? 'Fetched from upstream by a sync'
              : `Built from ${release.base_release_id ?? 'an official release'} and its translations`,
          ],
          ['Manifest', manifest === null ? null : <code key="manifest">{`blake3:${manifest.blake3}`}</code>],
          [
            'Attestation',
            attestation === null ? 'No valid one names this release' : `version ${attestation.version}`,
          ],
          ['Upstream', channel === 'official' ? <Upstream key="upstream" status={status} /> : null],
          [
            'Signed by',
            attestation?.key_ids === undefined ? null : (
              <code key="keys">{attestation.key_ids.join(', ')}</code>
            ),
          ],
          [
            'Signed',
            attestation === null ? null : <Time clock="beside" key="signed" at={attestation.issued_at} />,
          ],
          [
            'Valid until',
            attestation === null ? null : <Time clock="beside" key="until" at={attestation.expires_at} />,
          ],
        ]}
      />
    </Section>
  );
}

/** Where a sync fetches from now; releases before may have come from another place. */
function Upstream({ status }: { status: PartProps['status'] }) {
  const upstream = status?.upstream;
  if (upstream === undefined) return null;
  if (upstream === null) return <>none is configured now</>;
  return (
    <>
      {`${upstream.kind}, now ${settingWords(upstream.label)}`}
      <code>{upstream.label}</code>
    </>
  );
}

function IntegrityPanel({ release, status }: PartProps) {
  const { damaged, damaged_examples: examples = [] } = release.artifact_integrity;
  const verdict = verdictState(useApp()).value?.health.verdicts[release.channel];
  const current = [status?.official, status?.localized].find(
    (each) => each?.release_id === release.release_id,
  );
  const isJudged = verdict?.release_id === release.release_id;
  return (
    <Section title="Integrity">
      <Facts
        rows={[
          [
            // Files that it shares with an earlier release may have been read before it was made.
            'Its files',
            <Integrity key="integrity" release={release} />,
          ],
          [
            'Oldest check',
            current === undefined || current === null ? null : (
              <Time
                clock="beside"
                key="oldest"
                at={current.verified_at}
                otherwise="not every file was checked"
              />
            ),
          ],
          [
            'This server',
            !isJudged ? null : (
              <>
                {verdict.distributable ? 'serves it' : `does not serve it: ${verdict.message}`}
                <div class="muted">Other servers and edges report it in their own consoles.</div>
              </>
            ),
          ],
        ]}
      />
      {examples.length === 0 ? null : (
        <>
          <h3>{`Damaged files${damaged > examples.length ? `, ${count(examples.length)} of ${count(damaged)}` : ''}`}</h3>
          <ul class="rows">
            {examples.map((destination) => (
              <li key={destination}>
                <code>{destination}</code>
              </li>
            ))}
          </ul>
        </>
      )}
      <IntegrityHistory releaseId={release.release_id} />
    </Section>
  );
}

function Changes({ release, rows, status }: PartProps & { readonly rows: readonly ReleaseRow[] }) {
  const before = predecessorOf(release, rows);
  const base = rows.find((row) => row.channel === 'official' && row.release_id === release.base_release_id);
  return (
    <Section
      title={before === null ? 'Changes' : `Changes since ${before.release_id}`}
      tools={
        <>
          {base === undefined ? null : (
            <a href={compareHref(base.release_id, release.release_id)}>Compare with its base</a>
          )}
          {before === null ? null : (
            <a href={compareHref(before.release_id, release.release_id)}>Compare with another release</a>
          )}
        </>
      }
    >
      {before === null ? (
        <p class="empty">It is the first release of its channel that is known here.</p>
      ) : (
        <Difference left={before} right={release} status={status} />
      )}
    </Section>
  );
}
