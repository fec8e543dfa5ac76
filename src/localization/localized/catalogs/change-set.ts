import type { FileChange } from '../../../formats/catalogs/catalog-plugin.ts';
import { figuresOf, type FileFigures } from '../../../formats/catalogs/file-figures.ts';
import { bytesSource, type ByteSource } from '../../../formats/byte-source.ts';
import { pieceChunks } from '../../../formats/patch/output-pieces.ts';
import { bundleDigests, type BundleDigests } from '../../../formats/unity/bundle-digests.ts';
import { openBundle } from '../../../formats/unity/bundle.ts';
import { READ_LIMITS } from '../../../formats/value-visitor.ts';
import { filePlace, readEntryAt } from './archive-entries.ts';
import { readableOrNull } from './open-container.ts';
import type { Passwords } from './part-reader.ts';
import { openReleaseFile, type PartPlace } from './release-files.ts';

interface FileForms {
  readonly official: string;
  readonly current: string;
}

interface PartFigures {
  readonly figures: FileFigures;
  /** `null` for a file that is not a bundle of Unity. */
  readonly bundle: BundleDigests | null;
}

const BUNDLE_MARK = Buffer.from('UnityFS\0');

/**
 * The files that changed, in the release and in its archives. Their figures cost a read of the whole file, so they are
 * computed when a catalog needs them, and once.
 */
export class ChangeSet {
  readonly #passwords: Passwords;
  readonly #forms = new Map<string, FileForms>();
  readonly #places = new Map<string, PartPlace>();
  readonly #before = new Map<string, PartFigures>();
  readonly #after = new Map<string, PartFigures>();

  constructor(passwords: Passwords) {
    this.#passwords = passwords;
  }

  get paths(): Iterable<string> {
    return this.#places.keys();
  }

  get files(): ReadonlyMap<string, FileForms> {
    return this.#forms;
  }

  has(path: string): boolean {
    return this.#places.has(path);
  }

  setForms(destination: string, forms: FileForms): void {
    this.#forms.set(destination, forms);
  }

  add(place: PartPlace): void {
    this.#places.set(place.path, place);
    this.#after.delete(place.path);
  }

  changeOf(path: string): FileChange {
    const before = this.#figures(path, 'official', this.#before);
    const after = this.#figures(path, 'current', this.#after);
    const bundle =
      before.bundle === null || after.bundle === null
        ? {}
        : { bundle: { before: before.bundle, after: after.bundle } };
    return { path, before: before.figures, after: after.figures, ...bundle };
  }

  /**
   * Reads both forms of a file that is small enough.
   *
   * @param mostBytes of each form
   * @returns `null` when one of them is larger
   */
  contentsOf(path: string, mostBytes: number): { readonly before: Buffer; readonly after: Buffer } | null {
    const read = (form: keyof FileForms): Buffer | null =>
      this.#use(path, form, (source) => (source.size <= mostBytes ? source.read(0, source.size) : null));
    const before = read('official');
    const after = before === null ? null : read('current');
    return before === null || after === null ? null : { before, after };
  }

  #figures(path: string, form: keyof FileForms, known: Map<string, PartFigures>): PartFigures {
    const found = known.get(path) ?? this.#use(path, form, partFigures);
    known.set(path, found);
    return found;
  }

  #use<T>(path: string, form: keyof FileForms, use: (source: ByteSource) => T): T {
    const place = this.#places.get(path);
    const forms = this.#forms.get(place?.destination ?? '');
    if (place === undefined || forms === undefined) throw new Error(`${path} is not a changed file`);
    return usePart(forms[form], place, this.#passwords, use);
  }
}

/** Uses a file of a release, or one in an archive. @param path of the file on disk that is the file or has it */
export function usePart<T>(
  path: string,
  { destination, entries }: PartPlace,
  passwords: Passwords,
  use: (source: ByteSource) => T,
): T {
  using file = openReleaseFile(path);
  return use(
    entries.length === 0
      ? file.source
      : bytesSource(readEntryAt(file.source, filePlace(destination), entries, passwords)),
  );
}

export function partFigures(source: ByteSource): PartFigures {
  const figures = figuresOf(pieceChunks([{ source, offset: 0, length: source.size }]));
  return { figures, bundle: bundleFigures(source) };
}

/** A bundle that cannot be read has no digests; then a catalog that states some of them is not rewritten. */
function bundleFigures(source: ByteSource): BundleDigests | null {
  if (!BUNDLE_MARK.equals(source.read(0, Math.min(BUNDLE_MARK.length, source.size)))) return null;
  return readableOrNull(() => bundleDigests(openBundle(source, READ_LIMITS)));
}
