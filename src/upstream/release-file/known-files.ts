import type { FileHandle } from 'node:fs/promises';
import { RELEASE_FILE } from '../../contract/formats/release-file-format.ts';
import { compareDestinations } from '../../domain/release/destination.ts';
import { isBlake3Hex, type Blake3Hex } from '../../domain/release/digest.ts';
import { isRecord } from '../../domain/is-record.ts';
import type { TreeFile } from '../adapters/directory-walk.ts';
import { parseReleaseId, type ReleaseId } from '../../domain/release/release-id.ts';
import { messageOf } from '../../platform/errors.ts';
import { readCatalogMembers } from '../catalog-readers/catalog-document.ts';
import { invalidEntry } from '../entry-rules.ts';
import { quoteText } from '../upstream-location.ts';

interface KnownFile {
  readonly destination: string;
  readonly size: number;
  readonly mtimeNs: string;
  readonly blake3: Blake3Hex;
}

/** Ids that `slipway manifest` derives from the content. */
const DERIVED_ID = /^dir-[0-9a-f]{16}$/;

/** What an older release file says. */
export interface KnownFiles {
  /** The release id that it was given; `null` for one that was derived from the content. Ask before you ask for files. */
  givenId(): Promise<ReleaseId | null>;
  /**
   * The digest of a file that has not changed since; `null` for others. Ask in the byte order of the destinations: the older file is read
   * once, beside the walk.
   */
  digestOf(file: TreeFile): Promise<Blake3Hex | null>;
  close(): Promise<void>;
}

/**
 * Reads an older release file of any size.
 *
 * @param path of the file, for messages
 */
export function openKnownFiles(handle: FileHandle, path: string): KnownFiles {
  let givenId: ReleaseId | null = null;
  const files = readKnownFiles(handle, path, (value) => {
    const id = typeof value === 'string' ? parseReleaseId(value) : null;
    givenId = id?.ok === true && !DERIVED_ID.test(id.value) ? id.value : null;
  });
  let current: KnownFile | null = null;
  let isAtEnd = false;
  const advanceTo = async (destination: string): Promise<void> => {
    while (!isAtEnd && (current === null || compareDestinations(current.destination, destination) < 0)) {
      const next = await files.next();
      isAtEnd = next.done === true;
      current = next.done === true ? null : next.value;
    }
  };
  return {
    givenId: async () => {
      // The id stands before the first entry.
      await advanceTo('');
      return givenId;
    },
    digestOf: async ({ destination, size, mtimeNs }) => {
      await advanceTo(destination);
      const isSame =
        current?.destination === destination &&
        current.size === size &&
        current.mtimeNs === mtimeNs.toString();
      return isSame ? (current?.blake3 ?? null) : null;
    },
    close: async () => {
      await files.return();
      await handle.close();
    },
  };
}

async function* readKnownFiles(
  handle: FileHandle,
  path: string,
  onReleaseId: (value: unknown) => void,
): AsyncGenerator<KnownFile, void> {
  const chunks = handle.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>;
  try {
    for await (const batch of readCatalogMembers(chunks, RELEASE_FILE, ['entries'])) {
      for (const member of batch) {
        if (member.kind === 'value' && member.key === 'release_id') onReleaseId(member.value);
        const known = member.kind === 'element' ? parseKnownFile(member.value) : null;
        if (known !== null) yield known;
      }
    }
  } catch (error) {
    throw invalidEntry(
      quoteText(path),
      `it cannot be updated (${messageOf(error)}); leave out --update to write it anew`,
    );
  }
}

/** Entries of other writers have no modification time: their files are read. */
function parseKnownFile(value: unknown): KnownFile | null {
  if (!isRecord(value) || !isRecord(value['digests'])) return null;
  const { destination, size, mtime_ns: mtimeNs } = value;
  const { blake3 } = value['digests'];
  return typeof destination === 'string' &&
    typeof size === 'number' &&
    typeof mtimeNs === 'string' &&
    typeof blake3 === 'string' &&
    isBlake3Hex(blake3)
    ? { destination, size, mtimeNs, blake3 }
    : null;
}
