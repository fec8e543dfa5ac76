import { compareDestinations } from '../../../domain/release/destination.ts';
import type { ReleaseFile } from './release-files.ts';

/** A file of a release, and whether it is new there or has another official object than before. */
interface ComparedFile {
  readonly file: ReleaseFile;
  readonly isRenewed: boolean;
}

/** Compares the files of a release with those of an earlier one. Both are in the order of destinations, and read as streams. */
export function* comparedFiles(
  files: Iterable<ReleaseFile>,
  before: Iterable<ReleaseFile>,
): Generator<ComparedFile> {
  const earlier = Iterator.from(before);
  let old = earlier.next();
  for (const file of files) {
    while (old.done !== true && compareDestinations(old.value.destination, file.destination) < 0)
      old = earlier.next();
    const known = old.done === true ? null : old.value;
    const isSame = known?.destination === file.destination && known.official === file.official;
    yield { file, isRenewed: !isSame };
  }
}

/** The files of {@link comparedFiles} that are new or have another object. */
export function* renewedFiles(
  files: Iterable<ReleaseFile>,
  before: Iterable<ReleaseFile>,
): Generator<ReleaseFile> {
  for (const { file, isRenewed } of comparedFiles(files, before)) if (isRenewed) yield file;
}
