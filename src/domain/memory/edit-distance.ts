/** Measures the distance of one text to many. */
interface DistanceFrom {
  /**
   * The Levenshtein distance to another text.
   *
   * @param bound the largest distance of interest
   * @returns `null` when it is greater than `bound`
   */
  to(text: readonly number[], bound: number): number | null;
}

const WORD_BITS = 32;

/**
 * Prepares one text, as code points, for the measurement of its Levenshtein distance to many others: one bit for each
 * code point, so 32 cells of the table are computed together.
 *
 * Source: Myers, "A fast bit-vector algorithm for approximate string matching" (JACM 46, 1999); its extension to several
 * words and to whole texts by Hyyrö (2003).
 */
export function distanceFrom(pattern: readonly number[]): DistanceFrom {
  const words = Math.ceil(pattern.length / WORD_BITS);
  const matches = matchMasks(pattern, words);
  const none = new Int32Array(words);
  const positive = new Int32Array(words);
  const negative = new Int32Array(words);
  const lastBit = 1 << ((pattern.length - 1) % WORD_BITS);
  return {
    to: (text, bound) => {
      if (Math.abs(pattern.length - text.length) > bound) return null;
      if (pattern.length === 0) return text.length;
      positive.fill(-1);
      negative.fill(0);
      let distance = pattern.length;
      for (let at = 0; at < text.length; at += 1) {
        distance += advance(matches.get(text[at] ?? -1) ?? none);
        // Each remaining code point lowers the distance by one at most.
        if (distance - (text.length - at - 1) > bound) return null;
      }
      return distance <= bound ? distance : null;
    },
  };

  function advance(masks: Int32Array): number {
    let carry = 1;
    for (let word = 0; word < words; word += 1) {
      const up = positive[word] ?? 0;
      const down = negative[word] ?? 0;
      const mask = masks[word] ?? 0;
      const vertical = mask | down;
      const equal = carry < 0 ? mask | 1 : mask;
      const horizontal = (((equal & up) + up) ^ up) | equal;
      let grows = down | ~(horizontal | up);
      let falls = up & horizontal;
      const top = word === words - 1 ? lastBit : 1 << (WORD_BITS - 1);
      const out = (grows & top) !== 0 ? 1 : (falls & top) !== 0 ? -1 : 0;
      grows = (grows << 1) | (carry > 0 ? 1 : 0);
      falls = (falls << 1) | (carry < 0 ? 1 : 0);
      positive[word] = falls | ~(vertical | grows);
      negative[word] = grows & vertical;
      carry = out;
    }
    return carry;
  }
}

/** For each code point of the pattern, the bits of its positions. */
function matchMasks(pattern: readonly number[], words: number): ReadonlyMap<number, Int32Array> {
  const masks = new Map<number, Int32Array>();
  for (const [at, point] of pattern.entries()) {
    const mask = masks.get(point) ?? new Int32Array(words);
    const word = Math.floor(at / WORD_BITS);
    mask[word] = (mask[word] ?? 0) | (1 << (at % WORD_BITS));
    masks.set(point, mask);
  }
  return masks;
}
