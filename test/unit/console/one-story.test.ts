import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../src/contract/reports/reports.ts';
import { HealthRead } from '../../../src/contract/schemas/answers/health.ts';
import { ReadinessAnswer } from '../../../src/contract/schemas/answers/verdict.ts';
import type { DaemonCondition } from '../../../src/domain/service-state/daemon-conditions.ts';
import type { ServiceReason } from '../../../src/domain/service-state/service-reasons.ts';
import type { ServiceAnswer, ServiceStateName } from '../../../src/domain/service-state/service-state.ts';
import type { AttestedRelease } from '../../../src/domain/verdict/attestation.ts';
import type { PodEvidence } from '../../../src/operator/pods/evidence-book.ts';
import { healthyCondition } from '../../../src/operator/reconcile/service-condition.ts';
import { systemClock } from '../../../src/platform/process/clock.ts';
import { summarizeVerdict } from '../../../src/console/state/verdict-summary.ts';
import { createServiceStateLog } from '../../../src/server/service/service-state-log.ts';
import { ctl } from '../../support/ctl.ts';
import { startAdminServer, type AdminServer } from '../../support/admin-client.ts';
import { until } from '../../support/until.ts';

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
  damageFile(): Promise<void>;
}

async function startWorld(): Promise<World> {
  const server = await startAdminServer({ refresh: true, daemonTimeoutMs: 5000 });
  const { store, daemon } = server;
  const official = await store.addRelease({ releaseId: 'r1', files: { [FILE]: BYTES } });
  const localized = await store.addRelease({
    releaseId: 'r0-l1',
    channel: 'localized',
    baseReleaseId: 'r0',
    files: { [FILE]: BYTES },
  });
  daemon.setReport('daemon.doctor', { ...REPORTS['daemon.doctor'].answer.example });
  daemon.setReport('release.status', { ...REPORTS['release.status'].answer.example });
  let version = 0;
  return {
    server,
    official,
    localized,
    attest: (changes = {}) => {
      version += 1;
      const issuedAt = Math.floor(Date.now() / 1000) - 1;
      daemon.setEnvelope(store.attest({ version, issuedAt, official, ...changes }));
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
  const answer = HealthRead.parse(await (await fetch(`${server.url}/healthz`)).json()).service;
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
}

/** Attests the official release, and retains a localized one of an earlier base. */
function attestStale(world: World): void {
  const retained = [{ ...world.localized, channel: 'localized' as const, retained_until: 4_102_444_800 }];
  world.attest({ retained });
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
  },
  {
    name: 'damage that the scrub finds',
    arrange: async (world) => await findDamage(world, 'scrub'),
    state: 'damaged',
    reason: 'EntryDamaged',
    action: 'repair',
    message: 'found by the scrub',
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
  },
  {
    name: 'an expired attestation',
    arrange: (world) => world.attest({ issuedAt: Math.floor(Date.now() / 1000) - 700 }),
    state: 'expired',
    reason: 'AttestationExpired',
    action: 'refresh',
    message: 'expired at',
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
  },
];

/** The localized channel of a healthy service. */
const LOCALIZED_CASES = [
  {
    name: 'a localized release that is followed',
    tells: ['localized_following', 'localized_stale'],
    state: 'starting',
    reason: 'LocalizedFollowing',
    healthy: 'False',
  },
  {
    name: 'a localized channel that somebody has withdrawn',
    tells: ['localized_withdrawn'],
    state: 'withdrawn',
    reason: 'ReleaseWithdrawn',
    healthy: 'Unknown',
  },
] as const;

/** Reads the first check of the doctor, which is the state; the whole answer when there are no checks. */
async function readDoctor({
  server,
}: World): Promise<{ readonly text: string; readonly hasChecks: boolean }> {
  const doctor = (await (await server.ask('/admin/diagnostics')).json()) as Record<string, unknown>;
  const { checks } = doctor;
  return {
    text: JSON.stringify(checks === undefined ? doctor['detail'] : (checks as unknown[])[0]),
    hasChecks: checks !== undefined,
  };
}

/** Reads the health as an operator does. */
async function readPod({ server }: World): Promise<PodEvidence> {
  const health = HealthRead.parse(await (await fetch(`${server.url}/healthz`)).json());
  return { name: 'a', origin: server.url, endpoint: 'ready', health, failure: null };
}

/** The line that the server logs of its state. */
async function logState({ server }: World): Promise<readonly object[]> {
  const lines: object[] = [];
  const log =
    (level: string) =>
    (fields: object): void =>
      void lines.push({ level, ...fields });
  const watch = createServiceStateLog({
    read: server.parts.service,
    logger: { info: log('info'), warn: log('warn') },
    clock: systemClock,
  });
  watch.start();
  await watch.stop();
  return lines;
}

describe('every surface tells the state, the reason and the next step of /healthz', () => {
  it.each(CASES)('$name', async ({ arrange, state, reason, action, message, channel }) => {
    const world = await startWorld();
    const { server } = world;
    await arrange(world);
    const service = await until(async () => {
      const found = await readService(world);
      return found.state === state && found.reason === reason && found.message.includes(message) && found;
    }, 10_000);
    expect(service.next_step?.action ?? null).toBe(action);
    const next = service.next_step?.text ?? null;

    const program = ['--url', server.url, '--token-file', server.tokenFile];
    const { out } = await ctl([...program, 'status']);
    const fields = new Map(out.split('\n').map((line) => line.split(/: +/, 2) as [string, string]));
    expect(fields.get('state')).toBe(reason === null ? state : `${state} (${reason})`);
    expect(out).toContain(message);
    if (next === null) expect(fields.has('next step')).toBe(false);
    else expect(out).toContain(next);

    const [readiness, health] = await Promise.all(
      ['/readyz?verbose=true', '/healthz'].map(
        async (path): Promise<unknown> => await (await fetch(`${server.url}${path}`)).json(),
      ),
    );
    const read = { readiness: ReadinessAnswer.schema.parse(readiness), health: HealthRead.parse(health) };
    const banner = summarizeVerdict({ verdict: read, failure: null });
    expect(banner).toMatchObject({ todo: next, action });
    expect(banner.why).toContain(message.slice(1));
    expect(banner.why.endsWith(reason === null ? '.' : `(${reason}).`)).toBe(true);

    const doctor = await readDoctor(world);
    expect(doctor.text).toContain(message.slice(1));
    if (next !== null) expect(doctor.text).toContain(JSON.stringify(next).slice(1, -1));
    if (reason !== null && doctor.hasChecks) expect(doctor.text).toContain(`${state}, ${reason}`);

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
  });

  it.each(LOCALIZED_CASES)('of the localized channel: $name', async ({ tells, state, reason, healthy }) => {
    const world = await startWorld();
    const { server } = world;
    world.tell(...tells.map((code) => ({ code })));
    attestStale(world);
    await until(async () => (await readService(world)).channels.localized.reason === reason, 10_000);
    const sentence = `${state} (${reason}): told: ${tells[0]}`;

    const { out } = await ctl(['--url', server.url, '--token-file', server.tokenFile, 'status']);
    expect(out).toMatch(/^state: +healthy$/mu);
    expect(out).toContain(sentence);
    expect((await readDoctor(world)).text).toContain(`localized: ${sentence}`);
    const metrics = await server.registry.metrics();
    expect(metrics).toContain(`slipway_service_state{channel="all",state="healthy"} 1`);
    expect(metrics).toContain(`slipway_service_state{channel="localized",state="${state}"} 1`);
    expect(metrics).toContain(`slipway_service_reason{channel="localized",reason="${reason}"} 1`);
    expect(healthyCondition([await readPod(world)], 'localized')).toMatchObject({
      status: healthy,
      reason,
      message: expect.stringContaining(`told: ${tells[0]}`) as string,
    });
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
