import type { ManifestEntry } from '../../../domain/release/manifest.ts';
import { damageKindOf, type DamageKind } from '../../../domain/verdict/damage-kind.ts';
import type { HashPool } from '../../../platform/hashing/digests.ts';
import { ServiceError } from '../../../contract/problems/service-error.ts';
import { objectDamageOf } from '../../../snapshot/objects/object-fault.ts';
import { openObject, type OpenObject } from '../../../snapshot/objects/object-reader.ts';
import { errorCode } from '../../../platform/files/error-code.ts';

/** Maximum number of requests that wait for a hash; more are rejected. */
const MAX_WAITING = 256;

type Revalidation =
  | { readonly ok: true }
  | { readonly ok: false; readonly kind: DamageKind; readonly message: string };

/**
 * Opens the object of an entry again, reads all its bytes and compares size and BLAKE3 with the manifest. Concurrent
 * requests for the same file share one read.
 *
 * @throws ServiceError `overloaded` when too many requests wait or the process is out of descriptors
 */
export type Revalidate = (entry: ManifestEntry) => Promise<Revalidation>;

/** Makes the function for one volume. It hashes off the event loop. */
export function createRevalidator({
  root,
  pool,
  concurrency,
}: {
  readonly root: string;
  readonly pool: HashPool;
  readonly concurrency: number;
}): Revalidate {
  const inFlight = new Map<string, Promise<Revalidation>>();
  const waiting: (() => void)[] = [];
  let running = 0;

  const withSlot = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= concurrency) {
      if (waiting.length >= MAX_WAITING) throw overloaded('too many entries are being revalidated');
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // The slot passes to the next waiting request without becoming free in between.
      if (next === undefined) running -= 1;
      else next();
    }
  };

  const hash = async (object: OpenObject, entry: ManifestEntry): Promise<Revalidation> => {
    const found = await pool.hashContent(object.fd, { blocks: false, fromDisk: true });
    if (found.size === entry.size && found.blake3 === entry.blake3) return { ok: true };
    return {
      ok: false,
      kind: damageKindOf(found.size === entry.size ? 'digest_mismatch' : 'size_mismatch'),
      message: `the bytes on the volume have BLAKE3 ${found.blake3} and ${found.size} bytes`,
    };
  };

  const revalidateOnce = async (entry: ManifestEntry): Promise<Revalidation> => {
    const object = await openObject({ root, blake3: entry.blake3, size: entry.size });
    try {
      const key = `${entry.blake3} ${Object.values(object.identity).join(' ')}`;
      const shared = inFlight.get(key);
      if (shared !== undefined) return await shared;
      const work = hash(object, entry).finally(() => inFlight.delete(key));
      inFlight.set(key, work);
      return await work;
    } finally {
      await object.close();
    }
  };

  return async (entry) =>
    await withSlot(async () => {
      try {
        return await revalidateOnce(entry);
      } catch (error) {
        const damage = objectDamageOf(error);
        if (damage !== null)
          return { ok: false, kind: damageKindOf(damage), message: `the object is not usable (${damage})` };
        if (errorCode(error) === null) throw error;
        throw overloaded('the object cannot be read now', error);
      }
    });
}

function overloaded(internal: string, cause?: unknown): ServiceError {
  return new ServiceError('overloaded', 'The server is already re-reading too many entries. Retry later.', {
    retryAfter: 5,
    internal,
    cause,
  });
}
