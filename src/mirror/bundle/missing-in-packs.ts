import type { Blake3Hex } from '../../domain/release/digest.ts';
import { packRanges, type Bundle } from './open-bundle.ts';

/** Above this share of missing bytes, a pack is fetched whole: one request instead of one for each object. */
const WHOLE_SHARE = 0.5;

interface BundledObject {
  readonly bundle: Bundle;
  readonly id: number;
}

export function findInBundles(bundles: readonly Bundle[], blake3: Blake3Hex): BundledObject | null {
  for (const bundle of bundles) {
    const id = bundle.objects.find(blake3);
    if (id >= 0) return { bundle, id };
  }
  return null;
}

/**
 * Finds the packs of which most is missing.
 *
 * @param missing objects; one that is named twice counts once
 * @returns the missing bytes of each, by the digest of the pack
 */
export async function mostlyMissingPacks(
  bundles: readonly Bundle[],
  missing: AsyncIterable<Blake3Hex> | Iterable<Blake3Hex>,
): Promise<Map<string, number>> {
  const counted = new Map(bundles.map((bundle) => [bundle, new Uint8Array(bundle.objects.length)]));
  const packs = new Map<string, { readonly size: number; missing: number }>();
  for await (const blake3 of missing) {
    const found = findInBundles(bundles, blake3);
    const marks = found === null ? undefined : counted.get(found.bundle);
    if (found === null || marks === undefined || marks[found.id] === 1) continue;
    marks[found.id] = 1;
    for (const { pack, start, end } of packRanges(found.bundle, found.id)) {
      const known = packs.get(pack.digest) ?? { size: pack.size, missing: 0 };
      known.missing += end - start;
      packs.set(pack.digest, known);
    }
  }
  return new Map(
    [...packs]
      .filter(([, pack]) => pack.missing > pack.size * WHOLE_SHARE)
      .map(([digest, pack]) => [digest, pack.missing]),
  );
}
