import { exampleOf } from '../../../scripts/reference/examples.ts';
import { rm, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { ProblemSchema } from '../../../src/contract/problems/problem-schema.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { HealthAnswer, type Health } from '../../../src/contract/schemas/answers/health.ts';
import { ReadinessAnswer } from '../../../src/contract/schemas/answers/verdict.ts';
import { manifestDigestOf } from '../../../src/domain/release/digest.ts';
import type { DaemonCondition } from '../../../src/domain/service-state/daemon-conditions.ts';
import { SERVICE_REASONS, type ServiceReason } from '../../../src/domain/service-state/service-reasons.ts';
import type { ServiceAnswer, ServiceStateName } from '../../../src/domain/service-state/service-state.ts';
import { renderStoreFormat } from '../../../src/contract/formats/store-format.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import { REASONS } from '../../../src/domain/verdict/reasons.ts';
import type { PodHealth } from '../../../src/operator/pods/pod-health.ts';
import { healthyCondition } from '../../../src/operator/reconcile/service-condition.ts';
import type { Logger } from '../../../src/platform/logging/logging.ts';
import { PLAIN } from '../../../src/platform/terminal/painter.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { renderStatus } from '../../../src/cli/ctl/status-view.ts';
import { earlierText } from '../../../src/console/operate/sync-panel.tsx';
import { channelWords } from '../../../src/console/state/service-states.ts';
import { summarizeVerdict } from '../../../src/console/state/verdict-summary.ts';
import { formatPath, manifestPath } from '../../../src/snapshot/volume/layout.ts';
import { createServiceStateLog } from '../../../src/server/service/service-state-log.ts';
import { ctl } from '../../support/ctl.ts';
import { startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import { makeStore } from '../../support/make-store.ts';
import { checkStateAlerts, type AlertExpectation, type StateAlert } from '../../support/state-alerts.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { hasTool } from '../../support/tools.ts';
import { until } from '../../support/until.ts';

const hasPromtool = hasTool('promtool', 'prometheus');

const BYTES = 'the bytes of a file';
const FILE = 'Windows/a.bundle';

/** A server, and releases for its daemon to attest. */
interface World {
  readonly server: AdminServer;
  readonly official: AttestedRelease;
  readonly localized: AttestedRelease;
  /** Attests releases; by default the official one alone, for ten minutes. */
  attest(changes?: Partial<Parameters<AdminServer['store']['attest']>[0]>): void;
  tell(...conditions: readonly (Partial<DaemonCondition> & Pick<DaemonCondition, 'code'>)[]): void;
  /** Lets the server ask its daemon, once. Earlier, it would find nothing and wait before it asks again. */
  start(): void;
  damageFile(): Promise<void>;
}

async function startWorld(daemonTimeoutMs = 5000): Promise<World> {
  const server = await startAdminServer({ refresh: false, daemonTimeoutMs });
  const { store, daemon } = server;
  const official = await store.addRelease({ releaseId: 'r1', files: { [FILE]: BYTES } });
  const localized = await store.addRelease({
    releaseId: 'r0-l1',
    channel: 'localized',
    baseReleaseId: 'r0',
    files: { [FILE]: BYTES },
  });
  daemon.setReport('daemon.doctor', { ...exampleOf(REPORTS['daemon.doctor'].answer) });
  daemon.setReport('release.status', { ...exampleOf(REPORTS['release.status'].answer) });
  let version = 0;
  let isStarted = false;
  const start = (): void => {
    if (!isStarted) server.parts.room.refresher.start();
    isStarted = true;
  };
  return {
    server,
    start,
    official,
    localized,
    attest: (changes = {}) => {
      version += 1;
      const issuedAt = Math.floor(Date.now() / 1000) - 1;
      daemon.setEnvelope(store.attest({ version, issuedAt, official, ...changes }));
      start();
    },
    tell: (...conditions) => {
      daemon.setConditions(
        conditions.map((each) => ({ message: `told: ${each.code}`, since: 1000, next_try: null, ...each })),
      );
    },
    damageFile: async () => {
      await writeFile(store.pathOf(BYTES), BYTES.toUpperCase());
    },
  };
}

async function readService({ server }: World): Promise<ServiceAnswer> {
  const answer = HealthAnswer.schema.parse(await (await fetch(`${server.url}/healthz`)).json()).service;
  if (answer === undefined) throw new Error('/healthz tells no state');
  return answer;
}

/** The file is damaged on the volume, and somebody finds it. */
async function findDamage(world: World, foundBy: 'client' | 'scrub'): Promise<void> {
  const { server } = world;
  world.attest();
  await until(async () => (await readService(world)).state === 'healthy');
  await world.damageFile();
  if (foundBy === 'client') {
    await fetch(`${server.url}/prod-clientpatch.bluearchiveyostar.com/${FILE}`).then((answer) =>
      answer.text(),
    );
    return;
  }
  const [entry] = [server.parts.room.serving.state().current.official?.index.entry(0)];
  if (entry === undefined) throw new Error('no release is served');
  const { destination, blake3 } = entry;
  const message = 'the bytes differ';
  server.parts.room.serving.reportDamage({
    destination,
    blake3,
    kind: 'damaged',
    message,
    found_by: 'scrub',
  });
}

interface Case {
  readonly name: string;
  readonly arrange: (world: World) => Promise<void> | void;
  readonly state: ServiceStateName;
  readonly reason: ServiceReason | null;
  readonly action: string | null;
  /** A part of the message. */
  readonly message: string;
  /** The channel whose state decides; default official. */
  readonly channel?: 'localized';
  /** The alerts that fire when it lasts; default none. Each names the reason. */
  readonly alerts?: readonly StateAlert[];
  /** Milliseconds that the server waits for the daemon; default 5,000. */
  readonly daemonTimeoutMs?: number;
}

/** Attests the official release, and retains a localized one of an earlier base. */
function attestStale(world: World): void {
  const retained = [{ ...world.localized, channel: 'localized' as const, retained_until: 4_102_444_800 }];
  const { release_id, base_release_id } = world.localized;
  if (base_release_id === undefined) throw new Error('the localized release has no base');
  world.attest({ retained, stale: { release_id, base_release_id } });
}

/** The manifest of the official release. */
function pathOfManifest({ server, official }: World): string {
  const digest = manifestDigestOf(official.snapshot_id);
  if (digest === null) throw new Error('the release has no manifest');
  return manifestPath(server.store.root, digest);
}

/** Another volume is mounted for a moment; then the first one is back, with an attestation older than that seen before. */
async function rollBack(world: World): Promise<void> {
  const { store } = world.server;
  world.attest({ version: 2 });
  await until(async () => (await readService(world)).state === 'healthy');
  await writeFile(formatPath(store.root), renderStoreFormat('4c1f6a55-9a0e-4f0e-8f6b-7a5d2f1c3e02'));
  await lookUntil('AttestationInvalid');
  await writeFile(formatPath(store.root), renderStoreFormat(store.storeId));
  world.attest({ version: 1 });
  await lookUntil('AttestationRolledBack');

  async function lookUntil(reason: ServiceReason): Promise<void> {
    await until(async () => {
      world.server.parts.room.refresher.wake();
      return (await readService(world)).reason === reason;
    });
  }
}

const CASES: readonly Case[] = [
  {
    name: 'healthy, and no localized release is published',
    arrange: (world) => world.attest(),
    state: 'healthy',
    reason: null,
    action: null,
    message: 'release r1 is attested and fully represented',
  },
  {
    name: 'damage that a client finds',
    arrange: async (world) => await findDamage(world, 'client'),
    state: 'damaged',
    reason: 'EntryDamaged',
    action: 'repair',
    message: 'found when a client read it',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'damage that the scrub finds',
    arrange: async (world) => await findDamage(world, 'scrub'),
    state: 'damaged',
    reason: 'EntryDamaged',
    action: 'repair',
    message: 'found by the scrub',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'damage that verify finds, which the daemon repairs',
    arrange: (world) => {
      world.tell({ code: 'repairing', message: 'the daemon repairs 1 damaged file, found by verify' });
      const failure = { reason: 'EntryDamaged', entry_count: 1, examples: [FILE] } as const;
      world.attest({ official: { ...world.official, result: 'FAILED', failure } });
    },
    state: 'damaged',
    reason: 'EntryDamaged',
    action: null,
    message: 'found by verify',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'damage that could not be repaired',
    arrange: (world) => {
      world.tell({ code: 'repair_failed', next_try: 4_102_444_800 });
      const failure = { reason: 'EntryMissing', entry_count: 1, examples: [FILE] } as const;
      world.attest({ official: { ...world.official, result: 'FAILED', failure } });
    },
    state: 'damaged',
    reason: 'EntryMissing',
    action: 'repair',
    message: 'told: repair_failed',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an expired attestation',
    arrange: (world) => world.attest({ issuedAt: Math.floor(Date.now() / 1000) - 700 }),
    state: 'expired',
    reason: 'AttestationExpired',
    action: 'refresh',
    message: 'expired at',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an expired attestation of a daemon that cannot attest',
    arrange: (world) => {
      world.tell({ code: 'attestation_failing' });
      world.attest({ issuedAt: Math.floor(Date.now() / 1000) - 700 });
    },
    state: 'expired',
    reason: 'AttestationFailing',
    action: 'refresh',
    message: 'told: attestation_failing',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a daemon that is down',
    arrange: async (world) => {
      world.attest();
      await until(async () => (await readService(world)).state === 'healthy');
      world.server.daemon.setFault('reset');
      world.attest();
    },
    state: 'degraded',
    reason: 'DaemonUnreachable',
    action: null,
    message: 'the daemon has been unreachable since',
  },
  {
    name: 'a full volume',
    arrange: (world) => {
      world.tell({ code: 'volume_full' }, { code: 'sync_failed' });
      world.attest();
    },
    state: 'degraded',
    reason: 'VolumeFull',
    action: 'release-cleanup',
    message: 'told: volume_full',
    alerts: ['SlipwayVolumeFull'],
  },
  {
    name: 'a full data folder',
    arrange: (world) => {
      world.tell({ code: 'data_volume_full' });
      world.attest();
    },
    state: 'degraded',
    reason: 'DataVolumeFull',
    action: null,
    message: 'told: data_volume_full',
    alerts: ['SlipwayVolumeFull'],
  },
  {
    name: 'an expired attestation of a daemon that waits for a full data folder',
    arrange: (world) => {
      world.tell({ code: 'data_volume_full' });
      world.attest({ issuedAt: Math.floor(Date.now() / 1000) - 700 });
    },
    state: 'expired',
    reason: 'DataVolumeFull',
    action: null,
    message: 'told: data_volume_full',
    alerts: ['SlipwayOfficialNotServed', 'SlipwayVolumeFull'],
  },
  {
    name: 'a first sync that a full data folder refuses',
    arrange: (world) => {
      world.tell({ code: 'data_volume_full' }, { code: 'sync_failed' });
      world.attest({ official: null });
    },
    state: 'unpublished',
    reason: 'DataVolumeFull',
    action: null,
    message: 'told: data_volume_full',
    alerts: ['SlipwayOfficialNotServed', 'SlipwayVolumeFull'],
  },
  {
    name: 'a clock that is off while files are served',
    arrange: (world) => {
      world.tell({ code: 'clock_off' });
      world.attest();
    },
    state: 'degraded',
    reason: 'ClockOff',
    action: 'verify',
    message: 'told: clock_off',
  },
  {
    name: 'an attestation that had expired by a clock that is behind',
    arrange: (world) => {
      world.tell({ code: 'clock_off' });
      world.attest({ issuedAt: Math.floor(Date.now() / 1000) - 3600 });
    },
    state: 'expired',
    reason: 'ClockOff',
    action: 'verify',
    message: 'told: clock_off',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an attestation of a clock that is ahead',
    arrange: (world) => {
      world.tell({ code: 'clock_off' });
      world.attest({ issuedAt: Math.floor(Date.now() / 1000) + 3600 });
    },
    state: 'untrusted',
    reason: 'ClockOff',
    action: 'verify',
    message: 'told: clock_off',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a daemon without a release whose clock is off',
    arrange: (world) => {
      world.tell({ code: 'clock_off' }, { code: 'never_synced' });
      world.attest({ official: null });
    },
    state: 'unpublished',
    reason: 'NeverSynced',
    action: 'sync',
    message: 'told: never_synced',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a daemon without an upstream',
    arrange: (world) => {
      world.tell({ code: 'no_upstream' });
      world.attest({ official: null });
    },
    state: 'unpublished',
    reason: 'NoUpstream',
    action: null,
    message: 'told: no_upstream',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'the first sync',
    arrange: (world) => world.tell({ code: 'syncing' }, { code: 'never_synced' }),
    state: 'starting',
    reason: 'Syncing',
    action: null,
    message: 'told: syncing',
  },
  {
    name: 'no sync ever',
    arrange: (world) => {
      world.tell({ code: 'never_synced' });
      world.attest({ official: null });
    },
    state: 'unpublished',
    reason: 'NeverSynced',
    action: 'sync',
    message: 'told: never_synced',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a stale localized release',
    arrange: (world) => {
      world.tell({ code: 'localized_stale' });
      attestStale(world);
    },
    state: 'degraded',
    reason: 'BaseReleaseChanged',
    action: 'localized-publish',
    message: 'localized release r0-l1 was made for r0',
    channel: 'localized',
    alerts: ['SlipwayLocalizedNotServed'],
  },
  {
    name: 'a stale localized release of an edge',
    arrange: (world) => {
      world.tell({ code: 'localized_mirrored' }, { code: 'localized_stale' });
      attestStale(world);
    },
    state: 'degraded',
    reason: 'BaseReleaseChanged',
    action: null,
    message: 'localized release r0-l1 was made for r0',
    channel: 'localized',
    alerts: ['SlipwayLocalizedNotServed'],
  },
  {
    name: 'a stale localized release that nothing follows since a rollback',
    arrange: (world) => {
      world.tell({ code: 'localized_stale' }, { code: 'publishing_stopped' });
      attestStale(world);
    },
    state: 'degraded',
    reason: 'PublishingStopped',
    action: 'localized-publish',
    message: 'told: publishing_stopped',
    channel: 'localized',
    alerts: ['SlipwayLocalizedNotServed'],
  },
  {
    name: 'a server that has not heard of its daemon',
    arrange: () => undefined,
    state: 'starting',
    reason: 'AttestationUnavailable',
    action: 'sync',
    message: 'no attestation has been received',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an attestation of a foreign key',
    arrange: async ({ server }) => {
      const foreign = await makeStore(await temporaryDirectory());
      server.daemon.setEnvelope(foreign.attest({ version: 1, issuedAt: Math.floor(Date.now() / 1000) }));
    },
    state: 'untrusted',
    reason: 'AttestationInvalid',
    action: null,
    message: 'trusted key',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an attestation of the future from a daemon that tells no cause',
    arrange: (world) => world.attest({ issuedAt: Math.floor(Date.now() / 1000) + 3600 }),
    state: 'untrusted',
    reason: 'AttestationNotYetValid',
    action: null,
    message: 'in the future',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an old attestation of a volume that was away',
    arrange: rollBack,
    state: 'untrusted',
    reason: 'AttestationRolledBack',
    action: null,
    message: 'is older than the accepted version',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'an attestation without a release from a daemon that tells no cause',
    arrange: (world) => world.attest({ official: null }),
    state: 'unpublished',
    reason: 'ReleaseNotAuthorized',
    action: 'sync',
    message: 'authorizes no official release',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a manifest that is not on the volume',
    arrange: async (world) => {
      await rm(pathOfManifest(world));
      world.attest();
    },
    state: 'damaged',
    reason: 'SnapshotMissing',
    action: 'repair',
    message: 'manifest',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a manifest with other bytes',
    arrange: async (world) => {
      await writeFile(pathOfManifest(world), 'other bytes');
      world.attest();
    },
    state: 'damaged',
    reason: 'ManifestDamaged',
    action: 'repair',
    message: 'manifest',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a server that shuts down',
    arrange: (world) => {
      world.attest();
      world.server.setShuttingDown();
    },
    state: 'stopping',
    reason: 'ShuttingDown',
    action: null,
    message: 'the server is shutting down',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a daemon that accepts connections and does not answer',
    arrange: (world) => {
      world.server.daemon.setFault('hang');
    },
    daemonTimeoutMs: 300,
    state: 'starting',
    reason: 'DaemonTimeout',
    action: null,
    message: 'the daemon has not answered since',
    alerts: ['SlipwayOfficialNotServed'],
  },
  {
    name: 'a daemon that starts while files are served',
    arrange: (world) => {
      world.tell({ code: 'starting' });
      world.attest();
    },
    state: 'degraded',
    reason: 'DaemonStarting',
    action: null,
    message: 'told: starting',
  },
  {
    name: 'a daemon whose attestation is refused while files are served',
    arrange: async (world) => {
      world.attest({ version: 2 });
      await until(async () => (await readService(world)).state === 'healthy');
      world.attest({ version: 1 });
    },
    state: 'degraded',
    reason: 'RefreshFailing',
    action: null,
    message: 'brought no usable attestation (AttestationRolledBack)',
  },
  {
    name: 'a damaged database of the daemon',
    arrange: (world) => {
      world.tell({ code: 'database_damaged' });
      world.attest();
    },
    state: 'degraded',
    reason: 'DatabaseDamaged',
    action: 'restart',
    message: 'told: database_damaged',
  },
  {
    name: 'a database of people that cannot be used',
    arrange: (world) => {
      world.tell({ code: 'work_database_unusable' });
      world.attest();
    },
    state: 'degraded',
    reason: 'WorkDatabaseUnusable',
    action: null,
    message: 'told: work_database_unusable',
  },
  {
    name: 'a daemon that ends repeatedly',
    arrange: (world) => {
      world.tell({ code: 'crash_loop' });
      world.attest();
    },
    state: 'degraded',
    reason: 'CrashLoop',
    action: null,
    message: 'told: crash_loop',
  },
  {
    name: 'a volume that refuses writes',
    arrange: (world) => {
      world.tell({ code: 'volume_unwritable' });
      world.attest();
    },
    state: 'degraded',
    reason: 'VolumeUnwritable',
    action: null,
    message: 'told: volume_unwritable',
  },
  {
    name: 'an origin that cannot be followed',
    arrange: (world) => {
      world.tell({ code: 'origin_not_followed' });
      world.attest();
    },
    state: 'degraded',
    reason: 'OriginNotFollowed',
    action: null,
    message: 'told: origin_not_followed',
  },
  {
    name: 'a sync that failed',
    arrange: (world) => {
      world.tell({ code: 'sync_failed' });
      world.attest();
    },
    state: 'degraded',
    reason: 'SyncFailed',
    action: 'sync',
    message: 'told: sync_failed',
  },
  {
    name: 'a localized release whose verification is too old',
    arrange: (world) => {
      world.tell({ code: 'localized_unverified' });
      world.attest();
    },
    state: 'degraded',
    reason: 'LocalizedUnverified',
    action: 'verify',
    message: 'told: localized_unverified',
    channel: 'localized',
    alerts: ['SlipwayLocalizedNotServed'],
  },
];

/** The reasons without a row, and why none can hold them. */
const WITHOUT_ROW: Partial<Record<ServiceReason, string>> = {
  SnapshotLoading: 'it ends by itself within milliseconds; decide-service-state.test.ts has it',
};

/** The localized channel of a healthy service. */
const LOCALIZED_CASES = [
  {
    name: 'nothing is published',
    tells: [],
    message: 'no localized release is published',
    state: 'unpublished',
    reason: 'NothingPublished',
    healthy: 'Unknown',
    word: 'no release',
  },
  {
    name: 'the origin of an edge offers nothing',
    tells: ['localized_mirrored'],
    message: 'told: localized_mirrored',
    state: 'unpublished',
    reason: 'NothingPublished',
    healthy: 'Unknown',
    word: 'no release',
  },
  {
    name: 'a localized release that is followed',
    tells: ['localized_following', 'localized_stale'],
    message: 'told: localized_following',
    word: 'starting',
    state: 'starting',
    reason: 'LocalizedFollowing',
    healthy: 'False',
  },
  {
    name: 'a localized channel that somebody has withdrawn',
    tells: ['localized_withdrawn'],
    message: 'told: localized_withdrawn',
    word: 'withdrawn',
    state: 'withdrawn',
    reason: 'ReleaseWithdrawn',
    healthy: 'Unknown',
  },
] as const;

/** Reads what the doctor says first: the check of the state, or why there is no report; and the reason that it names. */
async function readDoctor({
  server,
}: World): Promise<{ readonly text: string; readonly reason: string | undefined }> {
  const answer = await server.ask('/admin/diagnostics');
  if (!answer.ok) {
    const { detail, reason } = ProblemSchema.parse(await answer.json());
    return { text: JSON.stringify(detail), reason };
  }
  const { checks } = (await answer.json()) as {
    readonly checks: readonly [{ readonly message: string }];
  };
  const [{ message }] = checks;
  return { text: JSON.stringify(checks[0]), reason: /^[a-z]+, (\w+): /u.exec(message)?.[1] };
}

/** The words of the verdict bar, and the answer that they come from. */
async function readDashboard({ server }: World): Promise<{
  readonly banner: ReturnType<typeof summarizeVerdict>;
  readonly health: Health;
}> {
  const [readiness, answer] = await Promise.all(
    ['/readyz?verbose=true', '/healthz'].map(
      async (path): Promise<unknown> => await (await fetch(`${server.url}${path}`)).json(),
    ),
  );
  const health = HealthAnswer.schema.parse(answer);
  const verdict = { readiness: ReadinessAnswer.schema.parse(readiness), health };
  return { banner: summarizeVerdict(verdict, null, Date.now() / 1000), health };
}

/** Reads the health as an operator does. */
async function readPod({ server }: World): Promise<PodHealth> {
  const health = HealthAnswer.schema.parse(await (await fetch(`${server.url}/healthz`)).json());
  return { name: 'a', origin: server.url, endpoint: 'ready', health, failure: null };
}

/** What the tests expect of the alerts of the chart over the real metrics; checked together at the end. */
const expectedAlerts: AlertExpectation[] = [];

afterAll(async () => {
  if (!hasPromtool || expectedAlerts.length === 0) return;
  const ends: Array<() => Promise<void> | void> = [];
  const complaints = await checkStateAlerts(expectedAlerts, (end) => void ends.push(end));
  for (const end of ends) await end();
  expect(complaints).toBe('');
});

/** The line that the server logs of its state. */
async function logState({ server }: World): Promise<readonly object[]> {
  const lines: object[] = [];
  const log =
    (level: string) =>
    (fields: object): void =>
      void lines.push({ level, ...fields });
  const watch = createServiceStateLog({
    read: server.parts.service,
    logger: { info: log('info'), warn: log('warn') } as unknown as Logger,
    clock: systemClock,
  });
  watch.start();
  await watch.stop();
  return lines;
}

describe('every surface tells the state, the reason and the next step of /healthz', () => {
  it('has a row for each reason', () => {
    const told = [...CASES, ...LOCALIZED_CASES].map(({ reason }) => reason);
    const known = [...new Set([...told, ...Object.keys(WITHOUT_ROW)])].filter((each) => each !== null);
    expect(known.toSorted()).toEqual(Object.keys({ ...REASONS, ...SERVICE_REASONS }).toSorted());
    expect(told.filter((each) => each !== null && each in WITHOUT_ROW)).toEqual([]);
  });

  it.each(CASES)('$name', async ({ name, arrange, state, reason, action, message, channel, ...more }) => {
    const world = await startWorld(more.daemonTimeoutMs);
    const { server } = world;
    await arrange(world);
    world.start();
    const service = await until(async () => {
      const found = await readService(world);
      return found.state === state && found.reason === reason && found.message.includes(message) && found;
    });
    expect(service.next_step?.action ?? null).toBe(action);
    const next = service.next_step?.text ?? null;

    const program = ['--url', server.url, '--token-file', server.tokenFile];
    const { out } = await ctl([...program, 'status']);
    const fields = new Map(out.split('\n').map((line) => line.split(/: +/, 2) as [string, string]));
    expect(fields.get('state')).toBe(reason === null ? state : `${state} (${reason})`);
    expect(out).toContain(message);
    if (next === null) expect(fields.has('next step')).toBe(false);
    else expect(out).toContain(next);

    const { banner } = await readDashboard(world);
    // The button of the page adds the argument.
    const todo = next?.replace(' with args=resume=true', '') ?? null;
    expect(banner).toMatchObject({ todo, action });
    expect(banner.why).toContain(message.slice(1));
    expect(banner.why.endsWith(reason === null ? '.' : `(${reason}).`)).toBe(true);

    const doctor = await readDoctor(world);
    expect(doctor.text).toContain(message.slice(1));
    if (next !== null) expect(doctor.text).toContain(JSON.stringify(next).slice(1, -1));
    expect(doctor.reason).toBe(reason ?? undefined);

    const metrics = await server.registry.metrics();
    const samples = metrics
      .split('\n')
      .filter((line) => /^slipway_service_\w+\{channel="all".* 1$/.test(line));
    expect(samples).toEqual([
      `slipway_service_state{channel="all",state="${state}"} 1`,
      `slipway_service_reason{channel="all",reason="${reason ?? 'none'}"} 1`,
    ]);

    const condition = healthyCondition([await readPod(world)], channel ?? 'official');
    expect(condition.reason).toBe(reason ?? 'Healthy');
    expect(condition.message).toContain(message);
    if (next !== null) expect(condition.message).toContain(next);

    expect(await logState(world)).toMatchObject([{ state, reason, next_step: next }]);
    expectedAlerts.push({ name, metrics, alerts: more.alerts ?? [], reason: reason ?? 'none' });
  });

  it.each(LOCALIZED_CASES)('of the localized channel: $name', async (row) => {
    const { tells, message, state, reason, healthy, word } = row;
    const world = await startWorld();
    const { server } = world;
    world.tell(...tells.map((code) => ({ code })));
    if (reason === 'NothingPublished') world.attest();
    else attestStale(world);
    await until(async () => {
      const { state: whole, channels } = await readService(world);
      return whole === 'healthy' && channels.localized.reason === reason;
    });
    // A channel that nobody has published to is how every service begins: no surface makes a sentence of it.
    const sentence = reason === 'NothingPublished' ? null : `${state} (${reason}): ${message}`;

    const { out } = await ctl(['--url', server.url, '--token-file', server.tokenFile, 'status']);
    expect(out).toMatch(/^state: +healthy$/mu);
    expect(out).toContain(sentence ?? 'there is no localized release');
    const { banner, health } = await readDashboard(world);
    expect(banner).toMatchObject({ tone: 'ok', todo: null, action: null });
    expect(channelWords(health, 'localized')).toMatchObject({ word });
    const doctor = await readDoctor(world);
    if (sentence === null) expect(doctor.text).not.toContain('localized:');
    else expect(doctor.text).toContain(`localized: ${sentence}`);
    const metrics = await server.registry.metrics();
    expect(metrics).toContain(`slipway_service_state{channel="all",state="healthy"} 1`);
    expect(metrics).toContain(`slipway_service_state{channel="localized",state="${state}"} 1`);
    expect(metrics).toContain(`slipway_service_reason{channel="localized",reason="${reason}"} 1`);
    expect(healthyCondition([await readPod(world)], 'localized')).toMatchObject({
      status: healthy,
      reason,
      message: expect.stringContaining(message) as string,
    });
    expectedAlerts.push({ name: `localized: ${reason}`, metrics, alerts: [], reason });
    expect(await logState(world)).toMatchObject([{ level: 'info', state: 'healthy', localized: sentence }]);
  });

  it('tells one cause once: what depends on a daemon that is away is unknown since then', async () => {
    const world = await startWorld();
    world.attest();
    await until(async () => (await readService(world)).state === 'healthy');
    world.server.daemon.setFault('reset');
    world.attest();
    const service = await until(async () => {
      const found = await readService(world);
      return found.reason === 'DaemonUnreachable' && found;
    });
    expect(service.caused.map(({ what }) => what)).toEqual([
      'syncs',
      'repairs',
      'schedules',
      'localized publishing',
    ]);
    expect(new Set(service.caused.map(({ since }) => since))).toEqual(new Set([service.since]));
    const { out } = await ctl(['--url', world.server.url, '--token-file', world.server.tokenFile, 'status']);
    expect(out).toMatch(/^unknown: +syncs, repairs, schedules, localized publishing since /mu);
    expect(out.match(/unreachable/g)).toHaveLength(1);
  });

  it('shows a dash for a check that was not evaluated', async () => {
    const world = await startWorld();
    const { out } = await ctl(['--url', world.server.url, '--token-file', world.server.tokenFile, 'status']);
    expect(out).toMatch(/^check attestation-newest: +-$/mu);
    const { caused } = await readService(world);
    expect(caused).toContainEqual({ what: 'check attestation-newest', since: null });
  });
});

it('says in one way when an edge looks at its origin before the next sync', () => {
  const edge = REPORTS['release.status'].answer.schema.parse(exampleOf(REPORTS['release.status'].answer));
  const readiness = ReadinessAnswer.schema.parse(exampleOf(ReadinessAnswer));
  const shown = renderStatus(
    { readiness, health: null, releases: edge, repairs: null },
    { now: edge.sync.next_at ?? 0, painter: PLAIN, wide: false },
  );
  const early = earlierText(edge);
  expect(early).not.toBe('');
  expect(shown).toMatch(new RegExp(`^sync: .*${early}$`, 'm'));
  expect(earlierText({ ...edge, origin: undefined })).toBe('');
});
