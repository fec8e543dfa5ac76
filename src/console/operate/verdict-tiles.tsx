import type { ComponentChildren, JSX } from 'preact';
import type { Report } from '../api/wire.ts';
import { Ring, shareLeft } from '../charts/ring.tsx';
import { Badge, Time } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import type { ServiceState } from '../state/service-states.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import { releaseAddress } from '../text/addresses.ts';
import { absolute, count, duration, words, textBytes } from '../text/format.ts';

type ReleaseStatus = Report<'release.status'>;
type CurrentRelease = NonNullable<ReleaseStatus['official']>;
/** A renewal is due with half of the time left; with less than these it has failed several times. */
const LATE = { share: 0.25, urgentShare: 0.1 };

/** The state in figures: each channel, the attestation, and the free space. */
export function VerdictTiles(): JSX.Element {
  const { tone, title } = currentVerdict(useApp());
  // While something is wrong, the incident above has the verdict.
  const titleId = tone === 'ok' ? 'verdict-title' : 'figures-title';
  return (
    <section class="tiles" aria-labelledby={titleId}>
      <h2 id={titleId} class="unseen">
        {tone === 'ok' ? title : 'The state in figures'}
      </h2>
      <ChannelTile name="official" />
      <ChannelTile name="localized" />
      <AttestationTile />
      <SpaceTile />
    </section>
  );
}

function Tile({ title, children }: { title: ComponentChildren; children: ComponentChildren }) {
  return (
    <article class="card tile">
      <h3>{title}</h3>
      {children}
    </article>
  );
}

function ChannelTile({ name }: { name: 'official' | 'localized' }) {
  const app = useApp();
  const health = verdictState(app).value?.health;
  const verdict = health?.verdicts[name];
  const state = health?.service.channels[name];
  const report = app.pool.state<ReleaseStatus>('release.status').value;
  const release = report?.[name] ?? null;
  const isAbsent = name === 'localized' && state?.reason === 'NothingPublished';
  return (
    <Tile
      title={
        <>
          {words(name)}{' '}
          {verdict === undefined ? null : servedBadge(state?.state, isAbsent, verdict.distributable)}
        </>
      }
    >
      <p class="figure">
        {release === null ? (
          <span class="muted">{report === null ? '…' : 'no release'}</span>
        ) : (
          <a href={releaseAddress(release.release_id)}>
            <code>{release.release_id}</code>
          </a>
        )}
      </p>
      {isAbsent || state === undefined ? null : <Course state={state} />}
      {release === null ? null : (
        <p class="muted">
          {integrity(release, state?.state)}
          {release.verified_at === null ? null : (
            <>
              {' oldest check '}
              <Time at={release.verified_at} />
            </>
          )}
        </p>
      )}
    </Tile>
  );
}

const COURSES: Readonly<Partial<Record<ServiceState['state'], string>>> = {
  healthy: 'became healthy ',
  degraded: 'degraded ',
};

function Course({ state: { state, reason, since, message } }: { state: Omit<ServiceState, 'channels'> }) {
  const app = useApp();
  const told = currentVerdict(app).tone === 'ok' ? null : verdictState(app).value?.health.service.reason;
  if (reason !== null && reason !== told) return <p class="muted">{message}</p>;
  return (
    <p class="muted">
      {COURSES[state] ?? 'began '}
      <Time at={since} />
    </p>
  );
}

function servedBadge(state: ServiceState['state'] | undefined, isAbsent: boolean, isDistributable: boolean) {
  if (isAbsent) return <Badge tone="idle">None</Badge>;
  // A rollback withdrew it on purpose; nothing is broken.
  if (state === 'withdrawn') return <Badge tone="idle">Withdrawn</Badge>;
  return isDistributable ? <Badge tone="ok">Served</Badge> : <Badge tone="bad">Not served</Badge>;
}

/**
 * The integrity of a release. The server's verdict may include damage that the daemon is still checking.
 *
 * @param channelState of the channel, as the server decides it
 */
function integrity(
  { integrity: state, damaged_count: damaged }: CurrentRelease,
  channelState: ServiceState['state'] | undefined,
) {
  if (state === 'damaged' && damaged > 0) return <Badge tone="bad">{`${count(damaged)} damaged`}</Badge>;
  if (state === 'damaged' || channelState === 'damaged') return <Badge tone="bad">Damaged</Badge>;
  if (state === 'ok') return <Badge tone="ok">Intact</Badge>;
  return <Badge tone="idle">Not verified</Badge>;
}

function AttestationTile() {
  const app = useApp();
  const attestation = verdictState(app).value?.health.attestation ?? null;
  if (attestation === null) {
    return (
      <Tile title="Attestation">
        <p class="muted">none yet</p>
      </Tile>
    );
  }
  const { issued_at: from, expires_at: to, version } = attestation;
  const now = app.now();
  const share = shareLeft(from, to, now);
  const left = duration(Math.max(0, to - now));
  const tone = share < LATE.urgentShare ? 'bad' : share < LATE.share ? 'warn' : 'ok';
  return (
    <Tile title="Attestation">
      <div class="beside">
        <Ring
          share={share}
          tone={tone}
          label={share === 0 ? 'The attestation has expired' : `The attestation expires in ${left}`}
        >
          {share === 0 ? 'over' : shortTime(to - now)}
        </Ring>
        <p class="muted">
          {`Version ${version}`}
          <br />
          {share === 0 ? 'expired ' : 'valid until '}
          {absolute(to, now)}
          {share === 0 ? null : (
            <>
              <br />
              and renewed before then
            </>
          )}
        </p>
      </div>
    </Tile>
  );
}

function shortTime(seconds: number): string {
  const left = Math.max(0, Math.floor(seconds));
  if (left >= 2 * 86_400) return `${Math.floor(left / 86_400)} d`;
  if (left >= 2 * 3600) return `${Math.floor(left / 3600)} h`;
  return `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}`;
}

function SpaceTile() {
  const { pool } = useApp();
  const feed = pool.state<Report<'daemon.doctor'>>('daemon.doctor');
  const storage = feed.value?.storage ?? null;
  return (
    <Tile title="Free space">
      {storage === null ? (
        <p class="muted">{feed.value === null ? '…' : 'not measured yet'}</p>
      ) : (
        <>
          <p class="figure">
            {textBytes(storage.free_bytes)}{' '}
            <span class="muted">{`of ${textBytes(storage.total_bytes)}`}</span>
          </p>
          <progress
            aria-label="Used space of the volume"
            max={storage.total_bytes || 1}
            value={storage.total_bytes - storage.free_bytes}
          />
          <p class="muted">
            {storage.reclaimable_bytes === 0
              ? 'A cleanup would free nothing now'
              : `A cleanup frees ${textBytes(storage.reclaimable_bytes)} more`}
          </p>
        </>
      )}
    </Tile>
  );
}
