import type { VerifiedPart } from './objects/block-list.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Blake3Hex } from '../domain/release/digest.ts';
import type { Destination } from '../domain/release/destination.ts';
import type { ServerInfoDocument } from '../domain/release/server-info-document.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import type { ManifestIndex } from './manifest/manifest-index.ts';
import { ENTRY_STATUSES, ObjectLedger, type EntryStatus } from './objects/object-ledger.ts';
import { verifyBlockList, verifyObject } from './objects/object-verifier.ts';

interface DamagedEntry {
  readonly position: number;
  readonly destination: Destination;
  readonly blake3: Blake3Hex;
  readonly size: number;
  readonly status: Exclude<EntryStatus, 'ok'>;
}

interface ReleaseFindings {
  readonly entries: number;
  readonly bytes: number;
  readonly damagedCount: number;
  /** The first {@link FINDINGS_MAX} damaged entries. */
  readonly examples: readonly DamagedEntry[];
  /** Every damaged entry in order, made while it is iterated over: there may be as many as there are entries. */
  readonly damaged: Iterable<DamagedEntry>;
  /** The server-info document of the release; `null` when it has none. */
  readonly serverInfo: EntryStatus | null;
}

export interface VerificationProgress {
  readonly entries: number;
  readonly bytes: number;
}

interface VerifyReleaseOptions {
  readonly root: string;
  readonly index: ManifestIndex;
  /** The server-info document of the release, `null` or absent when it has none. */
  readonly serverInfo?: ServerInfoDocument | null;
  readonly pool: HashPool;
  /** Objects open at the same time, at least 1. */
  readonly concurrency: number;
  /** Called now and then, and at the end. */
  readonly onProgress?: ((progress: VerificationProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Objects that were already checked; the verification adds the ones it checks. */
  readonly ledger?: ObjectLedger;
  /** Also hash every block and compare with the block list, which costs as much again. */
  readonly compareBlocks?: boolean;
}

/** How many damaged entries are listed as examples. */
const FINDINGS_MAX = 1000;

const PROGRESS_ENTRIES = 64;
const PROGRESS_BYTES = 16 * 1024 * 1024;
/** Entries that may pass without waiting for anything before the event loop gets a turn. */
const TURN_ENTRIES = 512;

/**
 * Hashes every distinct object of a release and checks every block list. It continues after damage.
 *
 * @returns the findings
 * @throws the signal's reason; ObjectFault `exhausted` when the process runs out of descriptors, which says nothing of the
 *   objects
 */
export async function verifyRelease(options: VerifyReleaseOptions): Promise<ReleaseFindings> {
  const { concurrency } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new RangeError(`concurrency is ${concurrency}`);
  const run = new VerificationRun(options);
  await Promise.all(Array.from({ length: concurrency }, async () => await run.work()));
  return await run.findings(await run.serverInfo());
}

class VerificationRun {
  readonly #options: VerifyReleaseOptions;
  readonly #ledger: ObjectLedger;
  /** By position; the findings for this entry in addition to those for its object. */
  readonly #own: Uint8Array;
  #next = 0;
  #failed = false;
  #entries = 0;
  #bytes = 0;
  #reportedEntries = 0;
  #reportedBytes = 0;

  constructor(options: VerifyReleaseOptions) {
    this.#options = options;
    this.#ledger = options.ledger ?? new ObjectLedger();
    this.#own = new Uint8Array(options.index.length);
  }

  /** Takes entries until there are none left; several of these run at the same time. */
  async work(): Promise<void> {
    const { index, signal } = this.#options;
    try {
      for (let turn = 1; this.#next < index.length && !this.#failed; turn += 1) {
        signal?.throwIfAborted();
        const position = this.#next;
        this.#next += 1;
        await this.#entry(position);
        if (turn % TURN_ENTRIES === 0) await nextTurn();
      }
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  async serverInfo(): Promise<EntryStatus | null> {
    const { serverInfo: part = null } = this.#options;
    if (part === null) return null;
    const known = this.#ledger.find(part.blake3);
    if (known >= 0)
      return this.#ledger.size(known) === part.size ? this.#ledger.status(known) : 'size_mismatch';
    const id = this.#ledger.add(part.blake3, part.size);
    this.#ledger.setStatus(id, await verifyObject({ ...this.#options, part }));
    return this.#ledger.status(id);
  }

  async findings(serverInfo: EntryStatus | null): Promise<ReleaseFindings> {
    const { index, onProgress } = this.#options;
    const examples: DamagedEntry[] = [];
    let damagedCount = 0;
    for (let position = 0; position < index.length; position += 1) {
      const entry = this.#damage(position);
      if (entry !== null) {
        damagedCount += 1;
        if (examples.length < FINDINGS_MAX) examples.push(entry);
      }
      if (position % TURN_ENTRIES === 0) await nextTurn();
    }
    onProgress?.({ entries: this.#entries, bytes: this.#bytes });
    const damageOf = (position: number): DamagedEntry | null => this.#damage(position);
    return {
      entries: index.length,
      bytes: this.#bytes,
      damagedCount,
      examples,
      damaged: {
        *[Symbol.iterator]() {
          for (let position = 0; position < index.length; position += 1) {
            const entry = damageOf(position);
            if (entry !== null) yield entry;
          }
        },
      },
      serverInfo,
    };
  }

  async #entry(position: number): Promise<void> {
    const { index } = this.#options;
    const part: VerifiedPart = {
      blake3: index.blake3(position),
      size: index.size(position),
      blocks: index.blocks(position) ?? undefined,
    };
    const known = this.#ledger.find(part.blake3);
    if (known < 0) {
      const id = this.#ledger.add(part.blake3, part.size);
      this.#ledger.setStatus(id, await verifyObject({ ...this.#options, part }));
    } else if (this.#ledger.size(known) !== part.size) {
      // The same digest cannot have two sizes: one of the manifests is wrong, and this entry cannot be served.
      this.#setOwn(position, 'size_mismatch');
    } else if (part.blocks !== undefined) {
      // Only the bytes are known: the block list that this manifest names may be another.
      this.#setOwn(position, await verifyBlockList(this.#options.root, part));
    }
    this.#count(part.size);
  }

  #setOwn(position: number, status: EntryStatus): void {
    this.#own[position] = ENTRY_STATUSES.indexOf(status);
  }

  #damage(position: number): DamagedEntry | null {
    const { index } = this.#options;
    const own = ENTRY_STATUSES[this.#own[position] ?? 0] ?? 'ok';
    const blake3 = index.blake3(position);
    const status = own === 'ok' ? (this.#ledger.status(this.#ledger.find(blake3)) ?? 'unreadable') : own;
    if (status === 'ok') return null;
    return { position, destination: index.destination(position), blake3, size: index.size(position), status };
  }

  #count(size: number): void {
    this.#entries += 1;
    this.#bytes += size;
    if (
      this.#entries - this.#reportedEntries < PROGRESS_ENTRIES &&
      this.#bytes - this.#reportedBytes < PROGRESS_BYTES
    ) {
      return;
    }
    this.#reportedEntries = this.#entries;
    this.#reportedBytes = this.#bytes;
    this.#options.onProgress?.({ entries: this.#entries, bytes: this.#bytes });
  }
}
