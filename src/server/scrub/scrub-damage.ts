import type { Serving } from '../serving/serving.ts';
import type { ManifestIndex } from '../../snapshot/manifest/manifest-index.ts';

/** Maximum number of objects that are remembered; a volume that lost more is counted up to this number. */
const NOTED_MAX = 10_000;

/**
 * The damaged objects that the scrub of this process found. The findings of a release that is gone are dropped: they cannot
 * be repaired, and need not be.
 */
export class ScrubDamage {
  readonly #serving: Serving;
  readonly #found = new Map<string, string>();

  constructor(serving: Serving) {
    this.#serving = serving;
  }

  note(blake3: string, index: ManifestIndex): void {
    const releases = [...this.#serving.state().byReleaseId.values()];
    const release = releases.find((served) => served.index === index);
    if (release === undefined) return;
    if (this.#found.size >= NOTED_MAX)
      for (const [each, of] of this.#found) if (this.#isGone(of)) this.#found.delete(each);
    if (this.#found.size < NOTED_MAX) this.#found.set(blake3, release.releaseId);
  }

  /** The number of objects found in releases that the attestation still names, also of withdrawn ones. */
  count(): number {
    return [...this.#found.values()].filter((releaseId) => !this.#isGone(releaseId)).length;
  }

  #isGone(releaseId: string): boolean {
    const { byReleaseId, pending } = this.#serving.state();
    return !byReleaseId.has(releaseId) && !pending.has(releaseId);
  }
}
