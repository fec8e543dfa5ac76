import { entryProblem, MANIFEST_MAX_MEDIA_TYPES } from '../../contract/formats/manifest-format.ts';
import { compareDestinations } from '../../domain/release/destination.ts';
import type { ManifestEntry, ManifestHeader } from '../../domain/release/manifest.ts';

/** The entries given are not those that the header announces, or cannot be in a manifest. */
export class ManifestContentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ManifestContentError';
  }
}

export class EntryCheck {
  readonly #header: ManifestHeader;
  readonly #mediaTypes = new Set<string>();
  #previous: string | null = null;
  #count = 0;
  #bytes = 0;

  constructor(header: ManifestHeader) {
    this.#header = header;
  }

  /** @throws ManifestContentError when this entry cannot come next */
  next(entry: ManifestEntry): void {
    const problem = entryProblem({ ...entry }) ?? this.#problem(entry);
    if (problem !== null) {
      throw new ManifestContentError(`manifest entry ${JSON.stringify(entry.destination)}: ${problem}`);
    }
    this.#previous = entry.destination;
    this.#count += 1;
    this.#bytes += entry.size;
  }

  /** @throws ManifestContentError when there were fewer entries or bytes than announced */
  end(): void {
    const { entry_count: count, total_bytes: bytes } = this.#header;
    if (this.#count !== count || this.#bytes !== bytes) {
      throw new ManifestContentError(
        `the header announces ${count} entries of ${bytes} bytes, but there are ${this.#count} of ${this.#bytes}`,
      );
    }
  }

  #problem(entry: ManifestEntry): string | null {
    if (this.#count >= this.#header.entry_count) {
      return `it is one more than the ${this.#header.entry_count} that the header announces`;
    }
    if (entry.source === 'localized' && this.#header.channel === 'official') {
      return 'an official release has no localized entries';
    }
    this.#mediaTypes.add(entry.media_type);
    if (this.#mediaTypes.size > MANIFEST_MAX_MEDIA_TYPES) return 'there are too many different media types';
    if (this.#previous === null) return null;
    const order = compareDestinations(this.#previous, entry.destination);
    if (order === 0) return 'it appears twice';
    return order < 0 ? null : `it must come before ${JSON.stringify(this.#previous)}, in byte order`;
  }
}
