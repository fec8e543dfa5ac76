import { blake3Hex } from '../../platform/hashing/blake3.ts';
import { parseEnvelope, parseStatement } from '../../contract/formats/attestation-format.ts';
import type { Blake3Hex } from '../../domain/release/digest.ts';
import type { AttestedSource, SourceManifest } from '../attested-source.ts';
import { MirrorError } from '../mirror-error.ts';
import { BundleError } from './bundle-error.ts';
import { findInBundles, mostlyMissingPacks } from './missing-in-packs.ts';
import { packRanges, readBundledObject, type Bundle } from './open-bundle.ts';
import { describeBundle } from './describe-bundle.ts';

export interface BundleShelf {
  readonly label: string;
  /** The remedy for a release that no bundle here holds. */
  readonly remedy: string;
  /**
   * Looks at the bundles that are there now. Those that did not change are not read again.
   *
   * @throws BundleError when one of them is damaged
   */
  look(signal: AbortSignal): Promise<readonly Bundle[]>;
  /**
   * Tells which packs will be read for the most part, where one request for each object is slower than one for a pack.
   *
   * @param packs the bytes that will be read of each, by digest
   */
  expect?(packs: ReadonlyMap<string, number>): void;
  /** Tells that bytes of these packs were wrong, by digest, so that they are fetched again, past caches. */
  distrust?(packs: readonly string[]): void;
}

export interface ShelvedObject {
  readonly size: number;
  /** The digests of the packs that hold it. */
  readonly packs: readonly string[];
  read(start: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface BundleSource extends AttestedSource {
  /** @returns the object, or `null` when no bundle of the last look holds it */
  find(blake3: Blake3Hex): ShelvedObject | null;
}

/**
 * Makes the source that reads releases from bundles. The newest attestation among them decides what is current; a release
 * may be in one bundle and its unchanged objects in another.
 */
export function createBundleSource(shelf: BundleShelf): BundleSource {
  let bundles: readonly Bundle[] = [];
  const look = async (signal: AbortSignal): Promise<void> => {
    try {
      bundles = await shelf.look(signal);
    } catch (error) {
      throw asMirrorError(error);
    }
  };
  return {
    label: shelf.label,
    current: async (tag, signal) => {
      await look(signal);
      const now = blake3Hex(Buffer.from(bundles.map(({ digest }) => digest).join('\n')));
      if (now === tag) return null;
      const envelope = newestEnvelope(bundles);
      if (envelope === null) {
        const message = `${shelf.label} holds no bundle yet; ${shelf.remedy}`;
        throw new MirrorError('origin_unattested', message, { retryable: true });
      }
      return { envelope, tag: now, cdnHost: null };
    },
    holds: ({ attested }) => bundles.some(({ snapshotId }) => snapshotId === attested.snapshot_id),
    manifest: async (release, signal) => {
      const { channel, attested } = release;
      if (!bundles.some(({ snapshotId }) => snapshotId === attested.snapshot_id)) await look(signal);
      const bundle = bundles.find(({ snapshotId }) => snapshotId === attested.snapshot_id);
      if (bundle !== undefined) {
        try {
          const described = await describeBundle(bundle, release, signal);
          return { ...described, pages: pagesOf(described.pages) };
        } catch (error) {
          throw asMirrorError(error);
        }
      }
      throw new MirrorError(
        'origin_not_distributable',
        `no bundle in ${shelf.label} holds ${channel} release ${attested.release_id}, which the newest attestation names; ${shelf.remedy}`,
        { retryable: true },
      );
    },
    prepare: async (missing) => {
      shelf.expect?.(await mostlyMissingPacks(bundles, missing));
    },
    locatorOf: (_state, _release, { blake3 }) => blake3,
    find: (blake3) => {
      const found = findInBundles(bundles, blake3);
      if (found === null) return null;
      return {
        size: found.bundle.objects.size(found.id),
        packs: [...packRanges(found.bundle, found.id)].map(({ pack }) => pack.digest),
        read: (start, signal) => readBundledObject(found.bundle, blake3, start, signal),
      };
    },
  };
}

async function* pagesOf(pages: SourceManifest['pages']): SourceManifest['pages'] {
  try {
    yield* pages;
  } catch (error) {
    throw asMirrorError(error);
  }
}

function asMirrorError(error: unknown): unknown {
  if (!(error instanceof BundleError)) return error;
  return new MirrorError('origin_malformed', error.message, { retryable: true });
}

/** The envelope that was signed last, or `null`. No signature was checked: a wrong one is refused by the reader of the source. */
function newestEnvelope(bundles: readonly Bundle[]): Buffer | null {
  let newest: { readonly envelope: Buffer; readonly order: readonly [number, number] } | null = null;
  for (const { envelope } of bundles) {
    const parsed = parseEnvelope(envelope);
    const statement = parsed.ok ? parseStatement(Buffer.from(parsed.value.payload, 'base64')) : null;
    const order =
      statement?.ok === true
        ? ([statement.value.issued_at, statement.value.version] as const)
        : ([0, 0] as const);
    if (
      newest === null ||
      order[0] > newest.order[0] ||
      (order[0] === newest.order[0] && order[1] > newest.order[1])
    ) {
      newest = { envelope, order };
    }
  }
  return newest?.envelope ?? null;
}
