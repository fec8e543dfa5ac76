import type { FileChange } from '../../formats/catalogs/catalog-plugin.ts';
import { patchSidecar } from '../../formats/catalogs/checksum-sidecar.ts';
import { partFigures, usePart, type ChangeSet } from './change-set.ts';
import type { Passwords } from './part-reader.ts';
import { openReleaseFile, type PartPlace, type ReleaseFile } from './release-files.ts';
import { MOST_CONTENT_BYTES, type CatalogContext } from './rewrite-catalog.ts';
import { sidecarStem, stemsOf } from './sidecars.ts';

/** The knowledge about files that did not change. */
export type UnchangedFiles = Pick<CatalogContext, 'unchanged' | 'isAboutUnchanged'>;

interface Release {
  readonly files: Iterable<ReleaseFile>;
  readonly passwords: Passwords;
}

/** Reads files that did not change, where a catalog can mean one of them. */
export function createUnchangedFiles({ files, passwords }: Release, changes: ChangeSet): UnchangedFiles {
  const known = new Map<string, FileChange>();
  return {
    unchanged: (place) => {
      const change = known.get(place.path) ?? readUnchanged(files, place, passwords);
      known.set(place.path, change);
      return change;
    },
    isAboutUnchanged: (path, bytes) => {
      const stem = sidecarStem(path);
      for (const { destination, official } of files) {
        if (stem === null || changes.has(destination) || destination === path) continue;
        if (!stemsOf(destination).includes(stem)) continue;
        using file = openReleaseFile(official);
        const { source } = file;
        if (source.size > MOST_CONTENT_BYTES) continue;
        const content = source.read(0, source.size);
        if (patchSidecar(bytes, content, content) !== null) return true;
      }
      return false;
    },
  };
}

function readUnchanged(files: Iterable<ReleaseFile>, place: PartPlace, passwords: Passwords): FileChange {
  for (const { destination, official, patched } of files) {
    if (destination !== place.destination) continue;
    const { figures, bundle } = usePart(patched ?? official, place, passwords, partFigures);
    const digests = bundle === null ? {} : { bundle: { before: bundle, after: bundle } };
    return { path: place.path, before: figures, after: figures, ...digests };
  }
  throw new Error(`${place.destination} is not in the release`);
}
