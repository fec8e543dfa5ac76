import { createHash } from 'node:crypto';
import { parseDestination, type Destination } from '../../src/domain/release/destination.ts';
import type { AttestedRelease } from '../../src/domain/verdict/attestation.ts';
import type { Channel } from '../../src/domain/release/channel.ts';
import { snapshotIdOf, type Blake3Hex } from '../../src/domain/release/digest.ts';
import type { ManifestEntry } from '../../src/domain/release/manifest.ts';
import type { Reason } from '../../src/domain/verdict/reasons.ts';
import { parseReleaseId } from '../../src/domain/release/release-id.ts';
import type { DamageReport } from '../../src/domain/verdict/evidence.ts';
import type { Verdict } from '../../src/domain/verdict/verdict.ts';
import type {
  DamageChange,
  PendingRelease,
  Servable,
  ServedRelease,
  Serving,
  ServingState,
} from '../../src/server/serving/serving.ts';
import type { ManifestIndex } from '../../src/snapshot/manifest/manifest-index.ts';

/** A manifest in a plain map. */
export function fakeManifestIndex(
  releaseId: string,
  channel: Channel,
  entries: readonly ManifestEntry[],
): ManifestIndex {
  const positions = new Map<string, number>(entries.map((entry, position) => [entry.destination, position]));
  const at = (position: number): ManifestEntry => {
    const entry = entries[position];
    if (entry === undefined) throw new RangeError(`no entry ${position}`);
    return entry;
  };
  const id = parseReleaseId(releaseId);
  if (!id.ok) throw new Error(id.error);
  return {
    // A manifest in a map has none.
    columns: undefined as never,
    header: {
      format: 'slipway-manifest',
      version: 1,
      channel,
      release_id: id.value,
      entry_count: entries.length,
      total_bytes: entries.reduce((sum, entry) => sum + entry.size, 0),
    },
    snapshotId: snapshotIdOf(createHash('sha256').update(releaseId).digest('hex') as Blake3Hex),
    length: entries.length,
    find: (destination) => positions.get(destination) ?? -1,
    entry: at,
    entries: (offset, limit) => entries.slice(offset, offset + limit),
    destination: (position) => at(position).destination,
    size: (position) => at(position).size,
    blake3: (position) => at(position).blake3,
    crc64: (position) => at(position).crc64,
    source: (position) => at(position).source,
    mediaType: (position) => at(position).media_type,
    blocks: (position) => at(position).blocks ?? null,
    findDigests: (wanted) =>
      new Map(
        [...wanted].map((blake3) => [
          blake3,
          entries.flatMap((entry, position) => (entry.blake3 === blake3 ? [position] : [])),
        ]),
      ),
    findDigestsOf: (firstByte, from, to) =>
      entries
        .map((entry, position) => ({ position, firstByte: Number.parseInt(entry.blake3.slice(0, 2), 16) }))
        .filter((at) => at.firstByte === firstByte && at.position >= from && at.position < to)
        .map(({ position }) => position),
    memoryBytes: 0,
  };
}

/** Brands a text that is known to be a destination. */
export function destinationOf(text: string): Destination {
  const destination = parseDestination(text);
  if (!destination.ok) throw new Error(destination.error);
  return destination.value;
}

