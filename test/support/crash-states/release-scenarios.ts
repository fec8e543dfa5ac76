import { chmodSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { trustedKeysOf } from '../../../src/attestation/keys.ts';
import { verifyEnvelope } from '../../../src/attestation/verify.ts';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import type { AttestationStatement, VerifiedAttestation } from '../../../src/domain/verdict/attestation.ts';
import { evaluate } from '../../../src/domain/verdict/evaluate.ts';
import { NO_EVIDENCE, NO_TROUBLE, type SnapshotEvidence } from '../../../src/domain/verdict/evidence.ts';
import type { SnapshotId } from '../../../src/domain/release/digest.ts';
import type { ReleaseId } from '../../../src/domain/release/release-id.ts';
import { namedReleases } from '../../../src/domain/verdict/effective-attestation.ts';
import { blake3Hex } from '../../../src/platform/hashing/blake3.ts';
import { loadManifest } from '../../../src/snapshot/manifest/manifest-loader.ts';
import type { Releases } from '../../../src/releases/releases.ts';
import {
  attestationPath,
  blockListPath,
  objectPath,
  releaseRecordPath,
} from '../../../src/snapshot/volume/layout.ts';
import { listAttestationVersions, readAttestation } from '../../../src/snapshot/volume/attestation-files.ts';
import { listReleaseRecords } from '../../../src/snapshot/volume/release-records.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ScriptedUpstream } from '../scripted-upstream.ts';
import { contentOf } from './crash-log.ts';
import {
  DATA_FOLDER,
  OTHER_DATA_FOLDER,
  MAIN_DATABASE,
  VOLUME,
  SIGNING_KEYS,
  startCrashDaemon,
  type CrashDaemon,
} from './crash-daemon.ts';
import { startRecording, type Recording } from './crash-recorder.ts';
import type { Scenario } from './explore.ts';

/** What readers and operators have learned. */
export type ReleaseFact =
  /** An attestation was given out. */
  | {
      readonly kind: 'issued';
      readonly version: number;
      readonly releaseId: string | null;
      readonly isSound: boolean;
    }
  /** A task was accepted. */
  | { readonly kind: 'accepted'; readonly taskId: string }
  /** A change to this release has begun. */
  | { readonly kind: 'begun'; readonly releaseId: string };

/** The files of each release of a scenario, by its id. */
type Files = Readonly<Record<string, Readonly<Record<string, string | Buffer>>>>;

const LARGE = createRandom(7).bytes(1_100_000);
const FILES: Files = {
  '1.0': { 'a.bin': 'one', 'b.bin': createRandom(5).bytes(9_000), 'shared.bin': 'shared' },
  '2.0': {
    'a.bin': 'one, changed',
    'b.bin': createRandom(6).bytes(13_000),
    'shared.bin': 'shared',
    'new.bin': LARGE,
  },
  '3.0': { 'a.bin': 'one, changed again', 'shared.bin': 'shared' },
  '4.0': { 'a.bin': 'one, changed once more', 'shared.bin': 'shared' },
  // Without the shared file.
  '5.0': { 'a.bin': 'five' },
  '6.0': { 'a.bin': 'six' },
  '7.0': { 'a.bin': 'seven' },
};

interface Step {
  readonly daemon: CrashDaemon;
  readonly clock: FakeClock;
  readonly upstream: ScriptedUpstream;
  readonly folder: string;
}

interface ReleaseScenario {
  readonly name: string;
  /** Before the record begins; without it, the folder is empty and the start itself is recorded. */
  readonly before?: (step: Step) => Promise<void>;
  /** Whether another daemon takes the volume over before the record begins. The first one starts after the power failure. */
  readonly isTakenOver?: boolean;
  /** Whether the next sync runs in every state: it is the one that would be misled. */
  readonly isFollowedBySync?: boolean;
  readonly recorded: (step: Step, begin: (releaseId: string) => void) => Promise<void>;
}

/** Gives upstream a release. */
function offer({ upstream }: Step, releaseId: string): void {
  upstream.releaseId = releaseId;
  upstream.files = new Map(Object.entries(FILES[releaseId] ?? {}));
}

async function sync(step: Step, releaseId: string): Promise<void> {
  const { daemon } = step;
  offer(step, releaseId);
  const task = await daemon.act('sync');
  if (task.status !== 'succeeded') throw new Error(`the sync ${task.status}: ${JSON.stringify(task)}`);
}

async function run({ daemon }: Step, action: string, body: Record<string, unknown> = {}): Promise<void> {
  const task = await daemon.act(action, body);
  if (task.status !== 'succeeded') throw new Error(`${action} ${task.status}: ${JSON.stringify(task)}`);
}

/** Damages an object of a release. */
async function damage({ folder }: Step): Promise<void> {
  await spoil(objectPath(join(folder, VOLUME), blake3Hex(Buffer.from('shared'))));
}

/** Gives a file other bytes of the same length. */
async function spoil(path: string): Promise<void> {
  const bytes = await readFile(path);
  chmodSync(path, 0o644);
  writeFileSync(path, Buffer.alloc(bytes.length, 'x'));
}

const SCENARIOS: readonly ReleaseScenario[] = [
  {
    name: 'the first start and sync',
    recorded: async (step, begin) => {
      begin('1.0');
      await sync(step, '1.0');
    },
  },
  {
    name: 'a sync with changed files',
    before: async (step) => await sync(step, '1.0'),
    recorded: async (step, begin) => {
      begin('2.0');
      await sync(step, '2.0');
    },
  },
  {
    name: 'a renewal of the attestation',
    before: async (step) => await sync(step, '1.0'),
    recorded: async ({ daemon, clock }) => {
      for (let renewal = 0; renewal < 2; renewal += 1) {
        clock.jumpTo(clock.now() + 100_000);
        await daemon.releases.attestor.issue('renewal');
      }
    },
  },
  {
    name: 'a cleanup of releases and objects',
    before: async (step) => {
      for (const releaseId of ['1.0', '2.0', '3.0', '4.0']) {
        await sync(step, releaseId);
        await step.clock.skip(86_400_000);
      }
    },
    recorded: async (step) => {
      await run(step, 'release-cleanup', { count: 1n, force: true });
    },
  },
  {
    name: 'a cleanup of a damaged object, which the next release has again',
    before: async (step) => {
      await sync(step, '1.0');
      await damage(step);
      await step.daemon.act('verify', { force: true });
      for (const releaseId of ['5.0', '6.0', '7.0']) {
        await sync(step, releaseId);
        await step.clock.skip(86_400_000);
      }
      offer(step, '3.0');
    },
    isFollowedBySync: true,
    recorded: async (step) => {
      await run(step, 'release-cleanup', { count: 1n, force: true });
    },
  },
  {
    name: 'a repair of a damaged object',
    before: async (step) => {
      await sync(step, '1.0');
      await damage(step);
      await step.daemon.act('verify', { force: true });
    },
    recorded: async (step) => {
      await run(step, 'repair');
    },
  },
  {
    name: 'a sync that replaces a damaged object',
    before: async (step) => {
      await sync(step, '1.0');
      await damage(step);
      await step.daemon.act('verify', { force: true });
    },
    recorded: async (step, begin) => {
      begin('3.0');
      await sync(step, '3.0');
    },
  },
  {
    name: 'a repair of the manifest and the record',
    before: async (step) => {
      await sync(step, '1.0');
      const root = join(step.folder, VOLUME);
      const [manifest = ''] = await readdir(join(root, 'manifests'));
      await spoil(join(root, 'manifests', manifest));
      await spoil(releaseRecordPath(root, 'official', '1.0' as ReleaseId));
      await step.daemon.act('verify', { force: true });
    },
    recorded: async (step) => {
      await run(step, 'repair');
    },
  },
  {
    name: 'a repair of a block list',
    before: async (step) => {
      await sync(step, '2.0');
      await spoil(blockListPath(join(step.folder, VOLUME), blake3Hex(LARGE)));
      await step.daemon.act('verify', { force: true });
    },
    recorded: async (step) => {
      await run(step, 'repair');
    },
  },
  {
    name: 'a sync by a daemon that took the volume over',
    before: async (step) => await sync(step, '1.0'),
    isTakenOver: true,
    recorded: async (step, begin) => {
      begin('3.0');
      await sync(step, '3.0');
    },
  },
];

/** Records each of these scenarios. */
export async function recordReleaseScenarios(folder: string): Promise<ReadonlyArray<Scenario<ReleaseFact>>> {
  const scenarios: Array<Scenario<ReleaseFact>> = [];
  for (const [number, scenario] of SCENARIOS.entries()) {
    scenarios.push(await record(scenario, join(folder, `scenario-${number}`)));
  }
  return scenarios;
}

async function record(scenario: ReleaseScenario, folder: string): Promise<Scenario<ReleaseFact>> {
  for (const path of [DATA_FOLDER, OTHER_DATA_FOLDER, VOLUME])
    await mkdir(dirname(join(folder, path)), { recursive: true });
  const clock = new FakeClock(Math.floor(Date.now() / 1000) * 1000);
  const upstream = new ScriptedUpstream();
  const { isTakenOver = false, isFollowedBySync = false } = scenario;
  let recording: Recording<ReleaseFact> | null = null;
  let image: Buffer | null = null;
  let daemon: CrashDaemon | null = null;
  let known = 0;
  const note = (): void => {
    const current = daemon?.releases.attestation.current() ?? null;
    if (current === null || current.version === known || recording === null) return;
    known = current.version;
    const { official } = statementOf(current.envelope).statement;
    recording.fact({
      kind: 'issued',
      version: known,
      releaseId: official?.release_id ?? null,
      isSound: official?.result === 'PASSED',
    });
  };
  if (scenario.before === undefined) recording = startRecording(folder, null);
  const started = await startCrashDaemon({
    folder,
    clock,
    upstream,
    onCommit: (committed, isDurable) => {
      note();
      image = committed;
      recording?.commit(committed, isDurable);
    },
    onAccepted: (taskId) => recording?.fact({ kind: 'accepted', taskId }),
  });
  daemon = started;
  daemon.work();
  if (scenario.before !== undefined) {
    await scenario.before({ daemon, clock, upstream, folder });
    if (isTakenOver) await daemon.stop();
    recording = startRecording(folder, image);
  }
  note();
  if (isTakenOver) {
    daemon = await startCrashDaemon({ folder, clock, upstream, data: OTHER_DATA_FOLDER });
    daemon.work();
  }
  note();
  await scenario.recorded({ daemon, clock, upstream, folder }, (releaseId) =>
    recording?.fact({ kind: 'begun', releaseId }),
  );
  note();
  if (recording === null) throw new Error('nothing was recorded');
  const log = recording.stop();
  await daemon.stop();
  const identity = join(folder, DATA_FOLDER, 'daemon.id');
  const id = contentOf(await readFile(identity)).id;
  const at = clock.now();
  return {
    name: scenario.name,
    log,
    database: MAIN_DATABASE,
    same: new Map([[`${DATA_FOLDER}/daemon.id`, { path: identity, id }]]),
    check: async (state, facts, isThorough) =>
      await check(state, facts, {
        at,
        upstream,
        isThorough: isThorough || isFollowedBySync,
        isTakenOver,
      }),
  };
}

function statementOf(envelope: Buffer): VerifiedAttestation {
  const verified = verifyEnvelope(envelope, trustedKeysOf(SIGNING_KEYS));
  if (!verified.ok) throw new Error(`the attestation is not valid: ${verified.error.message}`);
  return verified.value;
}

/** What has to be attested. */
interface Expected {
  /** The newest version that was given out. */
  readonly newest: number;
  readonly releases: ReadonlySet<string | null>;
  /** Whether the release may be attested as damaged, as it was before. */
  readonly mayBeDamaged: boolean;
}

/** Before others have seen the new release, both are right; afterwards only the new one is. */
function expectedAfter(facts: readonly ReleaseFact[]): Expected {
  const last = facts.findLast((fact) => fact.kind === 'issued');
  const begun = facts.findLast((fact) => fact.kind === 'begun');
  const releases = new Set([last?.releaseId ?? null]);
  if (begun !== undefined) releases.add(begun.releaseId);
  return { newest: last?.version ?? 0, releases, mayBeDamaged: last?.isSound === false };
}

/** Starts over what a power failure left, and holds it against what was known before. */
async function check(
  folder: string,
  facts: readonly ReleaseFact[],
  {
    at,
    upstream: seen,
    isThorough,
    isTakenOver,
  }: {
    readonly at: number;
    readonly upstream: ScriptedUpstream;
    readonly isThorough: boolean;
    readonly isTakenOver: boolean;
  },
): Promise<void> {
  const clock = new FakeClock(at + 5000);
  const upstream = new ScriptedUpstream();
  upstream.releaseId = seen.releaseId;
  upstream.files = seen.files;
  const expected = expectedAfter(facts);
  await checkHistory(folder, expected.newest);
  if (!expected.mayBeDamaged) await checkRecords(join(folder, VOLUME));
  const daemon = await startCrashDaemon({ folder, clock, upstream, mayWait: isTakenOver });
  const { releases, errors } = daemon;
  const step = { daemon, clock, upstream, folder };
  try {
    // What another daemon has published is attested after a full verification.
    if (isTakenOver) {
      daemon.work();
      await daemon.act('verify', { force: true });
      await daemon.settle();
    }
    const statement = await checkAttested(folder, releases, clock, expected);
    for (const fact of facts) {
      if (fact.kind === 'accepted' && daemon.task(fact.taskId) === null)
        throw new Error(`task ${fact.taskId} is lost`);
    }
    daemon.work();
    if (statement?.official?.result === 'FAILED') await run(step, 'repair');
    else if (errors.length > 0) throw new Error(`the start finds damage: ${errors.join('; ')}`);
    if (!isThorough) return;
    await run(step, 'sync');
    await daemon.settle();
    await checkAttested(folder, releases, clock, {
      newest: (statement?.version ?? 1) - 1,
      releases: new Set([upstream.releaseId]),
      mayBeDamaged: false,
    });
  } finally {
    await daemon.stop();
  }
}

/**
 * The history of a volume is never older than what readers have seen, because it tells an older copy of the store from the store, and
 * each envelope in it is whole.
 */
async function checkHistory(folder: string, newest: number): Promise<void> {
  if (newest === 0) return;
  const root = join(folder, VOLUME);
  const versions = await listAttestationVersions(root);
  if ((versions[0] ?? 0) < newest) throw new Error(`version ${newest} is not in the history`);
  for (const version of versions) statementOf((await readAttestation(root, version)) ?? Buffer.alloc(0));
}

async function checkAttested(
  folder: string,
  { attestation: source }: Releases,
  clock: FakeClock,
  { newest, releases, mayBeDamaged }: Expected,
): Promise<AttestationStatement | null> {
  const current = source.current();
  if (current === null) {
    if (newest > 0) throw new Error(`nothing is attested, and version ${newest} was`);
    return null;
  }
  const attestation = statementOf(current.envelope);
  const { statement } = attestation;
  const { official, version } = statement;
  // Not the same either: a version never names two statements.
  if (version <= newest) throw new Error(`version ${version} is attested after version ${newest}`);
  if (!releases.has(official?.release_id ?? null)) {
    const right = [...releases].map((id) => id ?? 'none').join(' or ');
    throw new Error(`release ${official?.release_id ?? 'none'} is current instead of ${right}`);
  }
  if (official?.result === 'PASSED') await checkServed(folder, attestation, clock.now());
  else if (official !== null && !mayBeDamaged)
    throw new Error(`release ${official.release_id} is attested as damaged`);
  return statement;
}

/** A record is written last and removed first, so that each of them names a whole release. */
async function checkRecords(root: string): Promise<void> {
  for (const { release_id: id, snapshot_id: snapshotId } of await listReleaseRecords(root, 'official')) {
    const { missing } = await loadManifest({ root, snapshotId, checkObjects: true });
    if (missing.count > 0)
      throw new Error(`${missing.count} objects of ${id} are gone, and its record is there`);
  }
}

/** Reads what a server would serve. */
async function checkServed(folder: string, attestation: VerifiedAttestation, nowMs: number): Promise<void> {
  const { statement } = attestation;
  const root = join(folder, VOLUME);
  const onVolume = statementOf(await readFile(attestationPath(root))).statement;
  if (onVolume.version !== statement.version) throw new Error(`the volume has version ${onVolume.version}`);
  const snapshots = new Map<SnapshotId, SnapshotEvidence>();
  for (const { release } of namedReleases(statement)) {
    const { index, missing } = await loadManifest({
      root,
      snapshotId: release.snapshot_id,
      checkObjects: true,
    });
    const { header } = index;
    snapshots.set(release.snapshot_id, {
      manifest: 'ok',
      channel: header.channel,
      release_id: header.release_id,
      entryCount: index.length,
      missing: missing.count === 0 ? NO_TROUBLE : { count: missing.count, examples: [] },
    });
    const files = FILES[release.release_id] ?? {};
    for (const { destination, blake3, blocks } of index.entries(0, index.length)) {
      const bytes = await readFile(objectPath(root, blake3));
      if (blake3Hex(bytes) !== blake3)
        throw new Error(`${release.release_id}: ${destination} has other bytes`);
      const expected = files[destination];
      if (expected !== undefined && !Buffer.from(expected).equals(bytes)) {
        throw new Error(`${release.release_id}: ${destination} is of another release`);
      }
      if (
        blocks !== undefined &&
        blake3Hex(await readFile(`${objectPath(root, blake3)}.blocks`)) !== blocks
      ) {
        throw new Error(`${release.release_id}: the block list of ${destination} has other bytes`);
      }
    }
    if (
      Object.keys(files).some(
        (name) => !index.entries(0, index.length).some(({ destination }) => destination === name),
      )
    ) {
      throw new Error(`${release.release_id}: entries are missing`);
    }
  }
  const evidence = {
    ...NO_EVIDENCE,
    volume: { ok: true as const, storeId: statement.store_id },
    storeId: statement.store_id,
    highestVersions: new Map([[statement.store_id, statement.version]]),
    newest: attestation,
    effective: attestation,
    snapshots,
  };
  const verdict = evaluate(evidence, { channel: 'official' }, nowMs);
  if (!verdict.distributable) throw new Error(`the server refuses ${verdict.release_id}: ${verdict.message}`);
}