/** A serving that a test controls. It records the reports. */
export class FakeServing implements Serving {
  readonly reports: DamageReport[] = [];
  readonly #damageListeners: ((change: DamageChange) => void)[] = [];
  readonly #manifestListeners: ((change: DamageChange) => void)[] = [];
  /** Releases that must not leave the server, with the reason. */
  readonly refused = new Map<string, Reason>();
  /** As in the real serving: a release with reported damage must not leave. */
  refuseDamaged = true;
  #state: ServingState = {
    generation: 1,
    current: { official: null, localized: null },
    byReleaseId: new Map(),
    pending: new Map(),
  };

  /** Replaces everything that is served. */
  serve(releases: readonly ServedRelease[], pendingReleaseIds: readonly string[] = []): void {
    const current = (channel: Channel): ServedRelease | null =>
      releases.find((release) => release.channel === channel && release.role === 'current') ?? null;
    this.#state = {
      generation: this.#state.generation + 1,
      current: { official: current('official'), localized: current('localized') },
      byReleaseId: new Map(releases.map((release) => [release.releaseId, release])),
      pending: new Map(pendingReleaseIds.map((releaseId) => [releaseId, fakePending(releaseId)])),
    };
  }

  state(): ServingState {
    return this.#state;
  }

  verdict(channel: Channel): Verdict {
    const release = this.#state.current[channel];
    const refusal =
      release === null ? 'AttestationUnavailable' : (this.refused.get(release.releaseId) ?? null);
    return {
      channel,
      distributable: refusal === null,
      reason: refusal,
      message: refusal === null ? 'fine' : `the test says ${refusal}`,
      since: 0,
      release_id: release?.releaseId ?? null,
      snapshot_id: release?.snapshotId ?? null,
      attestation: null,
      checks: [],
    };
  }

  servable(release: ServedRelease | PendingRelease): Servable {
    const refusal = this.refused.get(release.releaseId);
    if (refusal !== undefined) return { ok: false, reason: refusal, message: `the test says ${refusal}` };
    if (release.role === 'pending')
      return { ok: false, reason: 'SnapshotLoading', message: 'the test reads it' };
    if (
      this.refuseDamaged &&
      [...release.index.findDigests(this.reports.map(({ blake3 }) => blake3)).values()].some(
        (positions) => positions.length > 0,
      )
    ) {
      return { ok: false, reason: 'EntryDamaged', message: 'bytes do not match the manifest' };
    }
    return { ok: true };
  }

  reportDamage(...reports: readonly DamageReport[]): void {
    this.reports.push(...reports);
    for (const report of reports) this.tellDamage({ blake3: report.blake3, report });
  }

  watchManifests(listener: (change: DamageChange) => void): void {
    this.#manifestListeners.push(listener);
  }

  watchDamage(listener: (change: DamageChange) => void): void {
    this.#damageListeners.push(listener);
  }

  /** Notifies the listeners as if a manifest had been read. */
  tellManifest(change: DamageChange): void {
    for (const listener of this.#manifestListeners) listener(change);
  }

  /** Notifies the listeners as if another part had found the damage. */
  tellDamage(change: DamageChange): void {
    for (const listener of this.#damageListeners) listener(change);
  }
}

function fakePending(releaseId: string): PendingRelease {
  const { header, snapshotId } = fakeManifestIndex(releaseId, 'official', []);
  return { role: 'pending', channel: 'official', releaseId: header.release_id, snapshotId };
}

/** A release that is served, over a plain manifest. */
export function fakeRelease(options: {
  readonly releaseId: string;
  readonly channel?: Channel;
  readonly role?: ServedRelease['role'];
  readonly createdAt?: number;
  readonly currentSince?: number;
  readonly entries: readonly ManifestEntry[];
}): ServedRelease {
  const {
    releaseId,
    channel = 'official',
    role = 'current',
    createdAt = 1_760_000_000,
    currentSince = createdAt,
    entries,
  } = options;
  const index = fakeManifestIndex(releaseId, channel, entries);
  const { header, snapshotId } = index;
  const attested: AttestedRelease = {
    release_id: header.release_id,
    snapshot_id: snapshotId,
    entry_count: header.entry_count,
    total_bytes: header.total_bytes,
    created_at: createdAt,
    verified_at: createdAt,
    verification: 'full',
    result: 'PASSED',
    server_info: null,
  };
  return {
    channel,
    role,
    releaseId: header.release_id,
    snapshotId,
    attested,
    currentSince: role === 'current' ? currentSince : null,
    document: null,
    index,
  };
}
